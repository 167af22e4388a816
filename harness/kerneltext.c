/* SPDX-License-Identifier: Apache-2.0 */
#include "kerneltext.h"

#include <stddef.h>
#include <string.h>

#include "kernel_texts.inc"

const char *kernel_text_find(const char *path)
{
    for (int i = 0; kernel_texts[i].path; i++)
        if (!strcmp(kernel_texts[i].path, path))
            return kernel_texts[i].text;
    return NULL;
}
