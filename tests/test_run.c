/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"
#include "harness/child.h"
#include "harness/codestore.h"
#include "harness/poison.h"
#include "harness/run.h"

/* Cases run on fake_vendor.c, whose results are known and which dies on request. */

static struct errinfo e;
static char folder[64], path[96], simulators[4096];

static const char *const some_cases[] = {"gemm/naive:dtype=f32,m=5,n=7,k=3",
                                         "gemm/naive:dtype=f16,m=5,n=7,k=3",
                                         "gemm/naive:dtype=bf16,m=1,n=1,k=0",
                                         "gemm/naive:dtype=i8,m=9,n=2,k=33",
                                         "gemm/tiled:dtype=f32,m=16,n=1,k=20",
                                         "gemm/tiled:dtype=f32,m=4,n=4,k=4,beta=2",
                                         "gemm/tiled:dtype=f16,m=2,n=3,k=4,mode=strict"};
enum { SOME = sizeof some_cases / sizeof *some_cases, BAD = 1 /* naive_f16 */ };

static struct caselist parsed(int count)
{
    struct caselist l = {.count = count, .id = calloc((size_t)count, sizeof *l.id)};
    for (int i = 0; i < count; i++)
        ck_assert_msg(!caseid_parse(some_cases[i], &l.id[i], &e), "%s", e.text);
    return l;
}

/* "Code": the fake has the kernels whose names stand in it. */
static void keep(const char *id_text)
{
    static const char text[] = "naive_f32 naive_f16 naive_bf16 naive_i8 tiled_f32 tiled_f16";
    struct case_id id;
    char options[512];
    ck_assert_int_eq(caseid_parse(id_text, &id, &e), 0);
    struct fp_mode m = {id.mode.contract, id.mode.flush, id.mode.exact_div, id.mode.exact_sqrt,
                        id.mode.approximate};
    backends[0]->toolchain->options(backends[0]->arch, &m, options, sizeof options);
    struct code c = {.bytes = (void *)(uintptr_t)text,
                     .size = sizeof text,
                     .options = options,
                     .version = "Fake 1"};
    ck_assert_msg(!codestore_save(backends[0], id.family, id.variant, &id.mode, &c, &e), "%s",
                  e.text);
}

static void set_up(void)
{
    strcpy(folder, "/tmp/gpuparity-run-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/record.h5", folder);
    setenv("GPUPARITY_GOLDEN", folder, 1);
    keep("gemm/naive");
    keep("gemm/tiled");
    keep("gemm/tiled:mode=strict");
}

static void tear_down(void)
{
    char text[100];
    snprintf(text, sizeof text, "rm -rf %s", folder);
    ck_assert_int_eq(system(text), 0);
}

static struct device_choice fake_device(void)
{
    return (struct device_choice){.backend = backends[0], .kind = DEVICE_CHOICE_SIMULATED};
}

/* Runs into `path`, which stays open for writing. */
static enum err run_some(const struct caselist *l, struct run_options o, bool resume,
                         struct record **ret_record)
{
    int run = -1;
    struct device_choice d = fake_device();
    o.code = RUN_CODE_GOLDEN;
    memset(&e, 0, sizeof e);
    ck_assert_msg(!record_create(path, resume, false, ret_record, &e), "%s", e.text);
    enum err err = run_cases(l, &d, &o, *ret_record, &run, &e);
    ck_assert_int_eq(run, err ? -1 : 0);
    return err;
}

/* The same to the end: the finished record, open for reading. */
static struct record *run_all(const struct caselist *l, struct run_options o)
{
    struct record *r = NULL;
    ck_assert_msg(!run_some(l, o, false, &r), "%s", e.text);
    ck_assert_msg(!record_finish(r, &e), "%s", e.text);
    record_close(r);
    ck_assert_msg(!record_open(path, &r, &e), "%s", e.text);
    ck_assert_int_eq(record_case_count(r, 0), l->count);
    return r;
}

static struct record_case case_at(struct record *r, int64_t i)
{
    struct record_case c;
    ck_assert_msg(!record_read_case(r, 0, i, &c, &e), "%s", e.text);
    return c;
}

/* --- results ---------------------------------------------------------------------------------
 */

