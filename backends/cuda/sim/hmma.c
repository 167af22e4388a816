/* SPDX-License-Identifier: Apache-2.0 */
#include "hmma.h"

#include <stdbool.h>

#include "lane.h"

/* One group of G products and C, as measured by others on GA10x and A100 (MMA-Sim, Khattak and
 * Mikaitis, Fasi et al.):
 *
 *   every term is a significand times 2^exponent, subnormals and zeros with the smallest
 * exponent of their format; a product's exponent is the sum of its factors' (it is not
 * normalised); E = the largest exponent; every term is cut toward zero to a multiple of
 * 2^(E-24); the sum of these is exact; f32 results are cut toward zero, f16 results go to
 * nearest even.
 *
 * Not established, and so under a mark: what exponent a zero has, the smallest E, signs of
 * zero. */

enum { MAX_SIDE = 32, MAX_K = 16, COLUMNS = 8, CUT = 24, FAR = 60 };

/* Numbers taken apart: value = significand * 2^exponent, significand in (-2, 2). */
struct parts {
    float significand;
    int32_t exponent;
};

static struct parts take_apart(uint32_t u, int exponent_bits, int fraction_bits)
{
    int32_t bias = (1 << (exponent_bits - 1)) - 1;
    int32_t e = (int32_t)(u >> fraction_bits) & ((1 << exponent_bits) - 1);
    uint32_t fraction = u & ((1u << fraction_bits) - 1), hidden = e ? 1u << fraction_bits : 0;
    float scale = float32((uint32_t)(127 - fraction_bits) << 23);
    float s = (float)(int32_t)(fraction | hidden) * scale;
    bool negative = u >> (exponent_bits + fraction_bits) & 1;
    return (struct parts){negative ? -s : s, (e ? e : 1) - bias};
}

struct format {
    int exponent, fraction, group;
};

static const struct format formats[] = {
    [HMMA_F16] = {5, 10, 8}, [HMMA_BF16] = {8, 7, 8}, [HMMA_TF32] = {8, 10, 4}};

static uint32_t element(enum hmma_format f, const void *p, int at)
{
    return f == HMMA_TF32 ? ((const uint32_t *)p)[at] >> 13 : ((const uint16_t *)p)[at];
}

/* --- infinities and NaN ----------------------------------------------------------------------
 */

enum { SEEN_NAN = 1, SEEN_PLUS = 2, SEEN_MINUS = 4 };

static bool is_special(uint32_t u, const struct format *f)
{
    uint32_t all = ((1u << f->exponent) - 1) << f->fraction;
    return (u & all) == all;
}

static int special_seen(uint32_t u, const struct format *f)
{
    if (!is_special(u, f))
        return 0;
    if (u & ((1u << f->fraction) - 1))
        return SEEN_NAN;
    return u >> (f->exponent + f->fraction) & 1 ? SEEN_MINUS : SEEN_PLUS;
}

static int product_seen(uint32_t a, uint32_t b, const struct format *f)
{
    int x = special_seen(a, f), y = special_seen(b, f);
    uint32_t magnitude = (1u << (f->exponent + f->fraction)) - 1;
    if (!x && !y)
        return 0;
    if ((x | y) & SEEN_NAN || !(a & magnitude) || !(b & magnitude))
        return SEEN_NAN;
    return (a ^ b) >> (f->exponent + f->fraction) & 1 ? SEEN_MINUS : SEEN_PLUS;
}

/* What specials make of one sum; `ret_bits` in terms of f32. False: there are none. */
static bool special_sum(int seen, uint32_t *ret_bits)
{
    if (seen & SEEN_NAN || (seen & SEEN_PLUS && seen & SEEN_MINUS))
        *ret_bits = 0x7fffffffu;
    else
        *ret_bits = seen & SEEN_PLUS ? 0x7f800000u : 0xff800000u;
    return seen != 0;
}

/* --- one group for eight columns -------------------------------------------------------------
 */

struct tile {
    float a[MAX_SIDE][MAX_K], b[MAX_SIDE / COLUMNS][MAX_K][COLUMNS];
    int32_t ea[MAX_SIDE][MAX_K], eb[MAX_SIDE / COLUMNS][MAX_K][COLUMNS];
    bool special;
};

/* 2^(24 - d) as a float, d >= 0; so far down that nothing is left for large d. */
static inline float shift_scale(int32_t d)
{
    d = d < FAR ? d : FAR;
    return float32((uint32_t)(127 + CUT - d) << 23);
}

static inline void group_sum(const struct tile *t, int i, int block, int first, int group,
                             const struct parts *c, int32_t *ret_sum, int32_t *ret_e)
{
    float p[8][COLUMNS];
    int32_t e[8][COLUMNS], top[COLUMNS], sum[COLUMNS];
    for (int j = 0; j < COLUMNS; j++)
        top[j] = c[j].exponent;
    for (int l = 0; l < group; l++)
        for (int j = 0; j < COLUMNS; j++) {
            p[l][j] = t->a[i][first + l] * t->b[block][first + l][j];
            e[l][j] = t->ea[i][first + l] + t->eb[block][first + l][j];
            top[j] = e[l][j] > top[j] ? e[l][j] : top[j];
        }
    for (int j = 0; j < COLUMNS; j++)
        sum[j] = (int32_t)(c[j].significand * shift_scale(top[j] - c[j].exponent));
    for (int l = 0; l < group; l++)
        for (int j = 0; j < COLUMNS; j++)
            sum[j] += (int32_t)(p[l][j] * shift_scale(top[j] - e[l][j]));
    for (int j = 0; j < COLUMNS; j++) {
        ret_sum[j] = sum[j];
        ret_e[j] = top[j];
    }
}

