/* SPDX-License-Identifier: Apache-2.0 */
#include "expr.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caseid.h"
#include "exprfunction.h"

enum { DEPTH_MAX = 64, NAMES_MAX = 64 };

struct parser {
    const char *text, *at;
    bool real;
    int depth;
    const struct expr_names *names;
    struct expr expr;
    unsigned bound; /* indices in force: the result's, and those of sums around */
    struct errinfo *e;
};

static enum err fail(struct parser *p, const char *what)
{
    return err_set(p->e, ERR_USAGE, "'%.100s': %s at character %d", p->text, what,
                   (int)(p->at - p->text) + 1);
}

static char peek(struct parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
    return *p->at;
}

static enum err node_add(struct parser *p, struct expr_node n, int *ret_index)
{
    if (p->expr.count == EXPR_NODES_MAX)
        return fail(p, "too long, it could not be taken in");
    bool leaf = n.op < EXPR_NEGATE;
    for (int i = 0; i < 3 && !leaf; i++)
        n.depends |= p->expr.node[n.arg[i]].depends;
    if (n.op >= EXPR_SUM && n.op <= EXPR_HIGHEST)
        n.depends &= ~(1u << n.slot);
    *ret_index = p->expr.count;
    p->expr.node[p->expr.count++] = n;
    return ERR_OK;
}

static enum err number_parse(struct parser *p, int *ret_index)
{
    char *end, *whole_end;
    struct expr_node n = {.op = EXPR_NUMBER};
    errno = 0;
    n.real = strtold(p->at, &end);
    bool overflow = errno == ERANGE;
    errno = 0;
    n.whole = strtoll(p->at, &whole_end, 10);
    if (!p->real && (end != whole_end || errno))
        return fail(p, "a whole number is wanted");
    if (overflow)
        return fail(p, "a number that is too large or too small");
    p->at = end;
    return node_add(p, n, ret_index);
}

static enum err sum_parse(struct parser *p, int *ret_index);

static enum err expect(struct parser *p, char c)
{
    char what[] = "'?' is missing";
    what[1] = c;
    if (peek(p) != c)
        return fail(p, what);
    p->at++;
    return ERR_OK;
}

static enum err call_parse(struct parser *p, const struct expr_function *f, int *ret_index)
{
    struct expr_node n = {.op = f->op};
    TRY(expect(p, '('));
    for (int i = 0; i < f->arity; i++) {
        if (i)
            TRY(expect(p, ','));
        TRY(sum_parse(p, &n.arg[i]));
    }
    for (int i = f->arity; i < 3; i++)
        n.arg[i] = n.arg[0];
    TRY(expect(p, ')'));
    return node_add(p, n, ret_index);
}

static enum err word_unknown(struct parser *p, const char *word)
{
    const char *names[NAMES_MAX + EXPR_FUNCTIONS];
    const struct expr_names *known = p->names;
    int n = 0;
    for (int i = 0; i < known->n_value && n < NAMES_MAX; i++)
        if (known->value[i][0])
            names[n++] = known->value[i];
    for (int i = 0; i < known->n_tensor && n < NAMES_MAX; i++)
        if (known->tensor[i][0])
            names[n++] = known->tensor[i];
    for (int i = 0; i < EXPR_FUNCTIONS; i++)
        if (p->real ? expr_functions[i].real : expr_functions[i].whole)
            names[n++] = expr_functions[i].name;
    char all[240];
    nearest_list(word, names, n, all, sizeof all);
    return err_set(p->e, ERR_USAGE, "'%.100s': nothing here is called '%s' (character %d); %s",
                   p->text, word, (int)(p->at - p->text) + 1, all);
}

/* The characters of a name, which are left standing. */
static enum err word_peek(struct parser *p, char ret_word[EXPR_NAME_MAX])
{
    size_t n = 0;
    peek(p);
    while (isalnum((unsigned char)p->at[n]) || p->at[n] == '_')
        n++;
    if (!n || isdigit((unsigned char)*p->at))
        return fail(p, "a name is wanted");
    if (n >= EXPR_NAME_MAX)
        return fail(p, "a name that is too long");
    memcpy(ret_word, p->at, n);
    ret_word[n] = 0;
    return ERR_OK;
}

static int name_find(int n, const char *const *name, const char *word)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(name[i], word))
            return i;
    return -1;
}