/* What the fake computes, from the inputs' bits alone. */
static void check_output(const struct case_id *id, const struct tensor *out, size_t written)
{
    struct case_plan plan;
    struct tensor in[2];
    unsigned char *o = out->data, *a[2];
    size_t size[2];
    ck_assert_int_eq(id->family->plan(id, &plan, &e), 0);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(case_input(id, &plan, i, &in[i], &e), 0);
        a[i] = in[i].data;
        size[i] = tensor_bytes(&in[i]);
    }
    ck_assert_int_eq(out->dtype, plan.tensor[2].dtype);
    for (size_t i = 0; i < written; i++) {
        unsigned char want = (unsigned char)i;
        for (int k = 0; k < 2; k++)
            want ^= size[k] ? a[k][i % size[k]] : 0;
        ck_assert_msg(o[i] == want, "byte %zu: %02x, not %02x", i, o[i], want);
    }
    for (int i = 0; i < 2; i++)
        tensor_release(&in[i]);
}

START_TEST(good_results)
{
    struct caselist l = parsed(SOME);
    fake_use(NULL);
    for (int i = 0; backends[0]->environment[i]; i++)
        unsetenv(backends[0]->environment[i]);
    setenv("CUDA_VISIBLE_DEVICES", "1,0", 1);
    struct record *r = run_all(&l, (struct run_options){.keep_code = true});
    const struct record_run *run = record_run_at(r, 0);
    ck_assert_str_eq(run->device, "cuda-sim");
    ck_assert_str_eq(run->name, "Fake card 70");
    ck_assert_str_eq(run->arch, "sm_89");
    ck_assert_str_eq(run->shard, "1/1");
    ck_assert(run->simulated);
    ck_assert_int_eq(run->n_env, 1);
    ck_assert_str_eq(run->env[0].name, "CUDA_VISIBLE_DEVICES");
    ck_assert_str_eq(run->env[0].value, "1,0");
    for (int i = 0; i < SOME; i++) {
        struct record_case c = case_at(r, i);
        struct record_out out[RECORD_OUT_MAX];
        char text[CASEID_TEXT_MAX], digest[33];
        int n = 0;
        caseid_print(&l.id[i], text);
        ck_assert_str_eq(c.id, text);
        ck_assert_msg(c.status == RECORD_OK, "%s: %s", c.id, c.reason);
        ck_assert_str_eq(c.reason, "");
        ck_assert_str_eq(c.compiler, "Fake 1 (golden)");
        ck_assert_str_eq(c.mode, i == SOME - 1 ? "strict" : "default");
        ck_assert_int_eq(codestore_source_digest(l.id[i].family, l.id[i].variant, digest, &e),
                         0);
        ck_assert_str_eq(c.source_digest, digest);
        struct case_plan plan;
        ck_assert_int_eq(l.id[i].family->plan(&l.id[i], &plan, &e), 0);
        ck_assert_int_eq(case_input_digest(&l.id[i], &plan, digest, &e), 0);
        ck_assert_str_eq(c.input_digest, digest);
        ck_assert_uint_eq(strlen(c.code_digest), 32);
        ck_assert(c.seconds > 0 && c.seconds < 30);
        ck_assert_int_eq(c.repeats, 1);
        ck_assert(!c.guard_before && !c.guard_after && !c.guard_tensor[0]);
        ck_assert_int_eq(record_read_outs(r, 0, i, &n, out, &e), 0);
        ck_assert_int_eq(n, 1);
        ck_assert_str_eq(out[0].name, "c");
        check_output(&l.id[i], &out[0].tensor, tensor_bytes(&out[0].tensor));
        tensor_release(&out[0].tensor);

        void *code = NULL;
        size_t size = 0;
        char *log = NULL;
        ck_assert_int_eq(record_read_code(r, 0, i, &code, &size, &log, &e), 0);
        ck_assert_ptr_nonnull(memmem(code, size, "naive_bf16", 10));
        free(code);
        free(log);
    }
    record_close(r);
    caselist_release(&l);
}
END_TEST

/* --- deaths ----------------------------------------------------------------------------------
 */

