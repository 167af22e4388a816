/* SPDX-License-Identifier: Apache-2.0 */
#include "explaintext.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "divergetext.h"
#include "wrap.h"

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

/* A change of the code alone. */
static bool is_compiled(const struct explain *x, const struct explain_trial *t)
{
    bool compiled = t->side < EXPLAIN_SIDES;
    for (int i = 0; compiled && i < x->side[t->side].n; i++)
        if (t->set >> i & 1)
            compiled = x->side[t->side].list[i].kind == LOWERING_MODE;
    return compiled;
}

/* An earlier change of that side of which the compiler made the same code. */
static const struct explain_trial *twin_of(const struct explain *x,
                                           const struct explain_trial *t)
{
    for (const struct explain_trial *u = x->trial_of; u < t; u++)
        if (u->side == t->side && is_compiled(x, u) && is_compiled(x, t) && !u->status && !u->inert && t->code[0] &&
            !strcmp(u->code, t->code) && u->differing == t->differing)
            return u;
    return NULL;
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
    const struct explain_trial *twin = twin_of(x, t);
    if (twin && !t->inert) {
        change_text(x, twin, change, sizeof change);
        snprintf(text + strlen(text), sizeof text - strlen(text), " (the code of %.80s)", change);
    }
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

static void print_command(const struct explain *x, const char *code,
                          const struct explain_trial *t)
{
    char id[CASEID_TEXT_MAX], change[200];
    caseid_print(x->id, id);
    change_text(x, t, change, sizeof change);
    printf("show it: gpuparity explain '%s' --on %s,%s --change %s:%s", id, x->side[0].name,
           x->side[1].name, where(x, t->side), change);
    if (code)
        printf(" --code %s", code);
    putchar('\n');
}

/* Code that nobody compiles here, and why the list of changes is short. */
static void print_fixed(const struct explain *x)
{
    char text[400], sides[80] = "";
    const char *fixed = NULL;
    for (int s = 0; s < EXPLAIN_SIDES; s++)
        if (lowering_fixed(x->id, x->device[s].backend)) {
            snprintf(sides + strlen(sides), sizeof sides - strlen(sides), "%s%s",
                     fixed ? " and " : "", x->side[s].name);
            fixed = lowering_fixed(x->id, x->device[s].backend);
        }
    if (!fixed)
        return;
    snprintf(text, sizeof text,
             "The code on %s is %s: how it was compiled cannot be changed here%s.", sides, fixed,
             x->n_trial ? ", only what the simulated devices do with it" : "");
    say(text);
}

/* How many changes there were, and what they cost. */
static void print_counts(const struct explain *x)
{
    int alone = 0, sets = 0, inert = 0, untried = 0;
    for (int i = 0; i < x->n_trial; i++) {
        const struct explain_trial *t = &x->trial_of[i];
        bool set = __builtin_popcount(t->set) > 1;
        untried += t->status != RECORD_OK;
        alone += !t->status && !set;
        sets += !t->status && set;
        inert += !t->status && t->inert;
    }
    char text[300];
    size_t used = (size_t)snprintf(
        text, sizeof text,
        "unchanged, %" PRId64 " of %" PRId64 " elements differ; tried in %d runs: %d change%s",
        x->differing, x->count, x->runs, alone, alone == 1 ? "" : "s");
    if (sets)
        used += (size_t)snprintf(text + used, sizeof text - used, ", %d set%s of them", sets,
                                 sets == 1 ? "" : "s");
    if (inert)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 ", of which %d change%s nothing", inert, inert == 1 ? "s" : "");
    if (untried)
        snprintf(text + used, sizeof text - used, "; %d could not be tried", untried);
    putchar('\n');
    say(text);
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

static void print_best(const struct explain *x, const char *code)
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
    print_command(x, code, t);
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
    say(x->n_trial ? "No change on one side that could be tried makes the sides bit-equal or the "
                     "verdict better: the difference is not one of compiler options or of the "
                     "modelled choices."
                   : "There is nothing that could be changed on one side alone.");
    if (!near)
        return;
    change_text(x, near, change, sizeof change);
    snprintf(text, sizeof text,
             "Nearest: %s on %s leaves %" PRId64 " of the %" PRId64 " differing elements.",
             change, where(x, near->side), near->differing, x->differing);
    say(text);
}

