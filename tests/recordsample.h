/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TESTS_RECORDSAMPLE_H
#define GPUPARITY_TESTS_RECORDSAMPLE_H

#include <check.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record.h"

/* Records for the tests, made from a counter alone. */

#define OK(call)                                                                               \
    do {                                                                                       \
        struct errinfo *info_ = &sample_error;                                                 \
        *info_ = (struct errinfo){0};                                                          \
        enum err got_ = (call);                                                                \
        ck_assert_msg(got_ == ERR_OK, "%s: %d: %s", #call, got_, info_->text);                 \
    } while (0)

#define FAILS(code_, words, call)                                                              \
    do {                                                                                       \
        struct errinfo *info_ = &sample_error;                                                 \
        *info_ = (struct errinfo){0};                                                          \
        enum err got_ = (call);                                                                \
        ck_assert_msg(got_ == (code_), "%s: %d: %s", #call, got_, info_->text);                \
        ck_assert_msg(strstr(info_->text, words), "no '%s' in: %s", words, info_->text);       \
        ck_assert_msg(!strchr(info_->text, '\n'), "more than a line: %s", info_->text);        \
    } while (0)

static struct errinfo sample_error;
static char sample_folder[64];

static inline void sample_enter(void)
{
    snprintf(sample_folder, sizeof sample_folder, "/tmp/test_record-XXXXXX");
    ck_assert(mkdtemp(sample_folder) && chdir(sample_folder) == 0);
}

static inline void sample_leave(void)
{
    char command[128];
    ck_assert(chdir("/") == 0);
    snprintf(command, sizeof command, "rm -rf '%s'", sample_folder);
    ck_assert(system(command) == 0);
}

static inline bool sample_exists(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0;
}

static inline struct record_run sample_run(const char *device)
{
    struct record_run r = {.simulated = true, .warp = 32, .n_env = 2};
    snprintf(r.device, sizeof r.device, "%s", device);
    snprintf(r.name, sizeof r.name, "GPU \xc2\xb5 %s", device);
    snprintf(r.arch, sizeof r.arch, "sm_86");
    snprintf(r.library, sizeof r.library, "/usr/lib/libfoo.so");
    snprintf(r.driver, sizeof r.driver, "13.0");
    snprintf(r.runtime, sizeof r.runtime, "13.0.1");
    snprintf(r.host, sizeof r.host, "box");
    snprintf(r.system, sizeof r.system, "Linux 6.1 x86_64");
    snprintf(r.created, sizeof r.created, "2026-11-30T10:00:00Z");
    snprintf(r.shard, sizeof r.shard, "1/1");
    snprintf(r.env[0].name, sizeof r.env[0].name, "CUDA_FORCE_PTX_JIT");
    snprintf(r.env[0].value, sizeof r.env[0].value, "1");
    snprintf(r.env[1].name, sizeof r.env[1].name, "NVIDIA_TF32_OVERRIDE");
    return r;
}

static inline struct record_case sample_case(int64_t n)
{
    struct record_case c = {.status = RECORD_OK,
                            .seconds = 0.25 + (double)n,
                            .repeats = 3,
                            .instructions = UINT64_MAX - (uint64_t)n};
    snprintf(c.id, sizeof c.id, "gemm/tiled:dtype=f32,m=%" PRId64 ",seed=1", n);
    snprintf(c.mode, sizeof c.mode, "default");
    snprintf(c.input_digest, sizeof c.input_digest, "%032" PRIx64, n);
    snprintf(c.compiler, sizeof c.compiler, "NVRTC 13.0");
    snprintf(c.options, sizeof c.options, "-fmad=true");
    return c;
}

/* An f32 output of (n % 5) rows of 3 with bits from a counter, NaNs and zeros among them. */
static inline struct record_out sample_out(int64_t n)
{
    struct record_out o = {.name = "c", .role = "out"};
    OK(tensor_init(&o.tensor, DTYPE_F32, 2, (int64_t[]){n % 5, 3}, &sample_error));
    for (int64_t i = 0; i < o.tensor.count; i++)
        tensor_set_bits(&o.tensor, i, (uint32_t)(2654435761u * (uint32_t)(n * 100 + i)));
    return o;
}

static inline enum err sample_put(struct record *r, int run, int64_t n)
{
    struct record_case c = sample_case(n);
    struct record_out o = sample_out(n);
    struct record_code code = {"\177ELF code", 9, "log: \xe2\x9c\x93\n"};
    enum err err = record_put_case(r, run, n, &c, 1, &o, n % 2 ? &code : NULL, &sample_error);
    tensor_release(&o.tensor);
    return err;
}

static inline void sample_write(const char *path, int n_run, int64_t n_case)
{
    struct record *r;
    OK(record_create(path, false, true, &r, &sample_error));
    for (int i = 0; i < n_run; i++) {
        int run;
        struct record_run head = sample_run(i ? "hip-sim" : "cuda-sim");
        OK(record_add_run(r, &head, &run, &sample_error));
        ck_assert_int_eq(run, i);
        for (int64_t n = 0; n < n_case; n++)
            OK(sample_put(r, run, n));
    }
    OK(record_finish(r, &sample_error));
    record_close(r);
}

static inline void sample_check_case(struct record *r, int run, int64_t i, int64_t n)
{
    struct record_case c, wanted = sample_case(n);
    struct record_out outs[RECORD_OUT_MAX], o = sample_out(n);
    int n_out;
    OK(record_read_case(r, run, i, &c, &sample_error));
    ck_assert_str_eq(c.id, wanted.id);
    ck_assert_str_eq(c.input_digest, wanted.input_digest);
    ck_assert(c.seconds == wanted.seconds && c.instructions == wanted.instructions);
    OK(record_read_outs(r, run, i, &n_out, outs, &sample_error));
    ck_assert_int_eq(n_out, 1);
    ck_assert_str_eq(outs[0].name, "c");
    ck_assert_int_eq(outs[0].tensor.dim[0], n % 5);
    ck_assert_int_eq(outs[0].tensor.count, o.tensor.count);
    ck_assert_mem_eq(outs[0].tensor.data, o.tensor.data, tensor_bytes(&o.tensor));
    tensor_release(&outs[0].tensor);
    tensor_release(&o.tensor);
}

/* Is `path` the record that sample_write(path, n_run, n_case) makes? */
static inline void sample_check(const char *path, int n_run, int64_t n_case)
{
    struct record *r;
    OK(record_open(path, &r, &sample_error));
    ck_assert_int_eq(record_run_count(r), n_run);
    for (int run = 0; run < n_run; run++) {
        ck_assert_int_eq(record_case_count(r, run), n_case);
        for (int64_t i = 0; i < n_case; i++)
            sample_check_case(r, run, i, i);
    }
    record_close(r);
}

/* Reads all that can be read; the first error. */
static inline enum err sample_read_everything(const char *path, struct errinfo *e)
{
    struct record *r;
    TRY(record_open(path, &r, e));
    enum err err = ERR_OK;
    for (int run = 0; run < record_run_count(r) && !err; run++) {
        for (int64_t i = 0; i < record_case_count(r, run) && !err; i++) {
            int n_out = 0;
            struct record_case c;
            struct record_out out[RECORD_OUT_MAX];
            void *code;
            size_t size;
            char *log;
            err = record_read_case(r, run, i, &c, e);
            if (!err)
                err = record_read_outs(r, run, i, &n_out, out, e);
            for (int k = 0; k < n_out; k++)
                tensor_release(&out[k].tensor);
            if (err || (err = record_read_code(r, run, i, &code, &size, &log, e)))
                continue;
            free(code);
            free(log);
        }
    }
    record_close(r);
    return err;
}

static inline unsigned char *sample_load(const char *path, size_t *ret_size)
{
    FILE *f = fopen(path, "rb");
    ck_assert(f != NULL);
    fseek(f, 0, SEEK_END);
    *ret_size = (size_t)ftell(f);
    rewind(f);
    unsigned char *bytes = malloc(*ret_size);
    ck_assert(fread(bytes, 1, *ret_size, f) == *ret_size);
    fclose(f);
    return bytes;
}

static inline void sample_store(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    ck_assert(f && fwrite(bytes, 1, size, f) == size && fclose(f) == 0);
}

/* One line that names the file, or a good read. */
static inline bool sample_reads_or_explains(const char *path)
{
    struct errinfo e = {0};
    enum err err = sample_read_everything(path, &e);
    if (!err)
        return true;
    ck_assert_msg(err == ERR_FORMAT, "%d: %s", err, e.text);
    ck_assert_msg(!strncmp(e.text, path, strlen(path)), "%s", e.text);
    ck_assert_msg(!strchr(e.text, '\n') && strlen(e.text) > strlen(path) + 4, "%s", e.text);
    return false;
}

#endif
