/* SPDX-License-Identifier: Apache-2.0 */
#include "parser.h"

#include <stdlib.h>
#include <string.h>

/* --- functions -------------------------------------------------------------------------------
 */

static int scope_open(struct parser *p)
{
    struct ptx_module *m = p->module;
    int *list =
        arena_grow(&m->arena, m->scope_parent, m->n_scope, &m->scope_room, sizeof *list);
    if (!list)
        return -1;
    m->scope_parent = list;
    list[m->n_scope] = p->scope;
    return p->scope = (int)m->n_scope++;
}

static bool params_parse(struct parser *p, struct ptx_symbol **ret_list)
{
    struct ptx_symbol **end = ret_list;
    if (!parser_expect(p, '('))
        return false;
    while (!parser_is(p, ')')) {
        struct ptx_symbol *s, flags = {0};
        bool reg = parser_dot(p, ".reg");
        if (!reg && !parser_dot(p, ".param"))
            return parser_fail(p, "'.param'");
        if (reg)
            return parser_fail(p, "a .param parameter (.reg parameters are not supported)");
        parser_advance(p);
        if (!parse_variable(p, SPACE_PARAM, flags, &s))
            return false;
        *end = s;
        end = &s->next;
        if (!parser_take(p, ',') && !parser_is(p, ')'))
            return parser_fail(p, "',' or ')'");
    }
    return parser_expect(p, ')');
}

static bool dims_parse(struct parser *p, uint32_t dim[3])
{
    dim[1] = dim[2] = 1;
    for (int i = 0; i < 3; i++) {
        uint64_t v = 0;
        if (!parser_integer(p, &v))
            return false;
        dim[i] = (uint32_t)v;
        if (!parser_take(p, ','))
            return true;
    }
    return true;
}

/* Performance directives between a function's head and its body; numbers that limit a launch
 * are kept. */
static bool tuning_parse(struct parser *p, struct ptx_function *f)
{
    while (p->token.kind == TOKEN_DOT) {
        uint32_t ignored[3], *dim = ignored;
        bool numbers = true;
        if (parser_dot(p, ".maxntid"))
            dim = f->max_threads;
        else if (parser_dot(p, ".reqntid"))
            dim = f->required_threads;
        else if (parser_dot(p, ".noreturn"))
            numbers = false, f->noreturn = true;
        else if (parser_dot(p, ".explicitcluster") || parser_dot(p, ".blocksareclusters") ||
                 parser_dot(p, ".abi_preserve"))
            numbers = false;
        else if (parser_dot(p, ".pragma")) {
            if (!parse_skip_statement(p))
                return false;
            continue;
        } else if (!parser_dot(p, ".maxnreg") && !parser_dot(p, ".minnctapersm") &&
                   !parser_dot(p, ".maxnctapersm") && !parser_dot(p, ".reqnctapercluster") &&
                   !parser_dot(p, ".maxclusterrank"))
            return parser_fail(p, "a function's body");
        parser_advance(p);
        if (numbers && !dims_parse(p, dim))
            return false;
    }
    return true;
}

static struct ptx_function *function_add(struct parser *p, struct slice name)
{
    struct ptx_module *m = p->module;
    struct ptx_function *f = arena_alloc(&m->arena, sizeof *f);
    struct ptx_symbol *s = f ? ptx_add(m, 0, name, SYMBOL_FUNCTION) : NULL;
    if (!s)
        return NULL;
    struct ptx_function **end = &m->function;
    while (*end)
        end = &(*end)->next;
    *end = f;
    f->name = name;
    f->symbol = s;
    f->index = m->n_function++;
    s->function = f;
    return f;
}

static struct ptx_function *function_find(struct parser *p, struct slice name)
{
    struct ptx_symbol *s = ptx_find(p->module, 0, name);
    if (!s)
        return function_add(p, name);
    if (s->kind == SYMBOL_FUNCTION)
        return s->function;
    ptx_error_set(p->error, p->token.line, p->token.column, "'%.*s' is already a variable",
                  (int)name.size, name.text);
    return NULL;
}

/* After ".entry" or ".func". */
static bool function_parse(struct parser *p, bool entry)
{
    int outer = p->scope;
    struct ptx_symbol *result = NULL, *param = NULL;
    if (scope_open(p) < 0)
        return parser_nomem(p);
    if (parser_is(p, '(') && !params_parse(p, &result))
        return false;
    if (p->token.kind != TOKEN_NAME)
        return parser_fail(p, "a function's name");
    struct ptx_function *f = function_find(p, p->token.text);
    if (!f)
        return p->error->text[0] ? false : parser_nomem(p);

    int line = p->token.line, column = p->token.column;
    parser_advance(p);
    if (parser_is(p, '(') && !params_parse(p, &param))
        return false;
    if (!tuning_parse(p, f))
        return false;
    if (!f->defined) {
        f->entry = entry;
        f->result = result;
        f->param = param;
    }
    if (parser_take(p, ';')) {
        p->scope = outer;
        return true;
    }
    if (f->defined)
        return ptx_error_set(p->error, line, column, "function '%.*s' is defined twice",
                             (int)f->name.size, f->name.text);
    f->defined = true;
    f->symbol->line = line;
    p->function = f;
    p->list_end = &f->variable;
    bool ok = parse_body(p);
    p->function = NULL;
    p->scope = outer;
    return ok;
}

