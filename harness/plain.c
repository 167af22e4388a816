/* SPDX-License-Identifier: Apache-2.0 */
#include "plain.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "gap_sample.h"
#include "plaincharts.h"
#include "plainmark.h"
#include "plainpass.h"
#include "select.h"
#include "verdict.h"

/* --- who belongs to whom --- */

__attribute__((format(printf, 3, 4))) static enum err
problem(struct plain *p, struct errinfo *e, const char *format, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    p->n_problem++;
    return bytes_append(&p->problems, text, strlen(text) + 1, e);
}

/* The name that B should have for a tensor of A; counts how often each map was used. */
static void name_in_b(const struct plain_options *o, const char *name, bool *used,
                      char ret_name[TENSORFILE_NAME_MAX])
{
    for (int i = 0; i < o->n_map; i++)
        if (select_rename(o->map[i], name, ret_name, TENSORFILE_NAME_MAX)) {
            used[i] = true;
            return;
        }
    snprintf(ret_name, TENSORFILE_NAME_MAX, "%s", name);
}

static bool same_shape(const struct tensorfile_tensor *a, const struct tensorfile_tensor *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim);
}

static enum err add_pair(struct plain *p, const struct tensorfile_tensor *a,
                         const struct tensorfile_tensor *b, struct errinfo *e)
{
    const struct plain_pair pair = {a, b};
    char is[128], other[128];
    tensorfile_shape(a, is, sizeof is);
    tensorfile_shape(b, other, sizeof other);
    for (int side = 0; side < 2; side++) {
        const struct tensorfile_tensor *t = side ? b : a;
        if (t->other[0] && t->trouble)
            return problem(p, e,
                           "%s: %s: %s cannot be compared; h5repack -f NONE or numpy's "
                           "astype may help, --case leaves it out",
                           side ? p->b.path : p->a.path, t->name, t->other);
    }
    if (!a->other[0] != !b->other[0] || (!a->other[0] && !same_shape(a, b)))
        return problem(p, e, "%s is %s in %s but %s in %s", a->name, is, p->a.path, other,
                       p->b.path);
    return bytes_append(&p->pairs, &pair, sizeof pair, e);
}

/* Which of B's tensors somebody of A has, by position. */
static enum err pair_names(struct plain *p, const struct plain_options *o, bool *used,
                           bool *taken, struct errinfo *e)
{
    for (int64_t i = 0; i < tensorfile_count(&p->a); i++) {
        const struct tensorfile_tensor *a = tensorfile_at(&p->a, i);
        char name[TENSORFILE_NAME_MAX];
        name_in_b(o, a->name, used, name);
        const struct tensorfile_tensor *b = tensorfile_find(&p->b, name);
        if (b)
            taken[b - tensorfile_at(&p->b, 0)] = true;
        if (!select_takes(o->select, a->name))
            continue;
        if (b)
            TRY(add_pair(p, a, b, e));
        else if (!o->common)
            TRY(problem(p, e, "%s has no %s, which %s has%s%s", p->b.path, name, p->a.path,
                        strcmp(name, a->name) ? " as " : "",
                        strcmp(name, a->name) ? a->name : ""));
    }
    for (int64_t i = 0; i < tensorfile_count(&p->b) && !o->common; i++) {
        const char *name = tensorfile_at(&p->b, i)->name;
        if (!taken[i] && select_takes(o->select, name))
            TRY(problem(p, e, "%s has no %s, which %s has", p->a.path, name, p->b.path));
    }
    return ERR_OK;
}

static enum err pair_all(struct plain *p, const struct plain_options *o, struct errinfo *e)
{
    int64_t n_a = tensorfile_count(&p->a), n_b = tensorfile_count(&p->b);
    bool single = n_a == 1 && n_b == 1 && (p->a.unnamed || p->b.unnamed) && !o->n_map;
    if (single && select_takes(o->select, tensorfile_at(&p->a, 0)->name))
        return add_pair(p, tensorfile_at(&p->a, 0), tensorfile_at(&p->b, 0), e);
    bool *used = calloc((size_t)o->n_map + 1, sizeof *used);
    bool *taken = calloc((size_t)n_b + 1, sizeof *taken);
    enum err err = used && taken ? pair_names(p, o, used, taken, e)
                                 : err_set(e, ERR_NOMEM, "out of memory");
    for (int i = 0; i < o->n_map && !err; i++)
        if (!used[i])
            err = err_set(e, ERR_USAGE, "--map %.200s: %s has no such tensor", o->map[i],
                          p->a.path);
    free(used);
    free(taken);
    return err;
}

