/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "compare.h"
#include "session.h"

/* The table people look functions up in: of every case of the suite `table`, what each stack errs. */

enum { MARKS_MAX = 8 };

struct table {
    int64_t rows;
    int n_mark; /* what results went through, once each */
    char mark[MARKS_MAX][512];
    bool bad; /* something is outside its bound, or did not run */
};

static void mark_add(struct table *t, const char *marks)
{
    for (int i = 0; i < t->n_mark; i++)
        if (!strcmp(t->mark[i], marks))
            return;
    if (*marks && t->n_mark < MARKS_MAX)
        snprintf(t->mark[t->n_mark++], sizeof t->mark[0], "%s", marks);
}

static double share(int64_t part, int64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : 0;
}

static void print_side(const struct side_stats *s, const char *marks)
{
    double most = fmax(s->ulp.maximum, -s->ulp.minimum);
    printf(" %.1f %% | %+.3f | %.3f%s%s |", share(s->correctly_rounded, s->count), s->ulp.mean,
           most, s->over_bound ? " !" : "", *marks ? " *" : "");
}

static void print_row(const struct finding *f, const struct finding_out *o)
{
    printf("| `%s` |", f->id);
    print_side(&o->stats.a, f->a.marks);
    print_side(&o->stats.b, f->b.marks);
    printf(" %.1f %% |\n", share(o->stats.pair.bits_equal, o->stats.pair.count));
}

static enum err table_row(void *context, const struct finding *f, struct errinfo *e)
{
    struct table *t = context;
    (void)e;
    t->bad |= verdict_fails(f->verdict, false);
    mark_add(t, f->a.marks);
    mark_add(t, f->b.marks);
    if (!f->n_out)
        printf("| `%s` | %s |\n", f->id, f->reason);
    for (int i = 0; i < f->n_out; i++)
        print_row(f, &f->out[i]);
    t->rows++;
    return ERR_OK;
}

static void print_head(const struct finding_sides *s)
{
    const struct record_run *run[2] = {&s->a, &s->b};
    for (int i = 0; i < 2; i++)
        printf("%c = %s: %s%s\n", 'A' + i, run[i]->device, run[i]->name,
               run[i]->simulated && !strstr(run[i]->name, "simulated") ? " (simulated)" : "");
    printf("\nright: equal to the exact result rounded once; mean and max: ULP from the exact "
           "result\n\n"
           "| case | A right | A mean | A max | B right | B mean | B max | A = B |\n"
           "|---|---|---|---|---|---|---|---|\n");
}

static void print_tail(const struct table *t)
{
    for (int i = 0; i < t->n_mark; i++)
        printf("%s* through modelled instructions: %s\n", i ? "" : "\n", t->mark[i]);
    if (t->bad)
        printf("\n! outside what the vendors document; 'gpuparity check CASE' says more\n");
}

static enum err functions(struct session *s, const struct options *o, int *ret_exit,
                          struct errinfo *e)
{
    TRY(session_run(s, o, 2, "cuda,hip", true, e));
    struct compare_run a = {s->record, s->run[0], ""}, b = {s->record, s->run[1], ""};
    struct compare_options compare = {.threads = o->threads};
    struct finding_sides sides;
    struct finding_tally tally;
    struct table t = {.rows = 0};
    compare_sides(&a, &b, &sides);
    print_head(&sides);
    TRY(compare_runs(&a, &b, &compare, table_row, &t, &tally, e));
    print_tail(&t);
    *ret_exit = t.bad ? COMMAND_FAILS : COMMAND_GOOD;
    return ERR_OK;
}

enum err cmd_functions(const struct options *o, int *ret_exit, struct errinfo *e)
{
    struct session s;
    struct options own = *o;
    own.tags = o->tags ? o->tags : "table";
    own.quiet = true;
    enum err err = functions(&s, &own, ret_exit, e);
    session_release(&s);
    return err;
}