static const struct {
    const char *how, *words;
} deaths[] = {
    {"launch-crash:naive_f16", "killed by signal 11 (Segmentation fault) while running the "
                               "kernel naive_f16; its last words: \"fake: about to crash"},
    {"launch-abort:naive_f16",
     "killed by signal 6 (Aborted) while running the kernel naive_f16"},
    {"launch-exit:naive_f16", "ended with exit status 0 while running the kernel naive_f16"},
    {"launch-close:naive_f16", "closed its connection while running the kernel naive_f16"},
};

START_TEST(death_is_a_status)
{
    struct caselist l = parsed(SOME);
    fake_use(deaths[_i].how);
    struct record *r = run_all(&l, (struct run_options){.timeout = 20});
    for (int i = 0; i < SOME; i++) {
        struct record_case c = case_at(r, i);
        ck_assert_msg(c.status == (i == BAD ? RECORD_CRASHED : RECORD_OK), "%s: %s", c.id,
                      c.reason);
        if (i == BAD)
            ck_assert_msg(strstr(c.reason, deaths[_i].words) == c.reason, "%s", c.reason);
    }
    record_close(r);
    caselist_release(&l);
}
END_TEST

START_TEST(hang_is_ended)
{
    struct caselist l = parsed(SOME);
    fake_use("launch-hang:naive_f16");
    double start = child_clock();
    struct record *r = run_all(&l, (struct run_options){.timeout = 1});
    ck_assert(child_clock() - start < 15);
    for (int i = 0; i < SOME; i++) {
        struct record_case c = case_at(r, i);
        ck_assert_int_eq(c.status, i == BAD ? RECORD_TIMED_OUT : RECORD_OK);
        if (i != BAD)
            continue;
        ck_assert_ptr_nonnull(strstr(c.reason, "after 1 s while running the kernel naive_f16"));
        ck_assert_ptr_nonnull(strstr(c.reason, "--timeout"));
        ck_assert(c.seconds >= 1 && c.seconds < 5);
    }
    /* Nothing is left of it. */
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    record_close(r);
    caselist_release(&l);
}
END_TEST

START_TEST(crash_while_loading)
{
    struct caselist l = parsed(3);
    fake_use("load-abort");
    struct record *r = run_all(&l, (struct run_options){.timeout = 20});
    for (int i = 0; i < 3; i++) {
        struct record_case c = case_at(r, i);
        ck_assert_int_eq(c.status, RECORD_CRASHED);
        ck_assert_ptr_nonnull(strstr(c.reason, "while loading the code of naive.cu"));
        ck_assert_str_eq(c.mode, "default");
        ck_assert_uint_eq(strlen(c.source_digest), 32);
    }
    record_close(r);
    caselist_release(&l);
}
END_TEST

/* A device that cannot be opened at all is not a status but the end. */
static const struct {
    const char *how, *words;
} closed[] = {{"context-crash", "killed by signal 11 (Segmentation fault) while opening"},
              {"context-exit", "ended with exit status 0 while opening"},
              {"context-hang", "no answer within 1 s while opening"},
              {"no-card", "finds no NVIDIA card"},
              {"init-fails", "cuInit: FAKE_ERROR (999)"}};

START_TEST(device_does_not_open)
{
    struct caselist l = parsed(2);
    struct record *r = NULL;
    fake_use(closed[_i].how);
    ck_assert_int_eq(run_some(&l, (struct run_options){.timeout = 1}, false, &r), ERR_MISSING);
    ck_assert_msg(strstr(e.text, "cuda-sim: ") == e.text, "%s", e.text);
    ck_assert_msg(strstr(e.text, closed[_i].words) != NULL, "%s", e.text);
    record_close(r);
    caselist_release(&l);
}
END_TEST

/* After a fault the next case gets a new device: the fake's stays broken, as real ones do. */
START_TEST(fault_is_left_behind)
{
    struct caselist l = parsed(SOME);
    fake_use("launch-faults:naive_f16");
    struct record *r = run_all(&l, (struct run_options){.timeout = 20});
    for (int i = 0; i < SOME; i++) {
        struct record_case c = case_at(r, i);
        ck_assert_int_eq(c.status, i == BAD ? RECORD_LAUNCH_FAILED : RECORD_OK);
        if (i == BAD)
            ck_assert_ptr_nonnull(strstr(c.reason, "naive_f16: cuLaunchKernel: "
                                                   "FAKE_ILLEGAL_ADDRESS (700)"));
    }
    record_close(r);
    caselist_release(&l);
}
END_TEST

