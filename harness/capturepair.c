/* SPDX-License-Identifier: Apache-2.0 */
#include "capturepair.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capturematch.h"
#include "child.h"
#include "compareout.h"
#include "diagnose.h"
#include "plainmark.h"
#include "select.h"
#include "verdict.h"

/* --- one output -------------------------------------------------------------------------------- */

struct job {
    const struct capture *a, *b;
    const struct capturepair_options *options;
    int threads;
    char first[320]; /* the operator at which the sides part; "" so far */
};

struct pair {
    const struct capture_operator *a, *b;
    struct tensor ta, tb;
    struct oracle oracle; /* zeroed: none */
    bool bounded;
    double unit; /* spacing of the format at the largest element of the reference */
};

static void pair_release(struct pair *p)
{
    tensor_release(&p->ta);
    tensor_release(&p->tb);
    oracle_release(&p->oracle);
}

/* The largest finite magnitude of the reference, in units of the format's spacing there. */
static double unit_of(enum dtype d, const struct tensor *wide)
{
    double most = 0;
    for (int64_t i = 0; i < wide->count; i++) {
        double x = fabs(tensor_value(wide, i));
        if (isfinite(x) && x > most)
            most = x;
    }
    bool floats = dtype_info(d)->kind == DTYPE_KIND_FLOAT;
    return floats ? fmax(most * 2 * dtype_unit(d), dtype_min_normal(d)) : 1;
}

static enum err fill_oracle(struct pair *p, const struct tensor *wide, const struct tensor *bound,
                            struct errinfo *e)
{
    TRY(oracle_init(&p->oracle, wide->count, e));
    p->unit = unit_of(p->ta.dtype, wide);
    for (int64_t i = 0; i < wide->count; i++) {
        double b = bound->data ? tensor_value(bound, i) : CAPTUREPAIR_FAR * p->unit;
        p->oracle.value[i] = tensor_value(wide, i);
        p->oracle.bound[i] = b >= 0 ? b : INFINITY;
        p->oracle.drop[i] = fabs(p->oracle.value[i]);
    }
    p->bounded = bound->data != NULL;
    return ERR_OK;
}

static bool same_shape(const struct tensor *x, const struct tensor *y)
{
    return x->rank == y->rank && !memcmp(x->dim, y->dim, (size_t)x->rank * sizeof *x->dim);
}

/* The reference, from whichever side has one. */
static enum err read_reference(const struct job *j, int i, struct pair *p, struct errinfo *e)
{
    const struct capture *from = p->a->n_wide ? j->a : j->b;
    const struct capture_operator *o = p->a->n_wide ? p->a : p->b;
    struct tensor wide = {0}, bound = {0};
    if (i >= o->n_wide || !*o->wide[i])
        return ERR_OK;
    enum err err = capture_read(from, o->wide[i], &wide, e);
    if (!err && i < o->n_bound && *o->bound[i])
        err = capture_read(from, o->bound[i], &bound, e);
    bool fits = !err && same_shape(&wide, &p->ta) && (!bound.data || same_shape(&bound, &wide));
    if (!err && !fits)
        err = err_set(e, ERR_FORMAT, "%s: the reference of %s has another shape",
                      from->file.path, o->op);
    if (!err)
        err = fill_oracle(p, &wide, &bound, e);
    tensor_release(&wide);
    tensor_release(&bound);
    return err;
}

/* Without a derived bound "wrong" is too strong a word, and what is alike is alike. Causes found
 * for a side that is far off stay. */
static void soften(struct finding_out *o)
{
    const struct side_stats *x = &o->stats.a, *y = &o->stats.b;
    double a = x->worst_bound * CAPTUREPAIR_FAR, b = y->worst_bound * CAPTUREPAIR_FAR;
    bool far = fmax(a, b) > CAPTUREPAIR_FAR && fmax(a, b) > CAPTUREPAIR_RATIO * fmin(a, b);
    bool classes = o->stats.pair.nan_differs || o->stats.pair.inf_differs;
    if (o->stats.pair.bits_equal == o->stats.pair.count)
        o->verdict = VERDICT_SAME;
    else if (far || classes)
        o->verdict = VERDICT_DIFFERENT;
    else if (o->verdict != VERDICT_DISTINGUISHABLE)
        o->verdict = VERDICT_EQUIVALENT;
    if (o->verdict != VERDICT_DIFFERENT)
        o->n_claim = 0;
    snprintf(o->reason, sizeof o->reason,
             "%" PRId64 " of %" PRId64 " elements of %s differ; from float64 A is off by up to "
             "%.3g, B by %.3g units of the format at the largest element%s (no bound is derived "
             "for this operator)",
             o->stats.pair.count - o->stats.pair.bits_equal, o->stats.pair.count, o->name, a, b,
             classes ? ", and NaN or Inf differ" : "");
}

