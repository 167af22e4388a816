/* SPDX-License-Identifier: Apache-2.0 */
#include "optim8bit.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Blockwise quantization. The definition is one of f32 operations (r = 1/absmax rounded, y =
 * x r rounded), so the reference follows them one by one; what lies outside of it is how a code
 * is found (a sorted list of boundaries instead of a search) and the exact quotient, in double,
 * that decides where a fast division may have chosen the neighbour. */

/* Tensors. quantize: x, book -> code, absmax, y. dequantize: book, code, absmax -> y. */
enum { BOOK, CODE, ABSMAX, Y, X };

static bool is_packed(enum book_kind k)
{
    return k == BOOK_NF4 || k == BOOK_FP4;
}

static enum dtype code_dtype(enum book_kind k)
{
    return k == BOOK_NF4 ? DTYPE_NF4X2 : k == BOOK_FP4 ? DTYPE_FP4X2 : DTYPE_CODE8;
}

struct shape {
    int64_t n, block, blocks;
    enum book_kind kind;
    bool packed, table;
};

static struct shape shape_of(const struct case_id *id)
{
    struct shape s = {
        .n = id->value[P_N].i, .block = id->value[P_BLOCK].i, .kind = book_of(id)};
    s.blocks = (s.n + s.block - 1) / s.block;
    s.packed = is_packed(s.kind);
    s.table = !strcmp(id->variant->name, "table");
    return s;
}

/* --- plan ------------------------------------------------------------------------------------
 */

static void launch_quantize(const struct case_id *id, const struct shape *s,
                            struct case_plan *p)
{
    char entry[64];
    bool fault = !strncmp(id->variant->name, "fault_", 6);
    const char *what = fault                 ? id->variant->name
                       : s->kind == BOOK_NF4 ? "quantize_nf4"
                       : s->kind == BOOK_FP4 ? "quantize_fp4"
                                             : "quantize8";
    int threads = s->block < 256 ? (int)s->block : 256;
    snprintf(entry, sizeof entry, "%s_%s", what, dtype_info(dtype_of(id))->name);
    struct case_launch *l = plan_launch(p, entry, s->blocks, threads);
    push_tensor(l, X);
    for (int i = BOOK; i <= ABSMAX; i++)
        push_tensor(l, i);
    push_i32(l, s->n);
    push_i32(l, s->block);
    push_i32(l, threads);
}

static void launch_dequantize(const struct case_id *id, const struct shape *s,
                              struct case_plan *p)
{
    char entry[64];
    snprintf(entry, sizeof entry, "dequantize%d_%s", s->packed ? 4 : 8,
             dtype_info(dtype_of(id))->name);
    struct case_launch *l = plan_launch(p, entry, (s->n + 255) / 256, 256);
    for (int i = BOOK; i <= Y; i++)
        push_tensor(l, i);
    push_i32(l, s->n);
    push_i32(l, s->block);
}

enum err quantize_plan(const struct case_id *id, struct case_plan *p, struct errinfo *e)
{
    struct shape s = shape_of(id);
    struct book b;
    enum group group = trait_of(id)->group;
    bool forward = group == GROUP_QUANTIZE;
    if (s.block & (s.block - 1))
        return err_set(e, ERR_USAGE, "block=%lld: blocks are powers of two from 32 to 4096",
                       (long long)s.block);
    if (s.table && s.packed)
        return err_set(e, ERR_USAGE, "optim8bit/table is for books of 8 bits");
    bool fault = !strncmp(id->variant->name, "fault_", 6);
    bool nibbles = !strcmp(id->variant->name, "fault_nibbles");
    if (fault && (nibbles ? s.kind != BOOK_NF4 : s.packed))
        return err_set(e, ERR_USAGE, "optim8bit/%s is planted in the kernel of %s books only",
                       id->variant->name, nibbles ? "nf4" : "8-bit");
    book_make(s.kind, &b);
    int64_t entries = book_table(&b, NULL), codes = s.packed ? (s.n + 1) / 2 : s.n;
    enum tensor_role role = forward ? TENSOR_OUT : TENSOR_IN;
    enum dist scales = id->dist == DIST_NORMAL ? DIST_POSITIVE : id->dist;
    plan_tensor(p, "book", TENSOR_IN, DTYPE_F32, 1, &entries, DIST_ZERO);
    plan_tensor(p, "code", role, code_dtype(s.kind), 1, &codes, DIST_UNIFORM);
    plan_tensor(p, "absmax", role, DTYPE_F32, 1, &s.blocks, scales);
    plan_tensor(p, "y", TENSOR_OUT, dtype_of(id), 1, &s.n, DIST_ZERO);
    if (forward) {
        plan_tensor(p, "x", TENSOR_IN, dtype_of(id), 1, &s.n, id->dist);
        launch_quantize(id, &s, p);
    }
    launch_dequantize(id, &s, p);
    return ERR_OK;
}

