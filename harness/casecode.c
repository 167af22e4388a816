/* SPDX-License-Identifier: Apache-2.0 */
#include "casecode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caseid.h"
#include "casekernel.h"
#include "codestore.h"
#include "translate.h"

struct casecode_entry {
    struct casecode_entry *next;
    const struct family *family;
    const char *source;
    struct case_mode mode;
    struct casekernel kernel; /* of a case file: what it asks for, what is there */
    struct kernel_list list;  /* owned */
    struct casekernel_triton triton;
    enum record_status status;
    char reason[700];
    struct code code; /* owned */
};

/* For the device's own architecture, else for the standard one where the device runs that. */
static void toolchain_probe(struct casecode *c)
{
    const struct backend *b = c->backend;
    char version[64], library[256];
    struct backend_error e = {0}, other;
    c->probed = true;
    snprintf(c->arch, sizeof c->arch, "%s", c->device_arch);
    if (!b->toolchain->probe(c->arch, version, sizeof version, library, sizeof library, &e)) {
        c->toolchain = true;
        return;
    }
    snprintf(c->probe_words, sizeof c->probe_words, "%.599s", e.text);
    if (!b->runs(c->device_arch, b->arch) || !strcmp(c->device_arch, b->arch))
        return;
    snprintf(c->arch, sizeof c->arch, "%s", b->arch);
    c->toolchain = b->toolchain->probe(c->arch, version, sizeof version, library,
                                       sizeof library, &other) == BACKEND_OK;
}

static void entry_fail(struct casecode_entry *n, enum record_status status, const char *reason)
{
    n->status = status;
    snprintf(n->reason, sizeof n->reason, "%.699s", reason);
}

static void request_build(struct casecode *c, struct build_request *r, struct casecode_entry *n)
{
    struct backend_error words = {0};
    enum backend_status s = c->backend->toolchain->build(r, &n->code, &words);
    n->status = RECORD_OK;
    if (s)
        entry_fail(n, s == BACKEND_MISSING ? RECORD_SKIPPED : RECORD_BUILD_FAILED, words.text);
}

struct fp_mode casecode_mode(const struct case_mode *m)
{
    return (struct fp_mode){m->contract, m->flush, m->exact_div, m->exact_sqrt, m->approximate};
}

static void entry_build(struct casecode *c, const struct case_id *id, struct casecode_entry *n)
{
    struct source_file header[BUILD_HEADERS_MAX];
    struct include_set source;
    struct errinfo e = {0};
    struct build_request r = {.arch = c->arch, .mode = casecode_mode(&id->mode)};
    if (codestore_source(id->family, id->variant, &source, &e)) {
        entry_fail(n, RECORD_BUILD_FAILED, e.text);
        return;
    }
    codestore_request(id->variant, &source, header, &r);
    request_build(c, &r, n);
    include_release(&source);
}

/* --- case files ------------------------------------------------------------------------------
 */

/* Sources in the other vendor's words may compile once a translator has gone over them. */
static void file_translate(struct casecode *c, struct build_request *r,
                           struct casecode_entry *n)
{
    char first[sizeof n->reason], second[sizeof n->reason];
    const char *program = c->backend->translator;
    struct bytes text = {0};
    struct errinfo e = {0};
    snprintf(first, sizeof first, "%s", n->reason);
    if (translate_file(program, r->source.name, &text, &e)) {
        snprintf(n->reason, sizeof n->reason,
                 "%.400s; if this is the other vendor's source, install %s, which translates it, "
                 "or give this side its own: source: {%s: FILE} (%.60s)",
                 first, program, c->backend->name, e.text);
        return;
    }
    code_release(&n->code);
    r->source.text = text.data;
    request_build(c, r, n);
    if (n->status == RECORD_OK) {
        snprintf(n->code.version + strlen(n->code.version),
                 sizeof n->code.version - strlen(n->code.version), " (%s)", program);
    } else {
        snprintf(second, sizeof second, "%s", n->reason);
        snprintf(n->reason, sizeof n->reason, "%.330s; after %s: %.330s", first, program, second);
    }
    bytes_release(&text);
}

static void file_compile(struct casecode *c, const struct case_id *id, struct casecode_entry *n)
{
    struct source_file header[BUILD_HEADERS_MAX];
    struct include_set source;
    struct errinfo e = {0};
    const char *options = n->kernel.options;
    struct build_request r = {.arch = c->arch,
                              .mode = casecode_mode(&id->mode),
                              .n_option = options[0] != 0,
                              .option = &options};
    if (casekernel_source(id, &n->kernel, &source, &e)) {
        entry_fail(n, RECORD_BUILD_FAILED, e.text);
        return;
    }
    casekernel_request(&source, header, &r);
    request_build(c, &r, n);
    if (n->status == RECORD_BUILD_FAILED && c->backend->translator)
        file_translate(c, &r, n);
    include_release(&source);
}

/* The kernels in it. What a real device's own compiler takes need not be understood here. */
static void file_list(struct casecode *c, struct casecode_entry *n)
{
    struct backend_error words = {0};
    if (c->backend->kernels(n->code.bytes, n->code.size, &n->list, &words))
        memset(&n->list, 0, sizeof n->list);
}

static void file_fill(struct casecode *c, const struct case_id *id, struct casecode_entry *n)
{
    struct errinfo e = {0};
    if (n->kernel.binary) {
        if (casekernel_binary(id, c->backend, &n->kernel, &n->code, &n->triton, &e))
            entry_fail(n, RECORD_BUILD_FAILED, e.text);
    } else if (c->which == RUN_CODE_GOLDEN) {
        entry_fail(n, RECORD_SKIPPED, "no code of case files is kept: it is compiled by the "
                                      "compilers of this machine (--code auto)");
    } else {
        if (!c->probed)
            toolchain_probe(c);
        if (c->toolchain)
            file_compile(c, id, n);
        else
            entry_fail(n, RECORD_SKIPPED, c->probe_words);
    }
    if (n->status == RECORD_OK)
        file_list(c, n);
}

