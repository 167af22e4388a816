/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "fill.h"
#include "suite.h"
#include "wide.h"

enum { ROWS = 96, ROW = 256 };

static const enum dtype floats[] = {DTYPE_F64,  DTYPE_F32,      DTYPE_TF32,
                                    DTYPE_F16,  DTYPE_BF16,     DTYPE_E4M3,
                                    DTYPE_E5M2, DTYPE_E4M3FNUZ, DTYPE_E5M2FNUZ};
enum { FLOATS = sizeof floats / sizeof *floats };

/* A matrix of ROWS rows, the contracted axis fastest. */
static struct tensor make(const char *name, enum dist dist, enum dtype d)
{
    struct tensor t;
    const int64_t dim[] = {ROWS, ROW};
    ck_assert_int_eq(tensor_init(&t, d, 2, dim, NULL), ERR_OK);
    fill_tensor(&t, rng_key_make(11, name), dist, 1);
    return t;
}

static double at(const struct tensor *t, int row, int k)
{
    return tensor_value(t, (int64_t)row * ROW + k);
}

START_TEST(names)
{
    for (int d = 0; d < DIST_COUNT_; d++) {
        ck_assert_int_eq(dist_find(dist_name((enum dist)d)), d);
        ck_assert(strlen(dist_summary((enum dist)d)) > 5);
    }
    ck_assert_int_eq(dist_find("gauss"), DIST_COUNT_);
}
END_TEST

/* Only SPECIAL may hold NaN and Inf. */
START_TEST(finite_everywhere)
{
    for (int dist = 0; dist < DIST_COUNT_; dist++) {
        struct tensor t = make("x", (enum dist)dist, floats[_i]);
        int64_t finite = 0; /* one ck_assert a tensor: they are slow */
        for (int64_t i = 0; i < t.count; i++)
            finite += dtype_is_finite(t.dtype, tensor_bits(&t, i));
        ck_assert_int_eq(finite == t.count, dist != DIST_SPECIAL);
        tensor_release(&t);
    }
}
END_TEST

START_TEST(uniform_range)
{
    struct tensor u = make("u", DIST_UNIFORM, floats[_i]),
                  p = make("p", DIST_POSITIVE, floats[_i]);
    double u_sum = 0, p_sum = 0, least = 1, most = -1;
    bool inside = true;
    for (int64_t i = 0; i < u.count; i++) {
        double x = tensor_value(&u, i), y = tensor_value(&p, i);
        inside = inside && x >= -1 && x < 1 && y >= 0 && y < 1 && !signbit(y);
        u_sum += x;
        p_sum += y;
        least = fmin(least, x);
        most = fmax(most, x);
    }
    ck_assert(fabs(u_sum / (double)u.count) < 5 / sqrt(3.0 * ROWS * ROW) + dtype_unit(u.dtype));
    ck_assert(fabs(p_sum / (double)p.count - 0.5) <
              5 / sqrt(12.0 * ROWS * ROW) + dtype_unit(u.dtype));
    ck_assert(inside && least < -0.9 && most > 0.85);
    tensor_release(&u);
    tensor_release(&p);
}
END_TEST

/* normal: the rounded variate of the generator; lognormal: log2|x| has spread 3, signs are
 * even. */
START_TEST(normal_family)
{
    enum dtype d = floats[_i];
    struct rng_key key = rng_key_make(11, "n");
    struct tensor n = make("n", DIST_NORMAL, d), l = make("l", DIST_LOGNORMAL, d);
    double sum = 0, square = 0, negative = 0;
    int64_t rounded = 0;
    for (int64_t i = 0; i < n.count; i++) {
        rounded += tensor_bits(&n, i) == dtype_round(d, rng_normal(key, (uint64_t)i, 0));
        double x = tensor_value(&l, i), y = x == 0 ? -10 : log2(fabs(x));
        sum += y;
        square += y * y;
        negative += x < 0;
    }
    double spread = sqrt(square / ROWS / ROW);
    ck_assert_int_eq(rounded, n.count);
    ck_assert(fabs(negative / ROWS / ROW - 0.5) < 0.02);
    ck_assert(fabs(sum / ROWS / ROW) < 0.2);
    ck_assert(spread > 2.8 && spread < 3.1);
    tensor_release(&n);
    tensor_release(&l);
}
END_TEST

