/* SPDX-License-Identifier: Apache-2.0 */
#include "digests.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "caseid.h"
#include "filewrite.h"

static void entry_release(struct digest_entry *x)
{
    free(x->id);
    memset(x, 0, sizeof *x);
}

void digests_release(struct digests *d)
{
    for (int64_t i = 0; i < d->count; i++)
        entry_release(&d->entry[i]);
    free(d->entry);
    memset(d, 0, sizeof *d);
}

/* --- finding and putting ---------------------------------------------------------------------
 */

static int compare_keys(const struct digest_entry *x, const char *device, const char *compiler,
                        const char *id)
{
    int c = strcmp(x->device, device);
    c = c ? c : strcmp(x->compiler, compiler);
    return c ? c : strcmp(x->id, id);
}

/* The place of the first entry that is not before the key. */
static int64_t place_of(const struct digests *d, const char *device, const char *compiler,
                        const char *id)
{
    int64_t low = 0, high = d->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (compare_keys(&d->entry[middle], device, compiler, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct digest_entry *digests_find(const struct digests *d, const char *device,
                                        const char *compiler, const char *id)
{
    if (compiler) {
        int64_t at = place_of(d, device, compiler, id);
        bool there = at < d->count && !compare_keys(&d->entry[at], device, compiler, id);
        return there ? &d->entry[at] : NULL;
    }
    for (int64_t i = place_of(d, device, "", ""); i < d->count; i++) {
        if (strcmp(d->entry[i].device, device))
            break;
        if (!strcmp(d->entry[i].id, id))
            return &d->entry[i];
    }
    return NULL;
}

enum err digests_put(struct digests *d, struct digest_entry *entry, struct errinfo *e)
{
    int64_t at = place_of(d, entry->device, entry->compiler, entry->id);
    if (at < d->count && !compare_keys(&d->entry[at], entry->device, entry->compiler, entry->id)) {
        entry_release(&d->entry[at]);
        d->entry[at] = *entry;
        return ERR_OK;
    }
    if (d->count == d->room) {
        int64_t room = d->room ? 2 * d->room : 256;
        struct digest_entry *more = realloc(d->entry, (size_t)room * sizeof *more);
        if (!more)
            return err_set(e, ERR_NOMEM, "out of memory for accepted digests");
        d->entry = more;
        d->room = room;
    }
    memmove(&d->entry[at + 1], &d->entry[at], (size_t)(d->count - at) * sizeof *d->entry);
    d->entry[at] = *entry;
    d->count++;
    return ERR_OK;
}

/* --- the file --------------------------------------------------------------------------------
 */

struct reader {
    const char *path;
    int line;
    struct digest_entry head; /* device and compiler of what follows */
};

static enum err line_bad(const struct reader *r, const char *what, struct errinfo *e)
{
    return err_set(e, ERR_FORMAT, "%.300s:%d: %s", r->path, r->line, what);
}

static bool is_hex(const char *text, size_t n)
{
    return strspn(text, "0123456789abcdef") >= n;
}

static enum err read_name(const struct reader *r, const char *text, char *ret, size_t size,
                          struct errinfo *e)
{
    if (!*text || strlen(text) >= size)
        return line_bad(r, "a name is missing or too long", e);
    snprintf(ret, size, "%s", text);
    return ERR_OK;
}

static enum err read_case(struct reader *r, const char *text, struct digests *d, struct errinfo *e)
{
    struct digest_entry x = r->head;
    struct case_id id;
    char canonical[CASEID_TEXT_MAX];
    struct errinfo why;
    if (!r->head.device[0] || !r->head.compiler[0])
        return line_bad(r, "a case before any device and compiler", e);
    if (strlen(text) < 27 || !is_hex(text, 16) || text[16] != ' ' || !is_hex(text + 17, 8) ||
        text[25] != ' ')
        return line_bad(r, "wants 16 hex digits, 8 hex digits and a case", e);
    /* A case that this version does not know any more is kept, and never met. */
    if (!caseid_parse(text + 26, &id, &why)) {
        caseid_print(&id, canonical);
        if (strcmp(canonical, text + 26))
            return line_bad(r, "the case's id is not canonical", e);
    }
    snprintf(x.outputs, sizeof x.outputs, "%.16s", text);
    snprintf(x.source, sizeof x.source, "%.8s", text + 17);
    if (digests_find(d, x.device, x.compiler, text + 26))
        return line_bad(r, "the same case a second time", e);
    x.id = strdup(text + 26);
    if (!x.id)
        return err_set(e, ERR_NOMEM, "out of memory for accepted digests");
    enum err err = digests_put(d, &x, e);
    if (err)
        entry_release(&x);
    return err;
}

static enum err read_line(struct reader *r, char *text, struct digests *d, struct errinfo *e)
{
    text[strcspn(text, "\n")] = 0;
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20)
            return line_bad(r, "a control character", e);
    if (!text[0] || text[0] == '#')
        return ERR_OK;
    if (!strncmp(text, "device ", 7)) {
        r->head.compiler[0] = 0;
        return read_name(r, text + 7, r->head.device, sizeof r->head.device, e);
    }
    if (!strncmp(text, "compiler ", 9))
        return read_name(r, text + 9, r->head.compiler, sizeof r->head.compiler, e);
    return read_case(r, text, d, e);
}

enum err digests_load(const char *path, bool optional, struct digests *ret_digests,
                      struct errinfo *e)
{
    char text[1024];
    struct reader r = {.path = path};
    struct digests d = {0};
    enum err err = ERR_OK;
    FILE *f = fopen(path, "r");
    memset(ret_digests, 0, sizeof *ret_digests);
    if (!f && optional && errno == ENOENT)
        return ERR_OK;
    if (!f)
        return err_set(e, ERR_IO, "cannot read %.400s: %s", path, strerror(errno));
    while (!err && fgets(text, sizeof text, f)) {
        r.line++;
        err = strchr(text, '\n') || feof(f) ? read_line(&r, text, &d, e)
                                            : line_bad(&r, "a line is too long", e);
    }
    if (!err && ferror(f))
        err = err_set(e, ERR_IO, "cannot read %.400s: %s", path, strerror(errno));
    fclose(f);
    if (err)
        digests_release(&d);
    else
        *ret_digests = d;
    return err;
}

static void write_all(const struct digests *d, FILE *f)
{
    fputs("# SPDX-License-Identifier: Apache-2.0\n# Accepted outputs: docs/digests.md. Written by "
          "gpuparity golden accept.\n",
          f);
    for (int64_t i = 0; i < d->count; i++) {
        const struct digest_entry *x = &d->entry[i], *last = i ? x - 1 : NULL;
        bool device = !last || strcmp(last->device, x->device);
        if (device)
            fprintf(f, "device %s\n", x->device);
        if (device || strcmp(last->compiler, x->compiler))
            fprintf(f, "compiler %s\n", x->compiler);
        fprintf(f, "%s %s %s\n", x->outputs, x->source, x->id);
    }
}

enum err digests_save(const struct digests *d, const char *path, struct errinfo *e)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return err_set(e, ERR_NOMEM, "out of memory");
    write_all(d, f);
    enum err err = fclose(f) ? err_set(e, ERR_NOMEM, "out of memory")
                             : filewrite_replace(path, text, size, e);
    free(text);
    return err;
}

/* --- a record's cases ------------------------------------------------------------------------
 */

/* Kept code and a compiler of the same version on this machine give the same. */
static void compiler_name(const char *text, char *ret, size_t size)
{
    snprintf(ret, size, "%s", text[0] ? text : "unknown");
    char *kept = strstr(ret, " (golden)");
    if (kept)
        *kept = 0;
}

static enum err outputs_digest(struct record *r, int run, int64_t i, char *ret_text,
                               struct errinfo *e)
{
    struct record_out out[RECORD_OUT_MAX];
    char all[RECORD_OUT_MAX][TENSOR_NAME_MAX + 33];
    int n;
    TRY(record_read_outs(r, run, i, &n, out, e));
    memset(all, 0, sizeof all);
    for (int k = 0; k < n; k++) {
        memcpy(all[k], out[k].name, TENSOR_NAME_MAX);
        tensor_digest(&out[k].tensor, all[k] + TENSOR_NAME_MAX);
        tensor_release(&out[k].tensor);
    }
    snprintf(ret_text, DIGEST_TEXT, "%016" PRIx64, (uint64_t)XXH3_64bits(all, (size_t)n * sizeof *all));
    return ERR_OK;
}

enum err digests_describe(struct record *r, int run, int64_t i, struct digest_entry *ret_entry,
                          struct errinfo *e)
{
    const struct record_run *of = record_run_at(r, run);
    struct record_case c;
    struct digest_entry x = {0};
    TRY(record_read_case(r, run, i, &c, e));
    if (c.status != RECORD_OK)
        return err_set(e, ERR_USAGE, "%.300s has no results: %s", c.id,
                       record_status_name(c.status));
    snprintf(x.device, sizeof x.device, "%s", of->simulated ? of->device : of->name);
    compiler_name(c.compiler, x.compiler, sizeof x.compiler);
    snprintf(x.source, sizeof x.source, "%.8s", c.source_digest[0] ? c.source_digest : "00000000");
    TRY(outputs_digest(r, run, i, x.outputs, e));
    x.id = strdup(c.id);
    if (!x.id)
        return err_set(e, ERR_NOMEM, "out of memory for accepted digests");
    *ret_entry = x;
    return ERR_OK;
}

/* Has it results that are the same each time? */
static enum err is_steady(struct record *r, int run, int64_t i, bool *ret_steady,
                          struct errinfo *e)
{
    struct record_case c;
    struct case_id id;
    struct errinfo why;
    TRY(record_read_case(r, run, i, &c, e));
    bool free_order = !record_run_at(r, run)->simulated && !caseid_parse(c.id, &id, &why) &&
                      id.variant->unordered;
    *ret_steady = c.status == RECORD_OK && !free_order;
    return ERR_OK;
}

static void print_change(FILE *out, const struct digest_entry *was, const struct digest_entry *is)
{
    fprintf(out, "changed  %s\n         on %s: %s with %s, was %s with %s%s\n", is->id, is->device,
            is->outputs, is->compiler, was->outputs, was->compiler,
            strcmp(was->source, is->source) ? "; the kernel's source has changed as well" : "");
}

static void check_entry(const struct digests *d, const struct digest_entry *is, int details,
                        FILE *out, struct digests_tally *t)
{
    const struct digest_entry *was = digests_find(d, is->device, is->compiler, is->id);
    bool same_compiler = was != NULL;
    if (!was)
        was = digests_find(d, is->device, NULL, is->id);
    if (!was) {
        t->unknown++;
        return;
    }
    bool equal = !strcmp(was->outputs, is->outputs);
    t->same += equal && same_compiler;
    t->moved += equal && !same_compiler;
    t->changed += !equal && same_compiler;
    t->compiled += !equal && !same_compiler;
    if (!equal && t->changed + t->compiled <= details)
        print_change(out, was, is);
}

enum err digests_check(const struct digests *d, struct record *r, int run, int details, FILE *out,
                       struct digests_tally *ret_tally, struct errinfo *e)
{
    int64_t count = record_case_count(r, run);
    for (int64_t i = 0; i < count; i++) {
        struct digest_entry x;
        bool steady;
        TRY(is_steady(r, run, i, &steady, e));
        ret_tally->skipped += !steady;
        if (!steady)
            continue;
        TRY(digests_describe(r, run, i, &x, e));
        check_entry(d, &x, details, out, ret_tally);
        entry_release(&x);
    }
    return ERR_OK;
}

enum err digests_accept(struct digests *d, struct record *r, int run, int64_t *ret_count,
                        struct errinfo *e)
{
    int64_t count = record_case_count(r, run), taken = 0;
    for (int64_t i = 0; i < count; i++) {
        struct digest_entry x;
        bool steady;
        TRY(is_steady(r, run, i, &steady, e));
        if (!steady)
            continue;
        TRY(digests_describe(r, run, i, &x, e));
        const struct digest_entry *was = digests_find(d, x.device, x.compiler, x.id);
        taken += !was || strcmp(was->outputs, x.outputs) || strcmp(was->source, x.source);
        enum err err = digests_put(d, &x, e);
        if (err) {
            entry_release(&x);
            return err;
        }
    }
    *ret_count = taken;
    return ERR_OK;
}
