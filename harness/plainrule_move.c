/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "diagnose.h"
#include "plainrule.h"
#include "tensor.h"

/* Values that stand elsewhere on the other side. A way of moving says where in A the value of
 * an element of B comes from; it is believed when nearly all elements agree, and agree far more
 * often than with a place that has nothing to do with it. */

struct way {
    int64_t (*from)(const struct plainseen *s, const struct way *w, int64_t index);
    int64_t p, q, r;
};

/* Zeros, NaN and Inf are found in many places for other reasons. */
static bool is_common(const struct plainseen *s, uint64_t bits)
{
    return s->is_float && (!dtype_is_finite(s->d, bits) || dtype_value(s->d, bits) == 0);
}

static bool alike(const struct plainseen *s, int side, int64_t slot, uint64_t bits)
{
    uint64_t other = plainseen_bits(s, side, slot);
    return other == bits || (s->is_float && plainseen_alike(s, dtype_value(s->d, other),
                                                            dtype_value(s->d, bits)));
}

/* A few elements, spread, tell at little cost that a way is wrong. */
static bool likely(const struct plainseen *s, const struct way *w, int to)
{
    enum { PROBES = 64 };
    int64_t fit = 0, of = 0, step = s->n / PROBES + 1;
    for (int64_t i = 0; i < s->n; i += step) {
        int64_t slot = plainseen_slot(s, w->from(s, w, s->x[i].index));
        of += slot >= 0;
        fit += slot >= 0 && alike(s, !to, slot, s->x[i].bits[to]);
    }
    return 2 * fit > of;
}

/* The share of elements that side `to` has from the other side by this way; 0 when too few of
 * the places were looked at. */
static double believed(const struct plainseen *s, const struct way *w, int to)
{
    const struct gap_sample *m = s->sample;
    int64_t fit = 0, chance[2] = {0}, of = 0;
    if (!likely(s, w, to))
        return 0;
    for (int64_t i = 0; i < s->n; i++) {
        int64_t from = w->from(s, w, s->x[i].index);
        int64_t slot = plainseen_slot(s, from);
        uint64_t bits = s->x[i].bits[to];
        if (slot < 0 || is_common(s, bits))
            continue;
        of++;
        fit += alike(s, !to, slot, bits);
        chance[0] += plainseen_alike(s, s->x[(i * 7919 + 13) % s->n].value[!to],
                                     dtype_value(s->d, bits));
        chance[1] += alike(s, !to, (i * 7919 + 13) % (m->window * m->windows), bits);
    }
    if (of < RULE_FEW || 2 * of < s->n ||
        fit < 4 * (chance[0] > chance[1] ? chance[0] : chance[1]) + RULE_FEW)
        return 0;
    return (double)fit / (double)of;
}

/* --- the ways --- */

static int64_t from_pair(const struct plainseen *s, const struct way *w, int64_t index)
{
    (void)s;
    return index ^ w->p;
}

/* q matrices of p x r, each transposed; read with the shape of the result. */
static int64_t from_turned(const struct plainseen *s, const struct way *w, int64_t index)
{
    int64_t size = w->p * w->r, base = index / size * size, in = index % size;
    (void)s;
    return base + in % w->p * w->r + in / w->p;
}

static int64_t from_mirrored(const struct plainseen *s, const struct way *w, int64_t index)
{
    int64_t at = index / w->p % w->q;
    (void)s;
    return index + (w->q - 1 - 2 * at) * w->p;
}

static int64_t from_shifted(const struct plainseen *s, const struct way *w, int64_t index)
{
    (void)s;
    return index + w->p;
}

static int64_t from_first(const struct plainseen *s, const struct way *w, int64_t index)
{
    (void)s;
    return index - index / w->p % w->q * w->p;
}

/* --- which of them --- */

static bool claim_moved(struct plainseen *s, enum cause cause, double share, const char *how)
{
    char words[96];
    claim_add(s->o, cause, '=', share, "in %.4g %% of %s %s", 100 * share,
              plainseen_words(s, words), how);
    return true;
}

