/* SPDX-License-Identifier: Apache-2.0 */
#include "strip.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "doublebits.h"
#include "ulp.h"

/* What the loops need of a format. */
struct format {
    bool is_float, fnuz;
    int width, unused, shift;
    uint32_t mask, limit;     /* float: codes below limit are finite, mask takes out the code */
    double scale;             /* float: value = code in the place of a double's, times this */
    double smallest, largest; /* powers of two: the lowest and the highest binade */
    double step;              /* ulp of a binade, relative to its power of two */
    double top, bottom;       /* largest finite value and its opposite; unsigned: 0 */
};

/* One side, decoded. `place` is the position in the list of the format's values. */
struct side {
    double x[STRIP_MAX], place[STRIP_MAX];
    bool poisoned;       /* some element has the poison pattern */
    double *ulp, *ratio; /* where its errors go */
    int64_t over, rounded;
    double worst; /* largest |ratio| */
};

/* The reference: its ulp, and its value rounded to the format. */
struct target {
    const double *value, *tail, *bound, *drop;
    double ulp[STRIP_MAX], rounded[STRIP_MAX];
};

/* The power of two at or below |x|, 0 for subnormal numbers. */
static double power_floor(double x)
{
    return double_from_bits(double_bits(x) & 0x7ffULL << 52);
}

static struct format format_make(enum dtype d)
{
    const struct dtype_info *i = dtype_info(d);
    struct format f = {.width = 8 * i->bytes, .step = 1, .smallest = 1, .largest = 1};
    f.is_float = i->kind == DTYPE_KIND_FLOAT;
    if (!f.is_float) {
        f.top = ldexp(1, f.width - (i->kind == DTYPE_KIND_INT)) - 1;
        f.bottom = i->kind == DTYPE_KIND_INT ? -f.top : 0;
        return f;
    }
    f.fnuz = i->specials == DTYPE_SPECIALS_FNUZ;
    f.unused = f.width - 1 - i->exponent - i->fraction;
    f.shift = 52 - i->fraction - f.unused;
    f.mask = ((1u << (f.width - 1)) - 1) >> f.unused << f.unused;
    f.top = dtype_max(d);
    f.bottom = -f.top;
    f.limit = ((uint32_t)dtype_round(d, f.top) & f.mask) + 1;
    f.scale = ldexp(1, 1023 - i->bias);
    f.smallest = dtype_min_normal(d);
    f.largest = power_floor(f.top);
    f.step = 2 * dtype_unit(d);
    return f;
}

static void words_load(const struct tensor *t, int64_t from, int n, uint32_t *ret_words)
{
    const uint8_t *byte = t->data;
    const uint16_t *half = t->data;
    switch (dtype_info(t->dtype)->bytes) {
    case 1:
        for (int i = 0; i < n; i++)
            ret_words[i] = byte[from + i];
        break;
    case 2:
        for (int i = 0; i < n; i++)
            ret_words[i] = half[from + i];
        break;
    default:
        memcpy(ret_words, (const uint32_t *)t->data + from, (size_t)n * sizeof *ret_words);
    }
}

static void decode_integers(const struct format *f, const uint32_t *w, int n, bool is_signed,
                            struct side *s)
{
    int unused = is_signed ? 32 - f->width : 0;
    for (int i = 0; i < n; i++)
        s->x[i] = s->place[i] = (double)((int32_t)(w[i] << unused) >> unused);
}

/* False if there is a NaN or an Inf, or something in bits that have no meaning. */
static bool decode_floats(const struct format *f, const uint32_t *w, int n, struct side *s)
{
    const uint32_t sign_bit = 1u << (f->width - 1), mask = f->mask, last = f->limit - 1;
    const uint32_t meaningless = (1u << f->unused) - 1;
    const int to_sign = 64 - f->width, shift = f->shift, unused = f->unused;
    const double scale = f->scale;
    uint32_t special = 0;
    for (int i = 0; i < n; i++)
        special |= (last - (w[i] & mask)) >> 31 | (w[i] & meaningless);
    for (int i = 0; f->fnuz && i < n; i++)
        special |= w[i] == sign_bit;
    for (int i = 0; i < n; i++) {
        uint64_t sign = (uint64_t)(w[i] & sign_bit) << to_sign;
        double x = double_from_bits((uint64_t)(w[i] & mask) << shift) * scale;
        double place = (double)(int32_t)((w[i] & mask) >> unused);
        s->x[i] = double_from_bits(double_bits(x) | sign);
        s->place[i] = double_from_bits(double_bits(place) | sign);
    }
    return special == 0;
}

