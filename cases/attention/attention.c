/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* O = softmax(scale Q K^T) V and the log-sum-exp of each row. A row that sees no key gives O =
 * 0 and -Inf. Keys that a row does not see are never read by naive; flash may multiply them by
 * 0. */

enum { GRID_MAX = 65535 };

enum {
    DTYPE,
    BATCH,
    HEADS,
    KV_HEADS,
    QUERIES,
    KEYS,
    D,
    MASK,
    WINDOW,
    SCALE,
    SOFTCAP,
    ALIBI,
    SPLIT,
    PAGE,
    DROP,
    ROUNDS
};
enum { MASK_NONE, MASK_CAUSAL, MASK_BOTTOM };

static const char *const dtype_words[] = {"f32", "f16", "bf16", NULL};
static const char *const mask_words[] = {"none", "causal", "bottom", NULL};

static const struct param params[] = {
    [DTYPE] = {"dtype", "format of Q, K, V and O", PARAM_WORD, 0, 0, dtype_words, "f32", false},
    [BATCH] = {"batch", "sequences", PARAM_INT, 1, 1024, NULL, "1", true},
    [HEADS] = {"heads", "query heads", PARAM_INT, 1, 256, NULL, "2", true},
    [KV_HEADS] = {"kvheads", "heads of K and V, shared in groups; 0: as many as query heads",
                  PARAM_INT, 0, 256, NULL, "0", true},
    [QUERIES] = {"queries", "rows of Q (varlen: of the longest sequence)", PARAM_INT, 1, 1 << 16, NULL, "64", false},
    [KEYS] = {"keys", "rows of K and V (varlen: of the longest sequence)", PARAM_INT, 1, 1 << 16, NULL, "64", false},
    [D] = {"d", "length of a head's vectors", PARAM_INT, 1, 128, NULL, "64", false},
    [MASK] = {"mask", "none; causal from the top left; causal to the bottom right", PARAM_WORD,
              0, 0, mask_words, "none", true},
    [WINDOW] = {"window", "keys a row sees, back from the diagonal; 0: all", PARAM_INT, 0,
                1 << 16, NULL, "0", true},
    [SCALE] = {"scale", "factor of the scores; 0: 1/sqrt(d)", PARAM_REAL, 0, 1e12, NULL, "0",
               true},
    [SOFTCAP] = {"softcap", "scores t become c tanh(t/c); 0: they stay", PARAM_REAL, 0, 1e6,
                 NULL, "0", true},
    [ALIBI] = {"alibi", "1: a bias that falls with the distance from the diagonal", PARAM_INT,
               0, 1, NULL, "0", true},
    [SPLIT] = {"split", "split: ranges of keys", PARAM_INT, 1, 64, NULL, "4", true},
    [PAGE] = {"page", "split: keys a page of K and V, found through a table; 0: no pages",
              PARAM_INT, 0, 1024, NULL, "0", true},
    [DROP] = {"drop", "dropout, dropback: share of weights dropped", PARAM_REAL, 0, 0.95, NULL, "0.1",
              true},
    [ROUNDS] = {"rounds", "dropout, dropback: rounds of Philox4x32, 7 or 10", PARAM_INT, 7, 10, NULL,
                "10", true},
    {NULL},
};

static const struct variant variants[] = {
#define VARIANT(name, summary, hidden, kind)                                                   \
    {#name, summary,                                                                           \
     ATTENTION_##kind >= ATTENTION_BACKWARD ? "weights.cu"                                    \
     : ATTENTION_##kind == ATTENTION_MMA    ? "mma.cu"                                        \
     : ATTENTION_##kind == ATTENTION_STEPS  ? "steps.cu"                                      \
                                            : "attention.cu",                                 \
     hidden, false},
#include "variants.def"
#undef VARIANT
    {NULL, NULL, NULL, false, false},
};

static const enum attention_kind kinds[] = {
#define VARIANT(name, summary, hidden, kind) ATTENTION_##kind,
#include "variants.def"
#undef VARIANT
};

enum { SPLIT_STANDARD = 4 };

void attention_decode(const struct case_id *id, struct attention *ret_attention)
{
    const union param_value *v = id->value;
    struct attention a = {.dtype = dtype_find(dtype_words[v[DTYPE].i]),
                          .batch = v[BATCH].i,
                          .heads = v[HEADS].i,
                          .kv_heads = v[KV_HEADS].i ? v[KV_HEADS].i : v[HEADS].i,
                          .queries = v[QUERIES].i,
                          .keys = v[KEYS].i,
                          .d = v[D].i,
                          .diagonal = v[KEYS].i - v[QUERIES].i,
                          .scale = (float)v[SCALE].r,
                          .softcap = (float)v[SOFTCAP].r,
                          .alibi = v[ALIBI].i,
                          .kind = kinds[id->variant - variants],
                          .page = v[PAGE].i,
                          .high = v[KEYS].i,
                          .mode = id->mode};
    a.bottom = v[MASK].i == MASK_BOTTOM && a.kind == ATTENTION_VARLEN;
    int64_t shift = v[MASK].i == MASK_BOTTOM && !a.bottom ? a.diagonal : 0;
    a.last = v[MASK].i == MASK_NONE ? ATTENTION_OPEN : shift + 1;
    a.first = v[WINDOW].i ? shift + 1 - v[WINDOW].i : -ATTENTION_OPEN;
    if (a.scale == 0)
        a.scale = (float)(1 / sqrt((double)a.d));
    a.out = a.dtype;
    a.keep = (float)(1 - v[DROP].r);
    a.rounds = (int)v[ROUNDS].i;
    a.seed = id->seed;
    a.split = a.kind == ATTENTION_SPLIT ? v[SPLIT].i : 1;
    a.chunk = (a.keys + a.split - 1) / a.split;
    a.pages = a.page ? (a.keys + a.page - 1) / a.page : 0;
    *ret_attention = a;
}