/* sum * 2^(e-24), exact in a double. */
static inline double sum_value(int32_t sum, int32_t e)
{
    return (double)sum * float64((uint64_t)(1023 + e - CUT) << 52);
}

/* Toward zero to f32, with subnormals; at or above 2^128 infinite. */
static inline uint32_t cut_f32(double v)
{
    double size = v < 0 ? -v : v;
    uint64_t u = bits64(size);
    float normal = (float)float64(u & ~(uint64_t)0x1fffffff);
    int32_t tiny = (int32_t)((size < 0x1p-126 ? size : 0) * 0x1p149);
    uint32_t r = size < 0x1p-126 ? (uint32_t)tiny : bits32(normal);
    r = size >= 0x1p128 ? 0x7f800000u : r;
    return r | (v < 0 ? 0x80000000u : 0);
}

static void tile_fill(struct tile *t, enum hmma_format f, int m, int n, int k, const void *a,
                      const void *b)
{
    const struct format *form = &formats[f];
    t->special = false;
    for (int i = 0; i < m; i++)
        for (int l = 0; l < k; l++) {
            uint32_t u = element(f, a, i * k + l);
            struct parts q = take_apart(u, form->exponent, form->fraction);
            t->a[i][l] = q.significand;
            t->ea[i][l] = q.exponent;
            t->special |= is_special(u, form);
        }
    for (int j = 0; j < n; j++)
        for (int l = 0; l < k; l++) {
            uint32_t u = element(f, b, j * k + l);
            struct parts q = take_apart(u, form->exponent, form->fraction);
            t->b[j / COLUMNS][l][j % COLUMNS] = q.significand;
            t->eb[j / COLUMNS][l][j % COLUMNS] = q.exponent;
            t->special |= is_special(u, form);
        }
}

/* NaN or infinity among the terms of one group of one element. */
static bool group_special(enum hmma_format f, const void *a, const void *b, int i, int j, int k,
                          int first, int c_seen, uint32_t *ret_bits)
{
    int seen = c_seen;
    for (int l = first; l < first + formats[f].group && l < k; l++)
        seen |= product_seen(element(f, a, i * k + l), element(f, b, j * k + l), &formats[f]);
    return special_sum(seen, ret_bits);
}

void hmma_f32(enum hmma_format f, int m, int n, int k, const void *a, const void *b,
              const uint32_t *c, uint32_t *d)
{
    static const struct format single = {8, 23, 0};
    struct tile t;
    int group = formats[f].group < k ? formats[f].group : k;
    tile_fill(&t, f, m, n, k, a, b);
    for (int i = 0; i < m; i++)
        for (int block = 0; block < n / COLUMNS; block++) {
            uint32_t acc[COLUMNS], next;
            memcpy(acc, &c[i * n + block * COLUMNS], sizeof acc);
            for (int first = 0; first < k; first += group) {
                struct parts q[COLUMNS];
                int32_t sum[COLUMNS], e[COLUMNS];
                uint32_t old[COLUMNS];
                for (int j = 0; j < COLUMNS; j++) {
                    old[j] = acc[j];
                    q[j] = take_apart(acc[j], 8, 23);
                }
                group_sum(&t, i, block, first, group, q, sum, e);
                bool special = t.special;
                for (int j = 0; j < COLUMNS; j++) {
                    special |= is_special(old[j], &single);
                    acc[j] = cut_f32(sum_value(sum[j], e[j]));
                }
                for (int j = 0; special && j < COLUMNS; j++)
                    if (group_special(f, a, b, i, block * COLUMNS + j, k, first,
                                      special_seen(old[j], &single), &next))
                        acc[j] = next;
            }
            memcpy(&d[i * n + block * COLUMNS], acc, sizeof acc);
        }
}

void hmma_f16(int m, int n, int k, const uint16_t *a, const uint16_t *b, const uint16_t *c,
              uint16_t *d)
{
    const struct format *half = &formats[HMMA_F16];
    struct tile t;
    int group = half->group < k ? half->group : k;
    tile_fill(&t, HMMA_F16, m, n, k, a, b);
    for (int i = 0; i < m; i++)
        for (int block = 0; block < n / COLUMNS; block++) {
            uint16_t acc[COLUMNS];
            memcpy(acc, &c[i * n + block * COLUMNS], sizeof acc);
            for (int first = 0; first < k; first += group) {
                struct parts q[COLUMNS];
                int32_t sum[COLUMNS], e[COLUMNS];
                for (int j = 0; j < COLUMNS; j++)
                    q[j] = take_apart(acc[j], 5, 10);
                group_sum(&t, i, block, first, group, q, sum, e);
                for (int j = 0; j < COLUMNS; j++) {
                    uint32_t next, old = acc[j];
                    acc[j] = (uint16_t)float_half(narrow_odd(sum_value(sum[j], e[j])));
                    if ((t.special || is_special(old, half)) &&
                        group_special(HMMA_F16, a, b, i, block * COLUMNS + j, k, first,
                                      special_seen(old, half), &next))
                        acc[j] = (uint16_t)float_half(float32(next));
                }
            }
            memcpy(&d[i * n + block * COLUMNS], acc, sizeof acc);
        }
}
