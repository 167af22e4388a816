/* SPDX-License-Identifier: Apache-2.0 */
#include "tally.h"

#include <math.h>

#include "reference.h"
#include "ulp.h"

static double clamp(double x)
{
    return x > ULP_ERROR_MAX ? ULP_ERROR_MAX : x < -ULP_ERROR_MAX ? -ULP_ERROR_MAX : x;
}

static void worst_update(struct side_stats *s, double ratio, int64_t i)
{
    if (ratio > s->worst_bound) {
        s->worst_bound = ratio;
        s->worst_index = i;
    }
}

/* What one element of one side comes to. */
struct outcome {
    enum judgement judgement;
    bool measured; /* ulp holds: finite against NUMBER */
    bool over, rounded;
    double ulp, ratio;
};

static bool is_equal(enum dtype d, uint64_t a, uint64_t b)
{
    double x = dtype_value(d, a), y = dtype_value(d, b);
    return a == b || x == y || (isnan(x) && isnan(y));
}

static struct outcome outcome_make(enum dtype d, const struct reference *r, uint64_t bits)
{
    struct outcome c = {.judgement = reference_judge(r, d, bits)};
    c.rounded = is_equal(d, bits, r->rounded);
    c.measured = r->kind == REFERENCE_NUMBER && dtype_is_finite(d, bits);
    if (c.measured)
        c.ulp = ulp_error(d, bits, r->value, r->tail);
    if (c.judgement == JUDGEMENT_NUMBER) {
        double error = reference_error(r, d, bits);
        c.over = !(fabs(error) <= r->bound);
        c.ratio = error == 0 ? 0 : error / r->bound;
    }
    return c;
}

static bool is_wrong(const struct outcome *c)
{
    return c->over || c->judgement == JUDGEMENT_NAN_WRONG ||
           c->judgement == JUDGEMENT_INF_WRONG;
}

static bool is_unwritten(const struct tally_subject *p, uint64_t bits, bool wrong)
{
    return bits == p->poison && (wrong || dtype_info(p->a->dtype)->bytes > 1);
}

static void first_update(int64_t *first, int64_t i)
{
    if (*first < 0)
        *first = i;
}

static void side_add(const struct tally_subject *p, struct side_stats *s, int64_t *class_wrong,
                     const struct outcome *c, uint64_t bits, int64_t i)
{
    bool unwritten = is_unwritten(p, bits, is_wrong(c));
    s->unwritten += unwritten;
    s->correctly_rounded += c->rounded && !unwritten;
    if (!unwritten) {
        s->nan_wrong += c->judgement == JUDGEMENT_NAN_WRONG;
        s->inf_wrong += c->judgement == JUDGEMENT_INF_WRONG;
        s->over_bound += c->over;
    }
    if (unwritten || is_wrong(c))
        first_update(&s->first_wrong, i);
    if (unwritten || (is_wrong(c) && !c->over))
        first_update(class_wrong, i);
    else
        worst_update(s, fabs(c->ratio), i);
}

static void side_sink(struct tally_values *out, int quantity, const struct outcome *c)
{
    if (c->measured)
        out->x[quantity][out->n[quantity]++] = c->ulp;
    if (c->judgement == JUDGEMENT_NUMBER)
        out->x[quantity + 1][out->n[quantity + 1]++] = clamp(c->ratio);
}

static double position_difference(enum dtype d, uint64_t a, uint64_t b, uint64_t *ret_distance)
{
    *ret_distance = ulp_distance(d, a, b);
    double x = (double)*ret_distance;
    return ulp_position(d, b) < ulp_position(d, a) ? -x : x;
}

static void pair_unequal(const struct tally_subject *p, struct tally *k, uint64_t a, uint64_t b,
                         int64_t i)
{
    struct pair_stats *s = &k->pair;
    first_update(&s->first_index, i);
    if (!dtype_is_finite(p->a->dtype, a) || !dtype_is_finite(p->a->dtype, b)) {
        bool nan = dtype_is_nan(p->a->dtype, a) != dtype_is_nan(p->a->dtype, b);
        s->nan_differs += nan;
        s->inf_differs += !nan;
        first_update(&k->pair_class, i);
    }
}

