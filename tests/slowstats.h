/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TESTS_SLOWSTATS_H
#define GPUPARITY_TESTS_SLOWSTATS_H

#include <stdlib.h>

#include "stats.h"
#include "ulp.h"
#include "wide.h"

/* stats_compute once more, slowly, from the words in its headers: every element by itself in
 * MPFR, every distribution from a sorted array. Only values (dtype_value) are taken from the
 * harness. */

struct slow_list {
    double *x;
    int64_t n;
};

struct slow_side {
    struct side_stats s;
    struct slow_list ulp, bound;
    int64_t class_first;
    double worst;
};

static inline void slow_push(struct slow_list *l, double x)
{
    double most = ULP_ERROR_MAX;
    l->x[l->n++] = x > most ? most : x < -most ? -most : x;
}

static inline int slow_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline int slow_compare_magnitudes(const void *a, const void *b)
{
    double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
    return (x > y) - (x < y);
}

static inline void slow_histogram(const struct slow_list *l, struct distribution *d)
{
    for (int64_t i = 0; i < l->n; i++) {
        double x = l->x[i];
        int bin = x == 0 ? 0 : ilogb(x) + 34;
        if (x != 0)
            bin = bin < 1 ? 1 : bin > DISTRIBUTION_HIST - 1 ? DISTRIBUTION_HIST - 1 : bin;
        d->hist[bin]++;
        d->hist_negative[bin] += x < 0;
        d->positive += x > 0;
        d->negative += x < 0;
        d->zero += x == 0;
    }
}

/* Ranks as q = numerator/1000, in integers. */
static inline struct distribution slow_distribution(struct slow_list *l)
{
    static const int permille[] = {500, 900, 990, 999, 1000};
    struct distribution d = {.count = l->n};
    long double sum = 0, square = 0;
    slow_histogram(l, &d);
    if (l->n == 0)
        return d;
    for (int64_t i = 0; i < l->n; i++) {
        sum += l->x[i];
        square += (long double)l->x[i] * l->x[i];
    }
    d.mean = (double)(sum / l->n);
    d.rms = (double)sqrtl(square / l->n);
    qsort(l->x, (size_t)l->n, sizeof *l->x, slow_compare_magnitudes);
    for (int q = 0; q < 5; q++)
        d.quantile[q] = fabs(l->x[(permille[q] * l->n + 999) / 1000 - 1]);
    qsort(l->x, (size_t)l->n, sizeof *l->x, slow_compare);
    d.minimum = l->x[0];
    d.maximum = l->x[l->n - 1];
    d.median = l->x[(l->n + 1) / 2 - 1];
    return d;
}

/* The reference of one element, and what an overflow in its direction reads as. */
struct slow_reference {
    double value, tail, bound,
        rounded; /* rounded: NaN or Inf where that is what it rounds to */
    bool finite, overflows;
    double over; /* the value an overflow gives: Inf of its sign, or NaN */
    mpfr_t exact;
};

static inline bool slow_is_float(enum dtype d)
{
    return dtype_info(d)->kind == DTYPE_KIND_FLOAT;
}

static inline double slow_over(enum dtype d, double sign)
{
    return dtype_info(d)->specials == DTYPE_SPECIALS_IEEE ? copysign(INFINITY, sign)
                                                          : (double)NAN;
}

static inline void slow_round(enum dtype d, struct slow_reference *r, mpfr_ptr x)
{
    mpfr_set(x, r->exact, MPFR_RNDN);
    if (!slow_is_float(d)) {
        int width = 8 * dtype_info(d)->bytes - (dtype_info(d)->kind == DTYPE_KIND_INT);
        double top = ldexp(1, width) - 1,
               low = dtype_info(d)->kind == DTYPE_KIND_INT ? -top - 1 : 0;
        mpfr_roundeven(x, x);
        r->rounded = fmax(low, fmin(top, mpfr_get_d(x, MPFR_RNDN)));
        return;
    }
    wide_round(d, x);
    r->overflows = mpfr_cmp_d(x, wide_max(d)) > 0 || mpfr_cmp_d(x, -wide_max(d)) < 0;
    r->rounded = r->overflows ? r->over : mpfr_get_d(x, MPFR_RNDN);
}

static inline void slow_reference_set(enum dtype d, const struct oracle *o, int64_t i,
                                      struct slow_reference *r, mpfr_ptr x)
{
    r->value = o->value[i];
    r->tail = o->tail[i];
    r->bound = o->bound[i];
    r->finite = isfinite(r->value);
    r->overflows = false;
    r->over = slow_over(d, r->value);
    r->rounded = isnan(r->value) ? r->value : r->over;
    if (!r->finite)
        return;
    mpfr_set_d(r->exact, r->value, MPFR_RNDN);
    mpfr_add_d(r->exact, r->exact, r->tail, MPFR_RNDN);
    slow_round(d, r, x);
}

static inline bool slow_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* |y - exact| <= bound, in MPFR; y may be x. */
static inline bool slow_within(const struct slow_reference *r, mpfr_srcptr y, mpfr_ptr x)
{
    mpfr_sub(x, y, r->exact, MPFR_RNDN);
    mpfr_abs(x, x, MPFR_RNDN);
    return mpfr_cmp_d(x, r->bound) <= 0;
}

