/* SPDX-License-Identifier: Apache-2.0 */
#include "golden.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "caseid.h"
#include "child.h"
#include "codestore.h"

static const struct case_mode kept_modes[] = {
    {.contract = true, .exact_div = true, .exact_sqrt = true},
    {.contract = false, .exact_div = true, .exact_sqrt = true},
};
enum { KEPT_MODES = sizeof kept_modes / sizeof *kept_modes };

/* One file that there should be. */
struct golden_item {
    const struct backend *backend;
    const struct family *family;
    const struct variant *variant; /* the first of those that share the kernel file */
    const struct case_mode *mode;
    char path[PATH_MAX];
};

/* --- walking ---------------------------------------------------------------------------------
 */

static bool first_of_source(const struct family *f, const struct variant *v)
{
    for (const struct variant *w = f->variants; w < v; w++)
        if (!strcmp(w->source, v->source))
            return false;
    return true;
}

typedef enum err item_fn(void *context, const struct golden_item *item, struct errinfo *e);

static enum err walk_family(const struct backend *b, const struct family *f, item_fn *do_item,
                            void *context, struct errinfo *e)
{
    for (const struct variant *v = f->variants; v->name; v++)
        for (int m = 0; m < KEPT_MODES && first_of_source(f, v); m++) {
            struct golden_item item = {b, f, v, &kept_modes[m], ""};
            codestore_path(b->arch, f, v, item.mode, item.path, sizeof item.path);
            TRY(do_item(context, &item, e));
        }
    return ERR_OK;
}

static enum err walk(const struct backend *only, item_fn *do_item, void *context,
                     struct errinfo *e)
{
    for (int i = 0; backends[i]; i++)
        for (int f = 0; case_families[f] && (!only || only == backends[i]); f++)
            TRY(walk_family(backends[i], case_families[f], do_item, context, e));
    return ERR_OK;
}

/* --- checking --------------------------------------------------------------------------------
 */

struct check {
    FILE *out;
    struct golden_tally tally;
};

static void tally_compiler(struct golden_tally *t, const char *compiler)
{
    if (!t->compiler[0])
        snprintf(t->compiler, sizeof t->compiler, "%s", compiler);
    else if (strcmp(t->compiler, compiler))
        snprintf(t->compiler, sizeof t->compiler, "several compilers");
}

/* ERR_OK: fresh. */
static enum err item_state(const struct golden_item *i, char *ret_compiler, struct errinfo *e)
{
    struct codefile file = {0};
    TRY(codefile_read(i->path, &file, e));
    snprintf(ret_compiler, sizeof file.compiler, "%s", file.compiler);
    enum err err =
        codestore_check(i->backend, i->backend->arch, i->family, i->variant, i->mode, &file, e);
    codefile_release(&file);
    return err;
}

static enum err check_item(void *context, const struct golden_item *i, struct errinfo *e)
{
    struct check *c = context;
    struct errinfo why = {0};
    struct stat st;
    char compiler[64] = "";
    (void)e;
    c->tally.files++;
    enum err err = item_state(i, compiler, &why);
    if (!err) {
        c->tally.fresh++;
        tally_compiler(&c->tally, compiler);
    } else if (err == ERR_MISSING) {
        c->tally.missing++;
    } else if (compiler[0]) {
        c->tally.stale++;
    } else {
        c->tally.damaged++;
    }
    if (stat(i->path, &st) == 0)
        c->tally.bytes += st.st_size;
    if (err && c->out)
        fprintf(c->out, "%s: %s\n", err == ERR_MISSING ? "missing" : "unusable",
                err == ERR_MISSING ? i->path : why.text);
    return ERR_OK;
}

enum err golden_code_check(FILE *out, const struct backend *b, struct golden_tally *ret_tally,
                           struct errinfo *e)
{
    struct check c = {.out = out};
    TRY(walk(b, check_item, &c, e));
    *ret_tally = c.tally;
    return ERR_OK;
}

/* --- compiling -------------------------------------------------------------------------------
 */

struct make_result {
    bool made;
    char text[600]; /* the compiler, or what went wrong */
};

