/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_INCLUDEPRINT_H
#define GPUPARITY_INCLUDEPRINT_H

#include <stdio.h>

#include "include.h"

/* Writes a source as one text that stands alone: each of its headers in the place of its #include.
 * A header that guards itself (#ifndef, #pragma once) comes once, or again where the first place
 * was under an #if; one that does not comes as often as it is included. ERR_USAGE: more than 16
 * MiB come of that; ERR_NOMEM. */
enum err include_print(FILE *out, const struct include_set *s, struct errinfo *e);

#endif