static bool side_load(const struct format *f, const struct tensor *t, int64_t from, int n,
                      uint64_t poison, struct side *s)
{
    uint32_t w[STRIP_MAX], poisoned = 0;
    words_load(t, from, n, w);
    for (int i = 0; poison <= UINT32_MAX && i < n; i++)
        poisoned |= w[i] == (uint32_t)poison;
    s->poisoned = poisoned;
    if (f->is_float)
        return decode_floats(f, w, n, s);
    decode_integers(f, w, n, dtype_info(t->dtype)->kind == DTYPE_KIND_INT, s);
    return true;
}

/* Below a power of two the ulp is the half of that above. Adding and taking away a number whose
 * last bit is the ulp rounds to nearest even; the tail could only matter at a tie. */
static bool target_make(const struct format *f, struct target *g, int n)
{
    const double *value = g->value, *tail = g->tail, *bound = g->bound;
    const double smallest = f->smallest, largest = f->largest, step = f->step;
    double worst_tail = 0, ties = 0;
    uint64_t odd = 0;
    for (int i = 0; i < n; i++) {
        double v = value[i], t = tail[i], size = fabs(v), p = power_floor(v);
        double here = p < smallest ? smallest : p;
        here = (here > largest ? largest : here) * step;
        double lift = here * 0x1.8p52, nearest = (v + lift) - lift;
        double below = size == p ? 0.5 * p : p, toward_zero = v > 0 ? -t : t;
        double ulp = toward_zero > 0 ? below : p;
        ulp = ulp < smallest ? smallest : ulp;
        g->ulp[i] = (ulp > largest ? largest : ulp) * step;
        g->rounded[i] = nearest;
        double at_tie = fabs(v - nearest) == here * 0.5 ? fabs(t) : 0;
        ties = at_tie > ties ? at_tie : ties;
    }
    for (int i = 0; i < n; i++) {
        double excess = fabs(tail[i]) - fabs(value[i]) * 0x1p-52;
        worst_tail = excess > worst_tail ? excess : worst_tail;
        odd += !(value[i] <= f->top) | !(value[i] >= f->bottom) | !(tail[i] == tail[i]);
        odd += !(bound[i] >= 0) | !(bound[i] <= DBL_MAX);
    }
    return odd == 0 && ties == 0 && worst_tail == 0;
}

static void side_measure(const struct target *g, int n, struct side *s)
{
    const double *value = g->value, *tail = g->tail, *bound = g->bound;
    double *restrict ulp = s->ulp, *restrict ratio = s->ratio;
    double worst = 0;
    uint64_t over = 0, rounded = 0;
    for (int i = 0; i < n; i++) {
        double e = (s->x[i] - value[i]) - tail[i], size = fabs(e);
        double r = e / (size == 0 ? 1 : bound[i]);
        worst = fabs(r) > worst ? fabs(r) : worst;
        ulp[i] = e / g->ulp[i];
        ratio[i] = r;
    }
    for (int i = 0; i < n; i++) {
        over += !(fabs((s->x[i] - value[i]) - tail[i]) <= bound[i]);
        rounded += s->x[i] == g->rounded[i];
    }
    s->over = (int64_t)over;
    s->rounded = (int64_t)rounded;
    s->worst = worst;
}

static void ratios_clamp(double *ratio, int n)
{
    for (int i = 0; i < n; i++)
        ratio[i] = ratio[i] > ULP_ERROR_MAX    ? ULP_ERROR_MAX
                   : ratio[i] < -ULP_ERROR_MAX ? -ULP_ERROR_MAX
                                               : ratio[i];
}

