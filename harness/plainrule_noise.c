/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "diagnose.h"
#include "draws.h"
#include "plainrule.h"

/* --- random streams --- */

/* Zeros of the same rate, independent of each other, and where both sides have something it is
 * the same: another mask of the same kind. */
bool plainrule_dropout(struct plainseen *s)
{
    const struct gap_sample *m = s->sample;
    int64_t zero[2] = {0}, both = 0, same = 0, neither = 0, n = m->window * m->windows;
    for (int64_t i = 0; i < n; i++) {
        uint64_t a = gap_sample_bits(m, 0, i), b = gap_sample_bits(m, 1, i);
        bool off_a = dtype_value(s->d, a) == 0, off_b = dtype_value(s->d, b) == 0;
        zero[0] += off_a;
        zero[1] += off_b;
        both += off_a && off_b;
        neither += !off_a && !off_b;
        same += !off_a && !off_b && plainseen_alike(s, dtype_value(s->d, a), dtype_value(s->d, b));
    }
    double p = (double)zero[0] / (double)n, q = (double)zero[1] / (double)n;
    double spread = 5 * sqrt(0.25 / (double)n), joint = (double)both / (double)n;
    if (n < 64 || p < 0.01 || p > 0.99 || fabs(p - q) > 5 * sqrt(2 * p * (1 - p) / (double)n) ||
        fabs(joint - p * q) > spread || same < 0.95 * (double)neither)
        return false;
    claim_add(
        s->o, CAUSE_RNG, '=', 1,
        "%.4g %% of A's elements and %.4g %% of B's are zero, %.4g %% are on both (%.4g %% if "
        "by chance), and the others are equal: another random mask of the same rate",
        100 * p, 100 * q, 100 * joint, 100 * p * q);
    return true;
}

struct relation {
    double ks, correlation;
    int64_t n;
};

static bool relate(const struct plainseen *s, struct relation *r)
{
    double *v = malloc(2 * (size_t)s->n * sizeof *v), *x = v, *y = v + s->n;
    int64_t n = 0;
    if (!v)
        return false;
    for (int64_t i = 0; i < s->n; i++)
        if (plainseen_numbers(s, &s->x[i])) {
            x[n] = s->x[i].value[0];
            y[n++] = s->x[i].value[1];
        }
    *r = (struct relation){1, draws_correlation(x, y, n), n};
    if (fabs(r->correlation) < 0.7) /* else nobody asks for the other */
        r->ks = draws_distance(x, y, n);
    free(v);
    return true;
}

/* Chance exceeds 2.3 sqrt(2 / n) once in twenty thousand (2 exp(-2 2.3^2)), and 5 / sqrt(n) less
 * than once in a million. */
bool plainrule_random(struct plainseen *s)
{
    char words[96], from[80] = "";
    struct relation r;
    int64_t first = s->x[0].index;
    double rate = (double)(s->differing - s->n_small) / (double)(s->count - first);
    if (s->n < 64 || rate < 0.8 || plainseen_far(s) < 0.8 || !relate(s, &r) || r.n < 0.9 * (double)s->n)
        return false;
    if (r.ks > 2.3 * sqrt(2 / (double)r.n) || !(fabs(r.correlation) < 5 / sqrt((double)r.n)))
        return false;
    if (first > 0)
        snprintf(from, sizeof from, ", from index %" PRId64 " on and nothing before it", first);
    claim_add(
        s->o, CAUSE_RNG, '=', plainseen_share(s, r.n),
        "%s%s have the same distribution on both sides (Kolmogorov-Smirnov %.2g) and nothing "
        "to do with each other (correlation %.2g): another stream of random numbers, or "
        "other inputs",
        plainseen_words(s, words), from, r.ks, r.correlation);
    return true;
}

/* --- scattered --- */

bool plainrule_scattered(struct plainseen *s)
{
    char words[96];
    int64_t lower[2] = {0}, far = s->differing - s->n_small, small = 0;
    if (s->n < 3 || (s->is_float ? 20 : 10) * far > s->count)
        return false;
    for (int64_t i = 0; i < s->n; i++) {
        small += plainseen_size(s, &s->x[i]) <= 16 && s->is_float;
        for (int side = 0; side < 2; side++)
            lower[side] += s->x[i].value[side] < s->x[i].value[!side];
    }
    if (3 * small > s->n)
        return false;
    char side = lower[0] == s->n ? 'A' : lower[1] == s->n ? 'B' : '=';
    claim_add(
        s->o, CAUSE_RACE, side, 1,
        "%s, %.2g %% of the tensor, are scattered over it and far off%s%s: lost updates, a "
        "race or a fault of memory; dumping each side twice tells whether they stay",
        plainseen_words(s, words), 100 * (double)far / (double)s->count,
        side == '=' ? "" : ", always lower on one side",
        s->n_small ? ", the rest is rounding" : ", all else is equal to the bit");
    return true;
}

/* --- noise --- */

struct noise {
    int64_t n, up, one;
    double units; /* root mean square of |b - a| in units of the format at the tensor's size */
    double top;   /* the same of the half with the largest values, relative to each */
    double
        slope; /* how the relative error grows with 1 / magnitude: -1 constant error, 0 flat */
    double binades;
    double worst_ulp;
};