/* --- the module ------------------------------------------------------------------------------
 */

static bool version_parse(struct parser *p)
{
    double v;
    if (p->token.kind != TOKEN_FLOAT64)
        return parser_fail(p, "a version such as 8.0");
    memcpy(&v, &p->token.bits, sizeof v);
    p->module->version = v > 0 && v < 100 ? (int)(v * 10 + 0.5) : 0;
    parser_advance(p);
    return true;
}

static bool target_parse(struct parser *p)
{
    if (p->token.kind != TOKEN_NAME || p->token.text.size < 4 ||
        memcmp(p->token.text.text, "sm_", 3))
        return parser_fail(p, "a target such as sm_86");
    p->module->target = 0;
    for (uint32_t i = 3; i < p->token.text.size && i < 7; i++)
        if (p->token.text.text[i] >= '0' && p->token.text.text[i] <= '9')
            p->module->target = p->module->target * 10 + (p->token.text.text[i] - '0');
    parser_advance(p);
    while (parser_take(p, ',')) {
        p->module->debug |= slice_is(p->token.text, "debug");
        parser_advance(p);
    }
    return true;
}

static bool section_skip(struct parser *p)
{
    while (!parser_is(p, '{'))
        if (p->token.kind == TOKEN_END)
            return parser_fail(p, "a section's body");
        else
            parser_advance(p);
    return parse_skip_block(p);
}

static bool file_skip(struct parser *p)
{
    while (p->token.kind == TOKEN_INTEGER || p->token.kind == TOKEN_STRING || parser_is(p, ','))
        parser_advance(p);
    return true;
}

static bool space_parse(struct parser *p, enum ptx_space *ret_space)
{
    static const struct {
        const char *word;
        enum ptx_space space;
    } rows[] = {{".global", SPACE_GLOBAL},
                {".const", SPACE_CONST},
                {".shared", SPACE_SHARED},
                {".local", SPACE_LOCAL},
                {".param", SPACE_PARAM}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (parser_dot(p, rows[i].word)) {
            *ret_space = rows[i].space;
            return true;
        }
    return false;
}

static bool variable_or_function(struct parser *p)
{
    struct ptx_symbol flags = {0}, *s;
    enum ptx_space space;
    for (;; parser_advance(p)) {
        if (parser_dot(p, ".extern"))
            flags.external = true;
        else if (parser_dot(p, ".visible") || parser_dot(p, ".weak") ||
                 parser_dot(p, ".common"))
            flags.visible = true;
        else
            break;
    }
    if (parser_dot(p, ".entry") || parser_dot(p, ".func")) {
        bool entry = parser_dot(p, ".entry");
        parser_advance(p);
        return function_parse(p, entry);
    }
    if (!space_parse(p, &space))
        return parser_fail(p, "a variable, .func, .entry or another directive");
    parser_advance(p);
    if (!parse_variable(p, space, flags, &s))
        return false;
    s->next = p->module->variable;
    p->module->variable = s;
    return parser_expect(p, ';');
}

static bool directive_parse(struct parser *p)
{
    static const struct {
        const char *word;
        bool (*parse)(struct parser *p);
    } rows[] = {{".version", version_parse},
                {".target", target_parse},
                {".file", file_skip},
                {".section", section_skip},
                {".pragma", parse_skip_statement},
                {".alias", parse_skip_statement}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (parser_dot(p, rows[i].word)) {
            parser_advance(p);
            return rows[i].parse(p);
        }
    if (parser_dot(p, ".address_size")) {
        uint64_t bits = 0;
        parser_advance(p);
        if (!parser_integer(p, &bits))
            return false;
        p->module->address_size = (int)bits;
        return bits == 64 || ptx_error_set(p->error, p->token.line, p->token.column,
                                           "only .address_size 64 is supported");
    }
    return variable_or_function(p);
}

static bool module_parse(struct parser *p)
{
    if (scope_open(p) < 0)
        return parser_nomem(p);
    parser_advance(p);
    if (!parser_dot(p, ".version"))
        return parser_fail(p, "'.version' at the start of a PTX module");
    while (p->token.kind != TOKEN_END && !p->error->text[0])
        if (!directive_parse(p))
            return false;
    return !p->error->text[0];
}

bool ptx_parse(const char *text, size_t size, struct ptx_module *ret_module,
               struct ptx_error *ret_error)
{
    memset(ret_error, 0, sizeof *ret_error);
    memset(ret_module, 0, sizeof *ret_module);
    struct parser *p = calloc(1, sizeof *p);
    char *copy = p && size < UINT32_MAX ? malloc(size + 1) : NULL;
    if (!copy) {
        free(p);
        return ptx_error_set(ret_error, 0, 0, "not enough memory for a module of %zu bytes",
                             size);
    }
    memcpy(copy, text, size);
    copy[size] = 0;
    ret_module->text = copy;
    ret_module->size = strlen(copy);
    p->module = ret_module;
    p->error = ret_error;
    lexer_init(&p->lexer, copy, ret_module->size, ret_error);
    parser_words_init(p);

    bool ok = module_parse(p);
    if (!ok && !ret_error->text[0])
        parser_nomem(p);
    free(p);
    if (!ok)
        ptx_release(ret_module);
    return ok;
}
