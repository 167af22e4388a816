/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "draws.h"
#include "ulp.h"

/* Evidence that random numbers were drawn, and that the sides drew others: zeros in other
 * places at random (dropout), numbers without inputs they could come from (generators), noise
 * added to an input, rounding at random. */

/* What is expected, and what is there; numbers for which draws.h has tests. */
struct streams {
    const struct diagnose_input *in;
    struct finding_out *o;
    char side;
    const char *first, *second; /* how the two are called */
    int64_t n;
    double *x, *y; /* owned */
};

static bool streams_init(struct streams *t, int64_t count)
{
    t->n = count;
    t->x = malloc(((size_t)count + 1) * sizeof *t->x);
    t->y = malloc(((size_t)count + 1) * sizeof *t->y);
    return t->x && t->y;
}

static void streams_release(struct streams *t)
{
    free(t->x);
    free(t->y);
}

/* All finite, or nothing can be said. */
static bool streams_finite(const struct streams *t)
{
    for (int64_t i = 0; i < t->n; i++)
        if (!isfinite(t->x[i]) || !isfinite(t->y[i]))
            return false;
    return t->n > 0;
}

static int64_t first_apart(const struct streams *t)
{
    int64_t i = 0;
    while (i < t->n && t->x[i] == t->y[i])
        i++;
    return i;
}

/* --- zeros in other places -------------------------------------------------------------------
 */

/* Dropout leaves an element as it is or makes it zero. Where both are not zero they must be
 * equal: `apart` of them are not. */
static int64_t zeros_gather(const struct streams *t, const uint8_t *apart, bool *ret_only)
{
    int64_t m = 0, other = 0;
    for (int64_t i = 0; i < t->n; i++) {
        if (!apart[i])
            continue;
        bool zx = t->x[i] == 0, zy = t->y[i] == 0;
        if (zx == zy)
            other++;
        else
            ret_only[m++] = zx;
    }
    return other * 20 <= m ? m : 0;
}

static bool claim_zeros(struct streams *t, const uint8_t *apart)
{
    bool *only = malloc((size_t)t->n + 1);
    int64_t m = only ? zeros_gather(t, apart, only) : 0, zeros = 0;
    bool mixed = m && draws_mixed(only, m);
    free(only);
    if (!mixed)
        return false;
    for (int64_t i = 0; i < t->n; i++)
        zeros += t->y[i] == 0;
    claim_add(
        t->o, CAUSE_RNG, t->side, 1,
        "equal where both are not zero, but %lld zeros lie elsewhere, as many of %s as of "
        "%s and in no order (first at %lld): elements are dropped at random, %.1f %% of "
        "them, by other random numbers",
        (long long)m, t->first, t->second, (long long)first_apart(t),
        100 * (double)zeros / (double)t->n);
    return true;
}

void diagnose_dropped(struct suspect *s)
{
    struct streams t = {s->in, s->o, s->side, "the right ones", "these", 0, NULL, NULL};
    if (!s->in->oracle->value || s->n_bad * 200 < s->count || !streams_init(&t, s->count)) {
        streams_release(&t);
        return;
    }
    for (int64_t i = 0; i < s->count; i++) {
        t.x[i] = s->in->oracle->value[i];
        t.y[i] = tensor_value(s->t, i);
    }
    if (streams_finite(&t))
        claim_zeros(&t, s->bad);
    streams_release(&t);
}

/* --- numbers from nowhere --------------------------------------------------------------------
 */

static int64_t input_elements(const struct diagnose_input *in)
{
    int64_t n = 0;
    for (int i = 0; in->plan && i < in->plan->n_tensor; i++)
        n += in->input[i] && in->plan->tensor[i].role != TENSOR_OUT ? in->input[i]->count : 0;
    return n;
}

/* Long stretches where both are equal say nothing about the rest. */
enum { STRETCH = 64 };

static void stretches_leave_out(struct streams *t)
{
    int64_t n = 0, run = 0;
    for (int64_t i = 0; i < t->n; i++) {
        run = t->x[i] == t->y[i] ? run + 1 : 0;
        t->x[n] = t->x[i];
        t->y[n++] = t->y[i];
        if (run == STRETCH)
            n -= STRETCH;
        else if (run > STRETCH)
            n--;
    }
    t->n = n;
}

