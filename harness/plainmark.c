/* SPDX-License-Identifier: Apache-2.0 */
#include "plainmark.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fewer differing elements than this show no pattern. */
enum { PLACES_MIN = 8, STRIDE_MIN = 16, ROUNDED_MIN = 16, VALUES_MIN = 64 };

static int64_t differing(const struct gap *g)
{
    return g->count - g->bits_equal;
}

__attribute__((format(printf, 5, 6))) static void
claim(struct finding_out *o, enum cause cause, char side, double share, const char *format, ...)
{
    va_list ap;
    if (o->n_claim == CAUSE_CLAIMS_MAX)
        return;
    struct cause_claim *c = &o->claim[o->n_claim++];
    *c = (struct cause_claim){.cause = cause, .side = side, .share = share};
    va_start(ap, format);
    vsnprintf(c->evidence, sizeof c->evidence, format, ap);
    va_end(ap);
}

/* --- by value --- */

static void mark_classes(const struct gap *g, struct finding_out *o)
{
    int64_t n = differing(g), class = g->nan_differs + g->inf_differs;
    if (class == n)
        claim(o, CAUSE_NANINF, '=', 1,
              "only NaN and Inf differ: %" PRId64 " NaN against a number, %" PRId64
              " Inf against something else",
              g->nan_differs, g->inf_differs);
    else if (g->zero_sign == n)
        claim(o, CAUSE_NANINF, '=', 1,
              "only the sign of zeros differs, in %" PRId64 " elements", n);
}

static void mark_flush(const struct gap *g, struct finding_out *o)
{
    int64_t n = differing(g);
    for (int side = 0; side < 2; side++)
        if (g->flushed[side] && !g->flushed[!side] && 2 * g->flushed[side] >= n)
            claim(o, CAUSE_FLUSH, "AB"[side], (double)g -> flushed[side] / (double)n,
                  "%c has zero where %c has a subnormal number in %" PRId64 " of %" PRId64
                  " differing elements, and never the reverse",
                  "AB"[side], "BA"[side], g -> flushed[side], n);
}

/* Fraction bits that some value of this side uses. */
static int used_bits(const struct gap *g, int side, enum dtype d)
{
    const struct dtype_info *f = dtype_info(d);
    uint64_t fraction = g->bits[side] & ((1ULL << f->fraction) - 1);
    return fraction ? f->fraction - __builtin_ctzll(fraction) : 0;
}

/* All values of one side are those of a narrower format. */
static void mark_precision(const struct gap *g, struct finding_out *o)
{
    static const struct {
        int bits;
        const char *name;
    } formats[] = {{7, "bf16"}, {10, "TF32 or f16"}, {23, "f32"}};
    if ((o->dtype != DTYPE_F32 && o->dtype != DTYPE_F64) || g->finite < VALUES_MIN)
        return;
    for (int side = 0; side < 2; side++) {
        int mine = used_bits(g, side, o->dtype), other = used_bits(g, !side, o->dtype), i = 0;
        if (!mine || other < mine + 6)
            continue;
        while (i < 3 && formats[i].bits < mine)
            i++;
        if (i < 3 && formats[i].bits < dtype_info(o->dtype)->fraction)
            claim(o, CAUSE_DOWNCAST, "AB"[side], 1,
                  "no value of %c uses more than %d fraction bits, as many as %s has; those of "
                  "%c "
                  "use %d",
                  "AB"[side], mine, formats[i].name, "BA"[side], other);
    }
}

static void mark_rounding(const struct gap *g, struct finding_out *o)
{
    int64_t n = differing(g);
    if (g->worst_ulp != 1 || n < ROUNDED_MIN || g->nan_differs || g->inf_differs)
        return;
    for (int side = 0; side < 2; side++)
        if (g->smaller[side] == n)
            claim(o, CAUSE_ROUNDING, "AB"[side], 1,
                  "all %" PRId64
                  " differing elements are one ULP nearer to zero on %c, as if it "
                  "truncated",
                  n, "AB"[side]);
}

static void mark_order(const struct gap *g, struct finding_out *o)
{
    if (differing(g) >= 2 && g->values[0] == g->values[1] && g->bits[0] == g->bits[1])
        claim(o, CAUSE_MASK, '=', 1,
              "both sides hold the same values in another order: %" PRId64
              " elements are in another place",
              differing(g));
}

/* --- by place --- */

struct box {
    int64_t from[TENSOR_RANK_MAX], to[TENSOR_RANK_MAX], volume;
};

static bool places_complete(const struct gap *g)
{
    return g->n_place > 0 && g->n_place <= GAP_PLACES;
}

