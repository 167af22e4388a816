/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "diagnose.h"
#include "plainrule.h"

/* --- one pattern --- */

/* The bits that most elements have on a side, and how many. */
static uint64_t commonest(const struct plainseen *s, int side, int64_t *ret_n)
{
    uint64_t best = 0;
    int64_t votes = 0, n = 0;
    for (int64_t i = 0; i < s->n; i++) {
        if (!votes)
            best = s->x[i].bits[side];
        votes += s->x[i].bits[side] == best ? 1 : -1;
    }
    for (int64_t i = 0; i < s->n; i++)
        n += s->x[i].bits[side] == best;
    *ret_n = n;
    return best;
}

/* Bytes that allocators, debuggers and test tools fill memory with. A single byte is no pattern
 * unless it is one of them. */
static bool is_fill(const struct plainseen *s, uint64_t bits)
{
    int bytes = dtype_info(s->d)->bytes;
    uint64_t low = bits & 255;
    bool known = low == 0xcd || low == 0xcc || low == 0xa5 || low == 0xaa || low == 0xbe ||
                 low == 0xdd || low == 0xee || low == 0xfd || low == 0xfe;
    if (bytes == 1)
        return known;
    for (int i = 1; i < bytes; i++)
        if ((bits >> 8 * i & 255) != low)
            return false;
    return low != 0;
}

/* A NaN that no arithmetic makes: IEEE's default has the quiet bit alone, NVIDIA's all ones. */
static bool odd_nan(const struct plainseen *s, uint64_t bits)
{
    const struct dtype_info *f = dtype_info(s->d);
    if (!s->is_float || f->bytes < 2 || !dtype_is_nan(s->d, bits))
        return false;
    uint64_t all = (1ULL << f->fraction) - 1, fraction = bits & all;
    return fraction != 1ULL << (f->fraction - 1) && fraction != all;
}

/* Nearly all are the largest or the smallest value that this side holds anywhere, and the other side
 * goes beyond. */
static bool clamped_on(struct plainseen *s, int side)
{
    const struct gap_sample *m = s->sample;
    double low = INFINITY, high = -INFINITY;
    char words[96];
    int64_t n = 0;
    for (int64_t i = 0; i < m->window * m->windows; i++) {
        double x = dtype_value(s->d, gap_sample_bits(m, side, i));
        low = x < low ? x : low;
        high = x > high ? x : high;
    }
    for (int64_t i = 0; i < s->n; i++) {
        double x = s->x[i].value[side], y = s->x[i].value[!side];
        n += (x == low && y < low) || (x == high && y > high);
    }
    if (n < RULE_FEW || plainseen_share(s, n) < 0.9 || !isfinite(low) || !isfinite(high) || low == high ||
        plainseen_kinds(s, !side) < 4)
        return false;
    claim_add(s->o, CAUSE_MASK, "AB"[side], plainseen_share(s, n),
              "in %.4g %% of %s %c goes beyond the largest or smallest that %c holds anywhere, and "
              "%c has that one there: a clamp to %.6g..%.6g",
              100 * plainseen_share(s, n), plainseen_words(s, words), "BA"[side], "AB"[side],
              "AB"[side], low, high);
    return true;
}

static bool pattern_on(struct plainseen *s, int side)
{
    char words[96];
    int64_t n, other;
    uint64_t bits = commonest(s, side, &n);
    commonest(s, !side, &other);
    int digits = 2 * dtype_info(s->d)->bytes;
    if (n < RULE_FEW || plainseen_share(s, n) < 0.9 || 2 * other > n)
        return false;
    plainseen_words(s, words);
    if (is_fill(s, bits) || odd_nan(s, bits)) {
        claim_add(s->o, CAUSE_UNINITIALISED, "AB"[side], plainseen_share(s, n),
                  "%c holds 0x%0*" PRIx64 " in %" PRId64 " of %s, where %c has various values: "
                  "a pattern that memory is filled with, not a result",
                  "AB"[side], digits, bits, n, words, "BA"[side]);
        return true;
    }
    double value = dtype_value(s->d, bits);
    if (!isfinite(value) || value == 0)
        return false;
    claim_add(s->o, CAUSE_MASK, "AB"[side], plainseen_share(s, n),
              "%c holds the one value %.9g in %" PRId64 " of %s, where %c has various ones",
              "AB"[side], value, n, words, "BA"[side]);
    return true;
}

