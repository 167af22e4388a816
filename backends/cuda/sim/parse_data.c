/* SPDX-License-Identifier: Apache-2.0 */
#include "parser.h"

#include <string.h>

/* Declarations: variables with their initialisers, and registers. */

static const uint64_t variable_limit = (uint64_t)1 << 30;
static const uint32_t register_limit = 1 << 20;

/* --- initialisers ----------------------------------------------------------------------------
 */

struct initialiser {
    struct ptx_symbol *symbol;
    uint64_t offset;
    int size; /* of an element, bytes */
};

static bool value_store(struct parser *p, struct initialiser *in, uint64_t bits)
{
    struct ptx_symbol *s = in->symbol;
    if (in->offset + (uint64_t)in->size > s->size)
        return ptx_error_set(p->error, p->token.line, p->token.column,
                             "too many initial values for '%.*s'", (int)s->name.size,
                             s->name.text);
    memcpy(s->bytes + in->offset, &bits, (size_t)in->size);
    in->offset += (uint64_t)in->size;
    return true;
}

static uint64_t float_narrow(uint64_t bits, enum ptx_word type)
{
    double d;
    if (type != TYPE_f32)
        return bits;
    memcpy(&d, &bits, sizeof d);
    float f = (float)d;
    uint32_t narrow;
    memcpy(&narrow, &f, sizeof f);
    return narrow;
}

/* name, name+4, generic(name)+4 */
static bool address_value(struct parser *p, struct initialiser *in)
{
    bool generic = slice_is(p->token.text, "generic");
    if (generic) {
        parser_advance(p);
        if (!parser_expect(p, '('))
            return false;
    }
    struct ptx_symbol *s =
        p->token.kind == TOKEN_NAME ? ptx_find(p->module, p->scope, p->token.text) : NULL;
    if (!s || (s->kind != SYMBOL_VARIABLE && s->kind != SYMBOL_FUNCTION))
        return parser_fail(p, "the name of a variable or function");
    parser_advance(p);
    if (generic && !parser_expect(p, ')'))
        return false;

    struct ptx_fixup *f = arena_alloc(&p->module->arena, sizeof *f);
    if (!f)
        return parser_nomem(p);
    *f = (struct ptx_fixup){in->symbol->fixup, s, in->offset, 0, in->size};
    in->symbol->fixup = f;
    if (parser_take(p, '+') && !parser_integer(p, &f->addend))
        return false;
    return value_store(p, in, 0);
}

static bool values_parse(struct parser *p, struct initialiser *in, int depth)
{
    if (parser_is(p, '{')) {
        if (depth > 8)
            return parser_fail(p, "fewer nested braces");
        parser_advance(p);
        while (!parser_is(p, '}')) {
            if (!values_parse(p, in, depth + 1))
                return false;
            if (!parser_take(p, ',') && !parser_is(p, '}'))
                return parser_fail(p, "',' or '}'");
        }
        parser_advance(p);
        return true;
    }
    if (p->token.kind == TOKEN_NAME)
        return address_value(p, in);
    bool minus = parser_take(p, '-');
    uint64_t bits = p->token.bits;
    enum token_kind kind = p->token.kind;
    if (kind == TOKEN_INTEGER)
        bits = minus ? -bits : bits;
    else if (kind == TOKEN_FLOAT32)
        bits ^= minus ? 0x80000000u : 0;
    else if (kind == TOKEN_FLOAT64)
        bits = float_narrow(bits ^ (minus ? (uint64_t)1 << 63 : 0), in->symbol->type);
    else
        return parser_fail(p, "an initial value");
    parser_advance(p);
    return value_store(p, in, bits);
}

static bool initialiser_parse(struct parser *p, struct ptx_symbol *s)
{
    struct initialiser in = {s, 0, ptx_types[s->type].bits / 8};
    if (s->array_open || !s->size)
        return parser_fail(p, "an array length before initial values");
    s->bytes = arena_alloc(&p->module->arena, s->size);
    if (!s->bytes)
        return parser_nomem(p);
    return values_parse(p, &in, 0);
}

/* --- variables -------------------------------------------------------------------------------
 */

static bool dimensions_parse(struct parser *p, struct ptx_symbol *s)
{
    while (parser_take(p, '[')) {
        uint64_t n = 0;
        if (parser_take(p, ']')) {
            s->array_open = true;
            s->size = 0;
            continue;
        }
        if (!parser_integer(p, &n) || !parser_expect(p, ']'))
            return false;
        if (__builtin_mul_overflow(s->size, n, &s->size) || s->size > variable_limit)
            return parser_fail(p, "a smaller array");
    }
    return true;
}

