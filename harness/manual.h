/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_MANUAL_H
#define GPUPARITY_MANUAL_H

#include <stdio.h>

#include "command.h"

/* The manual page gpuparity(1), in the man macros that groff and mandoc read, from the table of
 * commands (ends with a NULL name) and options.def: it cannot say what the program does not do.
 * The build runs `gpuparity help --man` and installs what comes out. */
void manual_print(FILE *out, const struct command *list);

#endif
