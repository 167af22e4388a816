/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_QUOTE_H
#define GPUPARITY_QUOTE_H

#include <stdint.h>
#include <stdio.h>

#include "dtype.h"

/* How names, sentences and numbers are written into formats that other programs read. Strings
 * come from records, which may be hostile: whatever bytes they hold, valid UTF-8 and valid
 * syntax come out. Write errors stay in the FILE (ferror). */

enum { QUOTE_NUMBER_MAX = 32, QUOTE_BITS_MAX = 24 };

/* The next code point, moving *s on; 0 at the end. A byte that is not part of valid UTF-8 is
 * one U+FFFD; so is every surrogate. */
uint32_t quote_next(const char **s);

/* A JSON string with its quotes, which is a YAML double-quoted string too. */
void quote_json(FILE *out, const char *s);

/* Text or attribute value of XML and HTML. What XML cannot hold (control characters) and what
 * reorders text on the screen (bidirectional controls) becomes U+FFFD. */
void quote_markup(FILE *out, const char *s);

/* One CSV field, in quotes when needed (RFC 4180). */
void quote_csv(FILE *out, const char *s);

/* One line: control characters become spaces, and a backslash goes before every character that
 * occurs in `escape`. */
void quote_line(FILE *out, const char *s, const char *escape);

/* The shortest decimal number that reads back as x; "NaN", "Infinity", "-Infinity". */
void quote_number(char ret_text[QUOTE_NUMBER_MAX], double x);

/* For people: four digits at most, "3.21e-07"; "NaN", "inf", "-inf". */
void quote_human(char ret_text[QUOTE_NUMBER_MAX], double x);

/* The bits of an element, "0x3f80": as many digits as the format has. */
void quote_bits(char ret_text[QUOTE_BITS_MAX], enum dtype d, uint64_t bits);

#endif
