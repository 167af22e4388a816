/* SPDX-License-Identifier: Apache-2.0 */
#include "stats.h"

#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "strip.h"
#include "tasks.h"

struct block {
    struct tally tally;
    struct moments moments[TALLY_QUANTITIES];
};

/* One call. Blocks belong to lanes in turn: lane l of n takes blocks l, l + n, ... */
struct pass {
    struct tally_subject subject;
    int64_t count, blocks;
    int lanes;
    bool same;           /* a and b are equal bit for bit: b's distributions are a's */
    struct block *block; /* owned */

    /* Up to STATS_EXACT elements every value has a place; above, the values of a block go to
     * the lane's scratch and are counted at once in the lane's cells. All owned. */
    double *values[TALLY_QUANTITIES];
    double *scratch;
    uint64_t **cells; /* cells[lane * TALLY_QUANTITIES + quantity], or NULL */

    struct sample sample[TALLY_QUANTITIES]; /* owned */
    enum err code[TALLY_QUANTITIES];
};

static double *block_values(const struct pass *p, int lane, int64_t number, int q)
{
    if (p->cells)
        return p->scratch + ((int64_t)lane * TALLY_QUANTITIES + q) * STATS_BLOCK;
    return p->values[q] + number * STATS_BLOCK;
}

/* Long strips where all is ordinary, short ones around what is not, single elements last. */
static void strips_run(const struct pass *p, struct tally *k, int64_t from, int64_t to,
                       int most, struct tally_values *v)
{
    for (; from < to; from += most) {
        int n = to - from < most ? (int)(to - from) : most;
        if (strip_add(k, &p->subject, from, n, v))
            continue;
        if (most > STRIP_MIN)
            strips_run(p, k, from, from + n, STRIP_MIN, v);
        else
            tally_elements(k, &p->subject, from, from + n, v);
    }
}

static void block_run(const struct pass *p, int lane, int64_t number)
{
    struct block *k = &p->block[number];
    struct tally_values v = {0};
    int64_t from = number * STATS_BLOCK, to = from + STATS_BLOCK;
    for (int q = 0; q < TALLY_QUANTITIES; q++)
        v.x[q] = block_values(p, lane, number, q);
    *k = (struct block){0};
    tally_init(&k->tally);
    strips_run(p, &k->tally, from, to < p->count ? to : p->count, STRIP_MAX, &v);
    for (int q = 0; q < TALLY_QUANTITIES; q++) {
        moments_add(&k->moments[q], v.x[q], v.n[q]);
        if (p->cells)
            for (int64_t j = 0; j < v.n[q]; j++)
                p->cells[lane * TALLY_QUANTITIES + q][cells_find(v.x[q][j])]++;
    }
}

static void lane_run(void *context, int64_t lane)
{
    const struct pass *p = context;
    for (int64_t number = lane; number < p->blocks; number += p->lanes)
        block_run(p, (int)lane, number);
}

static enum err sample_from_lanes(struct pass *p, int64_t q)
{
    for (int lane = 1; lane < p->lanes; lane++)
        for (int i = 0; i < CELLS; i++)
            p->cells[q][i] += p->cells[lane * TALLY_QUANTITIES + q][i];
    return cells_sample(p->cells[q], &p->sample[q], NULL);
}

static enum err sample_from_blocks(struct pass *p, int64_t q)
{
    double *x = p->values[q];
    int64_t n = 0;
    for (int64_t number = 0; number < p->blocks; number++) {
        int64_t size = p->block[number].moments[q].count;
        memmove(x + n, x + number * STATS_BLOCK, (size_t)size * sizeof *x);
        n += size;
    }
    p->values[q] = NULL;
    if (p->subject.b && (q == TALLY_A_ULP || q == TALLY_B_ULP))
        return sample_from_values(x, n, &p->sample[q], NULL); /* all, to be compared */
    return cells_sample_values(x, n, distribution_quantile_at, DISTRIBUTION_QUANTILES - 1,
                               &p->sample[q], NULL);
}

static void sample_make(void *context, int64_t q)
{
    struct pass *p = context;
    if (q > TALLY_A_BOUND && !p->subject.b)
        return;
    p->code[q] = p->cells ? sample_from_lanes(p, q) : sample_from_blocks(p, q);
}

static void pass_release(struct pass *p)
{
    for (int q = 0; q < TALLY_QUANTITIES; q++) {
        free(p->values[q]);
        sample_release(&p->sample[q]);
    }
    for (int i = 0; p->cells && i < p->lanes * TALLY_QUANTITIES; i++)
        free(p->cells[i]);
    free(p->cells);
    free(p->scratch);
    free(p->block);
}

static bool cells_allocate(struct pass *p)
{
    int n = p->lanes * TALLY_QUANTITIES;
    p->scratch = malloc(sizeof *p->scratch * STATS_BLOCK * (size_t)n);
    p->cells = calloc((size_t)n, sizeof *p->cells);
    bool fine = p->scratch && p->cells;
    for (int i = 0; fine && i < n; i++) {
        p->cells[i] = calloc(CELLS, sizeof **p->cells);
        fine = p->cells[i] != NULL;
    }
    return fine;
}

