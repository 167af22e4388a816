/* SPDX-License-Identifier: Apache-2.0 */
#include "probe.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../plan.h"

/* Questions whose answers tell how a device computes. Most have no single right answer and are
 * not judged; what differs between two devices is named line by line. */

enum { IN, OUT, AUX };         /* scalar: what is computed beside; atomic: memory */
enum { A, B, D = OUT + 1, C }; /* matrix; D is the output */

static const struct param params[] = {{NULL}};

/* name, summary, source, unit */
#define VARIANTS(X)                                                                            \
    X("scalar", "f32 operations, functions and conversions", "scalar.cu", SCALAR)              \
    X("atomic", "atomic adds of f32", "atomic.cu", ATOMIC)                                     \
    X("f16", "matrix unit, f16 with f32 sums", "matrix.cu", F16)                               \
    X("f16_f16", "matrix unit, f16 with f16 sums", "matrix.cu", F16_F16)                       \
    X("bf16", "matrix unit, bf16 with f32 sums", "matrix.cu", BF16)                            \
    X("tf32", "matrix unit, tf32 with f32 sums", "matrix.cu", TF32)

static const struct variant variants[] = {
#define VARIANT(name, summary, source, unit) {name, summary, source, false, false},
    VARIANTS(VARIANT)
#undef VARIANT
        {NULL, NULL, NULL, false, false},
};

static const enum probe_unit units[] = {
#define VARIANT(name, summary, source, unit) PROBE_##unit,
    VARIANTS(VARIANT)
#undef VARIANT
};

enum probe_unit probe_unit_of(const struct case_id *id)
{
    return units[id->variant - variants];
}

/* --- the table -------------------------------------------------------------------------------
 */

struct probe_line *probe_line_add(struct probe_table *t, const char *name, enum cause cause,
                                  enum probe_kind kind)
{
    assert(t->lines < PROBE_LINES_MAX);
    struct probe_line *l = &t->line[t->lines++];
    *l = (struct probe_line){.name = name, .cause = cause, .kind = kind, .first = t->tries};
    return l;
}

struct probe_try *probe_try_add(struct probe_table *t)
{
    assert(t->tries < PROBE_TRIES_MAX);
    t->line[t->lines - 1].count++;
    return &t->try[t->tries++];
}

void probe_word_add(struct probe_table *t, const char *text, const uint32_t *out)
{
    struct probe_line *l = &t->line[t->lines - 1];
    assert(l->words < PROBE_WORDS_MAX);
    struct probe_word *w = &l->word[l->words++];
    w->text = text;
    memcpy(w->out, out, sizeof w->out);
}

struct probe_table *probe_table_make(enum probe_unit unit)
{
    struct probe_table *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->unit = unit;
    if (probe_is_matrix(unit))
        probe_matrix_fill(t);
    else
        probe_scalar_fill(t);
    return t;
}

/* --- the plan --------------------------------------------------------------------------------
 */

static struct case_tensor tensor(const char *name, enum tensor_role role, enum dtype d,
                                 int64_t rows, int64_t columns)
{
    struct case_tensor t = {.role = role, .dtype = d, .rank = columns ? 2 : 1};
    snprintf(t.name, sizeof t.name, "%s", name);
    t.dim[0] = rows;
    t.dim[1] = columns;
    return t;
}

static void plan_scalar(const struct case_id *id, int64_t n, struct case_plan *p)
{
    bool atomic = probe_unit_of(id) == PROBE_ATOMIC;
    struct case_launch *l = &p->launch[p->n_launch++];
    p->n_tensor = 3;
    p->tensor[IN] = tensor("in", TENSOR_IN, DTYPE_U32, n, 4);
    p->tensor[OUT] = tensor("out", TENSOR_OUT, DTYPE_U32, n, 0);
    p->tensor[AUX] =
        tensor(atomic ? "sum" : "beside", TENSOR_OUT, atomic ? DTYPE_F32 : DTYPE_U32, n, 0);
    p->tensor[AUX].zeroed = atomic;
    *l = (struct case_launch){.grid = {(uint32_t)(atomic ? n : (n + 63) / 64), 1, 1},
                              .block = {atomic ? 32 : 64, 1, 1}};
    snprintf(l->entry, sizeof l->entry, "%s", atomic ? "atomics" : "scalar");
    push_tensor(l, IN);
    push_tensor(l, OUT);
    push_tensor(l, AUX);
    push_i32(l, n);
}

static int64_t padded(int64_t n)
{
    return (n + 15) / 16 * 16;
}