static bool pairs(struct plainseen *s)
{
    char how[160];
    for (int64_t by = 1; by <= 64 && by < s->count; by *= 2) {
        const struct way w = {from_pair, by, 0, 0};
        double share = believed(s, &w, 1);
        if (share < RULE_NEARLY)
            continue;
        snprintf(how, sizeof how,
                 by == 1 ? "neighbours change places: the order of two 4-bit codes or 16-bit "
                           "numbers in a word"
                         : "elements %" PRId64
                           " apart change places (index exclusive-or %" PRId64 ")",
                 by, by);
        return claim_moved(s, by == 1 ? CAUSE_CODEBOOK : CAUSE_MASK, share, how);
    }
    return false;
}

/* Dimensions first..last: those below `split` change places with the others. */
static bool turned_at(struct plainseen *s, int first, int split, int last)
{
    char how[160];
    struct way w = {from_turned, 1, 0, 1};
    for (int i = first; i < split; i++)
        w.p *= s->dim[i];
    for (int i = split; i <= last; i++)
        w.r *= s->dim[i];
    const struct way back = {from_turned, w.r, 0, w.p};
    if (w.p < 2 || w.r < 2)
        return false;
    double share = fmax(believed(s, &w, 1), believed(s, &back, 1));
    if (share < RULE_NEARLY)
        return false;
    snprintf(how, sizeof how,
             "B holds what A has in the transposed place: matrices of %" PRId64 " x %" PRId64
             ", written the other way round",
             w.p, w.r);
    return claim_moved(s, CAUSE_MASK, share, how);
}

static bool turned(struct plainseen *s)
{
    for (int first = 0; first < s->rank - 1; first++)
        for (int split = first + 1; split < s->rank; split++)
            if (turned_at(s, first, split, s->rank - 1))
                return true;
    return false;
}

static bool along_axis(struct plainseen *s)
{
    char how[160];
    for (int i = 0; i < s->rank; i++) {
        const struct way mirror = {from_mirrored, s->stride[i], s->dim[i], 0},
                         first = {from_first, s->stride[i], s->dim[i], 0};
        if (s->dim[i] < 2)
            continue;
        double share = believed(s, &mirror, 1);
        if (share >= RULE_NEARLY) {
            snprintf(how, sizeof how, "B holds A's values in reverse along dimension %d", i);
            return claim_moved(s, CAUSE_MASK, share, how);
        }
        for (int to = 0; to < 2 && s->dim[i] > 2; to++) {
            share = believed(s, &first, to);
            if (share < RULE_NEARLY)
                continue;
            snprintf(how, sizeof how,
                     "%c holds what %c has at index 0 of dimension %d: that index is not used",
                     "AB"[to], "BA"[to], i);
            return claim_moved(s, CAUSE_MASK, share, how);
        }
    }
    return false;
}

/* --- a fixed distance --- */

/* The place where the other side holds this element's value, to a few steps; -1 when not
 * exactly one does. */
static int64_t found_at(const struct plainseen *s, double value, int side)
{
    const struct gap_sample *m = s->sample;
    double room = s->is_float ? 8 * dtype_unit(s->d) * fabs(value) : 0;
    int64_t found = -1;
    for (int64_t i = 0; i < m->window * m->windows; i++)
        if (fabs(dtype_value(s->d, gap_sample_bits(m, side, i)) - value) <= room) {
            if (found >= 0)
                return -1;
            found = gap_sample_start(m, i / m->window) + i % m->window;
        }
    return found;
}

/* The largest of some elements of part k of x: rounding moves it by the fewest steps. */
static const struct plainseen_element *anchor(const struct plainseen *s, int k, int of,
                                              int side)
{
    const struct plainseen_element *best = &s->x[k * s->n / of];
    for (int i = 1; i < 16; i++) {
        const struct plainseen_element *x = &s->x[(16 * k + i) * s->n / (16 * of)];
        if (fabs(x->value[side]) > fabs(best->value[side]) && isfinite(x->value[side]))
            best = x;
    }
    return best;
}

