/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target of hip-sim's loader, decoder and executors. As a program it reads the files it is
 * given; with clang -fsanitize=fuzzer and -DLIBFUZZER it is the fuzzer's. */
#include <stdio.h>

#include "hostile_hip_sim.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct sim_memory memory;
    setenv("GPUPARITY_SIM_BUDGET", "3000", 0);
    setenv("GPUPARITY_SIM_THREADS", "1", 0);
    if (sim_memory_init(&memory, 1 << 24))
        return 0;
    hostile_load(&memory, bytes, size);
    sim_memory_release(&memory);
    return 0;
}

#ifndef LIBFUZZER
int main(int argc, char **argv)
{
    for (int n = 1; n < argc; n++) {
        FILE *f = fopen(argv[n], "rb");
        uint8_t *bytes = malloc(1 << 24);
        size_t size = f && bytes ? fread(bytes, 1, 1 << 24, f) : 0;
        if (f)
            fclose(f);
        LLVMFuzzerTestOneInput(bytes, size);
        free(bytes);
        printf("%s: %zu bytes\n", argv[n], size);
    }
    return 0;
}
#endif
