/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "noise.h"
#include "planted.h"
#include "poison.h"
#include "suite.h"

/* --repeat: the noise of a few made-up runs, worked out here by hand, and planted races on the
 * simulated devices. */

static struct tensor floats(int n, const float *x)
{
    struct tensor t;
    struct errinfo e;
    int64_t dim[1] = {n};
    ck_assert_int_eq(tensor_init(&t, DTYPE_F32, 1, dim, &e), 0);
    memcpy(t.data, x, (size_t)n * sizeof *x);
    return t;
}

START_TEST(noise_of_three_runs)
{
    struct errinfo e;
    struct noise n;
    /* Element 1 moves by 3 and by 4, element 2 to NaN, element 3 only with the memory. */
    struct tensor first = floats(4, (float[]){1, 2, 3, 4});
    struct tensor one = floats(4, (float[]){1, 5, 3, 4}),
                  two = floats(4, (float[]){1, -2, NAN, 4});
    struct tensor memory = floats(4, (float[]){1, 2, 3, 9});
    ck_assert_int_eq(noise_init(&n, &first, &e), 0);
    noise_add(&n, &first, NOISE_ORDER, UINT64_MAX);
    ck_assert_int_eq(noise_unstable(&n) + noise_stale(&n), 0);
    noise_add(&n, &one, NOISE_ORDER, UINT64_MAX);
    noise_add(&n, &two, NOISE_ORDER, UINT64_MAX);
    noise_add(&n, &memory, NOISE_MEMORY, 0);
    ck_assert_int_eq(noise_unstable(&n), 2);
    ck_assert_int_eq(noise_stale(&n), 1);
    ck_assert_double_eq(n.largest, 4);
    ck_assert_double_eq_tol(noise_rms(&n), sqrt((9.0 + 16.0) / 12.0), 1e-15);
    noise_release(&n);
    tensor_release(&first);
    tensor_release(&one);
    tensor_release(&two);
    tensor_release(&memory);
}
END_TEST

/* What was never written holds whatever memory held: no reading of stale memory. */
START_TEST(unwritten_is_not_stale)
{
    struct errinfo e;
    struct noise n;
    struct tensor first = floats(2, (float[]){1, 0}), again = floats(2, (float[]){1, 0});
    tensor_set_bits(&first, 1, poison_bits(DTYPE_F32));
    ck_assert_int_eq(noise_init(&n, &first, &e), 0);
    noise_add(&n, &again, NOISE_MEMORY, 0);
    ck_assert_int_eq(noise_stale(&n), 0);
    noise_add(&n, &again, NOISE_MEMORY, UINT64_MAX);
    ck_assert_int_eq(noise_stale(&n), 1);
    noise_release(&n);
    tensor_release(&first);
    tensor_release(&again);
}
END_TEST

/* --- planted ---------------------------------------------------------------------------------
 */

static const struct {
    const char *id;
    int repeats;
    enum verdict verdict;
    enum cause cause;
    const char *words; /* in the reason */
} planted[] = {
    /* Right in the first order, so one run cannot show it. */
    {"gemm/fault_race:dtype=f32,m=33,n=20,k=30", 0, VERDICT_SAME, CAUSE_COUNT_, ""},
    {"gemm/fault_race:dtype=f32,m=33,n=20,k=30", 4, VERDICT_B_WRONG, CAUSE_RACE,
     "differs from itself"},
    {"gemm/fault_race:dtype=i8,m=33,n=20,k=30", 2, VERDICT_B_WRONG, CAUSE_RACE,
     "differs from itself"},
    /* Inside the bound in every order, and never the same. */
    {"gemm/fault_jumble:dtype=f32,m=33,n=20,k=70", 4, VERDICT_B_WRONG, CAUSE_RACE,
     "differs from itself"},
    /* Integer sums are the same in every order. */
    {"gemm/fault_jumble:dtype=i8,m=33,n=20,k=70", 4, VERDICT_SAME, CAUSE_COUNT_,
     "4 runs gave the same bits"},
    {"gemm/fault_stale:dtype=f16,m=16,n=16,k=16", 3, VERDICT_B_WRONG, CAUSE_UNINITIALISED,
     "what memory held before"},
    /* Declared atomics have noise, and no fault. */
    {"gemm/splitk:dtype=f32,m=48,n=40,k=96", 4, VERDICT_SAME, CAUSE_COUNT_, "differ by up to"},
    {"gemm/splitk:dtype=i8,m=48,n=40,k=96", 4, VERDICT_SAME, CAUSE_COUNT_,
     "4 runs gave the same bits"},
    {"gemm/tiled:dtype=f16,m=33,n=20,k=30", 4, VERDICT_SAME, CAUSE_COUNT_,
     "4 runs gave the same bits"},
    /* Codes of one byte, for which every pattern is a result. */
    {"optim8bit/quantize:dtype=f32,n=1031,block=64", 4, VERDICT_SAME, CAUSE_COUNT_, ""},
};

START_TEST(planted_races)
{
    struct seen s = {.verdict = VERDICT_COUNT_};
    planted_repeat(planted[_i].id, planted[_i].repeats, seen_sink, &s);
    ck_assert_msg(s.verdict == planted[_i].verdict && s.cause == planted[_i].cause,
                  "%s is %s: %s", planted[_i].id, verdict_name(s.verdict), s.reason);
    ck_assert_msg(strstr(s.reason, planted[_i].words) != NULL, "%s: %s", planted[_i].id,
                  s.reason);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("noise");
    TCase *c = tcase_create("noise");
    suite_add_tcase(s, c);
    tcase_add_test(c, noise_of_three_runs);
    tcase_add_test(c, unwritten_is_not_stale);
    tcase_add_loop_test(c, planted_races, 0, (int)(sizeof planted / sizeof *planted));
    return suite_run(s);
}