static enum err check_options(const struct plain_options *o, struct errinfo *e)
{
    for (int i = 0; i < o->n_map; i++) {
        const char *equals = strchr(o->map[i], '=');
        const char *from = strchr(o->map[i], '*'), *to = equals ? strchr(equals, '*') : NULL;
        bool star = from && equals && from < equals;
        if (!equals || equals == o->map[i] || !equals[1] || star != !!to ||
            (star &&
             (memchr(from + 1, '*', (size_t)(equals - from - 1)) || strchr(to + 1, '*'))))
            return err_set(
                e, ERR_USAGE,
                "--map wants 'name in A=name in B', with one * on both sides or none, "
                "not '%.100s'",
                o->map[i]);
    }
    if (o->limits && limits_have(o->limits, LIMIT_BOUND))
        return err_set(e, ERR_USAGE,
                       "--limit bound is for records: other files have no bounds; valid here: "
                       "ulp, abs, rel, share, mean");
    return ERR_OK;
}

static enum err check_pairs(const struct plain *p, const struct plain_options *o,
                            struct errinfo *e)
{
    int64_t n = (int64_t)(p->pairs.size / sizeof(struct plain_pair)), numbers = 0;
    const struct plain_pair *pair = p->pairs.data;
    for (int64_t i = 0; i < n; i++)
        numbers += !pair[i].a->other[0] && pair[i].a->count > 0;
    if (numbers || p->n_problem)
        return ERR_OK;
    if (o->select && !n)
        return err_set(e, ERR_USAGE,
                       "--case %.200s takes none of the %" PRId64 " tensors of %s", o->select,
                       tensorfile_count(&p->a), p->a.path);
    return err_set(e, ERR_FORMAT, "nothing to compare: %s and %s have no %stensor with numbers",
                   p->a.path, p->b.path, o->common ? "common " : "");
}

enum err plain_open(const char *path_a, const char *path_b, const struct plain_options *o,
                    struct plain *ret_plain, struct errinfo *e)
{
    struct plain p = {0};
    TRY(check_options(o, e));
    enum err err = tensorfile_open(path_a, &p.a, e);
    if (!err)
        err = tensorfile_open(path_b, &p.b, e);
    if (!err)
        err = pair_all(&p, o, e);
    if (!err)
        err = check_pairs(&p, o, e);
    if (err)
        plain_close(&p);
    else
        *ret_plain = p;
    return err;
}

void plain_close(struct plain *p)
{
    tensorfile_close(&p->a);
    tensorfile_close(&p->b);
    bytes_release(&p->pairs);
    bytes_release(&p->problems);
    memset(p, 0, sizeof *p);
}

static void describe_side(const struct tensorfile *f, struct record_run *r, char *file,
                          size_t size)
{
    int64_t n = tensorfile_count(f);
    snprintf(r->device, sizeof r->device, "%s", f->format);
    snprintf(r->name, sizeof r->name, "%" PRId64 " tensor%s", n, n == 1 ? "" : "s");
    snprintf(file, size, "%s", f->path);
}

void plain_sides(const struct plain *p, struct finding_sides *ret_sides)
{
    memset(ret_sides, 0, sizeof *ret_sides);
    ret_sides->plain = true;
    describe_side(&p->a, &ret_sides->a, ret_sides->file_a, sizeof ret_sides->file_a);
    describe_side(&p->b, &ret_sides->b, ret_sides->file_b, sizeof ret_sides->file_b);
}

/* --- one pair --- */

struct job {
    const struct plain *plain;
    const struct plain_options *options;
    int threads;
};