/* Distances at which the value of one of a few elements is found on the other side. */
static bool shifted_on(struct plainseen *s, int to)
{
    enum { ANCHORS = 3 };
    char how[200];
    if (s->turned)
        return false;
    for (int k = 0; k < ANCHORS; k++) {
        const struct plainseen_element *x = anchor(s, k, ANCHORS, to);
        int64_t at = found_at(s, x->value[to], !to);
        struct way w = {from_shifted, at - x->index, 0, 0};
        double share = at < 0 || at == x->index ? 0 : believed(s, &w, to);
        if (share < 0.85)
            continue;
        bool few = (s->differing - s->n_small) * 4 < s->count;
        snprintf(how, sizeof how, "%c holds what %c has %" PRId64 " elements %s: %s", "AB"[to],
                 "BA"[to], w.p < 0 ? -w.p : w.p, w.p < 0 ? "earlier" : "later",
                 few ? "stale, or read from another place" : "shifted");
        return claim_moved(s, few ? CAUSE_LOCALISED : CAUSE_MASK, share, how);
    }
    return false;
}

bool plainrule_moved(struct plainseen *s)
{
    if (s->n < RULE_FEW || (s->is_float && plainseen_far(s) < 0.5))
        return false;
    if (pairs(s) || turned(s) || along_axis(s) || shifted_on(s, 1) || shifted_on(s, 0))
        return true;
    const struct gap *g = s->g;
    if (s->n_small || g->values[0] != g->values[1] || g->bits[0] != g->bits[1])
        return false;
    claim_add(s->o, CAUSE_MASK, '=', 1,
              "both sides hold the same values in another order: %" PRId64
              " elements are in another place",
              s->differing);
    return true;
}

/* --- from a power of two on --- */

static bool is_power(int64_t x, int least)
{
    return x >= 1LL << least && !(x & (x - 1));
}

/* Limits of 15, 16, 31 and 32 bits are bugs by themselves; other powers of two also divide
 * tensors in halves and quarters, which is no index that overflows. */
static bool is_limit(const struct plainseen *s, int64_t at, int64_t of, int least)
{
    bool bits = at == 1LL << 15 || at == 1LL << 16 || at == 1LL << 31 || at == 1LL << 32;
    (void)s;
    return is_power(at, least) && (bits || of % at || of > 16 * at);
}

static const char *limit_kind(const struct plainseen *s, int64_t first, int64_t *ret_number)
{
    int64_t bytes = first * dtype_info(s->d)->bytes;
    *ret_number = first;
    if (is_limit(s, first, s->count, 12))
        return "element";
    *ret_number = bytes;
    if (bytes == 1LL << 31 || bytes == 1LL << 32)
        return "byte";
    for (int i = s->rank - 2; i >= 0; i--) {
        *ret_number = first / s->stride[i];
        if (first % s->stride[i] == 0 && is_limit(s, *ret_number, s->count / s->stride[i], 8))
            return "row";
    }
    return NULL;
}

bool plainrule_overflow(struct plainseen *s)
{
    char more[120] = "";
    if (s->n < RULE_FEW || s->turned || (s->n_small && !s->all))
        return false;
    int64_t first = s->n_small ? s->x[0].index : s->g->first.index, number,
            after = s->count - first, n = s->n_small ? s->n : s->differing;
    const char *what = limit_kind(s, first, &number);
    if (!what || n < 0.7 * (double)after)
        return false;
    const struct way w = {from_shifted, -first, 0, 0};
    double share = 0;
    for (int to = 1; to >= 0 && share < RULE_NEARLY; to--) {
        share = believed(s, &w, to);
        if (share >= RULE_NEARLY)
            snprintf(more, sizeof more,
                     "; %c holds there what %c has from index 0 on: it wrapped", "AB"[to],
                     "BA"[to]);
    }
    claim_add(s->o, CAUSE_OVERFLOW, '=', 1,
              "the first %sdiffering %s is number 2^%d, and %" PRId64 " of the %" PRId64
              " elements from there on differ%s",
              s->n_small ? "far " : "", what, (int)log2((double)number), n, after, more);
    return true;
}
