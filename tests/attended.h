/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ATTENDED_H
#define TESTS_ATTENDED_H

#include "../cases/attention/attention.h"
#include "scene.h"

/* For tests of attention: a case with both references, and its rows, keys and visible elements,
 * found apart from cases/attention. */

struct attended {
    struct scene c; /* with the oracle of O */
    struct attention a;
    struct oracle lse;
};

static inline void attended_open(struct attended *s, const char *text)
{
    scene_open(&s->c, text);
    attention_decode(&s->c.id, &s->a);
    s->c.o = scene_oracle_at(&s->c, ATTENTION_O, 1);
    s->lse = scene_oracle_at(&s->c, ATTENTION_LSE, 1);
}

static inline void attended_close(struct attended *s)
{
    scene_release(&s->c);
    oracle_release(&s->lse);
}

static inline double at4(const struct tensor *t, int64_t b, int64_t h, int64_t i, int64_t c)
{
    return tensor_value(t, ((b * t->dim[1] + h) * t->dim[2] + i) * t->dim[3] + c);
}

/* Where sequence b starts, by its table. */
static inline int64_t start_of(const struct attended *s, const char *table, int64_t b)
{
    for (int i = 0; i < s->c.plan.n_tensor; i++)
        if (!strcmp(s->c.plan.tensor[i].name, table))
            return (int64_t)tensor_value(s->c.at[i], b);
    return -1; /* sequences of one length */
}

static inline int64_t queries_of(const struct attended *s, int64_t b)
{
    int64_t start = start_of(s, "starts_q", b);
    return start < 0 ? s->a.queries : start_of(s, "starts_q", b + 1) - start;
}

static inline int64_t keys_of(const struct attended *s, int64_t b)
{
    int64_t start = start_of(s, "starts_k", b);
    return start < 0 ? s->a.keys : start_of(s, "starts_k", b + 1) - start;
}

static inline int64_t row_of(const struct attended *s, int64_t b, int64_t h, int64_t i)
{
    int64_t start = start_of(s, "starts_q", b);
    return start < 0 ? (b * s->a.heads + h) * s->a.queries + i : (start + i) * s->a.heads + h;
}

/* Element c of key j, through the table if there is one. */
static inline double key_value(const struct attended *s, int which, int64_t b, int64_t h, int64_t j,
                        int64_t c)
{
    int64_t page = s->a.page, start = start_of(s, "starts_k", b);
    if (start >= 0)
        return tensor_value(s->c.at[which], ((start + j) * s->a.kv_heads + h) * s->a.d + c);
    if (!page)
        return at4(s->c.at[which], b, h, j, c);
    const struct tensor *table = s->c.at[ATTENTION_PART_LSE + 1];
    int64_t at = (int64_t)tensor_value(table, b * table->dim[1] + j / page);
    return at4(s->c.at[which], at, h, j % page, c);
}

/* What dropout makes of the value that key j gives to the query in row `row`. */
static inline double kept(const struct attended *s, int64_t row, int64_t j)
{
    const struct family *f = s->c.id.family;
    double drop = s->c.id.value[family_param_find(f, "drop")].r;
    int rounds = (int)s->c.id.value[family_param_find(f, "rounds")].i;
    int64_t n = row * s->a.keys + j;
    if (s->a.kind != ATTENTION_DROPOUT)
        return 1;
    uint8_t byte = dropout_byte((uint64_t)n / 16, s->c.id.seed, rounds, (int)(n % 16));
    return byte <= floor(255 * (double)(float)(1 - drop)) ? (double)(1 / (float)(1 - drop)) : 0;
}

/* Written apart from attention_visible, from the words of the help. */
static inline bool is_visible(const struct attended *s, int64_t b, int64_t i, int64_t j)
{
    const union param_value *v = s->c.id.value;
    const struct family *f = s->c.id.family;
    int64_t mask = v[family_param_find(f, "mask")].i,
            window = v[family_param_find(f, "window")].i;
    int64_t back = mask == 2 ? i - j - queries_of(s, b) + keys_of(s, b) : i - j; /* keys back from the diagonal */
    return mask == 0 || (back >= 0 && (!window || back < window));
}

#endif
