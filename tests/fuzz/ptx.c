/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code.h"
#include "form.h"

/* Fuzz target of the PTX front end: parses the bytes and lowers every kernel. As a program it
 * reads the files it is given; with libFuzzer:
 *
 *   clang -fsanitize=fuzzer,address,undefined -DFUZZ_LIBFUZZER ... fuzz/ptx.c */

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    struct ptx_module m;
    struct ptx_error e;
    struct lower_options o = {true};
    if (!ptx_parse((const char *)bytes, size, &m, &e))
        return 0;
    for (const struct ptx_function *f = m.function; f; f = f->next) {
        struct image im;
        if (!f->entry || !f->defined)
            continue;
        (void)image_init(&im, &m, f, &o, &e);
        image_release(&im);
    }
    ptx_release(&m);
    return 0;
}

#ifndef FUZZ_LIBFUZZER
int main(int n, char **argument)
{
    static unsigned char bytes[1 << 22];
    for (int k = 1; k < n; k++) {
        FILE *f = fopen(argument[k], "rb");
        if (!f) {
            perror(argument[k]);
            return 2;
        }
        size_t size = fread(bytes, 1, sizeof bytes, f);
        fclose(f);
        LLVMFuzzerTestOneInput(bytes, size);
    }
    return 0;
}
#endif
