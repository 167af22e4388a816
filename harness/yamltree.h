/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_YAMLTREE_H
#define GPUPARITY_YAMLTREE_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

/* A YAML text (JSON is one, too) as a tree of texts, lists and maps. Anchors, aliases, tags,
 * several documents, keys that are no text or occur twice, control characters depths
 * beyond 16 and more than 4096 members are refused. */

enum yaml_kind { YAML_TEXT, YAML_LIST, YAML_MAP };

struct yamlnode {
    enum yaml_kind kind;
    int line, column;       /* from 1 */
    const char *text;       /* TEXT: the characters; "" for an empty one */
    bool quoted;            /* TEXT: in quotes, so never a number or nothing */
    const char *key;        /* of a member of a MAP */
    int key_line, key_column;
    int count;              /* LIST, MAP: members */
    struct yamlnode *first, *next; /* LIST, MAP: the first; the next member of the same parent */
};

struct yamltree {
    char path[512];        /* for messages */
    struct yamlnode *root; /* NULL: an empty text */
    struct yamlblock *blocks; /* owned: nodes and texts live here */
};

/* ERR_FORMAT with "path:line:column: what". */
enum err yamltree_parse(const char *path, const char *text, size_t size,
                        struct yamltree *ret_tree, struct errinfo *e);
void yamltree_release(struct yamltree *t); /* accepts a zeroed struct */

/* ERR_FORMAT: "path:line:column: " and the words, for a node of the tree. */
enum err yamltree_fail(const struct yamltree *t, const struct yamlnode *n, struct errinfo *e,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Puts path, line and column of a node before the text that is there; returns `code`. */
enum err yamltree_context(const struct yamltree *t, const struct yamlnode *n,
                          struct errinfo *e, enum err code);

/* The member of that key of a MAP, or NULL. */
const struct yamlnode *yamlnode_get(const struct yamlnode *map, const char *key);

#endif