START_TEST(refusals)
{
    struct caselist l = parsed(2);
    struct record *r = NULL;
    fake_use("alloc-fails");
    r = run_all(&l, (struct run_options){0});
    struct record_case c = case_at(r, 0);
    ck_assert_int_eq(c.status, RECORD_SKIPPED);
    ck_assert_ptr_nonnull(strstr(c.reason, "a: the device has no room"));
    record_close(r);
    unlink(path);

    fake_use("load-fails");
    r = run_all(&l, (struct run_options){0});
    c = case_at(r, 1);
    ck_assert_int_eq(c.status, RECORD_LAUNCH_FAILED);
    ck_assert_ptr_nonnull(strstr(c.reason, "loading the code: cuModuleLoadDataEx"));
    record_close(r);
    caselist_release(&l);
}
END_TEST

/* --- memory ----------------------------------------------------------------------------------
 */

START_TEST(overruns_are_counted)
{
    struct caselist l = parsed(SOME);
    fake_use(_i ? "guard-after:naive_f16" : "guard-before:naive_f16");
    struct record *r = run_all(&l, (struct run_options){0});
    for (int i = 0; i < SOME; i++) {
        struct record_case c = case_at(r, i);
        ck_assert_int_eq(c.status, RECORD_OK);
        ck_assert_int_eq(c.guard_before, i == BAD && !_i ? 7 : 0);
        ck_assert_int_eq(c.guard_after, i == BAD && _i ? 1 : 0);
        ck_assert_str_eq(c.guard_tensor, i == BAD ? "c" : "");
    }
    record_close(r);
    caselist_release(&l);
}
END_TEST

/* A kernel that writes into its input. */
START_TEST(inputs_must_stay)
{
    struct caselist l = parsed(SOME);
    fake_use("input:naive_f16");
    struct record *r = run_all(&l, (struct run_options){0});
    for (int i = 0; i < SOME; i++) {
        struct record_case c = case_at(r, i);
        ck_assert_int_eq(c.status, i == BAD ? RECORD_LAUNCH_FAILED : RECORD_OK);
        ck_assert_str_eq(c.reason, i == BAD
                                       ? "the kernel wrote into its input b: 1 bytes in it, "
                                         "0 before, 0 behind"
                                       : "");
    }
    record_close(r);
    caselist_release(&l);
}
END_TEST

START_TEST(unwritten_is_poison)
{
    struct caselist l = parsed(5);
    fake_use("unwritten");
    struct record *r = run_all(&l, (struct run_options){0});
    for (int i = 0; i < 5; i++) {
        struct record_out out[RECORD_OUT_MAX];
        int n;
        ck_assert_int_eq(record_read_outs(r, 0, i, &n, out, &e), 0);
        ck_assert_int_eq(n, 1);
        struct tensor *t = &out[0].tensor;
        size_t size = tensor_bytes(t), each = (size_t)dtype_info(t->dtype)->bytes;
        ck_assert_uint_eq(case_at(r, i).unwritten, size >= 4 ? 4 / each : 0);
        if (size >= 4) {
            check_output(&l.id[i], t, size - 4);
            for (size_t k = 0; k < 4 / each; k++)
                ck_assert_uint_eq(tensor_bits(t, t->count - 1 - (int64_t)k),
                                  poison_bits(t->dtype));
        }
        tensor_release(t);
    }
    record_close(r);
    caselist_release(&l);
}
END_TEST

/* gemm with another plan: one launch on bytes, where every pattern is a possible result. */
static enum err plan_bytes(const struct case_id *id, struct case_plan *ret_plan,
                           struct errinfo *why)
{
    (void)id, (void)why;
    struct case_plan p = {.n_tensor = 3, .n_launch = 1};
    for (int i = 0; i < 3; i++)
        p.tensor[i] = (struct case_tensor){.name = {(char)('a' + i)},
                                           .role = i < 2 ? TENSOR_IN : TENSOR_OUT,
                                           .dtype = DTYPE_U8,
                                           .rank = 1,
                                           .dim = {4096 + i},
                                           .dist = DIST_UNIFORM};
    p.launch[0] = (struct case_launch){"naive_i8", {1, 1, 1}, {1, 1, 1}, 0, 3, {{0}}};
    for (int i = 0; i < 3; i++)
        p.launch[0].arg[i] = (struct case_arg){.kind = CASE_ARG_TENSOR, .tensor = i};
    *ret_plan = p;
    return ERR_OK;
}

