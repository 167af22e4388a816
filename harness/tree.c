/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"

#include <stdlib.h>
#include <string.h>

struct builder {
    const int32_t *met;
    struct tree tree;
    int *set, *spare; /* the leaves, those of a subtree side by side; room for a reordering */
    int bad_i, bad_j; /* a pair that fits no tree; -1: none */
};

static int32_t met_of(const struct builder *b, int i, int j)
{
    return i < j ? b->met[(int64_t)j * (j - 1) / 2 + i] : b->met[(int64_t)i * (i - 1) / 2 + j];
}

/* Brings those that meet set[0] below this node of `n` leaves together at the front, in order;
 * returns how many. */
static int gather(const struct builder *b, int *set, int count, int n)
{
    int near = 1, far = 0;
    for (int k = 1; k < count; k++)
        if (met_of(b, set[0], set[k]) < n)
            set[near++] = set[k];
        else
            b->spare[far++] = set[k];
    memcpy(set + near, b->spare, (size_t)far * sizeof *set);
    return near;
}

/* All pairs across must meet at this node of `n` leaves. */
static bool apart(struct builder *b, const int *set, int near, int count, int n)
{
    for (int x = 0; x < near; x++)
        for (int y = near; y < count; y++)
            if (met_of(b, set[x], set[y]) != n) {
                b->bad_i = set[x];
                b->bad_j = set[y];
                return false;
            }
    return true;
}

/* The subtree over set[0, n), whose smallest leaf comes first. */
static int build(struct builder *b, int *set, int n)
{
    int at = b->tree.count++, *link = &b->tree.node[at].first;
    b->tree.node[at] = (struct tree_node){-1, -1, n == 1 ? set[0] : -1, n, set[0], 0};
    for (int done = 0; n > 1 && done < n && b->bad_i < 0;) {
        int near = gather(b, set + done, n - done, n);
        if (near == n) { /* none meets it here */
            b->bad_i = set[0];
            b->bad_j = set[1];
        } else if (apart(b, set + done, near, n - done, n)) {
            *link = build(b, set + done, near);
            link = &b->tree.node[*link].next;
            b->tree.node[at].children++;
        }
        done += near;
    }
    return at;
}

enum err tree_make(int leaves, const int32_t *met, struct tree *ret_tree, struct errinfo *e)
{
    struct builder b = {.met = met, .tree = {.leaves = leaves}, .bad_i = -1};
    size_t n = (size_t)leaves;
    b.tree.node = calloc(2 * n, sizeof *b.tree.node);
    b.set = calloc(2 * n, sizeof *b.set);
    enum err code = ERR_OK;
    if (!b.tree.node || !b.set) {
        code = err_set(e, ERR_NOMEM, "no memory for a tree of %d terms", leaves);
    } else {
        for (int i = 0; i < leaves; i++)
            b.set[i] = i;
        b.spare = b.set + n;
        b.tree.root = build(&b, b.set, leaves);
    }
    if (!code && b.bad_i >= 0)
        code =
            err_set(e, ERR_FORMAT,
                    "this is no tree of additions: terms %d and %d meet where %d of %d terms "
                    "are, which does not go together with other pairs",
                    b.bad_i, b.bad_j, (int)met_of(&b, b.bad_i, b.bad_j), leaves);
    free(b.set);
    if (code)
        tree_release(&b.tree);
    else
        *ret_tree = b.tree;
    return code;
}

void tree_release(struct tree *t)
{
    free(t->node);
    memset(t, 0, sizeof *t);
}

int tree_additions(const struct tree *t)
{
    return t->count - t->leaves;
}

int tree_fused(const struct tree *t)
{
    int fused = 0;
    for (int i = 0; i < t->count; i++)
        fused += t->node[i].children > 2;
    return fused;
}

static int depth_of(const struct tree *t, int node)
{
    int most = 0;
    for (int c = t->node[node].first; c >= 0; c = t->node[c].next) {
        int depth = 1 + depth_of(t, c);
        most = depth > most ? depth : most;
    }
    return most;
}

int tree_depth(const struct tree *t)
{
    return depth_of(t, t->root);
}

bool tree_shifted(const struct tree *t, int from, int to, int *ret_shift)
{
    const struct tree_node *a = &t->node[from], *b = &t->node[to];
    int shift = b->least - a->least;
    if (a->leaves != b->leaves || a->children != b->children)
        return false;
    for (int x = a->first, y = b->first; x >= 0; x = t->node[x].next, y = t->node[y].next) {
        int inner;
        if (!tree_shifted(t, x, y, &inner) || inner != shift)
            return false;
    }
    *ret_shift = shift;
    return true;
}