static void fill_element(struct finding_element *x, const struct finding_out *o,
                         const struct gap_element *from, int64_t index)
{
    memset(x, 0, sizeof *x);
    if (index < 0)
        return;
    x->shown = true;
    x->index = index;
    for (int i = o->rank - 1; i >= 0; i--) {
        x->coordinate[i] = index % o->dim[i];
        index /= o->dim[i];
    }
    x->a = from->bits[0];
    x->b = from->bits[1];
    x->value_a = dtype_value(o->dtype, x->a);
    x->value_b = dtype_value(o->dtype, x->b);
}

/* "[3,17]: A 0x3f80 (1), B 0x3f81 (1.0078125)" */
static void element_text(const struct finding_out *o, const struct finding_element *x,
                         char *text, size_t size)
{
    int digits = 2 * dtype_info(o->dtype)->bytes;
    size_t used = (size_t)snprintf(text, size, "[");
    for (int i = 0; i < o->rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, i ? "," : "",
                                 x->coordinate[i]);
    if (used < size)
        snprintf(text + used, size - used,
                 "]: A 0x%0*" PRIx64 " (%.9g), B 0x%0*" PRIx64 " (%.9g)", digits, x->a,
                 x->value_a, digits, x->b, x->value_b);
}

static void say_different(const struct job *j, const struct plainseen *seen,
                          const struct gap *g, struct finding_out *o)
{
    const struct pair_stats *p = &o->stats.pair;
    char first[160], where[200], sizes[160] = "", why[200];
    const struct limit_rule *broken =
        j->options->limits ? gap_broken(g, j->options->limits) : NULL;
    element_text(o, &o->first, first, sizeof first);
    plainmark_where(seen, where, sizeof where);
    if (g->worst.index >= 0)
        snprintf(sizes, sizeof sizes,
                 "; at most %" PRIu64 " ULP, %.3g in value, mean %+.3g ULP", p->worst_ulp,
                 p->worst_absolute, p->ulp.mean);
    size_t used = (size_t)snprintf(o->reason, sizeof o->reason,
                                   "%" PRId64 " of %" PRId64 " elements differ%s%s",
                                   p->count - p->bits_equal, p->count, where, sizes);
    if (p->nan_differs || p->inf_differs)
        used += (size_t)snprintf(o->reason + used, sizeof o->reason - used,
                                 "; NaN on one side only %" PRId64 ", Inf %" PRId64,
                                 p->nan_differs, p->inf_differs);
    if (broken && limit_of_elements(broken))
        used += (size_t)snprintf(o->reason + used, sizeof o->reason - used,
                                 "; %" PRId64 " beyond your limits", g->beyond);
    if (broken && used < sizeof o->reason &&
        limit_too_close(broken, o->dtype, o->first.value_a, o->first.value_b, why, sizeof why))
        used += (size_t)snprintf(o->reason + used, sizeof o->reason - used, " (%s)", why);
    if (broken && !limit_of_elements(broken))
        used += (size_t)snprintf(o->reason + used, sizeof o->reason - used, "; beyond %.60s",
                                 broken->text);
    if (used < sizeof o->reason)
        snprintf(o->reason + used, sizeof o->reason - used, ". First %s", first);
}

static enum err judge(const struct job *j, bool turned, const struct gap *g,
                      const struct gap_sample *sample, struct finding_out *o, struct errinfo *e)
{
    const struct limits *l = j->options->limits;
    if (g->bits_equal == g->count) {
        o->verdict = VERDICT_SAME;
        snprintf(o->reason, sizeof o->reason, "all %" PRId64 " elements are bit-equal%s",
                 g->count, g->nan_both ? "; NaN equals NaN" : "");
        return ERR_OK;
    }
    struct plainseen seen;
    TRY(plainseen_init(&seen, g, sample, turned, o, e));
    o->verdict = l && l->n && !gap_broken(g, l) ? VERDICT_WITHIN_LIMITS : VERDICT_DIFFERENT;
    say_different(j, &seen, g, o);
    enum err err = j->options->charts ? plaincharts_make(&seen, e) : ERR_OK;
    plainmark_claims(&seen);
    plainseen_release(&seen);
    return err;
}

