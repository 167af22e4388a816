/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "explain.h"
#include "quote.h"
#include "session.h"
#include "wrap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 79 };

static void say(const char *text)
{
    wrap_print(stdout, text, 0, 2, WIDTH);
}

/* --- what was found --------------------------------------------------------------------------
 */

static const char *where(const struct explain *x, int side)
{
    return side == EXPLAIN_SIDES ? "both" : x->side[side].name;
}

static void change_text(const struct explain *x, const struct explain_trial *t, char *text,
                        size_t size)
{
    int side = t->side == EXPLAIN_SIDES ? 0 : t->side;
    lowering_print(x->side[side].list, x->side[side].n, t->set, text, size);
}

static void print_trial(const struct explain *x, const struct explain_trial *t)
{
    char change[200], left[260], text[200];
    change_text(x, t, change, sizeof change);
    snprintf(left, sizeof left, "  %-9s %-28s ", where(x, t->side), change);
    if (t->side == EXPLAIN_SIDES || (!t->inert && !t->differing))
        snprintf(text, sizeof text, "all bits equal");
    else if (t->inert)
        snprintf(text, sizeof text, "changes nothing");
    else
        snprintf(text, sizeof text, "%" PRId64 " of %" PRId64 " elements differ%s%s",
                 t->differing, x->count, t->verdict != x->finding.verdict ? ", " : "",
                 t->verdict != x->finding.verdict ? verdict_name(t->verdict) : "");
    fputs(left, stdout);
    wrap_print(stdout, text, (int)strlen(left), 41, WIDTH);
}

static bool same_reason(const struct explain_trial *a, const struct explain_trial *b)
{
    return a->side == b->side && a->status == b->status && !strncmp(a->reason, b->reason, 24);
}

/* Those that could not be tried: one line a reason. */
static void print_untried(const struct explain *x)
{
    for (int i = 0; i < x->n_trial; i++) {
        const struct explain_trial *t = &x->trial_of[i];
        bool first = t->status != RECORD_OK;
        for (int k = 0; k < i && first; k++)
            first = !same_reason(&x->trial_of[k], t);
        if (!first)
            continue;
        char text[1500], change[200];
        size_t used =
            (size_t)snprintf(text, sizeof text, "not tried on %s:", where(x, t->side));
        for (int k = i; k < x->n_trial; k++)
            if (x->trial_of[k].status && same_reason(&x->trial_of[k], t)) {
                change_text(x, &x->trial_of[k], change, sizeof change);
                used += (size_t)snprintf(text + used, sizeof text - used, " %.100s", change);
                if (used > 700)
                    break;
            }
        snprintf(text + used, sizeof text - used, " (%s: %s)", record_status_name(t->status),
                 t->reason);
        say(text);
    }
}

static void print_command(const struct explain *x, const struct explain_trial *t)
{
    char id[CASEID_TEXT_MAX], change[200];
    caseid_print(x->id, id);
    change_text(x, t, change, sizeof change);
    printf("show it: gpuparity explain '%s' --on %s,%s --change %s:%s\n", id, x->side[0].name,
           x->side[1].name, where(x, t->side), change);
}

/* What the switches of a set are about: "contraction (...) and flushing". */
static void subject_text(const struct explain *x, const struct explain_trial *t, char *text,
                         size_t size)
{
    int side = t->side == EXPLAIN_SIDES ? 0 : t->side;
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < x->side[side].n && used < size; i++)
        if (t->set >> i & 1)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " and " : "",
                                     x->side[side].list[i].what);
}

static void print_best(const struct explain *x)
{
    const struct explain_trial *t = &x->trial_of[x->best];
    char subject[400], change[200], text[900];
    subject_text(x, t, subject, sizeof subject);
    change_text(x, t, change, sizeof change);
    if (x->end == EXPLAIN_VERDICT)
        snprintf(text, sizeof text,
                 "The verdict comes from %s on %s: with %s there it is %s instead of %s.",
                 subject, where(x, t->side), change, verdict_name(t->verdict),
                 verdict_name(x->finding.verdict));
    else if (x->end == EXPLAIN_BOTH)
        snprintf(
            text, sizeof text,
            "The difference comes from %s, which the two compilers do in different places: "
            "with %s on both sides they are bit-equal.",
            subject, change);
    else
        snprintf(text, sizeof text,
                 "The difference comes from %s on %s: with %s there the sides are bit-equal.",
                 subject, where(x, t->side), change);
    say(text);
    print_command(x, t);
}

