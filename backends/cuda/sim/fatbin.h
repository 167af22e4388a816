/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_FATBIN_H
#define GPUPARITY_CUDA_SIM_FATBIN_H

#include "token.h"

enum fatbin_status { FATBIN_OK, FATBIN_NO_PTX, FATBIN_DAMAGED };

struct fatbin_text {
    const char *text;
    size_t size;
    char *owned; /* NULL if `text` is the caller's */
};

/* The PTX in what a program hands to cuModuleLoadData: the text itself, or the newest PTX entry
 * of a fat binary. Machine code alone is FATBIN_NO_PTX, with the way out in `ret_error`. */
enum fatbin_status fatbin_text_find(const void *image, struct fatbin_text *ret_text,
                                    struct ptx_error *ret_error);
void fatbin_text_release(struct fatbin_text *t);

#endif