static void entry_load(struct casecode *c, const struct case_id *id, struct casecode_entry *n)
{
    const struct backend *b = c->backend;
    struct errinfo e = {0};
    if (!b->runs(c->device_arch, b->arch)) {
        n->status = RECORD_SKIPPED;
        snprintf(n->reason, sizeof n->reason,
                 "this device is %s, the kept code is for %s: it needs %s here%s%.400s",
                 c->device_arch, b->arch, b->toolchain->name, c->probed ? ": " : "",
                 c->probe_words);
        return;
    }
    enum err err = codestore_load(b, b->arch, id, &n->code, &e);
    n->status = !err ? RECORD_OK : err == ERR_MISSING ? RECORD_SKIPPED : RECORD_BUILD_FAILED;
    if (err)
        snprintf(n->reason, sizeof n->reason, "%s%s%.180s", e.text, c->probed ? ", and " : "",
                 c->probe_words);
}

static void entry_fill(struct casecode *c, const struct case_id *id, struct casecode_entry *n)
{
    if (c->which != RUN_CODE_GOLDEN && !c->probed)
        toolchain_probe(c);
    if (c->which == RUN_CODE_GOLDEN || (c->which == RUN_CODE_AUTO && !c->toolchain)) {
        entry_load(c, id, n);
    } else if (c->toolchain) {
        entry_build(c, id, n);
    } else {
        n->status = RECORD_SKIPPED;
        snprintf(n->reason, sizeof n->reason, "%s", c->probe_words);
    }
}

static struct casecode_entry *entry_find(struct casecode *c, const struct case_id *id,
                                         const struct casekernel *k)
{
    for (struct casecode_entry *n = c->entry; n; n = n->next)
        if (n->family == id->family && !strcmp(n->source, id->variant->source) &&
            !memcmp(&n->mode, &id->mode, sizeof n->mode) && !memcmp(&n->kernel, k, sizeof *k))
            return n;
    return NULL;
}

static struct casecode_entry *entry_add(struct casecode *c, const struct case_id *id,
                                        const struct casekernel *k)
{
    struct casecode_entry *n = calloc(1, sizeof *n);
    if (!n)
        return NULL;
    n->family = id->family;
    n->source = id->variant->source;
    n->mode = id->mode;
    memcpy(&n->kernel, k, sizeof *k);
    n->next = c->entry;
    c->entry = n;
    return n;
}

/* What a case file asks for; zeroed for a built-in case. */
static enum err kernel_of(const struct casecode *c, const struct case_id *id,
                          struct casekernel *ret_kernel, struct errinfo *e)
{
    memset(ret_kernel, 0, sizeof *ret_kernel);
    return id->family->file ? casekernel_describe(id, c->backend, ret_kernel, e) : ERR_OK;
}

bool casecode_put(struct casecode *c, const struct case_id *id, const struct code *code)
{
    struct casekernel k;
    if (kernel_of(c, id, &k, NULL) || k.binary) /* which is read in no time */
        return true;
    struct casecode_entry *n = entry_add(c, id, &k);
    if (!n)
        return false;
    n->code.bytes = malloc(code->size + 1);
    n->code.options = strdup(code->options ? code->options : "");
    n->code.log = strdup(code->log ? code->log : "");
    if (!n->code.bytes || !n->code.options || !n->code.log)
        return false;
    memcpy(n->code.bytes, code->bytes, code->size);
    n->code.size = code->size;
    memcpy(n->code.version, code->version, sizeof code->version);
    if (id->family->file)
        file_list(c, n);
    return true;
}

/* The code, and launches that fit it. */
static enum record_status entry_fit(const struct casecode_entry *n, const struct case_id *id,
                                    struct case_plan *plan, char *ret_reason, size_t size)
{
    struct errinfo e = {0};
    if (n->status || !id->family->file || !casekernel_fit(id, &n->list, &n->triton, plan, &e))
        return n->status;
    snprintf(ret_reason, size, "%s", e.text);
    return RECORD_BUILD_FAILED;
}

enum record_status casecode_get(struct casecode *c, const struct case_id *id,
                                struct case_plan *plan, const struct code **ret_code,
                                char *ret_reason, size_t size)
{
    struct casekernel k;
    struct errinfo e = {0};
    if (c->backend == &backend_host) {
        snprintf(ret_reason, size, "the host has no kernels: it runs the libraries of case files "
                                   "(docs/libraries.md)");
        return RECORD_SKIPPED;
    }
    if (kernel_of(c, id, &k, &e)) {
        snprintf(ret_reason, size, "%s", e.text);
        return RECORD_SKIPPED;
    }
    struct casecode_entry *n = entry_find(c, id, &k);
    if (!n) {
        n = entry_add(c, id, &k);
        if (!n) {
            snprintf(ret_reason, size, "out of memory");
            return RECORD_SKIPPED;
        }
        if (id->family->file)
            file_fill(c, id, n);
        else
            entry_fill(c, id, n);
    }
    *ret_code = &n->code;
    snprintf(ret_reason, size, "%s", n->reason);
    return entry_fit(n, id, plan, ret_reason, size);
}

void casecode_release(struct casecode *c)
{
    while (c->entry) {
        struct casecode_entry *n = c->entry;
        c->entry = n->next;
        code_release(&n->code);
        kernel_list_release(&n->list);
        free(n);
    }
    memset(c, 0, sizeof *c);
}
