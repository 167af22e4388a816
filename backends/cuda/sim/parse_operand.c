/* SPDX-License-Identifier: Apache-2.0 */
#include "parser.h"

#include <string.h>

/* Operands: registers, numbers, names, addresses, vectors and lists. */

static bool label_note(struct parser *p, struct ptx_operand *o)
{
    struct ptx_operand **list =
        arena_grow(&p->module->arena, p->label, p->n_label, &p->label_room, sizeof *list);
    if (!list)
        return parser_nomem(p);
    p->label = list;
    list[p->n_label++] = o;
    return true;
}

static bool special_find(struct parser *p, struct ptx_operand *o, struct slice name)
{
    static const struct {
        const char *name, *component;
    } rows[] = {
#define SPECIAL(id, name, component, bits) {name, component},
#include "special.def"
#undef SPECIAL
    };
    for (int i = 0; i < SPECIAL_COUNT_; i++) {
        if (!slice_is(name, rows[i].name))
            continue;
        if (*rows[i].component && !parser_dot(p, rows[i].component))
            continue;
        if (*rows[i].component)
            parser_advance(p);
        o->kind = OPERAND_SPECIAL;
        o->special = (enum ptx_special)i;
        return true;
    }
    return false;
}

static uint32_t range_number(const struct ptx_symbol *s, struct slice name)
{
    uint32_t n = 0;
    for (uint32_t i = s->name.size; i < name.size; i++)
        n = n * 10 + (uint32_t)(name.text[i] - '0');
    return n;
}

/* %v of a .v4 declaration stands for {%v.x, ...}; %v.y for its second register. */
static bool register_operand(struct parser *p, struct ptx_operand *o, struct ptx_symbol *s,
                             struct slice name)
{
    uint32_t n = s->range ? range_number(s, name) : 0;
    uint32_t vector = (uint32_t)s->vector;
    if (s->range && (n >= s->count / vector))
        return ptx_error_set(p->error, o->line, o->column,
                             "'%.*s' is not declared (only %u of them)", (int)name.size,
                             name.text, s->count / vector);
    o->kind = OPERAND_REG;
    o->reg = s->first + n * vector;
    if (vector == 1)
        return true;
    static const char *const component[4] = {".x", ".y", ".z", ".w"};
    for (uint32_t i = 0; i < vector; i++)
        if (parser_dot(p, component[i])) {
            parser_advance(p);
            o->reg += i;
            return true;
        }
    o->kind = OPERAND_VECTOR;
    o->n = vector;
    o->item = arena_alloc(&p->module->arena, vector * sizeof *o->item);
    if (!o->item)
        return parser_nomem(p);
    for (uint32_t i = 0; i < vector; i++)
        o->item[i] = (struct ptx_operand){
            .kind = OPERAND_REG, .reg = o->reg + i, .line = o->line, .column = o->column};
    return true;
}

bool parse_name_operand(struct parser *p, struct ptx_operand *o)
{
    struct slice name = p->token.text;
    parser_advance(p);
    if (slice_is(name, "_")) {
        o->kind = OPERAND_SINK;
        return true;
    }
    struct ptx_symbol *s = ptx_find(p->module, p->scope, name);
    if (s && s->kind == SYMBOL_REG)
        return register_operand(p, o, s, name);
    if (!s && special_find(p, o, name))
        return true;
    o->symbol = s;
    o->name = name;
    o->scope = p->scope;
    if (!s || s->kind == SYMBOL_LABEL) {
        o->kind = OPERAND_LABEL;
        return label_note(p, o);
    }
    o->kind = OPERAND_SYMBOL;
    bool minus = parser_is(p, '-');
    if (parser_take(p, '+') || minus) {
        uint64_t v = 0;
        if (!parser_integer(p, &v))
            return false;
        o->bits = v;
    }
    return true;
}

