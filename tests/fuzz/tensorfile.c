/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tensorsample.h"

/* Fuzz target of npy, npz, safetensors and Polygraphy files. As a program it reads each file it
 * is given, HDF5 as well:
 *
 *   fuzz_tensorfile FILE...
 *
 * With libFuzzer: docs/tensors.md. HDF5 is left out there: its library runs in a child process,
 * and fuzz_record walks it. */

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    for (size_t at = 0; at + 4 <= size && at <= 1024; at = at ? 2 * at : 512)
        if (!memcmp(data + at, "\211HDF", 4))
            return -1;
    tensorsample_bytes(data, size, NULL);
    return 0;
}

#ifndef FUZZ_LIBFUZZER
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct errinfo e = {0};
        if (tensorsample_file(argv[i], &e))
            printf("%s\n", e.text);
        else
            printf("%s: read well\n", argv[i]);
    }
    return argc < 2 ? 2 : 0;
}
#endif