static void side_commit(struct side_stats *t, const struct target *g, const struct side *s,
                        int64_t from, int n)
{
    t->over_bound += s->over;
    t->correctly_rounded += s->rounded;
    for (int i = 0; s->over && t->first_wrong < 0 && i < n; i++)
        if (!(fabs((s->x[i] - g->value[i]) - g->tail[i]) <= g->bound[i]))
            t->first_wrong = from + i;
    if (!(s->worst > t->worst_bound))
        return;
    t->worst_bound = s->worst;
    for (int i = n - 1; i >= 0; i--)
        if (fabs(s->ratio[i]) == s->worst)
            t->worst_index = from + i;
}

static void pair_commit(struct pair_stats *p, const struct side *a, const struct side *b,
                        int64_t from, int n, double *gap)
{
    int64_t equal = 0;
    double far = 0, widest = 0;
    for (int i = 0; i < n; i++) {
        double wide = fabs(b->x[i] - a->x[i]);
        gap[i] = b->place[i] - a->place[i];
        far = fabs(gap[i]) > far ? fabs(gap[i]) : far;
        widest = wide > widest ? wide : widest;
    }
    for (int i = 0; i < n; i++)
        equal += double_bits(a->place[i]) == double_bits(b->place[i]);
    p->bits_equal += equal;
    p->worst_absolute = widest > p->worst_absolute ? widest : p->worst_absolute;
    for (int i = 0; equal < n && p->first_index < 0; i++)
        if (double_bits(a->place[i]) != double_bits(b->place[i]))
            p->first_index = from + i;
    if (equal == n || (p->worst_index >= 0 && !(far > (double)p->worst_ulp)))
        return;
    p->worst_ulp = (uint64_t)far;
    for (int i = n - 1; i >= 0; i--)
        if (fabs(gap[i]) == far && double_bits(a->place[i]) != double_bits(b->place[i]))
            p->worst_index = from + i;
}

static void target_commit(struct tally *k, const struct target *g, double first, int n)
{
    int64_t powerful = 0, other = 0;
    for (int i = 0; i < n; i++) {
        powerful += g->drop[i] > 2 * g->bound[i];
        other += !(g->value[i] == first);
    }
    k->judged += n;
    k->powerful += powerful;
    k->constant &= other == 0;
}

static bool is_ordinary_format(enum dtype d)
{
    return dtype_info(d)->bytes < 8 && d != DTYPE_U32;
}

/* Any poison is suspect, but in one-byte formats only if something is wrong at all. */
static bool is_written(const struct format *f, const struct side *s)
{
    return !s->poisoned || (f->width == 8 && s->over == 0);
}

static bool side_make(const struct format *f, const struct tally_subject *s,
                      const struct tensor *t, int64_t from, int n, const struct target *g,
                      struct tally_values *v, int quantity, struct side *ret)
{
    ret->ulp = v->x[quantity] + v->n[quantity];
    ret->ratio = v->x[quantity + 1] + v->n[quantity + 1];
    if (!side_load(f, t, from, n, s->poison, ret))
        return false;
    side_measure(g, n, ret);
    return is_written(f, ret);
}

bool strip_add(struct tally *k, const struct tally_subject *s, int64_t from, int n,
               struct tally_values *values)
{
    struct side a, b;
    if (!s->o || !is_ordinary_format(s->a->dtype))
        return false;
    const struct format f = format_make(s->a->dtype);
    struct target g = {.value = s->o->value + from,
                       .tail = s->o->tail + from,
                       .bound = s->o->bound + from,
                       .drop = s->o->drop + from};
    if (!target_make(&f, &g, n) ||
        !side_make(&f, s, s->a, from, n, &g, values, TALLY_A_ULP, &a) ||
        (s->b && !side_make(&f, s, s->b, from, n, &g, values, TALLY_B_ULP, &b)))
        return false;

    target_commit(k, &g, s->first, n);
    side_commit(&k->a, &g, &a, from, n);
    ratios_clamp(a.ratio, n);
    if (s->b) {
        side_commit(&k->b, &g, &b, from, n);
        ratios_clamp(b.ratio, n);
        pair_commit(&k->pair, &a, &b, from, n,
                    values->x[TALLY_PAIR_ULP] + values->n[TALLY_PAIR_ULP]);
    }
    for (int q = 0; q < (s->b ? TALLY_QUANTITIES : TALLY_B_ULP); q++)
        values->n[q] += n;
    return true;
}
