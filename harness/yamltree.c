/* SPDX-License-Identifier: Apache-2.0 */
#include "yamltree.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "text.h"

enum { DEPTH_MAX = 16, MEMBERS_MAX = 4096, BLOCK_BYTES = 1 << 14 };

struct yamlblock {
    struct yamlblock *next;
    size_t used, size;
    _Alignas(16) char bytes[];
};

struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the one to look at; zeroed: none */
    struct yamltree tree;
    int depth;
    struct errinfo *e;
};

/* --- memory ----------------------------------------------------------------------------------
 */

static void *tree_take(struct reader *r, size_t size)
{
    struct yamlblock *b = r->tree.blocks;
    size = (size + 15) & ~(size_t)15;
    if (!b || b->size - b->used < size) {
        size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        struct yamlblock *more = calloc(1, sizeof *more + room);
        if (!more)
            return NULL;
        more->next = b;
        more->size = room;
        r->tree.blocks = b = more;
    }
    void *at = b->bytes + b->used;
    b->used += size;
    return at;
}

void yamltree_release(struct yamltree *t)
{
    while (t->blocks) {
        struct yamlblock *b = t->blocks;
        t->blocks = b->next;
        free(b);
    }
    memset(t, 0, sizeof *t);
}

static enum err no_memory(struct reader *r)
{
    return err_set(r->e, ERR_NOMEM, "out of memory while reading %.200s", r->tree.path);
}

/* --- messages --------------------------------------------------------------------------------
 */

static enum err fail_at(struct reader *r, yaml_mark_t at, const char *what)
{
    return err_set(r->e, ERR_FORMAT, "%.200s:%zu:%zu: %s", r->tree.path, at.line + 1,
                   at.column + 1, what);
}

static enum err fail(struct reader *r, const char *what)
{
    return fail_at(r, r->event.start_mark, what);
}

enum err yamltree_fail(const struct yamltree *t, const struct yamlnode *n, struct errinfo *e,
                       const char *format, ...)
{
    char words[400];
    va_list ap;
    va_start(ap, format);
    vsnprintf(words, sizeof words, format, ap);
    va_end(ap);
    err_set(e, ERR_FORMAT, "%s", words);
    return yamltree_context(t, n, e, ERR_FORMAT);
}

enum err yamltree_context(const struct yamltree *t, const struct yamlnode *n,
                          struct errinfo *e, enum err code)
{
    return err_context(e, code, "%.200s:%d:%d", t->path, n ? n->line : 1, n ? n->column : 1);
}

/* --- events ----------------------------------------------------------------------------------
 */

static enum err next(struct reader *r)
{
    yaml_event_delete(&r->event);
    memset(&r->event, 0, sizeof r->event);
    if (yaml_parser_parse(&r->parser, &r->event))
        return ERR_OK;
    const yaml_parser_t *p = &r->parser;
    char words[200];
    yaml_mark_t at = p->problem_mark;
    snprintf(words, sizeof words, "this is no YAML: %s%s%s", p->problem ? p->problem : "?",
             p->context ? " " : "", p->context ? p->context : "");
    if (p->error == YAML_READER_ERROR) { /* it has no mark */
        at = p->mark;
        snprintf(words, sizeof words, "this is no UTF-8 text: %s",
                 p->problem ? p->problem : "?");
    }
    return fail_at(r, at, words);
}

static enum err text_read(struct reader *r, char **ret_text)
{
    const char *value = (const char *)r->event.data.scalar.value;
    size_t size = r->event.data.scalar.length;
    if (!text_valid(value, size))
        return fail(r, "a text with control characters");
    char *copy = tree_take(r, size + 1);
    if (!copy)
        return no_memory(r);
    memcpy(copy, value, size);
    copy[size] = 0;
    *ret_text = copy;
    return ERR_OK;
}

static enum err node_read(struct reader *r, struct yamlnode **ret_node);

