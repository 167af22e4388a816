/* SPDX-License-Identifier: Apache-2.0 */
#include "report_html_style.h"

#include <stddef.h>
#include <string.h>

/* cases/embed.c writes such a table under the names it has for kernels. */
#define kernel_text style_text
#define kernel_texts style_texts
struct kernel_text {
    const char *path, *text;
};
extern const struct kernel_text kernel_texts[];
#include "report_style.inc"

const char *html_style_find(const char *name)
{
    for (const struct style_text *t = style_texts; t->path; t++)
        if (!strcmp(t->path, name))
            return t->text;
    return NULL;
}