/* Other single changes that do as well. */
static void print_others(const struct explain *x)
{
    const struct explain_trial *best = &x->trial_of[x->best];
    for (int i = 0; i < x->n_trial && x->end == EXPLAIN_EQUAL; i++) {
        const struct explain_trial *t = &x->trial_of[i];
        char change[200];
        if (t == best || t->status || t->inert || t->differing ||
            __builtin_popcount(t->set) > __builtin_popcount(best->set))
            continue;
        change_text(x, t, change, sizeof change);
        printf("so does %s on %s\n", change, where(x, t->side));
    }
}

static void print_nothing(const struct explain *x)
{
    const struct explain_trial *near = NULL;
    char text[600], change[200];
    for (int i = 0; i < x->n_trial; i++) {
        const struct explain_trial *t = &x->trial_of[i];
        if (!t->status && !t->inert && t->differing < x->differing &&
            (!near || t->differing < near->differing))
            near = t;
    }
    say("No change on one side that could be tried makes the sides bit-equal or the verdict "
        "better: the difference is not one of compiler options or of the modelled choices.");
    if (!near)
        return;
    change_text(x, near, change, sizeof change);
    snprintf(text, sizeof text,
             "Nearest: %s on %s leaves %" PRId64 " of the %" PRId64 " differing elements.",
             change, where(x, near->side), near->differing, x->differing);
    say(text);
}

static void print_head(const struct explain *x)
{
    char text[1400];
    const struct cause_claim *c = finding_cause(&x->finding);
    printf("%s  A = %s, B = %s\n", x->finding.id, x->side[0].name, x->side[1].name);
    snprintf(text, sizeof text, "%s: %s", verdict_name(x->finding.verdict), x->finding.reason);
    say(text);
    if (c) {
        snprintf(text, sizeof text, "cause: %s (%s): %s", cause_name(c->cause),
                 cause_tier_name(cause_tier(c->cause)), c->evidence);
        say(text);
    }
}

static void print_explanation(const struct explain *x, bool verbose)
{
    print_head(x);
    if (x->end == EXPLAIN_UNSTABLE) {
        char text[300];
        snprintf(text, sizeof text,
                 "%s differs from itself in %" PRId64 " of %" PRId64
                 " elements when the case is run again: measure that first with "
                 "gpuparity check --repeat 8.",
                 x->side[x->unstable].name, x->unstable_count, x->count);
        say(text);
    }
    if (x->end < EXPLAIN_EQUAL) {
        if (x->end == EXPLAIN_SAME)
            say("There is nothing to explain.");
        return;
    }
    printf("\nunchanged, %" PRId64 " of %" PRId64 " elements differ; tried:\n", x->differing,
           x->count);
    for (int i = 0; i < x->n_trial; i++)
        if (!x->trial_of[i].status && (verbose || !x->trial_of[i].inert))
            print_trial(x, &x->trial_of[i]);
    print_untried(x);
    putchar('\n');
    if (x->best < 0) {
        print_nothing(x);
        return;
    }
    print_best(x);
    print_others(x);
}

/* --- the operation ---------------------------------------------------------------------------
 */

static void print_operation(const char *side, const struct op_event *x, uint64_t value,
                            int bits)
{
    char text[400];
    if (!x) {
        printf("  %s  0x%0*" PRIx64 ", made by other than traced arithmetic\n", side, bits / 4,
               value);
        return;
    }
    diverge_print(x, text, sizeof text);
    printf("  %s  ", side);
    wrap_print(stdout, text, 5, 7, WIDTH);
    fputs("     ", stdout);
    wrap_print(stdout, x->place, 5, 7, WIDTH);
}

static void print_place(const struct explain *x, const struct explain_place *p)
{
    const struct diverge *d = &p->diverge;
    char text[700];
    if (!p->found) {
        if (p->reason[0]) {
            snprintf(text, sizeof text, "\nThe operations cannot be compared: %s", p->reason);
            say(text);
        }
        return;
    }
    snprintf(text, sizeof text,
             "Element %" PRId64
             " of %s, stored by thread %u of block (%u,%u,%u) on %s and thread "
             "%u of block (%u,%u,%u) on %s: the two part %" PRId64
             " operations before what is stored.",
             p->element, p->out->name, p->trace[0].thread, p->trace[0].block[0],
             p->trace[0].block[1], p->trace[0].block[2], x->side[0].name, p->trace[1].thread,
             p->trace[1].block[0], p->trace[1].block[1], p->trace[1].block[2], x->side[1].name,
             d->steps - 1);
    putchar('\n');
    say(text);
    if (d->product && d->product_on_a)
        print_operation("A", d->product, 0, 0);
    print_operation("A", d->a, d->value_a, d->bits);
    if (d->product && !d->product_on_a)
        print_operation("B", d->product, 0, 0);
    print_operation("B", d->b, d->value_b, d->bits);
    snprintf(text, sizeof text, "This is %s.", diverge_meaning(d->kind));
    if (d->kind != DIVERGE_CONTRACTION && d->kind != DIVERGE_PRODUCT)
        snprintf(text, sizeof text, "That is: %s.", diverge_meaning(d->kind));
    say(text);
}

