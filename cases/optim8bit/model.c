/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include <float.h>
#include <math.h>
#include <string.h>

const struct case_model optim8bit_models[] = {
#define MODEL(name, cause, right, of, way) {name, CAUSE_##cause, right, false},
#include "model.def"
#undef MODEL
    {NULL, CAUSE_UNEXPLAINED, false, false},
};

enum of { OF_QUANTIZE, OF_STEP, OF_INT8, OF_GEMV4 };

static const struct {
    enum of of;
    enum way way;
} ways[] = {
#define MODEL(name, cause, right, of, way) {OF_##of, WAY_##way},
#include "model.def"
#undef MODEL
};

/* --- quantize --------------------------------------------------------------------------------
 */

struct subject {
    const struct tensor *x;
    const struct book *b;
    int64_t n, block, blocks;
    enum way way;
    int64_t known; /* the block whose absmax is kept; -1 */
    float absmax;
};

static float range_absmax(const struct subject *s, int64_t first, int64_t last)
{
    float most = -FLT_MAX;
    for (int64_t i = first; i < last && i < s->n; i++) {
        float x = (float)tensor_value(s->x, i), v = s->way == WAY_SIGNED ? x : fabsf(x);
        most = v > most ? v : most;
    }
    return most;
}

/* The scale that codes of block k are divided by. */
static float code_absmax(struct subject *s, int64_t k)
{
    if (k == s->known)
        return s->absmax;
    int64_t first = k * s->block, last = first + s->block < s->n ? first + s->block : s->n;
    if (s->way == WAY_HALF)
        last = (first + last + 1) / 2;
    if (s->way == WAY_DOUBLE)
        first = (k & ~INT64_C(1)) * s->block, last = first + 2 * s->block;
    s->known = k;
    return s->absmax = range_absmax(s, first, last);
}

/* And the one that is stored for it. */
static float stored_absmax(struct subject *s, int64_t k)
{
    if (s->way == WAY_SWAP && (k ^ 1) < s->blocks)
        k ^= 1;
    return code_absmax(s, k);
}

/* The nearest of the first 256 entries of a book of 512, each other one between two of this one. */
static int long_place(const struct book *b, float y)
{
    int best = 0;
    float away = INFINITY;
    for (int i = 0; i < 256; i++) {
        float entry = (book_value(b, i / 2) + book_value(b, i / 2 + i % 2)) * 0.5f;
        float here = fabsf(y - entry);
        if (here < away || (here == away && i % 2 == 0))
            best = i;
        away = fminf(away, here);
    }
    return best;
}

static int way_place(const struct subject *s, float y)
{
    int place = book_place(s->b, y);
    int below = place > 0 && y < book_value(s->b, place) ? place - 1 : place;
    bool tie = below + 1 < s->b->count && y == s->b->edge[below];
    switch (s->way) {
    case WAY_TIE_UP:
        return tie ? below + 1 : place;
    case WAY_TIE_DOWN:
        return tie ? below : place;
    case WAY_CUT:
        return below;
    case WAY_ABOVE:
        return below + 1 < s->b->count && y > book_value(s->b, below) ? below + 1 : below;
    case WAY_TABLE:
        return book_table_place(s->b, y);
    case WAY_LONG:
        return s->b->count == 256 ? long_place(s->b, y) : place;
    case WAY_LINEAR:
        return (int)fmaxf(0, fminf(255, nearbyintf(y * 128) + 127));
    default:
        return place;
    }
}

static int way_code(struct subject *s, int64_t i)
{
    float x = i < s->n ? (float)tensor_value(s->x, i) : 0;
    float absmax = code_absmax(s, (i < s->n ? i : s->n - 1) / s->block), r = 1 / absmax;
    if (s->way == WAY_LOW || s->way == WAY_HIGH)
        r = nextafterf(r, s->way == WAY_LOW ? 0 : INFINITY);
    volatile float y = s->way == WAY_DIVIDE ? x / absmax : x * r;
    return book_code(s->b, way_place(s, y));
}

static uint64_t way_bits(struct subject *s, const struct case_tensor *t, int64_t i)
{
    if (!strcmp(t->name, "absmax"))
        return dtype_round(DTYPE_F32, (double)stored_absmax(s, i));
    if (!strcmp(t->name, "code")) {
        if (s->b->bits == 8)
            return (uint64_t)way_code(s, i);
        int first = way_code(s, 2 * i), second = way_code(s, 2 * i + 1);
        bool turned = s->way == WAY_NIBBLES;
        return (uint64_t)((turned ? second : first) << 4 | (turned ? first : second));
    }
    int64_t from = s->way == WAY_NIBBLES && s->b->bits == 4 ? i ^ 1 : i;
    volatile float y = s->b->value[way_code(s, from)] * stored_absmax(s, i / s->block);
    return dtype_round(t->dtype, (double)y);
}

static bool quantize_model(const struct case_id *id, const struct case_plan *plan,
                           const struct tensor *const *input, int which, enum way way,
                           int64_t n, const int64_t *index, uint64_t *ret_bits)
{
    struct book b;
    book_make(book_of(id), &b);
    struct subject s = {.b = &b, .way = way, .known = -1};
    if ((b.bits == 4 && (way == WAY_LINEAR || way == WAY_TABLE || way == WAY_TIE_UP || way == WAY_TIE_DOWN)) ||
        (b.bits == 8 && way == WAY_NIBBLES))
        return false;
    s.x = input[walk_find(plan, "x")];
    s.n = id->value[P_N].i;
    s.block = id->value[P_BLOCK].i;
    s.blocks = (s.n + s.block - 1) / s.block;
    for (int64_t k = 0; k < n; k++)
        ret_bits[k] = way_bits(&s, &plan->tensor[which], index[k]);
    return true;
}

bool optim8bit_model(const struct case_id *id, const struct case_plan *plan,
                     const struct tensor *const *input, int which, int model, int64_t n,
                     const int64_t *index, uint64_t *ret_bits)
{
    enum group group = trait_of(id)->group;
    enum way way = ways[model].way;
    switch (ways[model].of) {
    case OF_QUANTIZE:
        return group == GROUP_QUANTIZE &&
               quantize_model(id, plan, input, which, way, n, index, ret_bits);
    case OF_STEP:
        return (group == GROUP_STEP8 || step_is_wide(id)) &&
               step_model(id, plan, input, which, way, n, index, ret_bits);
    case OF_INT8:
        return group == GROUP_INT8 && int8_model(id, plan, input, which, way, n, index, ret_bits);
    default:
        return (group == GROUP_GEMV4 || group == GROUP_GEMM4) &&
               gemv4_model(id, input, way, n, index, ret_bits);
    }
}