void attention_visible(const struct attention *a, int64_t i, int64_t *ret_from, int64_t *ret_to)
{
    *ret_from = i + a->first > a->low ? i + a->first : a->low;
    *ret_to = i + a->last < a->high ? i + a->last : a->high;
}

static enum err attention_check(const struct case_id *id, const struct attention *a,
                                struct errinfo *e)
{
    const int64_t most = (int64_t)1 << 30;
    int64_t planes = a->batch * a->heads;
    if (a->heads % a->kv_heads)
        return err_set(e, ERR_USAGE,
                       "heads=%lld,kvheads=%lld: kvheads must divide heads (or be 0)",
                       (long long)a->heads, (long long)a->kv_heads);
    if (id->value[WINDOW].i && id->value[MASK].i == MASK_NONE)
        return err_set(e, ERR_USAGE,
                       "window=%lld with mask=none: a window needs mask=causal or mask=bottom",
                       (long long)id->value[WINDOW].i);
    if (a->kind != ATTENTION_SPLIT && (a->page || id->value[SPLIT].i != SPLIT_STANDARD))
        return err_set(
            e, ERR_USAGE,
            "split=%lld,page=%lld with attention/%s: only attention/split takes them",
            (long long)id->value[SPLIT].i, (long long)a->page, id->variant->name);
    if (a->page && id->dist == DIST_SPECIAL)
        return err_set(
            e, ERR_USAGE,
            "page=%lld with dist=special: special values are placed by key, which pages "
            "hide; leave one out",
            (long long)a->page);
    if (a->kind == ATTENTION_VARLEN && id->dist == DIST_SPECIAL)
        return err_set(e, ERR_USAGE,
                       "dist=special with attention/%s: special values are placed by key of "
                       "sequences of one length; take attention/flash", id->variant->name);
    if (a->kind == ATTENTION_MMA && a->dtype == DTYPE_F32)
        return err_set(e, ERR_USAGE, "dtype=f32 with attention/%s: the matrix units take dtype=f16 "
                       "and dtype=bf16", id->variant->name);
    if (a->rounds != 7 && a->rounds != 10)
        return err_set(e, ERR_USAGE, "rounds=%d: Philox has 7 or 10 rounds here", a->rounds);
    if (a->kind >= ATTENTION_BACKWARD &&
        (a->softcap != 0 || a->alibi || id->dist == DIST_SPECIAL ||
         a->queries * a->keys > 1 << 22))
        return err_set(e, ERR_USAGE,
                       "attention/%s takes no softcap, alibi nor dist=special, and "
                       "queries*keys up to 2^22",
                       id->variant->name);
    if (planes > GRID_MAX || a->queries * a->keys > most / planes ||
        (a->queries + a->keys) * a->d > most / planes)
        return err_set(e, ERR_USAGE,
                       "batch*heads=%lld,queries=%lld,keys=%lld,d=%lld: batch*heads is at most "
                       "65535 and a tensor at most 2^30 elements",
                       (long long)planes, (long long)a->queries, (long long)a->keys,
                       (long long)a->d);
    if (id->variant->hidden && a->kind < ATTENTION_BACKWARD &&
        (a->d > 64 || a->dtype == DTYPE_F16))
        return err_set(e, ERR_USAGE, "attention/%s takes d up to 64, dtype=f32 and dtype=bf16",
                       id->variant->name);
    return ERR_OK;
}

static enum err attention_plan(const struct case_id *id, struct case_plan *ret_plan,
                               struct errinfo *e)
{
    struct attention a;
    struct case_plan p;
    memset(&p, 0, sizeof p);
    attention_decode(id, &a);
    TRY(attention_check(id, &a, e));
    attention_plan_make(id, &a, &p);
    *ret_plan = p;
    return ERR_OK;
}

static enum err family_oracle(const struct case_id *id, const struct case_plan *plan,
                              const struct tensor *const *input, int which,
                              struct case_span span, int threads, struct oracle *o,
                              struct errinfo *e)
{
    struct attention a;
    attention_decode(id, &a);
    bool gradients = attention_has_gradients(&a) && which != ATTENTION_LSE &&
                     which != ATTENTION_P && which != ATTENTION_DROPBACK_KEEP;
    return (gradients ? attention_gradient_oracle : attention_oracle)(
        id, plan, input, which, span, threads, o, e);
}

static const struct suite_row suites[] = {
#define SUITE(tags, id) {tags, id},
#include "suites.def"
#undef SUITE
    {NULL, NULL},
};

const struct family family_attention = {
    .name = "attention",
    .summary = "O = softmax(scale Q K^T) V",
    .params = params,
    .variants = variants,
    .suites = suites,
    .functions = true,
    .plan = attention_plan,
    .oracle = family_oracle,
    .models = attention_models,
    .model = attention_model,
    .fill = attention_fill,
};
