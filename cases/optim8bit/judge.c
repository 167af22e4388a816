/* SPDX-License-Identifier: Apache-2.0 */
#include "optim8bit.h"

#include <float.h>
#include <math.h>

/* The witness rule of two devices (see freedom_of):
 *
 *   reciprocal or division   <= 2   ulp (CUDA's documented limit; AMD: 1 and 2.5, see below)
 *   product by the reciprocal   0.5 ulp
 *   the boundary itself         0.5 ulp, (a + b) / 2 in f32
 *
 * Together 3 ulp of the quotient; an ulp of the quotient is at most one binade away from that
 * of the boundary, hence one more: 4. AMD's fast division is 2.5 ulp and has no product: 3. */

struct freedom freedom_of(const struct case_mode *mode)
{
    bool exact = mode->exact_div && mode->exact_sqrt && !mode->approximate;
    return (struct freedom){.flush = mode->flush,
                            .exact = exact,
                            .ulps = exact ? 0 : 4,
                            .flushed = !exact || mode->flush ? FLT_MIN : 0};
}

float flushed(const struct freedom *f, float x)
{
    return f->flush && fabsf(x) < FLT_MIN ? copysignf(0, x) : x;
}

void judge_exact(struct oracle *o, int64_t i, double value, double lost)
{
    o->value[i] = value;
    o->tail[i] = o->error[i] = o->bound[i] = 0;
    o->drop[i] = isfinite(lost) ? fabs(lost) : DBL_MAX;
    o->scale[i] = isfinite(value) ? fabs(value) : 0;
}

void judge_nothing(struct oracle *o, int64_t i, double value)
{
    judge_exact(o, i, value, 0);
    o->bound[i] = INFINITY;
}

/* The reference stands a little towards `likely` from the middle, so that it rounds to it where
 * the ends are neighbours; the bound reaches both ends. */
static void judge_range(struct oracle *o, int64_t i, double likely, double low, double high,
                        double lost)
{
    judge_exact(o, i, likely, lost);
    if (low == high || !isfinite(high - low))
        return;
    double middle = low + (high - low) / 2, value = middle + (likely - middle) * 0x1p-9;
    o->value[i] = value;
    o->bound[i] = fmax(high - value, value - low) * (1 + 0x1p-40);
}

void judge_between(struct oracle *o, int64_t i, double a, double b, double lost)
{
    judge_range(o, i, a, fmin(a, b), fmax(a, b), lost);
}

static int code_of(const struct book *b, const struct code_pair *p, bool other)
{
    return p ? book_code(b, other && p->other >= 0 ? p->other : p->place) : 0;
}

void judge_code(struct oracle *o, int64_t i, const struct book *b, const struct code_pair *high,
                const struct code_pair *low)
{
    int shift = low ? 4 : 0;
    int byte = code_of(b, high, false) << shift | code_of(b, low, false);
    int least = byte, most = byte;
    for (int k = 1; k < 4; k++) {
        int also = code_of(b, high, k & 1) << shift | code_of(b, low, k & 2);
        least = also < least ? also : least;
        most = also > most ? also : most;
    }
    judge_range(o, i, byte, least, most, 1);
    o->scale[i] = b->count - 1;
}
