/* SPDX-License-Identifier: Apache-2.0 */
#include "casecode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caseid.h"
#include "codestore.h"

struct casecode_entry {
    struct casecode_entry *next;
    const struct family *family;
    const char *source;
    struct case_mode mode;
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

static void entry_build(struct casecode *c, const struct case_id *id, struct casecode_entry *n)
{
    struct source_file header;
    struct errinfo e = {0};
    struct build_request r = {.arch = c->arch, .n_header = 1, .header = &header};
    struct backend_error words = {0};
    const struct case_mode *m = &id->mode;
    r.mode =
        (struct fp_mode){m->contract, m->flush, m->exact_div, m->exact_sqrt, m->approximate};
    if (codestore_source(id->family, id->variant, &r.source, &header, &e)) {
        n->status = RECORD_BUILD_FAILED;
        snprintf(n->reason, sizeof n->reason, "%s", e.text);
        return;
    }
    enum backend_status s = c->backend->toolchain->build(&r, &n->code, &words);
    n->status = s == BACKEND_OK        ? RECORD_OK
                : s == BACKEND_MISSING ? RECORD_SKIPPED
                                       : RECORD_BUILD_FAILED;
    if (s)
        snprintf(n->reason, sizeof n->reason, "%.699s", words.text);
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

static struct casecode_entry *entry_find(struct casecode *c, const struct case_id *id)
{
    for (struct casecode_entry *n = c->entry; n; n = n->next)
        if (n->family == id->family && !strcmp(n->source, id->variant->source) &&
            !memcmp(&n->mode, &id->mode, sizeof n->mode))
            return n;
    return NULL;
}

static struct casecode_entry *entry_add(struct casecode *c, const struct case_id *id)
{
    struct casecode_entry *n = calloc(1, sizeof *n);
    if (!n)
        return NULL;
    n->family = id->family;
    n->source = id->variant->source;
    n->mode = id->mode;
    n->next = c->entry;
    c->entry = n;
    return n;
}

bool casecode_put(struct casecode *c, const struct case_id *id, const struct code *code)
{
    struct casecode_entry *n = entry_add(c, id);
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
    return true;
}

enum record_status casecode_get(struct casecode *c, const struct case_id *id,
                                const struct code **ret_code, char *ret_reason, size_t size)
{
    struct casecode_entry *n = entry_find(c, id);
    if (!n) {
        n = entry_add(c, id);
        if (!n) {
            snprintf(ret_reason, size, "out of memory");
            return RECORD_SKIPPED;
        }
        entry_fill(c, id, n);
    }
    *ret_code = &n->code;
    snprintf(ret_reason, size, "%s", n->reason);
    return n->status;
}

void casecode_release(struct casecode *c)
{
    while (c->entry) {
        struct casecode_entry *n = c->entry;
        c->entry = n->next;
        code_release(&n->code);
        free(n);
    }
    memset(c, 0, sizeof *c);
}