static struct box box_of(const struct plainpass_side *a, const struct plainpass_side *b,
                         const struct gap *g)
{
    const struct tensorfile_tensor *t = a->tensor;
    struct box box = {.volume = 1};
    for (int i = 0; i < t->rank; i++)
        box.from[i] = INT64_MAX;
    for (int64_t k = 0; k < g->n_place; k++) {
        int64_t index = plainpass_index(a, b, g->place[k].index);
        for (int i = t->rank - 1; i >= 0; i--) {
            int64_t at = index % t->dim[i];
            index /= t->dim[i];
            box.from[i] = at < box.from[i] ? at : box.from[i];
            box.to[i] = at > box.to[i] ? at : box.to[i];
        }
    }
    for (int i = 0; i < t->rank; i++)
        box.volume *= box.to[i] - box.from[i] + 1;
    return box;
}

/* "[3..5,0..127]" */
static void box_text(const struct tensorfile_tensor *t, const struct box *b, char *text,
                     size_t size)
{
    size_t used = (size_t)snprintf(text, size, "[");
    for (int i = 0; i < t->rank && used < size; i++) {
        used +=
            (size_t)snprintf(text + used, size - used, "%s%" PRId64, i ? "," : "", b->from[i]);
        if (b->to[i] != b->from[i] && used < size)
            used += (size_t)snprintf(text + used, size - used, "..%" PRId64, b->to[i]);
    }
    if (used < size)
        snprintf(text + used, size - used, "]");
}

static void mark_box(const struct plainpass_side *a, const struct plainpass_side *b,
                     const struct gap *g, struct finding_out *o)
{
    char text[160];
    if (g->n_place < PLACES_MIN)
        return;
    struct box box = box_of(a, b, g);
    if (box.volume > g->count / 8)
        return;
    box_text(a->tensor, &box, text, sizeof text);
    claim(o, CAUSE_LOCALISED, '=', 1,
          "all %" PRId64 " differing elements lie in %s, %.2g %% of the tensor", g->n_place,
          text, 100 * (double)box.volume / (double)g->count);
}

static int64_t divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void mark_stride(const struct plainpass_side *a, const struct plainpass_side *b,
                        const struct gap *g, struct finding_out *o)
{
    int64_t step = 0, first = plainpass_index(a, b, g->place[0].index);
    if (g->n_place < STRIDE_MIN)
        return;
    for (int64_t i = 1; i < g->n_place && step != 1; i++)
        step = divisor(step, llabs(plainpass_index(a, b, g->place[i].index) - first));
    if (step > 1)
        claim(o, CAUSE_LOCALISED, '=', 1,
              "all %" PRId64 " differing elements are %" PRId64 " modulo %" PRId64
              " in row-major order",
              g->n_place, first % step, step);
}

static void mark_overflow(const struct gap *g, struct finding_out *o)
{
    int64_t first = g->first.index, bytes = first * dtype_info(o->dtype)->bytes;
    int64_t n = differing(g), after = g->count - first;
    const char *what = first == 1LL << 31 || first == 1LL << 32   ? "element"
                       : bytes == 1LL << 31 || bytes == 1LL << 32 ? "byte"
                                                                  : NULL;
    if (what && n >= after / 4)
        claim(o, CAUSE_OVERFLOW, '=', 1,
              "the first differing %s is number 2^%d, and %" PRId64 " of the %" PRId64
              " elements from there on differ",
              what, (int)log2((double)(*what == 'e' ? first : bytes)), n, after);
}

void plainmark_claims(const struct plainpass_side *a, const struct plainpass_side *b,
                      const struct gap *g, struct finding_out *o)
{
    mark_classes(g, o);
    mark_flush(g, o);
    mark_order(g, o);
    mark_precision(g, o);
    mark_rounding(g, o);
    mark_overflow(g, o);
    if (!places_complete(g) || !a->tensor->rank)
        return;
    mark_box(a, b, g, o);
    mark_stride(a, b, g, o);
}

void plainmark_where(const struct plainpass_side *a, const struct plainpass_side *b,
                     const struct gap *g, char *ret_text, size_t size)
{
    char text[160];
    *ret_text = 0;
    if (g->n_place > GAP_PLACES) {
        int64_t from = plainpass_index(a, b, g->first.index);
        if (a->tensor->fortran && b->tensor->fortran)
            return;
        snprintf(ret_text, size, ", between elements %" PRId64 " and %" PRId64, from, g->last);
    } else if (g->n_place > 1 && a->tensor->rank) {
        struct box box = box_of(a, b, g);
        box_text(a->tensor, &box, text, sizeof text);
        if (box.volume < g->count)
            snprintf(ret_text, size, ", all in %s", text);
    }
}
