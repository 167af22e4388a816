/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "slowstats.h"
#include "suite.h"

enum { COUNT = 3000, LARGE = 100000 };

static const enum dtype formats[] = {
    DTYPE_F32,  DTYPE_F64, DTYPE_F16, DTYPE_BF16,     DTYPE_E4M3, DTYPE_E5M2, DTYPE_E4M3FNUZ,
    DTYPE_TF32, DTYPE_I32, DTYPE_I8,  DTYPE_E5M2FNUZ, DTYPE_U8,   DTYPE_CODE8};
enum { FORMATS = sizeof formats / sizeof *formats };

static void check_distribution(const struct distribution *got, const struct distribution *want)
{
    ck_assert_int_eq(got->count, want->count);
    ck_assert_int_eq(got->positive, want->positive);
    ck_assert_int_eq(got->negative, want->negative);
    ck_assert_int_eq(got->zero, want->zero);
    ck_assert_mem_eq(got->hist, want->hist, sizeof want->hist);
    ck_assert_mem_eq(got->hist_negative, want->hist_negative, sizeof want->hist);
    double size = want->rms * 1e-13;
    ck_assert(fabs(got->mean - want->mean) <= size && fabs(got->rms - want->rms) <= size);
    const double *g[] = {&got->minimum, &got->maximum, &got->median},
                 *w[] = {&want->minimum, &want->maximum, &want->median};
    for (int i = 0; i < 3; i++)
        ck_assert(fabs(*g[i] - *w[i]) <= fabs(*w[i]) * 0x1p-50);
    for (int i = 0; i < STATS_QUANTILES; i++)
        ck_assert(fabs(got->quantile[i] - want->quantile[i]) <= want->quantile[i] * 0x1p-50);
}

static void check_side(const struct side_stats *got, const struct side_stats *want)
{
    ck_assert_int_eq(got->count, want->count);
    ck_assert_int_eq(got->nan_wrong, want->nan_wrong);
    ck_assert_int_eq(got->inf_wrong, want->inf_wrong);
    ck_assert_int_eq(got->over_bound, want->over_bound);
    ck_assert_int_eq(got->unwritten, want->unwritten);
    ck_assert_int_eq(got->correctly_rounded, want->correctly_rounded);
    ck_assert_int_eq(got->unjudged, want->unjudged);
    ck_assert(got->worst_bound == want->worst_bound ||
              fabs(got->worst_bound - want->worst_bound) <= want->worst_bound * 0x1p-50);
    ck_assert_int_eq(got->worst_index, want->worst_index);
    ck_assert_int_eq(got->first_wrong, want->first_wrong);
    check_distribution(&got->ulp, &want->ulp);
    check_distribution(&got->bound, &want->bound);
}

static void check_pair(const struct pair_stats *got, const struct pair_stats *want)
{
    ck_assert_int_eq(got->count, want->count);
    ck_assert_int_eq(got->bits_equal, want->bits_equal);
    ck_assert_int_eq(got->nan_differs, want->nan_differs);
    ck_assert_int_eq(got->inf_differs, want->inf_differs);
    ck_assert_int_eq(got->worst_index, want->worst_index);
    ck_assert_int_eq(got->first_index, want->first_index);
    ck_assert_uint_eq(got->worst_ulp, want->worst_ulp);
    ck_assert(got->worst_absolute == want->worst_absolute);
    check_distribution(&got->ulp, &want->ulp);
    ck_assert(fabs(got->ks - want->ks) < 1e-13);
    ck_assert(fabs(got->wasserstein - want->wasserstein) <= want->wasserstein * 1e-12 + 1e-300);
}

static void check_stats(const struct output_stats *got, const struct output_stats *want)
{
    check_side(&got->a, &want->a);
    check_side(&got->b, &want->b);
    check_pair(&got->pair, &want->pair);
    ck_assert(got->has_reference == want->has_reference);
    ck_assert(fabs(got->power - want->power) < 1e-15);
    ck_assert(got->reference_constant == want->reference_constant);
}

/* How nasty the elements are: nothing but small errors; also zeros, subnormals and sign
 * changes; also NaN, Inf, poison, overflow, bounds of 0 and INFINITY. */
enum mood { PLAIN, AWKWARD, HOSTILE };

struct scene {
    struct tensor a, b;
    struct oracle o;
    uint64_t poison, state;
    enum mood mood;
};

static uint64_t draw(struct scene *s, uint64_t n)
{
    return (wide_random(&s->state) >> 20) % n;
}

