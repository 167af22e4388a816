/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_COMPLETION_H
#define GPUPARITY_COMPLETION_H

#include <stdio.h>

#include "command.h"

/* Completion for shells, from the table of commands (ends with a NULL name), options.def and
 * the families and backends of this program: commands, each command's own options, devices
 * behind
 * --on, files where the usage says a file, families and variants where it says CASE. The build
 * runs `gpuparity help --bash` and `--zsh` and installs what comes out. */
void completion_bash(FILE *out, const struct command *list);
void completion_zsh(FILE *out, const struct command *list);

#endif
