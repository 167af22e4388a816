/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_TOKEN_H
#define GPUPARITY_CUDA_SIM_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first error of a module: what cuModuleLoadDataEx puts into its error log. */
struct ptx_error {
    int line, column; /* 1-based; 0: none */
    char text[512];
};

/* Fills `e` with "line L, column C: ..." unless an error is there already. Returns false. */
bool ptx_error_set(struct ptx_error *e, int line, int column, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A piece of the module's text, not ended by a zero. */
struct slice {
    const char *text;
    uint32_t size;
};
bool slice_is(struct slice s, const char *text);
bool slice_equal(struct slice a, struct slice b);

enum token_kind {
    TOKEN_END,
    TOKEN_NAME,      /* foo %r1 $L_1 _ */
    TOKEN_DOT,       /* .global .L1::no_allocate: the text includes the dot */
    TOKEN_INTEGER,   /* bits = value */
    TOKEN_FLOAT32,   /* 0f3F800000: bits = pattern */
    TOKEN_FLOAT64,   /* 0d3FF0000000000000 or 1.5: bits = pattern of the double */
    TOKEN_STRING,    /* without the quotes */
    TOKEN_PUNCTUATOR /* bits = the character */
};

struct token {
    enum token_kind kind;
    struct slice text;
    uint64_t bits;
    int line, column;
};

struct lexer {
    const char *at, *end, *line_start;
    int line;
    struct ptx_error *error;
};

void lexer_init(struct lexer *l, const char *text, size_t size, struct ptx_error *error);

/* The next token; TOKEN_END also after an error, which then stands in *l->error. */
struct token lexer_next(struct lexer *l);

#endif