static double unit(struct scene *s)
{
    return (double)(wide_random(&s->state) >> 11) * 0x1p-52 - 1;
}

static double some_reference(struct scene *s)
{
    enum dtype d = s->a.dtype;
    if (!slow_is_float(d))
        return s->mood == HOSTILE && draw(s, 10) == 0 ? unit(s) * 0x1p40 : floor(unit(s) * 200);
    double top = wide_max(d), ulp = ldexp(1, ilogb(top) - dtype_info(d)->fraction);
    uint64_t r = draw(s, s->mood == PLAIN ? 4 : 16);
    if (s->mood == HOSTILE && draw(s, 6) == 0) {
        const double value[] = {(double)NAN, INFINITY, -INFINITY, top, -top, 0};
        double x = value[r % 6];
        double near = d == DTYPE_F64 ? 0 : ulp * (double)draw(s, 5) / 4;
        return r < 8 || isinf(x) || x == 0 ? x : copysign(fabs(x) + near, x);
    }
    if (r == 0 && d != DTYPE_F64 && dtype_info(d)->fraction > 2) { /* a tie but for the tail */
        double x = dtype_value(d, dtype_round(d, unit(s) * 3));
        return x + ulp_size(d, x) / 2;
    }
    if (r < 4)
        return unit(s) * 3;
    if (r < 6)
        return r == 4 ? 0.0 : ldexp(1, (int)draw(s, 9) - 4);
    if (r < 9)
        return unit(s) * 4 * ldexp(1, 1 - dtype_info(d)->bias);
    return unit(s) *
           ldexp(1, (int)draw(s, (uint64_t)dtype_info(d)->bias) - dtype_info(d)->bias / 2);
}

static uint64_t some_result(struct scene *s, int64_t i)
{
    enum dtype d = s->a.dtype;
    double v = s->o.value[i], u = isfinite(v) ? ulp_size(d, v) : 1;
    uint64_t r = draw(s, s->mood == HOSTILE ? 24 : 8);
    if (r < 3)
        return dtype_round_sum(d, v, s->o.tail[i]);
    if (r < 7)
        return dtype_round(d, v + unit(s) * u * (double)(1 + r % 3));
    if (r == 7)
        return s->mood == PLAIN || fabs(v) > 0x1p1000 ? dtype_round(d, v + 8.7 * u)
                                                      : dtype_round(d, -v);
    if (r == 8)
        return s->poison;
    if (r < 12)
        return dtype_round(d, r == 9 ? (double)NAN : r == 10 ? INFINITY : -INFINITY);
    if (r < 15 && slow_is_float(d))
        return dtype_round(d, copysign(wide_max(d), v));
    if (r == 15)
        return 0;
    return dtype_round_sum(d, v, s->o.tail[i]);
}

static double some_bound(struct scene *s, double value)
{
    double u = isfinite(value) ? ulp_size(s->a.dtype, value) : 1;
    uint64_t r = s->mood == HOSTILE ? draw(s, 12) : 4;
    if (r < 2)
        return r == 0 ? 0 : INFINITY;
    return u * (r == 2 ? 0.5 : r == 3 ? 1 : 2.25);
}

static void scene_make(struct scene *s, enum dtype d, enum mood mood, int64_t n, uint64_t seed)
{
    *s = (struct scene){.mood = mood, .state = seed};
    ck_assert_int_eq(tensor_init(&s->a, d, 1, &n, NULL), ERR_OK);
    ck_assert_int_eq(tensor_init(&s->b, d, 1, &n, NULL), ERR_OK);
    ck_assert_int_eq(oracle_init(&s->o, n, NULL), ERR_OK);
    s->poison = dtype_info(d)->bytes == 8 ? 0x7ff4dead7ff4dead
                                          : 0x7fa5a5a5 >> (32 - 8 * dtype_info(d)->bytes);
    for (int64_t i = 0; i < n; i++) {
        double v = s->o.value[i] = some_reference(s);
        double half = v == 0 || !isfinite(v) ? 0 : ldexp(1, ilogb(v) - 53);
        s->o.tail[i] = slow_is_float(d) && draw(s, 4) ? half * unit(s) : 0;
        s->o.bound[i] = some_bound(s, v);
        s->o.drop[i] = s->o.bound[i] * 4 * fabs(unit(s));
        tensor_set_bits(&s->a, i, some_result(s, i));
        tensor_set_bits(&s->b, i, draw(s, 3) ? some_result(s, i) : tensor_bits(&s->a, i));
    }
}

