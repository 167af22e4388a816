/* SPDX-License-Identifier: Apache-2.0 */
#include "npyhead.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The head is a Python dictionary; so much of Python's grammar is read here as numpy writes. */
struct cursor {
    const char *at, *end;
};

static char next(struct cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t'))
        c->at++;
    return c->at < c->end ? *c->at : 0;
}

static bool take(struct cursor *c, char want)
{
    if (next(c) != want)
        return false;
    c->at++;
    return true;
}

static enum err wrong(const char *what, struct errinfo *e)
{
    return err_set(e, ERR_FORMAT, "a damaged npy head: %s", what);
}

static enum err take_text(struct cursor *c, char *text, size_t size, struct errinfo *e)
{
    char quote = next(c);
    if (quote != '\'' && quote != '"')
        return wrong("a text in quotes should stand there", e);
    const char *from = ++c->at;
    const char *to = memchr(from, quote, (size_t)(c->end - from));
    if (!to || (size_t)(to - from) >= size)
        return wrong("a text without end", e);
    memcpy(text, from, (size_t)(to - from));
    text[to - from] = 0;
    c->at = to + 1;
    return ERR_OK;
}

static bool take_word(struct cursor *c, const char *word)
{
    size_t n = strlen(word);
    next(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n))
        return false;
    c->at += n;
    return true;
}

static enum err take_shape(struct cursor *c, struct npyhead *h, struct errinfo *e)
{
    if (!take(c, '('))
        return wrong("the shape should be a tuple", e);
    for (h->rank = 0; !take(c, ')'); h->rank++) {
        if (h->rank == TENSOR_RANK_MAX)
            return err_set(e, ERR_FORMAT, "its rank is above %d", TENSOR_RANK_MAX);
        int64_t n = 0;
        if (next(c) == '-')
            return wrong("a negative dimension", e);
        if (next(c) < '0' || next(c) > '9')
            return wrong("a dimension should be a number", e);
        for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
            if (__builtin_mul_overflow(n, 10, &n) ||
                __builtin_add_overflow(n, *c->at - '0', &n))
                return wrong("a dimension beyond 2^63", e);
        c->at += c->at < c->end && *c->at == 'L'; /* Python 2's long */
        h->dim[h->rank] = n;
        if (!take(c, ',') && next(c) != ')')
            return wrong("the shape has no end", e);
    }
    return ERR_OK;
}

bool npyhead_count(int rank, const int64_t *dim, int bytes, int64_t *ret_count)
{
    int64_t count = 1, size;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        if (dim[i] < 0)
            return false;
        empty = empty || dim[i] == 0;
    }
    for (int i = 0; i < rank && !empty; i++)
        if (__builtin_mul_overflow(count, dim[i], &count))
            return false;
    if (__builtin_mul_overflow(count, (int64_t)bytes, &size))
        return false;
    *ret_count = empty ? 0 : count;
    return true;
}

/* "<f4" */
static enum err set_type(struct npyhead *h, const char *descr, struct errinfo *e)
{
    static const struct {
        const char *name;
        enum dtype dtype;
    } types[] = {{"f2", DTYPE_F16}, {"f4", DTYPE_F32}, {"f8", DTYPE_F64}, {"i1", DTYPE_I8},
                 {"i2", DTYPE_I16}, {"i4", DTYPE_I32}, {"i8", DTYPE_I64}, {"u1", DTYPE_U8},
                 {"u2", DTYPE_U16}, {"u4", DTYPE_U32}, {"u8", DTYPE_U64}, {"b1", DTYPE_U8},
                 {"c8", DTYPE_F32}, {"c16", DTYPE_F64}};
    if (!descr[0] || !strchr("<>|=", descr[0]))
        return wrong("the type should begin with <, >, | or =", e);
    h->swap = descr[0] == '>';
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(descr + 1, types[i].name))
            continue;
        h->dtype = types[i].dtype;
        if (descr[1] != 'c')
            return ERR_OK;
        if (h->rank == TENSOR_RANK_MAX || h->fortran)
            return err_set(e, ERR_FORMAT, "complex numbers in Fortran order or of rank %d",
                           TENSOR_RANK_MAX);
        h->dim[h->rank++] = 2;
        return ERR_OK;
    }
    h->trouble = !strchr("OUSMma", descr[1]);
    snprintf(h->other, sizeof h->other, "elements of numpy's type %.16s", descr);
    return ERR_OK;
}

static enum err take_item(struct cursor *c, struct npyhead *h, char *descr, size_t size,
                          unsigned *seen, struct errinfo *e)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    char key[32];
    unsigned k = 0;
    TRY(take_text(c, key, sizeof key, e));
    while (k < 3 && strcmp(key, keys[k]))
        k++;
    if (k == 3 || *seen & 1u << k || !take(c, ':'))
        return wrong("it wants descr, fortran_order and shape once each", e);
    *seen |= 1u << k;
    if (k == 2)
        return take_shape(c, h, e);
    if (k == 0 && next(c) == '[')
        return err_set(e, ERR_FORMAT, "an array of structures; save its fields one by one");
    if (k == 0)
        return take_text(c, descr, size, e);
    h->fortran = take_word(c, "True");
    return h->fortran || take_word(c, "False") ? ERR_OK
                                               : wrong("fortran_order is no boolean", e);
}

static enum err take_dictionary(struct cursor *c, struct npyhead *h, struct errinfo *e)
{
    char descr[32] = "";
    unsigned seen = 0;
    if (!take(c, '{'))
        return wrong("no dictionary", e);
    while (!take(c, '}')) {
        TRY(take_item(c, h, descr, sizeof descr, &seen, e));
        if (!take(c, ',') && next(c) != '}')
            return wrong("the dictionary has no end", e);
    }
    if (seen != 7 || next(c))
        return wrong("it wants descr, fortran_order and shape once each", e);
    TRY(set_type(h, descr, e));
    if (!npyhead_count(h->rank, h->dim, dtype_info(h->dtype)->bytes, &h->count))
        return wrong("a shape beyond 2^63 bytes", e);
    h->fortran = h->fortran && h->rank > 1;
    return ERR_OK;
}

enum err npyhead_parse(const void *bytes, size_t size, struct npyhead *ret_head,
                       struct errinfo *e)
{
    const unsigned char *b = bytes;
    if (size < 12 || memcmp(b, "\x93NUMPY", 6))
        return err_set(e, ERR_FORMAT, "no npy array");
    if (b[6] < 1 || b[6] > 3)
        return err_set(e, ERR_FORMAT, "npy version %d; versions 1 to 3 are read", b[6]);
    size_t start = b[6] == 1 ? 10 : 12, length = b[8] | (size_t)b[9] << 8;
    if (b[6] > 1)
        length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (length > NPYHEAD_MAX - start)
        return err_set(e, ERR_FORMAT, "an npy head of %zu bytes; at most %zu", length,
                       NPYHEAD_MAX - start);
    if (length > size - start)
        return err_set(e, ERR_FORMAT, "the file is truncated within the npy head");
    struct npyhead h = {.size = start + length};
    struct cursor c = {(const char *)b + start, (const char *)b + start + length};
    TRY(take_dictionary(&c, &h, e));
    *ret_head = h;
    return ERR_OK;
}
