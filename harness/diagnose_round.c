/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose.h"

#include <math.h>
#include <stdlib.h>

#include "ulp.h"

/* Results that are a neighbour of the right one: which rule of rounding gives them. */

/* --- against the unrounded answer ------------------------------------------------------------
 */

/* The format's numbers on both sides of value + tail, and where between them it lies. */
struct bracket {
    double low, high, part; /* part: 0 at low, 1 at high */
};

static double step_from(enum dtype d, double from, int64_t steps)
{
    uint64_t bits = dtype_round(d, from);
    bool negative = signbit(from) && from != 0;
    if (from == 0)
        return steps > 0 ? dtype_min_subnormal(d) : -dtype_min_subnormal(d);
    return dtype_value(d, (steps > 0) != negative ? bits + 1 : bits - 1);
}

static bool bracket_make(enum dtype d, double value, double tail, struct bracket *ret_bracket)
{
    double nearest = dtype_value(d, dtype_round_sum(d, value, tail));
    double off = (value - nearest) + tail;
    struct bracket b = {nearest, nearest, 0};
    if (!isfinite(value) || !isfinite(nearest))
        return false;
    if (off > 0)
        b.high = step_from(d, nearest, 1);
    if (off < 0)
        b.low = step_from(d, nearest, -1);
    if (b.high > b.low)
        b.part = off > 0 ? off / (b.high - b.low) : 1 + off / (b.high - b.low);
    *ret_bracket = b;
    return isfinite(b.low) && isfinite(b.high);
}

/* What rules of rounding have in common with a tensor. */
enum rule { RULE_ZERO, RULE_UP, RULE_DOWN, RULE_AWAY, RULE_ODD, RULE_COUNT };

struct rounded {
    int64_t n, inexact, nearest, inside; /* inside: one of the two numbers around the answer */
    int64_t wrong, wrong_inside;         /* of those outside the bound */
    int64_t ties, twice[3];              /* wrong ones midway; what a second rounding gives */
    int64_t hits[RULE_COUNT];
    double chance, spread; /* of taking the farther one, if it were drawn in proportion */
};

/* Formats through which a result may have been rounded before. */
static const enum dtype middles[] = {DTYPE_F32, DTYPE_F16, DTYPE_BF16};

static double by_rule(enum dtype d, enum rule rule, const struct bracket *b)
{
    switch (rule) {
    case RULE_ZERO:
        return b->low >= 0 ? b->low : b->high;
    case RULE_UP:
        return b->high;
    case RULE_DOWN:
        return b->low;
    case RULE_AWAY:
        return b->low >= 0 ? b->high : b->low;
    default:
        return dtype_round(d, b->low) & 1 ? b->low : b->high;
    }
}

static void wrong_add(struct rounded *r, enum dtype d, double value, double tail, double part,
                      double got)
{
    r->ties += part == 0.5;
    for (int m = 0; m < 3; m++) {
        double first = dtype_value(middles[m], dtype_round_sum(middles[m], value, tail));
        r->twice[m] += dtype_info(middles[m])->fraction > dtype_info(d)->fraction &&
                       got == dtype_value(d, dtype_round(d, first));
    }
}

static void rounded_add(struct rounded *r, const struct suspect *s, int64_t i)
{
    struct bracket b;
    enum dtype d = s->t->dtype;
    const struct oracle *o = s->in->oracle;
    double got = tensor_value(s->t, i);
    if (!isfinite(got) || !bracket_make(d, o->value[i], o->tail[i], &b))
        return;
    bool inside = got == b.low || got == b.high;
    double farther = fmin(b.part, 1 - b.part);
    r->n++;
    r->inexact += b.part > 0;
    r->nearest += got == dtype_value(d, dtype_round_sum(d, o->value[i], o->tail[i]));
    r->inside += inside;
    r->wrong += s->bad[i];
    r->wrong_inside += s->bad[i] && inside;
    if (s->bad[i] && inside)
        wrong_add(r, d, o->value[i], o->tail[i], b.part, got);
    r->chance += farther;
    r->spread += farther * (1 - farther);
    for (int m = 0; m < RULE_COUNT; m++)
        r->hits[m] += got == (b.part > 0 ? by_rule(d, (enum rule)m, &b) : b.low);
}