/* The same numbers elsewhere: the generator is right, its use is another. */
static bool claim_same_numbers(struct streams *t, int64_t first)
{
    int64_t shift = draws_shift(t->x, t->y, t->n, first);
    if (shift) {
        claim_add(
            t->o, CAUSE_RNG, t->side, 1,
            "from element %lld on %s holds the numbers that %s holds %lld elements %s: one "
            "stream, begun or cut otherwise",
            (long long)first, t->second, t->first, llabs((long long)shift),
            shift > 0 ? "further on" : "before");
        return true;
    }
    if (!draws_permuted(t->x, t->y, t->n))
        return false;
    claim_add(t->o, CAUSE_RNG, t->side, 1,
              "both hold the same numbers in another order, the first %lld in the same: "
              "counters are mapped to elements in another way",
              (long long)first);
    return true;
}

static bool claim_other_numbers(struct streams *t, int64_t first)
{
    struct draws_test test;
    stretches_leave_out(t);
    /* Poor generators follow themselves; an even spread gives them away. */
    bool alike = draws_alike(t->x, t->y, t->n, &test), even = draws_even(t->x, t->n);
    bool apart = t->n >= 64 && test.p > 1e-3 && fabs(test.pair) < 4 / sqrt((double)t->n);
    if (!alike && !(even && apart))
        return false;
    claim_add(t->o, CAUSE_RNG, t->side, 0.97,
              "equal up to element %lld, then other numbers of the same distribution "
              "(Kolmogorov-Smirnov p = %.2g%s) that have nothing to do with each other "
              "(correlation %.2g; with the next one %.2g): other streams",
              (long long)first, test.p, even ? ", even" : "", test.pair, test.next);
    return true;
}

/* --- noise added to an input -----------------------------------------------------------------
 */

static bool claim_added(struct streams *t, const struct tensor *input)
{
    struct draws_test test;
    double size = 0, noise = 0;
    for (int64_t i = 0; i < t->n; i++) {
        double v = tensor_value(input, i);
        if (!isfinite(v))
            return false;
        size += v * v;
        t->x[i] -= v;
        t->y[i] -= v;
        noise += t->x[i] * t->x[i];
    }
    /* More than rounding: a thousandth of the input. */
    if (noise < 1e-6 * size || !draws_alike(t->x, t->y, t->n, &test))
        return false;
    claim_add(t->o, CAUSE_RNG, t->side, 0.95,
              "less the input of its shape, %s and %s are draws of one distribution "
              "(Kolmogorov-Smirnov p = %.2g) that have nothing to do with each other "
              "(correlation %.2g): noise from other streams",
              t->first, t->second, test.p, test.pair);
    return true;
}

/* The one input from which the output could come, if the others are too small to be added. */
static const struct tensor *only_input(const struct diagnose_input *in, int64_t count)
{
    const struct tensor *found = NULL;
    for (int i = 0; in->plan && i < in->plan->n_tensor; i++)
        if (in->input[i] && in->plan->tensor[i].role != TENSOR_OUT &&
            in->input[i]->count == count)
            found = in->input[i];
    return found && input_elements(in) - count < count / 2 ? found : NULL;
}

/* --- two sides without a reference -----------------------------------------------------------
 */

void diagnose_streams(struct suspect *s)
{
    struct streams t = {s->in, s->o, s->side, "A", "B", 0, NULL, NULL};
    const struct tensor *input = only_input(s->in, s->count);
    bool known = s->in->plan && s->in->plan->n_tensor > 0;
    if (!streams_init(&t, s->count)) {
        streams_release(&t);
        return;
    }
    for (int64_t i = 0; i < s->count; i++) {
        t.x[i] = tensor_value(s->in->a, i);
        t.y[i] = tensor_value(s->in->b, i);
    }
    bool finite = streams_finite(&t);
    if (!finite || s->n_bad < 8 || claim_zeros(&t, s->bad)) {
        streams_release(&t);
        return;
    }
    int64_t first = first_apart(&t);
    if (known && 2 * input_elements(s->in) < s->count) {
        if (!claim_same_numbers(&t, first))
            claim_other_numbers(&t, first);
    } else if (input) {
        claim_added(&t, input);
    }
    streams_release(&t);
}

