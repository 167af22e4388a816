/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "fill.h"
#include "suite.h"

enum { ROWS = 96, ROW = 256 };

static const enum dtype ints[] = {DTYPE_I64, DTYPE_I32, DTYPE_I8, DTYPE_U8, DTYPE_U32};
enum { INTS = sizeof ints / sizeof *ints };

/* A matrix of ROWS rows, the contracted axis fastest. */
static struct tensor make(const char *name, enum dist dist, enum dtype d)
{
    struct tensor t;
    const int64_t dim[] = {ROWS, ROW};
    ck_assert_int_eq(tensor_init(&t, d, 2, dim, NULL), ERR_OK);
    fill_tensor(&t, rng_key_make(11, name), dist, 1);
    return t;
}

START_TEST(integer_formats)
{
    enum dtype d = ints[_i];
    bool is_byte = dtype_info(d)->bytes == 1, is_signed = dtype_info(d)->kind == DTYPE_KIND_INT;
    double low = is_signed ? (is_byte ? -128 : -32768) : 0;
    double high = is_byte ? (is_signed ? 127 : 255) : (is_signed ? 32767 : 65535);
    struct tensor u = make("u", DIST_UNIFORM, d), p = make("p", DIST_POSITIVE, d);
    struct tensor n = make("n", DIST_NORMAL, d), s = make("s", DIST_SPECIAL, d);
    double least = 0, most = 0, square = 0,
           top = is_byte     ? (is_signed ? 127 : 255)
                 : is_signed ? 2e9
                             : 4e9;
    int ends = 0;
    for (int64_t i = 0; i < u.count; i++) {
        least = fmin(least, tensor_value(&u, i));
        most = fmax(most, tensor_value(&u, i));
        square += tensor_value(&n, i) * tensor_value(&n, i);
        ck_assert(tensor_value(&p, i) >= 0);
        ends += tensor_value(&s, i) >= top;
    }
    ck_assert(least >= low && least <= low + (is_byte ? 0 : 64));
    ck_assert(most <= high && most >= high - (is_byte ? 0 : 64));
    ck_assert(fabs(sqrt(square / (double)n.count) / (is_byte ? 32 : 4096) - 1) < 0.05);
    ck_assert(ends > 0);
    struct tensor *all[] = {&u, &p, &n, &s};
    for (int i = 0; i < 4; i++)
        tensor_release(all[i]);
}
END_TEST

START_TEST(codes)
{
    struct tensor t = make("c", DIST_NORMAL, DTYPE_NF4X2),
                  z = make("z", DIST_ZERO, DTYPE_CODE8);
    int seen[256] = {0};
    for (int64_t i = 0; i < t.count; i++) {
        seen[tensor_bits(&t, i)]++;
        ck_assert_uint_eq(tensor_bits(&z, i), 0);
    }
    for (int v = 0; v < 256; v++)
        ck_assert(seen[v] > ROWS * ROW / 256 / 2 && seen[v] < ROWS * ROW / 256 * 2);
    tensor_release(&t);
    tensor_release(&z);
}
END_TEST

/* The contracted axis may lie anywhere: the same numbers, other places. */
START_TEST(axes)
{
    struct rng_key key = rng_key_make(4, "axis");
    const int64_t dim[] = {3, 5, 7};
    for (int axis = 0; axis < 3; axis++) {
        struct tensor t;
        ck_assert_int_eq(tensor_init(&t, DTYPE_F32, 3, dim, NULL), ERR_OK);
        fill_tensor(&t, key, DIST_CANCEL, axis);
        for (int64_t i = 0; i < 3; i++)
            for (int64_t j = 0; j < 5; j++)
                for (int64_t k = 0; k < 7; k++) {
                    int64_t outer = axis == 0 ? j * 7 + k : axis == 1 ? i * 7 + k : i * 5 + j;
                    int64_t at_axis = axis == 0 ? i : axis == 1 ? j : k, row = dim[axis];
                    uint64_t want =
                        fill_bits(key, DIST_CANCEL, DTYPE_F32, row, outer * row + at_axis);
                    ck_assert_uint_eq(tensor_bits(&t, (i * 5 + j) * 7 + k), want);
                }
        tensor_release(&t);
    }
    for (int rank = 0; rank < 2; rank++) { /* one element; none */
        struct tensor t;
        ck_assert_int_eq(tensor_init(&t, DTYPE_F32, rank, (const int64_t[]){0}, NULL), ERR_OK);
        fill_tensor(&t, key, DIST_NORMAL, 0);
        if (rank == 0)
            ck_assert_uint_eq(tensor_bits(&t, 0), fill_bits(key, DIST_NORMAL, DTYPE_F32, 1, 0));
        tensor_release(&t);
    }
}
END_TEST

/* Frozen: a case's id means the same bits on every machine and in every later version. One
 * digest a distribution, over all formats and rows of 48, 7 and 1. */
static const char *const frozen_digest[DIST_COUNT_] = {
    [DIST_NORMAL] = "410fcf79e05070bfecbc2a7168d6dd53",
    [DIST_UNIFORM] = "2bda66160922fd88abc0fbfe3cc1fa21",
    [DIST_POSITIVE] = "65bbbb0912de00b6e35c46bf3e516daf",
    [DIST_LOGNORMAL] = "6dc33adca2e60ae728400d763794d1ed",
    [DIST_WIDE] = "3aadc19d3521f65513265ae2f54bfc5f",
    [DIST_CANCEL] = "bed4d6571e859cdf92dce2650053098e",
    [DIST_INTEGER] = "11c9860429310e9411f8cf48f902fbbc",
    [DIST_TIES] = "e1dd67bf4304a6e2a6d07fa6c47833c9",
    [DIST_SUBNORMAL] = "1ec340b4cdb12a39119dcfb387d5d058",
    [DIST_SPECIAL] = "adb3cb3bfeac85f7342edd2809ba993f",
    [DIST_ONEHOT] = "7aed88bd3f8bfbf0d34566a700a44716",
    [DIST_MASK] = "7118b22042066403be87a86c940b6ca4",
    [DIST_ZERO] = "870bd82a3a506bb1725dca5cc1b696b6",
};

START_TEST(frozen)
{
    char hex[33];
    struct tensor all;
    /* Those formats that a case may have; later ones exist only in files of others. */
    const int formats = DTYPE_FP4X2 + 1;
    const int64_t rows[] = {48, 7, 1}, count = formats * 3 * 33;
    ck_assert_int_eq(tensor_init(&all, DTYPE_U8, 1, &count, NULL), ERR_OK);
    for (int d = 0; d < formats; d++)
        for (int r = 0; r < 3; r++) {
            struct tensor t;
            const int64_t dim[] = {20, rows[r]};
            ck_assert_int_eq(tensor_init(&t, (enum dtype)d, 2, dim, NULL), ERR_OK);
            fill_tensor(&t, rng_key_make(1, "frozen"), (enum dist)_i, 1);
            tensor_digest(&t, (char *)all.data + (d * 3 + r) * 33);
            tensor_release(&t);
        }
    tensor_digest(&all, hex);
    tensor_release(&all);
    ck_assert_str_eq(hex, frozen_digest[_i]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("filltensor");
    TCase *t = tcase_create("filltensor");
    tcase_add_loop_test(t, integer_formats, 0, INTS);
    tcase_add_test(t, codes);
    tcase_add_test(t, axes);
    tcase_add_loop_test(t, frozen, 0, DIST_COUNT_);
    suite_add_tcase(s, t);
    return suite_run(s);
}
