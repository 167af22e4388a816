/* SPDX-License-Identifier: Apache-2.0 */
#include "probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OPERATION(name, words, arity) name,
enum op {
#include "operation.def"
    OPS
};
#undef OPERATION

enum { GLOBAL, SHARED }; /* as in atomic.cu */

static const struct {
    const char *name;
    int arity;
} ops[OPS] = {
#define OPERATION(name, words, arity) {words, arity},
#include "operation.def"
#undef OPERATION
};

const char *probe_op_name(uint32_t op)
{
    return ops[op].name;
}

int probe_op_arity(uint32_t op)
{
    return ops[op].arity;
}

static double value(uint32_t bits)
{
    return dtype_value(DTYPE_F32, bits);
}

/* In double, rounded once more: right as long as the double is not next to a tie, which no
 * argument of scalar.def's sweeps is (test_probe). */
uint32_t probe_op_exact(uint32_t op, const uint32_t *in)
{
    double a = value(in[0]);
    double y = op == DIVINTO ? value(in[1]) / a
               : op == RCP   ? 1 / a
               : op == SQRT  ? sqrt(a)
               : op == RSQRT ? 1 / sqrt(a)
               : op == EXP   ? exp(a)
               : op == EXP2  ? exp2(a)
               : op == LOG   ? log(a)
                             : log2(a);
    return (uint32_t)dtype_round(DTYPE_F32, y);
}

/* TWICE: (1 + 2^-12)^2 + 1 + 2^-11 rounds to the same number with and without the last 2^-24.
 */
uint32_t probe_stored(const struct probe_try *x)
{
    float product = (float)(value(x->in[0]) * value(x->in[1]));
    float difference = product - (float)value(x->in[2]);
    return x->op == STORED  ? (uint32_t)dtype_round(DTYPE_F32, (double)product)
           : x->op == TWICE ? (uint32_t)dtype_round(DTYPE_F32, (double)difference)
                            : 0;
}

/* --- the tables as data ----------------------------------------------------------------------
 */

enum item_kind { ITEM_LINE, ITEM_TRY, ITEM_SURE, ITEM_WORDS, ITEM_SWEEP };

struct item {
    enum item_kind kind;
    const char *text;
    enum cause cause;
    uint32_t op, bits[PROBE_OUTS]; /* SWEEP: first, step, count, b */
};

#define LINE(name, cause) {ITEM_LINE, name, CAUSE_##cause, 0, {0}},
#define ASK(op, a, b, c) {ITEM_TRY, NULL, CAUSE_UNEXPLAINED, op, {a, b, c}},
#define SURE(op, a, b, c, want) {ITEM_SURE, NULL, CAUSE_UNEXPLAINED, op, {a, b, c, want}},
#define WORDS(text, ...) {ITEM_WORDS, text, CAUSE_UNEXPLAINED, 0, {__VA_ARGS__}},
#define SWEEP(name, cause, op, first, step, count, b)                                          \
    {ITEM_SWEEP, name, CAUSE_##cause, op, {first, step, count, b}},
static const struct item scalar_items[] = {
#include "scalar.def"
};
static const struct item atomic_items[] = {
#include "atomic.def"
};

static void sweep_add(struct probe_table *t, const struct item *x)
{
    probe_line_add(t, x->text, x->cause, PROBE_SWEEP);
    for (uint32_t k = 0; k < x->bits[2]; k++) {
        struct probe_try *try = probe_try_add(t);
        try->op = x->op;
        try->in[0] = x->bits[0] + k * x->bits[1];
        try->in[1] = x->bits[3];
    }
}

static void item_add(struct probe_table *t, const struct item *x)
{
    if (x->kind == ITEM_LINE)
        probe_line_add(t, x->text, x->cause, PROBE_WORDS);
    if (x->kind == ITEM_WORDS)
        probe_word_add(t, x->text, x->bits);
    if (x->kind == ITEM_SWEEP)
        sweep_add(t, x);
    if (x->kind != ITEM_TRY && x->kind != ITEM_SURE)
        return;
    struct probe_try *try = probe_try_add(t);
    try->op = x->op;
    memcpy(try->in, x->bits, sizeof try->in);
    try->sure = x->kind == ITEM_SURE;
    try->want = x->bits[3];
}

void probe_scalar_fill(struct probe_table *t)
{
    bool atomic = t->unit == PROBE_ATOMIC;
    const struct item *items = atomic ? atomic_items : scalar_items;
    size_t count =
        atomic ? sizeof atomic_items / sizeof *items : sizeof scalar_items / sizeof *items;
    for (size_t i = 0; i < count; i++)
        item_add(t, &items[i]);
}
