/* SPDX-License-Identifier: Apache-2.0 */
#include "excerpt.h"

#include <stdlib.h>
#include <string.h>

/* --- which elements --------------------------------------------------------------------------
 */

/* Parts are whole units: rows, in groups of 64 where they are short, so that a row keeps its
 * place in tiles; or pieces of a row. */
struct units {
    int64_t width, count; /* elements of a unit; units of the output */
    int64_t size;         /* units of a part */
    bool rows;            /* units are rows */
};

static struct units units_of(const struct tensor *t)
{
    enum { PART = CASE_WINDOW / EXCERPT_PARTS, GROUP = 64 };
    struct units u = {.width = t->rank ? t->dim[t->rank - 1] : 1};
    u.rows = t->rank > 1 && u.width <= PART;
    if (u.rows && u.width <= PART / GROUP)
        u.width *= GROUP;
    else if (!u.rows)
        u.width = PART;
    u.count = (t->count + u.width - 1) / u.width;
    u.size = PART / u.width;
    return u;
}

static int by_start(const void *a, const void *b)
{
    const struct case_span *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* The part whose middle is that unit. */
static struct case_span part_at(const struct units *u, int64_t unit, int64_t count)
{
    int64_t from = unit - u->size / 2, last = u->count - u->size;
    from = from > last ? last : from;
    from = from < 0 ? 0 : from;
    int64_t to = (from + u->size) * u->width;
    return (struct case_span){from * u->width, to < count ? to : count};
}

static int parts_choose(const struct tensor *t, const int64_t asked[EXCERPT_ASKED],
                        struct case_span part[EXCERPT_PARTS])
{
    struct units u = units_of(t);
    int n = 0, kept = 0, spread = EXCERPT_PARTS - EXCERPT_ASKED;
    for (int k = 0; k < spread; k++)
        part[n++] = part_at(&u, k * (u.count - 1) / (spread - 1), t->count);
    for (int k = 0; k < EXCERPT_ASKED; k++)
        if (asked[k] >= 0)
            part[n++] = part_at(&u, asked[k] / u.width, t->count);
    qsort(part, (size_t)n, sizeof *part, by_start);
    for (int k = 0; k < n; k++) {
        struct case_span next = part[k];
        if (kept && next.from < part[kept - 1].to)
            next.from = part[kept - 1].to;
        if (next.from < next.to)
            part[kept++] = next;
    }
    return kept;
}

/* --- what is there ---------------------------------------------------------------------------
 */

static int64_t size_of(const struct excerpt *p)
{
    int64_t n = 0;
    for (int k = 0; k < p->n; k++)
        n += p->part[k].to - p->part[k].from;
    return n;
}

/* The shape of `t` with its rows alone left: {1, ..., rows, columns}, or a line. */
static enum err shape_make(const struct excerpt *p, const struct tensor *t, enum dtype d,
                           struct tensor *ret, struct errinfo *e)
{
    int64_t n = size_of(p), dim[TENSOR_RANK_MAX], columns = t->rank ? t->dim[t->rank - 1] : 1;
    bool rows = units_of(t).rows;
    for (int i = 0; i < TENSOR_RANK_MAX; i++)
        dim[i] = 1;
    if (!rows)
        return tensor_init(ret, d, 1, &n, e);
    dim[t->rank - 2] = n / columns;
    dim[t->rank - 1] = columns;
    return tensor_init(ret, d, t->rank, dim, e);
}

static void elements_copy(struct tensor *to, int64_t at, const struct tensor *from,
                          struct case_span span)
{
    size_t width = (size_t)dtype_info(from->dtype)->bytes;
    memcpy((char *)to->data + (size_t)at * width,
           (const char *)from->data + (size_t)span.from * width,
           (size_t)(span.to - span.from) * width);
}

static void oracle_copy(struct oracle *to, int64_t at, const struct oracle *from,
                        struct case_span span)
{
    double *const t[] = {to->value, to->tail, to->error, to->bound, to->drop, to->scale};
    const double *const f[] = {from->value, from->tail,  from->error,
                               from->bound, from->drop, from->scale};
    for (int i = 0; i < 6; i++)
        memcpy(t[i] + at, f[i] + span.from, (size_t)(span.to - span.from) * sizeof(double));
}

/* Does an element of the output depend on the same one of that input? */
static bool is_beside(const struct answers *x, const struct excerpt *p, int i)
{
    for (int k = 0; k < p->n; k++) {
        struct case_span need = case_needs(x->id, x->plan, x->which, i, p->part[k]);
        if (need.from > p->part[k].from || need.to < p->part[k].to)
            return false;
    }
    return x->part[0].input[i]->count == answers_a(x)->count;
}

static enum err room_make(struct answers *x, struct excerpt *p, struct errinfo *e)
{
    const struct tensor *a = answers_a(x), *b = answers_b(x);
    TRY(shape_make(p, a, a->dtype, &p->a, e));
    if (b)
        TRY(shape_make(p, a, b->dtype, &p->b, e));
    if (x->judged)
        TRY(oracle_init(&p->right, p->a.count, e));
    for (int i = 0; i < x->plan->n_tensor; i++)
        if (x->part[0].input[i] && is_beside(x, p, i))
            TRY(shape_make(p, a, x->part[0].input[i]->dtype, &p->input[i], e));
    p->place = malloc((size_t)p->a.count * sizeof *p->place);
    return p->place ? ERR_OK : err_set(e, ERR_NOMEM, "out of memory while looking for the cause");
}

static enum err part_take(struct answers *x, struct excerpt *p, int64_t at, struct case_span span,
                          struct errinfo *e)
{
    TRY(answers_load(x, span, e));
    elements_copy(&p->a, at, answers_a(x), span);
    if (p->b.data)
        elements_copy(&p->b, at, answers_b(x), span);
    if (x->judged)
        oracle_copy(&p->right, at, &x->right, span);
    for (int64_t i = span.from; i < span.to; i++)
        p->place[at + i - span.from] = i;
    return ERR_OK;
}

/* An input that is needed whole for any element is there whole. */
static bool is_whole(const struct answers *x, int i)
{
    struct case_span one = {0, 1}, need = case_needs(x->id, x->plan, x->which, i, one);
    return need.to - need.from == x->part[0].input[i]->count;
}

static void inputs_take(struct answers *x, struct excerpt *p)
{
    for (int i = 0; i < x->plan->n_tensor; i++) {
        const struct tensor *t = x->part[0].input[i];
        if (!t)
            continue;
        int64_t at = 0;
        for (int k = 0; p->input[i].data && k < p->n; k++) {
            elements_copy(&p->input[i], at, t, p->part[k]);
            at += p->part[k].to - p->part[k].from;
        }
        p->beside[i] = p->input[i].data ? &p->input[i] : is_whole(x, i) ? t : NULL;
    }
}

static enum err excerpt_fill(struct answers *x, struct excerpt *p, struct errinfo *e)
{
    int64_t at = 0;
    TRY(room_make(x, p, e));
    for (int k = 0; k < p->n; k++) {
        TRY(part_take(x, p, at, p->part[k], e));
        at += p->part[k].to - p->part[k].from;
    }
    TRY(answers_inputs(x, p->n, p->part, e));
    inputs_take(x, p);
    return ERR_OK;
}

enum err excerpt_make(struct answers *x, const int64_t asked[EXCERPT_ASKED], struct excerpt *p,
                      struct errinfo *e)
{
    memset(p, 0, sizeof *p);
    p->n = parts_choose(answers_a(x), asked, p->part);
    enum err err = excerpt_fill(x, p, e);
    if (err)
        excerpt_release(p);
    return err;
}

void excerpt_release(struct excerpt *p)
{
    tensor_release(&p->a);
    tensor_release(&p->b);
    oracle_release(&p->right);
    for (int i = 0; i < CASE_TENSOR_MAX; i++)
        tensor_release(&p->input[i]);
    free(p->place);
    memset(p, 0, sizeof *p);
}
