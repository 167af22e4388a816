/* SPDX-License-Identifier: Apache-2.0 */
#include "gemm.h"

#include <float.h>
#include <math.h>

/* How far a right device may be from the exact T = alpha s + beta c.
 *
 * Notation: u = 2^-24. Every f32 operation gives x (1 + d) + w with |d| <= u and |w| <= w0, w0
 * being 2^-150 (half the smallest subnormal), or 2^-126 where subnormal results are flushed.
 * gamma(n) = n u / (1 - n u) bounds |(1 + d1) ... (1 + dn) - 1| (Higham, Accuracy and
 * Stability, lemma 3.1). S = sum |a b| over k terms.
 *
 * The sum, in any order. A term goes through at most `depth` roundings:
 *   one range  product 1, additions k - 1 (the first adds to zero: exact); contracted: k
 *   split      c = ceil(k / split) terms a range: c, then at most ranges - 1 additions
 * Each operation may add w0, at most 2 k of them, plus in a split the atomics: these may flush
 * operand and result in any mode, 2 * 2^-126 a range. Flushing an input loses |a b| for a
 * subnormal a: at most 2^-126 sum |b| (`lost`). So
 *   E = gamma(depth) S + (1 + gamma(depth)) (2 k w0 + ranges 2 2^-126) + lost.
 * Contraction removes roundings and adds none, so one bound serves both modes.
 *
 * The sum in ascending k, which only an approximate mode lets a compiler change. Step l adds an
 * error of at most u |s_l + errors so far| to that of the product, u |p_l|. With W the sum of
 * the exact |s_l|, by induction, E = (1 + gamma(k)) (u (W + S + k lost) + 2 k w0) + lost, which
 * for data of mixed signs is smaller by sqrt(k). The smaller of the two holds.
 *
 * Narrow partial sums: each range's sum is within E1 (as above with depth c) before it is
 * rounded to a 16-bit format of unit v and smallest subnormal 2 t; ranges - 1 additions follow:
 *   E2 = E1 + v (S + E1) + ranges t,   E = E2 + gamma(ranges - 1) (S + E2) + 2 k w0.
 *
 * Matrix units, k rounded up to K, a multiple of 16: a unit aligns the exact products of a
 * group and the old sum to the largest exponent, cuts, adds and rounds. Let P be the largest
 * |a| of the row times the largest |b| of the column, each at least the format's smallest
 * normal (a zero may count with that exponent).
 *   NVIDIA, Ampere: groups of 8 (tf32: 4). Each of the 9 (5) terms is cut to 2^-24 of
 *     max(P, |sum|) and the result truncated, 2 u: a term's share is u (5 P + 7 (S + E)) / 4.
 *   AMD, gfx11: groups of 2. Each of the 3 terms is off by a unit, max(u P, u/4 (S + E)) at
 *     most, and the result rounded, u: a term's share is u (3 P + 7/4 (S + E)) / 2. Subnormals
 *     are flushed in any mode.
 * So E = K u (3/2 P + 7/4 (S + E)) + 2 K 2^-126 + lost. A plain f32 chain, which stands in
 * where there is no unit, is within this as well. Sums kept in f16 are also rounded to it after
 * every second term at most, always in ascending k: each time by 2^-11 (|partial sum| + E) +
 * 2^-25. With V the sum of those exact |partial sums|: + 2^-11 (V + K/2 E) + K 2^-25. Either
 * equation is solved for E. Also, |sum| being a partial sum in ascending k before and after
 * each group, 7/4 K S may be replaced by 11 W.
 *
 * The epilogue has `steps` roundings: 0 if alpha = +-1 and beta = 0, 1 if only beta = 0,
 * else 2. With Q = |alpha| (|s| + E) + |beta c|
 *   E' = |alpha| E + gamma(steps) Q + 4 w0 (1 + gamma) + flushed inputs (alpha, beta, c).
 *
 * Narrowing to f16 or bf16 rounds once more: half the format's spacing at |T| + E'. f32: none.
 *
 * Integers are exact: the bound 1/2 says that no other integer will do.
 *
 * Overflow. If no magnitude in sight can reach the f32 overflow threshold, the element is
 * finite unless |T| +- E' says otherwise for the output format. If the sum certainly overflows
 * and the minority sign cannot, every order ends in the same Inf. All else is not judged. */

static double rounding_unit(void)
{
    return 0x1p-24;
}

static double gamma_of(double n)
{
    double nu = n * rounding_unit();
    return nu / (1 - nu);
}

/* From here on a magnitude rounds to Inf: largest finite plus half its spacing. */
static double overflow_from(enum dtype d)
{
    switch (d) {
    case DTYPE_F16:
        return 65520;
    case DTYPE_BF16:
        return 0x1.ffp127;
    default:
        return 0x1.ffffffp127;
    }
}