START_TEST(poison_of_bytes_is_confirmed)
{
    struct family bytes = *family_find("gemm");
    struct caselist l = parsed(4);
    struct record_out out[RECORD_OUT_MAX];
    int n, poison = 0;
    bytes.plan = plan_bytes;
    l.id[3].family = &bytes;
    fake_use(_i ? "unwritten:naive_i8" : NULL);
    struct record *r = run_all(&l, (struct run_options){0});
    struct record_case c = case_at(r, 3);
    ck_assert_msg(c.status == RECORD_OK, "%s", c.reason);
    ck_assert_int_eq(c.unwritten, _i ? 4 : 0);
    ck_assert_int_eq(c.repeats, 2);
    ck_assert_int_eq(record_read_outs(r, 0, 3, &n, out, &e), 0);
    ck_assert_int_eq(out[0].tensor.count, 4098);
    check_output(&l.id[3], &out[0].tensor, 4098 - (_i ? 4 : 0));
    for (int k = 0; k < 4094; k++)
        poison += tensor_bits(&out[0].tensor, k) == poison_bits(DTYPE_U8);
    ck_assert_int_gt(poison, 0);
    ck_assert_uint_eq(poison_sign(DTYPE_U8, c.unwritten), _i ? POISON_BYTE : UINT64_MAX);
    tensor_release(&out[0].tensor);
    c = case_at(r, 0);
    ck_assert_int_eq(c.repeats, 1);
    ck_assert_int_eq(c.unwritten, 0);
    record_close(r);
    caselist_release(&l);
}
END_TEST

START_TEST(poison_is_no_result)
{
    for (int d = 0; d < DTYPE_COUNT_; d++) {
        const struct dtype_info *i = dtype_info((enum dtype)d);
        uint64_t bits = poison_bits((enum dtype)d);
        if (i->bytes < 8)
            ck_assert_uint_eq(bits >> (8 * i->bytes), 0);
        if (i->kind != DTYPE_KIND_FLOAT || i->specials != DTYPE_SPECIALS_IEEE)
            continue;
        /* Signalling: a NaN whose first fraction bit is 0. */
        ck_assert_msg(dtype_is_nan((enum dtype)d, bits), "%s", i->name);
        ck_assert_uint_eq(bits >> (i->fraction - 1) & 1, 0);
    }
}
END_TEST

/* --- the simulated devices themselves
 * --------------------------------------------------------- */

/* Planted faults of the gemm family, which act on the second vendor only. */
START_TEST(planted_faults)
{
    static const char *const names[] = {"hang", "oob", "unwritten"};
    char text[80];
    struct case_id id[3];
    struct caselist l = {.count = 3, .id = id};
    struct device_choice d = {.backend = backends[_i], .kind = DEVICE_CHOICE_SIMULATED};
    struct record *r = NULL;
    int run = -1;
    setenv("GPUPARITY_SIM_DIR", simulators, 1);
    unsetenv("GPUPARITY_GOLDEN");
    if (device_settle(&d, &e)) {
        printf("skipped: %s\n", e.text);
        return;
    }
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "gemm/fault_%s:dtype=f32,m=20,n=20,k=5", names[i]);
        ck_assert_int_eq(caseid_parse(text, &id[i], &e), 0);
    }
    struct run_options o = {.timeout = 2, .code = RUN_CODE_GOLDEN};
    ck_assert_int_eq(record_create(path, false, false, &r, &e), 0);
    ck_assert_msg(!run_cases(&l, &d, &o, r, &run, &e), "%s", e.text);
    ck_assert_int_eq(record_finish(r, &e), 0);
    record_close(r);
    ck_assert_int_eq(record_open(path, &r, &e), 0);
    struct record_case hang = case_at(r, 0), oob = case_at(r, 1), unwritten = case_at(r, 2);
    ck_assert_msg(hang.status == (_i ? RECORD_TIMED_OUT : RECORD_OK), "%s", hang.reason);
    ck_assert_msg(oob.status == RECORD_OK, "%s", oob.reason);
    ck_assert_int_eq(oob.guard_after, _i ? 4 : 0);
    ck_assert_str_eq(oob.guard_tensor, _i ? "c" : "");
    ck_assert_msg(unwritten.status == RECORD_OK, "%s", unwritten.reason);
    ck_assert_int_eq(unwritten.unwritten, _i ? 1 : 0);
    ck_assert_uint_gt(unwritten.instructions, 0);
    record_close(r);
}
END_TEST