/* --- inputs ----------------------------------------------------------------------------------
 */

/* Boundaries of the book, their neighbours in the format, and values of the book, a quarter
 * each (neighbours: a quarter above, a quarter below); the first of each block is 1, so that
 * quotients are the numbers themselves. */
static void fill_ties(const struct case_id *id, struct case_span span, struct tensor *t)
{
    struct book b;
    struct shape s = shape_of(id);
    struct rng_key key = rng_key_make(id->seed, "optim8bit/ties");
    book_make(s.kind, &b);
    for (int64_t i = span.from; i < span.to; i++) {
        uint64_t r = rng_bits(key, (uint64_t)i, 0), k = (r >> 8) % (uint64_t)(b.count - 1);
        bool value = r % 4 == 3 && fabsf(b.value[k]) < 1;
        double x = (double)(value ? b.value[k] : b.edge[k]);
        uint64_t bits = dtype_round(t->dtype, i % s.block ? x : 1);
        if (i % s.block && r % 4 < 2 && bits)
            bits += r % 4 ? 1 : UINT64_MAX;
        tensor_set_bits(t, i, bits);
    }
}

bool quantize_fill(const struct case_id *id, const struct case_plan *plan, int i,
                  struct case_span span, struct tensor *t)
{
    (void)plan;
    if (i == BOOK) {
        struct book b;
        book_make(book_of(id), &b);
        book_table(&b, t->data);
        return true;
    }
    if (i == X && id->dist == DIST_TIES) {
        fill_ties(id, span, t);
        return true;
    }
    return false;
}

/* Whole blocks, and their neighbours in pairs, whose scale a model takes. `of`: elements of x or y that one element of a tensor stands for. */
static int64_t of(const struct shape *s, int tensor)
{
    return tensor == ABSMAX ? s->block : tensor == CODE && s->packed ? 2 : 1;
}

bool quantize_needs(const struct case_id *id, const struct case_plan *plan, int which, int i,
                    struct case_span span, struct case_span *ret_need)
{
    (void)plan;
    struct shape s = shape_of(id);
    int64_t in = of(&s, i), out = of(&s, which), pair = 2 * s.block;
    int64_t from = span.from * out / pair * pair, to = (span.to * out + pair - 1) / pair * pair;
    *ret_need = (struct case_span){from / in, (to + in - 1) / in};
    return i != BOOK;
}

/* --- reference -------------------------------------------------------------------------------
 */

/* One block's scale, in f32 as a device computes it. */
struct scale {
    float absmax, reciprocal;
    float second; /* the largest magnitude but one */
    bool judged;  /* the mode's division is defined for it */
    bool table;   /* codes come out of a table */
};

static struct scale scale_of(const struct freedom *f, const struct shape *s,
                             const struct tensor *x, int64_t block)
{
    struct scale c = {.absmax = -FLT_MAX, .second = -FLT_MAX, .table = s->table};
    int64_t last = (block + 1) * s->block < s->n ? (block + 1) * s->block : s->n;
    for (int64_t i = block * s->block; i < last; i++) {
        float v = fabsf((float)tensor_value(x, i));
        if (v > c.absmax) {
            c.second = c.absmax;
            c.absmax = v;
        } else if (v > c.second)
            c.second = v;
    }
    float size = fabsf(c.absmax), divisor = flushed(f, c.absmax);
    c.reciprocal = flushed(f, 1 / divisor);
    c.judged = f->exact || size == 0 || (size >= FLT_MIN && size <= 0x1p126f);
    return c;
}

static struct code_pair pair_of(const struct freedom *f, const struct book *b,
                                const struct scale *c, float x)
{
    x = flushed(f, x);
    float y = flushed(f, x * c->reciprocal);
    if (c->table)
        return (struct code_pair){book_table_place(b, y), -1};
    struct code_pair p = {book_place(b, y), -1};
    double exact = (double)x / (double)c->absmax;
    if (!f->exact && isfinite(exact))
        p.other = book_other(b, p.place, exact, f->ulps, f->flushed);
    return p;
}

