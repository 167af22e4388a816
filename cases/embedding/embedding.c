/* SPDX-License-Identifier: Apache-2.0 */
#include "embedding.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../plan.h"

/* The gradient of an embedding table. */

enum { DTYPE, TOKENS, VOCAB, D, PADDING };

static const char *const dtype_words[] = {"f32", "f16", "bf16", NULL};

static const struct param params[] = {
    [DTYPE] = {"dtype", "format of dy; the gradient is f32", PARAM_WORD, 0, 0, dtype_words,
               "f32", false},
    [TOKENS] = {"tokens", "tokens", PARAM_INT, 1, 1 << 20, NULL, "100", false},
    [VOCAB] = {"vocab", "rows of the table", PARAM_INT, 1, 1 << 20, NULL, "16", false},
    [D] = {"d", "length of a row", PARAM_INT, 1, 1 << 16, NULL, "64", false},
    [PADDING] = {"padding", "a row that gets no gradient, -1: none", PARAM_INT, -1,
                 (1 << 20) - 1, NULL, "-1", true},
    {NULL},
};

static const struct variant variants[] = {
#define VARIANT(name, summary, hidden, atomic) {#name, summary, "embedding.cu", hidden, atomic},
#include "variants.def"
#undef VARIANT
    {NULL, NULL, NULL, false, false},
};

void embedding_decode(const struct case_id *id, struct embedding *ret_embedding)
{
    const union param_value *v = id->value;
    *ret_embedding = (struct embedding){.atomic = id->variant->unordered,
                                        .dtype = dtype_find(dtype_words[v[DTYPE].i]),
                                        .tokens = v[TOKENS].i,
                                        .vocab = v[VOCAB].i,
                                        .d = v[D].i,
                                        .padding = v[PADDING].i,
                                        .mode = id->mode};
}

/* --- plan ------------------------------------------------------------------------------------
 */

static enum err plan(const struct case_id *id, struct case_plan *ret_plan, struct errinfo *e)
{
    struct embedding m;
    struct case_plan p;
    struct case_launch *l = &p.launch[0];
    memset(&p, 0, sizeof p);
    embedding_decode(id, &m);
    int64_t most = m.tokens > m.vocab ? m.tokens : m.vocab, n = (m.atomic ? m.tokens : m.vocab) * m.d;
    if (most > ((int64_t)1 << 30) / m.d)
        return err_set(e, ERR_USAGE,
                       "tokens=%lld,vocab=%lld,d=%lld: a tensor would have more than 2^30 "
                       "elements; make one smaller",
                       (long long)m.tokens, (long long)m.vocab, (long long)m.d);
    p.n_launch = 1;
    *l =
        (struct case_launch){.grid = {(uint32_t)((n + 255) / 256), 1, 1}, .block = {256, 1, 1}};
    snprintf(l->entry, sizeof l->entry, "%s_%s", id->variant->name, dtype_info(m.dtype)->name);
    plan_argument(&p, "dy", TENSOR_IN, m.dtype, m.tokens, m.d, id->dist);
    plan_argument(&p, "index", TENSOR_IN, DTYPE_I32, m.tokens, 0, DIST_ZERO);
    plan_argument(&p, "grad", TENSOR_OUT, DTYPE_F32, m.vocab, m.d, DIST_ZERO);
    p.tensor[EMBEDDING_DY].axis = p.tensor[EMBEDDING_GRAD].axis = 0; /* over tokens */
    p.tensor[EMBEDDING_GRAD].zeroed = m.atomic;
    const int64_t numbers[4] = {m.tokens, m.d, m.vocab, m.padding};
    for (int i = 0; i < 4; i++)
        push_i32(l, numbers[i]);
    *ret_plan = p;
    return ERR_OK;
}