/* The slot of an index that is in force, or -1. */
static int slot_find(const struct parser *p, const char *word)
{
    for (int i = 0; i < p->expr.n_index; i++)
        if (p->bound >> i & 1 && !strcmp(p->expr.index[i], word))
            return i;
    return -1;
}

static enum err element_parse(struct parser *p, int tensor, int *ret_index)
{
    struct expr_node n = {.op = EXPR_ELEMENT, .name = tensor};
    char word[EXPR_NAME_MAX];
    TRY(expect(p, '['));
    do {
        TRY(word_peek(p, word));
        int slot = slot_find(p, word);
        if (slot < 0)
            return fail(p, "this is no index: those left of '=' and of sums around are");
        if (n.n_slot == p->names->rank[tensor])
            return fail(p, "more indices than the tensor has dimensions");
        n.slots[n.n_slot++] = (int8_t)slot;
        n.depends |= 1u << slot;
        p->at += strlen(word);
        p->at += peek(p) == ',';
    } while (p->at[-1] == ',');
    TRY(expect(p, ']'));
    if (n.n_slot < p->names->rank[tensor])
        return fail(p, "fewer indices than the tensor has dimensions");
    return node_add(p, n, ret_index);
}

static enum err tensor_parse(struct parser *p, int tensor, int *ret_index)
{
    if (peek(p) == '[')
        return element_parse(p, tensor, ret_index);
    return node_add(p, (struct expr_node){.op = EXPR_TENSOR, .name = tensor, .depends = ~0u},
                    ret_index);
}

/* Is this sum(k, ...), with a name that means nothing yet? */
static bool runs_over_index(struct parser *p, const char *word, enum expr_op *ret_op)
{
    static const struct {
        const char *name;
        enum expr_op op;
    } rows[] = {
        {"sum", EXPR_SUM}, {"mean", EXPR_MEAN}, {"min", EXPR_LOWEST}, {"max", EXPR_HIGHEST}};
    const char *at = p->at + strlen(word);
    char index[EXPR_NAME_MAX];
    struct parser ahead = *p;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!p->real || strcmp(rows[i].name, word))
            continue;
        ahead.e = NULL;
        ahead.at = at;
        if (peek(&ahead) != '(')
            return false;
        ahead.at++;
        *ret_op = rows[i].op;
        if (word_peek(&ahead, index))
            return false;
        ahead.at += strlen(index);
        return peek(&ahead) == ',' &&
               name_find(p->names->n_value, p->names->value, index) < 0 &&
               name_find(p->names->n_tensor, p->names->tensor, index) < 0;
    }
    return false;
}

/* A slot of that name that no sum around uses, which may be used by one sum after another. */
static enum err slot_take(struct parser *p, const char *word, int *ret_slot)
{
    if (slot_find(p, word) >= 0)
        return fail(p, "this index is in use around here: take another name");
    int i = 0;
    while (i < p->expr.n_index && strcmp(p->expr.index[i], word))
        i++;
    if (i == EXPR_INDEX_MAX)
        return fail(p, "too many indices");
    if (i == p->expr.n_index)
        snprintf(p->expr.index[p->expr.n_index++], EXPR_NAME_MAX, "%s", word);
    *ret_slot = i;
    return ERR_OK;
}

static enum err run_parse(struct parser *p, enum expr_op op, int *ret_index)
{
    struct expr_node n = {.op = op};
    char word[EXPR_NAME_MAX];
    TRY(expect(p, '('));
    TRY(word_peek(p, word));
    TRY(slot_take(p, word, &n.slot));
    p->at += strlen(word);
    TRY(expect(p, ','));
    p->bound |= 1u << n.slot;
    TRY(sum_parse(p, &n.arg[0]));
    p->bound &= ~(1u << n.slot);
    n.arg[1] = n.arg[2] = n.arg[0];
    TRY(expect(p, ')'));
    return node_add(p, n, ret_index);
}

static enum err function_parse(struct parser *p, const char *word, int *ret_index)
{
    const struct expr_function *f = expr_function_find(word, p->real);
    if (!f)
        return word_unknown(p, word);
    p->at += strlen(word);
    return call_parse(p, f, ret_index);
}