/* code * absmax, rounded as the kernel does: to f32, then to the format. */
static double back(const struct freedom *f, enum dtype d, float value, float absmax)
{
    volatile float product = flushed(f, value) * flushed(f, absmax);
    return dtype_value(d, dtype_round(d, (double)flushed(f, product)));
}

struct quantity {
    const struct case_id *id;
    const struct tensor *const *input;
    struct freedom f;
    struct shape s;
    struct book b;
    enum dtype d;
};

static struct quantity quantity_of(const struct case_id *id, const struct tensor *const *input)
{
    struct quantity q = {id, input, freedom_of(&id->mode), shape_of(id), {0}, dtype_of(id)};
    book_make(q.s.kind, &q.b);
    return q;
}

static float x_at(const struct quantity *q, int64_t i)
{
    return i < q->s.n ? (float)tensor_value(q->input[X], i) : 0;
}

static void judge_absmax(const struct quantity *q, struct case_span span, struct oracle *o)
{
    for (int64_t k = span.from; k < span.to; k++) {
        struct scale c = scale_of(&q->f, &q->s, q->input[X], k);
        double size = (double)c.absmax;
        judge_exact(o, k, size, size - (double)c.second);
        if (q->f.flush && size < FLT_MIN) /* comparing flushes on one vendor */
            judge_between(o, k, size, 0, size);
    }
}

static void judge_codes(const struct quantity *q, struct case_span span, struct oracle *o)
{
    int step = q->s.packed ? 2 : 1;
    struct scale c = {0};
    for (int64_t i = span.from * step; i < span.to * step; i += step) {
        if (i % q->s.block == 0 || i == span.from * step)
            c = scale_of(&q->f, &q->s, q->input[X], i / q->s.block);
        struct code_pair high = pair_of(&q->f, &q->b, &c, x_at(q, i));
        struct code_pair low = pair_of(&q->f, &q->b, &c, x_at(q, i + 1));
        if (c.judged)
            judge_code(o, i / step, &q->b, &high, step == 2 ? &low : NULL);
        else
            judge_nothing(o, i / step, book_code(&q->b, high.place));
    }
}

static int beside(const struct book *b, int place)
{
    return place + 1 < b->count ? place + 1 : place - 1;
}

static void judge_round_trip(const struct quantity *q, struct case_span span, struct oracle *o)
{
    struct scale c = {0};
    for (int64_t i = span.from; i < span.to; i++) {
        if (i % q->s.block == 0 || i == span.from)
            c = scale_of(&q->f, &q->s, q->input[X], i / q->s.block);
        struct code_pair p = pair_of(&q->f, &q->b, &c, x_at(q, i));
        double y = back(&q->f, q->d, book_value(&q->b, p.place), c.absmax);
        double z = back(&q->f, q->d, book_value(&q->b, beside(&q->b, p.place)), c.absmax);
        if (!c.judged)
            judge_nothing(o, i, y);
        else if (p.other < 0)
            judge_exact(o, i, y, y - z);
        else
            judge_between(o, i, y, back(&q->f, q->d, book_value(&q->b, p.other), c.absmax),
                          y - z);
    }
}

static int code_in(const struct quantity *q, int64_t i)
{
    if (!q->s.packed)
        return (int)tensor_bits(q->input[CODE], i);
    return (int)(tensor_bits(q->input[CODE], i / 2) >> (i % 2 ? 0 : 4) & 15);
}

static void judge_values(const struct quantity *q, struct case_span span, struct oracle *o)
{
    for (int64_t i = span.from; i < span.to; i++) {
        int code = code_in(q, i);
        float absmax = (float)tensor_value(q->input[ABSMAX], i / q->s.block);
        double y = back(&q->f, q->d, q->b.value[code], absmax);
        double z = back(&q->f, q->d, q->b.value[code ^ 1], absmax);
        judge_exact(o, i, y, y - z);
    }
}

enum err quantize_oracle(const struct case_id *id, const struct case_plan *plan,
                         const struct tensor *const *input, int which,
                         struct case_span span, struct oracle *o, struct errinfo *e)
{
    struct quantity q = quantity_of(id, input);
    (void)plan, (void)e;
    if (trait_of(id)->group == GROUP_DEQUANTIZE)
        judge_values(&q, span, o);
    else if (which == ABSMAX)
        judge_absmax(&q, span, o);
    else if (which == CODE)
        judge_codes(&q, span, o);
    else
        judge_round_trip(&q, span, o);
    return ERR_OK;
}