static struct noise measure(const struct plainseen *s)
{
    struct noise m = {0};
    double sum = 0, top = 0, x1 = 0, y1 = 0, xx = 0, xy = 0, low = INFINITY, high = 0;
    double scale = fmin(s->rms[0], s->rms[1]), unit = 2 * dtype_unit(s->d);
    int64_t n_top = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const double *v = s->x[i].value;
        double gap = fabs(v[1] - v[0]), size = fmax(fabs(v[0]), fabs(v[1]));
        if (!plainseen_numbers(s, &s->x[i]) || !(size > 0) || !(gap > 0))
            continue;
        double ulp = gap / (unit * size), x = log2(size), y = log2(ulp);
        m.n++;
        m.up += v[1] > v[0];
        m.one += ulp <= 1;
        sum += gap / (unit * scale) * (gap / (unit * scale));
        if (size >= scale)
            top += ulp * ulp, n_top++;
        x1 += x, y1 += y, xx += x * x, xy += x * y;
        low = fmin(low, size);
        high = fmax(high, size);
        m.worst_ulp = fmax(m.worst_ulp, ulp);
    }
    double n = (double)m.n, d = n * xx - x1 * x1;
    m.units = m.n ? sqrt(sum / n) : 0;
    m.top = n_top ? sqrt(top / (double)n_top) : m.units;
    m.slope = d > 0 ? (n * xy - x1 * y1) / d : 0;
    m.binades = high > 0 ? log2(high / low) : 0;
    return m;
}

static double bias(const struct noise *m)
{
    return m->n ? ((double)m->up / (double)m->n - 0.5) * 2 : 0;
}

/* Of rounding size: what another order, fused multiply-adds or another library's function give.
 */
static void claim_rounding(struct plainseen *s, const struct noise *m)
{
    char words[96];
    plainseen_words(s, words);
    bool flat = m->slope > -0.25 && m->binades >= 6 && m->worst_ulp <= 16 && m->n >= RULE_MANY;
    if (flat)
        claim_add(
            s->o, CAUSE_APPROXIMATE, '=', 0.5,
            "%s are a few steps of the format apart (at most %.3g) over %.0f powers of two, "
            "not more where numbers are small: each element by itself was rounded or "
            "approximated in another way (a function, a division, a contraction)",
            words, m->worst_ulp, m->binades);
    else
        claim_add(
            s->o, CAUSE_ORDER, '=', 0.5,
            "%s are apart by %.3g units of the format (root mean square, at the tensor's "
            "size), %.0f %% of them upwards: rounding size, which another order of summation "
            "or contraction gives; which of them cannot be told without a reference",
            words, m->units, 100 * (double)m->up / (double)(m->n ? m->n : 1));
}

/* A single rounding to a narrower format is off by up to half a step of it, and among many
 * elements some are nearly that far off. */
static const char *rounded_once(const struct plainseen *s, const struct noise *m)
{
    static const struct {
        enum dtype d;
        const char *name;
    } formats[] = {{DTYPE_F32, "f32"}, {DTYPE_F16, "TF32 or f16"}, {DTYPE_BF16, "bf16"}};
    double worst = m->worst_ulp * 2 * dtype_unit(s->d);
    for (int i = 0; i < 3 && m->n >= 256; i++) {
        double u = dtype_unit(formats[i].d);
        if (u > 8 * dtype_unit(s->d) && worst <= 1.01 * u && worst > 0.9 * u)
            return formats[i].name;
    }
    return NULL;
}

/* Larger than rounding, unbiased and everywhere: inputs or partial sums had fewer bits. */
static void claim_inputs(struct plainseen *s, const struct noise *m)
{
    char words[96];
    double relative = log2(m->units * 2 * dtype_unit(s->d));
    plainseen_words(s, words);
    if (rounded_once(s, m))
        claim_add(
            s->o, CAUSE_DOWNCAST, '=', 0.5,
            "%s are apart by up to 2^-%.2f of each number, half a step of %s: an input was "
            "rounded to it on one side",
            words, -log2(m->worst_ulp * 2 * dtype_unit(s->d)), rounded_once(s, m));
    else if (m->slope > -0.25 && m->binades >= 6)
        claim_add(
            s->o, CAUSE_APPROXIMATE, '=', 0.5,
            "%s are apart by 2^%.1f of each number, as much for small as for large ones: a "
            "function approximated to so many bits",
            words, log2(m->top * 2 * dtype_unit(s->d)));
    else
        claim_add(
            s->o, dtype_unit(s->d) > 0x1p-20 ? CAUSE_ACCUMULATE : CAUSE_DOWNCAST, '=', 0.5,
            "%s are apart by 2^%.1f of the tensor's size (root mean square), %.0f times the "
            "format's rounding, everywhere and %s: %s",
            words, relative, 2 * m->units,
            fabs(bias(m)) < 0.3 ? "to both sides" : "to one side",
            dtype_unit(s->d) > 0x1p-20
                ? "partial sums were rounded to this format on one side"
                : "inputs or partial sums had fewer bits on one side (TF32 and f16 give "
                  "2^-12 and more, bf16 2^-9)");
}

bool plainrule_noise(struct plainseen *s)
{
    if (!s->is_float || s->n < 1)
        return false;
    struct noise m = measure(s);
    double u = dtype_unit(s->d), limit = u > 0x1p-20 ? 1.01 : 64;
    if (m.n < s->n * 9 / 10)
        return false;
    bool most = u > 0x1p-20 && 4 * s->differing > s->count && s->count >= 64;
    if (m.units <= limit && m.top <= limit && !most) {
        claim_rounding(s, &m);
        return true;
    }
    if (m.units * 2 * u > 0x1p-4 || s->n < RULE_MANY || 20 * s->differing < s->count)
        return false;
    claim_inputs(s, &m);
    return true;
}