static enum err word_parse(struct parser *p, int *ret_index)
{
    char word[EXPR_NAME_MAX];
    enum expr_op op;
    TRY(word_peek(p, word));
    int value = name_find(p->names->n_value, p->names->value, word);
    int tensor = name_find(p->names->n_tensor, p->names->tensor, word);
    int slot = slot_find(p, word);
    if (runs_over_index(p, word, &op)) {
        p->at += strlen(word);
        return run_parse(p, op, ret_index);
    }
    if (value < 0 && tensor < 0 && slot < 0)
        return function_parse(p, word, ret_index);
    p->at += strlen(word);
    if (value >= 0)
        return node_add(p, (struct expr_node){.op = EXPR_VALUE, .name = value}, ret_index);
    if (tensor >= 0)
        return tensor_parse(p, tensor, ret_index);
    return node_add(
        p, (struct expr_node){.op = EXPR_INDEX, .slot = slot, .depends = 1u << slot}, ret_index);
}

static enum err factor_parse(struct parser *p, int *ret_index)
{
    char c = peek(p);
    if (p->depth >= DEPTH_MAX)
        return fail(p, "too many parentheses");
    p->depth++;
    enum err err;
    if (isdigit((unsigned char)c) || c == '.') {
        err = number_parse(p, ret_index);
    } else if (isalpha((unsigned char)c) || c == '_') {
        err = word_parse(p, ret_index);
    } else if (c == '(') {
        p->at++;
        err = sum_parse(p, ret_index);
        if (!err)
            err = expect(p, ')');
    } else if (c == '-') {
        struct expr_node n = {.op = EXPR_NEGATE};
        p->at++;
        err = factor_parse(p, &n.arg[0]);
        n.arg[1] = n.arg[2] = n.arg[0];
        if (!err)
            err = node_add(p, n, ret_index);
    } else {
        err = fail(p, c ? "a number or a name is wanted" : "it ends too early");
    }
    p->depth--;
    return err;
}

/* Operators of one level, from the left. */
static enum err level_parse(struct parser *p, const char *signs, const enum expr_op *op,
                            enum err (*part)(struct parser *, int *), int *ret_index)
{
    int left;
    TRY(part(p, &left));
    for (char c = peek(p); c && strchr(signs, c); c = peek(p)) {
        struct expr_node n = {.op = op[strchr(signs, c) - signs], .arg = {left, left, left}};
        if (n.op == EXPR_MODULO && p->real)
            return fail(p, "% is for whole numbers");
        p->at++;
        TRY(part(p, &n.arg[1]));
        TRY(node_add(p, n, &left));
    }
    *ret_index = left;
    return ERR_OK;
}

static enum err product_parse(struct parser *p, int *ret_index)
{
    static const enum expr_op op[] = {EXPR_TIMES, EXPR_DIVIDE, EXPR_MODULO};
    return level_parse(p, "*/%", op, factor_parse, ret_index);
}

static enum err sum_parse(struct parser *p, int *ret_index)
{
    static const enum expr_op op[] = {EXPR_PLUS, EXPR_MINUS};
    return level_parse(p, "+-", op, product_parse, ret_index);
}

static enum err root_parse(struct parser *p)
{
    int root;
    for (int i = 0; i < p->names->n_index; i++) {
        TRY(slot_take(p, p->names->index[i], &root));
        p->bound |= 1u << root;
    }
    TRY(sum_parse(p, &root));
    return peek(p) ? fail(p, "an operator is wanted") : ERR_OK;
}

enum err expr_parse(const char *text, bool real, const struct expr_names *names,
                    struct expr *ret_expr, struct errinfo *e)
{
    struct parser p = {.text = text, .at = text, .real = real, .names = names, .e = e};
    p.expr.node = calloc(EXPR_NODES_MAX, sizeof *p.expr.node);
    if (!p.expr.node)
        return err_set(e, ERR_NOMEM, "out of memory");
    enum err err = root_parse(&p);
    if (err) {
        expr_release(&p.expr);
        return err;
    }
    struct expr_node *fit = realloc(p.expr.node, (size_t)p.expr.count * sizeof *fit);
    if (fit)
        p.expr.node = fit;
    *ret_expr = p.expr;
    return ERR_OK;
}

void expr_release(struct expr *x)
{
    free(x->node);
    memset(x, 0, sizeof *x);
}

static bool uses(const struct expr *x, int op, int tensor)
{
    for (int i = 0; i < x->count; i++)
        if ((int)x->node[i].op == op && x->node[i].name == tensor)
            return true;
    return false;
}

bool expr_uses_whole(const struct expr *x, int tensor)
{
    return uses(x, EXPR_TENSOR, tensor);
}

bool expr_uses_places(const struct expr *x, int tensor)
{
    return uses(x, EXPR_ELEMENT, tensor);
}
