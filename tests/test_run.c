/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/poison.h"
#include "runsample.h"

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

/* Repeats run in other streams, every other one beside other work: a result that depends on
 * either is unstable, and the case after it runs in the default stream again. */
static const struct {
    const char *fake;
    int repeats;
    int64_t unstable;
} ways[] = {
    {NULL, 4, 0},   {"stream", 2, 1}, {"stream", 4, 1},
    {"busy", 2, 1}, {"busy", 4, 1},   {"no-streams", 4, 0},
};

START_TEST(repeats_in_other_streams)
{
    struct caselist l = parsed(2);
    fake_use(ways[_i].fake);
    struct record *r = run_all(&l, (struct run_options){.repeats = ways[_i].repeats});
    for (int k = 0; k < 2; k++) {
        struct record_case c = case_at(r, k);
        ck_assert_msg(c.status == RECORD_OK, "%s", c.reason);
        ck_assert_int_eq(c.repeats, ways[_i].repeats);
        ck_assert_int_eq(c.unstable, ways[_i].unstable);
        ck_assert_int_eq(c.stale, 0);
    }
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


int main(void)
{
    device_simulator_folder(simulators, sizeof simulators);
    TCase *t = tcase_create("run");
    tcase_add_test(t, good_results);
    tcase_add_test(t, refusals);
    tcase_add_loop_test(t, overruns_are_counted, 0, 2);
    tcase_add_test(t, inputs_must_stay);
    tcase_add_test(t, unwritten_is_poison);
    tcase_add_loop_test(t, poison_of_bytes_is_confirmed, 0, 2);
    tcase_add_loop_test(t, repeats_in_other_streams, 0, (int)(sizeof ways / sizeof *ways));
    tcase_add_test(t, poison_is_no_result);
    tcase_add_loop_test(t, planted_faults, 0, 2);
    return run_suite("run", t);
}