static const struct family no_family = {.name = "operator"};
static const struct case_id no_id = {.family = &no_family};
static const struct case_plan no_plan = {0};

/* Where no bound is derived, what the sides show of each other: causes where float64 tells none,
 * and the pictures. With a bound they are a case's. */
static enum err explain_pair(const struct job *j, const struct pair *p, const struct oracle *oracle,
                             struct finding_out *o, struct errinfo *e)
{
    bool differ = o->stats.pair.bits_equal != o->stats.pair.count;
    struct finding_out other = {.dtype = o->dtype, .rank = o->rank};
    if (p->bounded && j->options->charts) {
        o->charts = malloc(sizeof *o->charts);
        return o->charts ? charts_make(&p->ta, &p->tb, oracle, false, o->charts, e)
                         : err_set(e, ERR_NOMEM, "no memory for the plots");
    }
    if (p->bounded || !differ)
        return ERR_OK;
    memcpy(other.dim, o->dim, sizeof other.dim);
    TRY(plainmark_tensors(&p->ta, &p->tb, j->options->charts, &other, e));
    o->charts = other.charts;
    bool named = o->n_claim && o->claim[0].cause != CAUSE_UNEXPLAINED;
    if (named || o->verdict == VERDICT_EQUIVALENT)
        return ERR_OK;
    o->n_claim = other.n_claim;
    memcpy(o->claim, other.claim, sizeof o->claim);
    return ERR_OK;
}

/* Verdict and causes of two outputs of one format and shape. */
static enum err judge(const struct job *j, struct pair *p, struct finding *f,
                      struct finding_out *o, struct errinfo *e)
{
    const struct tensor *input[CASE_TENSOR_MAX] = {NULL};
    const struct oracle *oracle = p->oracle.value ? &p->oracle : NULL;
    TRY(stats_compute(&p->ta, &p->tb, oracle, UINT64_MAX, j->threads, &o->stats, e));
    o->beyond = -1;
    compareout_elements(o, &p->ta, &p->tb, &p->oracle);
    verdict_output(f, o);
    if (o->verdict == VERDICT_MISTRUSTED) /* all zero, say: nothing is to be concluded but this */
        o->verdict = o->stats.pair.bits_equal == o->stats.pair.count ? VERDICT_SAME
                                                                     : VERDICT_DIFFERENT;
    const struct diagnose_input d = {.id = &no_id,
                                     .plan = &no_plan,
                                     .input = input,
                                     .a = &p->ta,
                                     .b = &p->tb,
                                     .oracle = oracle};
    if (oracle)
        TRY(diagnose_output(&d, o, e));
    if (oracle && !p->bounded)
        soften(o);
    return explain_pair(j, p, oracle, o, e);
}

/* Which of two formats holds more: by width, then by fraction. */
static bool wider(enum dtype x, enum dtype y)
{
    return dtype_info(x)->bytes > dtype_info(y)->bytes;
}

/* Did this side run in a wider format than autocast asked for? */
static bool upcast(const struct capture_operator *o, enum dtype got)
{
    enum dtype asked = dtype_find(o->asked);
    return asked < DTYPE_COUNT_ && wider(got, asked);
}