/* As words are: half of the tokens are among the first square root of the rows. */
static bool fill(const struct case_id *id, const struct case_plan *p, int i,
                  struct case_span span, struct tensor *t)
{
    struct rng_key key = rng_key_make(id->seed, "embedding/index");
    uint64_t vocab = (uint64_t)id->value[VOCAB].i, few = 1;
    (void)p;
    while ((few + 1) * (few + 1) <= vocab)
        few++;
    for (int64_t k = span.from; i == EMBEDDING_INDEX && k < span.to; k++) {
        uint64_t drawn = rng_bits(key, (uint64_t)k, 0);
        tensor_set_bits(t, k, (drawn >> 1) % (drawn & 1 ? few : vocab));
    }
    return i == EMBEDDING_INDEX;
}

/* --- reference -------------------------------------------------------------------------------
 *
 * How far a right device may be from the exact sum of n terms added in any order: n - 1 additions
 * round (the first is to 0), so E = gamma(n - 1) sum |dy| + 2 n f0. f0 (roundoff.h) is 2^-125 for
 * atomics whatever the mode, since NVIDIA's flush subnormals. Where all terms are multiples of one
 * power of two, normal in f32, and their magnitudes add up to 2^24 of it or less, every order is
 * exact: E = 0, and all devices and repeats give the same bits. A row without tokens is 0.
 *
 * NaN and Inf: as the terms add up, in any order. The smallest fault to catch is one lost
 * token of mean size. */

struct sum {
    struct wide value;
    struct grid grid;
    double special;
    int64_t n;
};

static void sum_add(struct sum *s, double x)
{
    s->n++;
    if (!isfinite(x)) {
        s->special += x;
        return;
    }
    s->value = wide_add(s->value, wide_of(x));
    grid_add(&s->grid, x);
}

static struct element element_of(const struct embedding *m, const struct sum *s)
{
    double n = (double)s->n, size = s->grid.size;
    double least = m->atomic ? 0x1p-125 : roundoff_least(&m->mode);
    if (!isfinite(s->special))
        return m->mode.approximate ? element_open(0) : element_exact(s->special);
    if (grid_exact(&s->grid)) {
        struct element x = element_exact(s->value.hi + s->value.lo);
        x.scale = size;
        x.drop = n > 0 ? size / n : 0;
        return x;
    }
    double off = roundoff_gamma(n - 1) * size + 2 * n * least;
    struct element x = element_make(DTYPE_F32, s->value.hi, s->value.lo,
                                    n * 0x1p-104 * size + 0x1p-900, off);
    x.scale = size;
    x.drop = n > 0 ? size / n : 0;
    return size > 0x1p126 ? element_open(s->value.hi) : x;
}

static enum err oracle(const struct case_id *id, const struct case_plan *p,
                       const struct tensor *const *input, int which, struct case_span span,
                       int threads, struct oracle *o, struct errinfo *e)
{
    struct embedding m;
    (void)p, (void)which, (void)threads;
    embedding_decode(id, &m);
    struct sum *sum = calloc((size_t)(span.to - span.from), sizeof *sum);
    if (!sum)
        return err_set(e, ERR_NOMEM, "no memory for the sums of %lld elements",
                       (long long)(span.to - span.from));
    for (int64_t t = 0; t < m.tokens; t++) {
        int64_t v = (int64_t)tensor_value(input[EMBEDDING_INDEX], t);
        struct case_span in = case_row(span, v, m.d);
        for (int64_t i = in.from; v != m.padding && i < in.to; i++)
            sum_add(&sum[v * m.d + i - span.from],
                    tensor_value(input[EMBEDDING_DY], t * m.d + i));
    }
    for (int64_t i = span.from; i < span.to; i++) {
        struct element x = element_of(&m, &sum[i - span.from]);
        element_put(o, i, &x);
    }
    free(sum);
    return ERR_OK;
}

static const struct suite_row suites[] = {
#define SUITE(tags, id) {tags, id},
#include "suites.def"
#undef SUITE
    {NULL, NULL},
};

const struct family family_embedding = {
    .name = "embedding",
    .summary = "the gradient of an embedding table",
    .params = params,
    .variants = variants,
    .suites = suites,
    .plan = plan,
    .oracle = oracle,
    .models = embedding_models,
    .model = embedding_model,
    .fill = fill,
};
