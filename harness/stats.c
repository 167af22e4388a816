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

/* Sums up to the window at hand are in `all`. */
struct stats {
    struct stats_subject is;
    struct tally_subject subject; /* of the window; b NULL where the sides are alike in it */
    struct case_span window;
    int64_t done;
    bool differ; /* the sides, in some window */
    struct block all;

    int64_t blocks;      /* of the window */
    struct block *block; /* owned */
    double *values[TALLY_QUANTITIES];  /* owned, of a window: each block has its place */
    uint64_t *cells[TALLY_QUANTITIES]; /* owned; NULL where all elements are one window */

    struct sample sample[TALLY_QUANTITIES]; /* owned */
    enum err code[TALLY_QUANTITIES];
};

/* --- a window --------------------------------------------------------------------------------
 */

/* Long strips where all is ordinary, short ones around what is not, single elements last. */
static void strips_run(const struct tally_subject *s, struct tally *k, int64_t from, int64_t to,
                       int most, struct tally_values *v)
{
    for (; from < to; from += most) {
        int n = to - from < most ? (int)(to - from) : most;
        if (strip_add(k, s, from, n, v))
            continue;
        if (most > STRIP_MIN)
            strips_run(s, k, from, from + n, STRIP_MIN, v);
        else
            tally_elements(k, s, from, from + n, v);
    }
}

/* B is as A: so are its errors, and finite elements are 0 away from each other. */
static void block_double(struct stats *s, struct block *k, struct tally_values *v, int64_t from,
                         int64_t to)
{
    struct tally *t = &k->tally;
    t->b = t->a;
    t->b_class = t->a_class;
    t->pair.bits_equal = to - from;
    for (int q = TALLY_B_ULP; q <= TALLY_B_BOUND; q++) {
        v->n[q] = v->n[q - TALLY_B_ULP];
        memcpy(v->x[q], v->x[q - TALLY_B_ULP], (size_t)v->n[q] * sizeof *v->x[q]);
    }
    for (int64_t i = from; i < to; i++)
        v->n[TALLY_PAIR_ULP] += dtype_is_finite(s->is.dtype, tensor_bits(s->subject.a, i));
    memset(v->x[TALLY_PAIR_ULP], 0, (size_t)v->n[TALLY_PAIR_ULP] * sizeof(double));
}

static void block_run(void *context, int64_t number)
{
    struct stats *s = context;
    struct block *k = &s->block[number];
    struct tally_values v = {0};
    int64_t from = s->window.from + number * STATS_BLOCK, to = from + STATS_BLOCK;
    to = to < s->window.to ? to : s->window.to;
    for (int q = 0; q < TALLY_QUANTITIES; q++)
        v.x[q] = s->values[q] + number * STATS_BLOCK;
    *k = (struct block){0};
    tally_init(&k->tally);
    strips_run(&s->subject, &k->tally, from, to, STRIP_MAX, &v);
    if (s->is.two_sided && !s->subject.b)
        block_double(s, k, &v, from, to);
    for (int q = 0; q < TALLY_QUANTITIES; q++)
        moments_add(&k->moments[q], v.x[q], v.n[q]);
}

static void values_count(void *context, int64_t q)
{
    const struct stats *s = context;
    for (int64_t number = 0; number < s->blocks; number++) {
        const double *x = s->values[q] + number * STATS_BLOCK;
        for (int64_t i = 0; i < s->block[number].moments[q].count; i++)
            s->cells[q][cells_find(x[i])]++;
    }
}

static enum err broken_reference(const struct oracle *o, int64_t i, struct errinfo *e)
{
    return err_set(e, ERR_USAGE,
                   "the reference of element %lld makes no sense: %g + %g, bound %g; "
                   "the case's oracle is wrong",
                   (long long)i, o->value[i], o->tail[i], o->bound[i]);
}

static bool is_alike(const struct tensor *a, const struct tensor *b, struct case_span w)
{
    size_t width = (size_t)dtype_info(a->dtype)->bytes, at = (size_t)w.from * width;
    return !memcmp((const char *)a->data + at, (const char *)b->data + at,
                   (size_t)(w.to - w.from) * width);
}