static void say_formats(const struct pair *p, struct finding_out *o)
{
    bool a = upcast(p->a, p->ta.dtype), b = upcast(p->b, p->tb.dtype);
    char side = a && b ? '=' : a ? 'A' : 'B';
    enum dtype got = a ? p->ta.dtype : p->tb.dtype;
    const char *asked = a ? p->a->asked : p->b->asked;
    o->verdict = VERDICT_DIFFERENT;
    if (!a && !b) {
        bool b_wider = wider(p->tb.dtype, p->ta.dtype);
        snprintf(o->reason, sizeof o->reason, "%s is %s on A and %s on B", o->name,
                 dtype_info(p->ta.dtype)->name, dtype_info(p->tb.dtype)->name);
        claim_add(o, b_wider ? CAUSE_UPCAST : CAUSE_DOWNCAST, 'B', 1,
                  "the operator ran in %s on one side and in %s on the other",
                  dtype_info(p->ta.dtype)->name, dtype_info(p->tb.dtype)->name);
        return;
    }
    snprintf(o->reason, sizeof o->reason, "%s ran in %s on %s, though autocast asks for %s",
             p->a->op, dtype_info(got)->name, side == '=' ? "both sides" : side == 'A' ? "A" : "B",
             asked);
    claim_add(o, CAUSE_UPCAST, side, 1, "%s in %s gave %s where autocast asks for %s", p->a->op,
              *p->a->module ? p->a->module : "no module", dtype_info(got)->name, asked);
}

/* What the tensors show of another stream comes first, else that there is one. */
static void say_random(struct finding_out *o)
{
    if (o->n_claim && o->claim[0].cause == CAUSE_RNG)
        return;
    if (o->n_claim && o->claim[0].cause == CAUSE_UNEXPLAINED)
        o->n_claim = 0;
    claim_add(o, CAUSE_RNG, '=', 1, "the operator draws random numbers, from the same state");
}

static enum err compare_output(const struct job *j, struct pair *p, int i, struct finding *f,
                               struct finding_out *o, struct errinfo *e)
{
    snprintf(o->name, sizeof o->name, "out%d", i);
    o->worst.index = o->first.index = -1;
    if (!*p->a->out[i] || !*p->b->out[i]) {
        o->verdict = VERDICT_UNTESTED;
        snprintf(o->reason, sizeof o->reason, "%s has a format that is not kept", o->name);
        return ERR_OK;
    }
    TRY(capture_read(j->a, p->a->out[i], &p->ta, e));
    TRY(capture_read(j->b, p->b->out[i], &p->tb, e));
    o->dtype = p->ta.dtype;
    o->rank = p->ta.rank;
    memcpy(o->dim, p->ta.dim, sizeof o->dim);
    if (!same_shape(&p->ta, &p->tb)) {
        o->verdict = VERDICT_DIFFERENT;
        snprintf(o->reason, sizeof o->reason, "%s has another shape on B", o->name);
        return ERR_OK;
    }
    if (p->ta.dtype != p->tb.dtype || (upcast(p->a, p->ta.dtype) && !i)) {
        say_formats(p, o);
        return ERR_OK;
    }
    if (!p->ta.count) {
        o->verdict = VERDICT_SAME;
        snprintf(o->reason, sizeof o->reason, "%s has no elements", o->name);
        return ERR_OK;
    }
    TRY(read_reference(j, i, p, e));
    TRY(judge(j, p, f, o, e));
    if (p->a->random && o->verdict != VERDICT_SAME)
        say_random(o);
    return ERR_OK;
}

/* --- one operator ------------------------------------------------------------------------------ */

static void name_finding(const struct job *j, const struct capture_operator *o, struct finding *f)
{
    snprintf(f->id, sizeof f->id, "%06" PRId64 " %s %s%s%s", f->number, o->op, o->phase,
             *o->module ? " " : "", o->module);
    snprintf(f->reproduce, sizeof f->reproduce, "gpuparity compare '%s' '%s' --case '%06" PRId64 "*'",
             j->a->file.path, j->b->file.path, f->number);
}

static void untested(struct finding *f, const char *why, const char *more)
{
    f->verdict = VERDICT_UNTESTED;
    snprintf(f->reason, sizeof f->reason, "%s%s", why, more);
}

static enum err compare_outputs(const struct job *j, const struct capture_operator *a,
                                const struct capture_operator *b, struct finding *f,
                                struct errinfo *e)
{
    int n = a->n_out < b->n_out ? a->n_out : b->n_out;
    f->out = calloc((size_t)n, sizeof *f->out);
    if (!f->out)
        return err_set(e, ERR_NOMEM, "out of memory");
    f->verdict = VERDICT_SAME;
    for (int i = 0; i < n; i++) {
        struct pair p = {.a = a, .b = b};
        struct finding_out *o = &f->out[i];
        enum err err = compare_output(j, &p, i, f, o, e);
        pair_release(&p);
        if (err)
            return err;
        f->n_out++;
        if (i && o->verdict <= f->verdict)
            continue;
        f->verdict = o->verdict;
        snprintf(f->reason, sizeof f->reason, "%s", o->reason);
    }
    return ERR_OK;
}

