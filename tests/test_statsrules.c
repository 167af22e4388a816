/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"
#include "suite.h"

/* Rules of the statistics, each by an example whose result is known beforehand. */

struct scene {
    struct tensor a, b;
    struct oracle o;
};

/* All zeros. */
static void scene_init(struct scene *s, enum dtype d, int64_t n)
{
    ck_assert_int_eq(tensor_init(&s->a, d, 1, &n, NULL), ERR_OK);
    ck_assert_int_eq(tensor_init(&s->b, d, 1, &n, NULL), ERR_OK);
    ck_assert_int_eq(oracle_init(&s->o, n, NULL), ERR_OK);
}

static void scene_release(struct scene *s)
{
    tensor_release(&s->a);
    tensor_release(&s->b);
    oracle_release(&s->o);
}

/* By hand: the rules that are easiest to get wrong. */
START_TEST(by_hand)
{
    const struct {
        enum dtype d;
        double value, bound;
        uint64_t bits;
        int nan, inf, over;
    } row[] = {
        {DTYPE_F16, 65519, 16, 0x7bff, 0, 0, 0}, /* rounds to the largest */
        {DTYPE_F16, 65519, 16, 0x7c00, 0, 1, 0}, /* 65536 is 17 away */
        {DTYPE_F16, 65519, 17, 0x7c00, 0, 0, 0}, /* within the bound */
        {DTYPE_F16, 65520, 15, 0x7c00, 0, 0, 0}, /* rounds to Inf */
        {DTYPE_F16, 65520, 15, 0x7bff, 0, 1, 0}, /* finite where Inf is right */
        {DTYPE_F16, 65520, 16, 0x7bff, 0, 0, 0}, /* the largest is within the bound */
        {DTYPE_F16, 65520, 99, 0xfc00, 0, 1, 0}, /* the other Inf */
        {DTYPE_F16, 65520, 99, 0x7e00, 1, 0, 0}, /* NaN is never an overflow here */
        {DTYPE_F16, -65520, 0, 0xfc00, 0, 0, 0},
        {DTYPE_E4M3, 464, 15, 0x7e, 0, 0, 1}, /* ties to the largest, 448 */
        {DTYPE_E4M3, 465, 15, 0x7f, 0, 0, 0}, /* overflow reads as NaN */
        {DTYPE_E4M3, 465, 15, 0xff, 0, 0, 0},
        {DTYPE_E4M3, 465, 15, 0x7e, 0, 1, 0},
        {DTYPE_E4M3, 100, 15, 0x7f, 1, 0, 0},
        {DTYPE_F32, NAN, 0, 0xffffffff, 0, 0, 0},
        {DTYPE_F32, NAN, 0, 0x7f800000, 1, 0, 0},
        {DTYPE_F32, -INFINITY, 0, 0x7f800000, 0, 1, 0},
        {DTYPE_F32, INFINITY, 0, 0x7f800000, 0, 0, 0},
        {DTYPE_F32, INFINITY, 0, 0x7fc00000, 1, 0, 0},
        {DTYPE_F32, 1, 0, 0x3f800001, 0, 0, 1},
        {DTYPE_F32, 0, 0, 0x80000000, 0, 0, 0}, /* -0 for +0 */
        {DTYPE_F32, 1, INFINITY, 0x7fc00000, 0, 0, 0},
        {DTYPE_I32, 5, 0, 5, 0, 0, 0},
        {DTYPE_I32, 5, 0, 6, 0, 0, 1},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct scene t;
        struct output_stats s;
        scene_init(&t, row[i].d, 1);
        tensor_set_bits(&t.a, 0, row[i].bits);
        t.o.value[0] = row[i].value;
        t.o.bound[0] = row[i].bound;
        ck_assert_int_eq(stats_compute(&t.a, NULL, &t.o, UINT64_MAX, 1, &s, NULL), ERR_OK);
        ck_assert_msg(s.a.nan_wrong == row[i].nan && s.a.inf_wrong == row[i].inf &&
                          s.a.over_bound == row[i].over,
                      "row %zu", i);
        ck_assert_int_eq(s.a.first_wrong, row[i].nan || row[i].inf || row[i].over ? 0 : -1);
        scene_release(&t);
    }
}
END_TEST

