/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "diagnose.h"
#include "plainrule.h"
#include "ulp.h"

/* --- the other in a narrower format --- */

struct narrowing {
    enum dtype to;
    bool truncates;
    const char *name;
};

static const struct narrowing narrowings[] = {
    {DTYPE_E5M2, false, "e5m2"},
    {DTYPE_E4M3, false, "e4m3"},
    {DTYPE_BF16, false, "bf16"},
    {DTYPE_BF16, true, "bf16, truncated"},
    {DTYPE_F16, false, "f16"},
    {DTYPE_TF32, false, "TF32"},
    {DTYPE_TF32, true, "TF32, truncated"},
    {DTYPE_F32, false, "f32"},
};
enum { NARROWINGS = sizeof narrowings / sizeof *narrowings, PROBES = 512 };

static double narrowed(const struct narrowing *n, double x)
{
    double y = dtype_value(n->to, dtype_round(n->to, x));
    if (!n->truncates || !(fabs(y) > fabs(x)))
        return y;
    return dtype_value(n->to, dtype_round(n->to, x) - (n->to == DTYPE_TF32 ? 1 << 13 : 1));
}

/* How many of every `step`th element of `side` are the other side's, narrowed; zeros and class
 * changes say nothing. */
static int64_t count_narrowed(const struct plainseen *s, const struct narrowing *n, int side,
                              int64_t step, int64_t *ret_of)
{
    int64_t fit = 0, of = 0;
    for (int64_t i = 0; i < s->n; i += step) {
        const double *v = s->x[i].value;
        if (!plainseen_numbers(s, &s->x[i]))
            continue;
        of++;
        fit += v[side] != 0 && narrowed(n, v[!side]) == v[side];
    }
    *ret_of = of;
    return fit;
}

static bool narrow_on(struct plainseen *s, int side)
{
    char words[96];
    for (int i = 0; i < NARROWINGS; i++) {
        const struct narrowing *n = &narrowings[i];
        int64_t of, step = s->n / PROBES + 1;
        if (dtype_info(n->to)->fraction + 2 > dtype_info(s->d)->fraction)
            continue;
        if (count_narrowed(s, n, side, step, &of) * 10 < of * 9)
            continue;
        int64_t fit = count_narrowed(s, n, side, 1, &of);
        if (fit < RULE_FEW || fit < 0.95 * (double)s->n)
            continue;
        claim_add(
            s->o, CAUSE_DOWNCAST, "AB"[side], plainseen_share(s, fit),
            "%c is %c rounded to %s in %.4g %% of %s: either %c lost bits or %c kept more "
            "than was asked for (upcast)",
            "AB"[side], "BA"[side], n->name, 100 * plainseen_share(s, fit),
            plainseen_words(s, words), "AB"[side], "BA"[side]);
        return true;
    }
    return false;
}

/* Fraction bits that some value of this side uses. */
static int used_bits(const struct plainseen *s, int side)
{
    const struct dtype_info *f = dtype_info(s->d);
    uint64_t fraction = s->g->bits[side] & ((1ULL << f->fraction) - 1);
    return fraction ? f->fraction - __builtin_ctzll(fraction) : 0;
}

/* All values of one side are those of a narrower format, though not the other's, rounded: it
 * was computed in that format. */
static bool few_bits_on(struct plainseen *s, int side)
{
    static const struct {
        int bits;
        const char *name;
    } formats[] = {{7, "bf16"}, {10, "TF32 or f16"}, {23, "f32"}};
    int mine = used_bits(s, side), other = used_bits(s, !side), i = 0;
    if (!mine || other < mine + 6)
        return false;
    while (i < 3 && formats[i].bits < mine)
        i++;
    if (i == 3 || formats[i].bits >= dtype_info(s->d)->fraction)
        return false;
    claim_add(
        s->o, CAUSE_ACCUMULATE, "AB"[side], 1,
        "no value of %c uses more than %d fraction bits, as many as %s has; those of %c use "
        "%d. They are not %c's values rounded once: %c was also computed in that format",
        "AB"[side], mine, formats[i].name, "BA"[side], other, "BA"[side], "AB"[side]);
    return true;
}

