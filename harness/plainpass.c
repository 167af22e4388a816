/* SPDX-License-Identifier: Apache-2.0 */
#include "plainpass.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "gap_sample.h"
#include "plainview.h"
#include "tasks.h"

enum { WINDOW = 16 * GAP_PIECE };

struct lane {
    struct tensorread read[2];
    struct gap gap;
    unsigned char *gathered[2]; /* owned; what several ranges gave */
    int64_t *start;             /* owned */
    enum err code;
    struct errinfo info;
};

struct pass {
    struct plainpass_side side[2];
    const struct limits *limits;
    struct gap_sample *sample; /* NULL: none */
    struct plainview view;
    int width;
    bool memory_order;
    int lanes;
    struct lane *lane; /* owned */
    atomic_llong next; /* unit */
    int64_t end;
    atomic_bool stop;

    /* A side that can only be read in order is read a window at a time. */
    bool in_order[2];
    struct tensorread order[2];
    unsigned char *window[2]; /* owned */
    int64_t window_from, window_size;
    enum err order_code[2];
    struct errinfo order_info[2];
};

static enum err named(const struct plainpass_side *s, enum err err, struct errinfo *e)
{
    return err_context(e, err, "%s: %s", s->file->path, s->tensor->name);
}

/* --- one unit --- */

static enum err range(struct pass *p, struct lane *l, int side, int64_t from, int64_t n,
                      const void **ret_data)
{
    if (p->in_order[side]) {
        *ret_data = p->window[side] + (from - p->window_from) * p->width;
        return ERR_OK;
    }
    enum err err = tensorread_range(&l->read[side], from, n, ret_data, &l->info);
    return err ? named(&p->side[side], err, &l->info) : ERR_OK;
}

static enum err range_run(struct pass *p, struct lane *l, int64_t from, int64_t n)
{
    const struct gap_where where = {n, &from};
    const void *a, *b;
    TRY(range(p, l, 0, from, n, &a));
    TRY(range(p, l, 1, from, n, &b));
    gap_add(&l->gap, p->side[0].tensor->dtype, a, b, n, &where, p->limits);
    return ERR_OK;
}

/* Runs that are shorter than a piece, several at once. */
static enum err runs_run(struct pass *p, struct lane *l, int64_t run, int64_t n)
{
    const struct gap_where where = {run, l->start};
    for (int side = 0; side < 2; side++)
        for (int64_t i = 0; i < n; i++) {
            const void *data;
            TRY(range(p, l, side, l->start[i], run, &data));
            memcpy(l->gathered[side] + i * run * p->width, data, (size_t)(run * p->width));
        }
    gap_add(&l->gap, p->side[0].tensor->dtype, l->gathered[0], l->gathered[1], run * n, &where,
            p->limits);
    return ERR_OK;
}

static enum err long_run(struct pass *p, struct lane *l, int64_t from, int64_t n)
{
    for (int64_t done = 0; done < n; done += GAP_PIECE)
        TRY(range_run(p, l, from + done, n - done < GAP_PIECE ? n - done : GAP_PIECE));
    return ERR_OK;
}

/* Runs from number `i` on that lie side by side on both sides. */
static enum err parts_run(struct pass *p, struct lane *l, const struct tensorread_part part[2],
                          int64_t run, int64_t i, int64_t n)
{
    const struct gap_where where = {run, l->start};
    const void *data[2];
    for (int side = 0; side < 2; side++) {
        enum err err = tensorread_part(&l->read[side], &part[side], i * run, run * n,
                                       &data[side], &l->info);
        if (err)
            return named(&p->side[side], err, &l->info);
    }
    gap_add(&l->gap, p->side[0].tensor->dtype, data[0], data[1], run * n, &where, p->limits);
    return ERR_OK;
}

