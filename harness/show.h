/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_SHOW_H
#define GPUPARITY_SHOW_H

#include <stdio.h>

#include "err.h"

/* Prints a record for a person. `inner` chooses what:
 *
 *   NULL                       every run with its device and environment, every case with
 * status /run/<r>                   that run alone a case id                  that case in
 * every run that has it: attributes, outputs, values /run/<r>/case/<n>          that case of
 * that run /run/<r>/case/<n>/out/<t>  one output with more of its values
 *
 * Values are shown as bits and as numbers. The slash in front may be missing. ERR_USAGE when
 * there is no such thing in the record; record_open's errors. */
enum err show_record(FILE *out, const char *path, const char *inner, struct errinfo *e);

#endif