static bool number_operand(struct parser *p, struct ptx_operand *o)
{
    bool minus = parser_take(p, '-');
    o->bits = p->token.bits;
    switch (p->token.kind) {
    case TOKEN_INTEGER:
        o->kind = OPERAND_INTEGER;
        o->bits = minus ? -o->bits : o->bits;
        break;
    case TOKEN_FLOAT32:
        o->kind = OPERAND_F32;
        o->bits ^= minus ? 0x80000000u : 0;
        break;
    case TOKEN_FLOAT64:
        o->kind = OPERAND_F64;
        o->bits ^= minus ? (uint64_t)1 << 63 : 0;
        break;
    default:
        return parser_fail(p, "an operand");
    }
    parser_advance(p);
    return true;
}

bool parser_unknown(struct parser *p, const struct ptx_operand *o)
{
    return ptx_error_set(p->error, o->line, o->column, "unknown name '%.*s'",
                         (int)(o->name.size < 200 ? o->name.size : 200), o->name.text);
}

static bool group_parse(struct parser *p, struct ptx_operand *o, char end, int depth)
{
    size_t room = 0;
    parser_advance(p);
    while (!parser_is(p, end)) {
        struct ptx_operand *list =
            arena_grow(&p->module->arena, o->item, o->n, &room, sizeof *list);
        if (!list)
            return parser_nomem(p);
        if (o->n >= 64)
            return parser_fail(p, "fewer elements (at most 64)");
        o->item = list;
        if (!parse_operand(p, &list[o->n], depth + 1))
            return false;
        /* References to labels are resolved later by address, and this array may move. */
        if (list[o->n].kind == OPERAND_LABEL)
            return parser_unknown(p, &list[o->n]);
        o->n++;
        if (!parser_take(p, ',') && !parser_is(p, end))
            return parser_fail(p, end == ')' ? "',' or ')'" : "',' or '}'");
    }
    parser_advance(p);
    return true;
}

static bool address_parse(struct parser *p, struct ptx_operand *o, int depth)
{
    o->kind = OPERAND_ADDRESS;
    o->n = 1;
    o->item = arena_alloc(&p->module->arena, sizeof *o->item);
    if (!o->item)
        return parser_nomem(p);
    parser_advance(p);
    if (!parse_operand(p, o->item, depth + 1))
        return false;
    if (o->item->kind == OPERAND_SYMBOL) {
        o->bits = o->item->bits;
        o->item->bits = 0;
    }
    bool minus = parser_is(p, '-');
    if (parser_take(p, '+') || minus) {
        uint64_t v = 0;
        if (!parser_integer(p, &v))
            return false;
        o->bits += v;
    }
    return parser_expect(p, ']');
}

bool parse_operand(struct parser *p, struct ptx_operand *o, int depth)
{
    if (depth > 4)
        return parser_fail(p, "simpler operands");
    memset(o, 0, sizeof *o);
    o->line = p->token.line;
    o->column = p->token.column;
    if (parser_take(p, '!'))
        o->negated = true;
    if (parser_is(p, '{')) {
        o->kind = OPERAND_VECTOR;
        if (!group_parse(p, o, '}', depth))
            return false;
        if (o->n == 1) /* Triton writes ld.global.b32 { %r1 }, [...] */
            *o = o->item[0];
        return true;
    }
    if (parser_is(p, '(')) {
        o->kind = OPERAND_LIST;
        return group_parse(p, o, ')', depth);
    }
    if (parser_is(p, '['))
        return address_parse(p, o, depth);
    if (p->token.kind != TOKEN_NAME)
        return number_operand(p, o);
    if (!parse_name_operand(p, o))
        return false;
    if (!parser_is(p, '|'))
        return true;

    struct ptx_operand first = *o, *item = arena_alloc(&p->module->arena, 2 * sizeof *item);
    if (!item)
        return parser_nomem(p);
    parser_advance(p);
    if (first.kind == OPERAND_LABEL)
        return parser_unknown(p, &first);
    item[0] = first;
    o->kind = OPERAND_PAIR;
    o->n = 2;
    o->item = item;
    return parse_operand(p, &item[1], depth + 1);
}
