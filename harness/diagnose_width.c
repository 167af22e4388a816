/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose.h"

#include <math.h>

#include "ulp.h"

/* How many bits results and what they were summed from have kept. */

static bool countable(const struct suspect *s, int64_t i)
{
    return dtype_is_finite(s->t->dtype, tensor_bits(s->t, i)) &&
           isfinite(s->in->oracle->value[i]) && tensor_value(s->t, i) != 0;
}

static double error_at(const struct suspect *s, int64_t i)
{
    const struct oracle *o = s->in->oracle;
    return (tensor_value(s->t, i) - o->value[i]) - o->tail[i];
}

/* --- low bits that are zero everywhere -------------------------------------------------------
 */

/* How many low bits are zero in every result; 0 too if half of the right results have none either. */
static int low_bits_of(const struct suspect *s)
{
    const struct oracle *o = s->in->oracle;
    uint64_t any = 0;
    int64_t n = 0, lost = 0;
    for (int64_t i = 0; i < s->count; i++)
        if (countable(s, i)) {
            any |= tensor_bits(s->t, i);
            n++;
        }
    int low = n >= 16 && any ? __builtin_ctzll(any) : 0;
    uint64_t mask = (UINT64_C(1) << low) - 1;
    for (int64_t i = 0; i < s->count; i++)
        lost += countable(s, i) &&
                (dtype_round_sum(s->t->dtype, o->value[i], o->tail[i]) & mask) != 0;
    return lost * 2 < n ? 0 : low;
}

/* A result that lost its low bits when it was stored is off by at most half of the last one that
 * is left, or by one of them toward zero; sums that were kept with as few are off by more. */
static double share_off_by_more(const struct suspect *s, int low)
{
    int64_t n = 0, more = 0, toward_zero = 0;
    for (int64_t i = 0; i < s->count; i++) {
        if (!countable(s, i))
            continue;
        double last = ldexp(ulp_size(s->t->dtype, s->in->oracle->value[i]), low);
        double off = error_at(s, i), room = s->in->oracle->bound[i];
        room = isfinite(room) ? room : 0;
        bool inward = fabs(tensor_value(s->t, i)) <= fabs(s->in->oracle->value[i]);
        n++;
        more += fabs(off) > 0.51 * last + room;
        toward_zero += inward && fabs(off) > 0.51 * last + room && fabs(off) <= last + room;
    }
    return toward_zero * 20 >= more * 19 ? 0 : (double)more / (double)n;
}

void diagnose_low_bits(struct suspect *s)
{
    const struct dtype_info *info = dtype_info(s->t->dtype);
    if (info->kind != DTYPE_KIND_FLOAT || info->fraction < 10 || s->count < 16)
        return;
    int low = low_bits_of(s);
    if (low < 3 || low > info->fraction)
        return;
    double more = share_off_by_more(s, low);
    if (more > 0.1)
        claim_add(s->o, CAUSE_ACCUMULATE, s->side, 0.97,
                  "the low %d bits of every result are zero, and %.0f %% of the results are off by "
                  "more than storing them so would be: sums were kept with %d of %d fraction bits",
                  low, 100 * more, info->fraction - low, info->fraction);
    else
        claim_add(s->o, CAUSE_DOWNCAST, s->side, 0.97,
                  "the low %d bits of every result are zero: only %d of %d fraction bits survive",
                  low, info->fraction - low, info->fraction);
}

/* --- a value per row that lost bits ----------------------------------------------------------
 */

/* Rows of the last dimension, each with the factor that fits it best. */
struct rows {
    int64_t count, above, below;
    double square, largest;           /* of factors less 1 */
    double seen, explained, together; /* squares of errors; together: with one factor for all */
    int64_t healed;                   /* wrong elements that are right without the factor */
};

static struct rows rows_of(const struct suspect *s, int64_t length)
{
    struct rows r = {0};
    const struct oracle *o = s->in->oracle;
    double all_xx = 0, all_xe = 0;
    for (int64_t first = 0; first < s->count; first += length) {
        double xx = 0, xe = 0;
        for (int64_t i = first; i < first + length; i++) {
            if (!countable(s, i) || !(o->bound[i] > 0) || isinf(o->bound[i]))
                continue;
            double x = o->value[i] / o->bound[i], e = error_at(s, i) / o->bound[i];
            xx += x * x;
            xe += x * e;
            r.seen += e * e;
        }
        if (!(xx > 0))
            continue;
        r.count++;
        r.above += xe > 0;
        r.below += xe < 0;
        r.square += xe / xx * (xe / xx);
        r.largest = fmax(r.largest, fabs(xe / xx));
        r.explained += xe * xe / xx;
        all_xx += xx;
        all_xe += xe;
        for (int64_t i = first; i < first + length; i++)
            r.healed += s->bad[i] && fabs(error_at(s, i) - xe / xx * o->value[i]) <= o->bound[i];
    }
    r.together = all_xx > 0 ? all_xe * all_xe / all_xx : 0;
    return r;
}

/* All elements of a row share a factor that is a little off 1, to either side: what they were
 * divided by, a sum, lost bits. A wrong scale is one factor for all, or far from 1. */
void diagnose_rows(struct suspect *s)
{
    int64_t length = s->t->rank >= 2 ? s->t->dim[s->t->rank - 1] : 0;
    if (length < 8 || s->count / length < 8 || dtype_info(s->t->dtype)->kind != DTYPE_KIND_FLOAT)
        return;
    struct rows r = rows_of(s, length);
    int64_t few = r.above < r.below ? r.above : r.below;
    bool most = r.explained > 0.6 * r.seen && r.healed * 2 > s->n_bad;
    bool heals = r.healed * 10 > s->n_bad * 8 && r.explained * (double)length > 10 * r.seen;
    if (r.count < 8 || few * 6 < r.count || !(r.seen > 0) ||
        (!most && !heals) || r.together > 0.5 * r.explained ||
        r.largest > 0x1p-5)
        return;
    claim_add(s->o, CAUSE_ACCUMULATE, s->side,
              fmax(r.explained / r.seen, (double)r.healed / (double)s->n_bad),
              "each of %lld rows has a factor of its own, %lld above 1 and %lld below, off by %.2g "
              "RMS; without it %lld of %lld wrong elements are right: a sum or other value of each "
              "row lost low bits",
              (long long)r.count, (long long)r.above, (long long)r.below,
              sqrt(r.square / (double)r.count), (long long)r.healed, (long long)s->n_bad);
}