double gemm_sum_limit(const struct gemm *g)
{
    return overflow_from(g->sums == GEMM_NARROW ? g->out : g->acc);
}

/* Half the spacing of the output format at x. The f32 result is not rounded again. */
static double narrowing(enum dtype d, double x)
{
    if (d == DTYPE_F32)
        return 0;
    int fraction = d == DTYPE_F16 ? 10 : 7;
    int least = d == DTYPE_F16 ? -14 : -126;
    int e;
    frexp(x, &e);
    return ldexp(1, (e - 1 > least ? e - 1 : least) - fraction - 1);
}

static double least_loss(const struct gemm *g)
{
    return g->flush ? 0x1p-126 : 0x1p-150;
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static double chain_error(const struct gemm *g, const struct gemm_sum *s, double depth)
{
    double gamma = gamma_of(depth);
    return gamma * s->magnitude + (1 + gamma) * 2 * (double)g->k * least_loss(g) + s->lost;
}

/* In ascending k, unless the mode gives that up. */
static double ordered_error(const struct gemm *g, const struct gemm_sum *s)
{
    double k = (double)g->k, any = chain_error(g, s, k);
    if (g->reorder)
        return any;
    double walk = s->walk + (1 + k * k * 0x1p-53) * s->magnitude + k * s->lost;
    double e = rounding_unit() * walk + 2 * k * least_loss(g);
    return fmin(any, (1 + gamma_of(k)) * e + s->lost);
}

static double narrow_error(const struct gemm *g, const struct gemm_sum *s, double chunk,
                           double ranges)
{
    double unit = g->out == DTYPE_F16 ? 0x1p-11 : 0x1p-8;
    double least = g->out == DTYPE_F16 ? 0x1p-25 : 0x1p-134;
    double e = chain_error(g, s, chunk);
    e += unit * (s->magnitude + e) + ranges * least;
    return e + gamma_of(ranges - 1) * (s->magnitude + e) + 2 * (double)g->k * least_loss(g);
}

static double matrix_error(const struct gemm *g, const struct gemm_sum *s)
{
    double k = 16 * (double)ceil_div(g->k, 16), u = rounding_unit();
    double factor = 1.75 * k * u;
    double sums =
        fmin(factor * s->magnitude, 11 * u * (s->walk + k * k * 0x1p-53 * s->magnitude));
    double fixed = 1.5 * k * u * s->peak + sums + 2 * k * 0x1p-126 + s->lost;
    if (g->acc == DTYPE_F16) {
        fixed += 0x1p-11 * s->steps + k * 0x1p-25;
        factor += k / 2 * 0x1p-11;
    }
    return fixed / (1 - factor);
}

static double sum_error(const struct gemm *g, const struct gemm_sum *s)
{
    if (!g->k)
        return 0;
    double chunk = (double)ceil_div(g->k, g->split);
    double ranges = ceil((double)g->k / chunk);
    switch (g->sums) {
    case GEMM_ATOMIC:
        return chain_error(g, s, chunk + ranges - 1) + 1.5 * ranges * 0x1p-125;
    case GEMM_NARROW:
        return narrow_error(g, s, chunk, ranges);
    case GEMM_MATRIX:
        return matrix_error(g, s);
    default:
        return ordered_error(g, s);
    }
}

/* --- the exact value -------------------------------------------------------------------------
 */

/* hi + lo = a + b exactly. */
static void two_sum(double a, double b, double *hi, double *lo)
{
    double sum = a + b, part = sum - a;
    *lo = (a - (sum - part)) + (b - part);
    *hi = sum;
}

/* alpha s + beta c as value + tail; beta c is exact (two floats), alpha s is not. */
static void exact_value(const struct gemm *g, const struct gemm_sum *s, double old,
                        double *value, double *tail)
{
    double p = g->alpha * s->value;
    double rest = fma(g->alpha, s->value, -p) + g->alpha * s->tail;
    double hi, lo;
    two_sum(p, old, &hi, &lo);
    two_sum(hi, lo + rest, value, tail);
}

/* Of dot.c, carried through exact_value: four roundings of quantities below 2^-52 of the terms.
 * Below 2^-1000 nothing is claimed: no format has anything there. */
static double exact_error(const struct gemm *g, const struct gemm_sum *s, double old)
{
    double ku = ((double)g->k + 1) * 0x1p-53;
    double terms = fabs(g->alpha) * s->magnitude + fabs(old);
    return 2 * ku * ku * fabs(g->alpha) * s->magnitude + 0x1p-102 * terms + 0x1p-1000;
}

/* --- special values and overflow -------------------------------------------------------------
 */

enum outcome { OUTCOME_FINITE, OUTCOME_INF, OUTCOME_UNSURE };

/* What the sum becomes. A sum whose minority sign stays small can only meet one Inf; sums that
 * are kept in a narrow format on the way are not judged once that may overflow. */
static enum outcome sum_outcome(const struct gemm *g, const struct gemm_sum *s, double error)
{
    double limit = gemm_sum_limit(g);
    if (s->magnitude + error < limit)
        return OUTCOME_FINITE;
    if (limit < overflow_from(DTYPE_F32))
        return OUTCOME_UNSURE;
    double minority = (s->magnitude - fabs(s->value)) / 2 + 0x1p-20 * s->magnitude;
    if (fabs(s->value) - error >= limit && minority < limit / 2)
        return OUTCOME_INF;
    return OUTCOME_UNSURE;
}

static struct gemm_element element_special(double value)
{
    return (struct gemm_element){.value = value};
}

static struct gemm_element element_unsure(struct gemm_element r)
{
    r.bound = INFINITY;
    r.drop = 0;
    return r;
}

static bool is_subnormal(float x)
{
    return x != 0 && fabsf(x) < FLT_MIN;
}

/* The sum or the old C is NaN or Inf: what follows is IEEE arithmetic on specials, which double
 * does as f32 does, as long as the finite partner does not overflow. */
static struct gemm_element reference_special(const struct gemm *g, const struct gemm_sum *s,
                                             double c)
{
    bool c_small = isnan(c) || isinf(c) || fabs(g->beta * c) < overflow_from(DTYPE_F32) / 2;
    bool sum_small =
        !isfinite(s->value) || (s->magnitude < gemm_sum_limit(g) / 2 &&
                                fabs(g->alpha) * s->magnitude < overflow_from(DTYPE_F32) / 2);
    bool flushed = g->flush && (is_subnormal(g->alpha) || is_subnormal(g->beta));
    double value = g->alpha * s->value;
    if (g->beta != 0)
        value += g->beta * c;
    struct gemm_element r = element_special(value);
    bool nan_anyway = isnan(s->value) || (g->beta != 0 && isnan(c));
    if (!nan_anyway && (!c_small || !sum_small || flushed))
        return element_unsure(r);
    return r;
}

/* The last term, which loops most easily lose, or the mean magnitude where that is larger. */
static double typical_term(const struct gemm *g, const struct gemm_sum *s)
{
    return g->k ? fmax(s->last, s->magnitude / (double)g->k) : 0;
}

/* Chooses among a number, a certain Inf and no judgement, for a finite exact result. */
static struct gemm_element element_settle(const struct gemm *g, enum outcome sum, double q,
                                          double error, double old, struct gemm_element r)
{
    double limit = overflow_from(DTYPE_F32), edge = overflow_from(g->out);
    double size = fabs(r.value);
    if (size - error >= edge && sum != OUTCOME_UNSURE && fabs(old) * (1 + 0x1p-20) < limit)
        return element_special(copysign(INFINITY, r.value));
    if (sum != OUTCOME_FINITE || q >= limit || size + error >= edge)
        return element_unsure(r);
    return r;
}

struct gemm_element gemm_reference(const struct gemm *g, const struct gemm_sum *s, double c)
{
    if (g->out == DTYPE_I32)
        return (struct gemm_element){
            .value = s->value, .bound = 0.5, .drop = typical_term(g, s), .scale = s->magnitude};
    if (s->unsure)
        return element_unsure(element_special(s->value));
    if (!isfinite(s->value) || (g->beta != 0 && !isfinite(c)))
        return reference_special(g, s, c);

    double old = g->beta != 0 ? (double)g->beta * c : 0;
    double e = sum_error(g, s);
    double alpha = fabs(g->alpha);
    double q = alpha * (fabs(s->value) + e) + fabs(old);
    double gamma = gamma_of(g->beta != 0 ? 2 : alpha == 1 ? 0 : 1);
    double error = alpha * e + gamma * q + 4 * least_loss(g) * (1 + gamma);
    if (g->flush)
        error += (is_subnormal(g->alpha) ? q : 0) + 0x1p-126 * (alpha + fabs(g->beta)) +
                 (is_subnormal(g->beta) ? fabs(old) : 0);

    struct gemm_element r = {.scale = alpha * s->magnitude + fabs(old)};
    exact_value(g, s, old, &r.value, &r.tail);
    r.error = exact_error(g, s, old);
    r.bound = (error + narrowing(g->out, fabs(r.value) + error) + r.error) * (1 + 0x1p-40);
    r.drop = g->k && alpha != 0 ? alpha * typical_term(g, s) : fabs(old);
    return element_settle(g, sum_outcome(g, s, e), q, error, old, r);
}
