/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "diagnose.h"
#include "plainrule.h"

/* --- diagonals --- */

/* Of the last two dimensions: how much of each diagonal (column less row) differs. */
struct diagonals {
    int64_t rows, columns, n;
    int64_t *differ; /* owned; diagonal d is number d + rows - 1 */
};

static int64_t length(const struct diagonals *g, int64_t number)
{
    int64_t d = number - (g->rows - 1), from = d < 0 ? -d : 0,
            to = g->columns - d < g->rows ? g->columns - d : g->rows;
    return to - from;
}

/* Zero or -Inf: what masks write. */
static bool is_off(double x)
{
    return x == 0 || x == -INFINITY;
}

static bool is_off_only(const struct plainseen_element *x, int side)
{
    return is_off(x->value[side]) && !is_off(x->value[!side]);
}

/* Of those elements that are off on one side only, or of all (-1). */
static bool diagonals_make(const struct plainseen *s, int off, struct diagonals *g)
{
    *g = (struct diagonals){s->dim[s->rank - 2], s->dim[s->rank - 1],
                            s->dim[s->rank - 2] + s->dim[s->rank - 1] - 1, NULL};
    if (g->rows < 8 || g->columns < 8)
        return false;
    g->differ = calloc((size_t)g->n, sizeof *g->differ);
    for (int64_t i = 0; i < s->n && g->differ; i++)
        if (off < 0 || is_off_only(&s->x[i], off))
            g->differ[plainseen_at(s, s->x[i].index, s->rank - 1) -
                      plainseen_at(s, s->x[i].index, s->rank - 2) + g->rows - 1]++;
    return g->differ;
}

/* First and last diagonal that differ nearly whole, when all between them do and none beyond
 * has anything; the few that have one element or two may be as they like. */
static bool diagonals_band(const struct plainseen *s, const struct diagonals *g,
                           int64_t *ret_low, int64_t *ret_high)
{
    double rate = (double)s->n / ((double)s->differing - (double)s->n_small) *
                  (double)(s->count / g->rows / g->columns);
    int64_t low = -1, high = -1, volume = 0;
    for (int64_t i = 0; i < g->n; i++)
        if ((double)g->differ[i] >= 0.6 * rate * (double)length(g, i)) {
            low = low < 0 ? i : low;
            high = i;
        }
    for (int64_t i = 0; i < g->n; i++) {
        double part = (double)g->differ[i] / (rate * (double)length(g, i));
        bool in = i >= low && i <= high, tiny = length(g, i) < 3;
        if (low < 0 || (!tiny && (in ? part < 0.3 : part > 0)))
            return false;
        volume += in ? length(g, i) : 0;
    }
    *ret_low = low - (g->rows - 1);
    *ret_high = high - (g->rows - 1);
    return 10 * volume <= 9 * g->rows * g->columns;
}

static const char *band_words(const struct diagonals *g, int64_t low, int64_t high,
                              char text[120])
{
    bool to_left = low <= 3 - g->rows, to_right = high >= g->columns - 3;
    if (low == high)
        snprintf(text, 120, "on the one diagonal column - row = %" PRId64, low);
    else if (to_left)
        snprintf(text, 120, "in the triangle column - row <= %" PRId64, high);
    else if (to_right)
        snprintf(text, 120, "in the triangle column - row >= %" PRId64, low);
    else
        snprintf(text, 120, "in the band %" PRId64 " <= column - row <= %" PRId64, low, high);
    return text;
}

static int64_t count_off(const struct plainseen *s, int side)
{
    int64_t n = 0;
    for (int64_t i = 0; i < s->n; i++)
        n += is_off_only(&s->x[i], side);
    return n;
}

static bool diagonal(struct plainseen *s)
{
    struct diagonals g;
    char words[96], band[120];
    int64_t low, high;
    if (s->rank < 2 || s->n < RULE_FEW || !diagonals_make(s, -1, &g))
        return false;
    bool found = diagonals_band(s, &g, &low, &high);
    free(g.differ);
    if (!found)
        return false;
    claim_add(
        s->o, CAUSE_MASK, '=', 1,
        "all %s lie %s of the last two dimensions; masked (zero or -Inf) on A only %" PRId64
        ", on B only %" PRId64,
        plainseen_words(s, words), band_words(&g, low, high, band), count_off(s, 0),
        count_off(s, 1));
    return true;
}

/* --- other terms --- */

/* Some elements are off on one side only, all in the same indices of an axis, and most others
 * of their rows differ too: another set of terms took part in sums over that axis. */
static bool other_terms(struct plainseen *s)
{
    char words[96];
    int axis = s->rank - 1;
    if (s->rank < 2 || s->n < RULE_MANY)
        return false;
    for (int side = 0; side < 2; side++) {
        int64_t off = count_off(s, side), low = s->dim[axis], high = -1, in = 0;
        if (off < RULE_FEW || count_off(s, !side) || off * 2 > s->n)
            continue;
        for (int64_t i = 0; i < s->n; i++) {
            int64_t at = plainseen_at(s, s->x[i].index, axis);
            if (!is_off(s->x[i].value[side]))
                continue;
            low = at < low ? at : low;
            high = at > high ? at : high;
        }
        for (int64_t i = 0; i < s->n; i++) {
            int64_t at = plainseen_at(s, s->x[i].index, axis);
            in += at >= low && at <= high;
        }
        if (10 * off < 9 * in || 2 * (high - low + 1) > s->dim[axis])
            continue;
        claim_add(
            s->o, CAUSE_MASK, "AB"[side], 1,
            "%c is zero or -Inf in %" PRId64 " of %s, all at %" PRId64 "..%" PRId64
            " of the last dimension, where %c has numbers; the rest of the rows differs too: "
            "another set of terms",
            "AB"[side], off, plainseen_words(s, words), low, high, "BA"[side]);
        return true;
    }
    return false;
}

/* The same where they fill a triangle or band. */
static bool other_diagonals(struct plainseen *s)
{
    struct diagonals g;
    char words[96], band[120];
    int64_t low, high;
    for (int side = 0; side < 2 && s->rank > 1; side++) {
        int64_t off = count_off(s, side);
        if (off < RULE_MANY || count_off(s, !side) || off == s->n ||
            !diagonals_make(s, side, &g))
            continue;
        bool found = diagonals_band(s, &g, &low, &high);
        free(g.differ);
        if (!found)
            continue;
        claim_add(s->o, CAUSE_MASK, "AB"[side], 1,
                  "%c is zero or -Inf in %" PRId64 " of %s, all %s of the last two dimensions, "
                  "where %c has numbers; other elements differ too: another set of terms",
                  "AB"[side], off, plainseen_words(s, words), band_words(&g, low, high, band),
                  "BA"[side]);
        return true;
    }
    return false;
}

bool plainrule_mask(struct plainseen *s)
{
    return diagonal(s) || other_terms(s) || other_diagonals(s);
}