static bool claim_rule(struct suspect *s, const struct rounded *r)
{
    static const char *const words[] = {"cut toward zero", "rounded up", "rounded down",
                                        "rounded away from zero",
                                        "rounded to the neighbour with an odd last bit"};
    for (int m = 0; m < RULE_COUNT; m++) {
        if (!r->inexact || (double)r->hits[m] < 0.9 * (double)r->n ||
            (double)r->nearest >= 0.8 * (double)r->n)
            continue;
        double share = (double)r->hits[m] / (double)r->n;
        claim_add(s->o, CAUSE_ROUNDING, s->side, share,
                  "%.1f %% of the results are the exact value %s, %.1f %% the nearest one",
                  100 * share, words[m], 100 * (double)r->nearest / (double)r->n);
        return true;
    }
    return false;
}

/* How many of the results are the farther neighbour, against what drawing would give. */
static bool is_drawn(const struct rounded *r)
{
    double farther = (double)(r->n - r->nearest);
    return r->n == r->inside && r->chance > 16 &&
           fabs(farther - r->chance) < 5 * sqrt(r->spread) && farther > r->chance / 2;
}

/* What else gives the farther neighbour; NULL: noise before the rounding would, too. */
static const char *explanation(const struct rounded *r)
{
    static const char *const twice[] = {", but what rounding to f32 first gives",
                                        ", but what rounding to f16 first gives",
                                        ", but what rounding to bf16 first gives"};
    if (r->ties * 20 > r->wrong * 19)
        return ": all are ties";
    for (int m = 0; m < 3; m++)
        if (r->twice[m] * 20 > r->wrong * 19)
            return twice[m];
    return is_drawn(r) ? ", as often as drawing one in proportion gives (stochastic rounding)"
                       : NULL;
}

/* The bound is the rounding to the format and little else: a result between the two neighbours
 * of the exact value was rounded, but by another rule. */
static void claim_bracket(struct suspect *s, const struct rounded *r)
{
    const char *more = explanation(r);
    if (more && r->wrong >= 4 && r->wrong_inside * 20 >= r->wrong * 19)
        claim_add(s->o, CAUSE_ROUNDING, s->side, 0.96,
                  "%lld of %lld wrong results are one of the two numbers around the exact value, "
                  "not the nearest one%s",
                  (long long)r->wrong_inside, (long long)r->wrong, more);
}

void diagnose_rounding(struct suspect *s)
{
    struct rounded r = {0};
    if (dtype_info(s->t->dtype)->kind != DTYPE_KIND_FLOAT)
        return;
    for (int64_t i = 0; i < s->count; i++)
        rounded_add(&r, s, i);
    claim_rule(s, &r);
}

void diagnose_bracket(struct suspect *s)
{
    struct rounded r = {0};
    if (dtype_info(s->t->dtype)->kind != DTYPE_KIND_FLOAT)
        return;
    for (int64_t i = 0; i < s->count; i++)
        rounded_add(&r, s, i);
    if (r.inexact * 2 > r.n)
        claim_bracket(s, &r);
}

/* --- against the rounded answer --------------------------------------------------------------
 */

/* Where results are defined to the bit, the reference is the rounded one. */
struct steps {
    int64_t n, wrong, near, up, zero; /* up: above the right one; zero: toward zero from it */
    int64_t odd;                      /* wrong ones whose last bit is set */
};

static int64_t step_of(enum dtype d, double right, uint64_t got)
{
    if (!dtype_is_finite(d, got) || !dtype_is_finite(d, dtype_round(d, right)))
        return INT64_MAX;
    return ulp_position(d, got) - ulp_position(d, dtype_round(d, right));
}

