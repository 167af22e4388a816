/* SPDX-License-Identifier: Apache-2.0 */
#include "expr.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caseid.h"
#include "exprnode.h"

enum { DEPTH_MAX = 64, NAMES_MAX = 64 };

static const struct function {
    const char *name;
    enum expr_op op;
    int arity;
    bool whole, real;
} functions[] = {
#define WHOLE true, false
#define REAL false, true
#define BOTH true, true
#define FUNCTION(id, name, arity, where, ulp, meaning) {name, EXPR_##id, arity, where},
#include "expr.def"
#undef FUNCTION
#undef WHOLE
#undef REAL
#undef BOTH
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

struct parser {
    const char *text, *at;
    bool real;
    int n_name, depth;
    const char *const *name;
    struct expr expr;
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

static enum err call_parse(struct parser *p, const struct function *f, int *ret_index)
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
    const char *names[NAMES_MAX + FUNCTIONS];
    int n = 0;
    for (int i = 0; i < p->n_name && n < NAMES_MAX; i++)
        names[n++] = p->name[i];
    for (int i = 0; i < FUNCTIONS; i++)
        if (p->real ? functions[i].real : functions[i].whole)
            names[n++] = functions[i].name;
    const char *near = nearest_name(word, names, n);
    char all[200] = "";
    for (int i = 0; i < n && strlen(all) < sizeof all - EXPR_NAME_MAX - 3; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%.31s", i ? ", " : "",
                 names[i]);
    return err_set(p->e, ERR_USAGE,
                   "'%.100s': nothing here is called '%s' (character %d); %s%s%sthere are: %s",
                   p->text, word, (int)(p->at - p->text) + 1, near ? "did you mean '" : "",
                   near ? near : "", near ? "'? " : "", all);
}

static enum err word_parse(struct parser *p, int *ret_index)
{
    char word[EXPR_NAME_MAX];
    size_t n = 0;
    while (isalnum((unsigned char)p->at[n]) || p->at[n] == '_')
        n++;
    if (n >= sizeof word)
        return fail(p, "a name that is too long");
    memcpy(word, p->at, n);
    word[n] = 0;
    for (int i = 0; i < p->n_name; i++)
        if (!strcmp(p->name[i], word)) {
            p->at += n;
            return node_add(p, (struct expr_node){.op = EXPR_VALUE, .name = i}, ret_index);
        }
    for (int i = 0; i < FUNCTIONS; i++)
        if (!strcmp(functions[i].name, word) &&
            (p->real ? functions[i].real : functions[i].whole)) {
            p->at += n;
            return call_parse(p, &functions[i], ret_index);
        }
    return word_unknown(p, word);
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

enum err expr_parse(const char *text, bool real, int n_name, const char *const *name,
                    struct expr *ret_expr, struct errinfo *e)
{
    struct parser p = {
        .text = text, .at = text, .real = real, .n_name = n_name, .name = name, .e = e};
    int root;
    p.expr.node = calloc(EXPR_NODES_MAX, sizeof *p.expr.node);
    if (!p.expr.node)
        return err_set(e, ERR_NOMEM, "out of memory");
    enum err err = sum_parse(&p, &root);
    if (!err && peek(&p))
        err = fail(&p, "an operator is wanted");
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

bool expr_uses(const struct expr *x, int name)
{
    for (int i = 0; i < x->count; i++)
        if (x->node[i].op == EXPR_VALUE && x->node[i].name == name)
            return true;
    return false;
}

/* --- whole numbers ---------------------------------------------------------------------------
 */

static enum err whole_divide(enum expr_op op, int64_t a, int64_t b, int64_t *ret_value,
                             struct errinfo *e)
{
    if (b == 0)
        return err_set(e, ERR_USAGE, "a division by zero");
    if (op == EXPR_CEILDIV && (a < 0 || b < 0))
        return err_set(e, ERR_USAGE, "ceildiv(%lld, %lld) of a negative number", (long long)a,
                       (long long)b);
    if (a == INT64_MIN && b == -1)
        return err_set(e, ERR_USAGE, "a result that does not fit into 64 bits");
    *ret_value = op == EXPR_MODULO ? a % b : a / b + (op == EXPR_CEILDIV && a % b);
    return ERR_OK;
}

static enum err whole_node(const struct expr_node *n, const int64_t *value, const int64_t *done,
                           int64_t *ret_value, struct errinfo *e)
{
    int64_t a = done[n->arg[0]], b = done[n->arg[1]];
    bool overflow = false;
    switch (n->op) {
    case EXPR_NUMBER:
        *ret_value = n->whole;
        break;
    case EXPR_VALUE:
        *ret_value = value[n->name];
        break;
    case EXPR_PLUS:
        overflow = __builtin_add_overflow(a, b, ret_value);
        break;
    case EXPR_MINUS:
        overflow = __builtin_sub_overflow(a, b, ret_value);
        break;
    case EXPR_NEGATE:
        overflow = __builtin_sub_overflow((int64_t)0, a, ret_value);
        break;
    case EXPR_TIMES:
        overflow = __builtin_mul_overflow(a, b, ret_value);
        break;
    case EXPR_ABS:
        overflow = a < 0 ? __builtin_sub_overflow((int64_t)0, a, ret_value)
                         : (*ret_value = a, false);
        break;
    case EXPR_MIN:
        *ret_value = a < b ? a : b;
        break;
    case EXPR_MAX:
        *ret_value = a > b ? a : b;
        break;
    default:
        return whole_divide(n->op, a, b, ret_value, e);
    }
    return overflow ? err_set(e, ERR_USAGE, "a result that does not fit into 64 bits") : ERR_OK;
}

enum err expr_whole(const struct expr *x, const int64_t *value, int64_t *ret_value,
                    struct errinfo *e)
{
    int64_t done[EXPR_NODES_MAX] = {0};
    for (int i = 0; i < x->count; i++)
        TRY(whole_node(&x->node[i], value, done, &done[i], e));
    *ret_value = done[x->count - 1];
    return ERR_OK;
}
