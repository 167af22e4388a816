/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "record.h"
#include "recordcatalog.h"

/* Fuzz target of the record reader. As a program it reads each file it is given, as gpuparity
 * would, and says what came of it:
 *
 *   fuzz_record FILE...
 *
 * With libFuzzer (-DFUZZ_LIBFUZZER -fsanitize=fuzzer,undefined; see docs/record.md) the bytes
 * are walked in this process instead of a child, for coverage: a crash whose top frames are in
 * libhdf5 is the library's, and one that guard.h exists for. */

static void read_case(struct record *r, int run, int64_t i, struct errinfo *e)
{
    struct record_out out[RECORD_OUT_MAX];
    int n_out = 0;
    void *code;
    size_t size;
    char *log;
    if (!record_read_outs(r, run, i, &n_out, out, e))
        for (int k = 0; k < n_out; k++)
            tensor_release(&out[k].tensor);
    if (record_read_code(r, run, i, &code, &size, &log, e))
        return;
    free(code);
    free(log);
}

static enum err read_file(const char *path, struct errinfo *e)
{
    struct record *r;
    TRY(record_open(path, &r, e));
    for (int run = 0; run < record_run_count(r); run++)
        for (int64_t i = 0; i < record_case_count(r, run); i++)
            read_case(r, run, i, e);
    record_close(r);
    return e->code;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct catalog c = {0};
    char path[] = "/tmp/fuzz_record-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    if (!catalog_walk(fd, "input", &c, NULL)) {
        catalog_verify(fd, &c, NULL);
        catalog_release(&c);
    }
    close(fd);
    unlink(path);
    return 0;
}

#ifndef FUZZ_LIBFUZZER
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct errinfo e = {0};
        if (read_file(argv[i], &e))
            printf("%s\n", e.text);
        else
            printf("%s: a good record\n", argv[i]);
    }
    return argc < 2 ? 2 : 0;
}
#endif
