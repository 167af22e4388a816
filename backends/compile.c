/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMPILE_OPTION_MAX = 64 };

static const struct library_symbol compiler_symbols[] = {
#define REQUIRED false
#define OPTIONAL true
#define COMPILER(name, symbol, ret, args, need)                                                \
    {#symbol, offsetof(struct compiler_api, name), need},
#include VENDOR_API
#undef REQUIRED
#undef OPTIONAL
};

static enum backend_status compiler_open(const char *arch, struct library *l,
                                         struct compiler_api *api, struct backend_error *e)
{
    enum backend_status s = library_open(&VN(vendor_compiler), l, e);
    if (!s)
        s = library_resolve(l, compiler_symbols,
                            sizeof compiler_symbols / sizeof *compiler_symbols, api, e);
    if (!s)
        s = VN(vendor_compiler_knows)(l, api, arch, e);
    return s;
}

static enum backend_status compiler_probe(const char *arch, char *ret_version,
                                          size_t version_size, char *ret_library,
                                          size_t library_size, struct backend_error *e)
{
    struct library l = {0};
    struct compiler_api api = {0};
    enum backend_status s = compiler_open(arch, &l, &api, e);
    if (s)
        return s;
    VN(vendor_compiler_version)(&l, &api, ret_version, version_size);
    snprintf(ret_library, library_size, "%s", l.path);
    return BACKEND_OK;
}

/* The option texts as the compiler wants them: an array of pointers into one copy. */
struct option_list {
    char *copy; /* owned */
    int count;
    const char *item[COMPILE_OPTION_MAX];
};

static enum backend_status option_list_init(struct option_list *o, const char *text,
                                            struct backend_error *e)
{
    o->count = 0;
    o->copy = strdup(text);
    if (!o->copy)
        return backend_fail(e, BACKEND_NOMEM, "out of memory");
    char *state = NULL;
    for (char *t = strtok_r(o->copy, " ", &state); t; t = strtok_r(NULL, " ", &state)) {
        if (o->count == COMPILE_OPTION_MAX)
            return backend_fail(e, BACKEND_REFUSED, "more than %d compiler options",
                                COMPILE_OPTION_MAX);
        o->item[o->count++] = t;
    }
    return BACKEND_OK;
}

/* All options of the request, blank-separated. */
static char *request_options(const struct build_request *r)
{
    char text[2048];
    VN(vendor_options)(r->arch, &r->mode, text, sizeof text);
    for (int i = 0; i < r->n_option; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, " %s", r->option[i]);
    }
    return strdup(text);
}

static char *program_log(const struct compiler_api *api, vendor_program p)
{
    size_t size = 0;
    if (api->log_size(p, &size) || size > (64u << 20))
        size = 0;
    /* An empty log comes back without its final zero. */
    char *log = calloc(1, size + 1);
    if (log && size > 1 && api->log(p, log))
        log[0] = 0;
    return log;
}

/* The compiler's first complaint, for the one-line message. */
static void log_complaint(const char *log, char *ret_line, size_t size)
{
    const char *at = strstr(log, "error");
    if (!at)
        at = log;
    while (at > log && at[-1] != '\n')
        at--;
    snprintf(ret_line, size, "%.*s", (int)strcspn(at, "\n"), at);
}

static enum backend_status program_code(const struct compiler_api *api, vendor_program p,
                                        struct code *c, struct backend_error *e)
{
    size_t size = 0;
    int result = api->code_size(p, &size);
    if (result || size == 0)
        return backend_fail(e, BACKEND_BUILD, VENDOR_COMPILER " gave no code: %s",
                            result ? api->error_string(result) : "size 0");
    char *bytes = malloc(size);
    if (!bytes)
        return backend_fail(e, BACKEND_NOMEM, "out of memory: %zu bytes of code", size);
    result = api->code(p, bytes);
    if (result) {
        free(bytes);
        return backend_fail(e, BACKEND_BUILD, VENDOR_COMPILER " gave no code: %s",
                            api->error_string(result));
    }
    c->bytes = bytes;
    c->size = size;
    return BACKEND_OK;
}

static enum backend_status program_compile(const struct compiler_api *api, vendor_program p,
                                           const struct option_list *o, struct code *c,
                                           struct backend_error *e)
{
    int result = api->compile(p, o->count, (void *)o->item);
    c->log = program_log(api, p);
    if (!c->log)
        return backend_fail(e, BACKEND_NOMEM, "out of memory");
    /* A compiler has been seen to log an error and still report success. */
    if (result == 0 && !strstr(c->log, "error:"))
        return program_code(api, p, c, e);
    char line[400];
    log_complaint(c->log, line, sizeof line);
    return backend_fail(e, BACKEND_BUILD, "%s: %s: %s", c->version, api->error_string(result),
                        line[0] ? line : "no log");
}

static enum backend_status request_compile(const struct build_request *r,
                                           const struct compiler_api *api, struct code *c,
                                           struct backend_error *e)
{
    const char *text[BUILD_HEADERS_MAX], *name[BUILD_HEADERS_MAX];
    if (r->n_header > BUILD_HEADERS_MAX)
        return backend_fail(e, BACKEND_REFUSED, "more than %d headers", BUILD_HEADERS_MAX);
    for (int i = 0; i < r->n_header; i++) {
        text[i] = r->header[i].text;
        name[i] = r->header[i].name;
    }
    struct option_list o;
    vendor_program p = NULL;
    enum backend_status s = option_list_init(&o, c->options, e);
    if (!s) {
        int result = api->create(&p, r->source.text, r->source.name, r->n_header, (void *)text,
                                 (void *)name);
        if (result)
            s = backend_fail(e, BACKEND_REFUSED, "%s cannot start: %s", c->version,
                             api->error_string(result));
    }
    if (!s)
        s = program_compile(api, p, &o, c, e);
    if (p)
        api->destroy(&p);
    free(o.copy);
    return s;
}

static enum backend_status compiler_build(const struct build_request *r, struct code *ret_code,
                                          struct backend_error *e)
{
    struct library l = {0};
    struct compiler_api api = {0};
    enum backend_status s = compiler_open(r->arch, &l, &api, e);
    if (s)
        return s;
    struct code c = {.options = request_options(r)};
    if (!c.options)
        return backend_fail(e, BACKEND_NOMEM, "out of memory");
    VN(vendor_compiler_version)(&l, &api, c.version, sizeof c.version);
    s = request_compile(r, &api, &c, e);
    if (s == BACKEND_OK || s == BACKEND_BUILD)
        *ret_code = c;
    else
        code_release(&c);
    return s;
}

const struct toolchain VN(toolchain) = {
    .name = VENDOR_COMPILER,
    .options = VN(vendor_options),
    .probe = compiler_probe,
    .build = compiler_build,
};
