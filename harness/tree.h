/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TREE_H
#define GPUPARITY_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* The order in which a sum was added, as a tree: leaves are terms, a node is one addition of
 * two partial sums or, in units that add several terms in one step, of more. Found as FPRev
 * does (Xie, Gao, Wang, Xue: arXiv 2411.00442): when +big stands at term i and -big at term j, every
 * small term that enters the partial sums below the node where i and j meet vanishes, so what
 * is left counts the terms outside of that node. All pairs are asked, so that what is no tree
 * shows itself. Which of two partial sums stands on the left cannot be seen. */

struct tree_node {
    int first, next; /* first child, next sibling; -1: none */
    int leaf;        /* the term's number; -1: a node */
    int leaves;      /* under this one */
    int least;       /* the smallest term's number under this one */
    int children;
};

struct tree {
    int leaves, count, root;
    struct tree_node *node; /* owned */
};

/* `met` has for each pair i < j, at j (j - 1) / 2 + i, the number of leaves under the node
 * where they meet. ERR_FORMAT if no tree has these numbers, naming a pair. `leaves` >= 2. */
enum err tree_make(int leaves, const int32_t *met, struct tree *ret_tree, struct errinfo *e);
void tree_release(struct tree *t); /* accepts a zeroed struct */

int tree_additions(const struct tree *t);
int tree_fused(const struct tree *t); /* additions of more than two */
int tree_depth(const struct tree *t); /* the most additions that a term goes through */

/* Is the one like the other with every term's number larger by the same amount? */
bool tree_shifted(const struct tree *t, int from, int to, int *ret_shift);

#endif
