/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "caseid.h"
#include "compare.h"
#include "suite.h"

/* Records made by hand, with outputs computed here: a chain of fmaf is what a right kernel gives;
 * each test spoils one side in one way and expects the verdict and the element to be named. */

enum { M = 9, N = 7, K = 33 };
static const char ID[] = "gemm/naive:dtype=f32,m=9,n=7,k=33,dist=normal,seed=3";

enum spoil { RIGHT, UNFUSED, DROP_LAST, SCALED, ZEROS, NAN_ONE, WRONG_SHAPE, NO_OUTPUT, DIGEST };

static char folder[] = "/tmp/gpuparity-compare-XXXXXX";

static void setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
    strcpy(folder, "/tmp/gpuparity-compare-XXXXXX");
}

static float one_element(const struct tensor *a, const struct tensor *b, int i, int j,
                         enum spoil spoil)
{
    float acc = 0;
    for (int l = 0; l < (spoil == DROP_LAST ? K - 1 : K); l++) {
        float x = (float)tensor_value(a, i * K + l), y = (float)tensor_value(b, l * N + j);
        volatile float product = x * y;
        acc = spoil == UNFUSED ? acc + product : fmaf(x, y, acc);
    }
    if (spoil == SCALED)
        acc *= 1 + 1.0f / 1024;
    if (spoil == ZEROS)
        acc = 0;
    if (spoil == NAN_ONE && i == 4 && j == 5)
        acc = NAN;
    return acc;
}

static void make_output(const struct case_id *id, const struct case_plan *plan, enum spoil spoil,
                        struct record_out *out)
{
    struct errinfo e;
    struct tensor a, b;
    ck_assert_int_eq(case_input(id, plan, 0, &a, &e), 0);
    ck_assert_int_eq(case_input(id, plan, 1, &b, &e), 0);
    memset(out, 0, sizeof *out);
    strcpy(out->name, "c");
    strcpy(out->role, "out");
    int64_t dim[] = {M, spoil == WRONG_SHAPE ? N + 1 : N};
    ck_assert_int_eq(tensor_init(&out->tensor, DTYPE_F32, 2, dim, &e), 0);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float value = one_element(&a, &b, i, j, spoil);
            uint32_t bits;
            memcpy(&bits, &value, sizeof bits);
            tensor_set_bits(&out->tensor, i * N + j, bits);
        }
    tensor_release(&a);
    tensor_release(&b);
}

static struct record *make_record(const char *name, const char *device, enum spoil spoil,
                                  enum record_status status, const char *id_text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s.h5", folder, name);
    struct errinfo e;
    struct case_id id;
    struct case_plan plan;
    ck_assert_msg(caseid_parse(id_text, &id, &e) == 0, "%s", e.text);
    ck_assert_int_eq(id.family->plan(&id, &plan, &e), 0);
    struct record *r;
    struct record_run run = {.simulated = true};
    snprintf(run.device, sizeof run.device, "%s", device);
    ck_assert_msg(record_create(path, false, false, &r, &e) == 0, "%s", e.text);
    int index;
    ck_assert_msg(record_add_run(r, &run, &index, &e) == 0, "%s", e.text);
    struct record_case c = {.status = status, .repeats = 1};
    caseid_print(&id, c.id);
    ck_assert_int_eq(case_input_digest(&id, &plan, c.input_digest, &e), 0);
    if (spoil == DIGEST)
        c.input_digest[0] = c.input_digest[0] == '0' ? '1' : '0';
    if (status != RECORD_OK)
        strcpy(c.reason, "killed by signal 11");
    struct record_out out;
    make_output(&id, &plan, spoil, &out);
    int n_out = status == RECORD_OK && spoil != NO_OUTPUT;
    ck_assert_msg(record_put_case(r, index, 0, &c, n_out, &out, NULL, &e) == 0, "%s", e.text);
    ck_assert_msg(record_finish(r, &e) == 0, "%s", e.text);
    record_close(r);
    tensor_release(&out.tensor);
    ck_assert_msg(record_open(path, &r, &e) == 0, "%s", e.text);
    return r;
}

static enum err keep(void *context, const struct finding *f, struct errinfo *e)
{
    (void)e;
    struct finding *to = context;
    *to = *f;
    to->out = malloc(((size_t)f->n_out + 1) * sizeof *f->out);
    ck_assert_ptr_nonnull(to->out);
    if (f->n_out)
        memcpy(to->out, f->out, (size_t)f->n_out * sizeof *f->out);
    return ERR_OK;
}