/* Every exponent of half the range occurs, evenly; products of two stay finite. */
START_TEST(wide_range)
{
    enum dtype d = floats[_i];
    struct tensor t = make("w", DIST_WIDE, d);
    double least = INFINITY, most = 0, up = 0;
    for (int64_t i = 0; i < t.count; i++) {
        double x = fabs(tensor_value(&t, i));
        least = fmin(least, x);
        most = fmax(most, x);
        up += x >= 1;
    }
    int low = ilogb(least), high = ilogb(most), all = ilogb(dtype_max(d));
    ck_assert_int_eq(low, ilogb(dtype_min_normal(d)) / 2);
    ck_assert_int_eq(high, all / 2 - (all > 64 ? 10 : 0));
    double share = (high + 1.0) / (high - low + 1.0);
    ck_assert(fabs(up / ROWS / ROW - share) < 0.02);
    tensor_release(&t);
}
END_TEST

static double cancelled(const struct tensor *a, int i, const struct tensor *b, int j)
{
    double sum = 0, size = 0;
    for (int k = 0; k < ROW; k++) {
        double x = at(a, i, k) * (b ? at(b, j, k) : 1);
        sum += x;
        size += fabs(x);
    }
    return fabs(sum) / size;
}

/* Plain sums nearly vanish always; sums of products of two such tensors in about 6 of 7 cases.
 */
START_TEST(cancellation)
{
    enum dtype d = floats[_i];
    struct tensor a = make("a", DIST_CANCEL, d), b = make("b", DIST_CANCEL, d);
    double small = 3 * ldexp(1, -fmin(dtype_info(d)->fraction, 12)) / sqrt(ROW / 2.0);
    double pairs = 0;
    for (int i = 0; i < ROWS; i++) {
        ck_assert(cancelled(&a, i, NULL, 0) < small);
        for (int j = 0; j < ROWS; j++)
            pairs += cancelled(&a, i, &b, j) < 2 * small;
    }
    ck_assert(fabs(pairs / ROWS / ROWS - 6.0 / 7) < 0.06);
    tensor_release(&a);
    tensor_release(&b);
}
END_TEST

/* Forwards, backwards and in halves: one result, in f32. */
START_TEST(integer_sums)
{
    struct tensor a = make("a", DIST_INTEGER, floats[_i]),
                  b = make("b", DIST_INTEGER, floats[_i]);
    int seen[9] = {0};
    bool small = true;
    for (int i = 0; i < ROWS; i++) {
        float up = 0, down = 0, half[2] = {0};
        long exact = 0;
        for (int k = 0; k < ROW; k++) {
            float x = (float)at(&a, i, k), y = (float)at(&b, i, k);
            float z = (float)at(&a, i, ROW - 1 - k), w = (float)at(&b, i, ROW - 1 - k);
            small = small && x == floorf(x) && fabsf(x) <= 4;
            seen[(int)fminf(fmaxf(x, -4), 4) + 4] = 1;
            exact += (long)x * (long)y;
            up += x * y;
            down += z * w;
            half[k % 2] += x * y;
        }
        ck_assert(small && up == (float)exact && down == up && half[0] + half[1] == up);
    }
    for (int v = 0; v < 9; v++)
        ck_assert(seen[v]);
    tensor_release(&a);
    tensor_release(&b);

    struct rng_key key = rng_key_make(1, "long");
    for (int64_t i = 0; i < 1000; i++) /* 2^22 products of at most 2^2 */
        ck_assert(fabs(dtype_value(DTYPE_F32,
                                   fill_bits(key, DIST_INTEGER, DTYPE_F32, 1 << 22, i))) <= 2);
}
END_TEST

static bool is_midpoint(enum dtype d, double x)
{
    double ulp = fmax(ldexp(1, ilogb(x) - dtype_info(d)->fraction), dtype_min_subnormal(d));
    return fmod(fabs(x), ulp) == ulp / 2;
}

/* Sums of products are midpoints of f16 and of bf16 far more often than one in a hundred. */
START_TEST(midpoints)
{
    enum dtype d = floats[_i];
    struct tensor a = make("a", DIST_TIES, d), b = make("b", DIST_TIES, d);
    double f16 = 0, bf16 = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++) {
            double sum = 0;
            for (int k = 0; k < ROW; k++)
                sum += at(&a, i, k) * at(&b, j, k);
            f16 += sum != 0 && is_midpoint(DTYPE_F16, sum);
            bf16 += sum != 0 && is_midpoint(DTYPE_BF16, sum);
        }
    ck_assert(bf16 / ROWS / ROWS > 0.1);
    ck_assert(f16 / ROWS / ROWS > 0.1);
    tensor_release(&a);
    tensor_release(&b);
}
END_TEST

/* Row 0 mixes subnormals and small factors; each other row is of one kind, and all kinds occur.
 */
