/* SPDX-License-Identifier: Apache-2.0 */
#include "form.h"
#include "parser.h"

#include <string.h>

/* Function bodies: declarations, labels, scopes, instructions and their operands. */

enum { SCOPE_DEPTH = 64 };

bool parse_skip_block(struct parser *p)
{
    int depth = 0;
    do {
        if (p->token.kind == TOKEN_END)
            return parser_fail(p, "'}'");
        depth += parser_is(p, '{') ? 1 : parser_is(p, '}') ? -1 : 0;
        parser_advance(p);
    } while (depth);
    return true;
}

bool parse_skip_statement(struct parser *p)
{
    while (!parser_is(p, ';')) {
        if (p->token.kind == TOKEN_END)
            return parser_fail(p, "';'");
        parser_advance(p);
    }
    parser_advance(p);
    return true;
}

/* --- instructions ----------------------------------------------------------------------------
 */

static bool words_parse(struct parser *p, struct ptx_inst *i)
{
    while (p->token.kind == TOKEN_DOT) {
        struct slice w = {p->token.text.text + 1, p->token.text.size - 1};
        if (i->n_word == PTX_WORD_MAX)
            return parser_fail(p, "fewer modifiers");
        enum ptx_word word = parser_word(p, w);
        i->word_text[i->n_word] = w;
        i->word[i->n_word++] = (uint16_t)word;
        i->has[word >> 6] |= (uint64_t)1 << (word & 63);
        if (word && word < TYPE_COUNT_ && i->n_type < sizeof i->type)
            i->type[i->n_type++] = (uint8_t)word;
        i->text.size = (uint32_t)(w.text + w.size - i->text.text);
        parser_advance(p);
    }
    return true;
}

static bool guard_parse(struct parser *p, struct ptx_inst *i)
{
    struct ptx_operand o = {.line = p->token.line, .column = p->token.column};
    if (!parser_take(p, '@'))
        return true;
    i->guarded = true;
    i->guard_not = parser_take(p, '!');
    if (p->token.kind != TOKEN_NAME || !parse_name_operand(p, &o))
        return parser_fail(p, "a predicate register");
    if (o.kind != OPERAND_REG || p->function->reg_type[o.reg] != TYPE_pred)
        return ptx_error_set(p->error, o.line, o.column,
                             "a guard must be a predicate register");
    i->guard = o.reg;
    return true;
}

/* Operands that only a refused instruction has (of textures, say): the reason is that one. */
static bool operand_failed(struct parser *p, const struct ptx_inst *i)
{
    const char *why = form_refusal(i);
    if (why)
        p->error->text[0] = 0;
    return why ? ptx_error_set(p->error, i->line, i->column, "'%.*s': %s", (int)i->text.size,
                               i->text.text, why)
               : false;
}

static bool inst_parse(struct parser *p, struct ptx_inst *i)
{
    if (!guard_parse(p, i))
        return false;
    if (p->token.kind != TOKEN_NAME)
        return parser_fail(p, "an instruction");
    i->line = p->token.line;
    i->column = p->token.column;
    i->op = i->text = p->token.text;
    parser_advance(p);
    if (!words_parse(p, i))
        return false;
    if (!parser_is(p, ';')) {
        i->operand = arena_alloc(&p->module->arena, PTX_OPERAND_MAX * sizeof *i->operand);
        if (!i->operand)
            return parser_nomem(p);
        do {
            if (i->n_operand == PTX_OPERAND_MAX)
                return parser_fail(p, "fewer operands");
            if (!parse_operand(p, &i->operand[i->n_operand++], 0))
                return operand_failed(p, i);
        } while (parser_take(p, ','));
    }
    return parser_expect(p, ';');
}

static bool inst_add(struct parser *p)
{
    struct ptx_function *f = p->function;
    struct ptx_inst *list =
        arena_grow(&p->module->arena, f->inst, f->n_inst, &f->inst_room, sizeof *list);
    if (!list)
        return parser_nomem(p);
    f->inst = list;
    memset(&list[f->n_inst], 0, sizeof *list);
    return inst_parse(p, &list[f->n_inst++]);
}

/* --- statements ------------------------------------------------------------------------------
 */

static bool local_variable(struct parser *p, enum ptx_space space)
{
    struct ptx_symbol *s, flags = {0};
    parser_advance(p);
    if (!parse_variable(p, space, flags, &s))
        return false;
    *p->list_end = s;
    p->list_end = &s->next;
    return parser_expect(p, ';');
}

static bool label_add(struct parser *p, struct slice name, int line, int column)
{
    struct ptx_symbol *s = ptx_find(p->module, p->scope, name);
    if (s && s->scope == p->scope)
        return ptx_error_set(p->error, line, column, "'%.*s' is declared twice", (int)name.size,
                             name.text);
    s = ptx_add(p->module, p->scope, name, SYMBOL_LABEL);
    if (!s)
        return parser_nomem(p);
    s->target = p->function->n_inst;
    s->function = p->function;
    return true;
}