static enum err compare_two(struct record *a, struct record *b, bool common, struct finding *f,
                            struct errinfo *e)
{
    struct compare_run x = {a, 0, "a.h5"}, y = {b, 0, "b.h5"};
    struct compare_options o = {.threads = 2, .common = common};
    struct finding_tally tally;
    memset(f, 0, sizeof *f);
    enum err err = compare_runs(&x, b ? &y : NULL, &o, keep, f, &tally, e);
    record_close(a);
    record_close(b);
    if (!err)
        ck_assert_int_eq(tally.verdicts[f->verdict], 1);
    return err;
}

static void expect(enum spoil a, enum spoil b, enum verdict verdict)
{
    struct errinfo e;
    struct finding f;
    struct record *x = make_record("a", "cuda-sim", a, RECORD_OK, ID);
    struct record *y = make_record("b", "hip-sim", b, RECORD_OK, ID);
    ck_assert_msg(compare_two(x, y, false, &f, &e) == 0, "%s", e.text);
    ck_assert_msg(f.verdict == verdict, "%s: %s", verdict_name(f.verdict), f.reason);
    ck_assert_ptr_nonnull(strstr(f.reproduce, "check 'gemm/naive:"));
    ck_assert_ptr_nonnull(strstr(f.reproduce, "--on cuda-sim,hip-sim"));
    finding_release(&f);
}

START_TEST(verdicts)
{
    static const struct {
        enum spoil a, b;
        enum verdict verdict;
    } rows[] = {
        {RIGHT, RIGHT, VERDICT_SAME},          {RIGHT, UNFUSED, VERDICT_EQUIVALENT},
        {RIGHT, DROP_LAST, VERDICT_B_WRONG},   {DROP_LAST, RIGHT, VERDICT_A_WRONG},
        {SCALED, UNFUSED, VERDICT_A_WRONG},    {RIGHT, ZEROS, VERDICT_B_WRONG},
        {ZEROS, ZEROS, VERDICT_BOTH_WRONG},    {SCALED, DROP_LAST, VERDICT_BOTH_WRONG},
        {RIGHT, NAN_ONE, VERDICT_B_WRONG},
    };
    expect(rows[_i].a, rows[_i].b, rows[_i].verdict);
}
END_TEST

/* What the user allows comes on top of the bounds, and makes nothing right that is wrong. */
START_TEST(limits_come_on_top)
{
    static const struct {
        enum spoil b;
        const char *limit;
        enum verdict verdict;
    } rows[] = {
        {UNFUSED, "ulp:0", VERDICT_DIFFERENT},      {UNFUSED, "ulp:1000000", VERDICT_EQUIVALENT},
        {UNFUSED, "share:0", VERDICT_DIFFERENT},    {UNFUSED, "bound:1", VERDICT_EQUIVALENT},
        {UNFUSED, "bound:1e-9", VERDICT_DIFFERENT}, {RIGHT, "ulp:0", VERDICT_SAME},
        {DROP_LAST, "abs:1e30", VERDICT_B_WRONG},
    };
    struct errinfo e;
    struct finding f = {0};
    struct limits l;
    struct record *x = make_record("a", "cuda-sim", RIGHT, RECORD_OK, ID);
    struct record *y = make_record("b", "hip-sim", rows[_i].b, RECORD_OK, ID);
    struct compare_run a = {x, 0, "a.h5"}, b = {y, 0, "b.h5"};
    struct finding_tally tally;
    ck_assert_int_eq(limits_parse(1, &rows[_i].limit, &l, &e), 0);
    struct compare_options o = {.threads = 1, .limits = &l, .select = "gemm/naive"};
    ck_assert_int_eq(compare_runs(&a, &b, &o, keep, &f, &tally, &e), 0);
    ck_assert_msg(f.verdict == rows[_i].verdict, "%s: %s", verdict_name(f.verdict), f.reason);
    finding_release(&f);
    o.select = "gemm/tiled";
    ck_assert_int_eq(compare_runs(&a, &b, &o, keep, &f, &tally, &e), ERR_USAGE);
    record_close(x);
    record_close(y);
}
END_TEST