START_TEST(subnormals)
{
    enum dtype d = floats[_i];
    struct tensor t = make("s", DIST_SUBNORMAL, d);
    int kinds[3] = {0}, mixed = 0;
    for (int k = 0; k < ROW; k++) {
        uint64_t bits = tensor_bits(&t, k);
        mixed += dtype_is_subnormal(d, bits);
        ck_assert(fabs(at(&t, 0, k)) < 0.5);
    }
    ck_assert(mixed > ROW / 3 && mixed < ROW * 2 / 3);
    for (int i = 1; i < ROWS; i++) {
        double first = fabs(at(&t, i, 0)), least = dtype_min_normal(d);
        int kind = first < least ? 0 : first < 1 ? 1 : 2;
        bool fine = true;
        kinds[kind]++;
        for (int k = 0; k < ROW; k++) {
            double x = fabs(at(&t, i, k)), y = fabs(at(&t, i, (k + 1) % ROW));
            fine = fine && x > 0 && x < 2 && kind == (x < least ? 0 : x < 1 ? 1 : 2);
            if (kind == 1)
                fine = fine && x * y >= dtype_min_subnormal(d) / 2 && x * y < least;
        }
        ck_assert(fine);
    }
    ck_assert(kinds[0] > 8 && kinds[1] > 20 && kinds[2] > 8);
    tensor_release(&t);
}
END_TEST

/* Row 0 has every special the format knows; about three in four of the other rows stay clean.
 */
START_TEST(specials)
{
    enum dtype d = floats[_i];
    enum dtype_specials kind = dtype_info(d)->specials;
    struct tensor t = make("s", DIST_SPECIAL, d);
    int nan = 0, inf = 0, zero[2] = {0}, small = 0, big = 0, clean = 0, tiny = 0;
    for (int i = 0; i < ROWS; i++) {
        int odd = 0;
        for (int k = 0; k < ROW; k++) {
            uint64_t bits = tensor_bits(&t, i * ROW + k);
            double x = fabs(at(&t, i, k));
            odd += !dtype_is_finite(d, bits);
            nan += i == 0 && dtype_is_nan(d, bits);
            inf += i == 0 && dtype_is_inf(d, bits);
            big += i == 0 && x == dtype_max(d);
            small += i == 0 && x == dtype_min_subnormal(d);
            tiny += i > 0 && x == dtype_min_subnormal(d);
            if (x == 0)
                zero[signbit(at(&t, i, k)) != 0]++;
        }
        clean += i > 0 && odd == 0;
        ck_assert(i == 0 || odd <= 1);
    }
    ck_assert(nan > 0 && big > 0 && small > 0 && zero[0] > 0 && tiny > 0);
    ck_assert_int_eq(inf > 0, kind == DTYPE_SPECIALS_IEEE);
    ck_assert_int_eq(zero[1] > 0, kind != DTYPE_SPECIALS_FNUZ);
    ck_assert(clean > (ROWS - 1) / 2 && clean < ROWS - 1);
    tensor_release(&t);
}
END_TEST

/* One 1 a row; 256 successive rows meet every column; two tensors give a product that is not
 * symmetric. */
START_TEST(onehot)
{
    struct rng_key key[] = {rng_key_make(11, "a"), rng_key_make(11, "b")};
    int seen[ROW] = {0}, column[2][ROW], unequal = 0;
    for (int64_t i = 0; i < ROW; i++)
        for (int t = 0; t < 2; t++) {
            int ones = 0, others = 0;
            for (int64_t k = 0; k < ROW; k++) {
                double x = dtype_value(
                    floats[_i], fill_bits(key[t], DIST_ONEHOT, floats[_i], ROW, i * ROW + k));
                others += x != 0 && x != 1;
                ones += x == 1;
                column[t][i] = x == 1 ? (int)k : column[t][i];
            }
            ck_assert(ones == 1 && others == 0);
            seen[column[0][i]] |= t == 0;
        }
    for (int i = 0; i < ROW; i++) {
        ck_assert(seen[i]);
        for (int j = 0; j < i; j++)
            unequal += (column[0][i] == column[1][j]) != (column[0][j] == column[1][i]);
    }
    ck_assert(unequal > ROW / 2);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fill");
    TCase *t = tcase_create("fill");
    tcase_add_test(t, names);
    tcase_add_loop_test(t, finite_everywhere, 0, FLOATS);
    tcase_add_loop_test(t, uniform_range, 0, FLOATS);
    tcase_add_loop_test(t, normal_family, 0, FLOATS);
    tcase_add_loop_test(t, wide_range, 0, FLOATS);
    tcase_add_loop_test(t, cancellation, 0, FLOATS);
    tcase_add_loop_test(t, integer_sums, 0, FLOATS);
    tcase_add_loop_test(t, midpoints, 0, FLOATS);
    tcase_add_loop_test(t, subnormals, 0, FLOATS);
    tcase_add_loop_test(t, specials, 0, FLOATS);
    tcase_add_loop_test(t, onehot, 0, FLOATS);
    suite_add_tcase(s, t);
    return suite_run(s);
}
