/* SPDX-License-Identifier: Apache-2.0 */
#include "fault.h"

#include <stdarg.h>
#include <stdio.h>

int sim_fault_set(struct sim_fault *f, enum sim_fault_kind kind, const char *format, ...)
{
    if (f->kind != SIM_FAULT_NONE)
        return 1;
    f->kind = kind;
    va_list args;
    va_start(args, format);
    vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
    return 1;
}