START_TEST(worst_element_is_named)
{
    struct errinfo e;
    struct finding f;
    struct record *x = make_record("a", "cuda-sim", RIGHT, RECORD_OK, ID);
    struct record *y = make_record("b", "hip-sim", NAN_ONE, RECORD_OK, ID);
    ck_assert_int_eq(compare_two(x, y, false, &f, &e), 0);
    ck_assert_int_eq(f.out[0].worst.index, 4 * N + 5);
    ck_assert_int_eq(f.out[0].worst.coordinate[0], 4);
    ck_assert_int_eq(f.out[0].worst.coordinate[1], 5);
    ck_assert(isnan(f.out[0].worst.value_b));
    ck_assert_int_eq(f.out[0].stats.pair.bits_equal, M * N - 1);
    finding_release(&f);
}
END_TEST

/* Not comparable is an error with the name of the file and what is wrong, never a verdict. */
START_TEST(incomparable)
{
    static const struct {
        enum spoil spoil;
        const char *says;
    } rows[] = {
        {WRONG_SHAPE, "f32[9,8], must be f32[9,7]"},
        {NO_OUTPUT, "no output 'c'"},
        {DIGEST, "inputs of"},
    };
    struct errinfo e;
    struct finding f;
    struct record *x = make_record("a", "cuda-sim", RIGHT, RECORD_OK, ID);
    struct record *y = make_record("b", "hip-sim", rows[_i].spoil, RECORD_OK, ID);
    ck_assert_int_eq(compare_two(x, y, false, &f, &e), ERR_FORMAT);
    ck_assert_msg(strstr(e.text, rows[_i].says) != NULL, "%s", e.text);
    ck_assert_msg(strstr(e.text, "b.h5") != NULL, "%s", e.text);
}
END_TEST

START_TEST(both_inputs_are_not_those_of_the_id)
{
    struct errinfo e;
    struct finding f;
    struct record *x = make_record("a", "cuda-sim", DIGEST, RECORD_OK, ID);
    struct record *y = make_record("b", "hip-sim", DIGEST, RECORD_OK, ID);
    ck_assert_int_eq(compare_two(x, y, false, &f, &e), ERR_FORMAT);
    ck_assert_msg(strstr(e.text, "not those its id stands for") != NULL, "%s", e.text);
}
END_TEST

START_TEST(a_case_in_one_record_only)
{
    static const char other[] = "gemm/naive:dtype=f32,m=9,n=7,k=33,dist=normal,seed=4";
    struct errinfo e;
    struct finding f;
    for (int common = 0; common < 2; common++) {
        struct record *x = make_record(common ? "a1" : "a", "cuda-sim", RIGHT, RECORD_OK, ID);
        struct record *y = make_record(common ? "b1" : "b", "hip-sim", RIGHT, RECORD_OK, other);
        ck_assert_int_eq(compare_two(x, y, common, &f, &e), ERR_FORMAT);
        ck_assert_msg(strstr(e.text, common ? "no cases to compare" : "--common") != NULL, "%s",
                      e.text);
    }
}
END_TEST

START_TEST(a_crash_is_a_verdict)
{
    struct errinfo e;
    struct finding f;
    struct record *x = make_record("a", "cuda-sim", RIGHT, RECORD_OK, ID);
    struct record *y = make_record("b", "hip-sim", RIGHT, RECORD_CRASHED, ID);
    ck_assert_msg(compare_two(x, y, false, &f, &e) == 0, "%s", e.text);
    ck_assert_int_eq(f.verdict, VERDICT_BROKEN);
    ck_assert_ptr_nonnull(strstr(f.reason, "signal 11"));
    finding_release(&f);
}
END_TEST

START_TEST(one_side_alone)
{
    struct errinfo e;
    struct finding f;
    struct record *x = make_record("a", "hip-sim", DROP_LAST, RECORD_OK, ID);
    ck_assert_msg(compare_two(x, NULL, false, &f, &e) == 0, "%s", e.text);
    ck_assert_int_eq(f.verdict, VERDICT_A_WRONG);
    ck_assert_ptr_nonnull(strstr(f.reproduce, "verify 'gemm/naive:"));
    finding_release(&f);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("compare");
    TCase *c = tcase_create("compare");
    suite_add_tcase(s, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, verdicts, 0, 9);
    tcase_add_loop_test(c, limits_come_on_top, 0, 7);
    tcase_add_test(c, worst_element_is_named);
    tcase_add_loop_test(c, incomparable, 0, 3);
    tcase_add_test(c, both_inputs_are_not_those_of_the_id);
    tcase_add_test(c, a_case_in_one_record_only);
    tcase_add_test(c, a_crash_is_a_verdict);
    tcase_add_test(c, one_side_alone);
    return suite_run(s);
}
