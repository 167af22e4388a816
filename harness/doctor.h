/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_DOCTOR_H
#define GPUPARITY_DOCTOR_H

#include <stdio.h>

#include "err.h"

/* What a user needs to know about this machine, for 80 columns: cards, simulators, compilers
 * and kept kernels found (looked up in child processes), versions, what `check` would use and
 * why not the rest, and which package or driver is missing. */
enum err doctor_report(FILE *out, struct errinfo *e);

#endif
