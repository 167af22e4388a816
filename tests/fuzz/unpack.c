/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorchunk.h"

/* Fuzz target of what undoes HDF5's filters: the first byte says which and in what order, the
 * second the size of an element, the third the mask and the fourth how large a chunk is. As a
 * program it reads the files it is given. */

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static const int ids[] = {1, 2, 3, 32000, 32015};
    struct tensorfile_tensor t = {.dtype = DTYPE_F32};
    const unsigned char *result;
    if (size < 4)
        return -1;
    for (int rest = data[0]; rest > 0 && t.n_filter < 3; rest /= 6)
        if (rest % 6)
            t.filter[t.n_filter++] = ids[rest % 6 - 1];
    t.element = 1 << data[1] % 4;
    size_t bytes = 1 + 97 * (size_t)data[3];
    unsigned char *work = malloc(2 * (bytes + TENSORCHUNK_SLACK)), sum = 0;
    if (!work)
        abort();
    if (!tensorchunk_unpack(&t, data[2], data + 4, size - 4, bytes, work, &result, NULL))
        for (size_t i = 0; i < bytes; i++)
            sum ^= result[i];
    free(work);
    return sum * 0;
}

#ifndef FUZZ_LIBFUZZER
int main(int argc, char **argv)
{
    static unsigned char data[1 << 20];
    for (int i = 1; i < argc; i++) {
        FILE *f = fopen(argv[i], "r");
        if (!f)
            return 2;
        LLVMFuzzerTestOneInput(data, fread(data, 1, sizeof data, f));
        fclose(f);
    }
    return argc < 2 ? 2 : 0;
}
#endif