/* Zeros of either sign are unequal in bits, 0 apart, and both right. */
START_TEST(signed_zeros)
{
    for (int with_oracle = 0; with_oracle < 2; with_oracle++) {
        struct scene s;
        struct output_stats out;
        scene_init(&s, DTYPE_F16, 600);
        tensor_set_bits(&s.b, 333, 0x8000);
        tensor_set_bits(&s.b, 444, 0x8000);
        ck_assert_int_eq(
            stats_compute(&s.a, &s.b, with_oracle ? &s.o : NULL, UINT64_MAX, 1, &out, NULL),
            ERR_OK);
        ck_assert(out.pair.bits_equal == 598 && out.pair.worst_ulp == 0);
        ck_assert(out.pair.worst_index == 333 && out.pair.first_index == 333);
        ck_assert(out.b.over_bound == 0 && out.b.worst_index == -1);
        ck_assert_int_eq(out.b.correctly_rounded, with_oracle ? 600 : 0);
        scene_release(&s);
    }
}
END_TEST

/* The worst comes first: of class, then of size, then of place. */
START_TEST(worst)
{
    struct scene s;
    struct output_stats out;
    scene_init(&s, DTYPE_F32, 1000);
    for (int64_t i = 0; i < 1000; i++)
        s.o.bound[i] = 1;
    tensor_set_bits(&s.b, 100, dtype_round(DTYPE_F32, 0.5));
    tensor_set_bits(&s.b, 200, dtype_round(DTYPE_F32, -3));
    tensor_set_bits(&s.b, 900, dtype_round(DTYPE_F32, 3));
    ck_assert_int_eq(stats_compute(&s.a, &s.b, &s.o, 0x7fa5a5a5, 1, &out, NULL), ERR_OK);
    ck_assert(out.b.worst_index == 200 && out.b.first_wrong == 200 && out.b.worst_bound == 3);
    ck_assert(out.pair.worst_index == 200 && out.pair.first_index == 100);
    ck_assert(out.a.worst_index == -1 && out.a.first_wrong == -1 && out.b.over_bound == 2);
    tensor_set_bits(&s.b, 950, 0x7fa5a5a5);
    tensor_set_bits(&s.b, 960, 0x7fc00000);
    ck_assert_int_eq(stats_compute(&s.a, &s.b, &s.o, 0x7fa5a5a5, 1, &out, NULL), ERR_OK);
    ck_assert(out.b.worst_index == 950 && out.b.unwritten == 1 && out.b.nan_wrong == 1);
    ck_assert(out.b.worst_bound == 3 && out.b.first_wrong == 200);
    ck_assert(out.pair.worst_index == 950 && out.pair.nan_differs == 2);
    scene_release(&s);
}
END_TEST

/* Power and constancy are of the reference alone. */
START_TEST(reference_strength)
{
    struct scene s;
    struct output_stats out;
    scene_init(&s, DTYPE_F32, 400);
    for (int64_t i = 0; i < 400; i++) {
        s.o.bound[i] = i < 100 ? INFINITY : 1;
        s.o.drop[i] = i % 4 ? 2 : 2.1;
    }
    ck_assert_int_eq(stats_compute(&s.a, NULL, &s.o, UINT64_MAX, 1, &out, NULL), ERR_OK);
    ck_assert(out.power == 0.25 && out.reference_constant && out.a.unjudged == 100);
    s.o.value[399] = 1e-30;
    ck_assert_int_eq(stats_compute(&s.a, NULL, &s.o, UINT64_MAX, 1, &out, NULL), ERR_OK);
    ck_assert(!out.reference_constant);
    scene_release(&s);
}
END_TEST

/* The same in windows of so many elements. */
static void in_windows(const struct scene *s, int64_t size, struct output_stats *ret)
{
    struct stats *k;
    const struct stats_subject is = {.dtype = s->a.dtype,
                                     .count = s->a.count,
                                     .two_sided = true,
                                     .reference = true,
                                     .poison = UINT64_MAX,
                                     .threads = 2};
    ck_assert_int_eq(stats_begin(&is, &k, NULL), ERR_OK);
    for (int64_t from = 0; from < s->a.count; from += size) {
        struct case_span w = {from, s->a.count - from < size ? s->a.count : from + size};
        ck_assert_int_eq(stats_add(k, &s->a, &s->b, &s->o, w, NULL), ERR_OK);
    }
    memset(ret, 0, sizeof *ret);
    ck_assert_int_eq(stats_end(k, ret, NULL), ERR_OK);
    stats_close(k);
}

