/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TEXT_H
#define GPUPARITY_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* UTF-8 without control characters other than newline, carriage return and tab? */
bool text_valid(const char *text, size_t size);

/* Makes it so, in place and without changing the size: every other byte becomes '?'. */
void text_mend(char *text, size_t size);

bool text_ends(const char *text, const char *ending);

#endif