static void plan_matrix(const struct case_id *id, int64_t n, struct case_plan *p)
{
    enum probe_unit unit = probe_unit_of(id);
    struct case_launch *l = &p->launch[p->n_launch++];
    p->n_tensor = 4;
    p->tensor[A] = tensor("a", TENSOR_IN, probe_operand(unit), padded(n), PROBE_DEPTH);
    p->tensor[B] = tensor("b", TENSOR_IN, probe_operand(unit), padded(n), PROBE_DEPTH);
    p->tensor[D] = tensor("out", TENSOR_OUT, DTYPE_U32, padded(n), 0);
    p->tensor[C] = tensor("c", TENSOR_IN, probe_sum(unit), padded(n), 0);
    *l = (struct case_launch){.grid = {(uint32_t)(padded(n) / 16), 1, 1}, .block = {32, 1, 1}};
    snprintf(l->entry, sizeof l->entry, "probe_%s", id->variant->name);
    push_tensor(l, A);
    push_tensor(l, B);
    push_tensor(l, C);
    push_tensor(l, D);
}

static enum err probe_plan(const struct case_id *id, struct case_plan *ret_plan,
                           struct errinfo *e)
{
    struct case_plan p;
    memset(&p, 0, sizeof p);
    if (id->dist != DIST_NORMAL || id->seed != 1)
        return err_set(e, ERR_USAGE,
                       "the questions of probe/%s are fixed: leave dist and seed out",
                       id->variant->name);
    struct probe_table *t = probe_table_make(probe_unit_of(id));
    if (!t)
        return err_set(e, ERR_NOMEM, "no memory for the questions of probe");
    if (probe_is_matrix(t->unit))
        plan_matrix(id, t->tries, &p);
    else
        plan_scalar(id, t->tries, &p);
    free(t);
    *ret_plan = p;
    return ERR_OK;
}

static void fill_one(const struct probe_table *t, int which, int try, struct tensor *out)
{
    const struct probe_try *x = &t->try[try];
    if (!probe_is_matrix(t->unit)) {
        tensor_set_bits(out, try * 4, x->op);
        for (int k = 0; k < 3; k++)
            tensor_set_bits(out, try * 4 + 1 + k, x->in[k]);
        return;
    }
    for (int k = 0; k < PROBE_DEPTH && which != C; k++)
        tensor_set_bits(out, try * PROBE_DEPTH + k, which == A ? x->a[k] : x->b[k]);
    if (which == C)
        tensor_set_bits(out, try, x->c);
}

/* Without memory for the table the inputs stay zero, and no sure answer is right. */
static bool probe_fill(const struct case_id *id, const struct case_plan *plan, int i,
                  struct case_span span, struct tensor *out)
{
    (void)plan, (void)span; /* small */
    struct probe_table *t = probe_table_make(probe_unit_of(id));
    for (int try = 0; t && try < t->tries; try++)
        fill_one(t, i, try, out);
    free(t);
    return true;
}

/* --- the reference ---------------------------------------------------------------------------
 */

static void answer_set(struct oracle *o, int64_t i, bool judged, double value)
{
    o->value[i] = judged ? value : (double)NAN; /* no error to measure */
    o->bound[i] = judged ? 0 : INFINITY;
    o->drop[i] = o->scale[i] = 1;
}

/* Sure answers to the bit; others are not judged. */
static void oracle_fill(const struct probe_table *t, struct oracle *o)
{
    for (int64_t i = 0; i < o->count; i++) {
        bool sure = i < t->tries && t->try[i].sure;
        answer_set(o, i, sure, sure ? (double)t->try[i].want : 0);
    }
}

/* beside: one product of two numbers, and a sum that is the same fused or not; else 0. sum:
 * as the answer where that is sure, untouched by tries in shared memory. */
static void oracle_aux(const struct probe_table *t, struct oracle *o)
{
    for (int64_t i = 0; i < o->count; i++) {
        const struct probe_try *x = &t->try[i];
        bool global = t->unit == PROBE_ATOMIC && x->op == 0;
        if (t->unit == PROBE_ATOMIC)
            answer_set(o, i, !global || x->sure, global ? dtype_value(DTYPE_F32, x->want) : 0);
        else
            answer_set(o, i, true, (double)probe_stored(x));
    }
}

static enum err probe_oracle(const struct case_id *id, const struct case_plan *plan,
                             const struct tensor *const *input, int which,
                             struct case_span span, int threads, struct oracle *o,
                             struct errinfo *e)
{
    (void)plan, (void)input, (void)span, (void)threads;
    struct probe_table *t = probe_table_make(probe_unit_of(id));
    if (!t)
        return err_set(e, ERR_NOMEM, "no memory for the questions of probe");
    if (!probe_is_matrix(t->unit) && which == AUX)
        oracle_aux(t, o);
    else
        oracle_fill(t, o);
    free(t);
    return ERR_OK;
}

static const struct suite_row suites[] = {
    {"quick,full", "{scalar|atomic|f16|f16_f16|bf16|tf32}"},
    {"full", "{scalar|atomic}:mode={strict|flush|fast}"},
    {NULL, NULL},
};

const struct family family_probe = {
    .name = "probe",
    .summary = "what a device's arithmetic is, question by question",
    .params = params,
    .variants = variants,
    .suites = suites,
    .plan = probe_plan,
    .oracle = probe_oracle,
    .fill = probe_fill,
    .readings = probe_readings,
};