/* Is Inf (or its stand-in) right although the reference is finite? The next number above the
 * largest is the largest and its last bit's unit. */
static inline bool slow_near_overflow(enum dtype d, const struct slow_reference *r, mpfr_ptr x)
{
    mpfr_set_d(x, wide_max(d), MPFR_RNDN);
    mpfr_add_d(x, x, ldexp(1, ilogb(wide_max(d)) - dtype_info(d)->fraction), MPFR_RNDN);
    if (r->value < 0)
        mpfr_neg(x, x, MPFR_RNDN);
    return slow_within(r, x, x);
}

enum slow_class { SLOW_RIGHT, SLOW_NUMBER, SLOW_NAN, SLOW_INF };

static inline enum slow_class slow_classify(enum dtype d, const struct slow_reference *r,
                                            double y, mpfr_ptr x)
{
    enum slow_class wrong = isnan(y) || isnan(r->value) ? SLOW_NAN : SLOW_INF;
    if (!r->finite && r->bound == INFINITY)
        return SLOW_RIGHT;
    if (!r->finite)
        return slow_same(y, r->rounded) && slow_is_float(d) ? SLOW_RIGHT : wrong;
    if (isfinite(y) && !r->overflows)
        return SLOW_NUMBER;
    if (r->bound == INFINITY)
        return SLOW_RIGHT;
    if (isfinite(y))
        return mpfr_set_d(x, y, MPFR_RNDN), slow_within(r, x, x) ? SLOW_RIGHT : SLOW_INF;
    bool right = slow_same(y, r->over) && (r->overflows || slow_near_overflow(d, r, x));
    return right ? SLOW_RIGHT : wrong;
}

static inline double slow_ulp_error(enum dtype d, const struct slow_reference *r, double y,
                                    mpfr_ptr x)
{
    mpfr_d_sub(x, y, r->exact, MPFR_RNDN);
    if (slow_is_float(d)) {
        mpfr_exp_t q = wide_last_bit(d, r->exact);
        mpfr_exp_t top = ilogb(wide_max(d)) - dtype_info(d)->fraction;
        mpfr_mul_2si(x, x, -(q > top ? top : q), MPFR_RNDN);
    }
    return mpfr_get_d(x, MPFR_RNDN);
}

static inline void slow_number(enum dtype d, const struct slow_reference *r, double y,
                               int64_t i, struct slow_side *s, bool *ret_over, mpfr_ptr x)
{
    slow_push(&s->ulp, slow_ulp_error(d, r, y, x));
    if (r->bound == INFINITY)
        return;
    mpfr_set_d(x, y, MPFR_RNDN);
    *ret_over = !slow_within(r, x, x);
    bool zero = mpfr_zero_p(x);
    mpfr_d_sub(x, y, r->exact, MPFR_RNDN);
    if (r->bound > 0)
        mpfr_div_d(x, x, r->bound, MPFR_RNDN);
    double ratio = zero ? 0 : r->bound > 0 ? mpfr_get_d(x, MPFR_RNDN) : mpfr_sgn(x) * INFINITY;
    slow_push(&s->bound, ratio);
    if (fabs(ratio) > s->worst) {
        s->worst = fabs(ratio);
        s->s.worst_index = i;
    }
}

static inline void slow_side_add(enum dtype d, const struct slow_reference *r, uint64_t bits,
                                 uint64_t poison, int64_t i, struct slow_side *s, mpfr_ptr x)
{
    double y = dtype_value(d, bits);
    bool over = false;
    struct slow_side before = *s; /* an unwritten element is taken back */
    enum slow_class c = r ? slow_classify(d, r, y, x) : SLOW_RIGHT;
    if (c == SLOW_NUMBER)
        slow_number(d, r, y, i, s, &over, x);
    bool wrong = over || c == SLOW_NAN || c == SLOW_INF;
    bool unwritten = bits == poison && (wrong || dtype_info(d)->bytes > 1);
    if (unwritten)
        *s = before;
    s->s.unwritten += unwritten;
    s->s.nan_wrong += !unwritten && c == SLOW_NAN;
    s->s.inf_wrong += !unwritten && c == SLOW_INF;
    s->s.over_bound += !unwritten && over;
    s->s.correctly_rounded += r && !unwritten && slow_same(y, r->rounded);
    s->s.unjudged += r && r->bound == INFINITY;
    if ((wrong || unwritten) && s->s.first_wrong < 0)
        s->s.first_wrong = i;
    if ((unwritten || (wrong && !over)) && s->class_first < 0)
        s->class_first = i;
}