static enum err key_read(struct reader *r, const struct yamlnode *map, struct yamlnode *key)
{
    char *text = NULL;
    if (r->event.type != YAML_SCALAR_EVENT || r->event.data.scalar.anchor ||
        r->event.data.scalar.tag)
        return fail(r, "a key must be a plain text");
    TRY(text_read(r, &text));
    if (yamlnode_get(map, text))
        return fail(r, "this key is there twice");
    key->key = text;
    key->key_line = (int)r->event.start_mark.line + 1;
    key->key_column = (int)r->event.start_mark.column + 1;
    return next(r);
}

/* The members of a list or a map, up to the event that ends it. */
static enum err members_read(struct reader *r, struct yamlnode *parent, yaml_event_type_t end)
{
    struct yamlnode **at = &parent->first;
    TRY(next(r));
    while (r->event.type != end) {
        struct yamlnode key = {0}, *n = NULL;
        if (parent->count == MEMBERS_MAX)
            return fail(r, "too many members");
        if (parent->kind == YAML_MAP)
            TRY(key_read(r, parent, &key));
        TRY(node_read(r, &n));
        n->key = key.key;
        n->key_line = key.key_line;
        n->key_column = key.key_column;
        *at = n;
        at = &n->next;
        parent->count++;
    }
    return next(r);
}

static enum err scalar_read(struct reader *r, struct yamlnode *n)
{
    char *text = NULL;
    n->kind = YAML_TEXT;
    n->quoted = r->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    TRY(text_read(r, &text));
    n->text = text;
    return next(r);
}

static enum err node_fill(struct reader *r, struct yamlnode *n)
{
    const yaml_event_t *v = &r->event;
    switch (v->type) {
    case YAML_SCALAR_EVENT:
        if (v->data.scalar.anchor || v->data.scalar.tag)
            return fail(r, "anchors and tags are not used here");
        return scalar_read(r, n);
    case YAML_SEQUENCE_START_EVENT:
        if (v->data.sequence_start.anchor || v->data.sequence_start.tag)
            return fail(r, "anchors and tags are not used here");
        n->kind = YAML_LIST;
        return members_read(r, n, YAML_SEQUENCE_END_EVENT);
    case YAML_MAPPING_START_EVENT:
        if (v->data.mapping_start.anchor || v->data.mapping_start.tag)
            return fail(r, "anchors and tags are not used here");
        n->kind = YAML_MAP;
        return members_read(r, n, YAML_MAPPING_END_EVENT);
    case YAML_ALIAS_EVENT:
        return fail(r, "aliases are not used here");
    default:
        return fail(r, "a value is missing");
    }
}

static enum err node_read(struct reader *r, struct yamlnode **ret_node)
{
    if (r->depth == DEPTH_MAX)
        return fail(r, "nested too deeply");
    struct yamlnode *n = tree_take(r, sizeof *n);
    if (!n)
        return no_memory(r);
    n->line = (int)r->event.start_mark.line + 1;
    n->column = (int)r->event.start_mark.column + 1;
    r->depth++;
    TRY(node_fill(r, n));
    r->depth--;
    *ret_node = n;
    return ERR_OK;
}

static enum err stream_read(struct reader *r)
{
    TRY(next(r)); /* the stream's start */
    TRY(next(r));
    if (r->event.type == YAML_STREAM_END_EVENT)
        return ERR_OK;
    TRY(next(r)); /* the document's start */
    TRY(node_read(r, &r->tree.root));
    TRY(next(r));
    if (r->event.type != YAML_STREAM_END_EVENT)
        return fail(r, "one file is one document");
    return ERR_OK;
}

enum err yamltree_parse(const char *path, const char *text, size_t size,
                        struct yamltree *ret_tree, struct errinfo *e)
{
    struct reader r = {.e = e};
    snprintf(r.tree.path, sizeof r.tree.path, "%s", path);
    if (!yaml_parser_initialize(&r.parser))
        return no_memory(&r);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, size);
    enum err err = stream_read(&r);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    if (err)
        yamltree_release(&r.tree);
    else
        *ret_tree = r.tree;
    return err;
}

const struct yamlnode *yamlnode_get(const struct yamlnode *map, const char *key)
{
    for (const struct yamlnode *n = map->first; n; n = n->next)
        if (n->key && !strcmp(n->key, key))
            return n;
    return NULL;
}