static void scene_release(struct scene *s)
{
    tensor_release(&s->a);
    tensor_release(&s->b);
    oracle_release(&s->o);
}

static void check_scene(struct scene *s, bool with_b, bool with_o)
{
    struct output_stats got, want;
    const struct tensor *b = with_b ? &s->b : NULL;
    const struct oracle *o = with_o ? &s->o : NULL;
    slow_stats(&s->a, b, o, s->poison, &want);
    ck_assert_int_eq(stats_compute(&s->a, b, o, s->poison, 1, &got, NULL), ERR_OK);
    want.pair.ks_p = got.pair.ks_p;
    check_stats(&got, &want);
}

START_TEST(against_slow)
{
    enum dtype d = formats[_i];
    for (int mood = PLAIN; mood <= HOSTILE; mood++) {
        struct scene s;
        scene_make(&s, d, (enum mood)mood, COUNT, (uint64_t)(_i * 10 + mood));
        check_scene(&s, true, true);
        check_scene(&s, false, true);
        check_scene(&s, true, false);
        scene_release(&s);
    }
    for (int64_t n = 0; n < 4; n++) {
        struct scene s;
        scene_make(&s, d, HOSTILE, n, (uint64_t)n);
        check_scene(&s, true, true);
        scene_release(&s);
    }
}
END_TEST

static void check_same(const struct output_stats *got, const struct output_stats *want)
{
    ck_assert(got->a.ulp.mean == want->a.ulp.mean && got->a.ulp.rms == want->a.ulp.rms);
    ck_assert(got->b.bound.mean == want->b.bound.mean && got->b.bound.rms == want->b.bound.rms);
    ck_assert(got->pair.ulp.mean == want->pair.ulp.mean && got->pair.ks == want->pair.ks);
    ck_assert(got->pair.ks_p == want->pair.ks_p);
    ck_assert(got->pair.wasserstein == want->pair.wasserstein);
    ck_assert(got->a.worst_bound == want->a.worst_bound);
    check_stats(got, want);
}

/* Any number of threads: the same bits of every result. */
START_TEST(threads)
{
    static const enum dtype few[] = {DTYPE_F32, DTYPE_BF16, DTYPE_E4M3, DTYPE_I32};
    static const int count[] = {2, 3, 4, 7, 64};
    struct scene s;
    struct output_stats one, many;
    scene_make(&s, few[_i], HOSTILE, LARGE, 77);
    ck_assert_int_eq(stats_compute(&s.a, &s.b, &s.o, s.poison, 1, &one, NULL), ERR_OK);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(stats_compute(&s.a, &s.b, &s.o, s.poison, count[i], &many, NULL),
                         ERR_OK);
        check_same(&many, &one);
    }
    scene_release(&s);
}
END_TEST

/* Sides that are equal take a short cut; it must lead to the same place. */
START_TEST(equal_sides)
{
    for (int mood = PLAIN; mood <= HOSTILE; mood++) {
        struct scene s;
        scene_make(&s, formats[_i], (enum mood)mood, COUNT, 31);
        memcpy(s.b.data, s.a.data, tensor_bytes(&s.a));
        check_scene(&s, true, true);
        check_scene(&s, true, false);
        scene_release(&s);
    }
}
END_TEST

/* Changing places of a and b, and of elements, changes nothing but signs and places. */
START_TEST(symmetry)
{
    struct scene s;
    struct output_stats ab, ba;
    scene_make(&s, DTYPE_F16, HOSTILE, COUNT, 5);
    ck_assert_int_eq(stats_compute(&s.a, &s.b, &s.o, s.poison, 1, &ab, NULL), ERR_OK);
    ck_assert_int_eq(stats_compute(&s.b, &s.a, &s.o, s.poison, 1, &ba, NULL), ERR_OK);
    check_side(&ab.a, &ba.b);
    check_side(&ab.b, &ba.a);
    ck_assert(ab.pair.ks == ba.pair.ks && ab.pair.wasserstein == ba.pair.wasserstein);
    ck_assert(ab.pair.ulp.mean == -ba.pair.ulp.mean && ab.pair.ulp.rms == ba.pair.ulp.rms);
    scene_release(&s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("stats");
    TCase *t = tcase_create("stats");
    tcase_add_loop_test(t, against_slow, 0, FORMATS);
    tcase_add_loop_test(t, threads, 0, 4);
    tcase_add_loop_test(t, equal_sides, 0, FORMATS);
    tcase_add_test(t, symmetry);
    suite_add_tcase(s, t);
    return suite_run(s);
}