bool plainrule_narrow(struct plainseen *s)
{
    if (!s->is_float || s->n < RULE_FEW)
        return false;
    if (narrow_on(s, 0) || narrow_on(s, 1))
        return true;
    if ((s->d != DTYPE_F32 && s->d != DTYPE_F64) || s->g->finite < 64)
        return false;
    return few_bits_on(s, 0) || few_bits_on(s, 1);
}

/* --- one step, always the same way --- */

struct steps {
    int64_t one;        /* a single step apart */
    int64_t up;         /* B is the larger number */
    int64_t smaller[2]; /* this side is nearer to zero */
    int64_t even[2];    /* this side's last bit is 0 and the other's 1 */
    int64_t close;      /* within rounding */
};

static struct steps count_steps(const struct plainseen *s)
{
    struct steps c = {0};
    for (int64_t i = 0; i < s->n; i++) {
        const struct plainseen_element *x = &s->x[i];
        if (!plainseen_numbers(s, x))
            continue;
        __int128 d =
            (__int128)ulp_position(s->d, x->bits[1]) - ulp_position(s->d, x->bits[0]);
        c.one += d == 1 || d == -1;
        c.up += d > 0;
        c.close += s->is_float && plainseen_size(s, x) <= (dtype_unit(s->d) < 0x1p-20 ? 64 : 4);
        for (int side = 0; side < 2; side++) {
            c.smaller[side] += fabs(x->value[side]) < fabs(x->value[!side]);
            c.even[side] += !(x->bits[side] & 1) && (x->bits[!side] & 1);
        }
    }
    return c;
}

/* The last bit must say something: both parities must occur among all values. */
static bool ties(struct plainseen *s, const struct steps *c)
{
    char words[96];
    for (int side = 0; side < 2; side++) {
        if (plainseen_share(s, c->even[side]) < RULE_NEARLY)
            continue;
        claim_add(
            s->o, CAUSE_ROUNDING, "AB"[side], plainseen_share(s, c->even[side]),
            "%.4g %% of %s are one step apart and even on %c, odd on %c: ties go to even on "
            "%c and another way on %c",
            100 * plainseen_share(s, c->even[side]), plainseen_words(s, words), "AB"[side],
            "BA"[side], "AB"[side], "BA"[side]);
        return true;
    }
    return false;
}

static bool toward_zero(struct plainseen *s, const struct steps *c, double share)
{
    char words[96];
    for (int side = 0; side < 2; side++) {
        double mine = plainseen_share(s, c->smaller[side]);
        if (mine < share)
            continue;
        bool one = plainseen_share(s, c->one) >= RULE_NEARLY;
        claim_add(
            s->o, CAUSE_ROUNDING, "AB"[side], mine,
            "%.4g %% of %s are %s nearer to zero on %c: as if it truncated%s, or %c rounded "
            "away from zero",
            100 * mine, plainseen_words(s, words), one ? "one ULP" : "a few ULP", "AB"[side],
            one ? "" : " again and again while adding", "BA"[side]);
        return true;
    }
    return false;
}

bool plainrule_step(struct plainseen *s)
{
    char words[96];
    if (s->n < RULE_MANY || plainseen_kinds(s, 0) < 8)
        return false;
    struct steps c = count_steps(s);
    bool one = plainseen_share(s, c.one) >= RULE_NEARLY,
         counter = !s->is_float && s->d != DTYPE_I8;
    double up = plainseen_share(s, c.up);
    if (counter && s->differing * 10 < s->count) /* lost counts; see plainrule_scattered */
        return false;
    /* In wide formats a few elements lie that way by chance of the numbers themselves. */
    if (s->is_float && dtype_unit(s->d) < 0x1p-20 && s->differing * 4 < s->count)
        return false;
    if (one && (ties(s, &c) || toward_zero(s, &c, RULE_NEARLY)))
        return true;
    if (one && (up >= RULE_NEARLY || up <= 1 - RULE_NEARLY)) {
        claim_add(
            s->o, CAUSE_ROUNDING, '=', up > 0.5 ? up : 1 - up,
            "%.4g %% of %s are one step larger on %c whatever their sign: one side rounds up "
            "or down instead of to nearest",
            100 * (up > 0.5 ? up : 1 - up), plainseen_words(s, words), up > 0.5 ? 'B' : 'A');
        return true;
    }
    bool small = s->is_float && plainseen_share(s, c.close) >= RULE_NEARLY;
    return small && s->n >= 100 && toward_zero(s, &c, 0.75);
}
