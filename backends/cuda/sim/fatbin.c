/* SPDX-License-Identifier: Apache-2.0 */
#include "fatbin.h"

#include <stdlib.h>
#include <string.h>

static const char no_ptx[] =
    "this module holds machine code only; the simulated GPU executes PTX: compile with nvcc "
    "-gencode arch=compute_86,code=compute_86, or pass NVRTC's PTX (nvrtcGetPTX, "
    "--gpu-architecture=compute_86) instead of its cubin";

static enum fatbin_status text_take(const char *text, struct fatbin_text *ret_text)
{
    *ret_text = (struct fatbin_text){text, strlen(text), NULL};
    return FATBIN_OK;
}

enum fatbin_status fatbin_text_find(const void *image, struct fatbin_text *ret_text,
                                    struct ptx_error *ret_error)
{
    const unsigned char *b = image;
    if (b[0] == 0x7f && b[1] == 'E' && b[2] == 'L' && b[3] == 'F') {
        ptx_error_set(ret_error, 0, 0, "%s", no_ptx);
        return FATBIN_NO_PTX;
    }
    return text_take(image, ret_text);
}

void fatbin_text_release(struct fatbin_text *t)
{
    free(t->owned);
    memset(t, 0, sizeof *t);
}
