/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "poison.h"
#include "ulp.h"

static void shape_text(enum dtype d, int rank, const int64_t *dim, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s[", dtype_info(d)->name);
    for (int i = 0; i < rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, i ? "," : "", dim[i]);
    if (used < size)
        snprintf(text + used, size - used, "]");
}

/* The place of the output of that name, which is as the plan wants it. */
static enum err output_find(const struct answer_side *side, const char *id,
                            const struct case_tensor *want, int *ret_out, struct errinfo *e)
{
    int i = 0;
    while (i < side->n_out && strcmp(side->out[i].name, want->name))
        i++;
    if (i == side->n_out)
        return err_set(e, ERR_FORMAT, "%s: %s has no output '%s'", side->path, id, want->name);
    const struct tensor *t = &side->out[i].tensor;
    if (t->dtype != want->dtype || t->rank != want->rank ||
        memcmp(t->dim, want->dim, (size_t)t->rank * sizeof t->dim[0])) {
        char is[96], should[96];
        shape_text(t->dtype, t->rank, t->dim, is, sizeof is);
        shape_text(want->dtype, want->rank, want->dim, should, sizeof should);
        return err_set(e, ERR_FORMAT, "%s: output '%s' of %s is %s, must be %s", side->path,
                       want->name, id, is, should);
    }
    *ret_out = i;
    return ERR_OK;
}

/* --- what kernels made as reference ----------------------------------------------------------
 */

static enum err part_read(const struct answer_side *side, int out, struct case_span span,
                          struct tensor *t, struct errinfo *e)
{
    return record_read_part(side->record, side->run, side->at, out, span.from, span.to, t, e);
}

static struct case_span window_at(int64_t from, int64_t count)
{
    return (struct case_span){from, count - from < CASE_WINDOW ? count : from + CASE_WINDOW};
}

static void digest_span(struct tensor_digester *d, const struct tensor *t, struct case_span span)
{
    size_t width = (size_t)dtype_info(t->dtype)->bytes;
    tensor_digest_add(d, (const char *)t->data + (size_t)span.from * width,
                      (size_t)(span.to - span.from) * width);
}

static int64_t count_unwritten(const struct tensor *t, struct case_span span)
{
    int64_t unwritten = 0;
    for (int64_t i = span.from; i < span.to && dtype_info(t->dtype)->bytes > 1; i++)
        unwritten += tensor_bits(t, i) == poison_bits(t->dtype);
    return unwritten;
}

/* Reads a tensor once, for its digest and what was never written of it. */
static enum err made_scan(const struct answer_part *p, int i, struct tensor *t,
                          int64_t *ret_unwritten, struct errinfo *e)
{
    struct tensor_digester *d;
    char digest[33];
    int64_t unwritten = 0;
    enum err err = tensor_digest_begin(t, &d, e);
    if (err)
        return err;
    for (int64_t at = 0; at < t->count && !err; at += CASE_WINDOW) {
        struct case_span window = window_at(at, t->count);
        err = part_read(p->side, p->made_out[i], window, t, e);
        if (err)
            break;
        digest_span(d, t, window);
        unwritten += count_unwritten(t, window);
        tensor_drop(t, window.from, window.to);
    }
    tensor_digest_end(d, digest);
    if (err)
        return err;
    *ret_unwritten = unwritten;
    return record_out_check(p->side->record, p->side->run, p->side->at, p->made_out[i], digest, e);
}

/* A reference that a kernel left unwritten judges nothing. */
static enum err reference_take(struct answers *x, struct answer_part *p, int i, struct errinfo *e)
{
    int64_t unwritten = 0;
    const struct case_tensor *want = &x->plan->tensor[i];
    TRY(output_find(p->side, x->text, want, &p->made_out[i], e));
    const struct tensor *t = &p->side->out[p->made_out[i]].tensor;
    p->input[i] = t;
    if (p->side->record) {
        p->input[i] = &p->made[i];
        TRY(tensor_reserve(&p->made[i], t->dtype, t->rank, t->dim, e));
        TRY(made_scan(p, i, &p->made[i], &unwritten, e));
    } else {
        unwritten = count_unwritten(t, (struct case_span){0, t->count});
    }
    if (unwritten)
        return err_set(e, ERR_FORMAT,
                       "%s%s%.200s: the reference's kernel never wrote %" PRId64 " of %" PRId64
                       " elements of %s",
                       p->side->path, p->side->path[0] ? ": " : "", x->text, unwritten, t->count,
                       want->name);
    return ERR_OK;
}

static enum err references_take(struct answers *x, struct answer_part *p, struct errinfo *e)
{
    for (int i = 0; i < x->plan->n_tensor; i++)
        if (x->plan->tensor[i].reference) {
            x->recorded = true;
            TRY(reference_take(x, p, i, e));
        }
    return ERR_OK;
}

/* --- open and close --------------------------------------------------------------------------
 */

static enum err part_open(struct answers *x, struct answer_part *p, struct errinfo *e)
{
    TRY(output_find(p->side, x->text, x->want, &p->out, e));
    p->t = &p->side->out[p->out].tensor;
    if (!p->side->record)
        return ERR_OK;
    TRY(tensor_reserve(&p->own, p->t->dtype, p->t->rank, p->t->dim, e));
    p->t = &p->own;
    return tensor_digest_begin(p->t, &p->digester, e);
}

static enum err open_all(struct answers *x, struct errinfo *e)
{
    for (int s = 0; s < 2; s++)
        if (x->part[s].side)
            TRY(part_open(x, &x->part[s], e));
    if (!x->judged)
        return ERR_OK;
    for (int s = 0; s < 2; s++)
        if (x->part[s].side)
            TRY(references_take(x, &x->part[s], e));
    TRY(oracle_init(&x->right, x->part[0].t->count, e));
    if (x->recorded && x->part[1].side)
        TRY(oracle_init(&x->other, x->part[0].t->count, e));
    return ERR_OK;
}

enum err answers_open(struct answers *x, const struct case_id *id, const char *text,
                      const struct case_plan *plan, int which, int threads,
                      struct inputs *inputs, const struct answer_side *a,
                      const struct answer_side *b, struct errinfo *e)
{
    *x = (struct answers){.id = id,
                          .plan = plan,
                          .want = &plan->tensor[which],
                          .inputs = inputs,
                          .text = text,
                          .which = which,
                          .threads = threads,
                          .judged = !plan->tensor[which].open};
    x->part[0].side = a;
    x->part[1].side = b;
    for (int s = 0; s < 2; s++)
        memcpy(x->part[s].input, inputs->at, sizeof inputs->at);
    enum err err = open_all(x, e);
    if (err)
        answers_close(x);
    return err;
}

void answers_close(struct answers *x)
{
    for (int s = 0; s < 2; s++) {
        struct answer_part *p = &x->part[s];
        tensor_digest_end(p->digester, NULL);
        tensor_release(&p->own);
        for (int i = 0; i < CASE_TENSOR_MAX; i++)
            tensor_release(&p->made[i]);
    }
    oracle_release(&x->right);
    oracle_release(&x->other);
    memset(x, 0, sizeof *x);
}

const struct tensor *answers_a(const struct answers *x)
{
    return x->part[0].t;
}

const struct tensor *answers_b(const struct answers *x)
{
    return x->part[1].t;
}

const struct oracle *answers_right(const struct answers *x)
{
    return x->judged ? &x->right : NULL;
}

/* --- windows ---------------------------------------------------------------------------------
 */

static enum err side_load(struct answer_part *p, struct case_span span, struct errinfo *e)
{
    if (!p->side->record)
        return ERR_OK;
    tensor_drop(&p->own, 0, p->own.count);
    TRY(part_read(p->side, p->out, span, &p->own, e));
    if (span.from == p->digested) {
        digest_span(p->digester, &p->own, span);
        p->digested = span.to;
    }
    return ERR_OK;
}

/* What the two sides' references differ by is an error of the reference. */
static void oracle_widen(struct oracle *o, const struct oracle *other, struct case_span span)
{
    for (int64_t i = span.from; i < span.to; i++) {
        double apart = fabs(o->value[i] - other->value[i]);
        if (isnan(o->value[i]) && isnan(other->value[i]))
            continue;
        if (o->value[i] == other->value[i])
            continue;
        o->error[i] += apart;
        o->bound[i] = isfinite(apart) ? o->bound[i] + apart : INFINITY;
    }
}

static bool is_there(const struct answers *x, const struct answer_part *p, int i, int n,
                     const struct case_span *span)
{
    struct case_span loaded = p->made_loaded[i];
    for (int k = 0; k < n; k++) {
        struct case_span need = case_needs(x->id, x->plan, x->which, i, span[k]);
        if (need.from < loaded.from || need.to > loaded.to)
            return false;
    }
    return true;
}

static enum err made_load(const struct answers *x, struct answer_part *p, int n,
                          const struct case_span *span, struct errinfo *e)
{
    for (int i = 0; i < x->plan->n_tensor; i++) {
        if (!p->made[i].data || is_there(x, p, i, n, span))
            continue;
        tensor_drop(&p->made[i], 0, p->made[i].count);
        p->made_loaded[i] = (struct case_span){0, 0};
        for (int k = 0; k < n; k++) {
            struct case_span need = case_needs(x->id, x->plan, x->which, i, span[k]);
            TRY(part_read(p->side, p->made_out[i], need, &p->made[i], e));
            if (n == 1)
                p->made_loaded[i] = need;
        }
    }
    return ERR_OK;
}

enum err answers_inputs(struct answers *x, int n, const struct case_span *span, struct errinfo *e)
{
    inputs_load(x->inputs, x->which, n, span);
    return made_load(x, &x->part[0], n, span, e);
}

/* The reference by that side's own inputs, in pieces whose inputs fit. */
static enum err oracle_fill(const struct answers *x, struct answer_part *p, struct case_span span,
                            struct oracle *o, struct errinfo *e)
{
    for (struct case_span piece; span.from < span.to; span.from = piece.to) {
        piece = x->want->whole ? span : inputs_piece(x->inputs, x->which, span);
        inputs_load(x->inputs, x->which, 1, &piece);
        TRY(made_load(x, p, 1, &piece, e));
        TRY(x->id->family->oracle(x->id, x->plan, p->input, x->which, piece, x->threads, o, e));
    }
    return ERR_OK;
}

static enum err oracle_load(struct answers *x, struct case_span span, struct errinfo *e)
{
    bool again = x->loaded.to > 0;
    if (x->want->whole && again)
        return ERR_OK;
    if (x->want->whole)
        span = (struct case_span){0, x->right.count};
    if (again)
        oracle_drop(&x->right, 0, x->right.count);
    TRY(oracle_fill(x, &x->part[0], span, &x->right, e));
    if (!x->other.value)
        return ERR_OK;
    if (again)
        oracle_drop(&x->other, 0, x->other.count);
    TRY(oracle_fill(x, &x->part[1], span, &x->other, e));
    oracle_widen(&x->right, &x->other, span);
    return ERR_OK;
}

enum err answers_load(struct answers *x, struct case_span span, struct errinfo *e)
{
    if (span.from >= x->loaded.from && span.to <= x->loaded.to)
        return ERR_OK;
    for (int s = 0; s < 2; s++)
        if (x->part[s].side)
            TRY(side_load(&x->part[s], span, e));
    if (x->judged)
        TRY(oracle_load(x, span, e));
    x->loaded = span;
    return ERR_OK;
}

enum err answers_check(struct answers *x, struct errinfo *e)
{
    for (int s = 0; s < 2; s++) {
        struct answer_part *p = &x->part[s];
        char digest[33];
        if (!p->digester || p->digested != p->t->count)
            continue;
        tensor_digest_end(p->digester, digest);
        p->digester = NULL;
        TRY(record_out_check(p->side->record, p->side->run, p->side->at, p->out, digest, e));
    }
    return ERR_OK;
}

int64_t answer_beyond(const struct tensor *a, const struct tensor *b, const struct case_limit *l,
                      struct case_span span)
{
    int64_t beyond = 0;
    for (int64_t i = span.from; l && b && i < span.to; i++) {
        double x = tensor_value(a, i), y = tensor_value(b, i), size = fmax(fabs(x), fabs(y));
        if (isnan(x) || isnan(y) || isinf(size))
            beyond += !(isnan(x) && isnan(y)) && x != y;
        else
            beyond += fabs(x - y) > l->ulp * ulp_size(a->dtype, size) + l->abs + l->rel * size;
    }
    return beyond;
}