static bool attributes_parse(struct parser *p, struct ptx_symbol *s)
{
    for (;;) {
        if (parser_dot(p, ".align")) {
            parser_advance(p);
            if (!parser_integer(p, &s->align))
                return false;
            if (!s->align || s->align > 4096 || (s->align & (s->align - 1)))
                return parser_fail(p, "an alignment that is a power of two");
        } else if (parser_dot(p, ".v2") || parser_dot(p, ".v4")) {
            s->vector = parser_dot(p, ".v2") ? 2 : 4;
            parser_advance(p);
        } else if (parser_dot(p, ".ptr") || parser_dot(p, ".global") ||
                   parser_dot(p, ".shared") || parser_dot(p, ".const") ||
                   parser_dot(p, ".local")) {
            parser_advance(p); /* what a parameter points to: a hint */
        } else if (parser_dot(p, ".attribute")) {
            parser_advance(p);
            while (!parser_is(p, ')') && p->token.kind != TOKEN_END)
                parser_advance(p);
            if (!parser_expect(p, ')'))
                return false;
        } else {
            return true;
        }
    }
}

static bool declared_again(const struct ptx_symbol *old)
{
    return old && old->kind == SYMBOL_VARIABLE && old->external;
}

bool parse_variable(struct parser *p, enum ptx_space space, struct ptx_symbol flags,
                    struct ptx_symbol **ret_symbol)
{
    struct ptx_symbol d = {.kind = SYMBOL_VARIABLE, .space = space, .vector = 1};
    if (!attributes_parse(p, &d))
        return false;
    d.type = parser_type(p);
    if (d.type == WORD_unknown || ptx_types[d.type].bits < 8)
        return parser_fail(p, "a type such as .b32");
    parser_advance(p);
    uint64_t pointed = d.align;
    if (!attributes_parse(p, &d))
        return false;
    uint64_t natural = (uint64_t)(ptx_types[d.type].bits / 8 * d.vector);
    /* `.param .u64 .ptr .align 16 p`: that alignment is the pointee's. */
    if (space == SPACE_PARAM && !pointed)
        d.align = 0;
    d.align = d.align > natural ? d.align : natural;
    d.size = natural;
    if (p->token.kind != TOKEN_NAME)
        return parser_fail(p, "a variable's name");

    struct ptx_symbol *old = ptx_find(p->module, p->scope, p->token.text), *s;
    if (old && old->scope == p->scope && !declared_again(old) && !slice_is(p->token.text, "_"))
        return parser_fail(p, "a name that is not declared already");
    s = ptx_add(p->module, p->scope, p->token.text, SYMBOL_VARIABLE);
    if (!s)
        return parser_nomem(p);
    d.name = s->name, d.scope = s->scope, d.next_hash = s->next_hash;
    d.line = p->token.line, d.column = p->token.column;
    d.external = flags.external, d.visible = flags.visible, d.function = p->function;
    *s = d;
    parser_advance(p);
    if (!dimensions_parse(p, s))
        return false;
    if (parser_take(p, '=') && !initialiser_parse(p, s))
        return false;
    *ret_symbol = s;
    return true;
}

/* --- registers -------------------------------------------------------------------------------
 */

static bool registers_reserve(struct parser *p, struct ptx_symbol *s, enum ptx_word type)
{
    struct ptx_function *f = p->function;
    if (s->count > register_limit || f->n_reg + s->count > register_limit)
        return parser_fail(p, "fewer registers (at most 1048576 a function)");
    s->first = f->n_reg;
    for (uint32_t i = 0; i < s->count; i++) {
        uint8_t *list = arena_grow(&p->module->arena, f->reg_type, f->n_reg, &f->reg_room, 1);
        if (!list)
            return parser_nomem(p);
        f->reg_type = list;
        list[f->n_reg++] = (uint8_t)type;
    }
    return true;
}

static bool register_parse(struct parser *p, enum ptx_word type, int vector)
{
    if (p->token.kind != TOKEN_NAME)
        return parser_fail(p, "a register's name");
    struct ptx_symbol *s = ptx_add(p->module, p->scope, p->token.text, SYMBOL_REG);
    if (!s)
        return parser_nomem(p);
    s->type = type;
    s->vector = vector;
    s->count = (uint32_t)vector;
    parser_advance(p);
    if (parser_take(p, '<')) {
        uint64_t n = 0;
        if (!parser_integer(p, &n) || !parser_expect(p, '>'))
            return false;
        if (n > register_limit)
            return parser_fail(p, "fewer registers (at most 1048576 a function)");
        s->range = true;
        s->count = (uint32_t)n * (uint32_t)vector;
    }
    return registers_reserve(p, s, type);
}

bool parse_registers(struct parser *p)
{
    int vector = 1;
    if (parser_dot(p, ".v2") || parser_dot(p, ".v4")) {
        vector = parser_dot(p, ".v2") ? 2 : 4;
        parser_advance(p);
    }
    enum ptx_word type = parser_type(p);
    if (type == WORD_unknown || ptx_types[type].bits > 64)
        return parser_fail(p, "a register type of at most 64 bits");
    parser_advance(p);
    do {
        if (!register_parse(p, type, vector))
            return false;
    } while (parser_take(p, ','));
    return parser_expect(p, ';');
}