/* --- code ------------------------------------------------------------------------------------
 */

START_TEST(code_absent_stale_damaged)
{
    struct case_id id;
    struct codefile f;
    char file[4096];
    struct caselist l = {.count = 1, .id = &id};
    static const struct {
        const char *id, *words;
        enum record_status status;
    } rows[] = {{"gemm/splitk", "no code is kept for gemm/splitk.cu", RECORD_SKIPPED},
                {"gemm/naive:mode=fast", "no code is kept for mode", RECORD_SKIPPED},
                {"gemm/naive:m=3", "is stale", RECORD_BUILD_FAILED},
                {"gemm/tiled:m=3", "not a kept kernel", RECORD_BUILD_FAILED}};
    fake_use(NULL);
    ck_assert_int_eq(caseid_parse("gemm/naive", &id, &e), 0);
    codestore_path(backends[0]->arch, id.family, id.variant, &id.mode, file, sizeof file);
    ck_assert_int_eq(codefile_read(file, &f, &e), 0);
    f.source[0] ^= 1;
    ck_assert_int_eq(codefile_write(file, &f, &e), 0);
    codefile_release(&f);
    ck_assert_int_eq(caseid_parse("gemm/tiled", &id, &e), 0);
    codestore_path(backends[0]->arch, id.family, id.variant, &id.mode, file, sizeof file);
    FILE *out = fopen(file, "w");
    fputs("rubbish", out);
    fclose(out);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(caseid_parse(rows[i].id, &id, &e), 0);
        struct record *r = run_all(&l, (struct run_options){0});
        struct record_case c = case_at(r, 0);
        ck_assert_msg(c.status == rows[i].status, "%s: %s", rows[i].id, c.reason);
        ck_assert_msg(strstr(c.reason, rows[i].words) != NULL, "%s", c.reason);
        record_close(r);
        unlink(path);
    }
}
END_TEST

/* --- order -----------------------------------------------------------------------------------
 */

static void check_same(struct record *a, struct record *b)
{
    int64_t count = record_case_count(a, 0);
    ck_assert_int_eq(count, record_case_count(b, 0));
    for (int64_t i = 0; i < count; i++) {
        struct record_case x = case_at(a, i), y = case_at(b, i);
        struct record_out u[RECORD_OUT_MAX], v[RECORD_OUT_MAX];
        int n, m;
        ck_assert_str_eq(x.id, y.id);
        ck_assert_int_eq(x.status, y.status);
        ck_assert_str_eq(x.reason, y.reason);
        ck_assert_str_eq(x.input_digest, y.input_digest);
        ck_assert_int_eq(record_read_outs(a, 0, i, &n, u, &e), 0);
        ck_assert_int_eq(record_read_outs(b, 0, i, &m, v, &e), 0);
        ck_assert_int_eq(n, m);
        for (int k = 0; k < n; k++) {
            char p[33], q[33];
            tensor_digest(&u[k].tensor, p);
            tensor_digest(&v[k].tensor, q);
            ck_assert_str_eq(p, q);
            tensor_release(&u[k].tensor);
            tensor_release(&v[k].tensor);
        }
    }
}

static struct record *reference(const struct caselist *l)
{
    char whole[100];
    struct record *r = run_all(l, (struct run_options){0});
    record_close(r);
    snprintf(whole, sizeof whole, "%s/whole.h5", folder);
    ck_assert_int_eq(rename(path, whole), 0);
    ck_assert_int_eq(record_open(whole, &r, &e), 0);
    return r;
}