/* More elements than are kept one by one. The i-th error is known, so the distribution is. */
START_TEST(above_exact)
{
    enum { PERIOD = 1000, N = STATS_EXACT + 1000 - STATS_EXACT % 1000 };
    struct scene s;
    struct output_stats got, again;
    const int64_t n = N;
    scene_init(&s, DTYPE_I32, n);
    for (int64_t i = 0; i < n;
         i++) { /* a: each of -300..699, b: each of -200..799, equally often */
        s.o.bound[i] = 512;
        ((int32_t *)s.a.data)[i] = (int32_t)(i * 7919 % PERIOD) - 300;
        ((int32_t *)s.b.data)[i] = (int32_t)(i * 7 % PERIOD) - 200;
    }
    ck_assert_int_eq(stats_compute(&s.a, &s.b, &s.o, UINT64_MAX, 2, &got, NULL), ERR_OK);
    ck_assert_int_eq(stats_compute(&s.a, &s.b, &s.o, UINT64_MAX, 5, &again, NULL), ERR_OK);
    ck_assert(again.a.ulp.mean == got.a.ulp.mean && again.pair.ks == got.pair.ks);
    in_windows(&s, 3 * STATS_BLOCK, &again);
    ck_assert_mem_eq(&again, &got, sizeof got);
    in_windows(&s, STATS_BLOCK, &again);
    ck_assert_mem_eq(&again, &got, sizeof got);
    ck_assert_mem_eq(again.b.bound.hist, got.b.bound.hist, sizeof got.b.bound.hist);
    const struct distribution *d = &got.a.ulp;
    ck_assert(d->count == n && d->minimum == -300 && d->maximum == 699 && d->mean == 199.5);
    ck_assert(d->quantile[4] == 699 && got.b.ulp.quantile[4] == 799);
    ck_assert_int_eq(d->zero, n / PERIOD);
    ck_assert_int_eq(d->negative, n / PERIOD * 300);
    ck_assert_uint_eq(d->hist[34 + 8],
                      (uint64_t)n / PERIOD * (256 + 45)); /* 256..511, -256..-300 */
    ck_assert(fabs(d->median - 199) <= 199 * 0x1p-7);
    ck_assert(fabs(d->quantile[0] - 250) <=
              250 * 0x1p-7); /* 601 of |x| up to 300, then singly */
    ck_assert(fabs(d->quantile[1] - 599) <= 599 * 0x1p-7);
    ck_assert(fabs(got.pair.ks - 0.1) <= 0.02);
    ck_assert(fabs(got.pair.wasserstein - 100) <= 500 * 0x1p-7);
    ck_assert_int_eq(got.a.over_bound, n / PERIOD * (699 - 512));
    scene_release(&s);
}
END_TEST

/* A reference that makes no sense is the oracle's fault, and said so. */
START_TEST(broken_reference)
{
    static const double bound[] = {-1, (double)NAN, 1}, tail[] = {0, 0, INFINITY};
    struct errinfo e;
    struct output_stats out;
    for (int i = 0; i < 3; i++) {
        struct scene s;
        scene_init(&s, DTYPE_F32, 50);
        s.o.value[41] = 1;
        s.o.bound[41] = bound[i];
        s.o.tail[41] = tail[i];
        ck_assert_int_eq(stats_compute(&s.a, &s.b, &s.o, 0, 2, &out, &e), ERR_USAGE);
        ck_assert_ptr_nonnull(strstr(e.text, "element 41"));
        s.o.value[41] = (double)NAN;
        ck_assert_int_eq(stats_compute(&s.a, &s.b, &s.o, 0, 2, &out, &e), ERR_OK);
        s.o.count = 49;
        ck_assert_int_eq(stats_compute(&s.a, &s.b, &s.o, 0, 2, &out, &e), ERR_USAGE);
        scene_release(&s);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("statsrules");
    TCase *t = tcase_create("statsrules");
    tcase_add_test(t, by_hand);
    tcase_add_test(t, signed_zeros);
    tcase_add_test(t, worst);
    tcase_add_test(t, reference_strength);
    tcase_add_test(t, above_exact);
    tcase_add_test(t, broken_reference);
    suite_add_tcase(s, t);
    return suite_run(s);
}
