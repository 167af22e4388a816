/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_PARSER_H
#define GPUPARITY_CUDA_SIM_PARSER_H

#include "ptx.h"

/* What the parser's files share. Every function returns false after an error, which then stands
 * in p->error. */
struct parser {
    struct lexer lexer;
    struct token token; /* the one looked at */
    struct ptx_module *module;
    struct ptx_function *function; /* whose body is being read, or NULL */
    struct ptx_error *error;
    int scope;
    struct ptx_operand **label; /* references to resolve at the end of the body */
    size_t n_label, label_room;
    struct ptx_symbol **list_end; /* where the next variable of the body is appended */
    uint16_t word_hash[1024];     /* enum ptx_word by hash of the text */
};

bool parser_fail(struct parser *p, const char *what); /* "expected WHAT, found 'x'" */
bool parser_nomem(struct parser *p);
void parser_advance(struct parser *p);
bool parser_is(const struct parser *p, char c);         /* punctuator? */
bool parser_dot(const struct parser *p, const char *w); /* dotted word? */
bool parser_take(struct parser *p, char c);             /* skips it if there */
bool parser_expect(struct parser *p, char c);
bool parser_integer(struct parser *p, uint64_t *ret_value); /* with an optional sign */
void parser_words_init(struct parser *p);
enum ptx_word parser_word(const struct parser *p, struct slice text);
enum ptx_word parser_type(struct parser *p); /* the token as a type, or WORD_unknown */

/* parse_data.c: `space` has been read, the token is what follows. A declaration with its
 * initialiser up to the ';' (or, for parameters, up to ',' or ')'). */
bool parse_variable(struct parser *p, enum ptx_space space, struct ptx_symbol flags,
                    struct ptx_symbol **ret_symbol);
bool parse_registers(struct parser *p); /* after ".reg" */

/* parse_operand.c. `depth` 0 from outside. A name that is not declared yet is taken for a label
 * and noted for resolution at the end of the body. */
bool parse_operand(struct parser *p, struct ptx_operand *o, int depth);
bool parse_name_operand(struct parser *p, struct ptx_operand *o);
bool parser_unknown(struct parser *p, const struct ptx_operand *o); /* "unknown name" */

/* parse_body.c: the token is '{'. */
bool parse_body(struct parser *p);
bool parse_skip_block(struct parser *p);     /* '{' ... '}' */
bool parse_skip_statement(struct parser *p); /* up to and with ';' */

#endif
