/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compare.h"
#include "session.h"
#include "suite.h"

/* The main job, end to end, on both simulated devices: compiled kernels run, tensors go through
 * a record, and what comes back is judged. */

static char folder[] = "/tmp/gpuparity-mainjob-XXXXXX";

static void setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
    strcpy(folder, "/tmp/gpuparity-mainjob-XXXXXX");
}

static void run_one(struct session *s, const char *id, int devices, const char *on,
                    double timeout)
{
    struct errinfo e;
    struct options o;
    memset(&o, 0, sizeof o);
    o.n_word = 1;
    o.word[0] = id;
    o.on = on;
    o.code = "golden";
    o.quiet = true;
    o.timeout = timeout;
    ck_assert_msg(session_run(s, &o, devices, on, true, &e) == 0, "%s", e.text);
}

/* --- the numbers are the silicon's: one rounding or two
 * --------------------------------------- */

enum { M = 33, N = 18, K = 67 };
#define ID "gemm/naive:dtype=f32,m=33,n=18,k=67,dist=normal,seed=11"

static float chain(const struct tensor *a, const struct tensor *b, int i, int j, bool fused)
{
    volatile float acc = 0;
    for (int l = 0; l < K; l++) {
        float x = (float)tensor_value(a, i * K + l), y = (float)tensor_value(b, l * N + j);
        volatile float p = x * y;
        acc = fused ? fmaf(x, y, acc) : acc + p;
    }
    return acc;
}

static void expect_chain(const char *device, const char *id, bool fused)
{
    struct errinfo e;
    struct session s;
    run_one(&s, id, 1, device, 60);
    struct record_case c;
    ck_assert_int_eq(record_read_case(s.record, s.run[0], 0, &c, &e), 0);
    ck_assert_msg(c.status == RECORD_OK, "%s: %s", device, c.reason);
    struct record_out out[RECORD_OUT_MAX];
    int count;
    ck_assert_int_eq(record_read_outs(s.record, s.run[0], 0, &count, out, &e), 0);
    ck_assert_int_eq(count, 1);
    struct case_plan plan;
    struct tensor a, b;
    ck_assert_int_eq(s.cases.id[0].family->plan(&s.cases.id[0], &plan, &e), 0);
    ck_assert_int_eq(case_input(&s.cases.id[0], &plan, 0, &a, &e), 0);
    ck_assert_int_eq(case_input(&s.cases.id[0], &plan, 1, &b, &e), 0);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float want = chain(&a, &b, i, j, fused);
            uint32_t bits;
            memcpy(&bits, &want, sizeof bits);
            ck_assert_msg(tensor_bits(&out[0].tensor, i * N + j) == bits,
                          "%s [%d,%d]: %a, must be %a", device, i, j,
                          tensor_value(&out[0].tensor, i * N + j), (double)want);
        }
    tensor_release(&a);
    tensor_release(&b);
    tensor_release(&out[0].tensor);
    session_release(&s);
}

START_TEST(contraction_is_one_rounding_and_strict_is_two)
{
    static const char *const devices[] = {"cuda-sim", "hip-sim"};
    expect_chain(devices[_i], ID, true);
    expect_chain(devices[_i], ID ",mode=strict", false);
}
END_TEST

/* --- planted faults
 * ---------------------------------------------------------------------------- */

struct seen {
    int count;
    enum verdict verdict;
    enum cause cause;
    bool has_cause;
    char reason[768], reproduce[768];
};

static enum err keep(void *context, const struct finding *f, struct errinfo *e)
{
    (void)e;
    struct seen *s = context;
    const struct cause_claim *c = finding_cause(f);
    s->count++;
    s->verdict = f->verdict;
    s->has_cause = c != NULL;
    s->cause = c ? c->cause : CAUSE_UNEXPLAINED;
    snprintf(s->reason, sizeof s->reason, "%s", f->reason);
    snprintf(s->reproduce, sizeof s->reproduce, "%s", f->reproduce);
    return ERR_OK;
}

static void check_one(const char *id, double timeout, struct seen *ret_seen)
{
    struct errinfo e;
    struct session s;
    struct finding_tally tally;
    struct compare_options o = {.threads = 1};
    memset(ret_seen, 0, sizeof *ret_seen);
    run_one(&s, id, 2, "cuda-sim,hip-sim", timeout);
    struct compare_run a = {s.record, s.run[0], ""}, b = {s.record, s.run[1], ""};
    ck_assert_msg(compare_runs(&a, &b, &o, keep, ret_seen, &tally, &e) == 0, "%s", e.text);
    ck_assert_int_eq(ret_seen->count, 1);
    session_release(&s);
}