static bool only_formats(const struct finding *f)
{
    return f->n_out && f->out[0].n_claim &&
           (f->out[0].claim[0].cause == CAUSE_UPCAST || f->out[0].claim[0].cause == CAUSE_DOWNCAST) &&
           f->out[0].stats.pair.count == 0;
}

static void forget_outputs(struct finding *f)
{
    for (int i = 0; i < f->n_out; i++)
        free(f->out[i].charts);
    free(f->out);
    f->out = NULL;
    f->n_out = 0;
}

static enum err compare_operator(struct job *j, const struct capture_operator *a,
                                 const struct capture_operator *b, struct finding *f,
                                 struct errinfo *e)
{
    name_finding(j, a, f);
    if (!b) {
        untested(f, "only A ran it", "");
        return ERR_OK;
    }
    bool parted = strcmp(a->inputs, b->inputs) != 0;
    /* Formats differ already in what came in where an operator was upcast: looked at all the same. */
    if (!parted || *a->asked || *b->asked)
        TRY(compare_outputs(j, a, b, f, e));
    if (parted && !only_formats(f)) {
        forget_outputs(f);
        untested(f, "its inputs differ already: see ", *j->first ? j->first : "what only one side ran");
    } else if (f->verdict != VERDICT_SAME && f->verdict != VERDICT_UNTESTED && !*j->first) {
        snprintf(j->first, sizeof j->first, "%s", f->id);
    }
    return ERR_OK;
}

static enum err run_all(struct job *j, const struct capture_operator *const *twin,
                        compare_sink *sink, void *context, struct finding_tally *tally,
                        struct errinfo *e)
{
    for (int64_t i = 0; i < capture_count(j->a); i++) {
        struct finding f = {.number = i};
        enum err err = compare_operator(j, capture_at(j->a, i), twin[i], &f, e);
        bool take = select_takes(j->options->select, f.id);
        if (!err && take) {
            finding_tally_add(tally, &f);
            err = sink(context, &f, e);
        }
        finding_release(&f);
        if (err)
            return err;
    }
    return tally->count ? ERR_OK
                        : err_set(e, ERR_USAGE, "--case %.200s takes none of the %" PRId64
                                                " operators of %s",
                                  j->options->select, capture_count(j->a), j->a->file.path);
}

enum err capturepair_run(const struct capture *a, const struct capture *b,
                         const struct capturepair_options *o, compare_sink *sink, void *context,
                         struct finding_tally *ret_tally, struct errinfo *e)
{
    struct job j = {a, b, o, o->threads ? o->threads : (int)sysconf(_SC_NPROCESSORS_ONLN), ""};
    struct finding_tally tally = {.strict = o->strict};
    const struct capture_operator **twin;
    double start = child_clock();
    TRY(capture_match(a, b, &twin, e));
    enum err err = run_all(&j, twin, sink, context, &tally, e);
    free(twin);
    if (err)
        return err;
    tally.seconds = child_clock() - start;
    *ret_tally = tally;
    return ERR_OK;
}

static void describe(const struct capture *c, struct record_run *r, char *file, size_t size)
{
    snprintf(r->device, sizeof r->device, "torch");
    snprintf(r->name, sizeof r->name, "%.120s", c->device);
    snprintf(r->arch, sizeof r->arch, "%.31s", c->kind);
    snprintf(r->driver, sizeof r->driver, "%.63s", c->stack);
    snprintf(r->runtime, sizeof r->runtime, "torch %.50s", c->torch);
    snprintf(r->host, sizeof r->host, "%.127s", c->host);
    snprintf(r->created, sizeof r->created, "%.31s", c->created);
    snprintf(file, size, "%s", c->file.path);
}

void capturepair_sides(const struct capture *a, const struct capture *b,
                       struct finding_sides *ret_sides)
{
    memset(ret_sides, 0, sizeof *ret_sides);
    ret_sides->capture = true;
    describe(a, &ret_sides->a, ret_sides->file_a, sizeof ret_sides->file_a);
    describe(b, &ret_sides->b, ret_sides->file_b, sizeof ret_sides->file_b);
}