static enum err unit_run(struct pass *p, struct lane *l, int64_t unit)
{
    const struct plainview *v = &p->view;
    struct plainview_box b = plainview_box(v, unit);
    if (b.run > GAP_PIECE / 2 || b.runs == 1) {
        for (int64_t i = 0; i < b.runs; i++)
            TRY(long_run(p, l, plainview_start(v, &b, i), b.run));
        return ERR_OK;
    }
    struct tensorread_part part[2];
    bool parts = tensorread_box(&l->read[0], b.start, b.size, &part[0]) &&
                 tensorread_box(&l->read[1], b.start, b.size, &part[1]);
    for (int64_t i = 0, most = GAP_PIECE / b.run; i < b.runs; i += most) {
        int64_t n = b.runs - i < most ? b.runs - i : most;
        for (int64_t k = 0; k < n; k++)
            l->start[k] = plainview_start(v, &b, i + k);
        TRY(parts ? parts_run(p, l, part, b.run, i, n) : runs_run(p, l, b.run, n));
    }
    return ERR_OK;
}

static void lane_run(void *context, int64_t number)
{
    struct pass *p = context;
    struct lane *l = &p->lane[number];
    while (!l->code && !p->stop) {
        int64_t unit = atomic_fetch_add(&p->next, 1);
        if (unit >= p->end)
            return;
        l->code = unit_run(p, l, unit);
        if (l->code)
            p->stop = true;
    }
}

/* --- windows --- */

static void window_fill(void *context, int64_t side)
{
    struct pass *p = context;
    for (int64_t done = 0; p->in_order[side] && done < p->window_size; done += GAP_PIECE) {
        int64_t left = p->window_size - done, n = left < GAP_PIECE ? left : GAP_PIECE;
        const void *data;
        p->order_code[side] = tensorread_range(&p->order[side], p->window_from + done, n, &data,
                                               &p->order_info[side]);
        if (p->order_code[side]) {
            named(&p->side[side], p->order_code[side], &p->order_info[side]);
            return;
        }
        memcpy(p->window[side] + done * p->width, data, (size_t)(n * p->width));
    }
}

static enum err first_error(const struct pass *p, struct errinfo *e)
{
    for (int side = 0; side < 2; side++)
        if (p->order_code[side])
            return err_set(e, p->order_code[side], "%s", p->order_info[side].text);
    for (int i = 0; i < p->lanes; i++)
        if (p->lane[i].code)
            return err_set(e, p->lane[i].code, "%s", p->lane[i].info.text);
    return ERR_OK;
}

static enum err pass_elements(struct pass *p, struct errinfo *e)
{
    int64_t count = p->side[0].tensor->count, step = p->view.units;
    bool windows = p->in_order[0] || p->in_order[1];
    if (windows)
        step = (WINDOW + p->view.unit[0] - 1) / p->view.unit[0];
    for (int64_t unit = 0; unit < p->view.units; unit += step) {
        p->next = unit;
        p->end = unit + step < p->view.units ? unit + step : p->view.units;
        if (windows) {
            int64_t end = p->end * p->view.unit[0];
            p->window_from = unit * p->view.unit[0];
            p->window_size = (end < count ? end : count) - p->window_from;
            tasks_run(p->window_size > GAP_PIECE ? 2 : 1, 2, window_fill, p);
            TRY(first_error(p, e));
        }
        tasks_run(p->lanes, p->lanes, lane_run, p);
        TRY(first_error(p, e));
    }
    return ERR_OK;
}

/* --- setting up --- */

static size_t lane_memory(const struct pass *p)
{
    size_t size = GAP_CELLS * 8 + GAP_PLACES * sizeof(struct gap_element);
    if (p->view.rank > 1)
        size += GAP_PIECE * (8 + 2 * (size_t)p->width);
    for (int side = 0; side < 2; side++)
        if (!p->in_order[side])
            size += tensorread_memory(p->side[side].tensor, GAP_PIECE);
    return size;
}

static void choose_lanes(struct pass *p, int threads)
{
    size_t fit = PLAINPASS_MEMORY / lane_memory(p);
    p->lanes = threads < 1 ? 1 : threads > 256 ? 256 : threads;
    if ((size_t)p->lanes > fit)
        p->lanes = fit ? (int)fit : 1;
    if (p->lanes > p->view.units)
        p->lanes = p->view.units > 1 ? (int)p->view.units : 1;
}

