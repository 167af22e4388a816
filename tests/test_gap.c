/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gap.h"
#include "gap_sample.h"
#include "rng.h"
#include "slowstats.h"
#include "suite.h"

/* The distances of gap.h against a slow count over values: positions from a number's exponent
 * and significand, distributions from a sorted array, limits by their definition. */

enum { COUNT = 40000 };

struct scene {
    enum dtype d;
    int width;
    unsigned char *a, *b;
};

static void set_bits(const struct scene *s, unsigned char *to, int64_t i, uint64_t bits)
{
    memcpy(to + i * s->width, &bits, (size_t)s->width);
}

static uint64_t get_bits(const struct scene *s, const unsigned char *from, int64_t i)
{
    uint64_t bits = 0;
    memcpy(&bits, from + i * s->width, (size_t)s->width);
    return bits;
}

/* Pairs of all kinds: equal stretches, near, far, subnormal, zeros, NaN and Inf. */
static void scene_fill(const struct scene *s, uint64_t seed)
{
    struct rng_key key = rng_key_make(seed, "gap");
    for (int64_t i = 0; i < COUNT; i++) {
        uint64_t x = rng_bits(key, (uint64_t)i, 0), y = rng_bits(key, (uint64_t)i, 1);
        uint64_t how = rng_bits(key, (uint64_t)i / 700, 2) % 6, step = y % 9;
        if (how == 0)
            y = x;
        else if (how == 1)
            y = x + step - 4;
        else if (how == 2)
            y = x ^ (y % 64 ? 0 : 1ULL << (y >> 8) % (8 * (unsigned)s->width));
        else if (how == 3)
            x >>= 8 * (8 - s->width) + s->width * 6, y = step % 2 ? x : 0;
        else if (how == 4 && step == 0)
            x = 0, y = 1ULL << (8 * s->width - 1);
        set_bits(s, s->a, i, x);
        set_bits(s, s->b, i, y);
    }
}

static void scene_init(struct scene *s, enum dtype d, uint64_t seed)
{
    s->d = d;
    s->width = dtype_info(d)->bytes;
    s->a = malloc((size_t)(COUNT * s->width) + 8);
    s->b = malloc((size_t)(COUNT * s->width) + 8);
    ck_assert(s->a && s->b);
    scene_fill(s, seed);
}

static void scene_release(struct scene *s)
{
    free(s->a);
    free(s->b);
}

/* From the value alone. */
static __int128 slow_position(enum dtype d, uint64_t bits)
{
    const struct dtype_info *f = dtype_info(d);
    int width = 8 * f->bytes;
    uint64_t kept = width == 64 ? bits : bits & ((1ULL << width) - 1);
    if (f->kind == DTYPE_KIND_INT)
        return kept >> (width - 1) ? (__int128)kept - ((__int128)1 << width) : (__int128)kept;
    if (f->kind != DTYPE_KIND_FLOAT)
        return kept;
    long double x = dtype_value(d, bits), y = fabsl(x);
    int least = 1 - f->bias, e = y > 0 ? ilogbl(y) : least;
    long double p =
        e < least ? ldexpl(y, f->fraction - least)
                  : ldexpl(e - least + 1, f->fraction) + ldexpl(ldexpl(y, -e) - 1, f->fraction);
    return y == 0 ? 0 : x < 0 ? -(__int128)p : (__int128)p;
}

static struct gap measure(const struct scene *s, const struct limits *l, int lanes,
                          int64_t piece)
{
    struct gap all;
    ck_assert_int_eq(gap_init(&all, NULL), 0);
    for (int lane = 0; lane < lanes; lane++) { /* last pieces first */
        struct gap g;
        ck_assert_int_eq(gap_init(&g, NULL), 0);
        int64_t pieces = (COUNT + piece - 1) / piece;
        for (int64_t k = pieces - 1 - lane; k >= 0; k -= lanes) {
            int64_t from = k * piece, n = COUNT - from < piece ? COUNT - from : piece;
            const struct gap_where where = {n, &from};
            gap_add(&g, s->d, s->a + from * s->width, s->b + from * s->width, n, &where, l);
        }
        gap_merge(&all, &g);
        gap_release(&g);
    }
    return all;
}