/* In a child process: compiles and writes the file. */
static void make_work(void *context, void *result)
{
    const struct golden_item *i = context;
    struct make_result *r = result;
    struct source_file header[BUILD_HEADERS_MAX];
    struct include_set source = {0};
    struct errinfo e = {0};
    struct backend_error words = {0};
    struct code code = {0};
    const struct case_mode *m = i->mode;
    struct build_request q = {.arch = i->backend->arch};
    q.mode =
        (struct fp_mode){m->contract, m->flush, m->exact_div, m->exact_sqrt, m->approximate};
    enum err err = codestore_source(i->family, i->variant, &source, &e);
    if (!err)
        codestore_request(i->variant, &source, header, &q);
    if (!err && i->backend->toolchain->build(&q, &code, &words)) {
        snprintf(r->text, sizeof r->text, "%.599s", words.text);
        return;
    }
    if (!err)
        err = codestore_save(i->backend, i->family, i->variant, m, &code, &e);
    snprintf(r->text, sizeof r->text, "%.599s", err ? e.text : code.version);
    r->made = !err;
    code_release(&code);
}

struct regeneration {
    FILE *out;
    bool force;
    double seconds;
    struct golden_tally tally;
};

static enum err regenerate_item(void *context, const struct golden_item *i, struct errinfo *e)
{
    struct regeneration *r = context;
    struct make_result made = {0};
    char compiler[64], reason[400], mode[64];
    struct errinfo why;
    (void)e;
    if (!item_state(i, compiler, &why) && !r->force)
        return ERR_OK;
    struct golden_item copy = *i;
    bool done =
        child_call(make_work, &copy, &made, sizeof made, r->seconds, reason, sizeof reason);
    caseid_print_mode(i->mode, mode);
    fprintf(r->out, "%s %s/%s %s %s: %s\n", done && made.made ? "made  " : "FAILED",
            i->family->name, i->variant->source, i->backend->arch, mode,
            done ? made.text : reason);
    r->tally.written += done && made.made;
    r->tally.failed += !(done && made.made);
    return ERR_OK;
}

/* --- files of kernels that are gone ----------------------------------------------------------
 */

struct search {
    const char *path;
    bool found;
};

static enum err search_item(void *context, const struct golden_item *i, struct errinfo *e)
{
    struct search *s = context;
    (void)e;
    s->found |= !strcmp(s->path, i->path);
    return ERR_OK;
}

static enum err remove_file(struct regeneration *r, const char *path, struct errinfo *e)
{
    struct search s = {path, false};
    TRY(walk(NULL, search_item, &s, e));
    if (s.found)
        return ERR_OK;
    if (unlink(path))
        return err_set(e, ERR_IO, "cannot remove %s: %s", path, strerror(errno));
    fprintf(r->out, "removed %s: there is no such kernel any more\n", path);
    r->tally.removed++;
    return ERR_OK;
}

static enum err remove_orphans(struct regeneration *r, const struct family *f,
                               struct errinfo *e)
{
    char folder[PATH_MAX], path[PATH_MAX + 300];
    codestore_path("", f, f->variants, &kept_modes[0], folder, sizeof folder);
    *strrchr(folder, '/') = 0;
    DIR *d = opendir(folder);
    if (!d)
        return ERR_OK;
    enum err err = ERR_OK;
    for (struct dirent *n = readdir(d); n && !err; n = readdir(d)) {
        size_t size = strlen(n->d_name);
        snprintf(path, sizeof path, "%s/%s", folder, n->d_name);
        if (size > 4 && !strcmp(n->d_name + size - 4, ".zst"))
            err = remove_file(r, path, e);
    }
    closedir(d);
    return err;
}

enum err golden_code_regenerate(FILE *out, const struct backend *b, bool force, double seconds,
                                struct golden_tally *ret_tally, struct errinfo *e)
{
    struct regeneration r = {.out = out, .force = force, .seconds = seconds};
    TRY(walk(b, regenerate_item, &r, e));
    for (int f = 0; case_families[f]; f++)
        TRY(remove_orphans(&r, case_families[f], e));
    TRY(golden_code_check(NULL, b, ret_tally, e));
    ret_tally->written = r.tally.written;
    ret_tally->removed = r.tally.removed;
    ret_tally->failed = r.tally.failed;
    return ERR_OK;
}