/* The last part of a name that fits. */
static void short_name(const char *name, char *ret_name, size_t size)
{
    size_t length = strlen(name);
    const char *from = length < size ? name : name + length - size + 1;
    const char *slash = strrchr(name, '/');
    snprintf(ret_name, size, "%s", slash && slash[1] && slash >= from ? slash + 1 : from);
}

static enum err measure(const struct job *j, const struct plain_pair *pair,
                        struct finding_out *o, struct errinfo *e)
{
    const struct plainpass_side side[2] = {{&j->plain->a, pair->a}, {&j->plain->b, pair->b}};
    struct gap_sample sample;
    struct gap g;
    TRY(gap_sample_init(&sample, o->dtype, pair->a->count, e));
    enum err err =
        plainpass_run(&side[0], &side[1], j->threads, j->options->limits, &sample, &g, e);
    if (err) {
        gap_sample_release(&sample);
        return err;
    }
    struct output_stats *s = &o->stats;
    s->a.count = s->b.count = g.count;
    s->a.worst_index = s->a.first_wrong = s->b.worst_index = s->b.first_wrong = -1;
    err = gap_pair(&g, &s->pair, e);
    if (!err) {
        const struct gap_element *worst = g.first_class.index >= 0 ? &g.first_class : &g.worst;
        s->pair.worst_index = plainpass_index(&side[0], &side[1], s->pair.worst_index);
        s->pair.first_index = plainpass_index(&side[0], &side[1], s->pair.first_index);
        fill_element(&o->worst, o, worst, s->pair.worst_index);
        fill_element(&o->first, o, &g.first, s->pair.first_index);
        err = judge(j, pair->a->fortran && pair->b->fortran, &g, &sample, o, e);
    }
    gap_release(&g);
    gap_sample_release(&sample);
    return err;
}

static void write_reproduction(const struct job *j, struct finding *f)
{
    snprintf(f->reproduce, sizeof f->reproduce, "gpuparity compare '%s' '%s' --case '%s'%s",
             j->plain->a.path, j->plain->b.path, f->id,
             j->options->extra ? j->options->extra : "");
}

static enum err compare_pair(const struct job *j, const struct plain_pair *pair,
                             struct finding *f, struct errinfo *e)
{
    const struct tensorfile_tensor *t = pair->a;
    snprintf(f->id, sizeof f->id, "%s", t->name);
    write_reproduction(j, f);
    f->verdict = VERDICT_UNTESTED;
    if (t->other[0] || !t->count) {
        snprintf(f->reason, sizeof f->reason, "%s: nothing to compare",
                 t->other[0] ? t->other : "no elements");
        return ERR_OK;
    }
    f->out = calloc(1, sizeof *f->out);
    if (!f->out)
        return err_set(e, ERR_NOMEM, "out of memory while comparing %s", t->name);
    struct finding_out *o = f->out;
    short_name(t->name, o->name, sizeof o->name);
    o->dtype = t->dtype;
    o->rank = t->rank;
    memcpy(o->dim, t->dim, sizeof o->dim);
    TRY(measure(j, pair, o, e));
    f->n_out = 1;
    f->verdict = o->verdict;
    snprintf(f->reason, sizeof f->reason, "%s", o->reason);
    return ERR_OK;
}

enum err plain_run(const struct plain *p, const struct plain_options *o, compare_sink *sink,
                   void *context, struct finding_tally *ret_tally, struct errinfo *e)
{
    struct job j = {p, o, o->threads ? o->threads : (int)sysconf(_SC_NPROCESSORS_ONLN)};
    struct finding_tally tally = {.strict = o->strict};
    const struct plain_pair *pair = p->pairs.data;
    double start = child_clock();
    for (size_t i = 0; i < p->pairs.size / sizeof *pair; i++) {
        struct finding f = {.number = tally.count};
        enum err err = compare_pair(&j, &pair[i], &f, e);
        if (!err) {
            finding_tally_add(&tally, &f);
            err = sink(context, &f, e);
        }
        finding_release(&f);
        if (err)
            return err;
    }
    tally.seconds = child_clock() - start;
    *ret_tally = tally;
    return ERR_OK;
}