static void steps_count(const struct suspect *s, struct steps *x)
{
    enum dtype d = s->t->dtype;
    for (int64_t i = 0; i < s->count; i++) {
        double right = s->in->oracle->value[i];
        if (!isfinite(right) || isinf(s->in->oracle->bound[i]))
            continue;
        x->n++;
        x->odd += s->bad[i] && (tensor_bits(s->t, i) & 1);
        if (!s->bad[i])
            continue;
        int64_t step = step_of(d, right, tensor_bits(s->t, i));
        bool near = step == 1 || step == -1;
        x->wrong++;
        x->near += near;
        x->up += step == 1;
        x->zero += near && fabs(tensor_value(s->t, i)) < fabs(right);
    }
}

bool suspect_neighbours(const struct suspect *s)
{
    struct steps x = {0};
    enum dtype d = s->t->dtype;
    if (d == DTYPE_NF4X2 || d == DTYPE_FP4X2)
        return false;
    steps_count(s, &x);
    return x.wrong >= 4 && x.near * 50 >= x.wrong * 49;
}

/* So few fraction bits that what arithmetic in f32 can differ by hardly ever moves a result. */
static bool is_narrow(enum dtype d)
{
    const struct dtype_info *info = dtype_info(d);
    return info->kind != DTYPE_KIND_FLOAT ? info->bytes == 1 : info->fraction <= 10;
}

void diagnose_neighbours(struct suspect *s)
{
    struct steps x = {0};
    if (!suspect_neighbours(s))
        return;
    steps_count(s, &x);
    double wrong = (double)x.wrong, half = wrong / (double)x.n;
    double least = 0.98 * wrong, up = (double)x.up, zero = (double)x.zero;
    const char *way = zero >= least           ? "nearer to zero"
                      : wrong - zero >= least ? "farther from zero"
                      : up >= least           ? "above"
                      : wrong - up >= least   ? "below"
                      : (double)x.odd >= wrong && wrong > 32 ? "with an odd last bit"
                                              : NULL;
    bool directed = way && half > 0.3 && half < 0.7;
    if (way && half > 0.9 && dtype_info(s->t->dtype)->bytes == 1) {
        claim_add(s->o, CAUSE_CODEBOOK, s->side, 0.96,
                  "%.1f %% of the codes are the neighbour of the right one, always the one %s: "
                  "the table is off by one place",
                  100 * half, way);
        return;
    }
    if (!directed && !is_narrow(s->t->dtype))
        return;
    if (directed)
        claim_add(s->o, CAUSE_ROUNDING, s->side, 0.96,
                  "%.1f %% of the results are the neighbour of the right one, always the one "
                  "%s: rounded in one direction instead of to nearest",
                  100 * half, way);
    else
        claim_add(s->o, CAUSE_ROUNDING, s->side, 0.75,
                  "all %lld wrong results are a neighbour of the right one (%lld above, %lld "
                  "below; %.1f %% of all): another rule for rounding or for ties, or a scale "
                  "hardly off",
                  (long long)x.wrong, (long long)x.up, (long long)(x.near - x.up), 100 * half);
}

/* --- the ends of the range -------------------------------------------------------------------
 */

void diagnose_limits(struct suspect *s)
{
    enum dtype d = s->t->dtype;
    int64_t ends = 0, n = 0;
    double low = dtype_value(d, dtype_round(d, -INFINITY)),
           high = dtype_value(d, dtype_round(d, INFINITY));
    if (dtype_info(d)->kind != DTYPE_KIND_INT && dtype_info(d)->kind != DTYPE_KIND_UINT)
        return;
    for (int64_t i = 0; i < s->count; i++) {
        double right = s->in->oracle->value[i];
        bool end = right == low || right == high;
        if (s->bad[i] && !end)
            return;
        ends += end;
        n += s->bad[i];
    }
    double part = (double)ends / (double)s->count;
    if (n < 4 || part > 0.75 || (double)n * log(part) > log(1e-4))
        return;
    claim_add(s->o, CAUSE_ROUNDING, s->side, 0.96,
              "all %lld wrong elements should be the smallest or the largest number of the "
              "format: what lies beyond them is not clamped",
              (long long)n);
}