/* "name: .branchtargets A, B;" and "name: .callprototype ...;" after the colon. */
static bool table_parse(struct parser *p, struct slice name)
{
    bool targets = parser_dot(p, ".branchtargets");
    struct ptx_symbol *s =
        ptx_add(p->module, p->scope, name, targets ? SYMBOL_TARGETS : SYMBOL_PROTOTYPE);
    if (!s)
        return parser_nomem(p);
    if (!targets)
        return parse_skip_statement(p);
    parser_advance(p);
    size_t room = 0;
    do {
        struct ptx_operand **list =
            arena_grow(&p->module->arena, s->item, s->n_item, &room, sizeof *list);
        struct ptx_operand *o = list ? arena_alloc(&p->module->arena, sizeof *o) : NULL;
        if (!o)
            return parser_nomem(p);
        s->item = list;
        list[s->n_item++] = o;
        o->line = p->token.line;
        o->column = p->token.column;
        if (p->token.kind != TOKEN_NAME || !parse_name_operand(p, o) ||
            o->kind != OPERAND_LABEL)
            return parser_fail(p, "a label");
    } while (parser_take(p, ','));
    return parser_expect(p, ';');
}

static bool name_statement(struct parser *p)
{
    struct lexer saved = p->lexer;
    struct token name = p->token;
    parser_advance(p);
    if (!parser_take(p, ':')) {
        p->lexer = saved;
        p->token = name;
        return inst_add(p);
    }
    if (parser_dot(p, ".branchtargets") || parser_dot(p, ".callprototype") ||
        parser_dot(p, ".calltargets"))
        return table_parse(p, name.text);
    return label_add(p, name.text, name.line, name.column);
}

static bool location_skip(struct parser *p)
{
    parser_advance(p);
    for (;;) {
        if (p->token.kind == TOKEN_INTEGER || parser_is(p, ',') || parser_is(p, '+'))
            parser_advance(p);
        else if (slice_is(p->token.text, "function_name") ||
                 slice_is(p->token.text, "inlined_at")) {
            bool name = slice_is(p->token.text, "function_name");
            parser_advance(p);
            if (name)
                parser_advance(p);
        } else
            return true;
    }
}

static bool directive_statement(struct parser *p)
{
    static const struct {
        const char *word;
        enum ptx_space space;
    } rows[] = {{".shared", SPACE_SHARED},
                {".local", SPACE_LOCAL},
                {".param", SPACE_PARAM},
                {".global", SPACE_GLOBAL},
                {".const", SPACE_CONST}};
    if (parser_dot(p, ".reg")) {
        parser_advance(p);
        return parse_registers(p);
    }
    if (parser_dot(p, ".loc"))
        return location_skip(p);
    if (parser_dot(p, ".pragma") || parser_dot(p, ".maxnreg"))
        return parse_skip_statement(p);
    if (parser_dot(p, ".file"))
        return parse_skip_statement(p);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (parser_dot(p, rows[i].word))
            return local_variable(p, rows[i].space);
    return parser_fail(p, "an instruction or a declaration");
}

static bool block_parse(struct parser *p, int depth)
{
    struct ptx_module *m = p->module;
    int outer = p->scope;
    int *list =
        arena_grow(&m->arena, m->scope_parent, m->n_scope, &m->scope_room, sizeof *list);
    if (!list)
        return parser_nomem(p);
    if (depth > SCOPE_DEPTH)
        return parser_fail(p, "fewer nested scopes");
    m->scope_parent = list;
    list[m->n_scope] = outer;
    p->scope = (int)m->n_scope++;
    if (!parser_expect(p, '{'))
        return false;
    while (!parser_is(p, '}')) {
        bool ok;
        if (parser_is(p, '{'))
            ok = block_parse(p, depth + 1);
        else if (p->token.kind == TOKEN_DOT)
            ok = directive_statement(p);
        else if (p->token.kind == TOKEN_NAME)
            ok = name_statement(p);
        else if (parser_is(p, ';'))
            ok = true, parser_advance(p);
        else
            ok = inst_add(p);
        if (!ok)
            return false;
    }
    parser_advance(p);
    p->scope = outer;
    return true;
}

static bool labels_resolve(struct parser *p)
{
    for (size_t i = 0; i < p->n_label; i++) {
        struct ptx_operand *o = p->label[i];
        struct ptx_symbol *s = ptx_find(p->module, o->scope, o->name);
        if (!s || s->kind == SYMBOL_REG)
            return parser_unknown(p, o);
        o->symbol = s;
        if (s->kind != SYMBOL_LABEL)
            o->kind = OPERAND_SYMBOL;
    }
    p->n_label = p->label_room = 0;
    p->label = NULL;
    return true;
}

bool parse_body(struct parser *p)
{
    return block_parse(p, 0) && labels_resolve(p);
}