bool plainrule_pattern(struct plainseen *s)
{
    return clamped_on(s, 0) || clamped_on(s, 1) || pattern_on(s, 0) || pattern_on(s, 1);
}

/* --- bits that are no numbers of this tensor --- */

/* Random bits spread over all exponents; the numbers of a tensor do not. Formats with few
 * exponents show it by NaN and Inf among them. */
static bool garbage_on(struct plainseen *s, int side)
{
    char words[96];
    double most = 0, least = INFINITY;
    int64_t huge = 0, tiny = 0, odd = 0;
    bool narrow = dtype_info(s->d)->exponent < 8;
    for (int64_t i = 0; i < s->n; i++) {
        double x = fabs(s->x[i].value[!side]);
        if (!isfinite(x))
            return false;
        most = fmax(most, x);
        least = x > 0 && x < least ? x : least;
    }
    double far = narrow ? 4 : 0x1p20;
    if (!(most > 0))
        return false;
    for (int64_t i = 0; i < s->n; i++) {
        double x = fabs(s->x[i].value[side]);
        odd += !isfinite(x);
        huge += x > far * most && isfinite(x);
        tiny += x < least / far && x > 0;
    }
    double share = plainseen_share(s, huge + tiny + odd);
    if (share < 0.3 || plainseen_share(s, huge) < 0.1 || !(narrow ? odd : tiny))
        return false;
    claim_add(s->o, CAUSE_UNINITIALISED, "AB"[side], share,
              "of %s %c has %" PRId64
              " beyond 2^%d times the largest that %c has there (%.3g), "
              "%" PRId64 " as far below its smallest, %" PRId64
              " NaN or Inf: bits without order, as memory holds that nobody wrote",
              plainseen_words(s, words), "AB"[side], huge, (int)log2(far), "BA"[side], most,
              tiny, odd);
    return true;
}

bool plainrule_garbage(struct plainseen *s)
{
    if (!s->is_float || dtype_info(s->d)->bytes < 2 || s->n < RULE_FEW)
        return false;
    return garbage_on(s, 0) || garbage_on(s, 1);
}

/* --- flush --- */

/* All elements are zero on this side; how large is the other, and what is the smallest that
 * this side holds anywhere? A clean threshold far below the tensor's size is a flush of inputs.
 */
static bool threshold_on(struct plainseen *s, int side)
{
    char words[96];
    double most = 0, least = INFINITY;
    const struct gap_sample *m = s->sample;
    for (int64_t i = 0; i < s->n; i++) {
        double x = fabs(s->x[i].value[!side]);
        if (s->x[i].value[side] != 0 || !isfinite(x))
            return false;
        most = fmax(most, x);
    }
    for (int64_t i = 0; i < m->window * m->windows; i++) {
        double x = fabs(dtype_value(s->d, gap_sample_bits(m, side, i)));
        least = x > 0 && x < least ? x : least;
    }
    if (s->n < RULE_MANY || !(most > 0) || !(least >= most * (1 - 0x1p-6)) || !isfinite(least))
        return false;
    claim_add(s->o, CAUSE_FLUSH, "AB"[side], 1,
              "%c is zero in all %s, where %c is at most %.3g, and holds nothing else below "
              "%.3g: as if what is small, or what it was made from, became zero",
              "AB"[side], plainseen_words(s, words), "BA"[side], most, least);
    return true;
}

static bool has_subnormal(const struct plainseen *s, int side)
{
    const struct gap_sample *m = s->sample;
    for (int64_t i = 0; i < m->window * m->windows; i++)
        if (dtype_is_subnormal(s->d, gap_sample_bits(m, side, i)))
            return true;
    return false;
}