static void check_distribution(const struct distribution *d, struct slow_list *list)
{
    struct distribution e = slow_distribution(list);
    ck_assert_int_eq(d->count, e.count);
    ck_assert_int_eq(d->zero, e.zero);
    ck_assert_int_eq(d->positive, e.positive);
    ck_assert_int_eq(d->negative, e.negative);
    ck_assert(d->minimum == fmin(e.minimum, 0) && d->maximum == fmax(e.maximum, 0));
    ck_assert_msg(fabs(d->mean - e.mean) <= 1e-12 * e.rms, "%g %g", d->mean, e.mean);
    ck_assert_msg(fabs(d->rms - e.rms) <= 1e-12 * e.rms, "%g %g", d->rms, e.rms);
    for (int i = 0; i < DISTRIBUTION_QUANTILES; i++)
        ck_assert_msg(fabs(d->quantile[i] - e.quantile[i]) <=
                          (e.quantile[i] < GAP_NEAR ? 0 : 0x1p-7 * e.quantile[i]),
                      "%g %g", d->quantile[i], e.quantile[i]);
    for (int i = 1; i < DISTRIBUTION_HIST - 1; i++)
        ck_assert(d->hist[i] == e.hist[i] && d->hist_negative[i] == e.hist_negative[i]);
}

static void check_pair(const struct scene *s, const struct gap *g)
{
    struct slow_list list = {malloc(COUNT * sizeof(double)), 0};
    struct pair_stats p, e = {.first_index = -1, .worst_index = -1};
    int64_t class = -1, worst = -1;
    unsigned __int128 far = 0;
    for (int64_t i = 0; i < COUNT; i++) {
        uint64_t a = get_bits(s, s->a, i), b = get_bits(s, s->b, i);
        double x = dtype_value(s->d, a), y = dtype_value(s->d, b);
        bool equal = a == b || (isnan(x) && isnan(y));
        e.bits_equal += equal;
        e.nan_differs += isnan(x) != isnan(y);
        bool inf = (isinf(x) || isinf(y)) && !isnan(x) && !isnan(y) && a != b;
        e.inf_differs += inf;
        if (class < 0 && (inf || isnan(x) != isnan(y)))
            class = i;
        if (e.first_index < 0 && !equal)
            e.first_index = i;
        if (!isfinite(x) || !isfinite(y))
            continue;
        __int128 d = slow_position(s->d, b) - slow_position(s->d, a);
        unsigned __int128 size = (unsigned __int128)(d < 0 ? -d : d);
        list.x[list.n++] = (double)d;
        double gap = slow_is_float(s->d) ? fabs(y - x) : (double)size;
        e.worst_absolute = fmax(e.worst_absolute, gap);
        if (!equal && (worst < 0 || size > far)) {
            far = size;
            worst = i;
        }
    }
    ck_assert_int_eq(gap_pair(g, &p, NULL), 0);
    ck_assert_int_eq(p.count, COUNT);
    ck_assert_int_eq(p.bits_equal, e.bits_equal);
    ck_assert_int_eq(p.nan_differs, e.nan_differs);
    ck_assert_int_eq(p.inf_differs, e.inf_differs);
    ck_assert_int_eq(p.first_index, e.first_index);
    ck_assert_int_eq(p.worst_index, class >= 0 ? class : worst);
    ck_assert_uint_eq(p.worst_ulp, (uint64_t)far);
    ck_assert(p.worst_absolute == e.worst_absolute);
    ck_assert(g->worst.index == worst && g->finite == list.n);
    check_distribution(&p.ulp, &list);
    free(list.x);
}

START_TEST(every_format)
{
    enum dtype d = (enum dtype)(_i / 2);
    struct scene s;
    scene_init(&s, d, (uint64_t)_i);
    struct gap g = measure(&s, NULL, 1, 5000);
    check_pair(&s, &g);
    gap_release(&g);
    scene_release(&s);
}
END_TEST

