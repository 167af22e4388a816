/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_WRAP_H
#define GPUPARITY_WRAP_H

#include <stdio.h>

/* Prints words from column `column` on, starting new lines at column `indent` so that none
 * passes `width` unless one word is longer. Control characters become blanks: text from a file
 * cannot speak to the terminal. Ends the line. */
void wrap_print(FILE *out, const char *text, int column, int indent, int width);

#endif