#define SIZE "m=40,n=24,k=64"

static const struct {
    const char *id;
    enum verdict verdict;
    enum cause cause; /* COUNT_: none asked for */
} faults[] = {
    {"gemm/fault_drop:dtype=f32," SIZE, VERDICT_B_WRONG, CAUSE_LOCALISED},
    {"gemm/fault_drop:dtype=bf16," SIZE, VERDICT_B_WRONG, CAUSE_LOCALISED},
    {"gemm/fault_scale:dtype=f32," SIZE, VERDICT_B_WRONG, CAUSE_SCALE},
    {"gemm/fault_zero:dtype=f16," SIZE, VERDICT_B_WRONG, CAUSE_LOCALISED},
    {"gemm/fault_zero:dtype=f32,dist=zero," SIZE, VERDICT_MISTRUSTED, CAUSE_COUNT_},
    {"gemm/fault_oob:dtype=f32," SIZE, VERDICT_B_WRONG, CAUSE_LOCALISED},
    {"gemm/fault_unwritten:dtype=f32," SIZE, VERDICT_B_WRONG, CAUSE_LOCALISED},
    {"gemm/fault_hang:dtype=f32," SIZE, VERDICT_BROKEN, CAUSE_COUNT_},
    {"gemm/naive:dtype=f32," SIZE, VERDICT_SAME, CAUSE_COUNT_},
};
enum { FAULTS = sizeof faults / sizeof *faults };

START_TEST(planted_faults_on_one_side)
{
    struct seen s;
    check_one(faults[_i].id, 3, &s);
    ck_assert_msg(s.verdict == faults[_i].verdict, "%s: %s, %s", faults[_i].id,
                  verdict_name(s.verdict), s.reason);
    if (faults[_i].cause != CAUSE_COUNT_)
        ck_assert_msg(s.has_cause && s.cause == faults[_i].cause, "%s: %s", faults[_i].id,
                      cause_name(s.cause));
}
END_TEST

/* The line that a finding prints gives the same verdict and exit status when it is typed in. */
START_TEST(reproduction_line_reproduces)
{
    struct seen s;
    check_one(faults[0].id, 3, &s);
    char command[1200];
    ck_assert_int_eq(strncmp(s.reproduce, "gpuparity ", 10), 0);
    snprintf(command, sizeof command, "%s/gpuparity %s --code golden >%s/again.txt 2>&1",
             getenv("GPUPARITY_SIM_DIR"), s.reproduce + 10, folder);
    int status = system(command);
    ck_assert_int_eq(WEXITSTATUS(status), 1);
    snprintf(command, sizeof command, "grep -q '^B_WRONG' %s/again.txt", folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* Two machines that only exchange files find what one machine finds: every column of the CSV
 * report but the run times. */
START_TEST(two_records_give_the_findings_of_one_check)
{
    char command[4096];
    snprintf(
        command, sizeof command,
        "cd %s && g=%s/gpuparity && w='gemm/tiled:dtype=bf16,m=17,n=33,k=65 "
        "gemm/fault_scale:dtype=f32,m=16,n=16,k=16 gemm/naive:dtype=i8,m=5,n=6,k=7' && "
        "$g run $w --on cuda-sim --code golden -o a.h5 >a.txt && "
        "$g run $w --on hip-sim --code golden -o b.h5 >b.txt && "
        "{ $g check $w --on cuda-sim,hip-sim --code golden -o c.h5 >c.txt; test $? = 1; } && "
        "{ $g compare a.h5 b.h5 --report two.csv >two.txt; test $? = 1; } && "
        "$g report c.h5 --format csv -o one.csv && python3 -c \"%s\"",
        folder, getenv("GPUPARITY_SIM_DIR"),
        "import csv\n"
        "def rows(f): return [{k: v for k, v in r.items() if not k.endswith('_seconds')}"
        " for r in csv.DictReader(open(f))]\n"
        "one, two = rows('one.csv'), rows('two.csv')\n"
        "assert one == two and len(one) == 3, (one, two)");
    ck_assert_int_eq(system(command), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("mainjob");
    TCase *c = tcase_create("mainjob");
    suite_add_tcase(s, c);
    tcase_add_unchecked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, contraction_is_one_rounding_and_strict_is_two, 0, 2);
    tcase_add_loop_test(c, planted_faults_on_one_side, 0, FAULTS);
    tcase_add_test(c, reproduction_line_reproduces);
    tcase_add_test(c, two_records_give_the_findings_of_one_check);
    return suite_run(s);
}