/* Pieces and lanes do not matter, to the last bit. */
START_TEST(pieces_do_not_matter)
{
    static const enum dtype formats[] = {DTYPE_F32, DTYPE_F64, DTYPE_BF16, DTYPE_I64};
    struct scene s;
    scene_init(&s, formats[_i], 77);
    struct gap a = measure(&s, NULL, 1, COUNT), b = measure(&s, NULL, 3, 777);
    ck_assert(a.sum == b.sum && a.square.low == b.square.low && a.square.high == b.square.high);
    ck_assert(!memcmp(a.cell, b.cell, GAP_CELLS * sizeof *a.cell));
    ck_assert(!memcmp(&a.first, &b.first, sizeof a.first) && a.last == b.last);
    ck_assert(!memcmp(&a.worst, &b.worst, sizeof a.worst));
    ck_assert(a.values[0] - a.values[1] == b.values[0] - b.values[1]);
    ck_assert_int_eq(a.n_place, b.n_place);
    gap_release(&a);
    gap_release(&b);
    scene_release(&s);
}
END_TEST

/* How many elements the limits forbid, by their definition. */
START_TEST(limits)
{
    static const char *const texts[][2] = {
        {"ulp:3", NULL},         {"abs:1e-3", NULL},         {"rel:1e-6", NULL},
        {"ulp:3,abs:1", NULL},   {"ulp:100000000", "abs:1"}, {"ulp:0", NULL},
        {"rel:0.5,ulp:2", NULL},
    };
    static const enum dtype formats[] = {DTYPE_F32, DTYPE_F16, DTYPE_I32, DTYPE_F64};
    struct scene s;
    struct limits l;
    int64_t beyond = 0, first = -1;
    int row = _i / 4;
    scene_init(&s, formats[_i % 4], 5);
    ck_assert_int_eq(limits_parse(texts[row][1] ? 2 : 1, texts[row], &l, NULL), 0);
    for (int64_t i = 0; i < COUNT; i++) {
        uint64_t a = get_bits(&s, s.a, i), b = get_bits(&s, s.b, i);
        double x = dtype_value(s.d, a), y = dtype_value(s.d, b), big = fmax(fabs(x), fabs(y));
        if (a == b || (isnan(x) && isnan(y)))
            continue;
        bool fine = isfinite(x) && isfinite(y);
        if (fine) {
            __int128 d = slow_position(s.d, b) - slow_position(s.d, a);
            double ulp = (double)(d < 0 ? -d : d), gap = fabs(y - x);
            double rel = big > 0 ? gap / big : 0;
            const bool rows[] = {ulp <= 3,
                                 gap <= 1e-3,
                                 rel <= 1e-6,
                                 ulp <= 3 || gap <= 1,
                                 ulp <= 1e8 && gap <= 1,
                                 ulp <= 0,
                                 rel <= 0.5 || ulp <= 2};
            fine = rows[row];
        }
        beyond += !fine;
        if (!fine && first < 0)
            first = i;
    }
    struct gap g = measure(&s, &l, 2, 3000);
    ck_assert_int_gt(beyond, 0);
    ck_assert_int_eq(g.beyond, beyond);
    ck_assert_int_eq(g.first_beyond.index, first);
    ck_assert_ptr_nonnull(gap_broken(&g, &l));
    gap_release(&g);
    scene_release(&s);
}
END_TEST

START_TEST(limits_of_the_whole)
{
    static const struct {
        const char *text;
        bool broken;
    } rows[] = {{"share:0.0001", true},
                {"share:1", false},
                {"mean:0", true},
                {"mean:1e19", false},
                {"bound:0", false}};
    struct scene s;
    struct limits l;
    scene_init(&s, DTYPE_F32, 6);
    ck_assert_int_eq(limits_parse(1, &rows[_i].text, &l, NULL), 0);
    struct gap g = measure(&s, &l, 1, 3000);
    ck_assert_int_eq(gap_broken(&g, &l) != NULL, rows[_i].broken);
    ck_assert_int_eq(g.beyond, 0);
    gap_release(&g);
    scene_release(&s);
}
END_TEST

/* Marks by which causes are told: who is nearer to zero, who has flushed, the sign of zeros,
 * the same values in another order. */