START_TEST(jobs_change_nothing)
{
    struct caselist l = parsed(SOME);
    fake_use("launch-crash:naive_f16");
    struct record *one = reference(&l);
    struct record *many = run_all(&l, (struct run_options){.jobs = _i});
    check_same(one, many);
    record_close(one);
    record_close(many);
    caselist_release(&l);
}
END_TEST

START_TEST(shards_make_up_the_whole)
{
    struct caselist l = parsed(SOME);
    bool seen[SOME] = {false};
    fake_use(NULL);
    for (int shard = 1; shard <= 3; shard++) {
        struct record *r = NULL;
        struct run_options o = {.shard = shard, .shards = 3};
        ck_assert_int_eq(run_some(&l, o, false, &r), 0);
        ck_assert_int_eq(record_finish(r, &e), 0);
        record_close(r);
        ck_assert_int_eq(record_open(path, &r, &e), 0);
        ck_assert_int_eq(record_run_at(r, 0)->shard[0], '0' + shard);
        for (int64_t i = 0; i < record_case_count(r, 0); i++) {
            struct record_case c = case_at(r, i);
            for (int k = 0; k < SOME; k++) {
                char text[CASEID_TEXT_MAX];
                caseid_print(&l.id[k], text);
                ck_assert(strcmp(text, c.id) || !seen[k]);
                seen[k] |= !strcmp(text, c.id);
            }
        }
        record_close(r);
        unlink(path);
    }
    for (int k = 0; k < SOME; k++)
        ck_assert(seen[k]);
    caselist_release(&l);
}
END_TEST

/* --- going on --------------------------------------------------------------------------------
 */

struct seen {
    int calls;
    int64_t done, total;
    int signal_at; /* raise SIGINT at this call */
};

static void progress(void *context, int64_t done, int64_t total, const struct record_case *c)
{
    struct seen *s = context;
    ck_assert_ptr_nonnull(c);
    s->done = done;
    s->total = total;
    if (++s->calls == s->signal_at)
        raise(SIGINT);
}

START_TEST(interrupted_and_resumed)
{
    struct caselist l = parsed(SOME);
    struct seen s = {.signal_at = 3};
    struct record *r = NULL;
    sigset_t mask;
    fake_use("launch-crash:naive_f16");
    struct record *whole = reference(&l);
    struct run_options o = {.progress = progress, .context = &s};
    ck_assert_int_eq(run_some(&l, o, false, &r), ERR_IO);
    ck_assert_msg(strstr(e.text, "--resume") != NULL, "%s", e.text);
    ck_assert_msg(strstr(e.text, "of 7 cases") != NULL, "%s", e.text);
    record_close(r);
    ck_assert(s.calls >= 3 && s.calls < SOME);
    sigprocmask(SIG_BLOCK, NULL, &mask);
    ck_assert(!sigismember(&mask, SIGINT));
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);

    int before = s.calls;
    s = (struct seen){0};
    ck_assert_msg(!run_some(&l, o, true, &r), "%s", e.text);
    ck_assert_int_eq(s.calls, SOME - before);
    ck_assert_int_eq(s.done, SOME);
    ck_assert_int_eq(s.total, SOME);
    ck_assert_int_eq(record_finish(r, &e), 0);
    record_close(r);
    ck_assert_int_eq(record_open(path, &r, &e), 0);
    check_same(whole, r);
    record_close(whole);
    record_close(r);
    caselist_release(&l);
}
END_TEST

/* kill -9 of the whole program: no worker survives it. Orphans come to this process. */
START_TEST(killed_leaves_no_worker)
{
    struct caselist l = parsed(SOME);
    int status = 0;
    fake_use("launch-hang:naive_f16");
    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    pid_t program = fork();
    if (program == 0) {
        struct record *r = NULL;
        (void)run_some(&l, (struct run_options){.timeout = 60}, false, &r);
        _exit(0);
    }
    usleep(300000);
    kill(program, SIGKILL);
    ck_assert_int_eq(waitpid(program, &status, 0), program);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_gt(waitpid(-1, &status, 0), 0);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    ck_assert_int_eq(waitpid(-1, &status, 0), -1);

    struct record *r = NULL;
    setenv("FAKE", "", 1);
    ck_assert_msg(!run_some(&l, (struct run_options){0}, true, &r), "%s", e.text);
    ck_assert_msg(!record_finish(r, &e), "%s", e.text);
    record_close(r);
    caselist_release(&l);
}
END_TEST