static enum err lane_open(struct pass *p, struct lane *l, struct errinfo *e)
{
    TRY(gap_init(&l->gap, e));
    l->gap.sample = p->sample;
    for (int side = 0; side < 2; side++) {
        const struct plainpass_side *s = &p->side[side];
        if (p->view.rank > 1)
            l->gathered[side] = malloc(GAP_PIECE * (size_t)p->width);
        if (p->view.rank > 1 && !l->gathered[side])
            return err_set(e, ERR_NOMEM, "out of memory");
        if (p->in_order[side])
            continue;
        enum err err = tensorread_open(s->file, s->tensor, GAP_PIECE, &l->read[side], e);
        if (err)
            return named(s, err, e);
        l->read[side].memory_order = p->memory_order;
    }
    l->start = p->view.rank > 1 ? malloc(GAP_PIECE * sizeof *l->start) : NULL;
    return l->start || p->view.rank == 1 ? ERR_OK : err_set(e, ERR_NOMEM, "out of memory");
}

static enum err pass_open(struct pass *p, int threads, struct errinfo *e)
{
    for (int side = 0; side < 2; side++)
        p->in_order[side] = tensorread_in_order(p->side[side].tensor);
    p->view =
        plainview_make(p->side[0].tensor, p->side[1].tensor, p->in_order[0] || p->in_order[1]);
    choose_lanes(p, threads);
    p->lane = calloc((size_t)p->lanes, sizeof *p->lane);
    if (!p->lane)
        return err_set(e, ERR_NOMEM, "out of memory");
    for (int i = 0; i < p->lanes; i++)
        TRY(lane_open(p, &p->lane[i], e));
    for (int side = 0; side < 2; side++) {
        const struct plainpass_side *s = &p->side[side];
        if (!p->in_order[side])
            continue;
        int64_t most = WINDOW + p->view.unit[0];
        most = most < s->tensor->count ? most : s->tensor->count;
        p->window[side] = malloc((size_t)(most * p->width) + 1);
        if (!p->window[side])
            return err_set(e, ERR_NOMEM, "out of memory");
        TRY(tensorread_open(s->file, s->tensor, GAP_PIECE, &p->order[side], e));
        p->order[side].memory_order = p->memory_order;
    }
    return ERR_OK;
}

static void pass_close(struct pass *p)
{
    for (int i = 0; p->lane && i < p->lanes; i++) {
        struct lane *l = &p->lane[i];
        for (int side = 0; side < 2; side++) {
            tensorread_close(&l->read[side]);
            free(l->gathered[side]);
        }
        gap_release(&l->gap);
        free(l->start);
    }
    free(p->lane);
    for (int side = 0; side < 2; side++) {
        tensorread_close(&p->order[side]);
        free(p->window[side]);
    }
}

/* The first lane's measure, with those of all others in it; it leaves the lane. */
static struct gap take_gap(struct pass *p)
{
    for (int i = 1; i < p->lanes; i++)
        gap_merge(&p->lane[0].gap, &p->lane[i].gap);
    struct gap g = p->lane[0].gap;
    p->lane[0].gap = (struct gap){0};
    return g;
}

static bool both_turned(const struct plainpass_side *a, const struct plainpass_side *b)
{
    return a->tensor->fortran && b->tensor->fortran;
}

enum err plainpass_run(const struct plainpass_side *a, const struct plainpass_side *b,
                       int threads, const struct limits *limits, struct gap_sample *sample,
                       struct gap *ret_gap, struct errinfo *e)
{
    struct pass p = {.side = {*a, *b},
                     .limits = limits,
                     .sample = sample,
                     .width = dtype_info(a->tensor->dtype)->bytes,
                     .memory_order = both_turned(a, b)};
    enum err err = pass_open(&p, threads, e);
    if (!err)
        err = pass_elements(&p, e);
    if (!err)
        *ret_gap = take_gap(&p);
    pass_close(&p);
    return err;
}

int64_t plainpass_index(const struct plainpass_side *a, const struct plainpass_side *b,
                        int64_t index)
{
    const struct tensorfile_tensor *t = a->tensor;
    if (index < 0 || !both_turned(a, b))
        return index;
    int64_t turned = 0, step = t->count;
    for (int i = 0; i < t->rank; i++) {
        step /= t->dim[i];
        turned += index % t->dim[i] * step;
        index /= t->dim[i];
    }
    return turned;
}