static inline void slow_pair_add(enum dtype d, uint64_t a, uint64_t b, int64_t i,
                                 struct pair_stats *p, int64_t *class_first,
                                 struct slow_list *l)
{
    double x = dtype_value(d, a), y = dtype_value(d, b);
    bool equal = a == b || (isnan(x) && isnan(y));
    p->bits_equal += equal;
    p->nan_differs += isnan(x) != isnan(y);
    bool inf = !equal && !isnan(x) && !isnan(y) && (isinf(x) || isinf(y));
    p->inf_differs += inf;
    if (!equal && p->first_index < 0)
        p->first_index = i;
    if ((inf || isnan(x) != isnan(y)) && *class_first < 0)
        *class_first = i;
    if (!isfinite(x) || !isfinite(y))
        return;
    long double gap = (long double)ulp_position(d, b) - (long double)ulp_position(d, a);
    uint64_t distance = (uint64_t)fabsl(gap); /* 64 bits are enough for both */
    slow_push(l, (double)gap);
    if (!equal && (p->worst_index < 0 || distance > p->worst_ulp)) {
        p->worst_ulp = distance;
        p->worst_index = i;
    }
    p->worst_absolute = fmax(p->worst_absolute, fabs(y - x));
}

/* Both lists sorted. The area by integrating the gap between the steps, ks at every step. */
static inline void slow_distance(const struct slow_list *a, const struct slow_list *b,
                                 struct pair_stats *p)
{
    int64_t i = 0, j = 0;
    long double area = 0;
    while (a->n && b->n && (i < a->n || j < b->n)) {
        double x = i < a->n ? a->x[i] : INFINITY, y = j < b->n ? b->x[j] : INFINITY;
        double at = x < y ? x : y, next = INFINITY;
        while (i < a->n && a->x[i] == at)
            i++;
        while (j < b->n && b->x[j] == at)
            j++;
        next = i < a->n ? a->x[i] : next;
        next = j < b->n && b->x[j] < next ? b->x[j] : next;
        long double gap = fabsl((long double)i / a->n - (long double)j / b->n);
        p->ks = fmax(p->ks, (double)gap);
        area += isfinite(next) ? gap * ((long double)next - at) : 0;
    }
    p->wasserstein = (double)area;
}

static inline void slow_side_init(struct slow_side *s, int64_t n)
{
    *s = (struct slow_side){.class_first = -1};
    s->s.worst_index = s->s.first_wrong = -1;
    s->ulp.x = malloc((size_t)n * sizeof(double) + 1);
    s->bound.x = malloc((size_t)n * sizeof(double) + 1);
}

static inline struct side_stats slow_side_finish(struct slow_side *s, int64_t n)
{
    s->s.count = n;
    s->s.worst_bound = s->worst;
    if (s->class_first >= 0)
        s->s.worst_index = s->class_first;
    s->s.ulp = slow_distribution(&s->ulp);
    s->s.bound = slow_distribution(&s->bound);
    return s->s;
}

static inline void slow_power(const struct oracle *o, struct output_stats *s)
{
    double judged = 0, strong = 0;
    bool constant = true;
    for (int64_t i = 0; i < o->count; i++) {
        bool j = isfinite(o->value[i]) && isfinite(o->bound[i]);
        judged += j;
        strong += j && o->drop[i] > 2 * o->bound[i];
        constant = constant && slow_same(o->value[i], o->value[0]);
    }
    s->has_reference = true;
    s->power = judged > 0 ? strong / judged : 0;
    s->reference_constant = constant && o->count > 1;
}

static inline void slow_stats(const struct tensor *a, const struct tensor *b,
                              const struct oracle *o, uint64_t poison, struct output_stats *ret)
{
    enum dtype d = a->dtype;
    struct slow_side side[2];
    struct slow_list gaps = {malloc((size_t)a->count * sizeof(double) + 1), 0};
    struct slow_reference r;
    int64_t pair_class = -1;
    mpfr_t x;
    mpfr_inits2(WIDE_BITS, r.exact, x, (mpfr_ptr)0);
    *ret = (struct output_stats){.pair.worst_index = -1, .pair.first_index = -1};
    for (int t = 0; t < 2; t++)
        slow_side_init(&side[t], a->count);
    for (int64_t i = 0; i < a->count; i++) {
        if (o)
            slow_reference_set(d, o, i, &r, x);
        slow_side_add(d, o ? &r : NULL, tensor_bits(a, i), poison, i, &side[0], x);
        if (!b)
            continue;
        slow_side_add(d, o ? &r : NULL, tensor_bits(b, i), poison, i, &side[1], x);
        slow_pair_add(d, tensor_bits(a, i), tensor_bits(b, i), i, &ret->pair, &pair_class,
                      &gaps);
    }
    ret->a = slow_side_finish(&side[0], a->count);
    if (b) {
        ret->b = slow_side_finish(&side[1], a->count);
        ret->pair.count = a->count;
        ret->pair.ulp = slow_distribution(&gaps);
        if (pair_class >= 0)
            ret->pair.worst_index = pair_class;
        slow_distance(&side[0].ulp, &side[1].ulp, &ret->pair);
    } else {
        ret->pair = (struct pair_stats){0};
    }
    if (o)
        slow_power(o, ret);
    for (int t = 0; t < 2; t++) {
        free(side[t].ulp.x);
        free(side[t].bound.x);
    }
    free(gaps.x);
    mpfr_clears(r.exact, x, (mpfr_ptr)0);
}

#endif