static void pair_add(const struct tally_subject *p, struct tally *k, struct tally_values *out,
                     uint64_t a, uint64_t b, int64_t i)
{
    struct pair_stats *s = &k->pair;
    bool equal = a == b || (dtype_is_nan(p->a->dtype, a) && dtype_is_nan(p->a->dtype, b));
    s->bits_equal += equal;
    if (!equal)
        pair_unequal(p, k, a, b, i);
    if (!dtype_is_finite(p->a->dtype, a) || !dtype_is_finite(p->a->dtype, b))
        return;

    uint64_t distance;
    out->x[TALLY_PAIR_ULP][out->n[TALLY_PAIR_ULP]++] =
        position_difference(p->a->dtype, a, b, &distance);
    if (!equal && (distance > s->worst_ulp || s->worst_index < 0)) {
        s->worst_ulp = distance;
        s->worst_index = i;
    }
    double gap = fabs(dtype_value(p->a->dtype, b) - dtype_value(p->a->dtype, a));
    if (gap > s->worst_absolute)
        s->worst_absolute = gap;
}

static bool is_broken(const struct reference *r)
{
    return isfinite(r->value) && (!(r->bound >= 0) || !isfinite(r->tail));
}

static void reference_add(const struct tally_subject *p, struct tally *k,
                          const struct reference *r, int64_t i)
{
    bool finite = isfinite(r->value);
    if (is_broken(r))
        first_update(&k->broken, i);
    if (finite && r->bound < INFINITY) {
        k->judged++;
        k->powerful += p->o->drop[i] > 2 * r->bound;
    }
    k->a.unjudged += r->bound == INFINITY;
    k->constant &= r->value == p->first || (isnan(r->value) && isnan(p->first));
}

static void element_add(const struct tally_subject *p, struct tally *k,
                        struct tally_values *out, int64_t i)
{
    uint64_t a = tensor_bits(p->a, i), b = p->b ? tensor_bits(p->b, i) : 0;
    struct outcome ca = {.judgement = JUDGEMENT_RIGHT}, cb = ca;
    struct reference r = {.bound = INFINITY};
    if (p->o) {
        r = reference_make(p->a->dtype, p->o->value[i], p->o->tail[i], p->o->bound[i]);
        reference_add(p, k, &r, i);
        ca = outcome_make(p->a->dtype, &r, a);
    }
    side_add(p, &k->a, &k->a_class, &ca, a, i);
    if (!is_unwritten(p, a, is_wrong(&ca)))
        side_sink(out, TALLY_A_ULP, &ca);
    if (!p->b)
        return;

    if (p->o)
        cb = a == b ? ca : outcome_make(p->a->dtype, &r, b);
    side_add(p, &k->b, &k->b_class, &cb, b, i);
    if (!is_unwritten(p, b, is_wrong(&cb)))
        side_sink(out, TALLY_B_ULP, &cb);
    pair_add(p, k, out, a, b, i);
}

void tally_init(struct tally *k)
{
    *k = (struct tally){.a_class = -1, .b_class = -1, .pair_class = -1, .broken = -1};
    k->constant = true;
    k->a.worst_index = k->a.first_wrong = -1;
    k->b = k->a;
    k->pair.worst_index = k->pair.first_index = -1;
}

void tally_elements(struct tally *k, const struct tally_subject *s, int64_t from, int64_t to,
                    struct tally_values *values)
{
    for (int64_t i = from; i < to; i++)
        element_add(s, k, values, i);
}

static void side_merge(struct side_stats *s, int64_t *class_wrong, const struct side_stats *t,
                       int64_t t_class_wrong)
{
    s->nan_wrong += t->nan_wrong;
    s->inf_wrong += t->inf_wrong;
    s->over_bound += t->over_bound;
    s->unwritten += t->unwritten;
    s->correctly_rounded += t->correctly_rounded;
    if (s->first_wrong < 0)
        s->first_wrong = t->first_wrong;
    if (*class_wrong < 0)
        *class_wrong = t_class_wrong;
    worst_update(s, t->worst_bound, t->worst_index);
}

static void pair_merge(struct pair_stats *s, const struct pair_stats *t)
{
    s->bits_equal += t->bits_equal;
    s->nan_differs += t->nan_differs;
    s->inf_differs += t->inf_differs;
    if (s->first_index < 0)
        s->first_index = t->first_index;
    if (t->worst_index >= 0 && (t->worst_ulp > s->worst_ulp || s->worst_index < 0)) {
        s->worst_ulp = t->worst_ulp;
        s->worst_index = t->worst_index;
    }
    if (t->worst_absolute > s->worst_absolute)
        s->worst_absolute = t->worst_absolute;
}

void tally_merge(struct tally *k, const struct tally *next)
{
    side_merge(&k->a, &k->a_class, &next->a, next->a_class);
    side_merge(&k->b, &k->b_class, &next->b, next->b_class);
    pair_merge(&k->pair, &next->pair);
    if (k->pair_class < 0)
        k->pair_class = next->pair_class;
    if (k->broken < 0)
        k->broken = next->broken;
    k->a.unjudged += next->a.unjudged;
    k->judged += next->judged;
    k->powerful += next->powerful;
    k->constant &= next->constant;
}