bool plainrule_flush(struct plainseen *s)
{
    const struct gap *g = s->g;
    for (int side = 0; side < 2 && s->is_float; side++) {
        int64_t n = g->flushed[side];
        if (!n || g->flushed[!side])
            continue;
        if (2 * n < s->differing && (n < RULE_MANY || has_subnormal(s, side)))
            continue;
        claim_add(s->o, CAUSE_FLUSH, "AB"[side], (double)n / (double)s->differing,
                  "%c has zero where %c has a subnormal number in %" PRId64 " of %" PRId64
                  " differing elements, and never the reverse",
                  "AB"[side], "BA"[side], n, s->differing);
        return true;
    }
    return s->is_float && (threshold_on(s, 0) || threshold_on(s, 1));
}

/* --- classes --- */

static int64_t saturated(const struct plainseen *s, int side)
{
    int64_t n = 0;
    double most = dtype_max(s->d);
    for (int64_t i = 0; i < s->n; i++)
        n += fabs(s->x[i].value[side]) == most && !isfinite(s->x[i].value[!side]);
    return n;
}

bool plainrule_classes(struct plainseen *s)
{
    char words[96];
    int64_t nan = 0, inf = 0, zero = 0;
    if (!s->is_float || !s->n)
        return false;
    for (int64_t i = 0; i < s->n; i++) {
        const double *v = s->x[i].value;
        nan += isnan(v[0]) != isnan(v[1]);
        inf += isnan(v[0]) == isnan(v[1]) && (isinf(v[0]) || isinf(v[1]));
        zero += v[0] == 0 && v[1] == 0;
    }
    plainseen_words(s, words);
    if (zero == s->n) {
        claim_add(s->o, CAUSE_NANINF, '=', 1,
                  "only the sign of zeros differs, in %" PRId64 " elements", s->differing);
        return true;
    }
    if (2 * (nan + inf) < s->n)
        return false;
    for (int side = 0; side < 2; side++)
        if (saturated(s, side) * 10 >= 9 * (nan + inf)) {
            claim_add(s->o, CAUSE_NANINF, "AB"[side], plainseen_share(s, nan + inf),
                      "%c holds the largest finite number in %" PRId64
                      " of %s where %c has Inf "
                      "or NaN: %c saturates",
                      "AB"[side], saturated(s, side), words, "BA"[side], "AB"[side]);
            return true;
        }
    claim_add(s->o, CAUSE_NANINF, '=', plainseen_share(s, nan + inf),
              "%s%s: %" PRId64 " NaN against a number, %" PRId64 " Inf against something else",
              nan + inf == s->differing ? "only NaN and Inf differ" : "NaN and Inf differ in ",
              nan + inf == s->differing ? "" : words, nan, inf);
    return true;
}

/* --- zeros and signs --- */

bool plainrule_zeros(struct plainseen *s)
{
    char words[96];
    for (int side = 0; side < 2; side++) {
        int64_t n = 0;
        for (int64_t i = 0; i < s->n; i++)
            n += s->x[i].value[side] == 0;
        if (n < RULE_FEW || n < s->n)
            continue;
        int64_t far = s->differing - s->n_small;
        bool nearly = far * 10 > s->count * 9;
        claim_add(s->o, nearly ? CAUSE_LOCALISED : CAUSE_MASK, "AB"[side], 1,
                  "%c is zero in all %s, %.3g %% of the tensor: %s", "AB"[side],
                  plainseen_words(s, words), 100 * (double)far / (double)s->count,
                  nearly ? "nothing was computed or written there"
                         : "masked, dropped or never written there");
        return true;
    }
    return false;
}

static bool is_negated(const struct plainseen *s, const struct plainseen_element *x)
{
    uint64_t mask = UINT64_MAX >> (64 - 8 * dtype_info(s->d)->bytes);
    bool values = plainseen_alike(s, x->value[0], -x->value[1]) &&
                  !plainseen_alike(s, x->value[0], x->value[1]);
    return values && (s->is_float || ((x->bits[0] + x->bits[1]) & mask) == 0);
}

bool plainrule_negated(struct plainseen *s)
{
    char words[96];
    int64_t n = 0;
    for (int64_t i = 0; i < s->n; i++)
        n += is_negated(s, &s->x[i]);
    if (n < RULE_FEW || plainseen_share(s, n) < RULE_NEARLY)
        return false;
    claim_add(s->o, CAUSE_MASK, '=', plainseen_share(s, n),
              "%.4g %% of %s are the same number with the other sign",
              100 * plainseen_share(s, n), plainseen_words(s, words));
    return true;
}