void explaintext_head(const struct explain *x)
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

static bool is_shown(const struct explain *x, const struct explain_trial *t, bool verbose)
{
    bool set = __builtin_popcount(t->set) > 1;
    return !t->status && (verbose || (!t->inert && (!set || (x->best >= 0 && t == &x->trial_of[x->best]))));
}

void explaintext_print(const struct explain *x, const char *code, bool verbose)
{
    explaintext_head(x);
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
    print_counts(x);
    for (int i = 0; i < x->n_trial; i++)
        if (is_shown(x, &x->trial_of[i], verbose))
            print_trial(x, &x->trial_of[i]);
    print_untried(x);
    print_fixed(x);
    putchar('\n');
    if (x->best < 0) {
        print_nothing(x);
        return;
    }
    print_best(x, code);
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
    divergetext_print(x, text, sizeof text);
    printf("  %s  ", side);
    wrap_print(stdout, text, 5, 7, WIDTH);
    fputs("     ", stdout);
    wrap_print(stdout, x->place, 5, 7, WIDTH);
}

/* An element that only one side stores. */
static void print_unstored(const struct explain *x, const struct explain_place *p)
{
    char text[700];
    int has = p->stored[0] ? 0 : 1;
    const struct optrace *t = &p->trace[has];
    if (p->stored[0] == p->stored[1]) {
        snprintf(text, sizeof text, "The operations cannot be compared: %s", p->reason);
    } else {
        snprintf(text, sizeof text,
                 "Element %" PRId64 " of %s is stored by thread %u of block (%u,%u,%u) on %s; "
                 "on %s no thread stores it%s.",
                 p->element, p->out->name, t->thread, t->block[0], t->block[1], t->block[2],
                 x->side[has].name, x->side[!has].name,
                 p->unwritten ? ": there is what the memory held before"
                              : " by an instruction that is traced");
    }
    putchar('\n');
    say(text);
}

/* What an operation rests on, where that says what it is. */
static void print_before(const char *side, const struct explain_place *p, int s,
                         const struct op_event *x)
{
    const struct op_event *y =
        p->diverge.kind == DIVERGE_OPERATION ? divergetext_before(&p->trace[s], x) : NULL;
    if (y)
        print_operation(side, y, 0, 0);
}

void explaintext_place(const struct explain *x, const struct explain_place *p)
{
    const struct diverge *d = &p->diverge;
    char text[700], meaning[500], back[80] = "in the operation whose result is stored";
    if (!p->found) {
        if (p->reason[0])
            print_unstored(x, p);
        return;
    }
    if (d->steps > 1)
        snprintf(back, sizeof back, "%" PRId64 " operation%s before the one whose result is stored",
                 d->steps - 1, d->steps == 2 ? "" : "s");
    snprintf(text, sizeof text,
             "Element %" PRId64
             " of %s, stored by thread %u of block (%u,%u,%u) on %s and thread "
             "%u of block (%u,%u,%u) on %s: the two part %s%s.",
             p->element, p->out->name, p->trace[0].thread, p->trace[0].block[0],
             p->trace[0].block[1], p->trace[0].block[2], x->side[0].name, p->trace[1].thread,
             p->trace[1].block[0], p->trace[1].block[1], p->trace[1].block[2], x->side[1].name,
             back, p->trace[0].whole_block ? ", followed through the threads of the block" : "");
    putchar('\n');
    say(text);
    if (d->product && d->product_on_a)
        print_operation("A", d->product, 0, 0);
    print_before("A", p, 0, d->a);
    print_operation("A", d->a, d->value_a, d->bits);
    if (d->product && !d->product_on_a)
        print_operation("B", d->product, 0, 0);
    print_before("B", p, 1, d->b);
    print_operation("B", d->b, d->value_b, d->bits);
    divergetext_meaning(&p->trace[0], &p->trace[1], d, meaning, sizeof meaning);
    bool named = d->kind == DIVERGE_CONTRACTION || d->kind == DIVERGE_PRODUCT;
    snprintf(text, sizeof text, "%s %s.", named ? "This is" : "That is:", meaning);
    say(text);
}