/* --- what the user says ----------------------------------------------------------------------
 */

START_TEST(devices_by_name)
{
    struct device_choice c[2];
    char text[32];
    int n = 0;
    ck_assert_int_eq(device_parse_list("hip-sim,cuda:11", 2, c, &n, &e), 0);
    ck_assert_int_eq(n, 2);
    ck_assert_str_eq(c[0].backend->name, "hip");
    ck_assert_int_eq(c[0].kind, DEVICE_CHOICE_SIMULATED);
    ck_assert_int_eq(c[1].kind, DEVICE_CHOICE_REAL);
    device_print(&c[1], text);
    ck_assert_str_eq(text, "cuda:11");
    ck_assert_int_eq(device_parse("hip", c, &e), 0);
    ck_assert_int_eq(c[0].kind, DEVICE_CHOICE_ANY);
    static const char *const bad[] = {
        "",        "cud",      "cuda:",    "cuda:-1", "cuda:x",
        "cuda:1x", "cuda:999", "hip-sima", "hip sim", "cuda:99999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_msg(device_parse(bad[i], c, &e) == ERR_USAGE, "%s", bad[i]);
        ck_assert_ptr_nonnull(strstr(e.text, "hip-sim"));
    }
    ck_assert_int_eq(device_parse_list("hip,cuda,hip", 2, c, &n, &e), ERR_USAGE);
    ck_assert_int_eq(device_parse_list("hip,,cuda", 3, c, &n, &e), ERR_USAGE);
    device_parse("hip-sin", c, &e);
    ck_assert_ptr_nonnull(strstr(e.text, "did you mean 'hip-sim'?"));
}
END_TEST

START_TEST(device_settles)
{
    struct device_choice c = fake_device();
    fake_use(NULL);
    ck_assert_msg(!device_settle(&c, &e), "%s", e.text);
    fake_use("init-crash");
    ck_assert_int_eq(device_settle(&c, &e), ERR_MISSING);
    ck_assert_msg(strstr(e.text, "killed by signal 11") != NULL, "%s", e.text);
    fake_use("no-card");
    ck_assert_int_eq(device_settle(&c, &e), ERR_MISSING);
    setenv("GPUPARITY_SIM_DIR", "/nowhere", 1);
    ck_assert_int_eq(device_settle(&c, &e), ERR_MISSING);
    ck_assert_ptr_nonnull(strstr(e.text, "/nowhere/"));
    ck_assert_ptr_nonnull(strstr(e.text, "GPUPARITY_SIM_DIR"));
}
END_TEST

int main(void)
{
    device_simulator_folder(simulators, sizeof simulators);
    Suite *s = suite_create("run");
    TCase *t = tcase_create("run");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, good_results);
    tcase_add_loop_test(t, death_is_a_status, 0, sizeof deaths / sizeof *deaths);
    tcase_add_test(t, hang_is_ended);
    tcase_add_test(t, crash_while_loading);
    tcase_add_loop_test(t, device_does_not_open, 0, sizeof closed / sizeof *closed);
    tcase_add_test(t, fault_is_left_behind);
    tcase_add_test(t, refusals);
    tcase_add_loop_test(t, overruns_are_counted, 0, 2);
    tcase_add_test(t, inputs_must_stay);
    tcase_add_test(t, unwritten_is_poison);
    tcase_add_loop_test(t, poison_of_bytes_is_confirmed, 0, 2);
    tcase_add_test(t, poison_is_no_result);
    tcase_add_loop_test(t, planted_faults, 0, 2);
    tcase_add_test(t, code_absent_stale_damaged);
    tcase_add_loop_test(t, jobs_change_nothing, 2, 5);
    tcase_add_test(t, shards_make_up_the_whole);
    tcase_add_test(t, interrupted_and_resumed);
    tcase_add_test(t, killed_leaves_no_worker);
    tcase_add_test(t, devices_by_name);
    tcase_add_test(t, device_settles);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