/* A window of at most CASE_WINDOW elements. */
static enum err window_add(struct stats *s, const struct tensor *a, const struct tensor *b,
                           const struct oracle *o, struct case_span w, struct errinfo *e)
{
    bool alike = b && is_alike(a, b, w);
    double first = s->done ? s->subject.first : o && o->count ? o->value[0] : 0;
    s->differ |= b && !alike;
    s->subject = (struct tally_subject){a, alike ? NULL : b, o, s->is.poison, first};
    s->window = w;
    s->blocks = (w.to - w.from + STATS_BLOCK - 1) / STATS_BLOCK;
    tasks_run(s->is.threads, s->blocks, block_run, s);
    for (int64_t i = 0; i < s->blocks; i++) {
        tally_merge(&s->all.tally, &s->block[i].tally);
        for (int q = 0; q < TALLY_QUANTITIES; q++)
            moments_merge(&s->all.moments[q], &s->block[i].moments[q]);
    }
    if (s->all.tally.broken >= 0)
        return broken_reference(o, s->all.tally.broken, e);
    if (s->cells[0])
        tasks_run(s->is.threads, TALLY_QUANTITIES, values_count, s);
    s->done = w.to;
    return ERR_OK;
}

enum err stats_add(struct stats *s, const struct tensor *a, const struct tensor *b,
                   const struct oracle *o, struct case_span window, struct errinfo *e)
{
    for (int64_t from = window.from; from < window.to; from += CASE_WINDOW) {
        struct case_span part = {from, from + CASE_WINDOW};
        part.to = part.to < window.to ? part.to : window.to;
        TRY(window_add(s, a, b, o, part, e));
    }
    return ERR_OK;
}

int64_t stats_bad(const struct stats *s, int side)
{
    const struct tally *k = &s->all.tally;
    const struct side_stats *t = side ? &k->b : &k->a;
    if (!s->is.reference)
        return side && s->is.two_sided ? s->done - k->pair.bits_equal : 0;
    return t->nan_wrong + t->inf_wrong + t->over_bound + t->unwritten;
}

/* --- the whole -------------------------------------------------------------------------------
 */

static enum err sample_from_blocks(struct stats *s, int64_t q)
{
    double *x = s->values[q];
    int64_t n = 0;
    for (int64_t number = 0; number < s->blocks; number++) {
        int64_t size = s->block[number].moments[q].count;
        memmove(x + n, x + number * STATS_BLOCK, (size_t)size * sizeof *x);
        n += size;
    }
    s->values[q] = NULL;
    if (s->differ && (q == TALLY_A_ULP || q == TALLY_B_ULP))
        return sample_from_values(x, n, &s->sample[q], NULL); /* all, to be compared */
    return cells_sample_values(x, n, distribution_quantile_at, DISTRIBUTION_QUANTILES - 1,
                               &s->sample[q], NULL);
}

static void sample_make(void *context, int64_t q)
{
    struct stats *s = context;
    if (q > TALLY_A_BOUND && !s->differ)
        return;
    s->code[q] = s->cells[q] ? cells_sample(s->cells[q], &s->sample[q], NULL)
                             : sample_from_blocks(s, q);
}

static void side_finish(const struct stats *s, struct side_stats *side, int64_t class_wrong, int q)
{
    side->count = s->is.count;
    if (class_wrong >= 0)
        side->worst_index = class_wrong;
    distribution_make(&s->all.moments[q], &s->sample[q], &side->ulp);
    distribution_make(&s->all.moments[q + 1], &s->sample[q + 1], &side->bound);
}

static void pair_finish(const struct stats *s, struct pair_stats *pair)
{
    const struct sample *a = &s->sample[TALLY_A_ULP], *b = &s->sample[TALLY_B_ULP];
    pair->count = s->is.count;
    if (s->all.tally.pair_class >= 0)
        pair->worst_index = s->all.tally.pair_class;
    distribution_make(&s->all.moments[TALLY_PAIR_ULP], &s->sample[TALLY_PAIR_ULP], &pair->ulp);
    sample_distance(a, b, &pair->ks, &pair->wasserstein);
    pair->ks_p = sample_ks_p(pair->ks, a->total, b->total);
}