static enum err show_place(struct explain *x, struct errinfo *e)
{
    struct explain_place p = {0};
    if (x->end < EXPLAIN_EQUAL || x->device[0].kind != DEVICE_CHOICE_SIMULATED ||
        x->device[1].kind != DEVICE_CHOICE_SIMULATED)
        return ERR_OK;
    TRY(explain_place(x, &p, e));
    print_place(x, &p);
    explain_place_release(&p);
    return ERR_OK;
}

/* --- one change alone ------------------------------------------------------------------------
 */

static enum err change_parse(const struct explain *x, const char *text, int *ret_side,
                             uint32_t *ret_set, struct errinfo *e)
{
    const char *colon = strrchr(text, ':');
    *ret_side = -1;
    for (int s = 0; colon && s < EXPLAIN_SIDES; s++)
        if (strlen(x->side[s].name) == (size_t)(colon - text) &&
            !memcmp(text, x->side[s].name, (size_t)(colon - text)))
            *ret_side = s;
    if (colon && !strncmp(text, "both:", 5))
        *ret_side = EXPLAIN_SIDES;
    if (*ret_side < 0)
        return err_set(e, ERR_USAGE,
                       "--change wants DEVICE:CHANGE, for instance %s:contract=off, or "
                       "both:CHANGE, not '%.80s'",
                       x->side[1].name, text);
    int list = *ret_side == EXPLAIN_SIDES ? 0 : *ret_side;
    return lowering_parse(x->side[list].list, x->side[list].n, colon + 1, ret_set, e);
}

static enum err show_change(struct explain *x, const char *text, int *ret_exit,
                            struct errinfo *e)
{
    int side;
    uint32_t set;
    explain_sides(x);
    TRY(change_parse(x, text, &side, &set, e));
    TRY(explain_change(x, side, set, &x->finding, e));
    print_head(x);
    printf("with %s\n", text);
    if (verdict_fails(x->finding.verdict, false))
        *ret_exit = COMMAND_FAILS;
    else if (x->finding.verdict == VERDICT_UNTESTED)
        *ret_exit = COMMAND_NOTHING;
    return ERR_OK;
}

/* --- the command -----------------------------------------------------------------------------
 */

static int exit_of(const struct explain *x)
{
    switch (x->end) {
    case EXPLAIN_SAME:
    case EXPLAIN_EQUAL:
    case EXPLAIN_BOTH:
    case EXPLAIN_VERDICT:
        return COMMAND_GOOD;
    case EXPLAIN_BROKEN:
        return x->finding.verdict == VERDICT_UNTESTED ? COMMAND_NOTHING : COMMAND_FAILS;
    default:
        return COMMAND_FAILS;
    }
}

static enum err explain(struct explain *x, const struct options *o, int *ret_exit,
                        struct errinfo *e)
{
    if (o->change)
        return show_change(x, o->change, ret_exit, e);
    TRY(explain_search(x, e));
    print_explanation(x, o->verbose);
    TRY(show_place(x, e));
    *ret_exit = exit_of(x);
    return ERR_OK;
}

enum err cmd_explain(const struct options *o, int *ret_exit, struct errinfo *e)
{
    struct session s = {0};
    struct run_options r;
    enum err err = session_plan(&s, o, &r, 2, "cuda,hip", e);
    if (!err && s.cases.count != 1)
        err = err_set(e, ERR_USAGE,
                      "explain wants exactly one case, this selects %" PRId64
                      "; gpuparity list prints ids",
                      s.cases.count);
    struct explain *x = err ? NULL : calloc(1, sizeof *x);
    if (!err && !x)
        err = err_set(e, ERR_NOMEM, "out of memory");
    if (!err) {
        x->id = &s.cases.id[0];
        x->device = s.device;
        x->trial = (struct trial){.code = r.code, .timeout = r.timeout};
        x->threads = o->threads ? o->threads : 1;
        err = explain(x, o, ret_exit, e);
        explain_release(x);
    }
    free(x);
    session_release(&s);
    return err;
}