/* --- rounding at random ----------------------------------------------------------------------
 */

enum { PARTS = 8 }; /* of the way from one number of the format to the next */

struct rounded {
    int64_t n, up[PARTS], nearest, other; /* other: neither of the two neighbours */
    double expected[PARTS], variance[PARTS];
};

/* How far the reference lies on the way from the number below to the one above, which are
 * stored; false where it is one itself. */
static bool way(const struct diagnose_input *in, enum dtype d, int64_t i,
                double ret_neighbour[2], double *ret_part)
{
    double value = in->oracle->value[i], tail = in->oracle->tail[i];
    if (!isfinite(value))
        return false;
    double nearest = dtype_value(d, dtype_round_sum(d, value, tail));
    double off = (value - nearest) + tail;
    double step = dtype_info(d)->kind == DTYPE_KIND_FLOAT ? ulp_size(d, value) : 1;
    if (!isfinite(nearest) || off == 0)
        return false;
    ret_neighbour[0] = off > 0 ? nearest : nearest - step;
    ret_neighbour[1] = off > 0 ? nearest + step : nearest;
    *ret_part = fmin(fmax((off > 0 ? off : step + off) / step, 0), 1);
    return true;
}

static void rounded_count(const struct diagnose_input *in, const struct tensor *t,
                          struct rounded *r)
{
    double neighbour[2], part;
    memset(r, 0, sizeof *r);
    for (int64_t i = 0; i < t->count; i++) {
        if (!way(in, t->dtype, i, neighbour, &part))
            continue;
        double got = tensor_value(t, i);
        int p = part < 1 ? (int)(part * PARTS) : PARTS - 1;
        bool up = got == neighbour[1];
        r->n++;
        r->other += !up && got != neighbour[0];
        r->nearest += got == neighbour[part > 0.5];
        r->up[p] += up;
        r->expected[p] += part;
        r->variance[p] += part * (1 - part);
    }
}

/* Up as often as the reference is far on its way, everywhere: no fixed rule does that. */
static bool rounds_at_random(const struct rounded *r)
{
    /* Results that hardly leave the nearest number say nothing; by chance a quarter would. */
    if (r->n < 128 || r->other * 100 > r->n || r->nearest * 10 > r->n * 9)
        return false;
    for (int p = 0; p < PARTS; p++)
        if (r->variance[p] < 2 ||
            fabs((double)r->up[p] - r->expected[p]) > 4 * sqrt(r->variance[p]) + 1)
            return false;
    return true;
}

static void claim_rounded(const struct rounded *random, struct finding_out *o, int64_t first)
{
    claim_add(
        o, CAUSE_RNG, '=', 0.95,
        "both sides round at random, up as often as the exact result is far on its way to "
        "the next number (%.1f %% of %lld are the nearest), by other random numbers from "
        "element %lld on",
        100 * (double)random->nearest / (double)random->n, (long long)random->n,
        (long long)first);
}

bool diagnose_random_rounding(const struct diagnose_input *in, struct finding_out *o)
{
    struct rounded a, b;
    int64_t first = 0;
    if (in->id->family->functions) /* their errors of half a step look like it */
        return false;
    rounded_count(in, in->a, &a);
    rounded_count(in, in->b, &b);
    bool random_a = rounds_at_random(&a), random_b = rounds_at_random(&b);
    while (first < in->a->count && tensor_bits(in->a, first) == tensor_bits(in->b, first))
        first++;
    if (random_a && random_b) {
        claim_rounded(&a, o, first);
        return true;
    }
    const struct rounded *fixed = random_a ? &b : &a;
    if (random_a == random_b || fixed->nearest * 100 < fixed->n * 99)
        return false;
    claim_add(o, CAUSE_RNG, random_a ? 'B' : 'A', 0.9,
              "%s rounds at random, %s always to the nearest: no random numbers reach it",
              random_a ? "A" : "B", random_a ? "B" : "A");
    return true;
}