/* Both sides alike: every finite element is 0 away from itself. */
static struct pair_stats pair_of_same(const struct stats *s)
{
    struct pair_stats p = {.count = s->is.count, .bits_equal = s->is.count, .ks_p = 1};
    int64_t finite = s->all.moments[TALLY_PAIR_ULP].count;
    p.worst_index = p.first_index = -1;
    p.ulp.count = p.ulp.zero = finite;
    p.ulp.sign_p = 1;
    p.ulp.hist[0] = (uint64_t)finite;
    return p;
}

static void stats_finish(const struct stats *s, struct output_stats *ret_stats)
{
    const struct tally *k = &s->all.tally;
    struct output_stats r = {.has_reference = s->is.reference, .a = k->a};
    side_finish(s, &r.a, k->a_class, TALLY_A_ULP);
    if (s->is.two_sided && !s->differ) {
        r.b = r.a;
        r.pair = pair_of_same(s);
    } else if (s->is.two_sided) {
        r.b = k->b;
        r.b.unjudged = r.a.unjudged;
        r.pair = k->pair;
        side_finish(s, &r.b, k->b_class, TALLY_B_ULP);
        pair_finish(s, &r.pair);
    }
    r.power = k->judged ? (double)k->powerful / (double)k->judged : 0;
    r.reference_constant = s->is.reference && s->is.count > 1 && k->constant;
    *ret_stats = r;
}

static enum err out_of_memory(const struct stats *s, struct errinfo *e)
{
    return err_set(e, ERR_NOMEM, "no memory for the statistics of %lld elements",
                   (long long)s->is.count);
}

enum err stats_end(struct stats *s, struct output_stats *ret_stats, struct errinfo *e)
{
    tasks_run(s->is.threads, TALLY_QUANTITIES, sample_make, s);
    for (int q = 0; q < TALLY_QUANTITIES; q++)
        if (s->code[q])
            return out_of_memory(s, e);
    stats_finish(s, ret_stats);
    return ERR_OK;
}

void stats_close(struct stats *s)
{
    if (!s)
        return;
    for (int q = 0; q < TALLY_QUANTITIES; q++) {
        free(s->values[q]);
        free(s->cells[q]);
        sample_release(&s->sample[q]);
    }
    free(s->block);
    free(s);
}

static bool allocate(struct stats *s)
{
    int64_t most = s->is.count < CASE_WINDOW ? s->is.count : CASE_WINDOW;
    s->block = malloc(sizeof *s->block * (size_t)((most + STATS_BLOCK - 1) / STATS_BLOCK) + 1);
    bool fine = s->block != NULL;
    for (int q = 0; fine && q < TALLY_QUANTITIES; q++) {
        s->values[q] = malloc(sizeof *s->values[q] * (size_t)most + 1);
        if (s->is.count > STATS_EXACT)
            s->cells[q] = calloc(CELLS, sizeof *s->cells[q]);
        fine = s->values[q] && (s->cells[q] || s->is.count <= STATS_EXACT);
    }
    return fine;
}

enum err stats_begin(const struct stats_subject *is, struct stats **ret_stats, struct errinfo *e)
{
    struct stats *s = calloc(1, sizeof *s);
    if (!s)
        return err_set(e, ERR_NOMEM, "out of memory");
    s->is = *is;
    tally_init(&s->all.tally);
    if (!allocate(s)) {
        enum err err = out_of_memory(s, e);
        stats_close(s);
        return err;
    }
    *ret_stats = s;
    return ERR_OK;
}

enum err stats_compute(const struct tensor *a, const struct tensor *b, const struct oracle *o,
                       uint64_t poison, int threads, struct output_stats *ret_stats,
                       struct errinfo *e)
{
    struct stats *s;
    const struct stats_subject is = {.dtype = a->dtype,
                                     .count = a->count,
                                     .two_sided = b,
                                     .reference = o,
                                     .poison = poison,
                                     .threads = threads > 1 ? threads : 1};
    if (o && o->count != a->count)
        return err_set(e, ERR_USAGE, "a reference of %lld elements for an output of %lld",
                       (long long)o->count, (long long)a->count);
    TRY(stats_begin(&is, &s, e));
    enum err err = stats_add(s, a, b, o, (struct case_span){0, a->count}, e);
    if (!err)
        err = stats_end(s, ret_stats, e);
    stats_close(s);
    return err;
}