static bool pass_allocate(struct pass *p)
{
    p->block = malloc(sizeof *p->block * (size_t)p->blocks + 1);
    if (!p->block || p->count > STATS_EXACT)
        return p->block && cells_allocate(p);
    for (int q = 0; q < TALLY_QUANTITIES; q++) {
        p->values[q] = malloc(sizeof *p->values[q] * (size_t)p->count + 1);
        if (!p->values[q])
            return false;
    }
    return true;
}

static void side_finish(const struct pass *p, struct side_stats *s, int64_t class_wrong, int q,
                        const struct block *all)
{
    s->count = p->count;
    if (class_wrong >= 0)
        s->worst_index = class_wrong;
    distribution_make(&all->moments[q], &p->sample[q], &s->ulp);
    distribution_make(&all->moments[q + 1], &p->sample[q + 1], &s->bound);
}

static void pair_finish(const struct pass *p, struct pair_stats *s, const struct block *all)
{
    const struct sample *a = &p->sample[TALLY_A_ULP], *b = &p->sample[TALLY_B_ULP];
    s->count = p->count;
    if (all->tally.pair_class >= 0)
        s->worst_index = all->tally.pair_class;
    distribution_make(&all->moments[TALLY_PAIR_ULP], &p->sample[TALLY_PAIR_ULP], &s->ulp);
    sample_distance(a, b, &s->ks, &s->wasserstein);
    s->ks_p = sample_ks_p(s->ks, a->total, b->total);
}

/* Both sides alike: every finite element is 0 away from itself. */
static struct pair_stats pair_of_same(const struct tensor *t)
{
    struct pair_stats s = {.count = t->count, .bits_equal = t->count, .ks_p = 1};
    int64_t finite = 0;
    for (int64_t i = 0; i < t->count; i++)
        finite += dtype_is_finite(t->dtype, tensor_bits(t, i));
    s.worst_index = s.first_index = -1;
    s.ulp.count = s.ulp.zero = finite;
    s.ulp.sign_p = 1;
    s.ulp.hist[0] = (uint64_t)finite;
    return s;
}

static void stats_finish(const struct pass *p, const struct block *all,
                         struct output_stats *ret_stats)
{
    const struct tally *k = &all->tally;
    struct output_stats s = {.has_reference = p->subject.o != NULL, .a = k->a};
    side_finish(p, &s.a, k->a_class, TALLY_A_ULP, all);
    if (p->same) {
        s.b = s.a;
        s.pair = pair_of_same(p->subject.a);
    } else if (p->subject.b) {
        s.b = k->b;
        s.b.unjudged = s.a.unjudged;
        s.pair = k->pair;
        side_finish(p, &s.b, k->b_class, TALLY_B_ULP, all);
        pair_finish(p, &s.pair, all);
    }
    s.power = k->judged ? (double)k->powerful / (double)k->judged : 0;
    s.reference_constant = s.has_reference && p->count > 1 && k->constant;
    *ret_stats = s;
}

static enum err broken_reference(const struct oracle *o, int64_t i, struct errinfo *e)
{
    return err_set(e, ERR_USAGE,
                   "the reference of element %lld makes no sense: %g + %g, bound %g; "
                   "the case's oracle is wrong",
                   (long long)i, o->value[i], o->tail[i], o->bound[i]);
}

static enum err pass_run(struct pass *p, struct output_stats *ret_stats, struct errinfo *e)
{
    struct block all = {0};
    tasks_run(p->lanes, p->lanes, lane_run, p);
    tally_init(&all.tally);
    for (int64_t i = 0; i < p->blocks; i++) {
        tally_merge(&all.tally, &p->block[i].tally);
        for (int q = 0; q < TALLY_QUANTITIES; q++)
            moments_merge(&all.moments[q], &p->block[i].moments[q]);
    }
    if (all.tally.broken >= 0)
        return broken_reference(p->subject.o, all.tally.broken, e);

    tasks_run(p->lanes, TALLY_QUANTITIES, sample_make, p);
    for (int q = 0; q < TALLY_QUANTITIES; q++)
        if (p->code[q])
            return err_set(e, p->code[q], "no memory for the statistics of %lld elements",
                           (long long)p->count);
    stats_finish(p, &all, ret_stats);
    return ERR_OK;
}

enum err stats_compute(const struct tensor *a, const struct tensor *b, const struct oracle *o,
                       uint64_t poison, int threads, struct output_stats *ret_stats,
                       struct errinfo *e)
{
    if (o && o->count != a->count)
        return err_set(e, ERR_USAGE, "a reference of %lld elements for an output of %lld",
                       (long long)o->count, (long long)a->count);
    bool same = b && memcmp(a->data, b->data, tensor_bytes(a)) == 0;
    struct pass p = {.subject = {a, same ? NULL : b, o, poison},
                     .count = a->count,
                     .blocks = (a->count + STATS_BLOCK - 1) / STATS_BLOCK,
                     .lanes = threads > 1 ? threads : 1,
                     .same = same};
    if (p.lanes > p.blocks)
        p.lanes = p.blocks > 1 ? (int)p.blocks : 1;
    enum err code = pass_allocate(&p)
                        ? pass_run(&p, ret_stats, e)
                        : err_set(e, ERR_NOMEM, "no memory for the statistics of %lld elements",
                                  (long long)a->count);
    pass_release(&p);
    return code;
}
