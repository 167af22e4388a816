/* SPDX-License-Identifier: Apache-2.0 */
#include "treetext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct writer {
    const struct tree *t;
    FILE *out;
};

static const struct tree_node *at(const struct writer *w, int node)
{
    return &w->t->node[node];
}

static void write_node(const struct writer *w, int node);

/* --- the step of a chain ---------------------------------------------------------------------
 */

/* A node as a step: the sum so far and `count` alike terms, `inner` apart. */
struct step {
    int sum;   /* -1: there is none, all children are alike */
    int first; /* of the terms: a node */
    int count, inner;
};

static int child_largest(const struct writer *w, int node)
{
    int best = at(w, node)->first;
    for (int c = best; c >= 0; c = at(w, c)->next)
        if (at(w, c)->leaves > at(w, best)->leaves)
            best = c;
    return best;
}

/* The children but `sum` as a row of alike terms. */
static bool step_of(const struct writer *w, int node, int sum, struct step *ret_step)
{
    struct step s = {.sum = sum, .first = -1};
    int before = -1;
    for (int c = at(w, node)->first; c >= 0; c = at(w, c)->next) {
        int shift;
        if (c == sum)
            continue;
        if (s.first < 0)
            s.first = c;
        else if (!tree_shifted(w->t, before, c, &shift) || (s.count > 1 && shift != s.inner))
            return false;
        else
            s.inner = shift;
        before = c;
        s.count++;
    }
    *ret_step = s;
    return s.count > 0;
}

static bool step_alike(const struct writer *w, const struct step *a, const struct step *b,
                       int *ret_shift)
{
    return a->count == b->count && (a->count == 1 || a->inner == b->inner) &&
           tree_shifted(w->t, a->first, b->first, ret_shift);
}

/* --- chains ----------------------------------------------------------------------------------
 */

struct chain {
    struct step step; /* the earliest of those that repeat */
    int times, shift; /* from each to the one after it */
    int head;         /* what it begins with; -1: the first step itself */
};

/* Does `node`, which has no sum before it, look like a step: the same terms and nothing else?
 */
static bool is_bare_step(const struct writer *w, int node, const struct step *s,
                         struct step *ret_bare)
{
    if (s->count == 1) {
        *ret_bare = (struct step){-1, node, 1, 0};
        return true;
    }
    return at(w, node)->leaf < 0 && step_of(w, node, -1, ret_bare) &&
           ret_bare->count == s->count;
}

/* One step further down: the step below c->step's sum, if it is alike. */
static bool chain_extend(const struct writer *w, struct chain *c, bool *ret_end)
{
    struct step below;
    int sum = c->step.sum, shift;
    bool bare = is_bare_step(w, sum, &c->step, &below) &&
                step_alike(w, &below, &c->step, &shift) && (c->times == 1 || shift == c->shift);
    *ret_end = bare;
    if (!bare) {
        if (at(w, sum)->leaf >= 0 || !step_of(w, sum, child_largest(w, sum), &below) ||
            !step_alike(w, &below, &c->step, &shift) || (c->times > 1 && shift != c->shift))
            return false;
    }
    c->step = below;
    c->shift = shift;
    c->times++;
    return true;
}

static bool chain_find(const struct writer *w, int node, struct chain *ret_chain)
{
    struct chain c = {.times = 1, .head = -1};
    bool end = false;
    if (!step_of(w, node, child_largest(w, node), &c.step))
        return false;
    while (!end && chain_extend(w, &c, &end))
        ;
    if (!end)
        c.head = c.step.sum;
    *ret_chain = c;
    return c.times >= 3 || (c.times == 2 && c.step.count > 1);
}

static void write_step(const struct writer *w, const struct step *s)
{
    if (s->count > 1)
        fprintf(w->out, "{%d x %+d of ", s->count, s->inner);
    write_node(w, s->first);
    if (s->count > 1)
        fputc('}', w->out);
}

static void write_chain(const struct writer *w, const struct chain *c)
{
    fputs("chain ", w->out);
    if (c->head >= 0) {
        write_node(w, c->head);
        fputs(" then ", w->out);
    }
    fprintf(w->out, "%d x %+d of ", c->times, c->shift);
    write_step(w, &c->step);
}

/* --- other nodes -----------------------------------------------------------------------------
 */

/* The two children if they are alike. */
static bool is_pair(const struct writer *w, int node, int *ret_shift)
{
    const struct tree_node *n = at(w, node);
    return n->children == 2 && tree_shifted(w->t, n->first, at(w, n->first)->next, ret_shift);
}

static void write_pairs(const struct writer *w, int node)
{
    int shift;
    struct chain c;
    const char *before = "pair ";
    while (at(w, node)->leaf < 0 && !chain_find(w, node, &c) && is_pair(w, node, &shift)) {
        fprintf(w->out, "%s%+d", before, shift);
        before = ",";
        node = at(w, node)->first;
    }
    fputs(" of ", w->out);
    write_node(w, node);
}

static void write_plain(const struct writer *w, int node)
{
    bool fused = at(w, node)->children > 2;
    fputc(fused ? '{' : '(', w->out);
    for (int c = at(w, node)->first; c >= 0; c = at(w, c)->next) {
        write_node(w, c);
        if (at(w, c)->next >= 0)
            fputs(" + ", w->out);
    }
    fputc(fused ? '}' : ')', w->out);
}

static void write_node(const struct writer *w, int node)
{
    struct chain c;
    struct step s;
    int shift;
    if (at(w, node)->leaf >= 0)
        fprintf(w->out, "%d", at(w, node)->leaf);
    else if (chain_find(w, node, &c))
        write_chain(w, &c);
    else if (is_pair(w, node, &shift))
        write_pairs(w, node);
    else if (at(w, node)->children > 2 && step_of(w, node, -1, &s))
        write_step(w, &s);
    else
        write_plain(w, node);
}

char *treetext(const struct tree *t)
{
    char *text = NULL;
    size_t size = 0;
    struct writer w = {t, open_memstream(&text, &size)};
    if (!w.out)
        return NULL;
    write_node(&w, t->root);
    return fclose(w.out) ? NULL : text;
}
