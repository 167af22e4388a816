/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "codefile.h"
#include "workerlink.h"

/* Fuzz target of the two readers that take bytes from outside the program's own logic: kept
 * kernels, and the messages of a worker, which shares its process with vendors' libraries. As a
 * program it reads each file it is given as a kept kernel:
 *
 *   fuzz_codefile FILE...
 *
 * With libFuzzer (-DFUZZ_LIBFUZZER -fsanitize=fuzzer,address,undefined) the first byte of the
 * input chooses: the rest is a message, a kept kernel, or what a kept kernel unpacks to. */

static void read_bytes(const void *bytes, size_t size)
{
    char path[64];
    struct codefile f = {0};
    snprintf(path, sizeof path, "/tmp/fuzz_codefile-%d", (int)getpid());
    FILE *out = fopen(path, "w");
    if (!out || fwrite(bytes, 1, size, out) != size || fclose(out))
        abort();
    if (!codefile_read(path, &f, NULL))
        codefile_release(&f);
    unlink(path);
}

static void read_packed(const void *bytes, size_t size)
{
    size_t room = ZSTD_compressBound(size);
    char *packed = malloc(room);
    if (!packed)
        abort();
    read_bytes(packed, ZSTD_compress(packed, room, bytes, size, 1));
    free(packed);
}

static void read_message(const char *bytes, size_t size)
{
    enum workerlink_kind kind;
    const char *payload;
    size_t payload_size;
    struct worker_result r;
    bool spoiled;
    if (workerlink_message(bytes, size, &kind, &payload, &payload_size) > 0 &&
        workerlink_result(payload, payload_size, &spoiled, &r))
        worker_result_release(&r);
    if (workerlink_result(bytes, size, &spoiled, &r))
        worker_result_release(&r);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    if (size == 0)
        return 0;
    switch (data[0] % 3) {
    case 0:
        read_bytes(data + 1, size - 1);
        break;
    case 1:
        read_packed(data + 1, size - 1);
        break;
    default:
        read_message((const char *)data + 1, size - 1);
    }
    return 0;
}

#ifndef FUZZ_LIBFUZZER
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct codefile f = {0};
        struct errinfo e = {0};
        if (codefile_read(argv[i], &f, &e))
            printf("%s\n", e.text);
        else
            printf("%s: %zu bytes by %s\n", argv[i], f.size, f.compiler);
        codefile_release(&f);
    }
    return 0;
}
#endif
