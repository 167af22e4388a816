/* SPDX-License-Identifier: Apache-2.0 */
#include "attention.h"

/* Where queries and keys lie: sequences of one length each behind the other, pages of keys, or
 * (VARLEN) sequences of any length, token after token and the heads of each side by side. */

enum { SEQUENCE_NO_KEYS = 1, SEQUENCE_NO_QUERIES = 2 };

int64_t attention_length(const struct attention *a, bool keys, int64_t b)
{
    int64_t most = keys ? a->keys : a->queries;
    if (a->kind != ATTENTION_VARLEN || !b)
        return most;
    if (b == (keys ? SEQUENCE_NO_KEYS : SEQUENCE_NO_QUERIES))
        return 0;
    struct rng_key key = rng_key_make(a->seed, keys ? "attention/keys" : "attention/queries");
    return 1 + (int64_t)(rng_bits(key, (uint64_t)b, 0) % (uint64_t)most);
}

int64_t attention_start(const struct attention *a, bool keys, int64_t b)
{
    int64_t start = 0;
    for (int64_t i = 0; i < b; i++)
        start += attention_length(a, keys, i);
    return start;
}

int attention_table(const struct attention *a)
{
    bool lean = attention_tiled(a) && a->kind != ATTENTION_SPLIT;
    return lean ? ATTENTION_LSE + 1 : ATTENTION_P + 1;
}

int attention_slopes(const struct attention *a)
{
    if (a->kind == ATTENTION_VARLEN)
        return ATTENTION_STARTS_K + 1;
    return attention_table(a) + (a->page > 0);
}

static int64_t start_of(const struct tensor *const *input, int which, int64_t b)
{
    return (int64_t)tensor_bits(input[which], b);
}

int64_t attention_key_row(const struct attention *a, const struct tensor *const *input,
                          int64_t b, int64_t head, int64_t key)
{
    if (a->kind == ATTENTION_VARLEN)
        return (start_of(input, ATTENTION_STARTS_K, b) + key) * a->kv_heads + head;
    if (!a->page)
        return (b * a->kv_heads + head) * a->keys + key;
    int64_t page =
        (int64_t)tensor_bits(input[attention_table(a)], b * a->pages + key / a->page);
    return (page * a->kv_heads + head) * a->page + key % a->page;
}

/* The case as sequence b has it. */
static struct attention sequence_of(const struct attention *a,
                                    const struct tensor *const *input, int64_t b)
{
    struct attention s = *a;
    s.queries = start_of(input, ATTENTION_STARTS_Q, b + 1) - start_of(input, ATTENTION_STARTS_Q, b);
    s.keys = start_of(input, ATTENTION_STARTS_K, b + 1) - start_of(input, ATTENTION_STARTS_K, b);
    if (!a->longest)
        s.diagonal = s.keys - s.queries;
    s.high = s.keys;
    s.last += a->bottom ? s.diagonal : 0;
    s.first += a->bottom ? s.diagonal : 0;
    return s;
}

struct query attention_query(const struct attention *a, const struct tensor *const *input,
                             int64_t row, struct attention *ret_sequence)
{
    if (a->kind != ATTENTION_VARLEN) {
        int64_t z = row / a->queries;
        *ret_sequence = *a;
        return (struct query){row, z / a->heads, z % a->heads, row % a->queries};
    }
    int64_t at = row / a->heads, b = 0;
    while (at >= start_of(input, ATTENTION_STARTS_Q, b + 1))
        b++;
    *ret_sequence = sequence_of(a, input, b);
    return (struct query){row, b, row % a->heads, at - start_of(input, ATTENTION_STARTS_Q, b)};
}