START_TEST(marks)
{
    const float a[] = {1, 2, 0, 1e-40f, 0.0f, 3, 5}, b[] = {0.5f, 2, 1e-40f, 0, -0.0f, -3, 7};
    const int64_t from = 0;
    const struct gap_where where = {7, &from};
    struct gap g;
    ck_assert_int_eq(gap_init(&g, NULL), 0);
    gap_add(&g, DTYPE_F32, a, b, 7, &where, NULL);
    ck_assert_int_eq(g.smaller[0], 2);
    ck_assert_int_eq(g.smaller[1], 2);
    ck_assert_int_eq(g.flushed[0], 1);
    ck_assert_int_eq(g.flushed[1], 1);
    ck_assert_int_eq(g.zero_sign, 1);
    ck_assert_uint_ne(g.values[0], g.values[1]);
    gap_release(&g);
    float turned[] = {5, 1, 2, 0, 1e-40f, 0.0f, 3};
    ck_assert_int_eq(gap_init(&g, NULL), 0);
    gap_add(&g, DTYPE_F32, a, turned, 7, &where, NULL);
    ck_assert_uint_eq(g.values[0], g.values[1]);
    gap_release(&g);
}
END_TEST

/* Runs that are not next to each other. */
START_TEST(places)
{
    const uint8_t a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 2, 3, 5, 5, 9};
    const int64_t start[] = {100, 200, 300};
    const struct gap_where where = {2, start};
    struct gap g;
    ck_assert_int_eq(gap_init(&g, NULL), 0);
    gap_add(&g, DTYPE_U8, a, b, 6, &where, NULL);
    ck_assert_int_eq(g.first.index, 201);
    ck_assert_int_eq(g.last, 301);
    ck_assert_int_eq(g.worst.index, 301);
    ck_assert_int_eq(g.worst.bits[1], 9);
    ck_assert_int_eq(g.n_place, 2);
    ck_assert_int_eq(g.place[0].index, 201);
    gap_release(&g);
}
END_TEST

/* What is kept of a tensor that is larger than the sample, whatever the pieces: element i holds
 * i on one side and 3 i on the other. */
START_TEST(sample)
{
    enum { RUN = 7 };
    int64_t count = _i ? GAP_SAMPLE_BYTES / 4 + 1000003 : 12345, have = 0;
    struct gap_sample s;
    ck_assert_int_eq(gap_sample_init(&s, DTYPE_I32, count, NULL), 0);
    for (int odd = 1; odd >= 0; odd--) /* every other run, then the rest */
        for (int64_t at = odd * RUN; at < count; at += 2 * RUN * 100) {
            int32_t a[100 * RUN], b[100 * RUN];
            int64_t start[100], n = 0;
            for (int k = 0; k < 100 && at + k * 2 * RUN < count; k++) {
                start[k] = at + k * 2 * RUN;
                for (int i = 0; i < RUN && start[k] + i < count; i++, n++)
                    a[n] = (int32_t)(start[k] + i), b[n] = 3 * a[n];
            }
            gap_sample_take(&s, &(struct gap_where){RUN, start}, a, b, n);
        }
    bool right = true;
    for (int64_t i = 0; i < count; i++) {
        int64_t slot = gap_sample_slot(&s, i);
        if (slot < 0)
            continue;
        have++;
        right = right && gap_sample_bits(&s, 0, slot) == (uint64_t)i &&
                gap_sample_bits(&s, 1, slot) == 3 * (uint64_t)i;
    }
    ck_assert(right);
    ck_assert_int_eq(have, _i ? GAP_SAMPLE_BYTES / 4 : count);
    ck_assert_int_ge(gap_sample_slot(&s, 0), 0);
    ck_assert_int_ge(gap_sample_slot(&s, count - 1), 0);
    ck_assert_int_eq(gap_sample_slot(&s, count), -1);
    gap_sample_release(&s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("gap");
    TCase *c = tcase_create("gap");
    suite_add_tcase(s, c);
    tcase_add_loop_test(c, every_format, 0, 2 * DTYPE_COUNT_);
    tcase_add_loop_test(c, pieces_do_not_matter, 0, 4);
    tcase_add_loop_test(c, limits, 0, 28);
    tcase_add_loop_test(c, limits_of_the_whole, 0, 5);
    tcase_add_test(c, marks);
    tcase_add_test(c, places);
    tcase_add_loop_test(c, sample, 0, 2);
    return suite_run(s);
}
