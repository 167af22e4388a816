/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture.h"

/* Fuzz target of the list of operators in a capture: the input is the JSON text. As a program it reads
 * the files it is given; with libFuzzer as docs/tensors.md says for fuzz_tensorfile, and capture.c. */

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct capture c = {0};
    struct errinfo e = {0};
    FILE *f = tmpfile();
    if (!f || fwrite(data, 1, size, f) != size || fflush(f))
        abort();
    enum err err = capture_list(&c, fileno(f), 0, size, &e);
    if ((err != ERR_OK) != (e.text[0] != 0))
        abort(); /* an error has a text, and only an error */
    for (int64_t i = 0; !err && i < capture_count(&c); i++)
        if (!*capture_at(&c, i)->op || capture_at(&c, i)->n_out < 1)
            abort();
    capture_close(&c);
    fclose(f);
    return 0;
}

#ifndef FUZZ_LIBFUZZER
int main(int argc, char **argv)
{
    static unsigned char data[1 << 20];
    for (int i = 1; i < argc; i++) {
        FILE *f = fopen(argv[i], "rb");
        size_t size = f ? fread(data, 1, sizeof data, f) : 0;
        if (f)
            fclose(f);
        printf("%s: %zu bytes\n", argv[i], size);
        LLVMFuzzerTestOneInput(data, size);
    }
    return argc < 2;
}
#endif
