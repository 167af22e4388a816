/* SPDX-License-Identifier: Apache-2.0 */
#include "err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum err err_set(struct errinfo *e, enum err code, const char *format, ...)
{
    if (!e)
        return code;
    va_list ap;
    va_start(ap, format);
    vsnprintf(e->text, sizeof e->text, format, ap);
    va_end(ap);
    e->code = code;
    return code;
}

enum err err_context(struct errinfo *e, enum err code, const char *format, ...)
{
    if (!e)
        return code;
    char head[sizeof e->text], tail[sizeof e->text];
    va_list ap;
    va_start(ap, format);
    vsnprintf(head, sizeof head, format, ap);
    va_end(ap);
    memcpy(tail, e->text, sizeof tail);
    size_t used = strlen(head);
    if (used > sizeof e->text - 3)
        used = sizeof e->text - 3;
    memcpy(e->text, head, used);
    snprintf(e->text + used, sizeof e->text - used, ": %s", tail);
    return code;
}
