/* SPDX-License-Identifier: Apache-2.0 */
#include "codestore.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "caseid.h"
#include "codefile.h"
#include "config.h"

enum err codestore_source(const struct family *f, const struct variant *v,
                          struct include_set *ret_set, struct errinfo *e)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", f->name, v->source);
    enum err err = include_inside(path, ret_set, e);
    return err ? err_context(e, err, "%s/%s", f->name, v->name) : ERR_OK;
}

void codestore_request(const struct variant *v, const struct include_set *s,
                       struct source_file header[BUILD_HEADERS_MAX], struct build_request *r)
{
    r->source = (struct source_file){v->source, s->file[0].text};
    r->n_header = include_headers(s, header);
    r->header = header;
}

enum err codestore_source_digest(const struct family *f, const struct variant *v, char *ret_hex,
                                 struct errinfo *e)
{
    struct include_set s;
    TRY(codestore_source(f, v, &s, e));
    enum err err = include_digest(&s, ret_hex, e);
    include_release(&s);
    return err;
}

void codestore_folder(char *ret_path, size_t size)
{
    const char *chosen = getenv("GPUPARITY_GOLDEN");
    if (chosen && chosen[0]) {
        snprintf(ret_path, size, "%s", chosen);
        return;
    }
    char program[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n : 0] = 0;
    snprintf(ret_path, size, "%s/../share/gpuparity/golden", dirname(program));
    if (access(ret_path, R_OK) && !access(GPUPARITY_SOURCE_DIR "/golden", R_OK))
        snprintf(ret_path, size, "%s/golden", GPUPARITY_SOURCE_DIR);
}

bool codestore_keeps(const struct case_mode *mode)
{
    char text[64];
    caseid_print_mode(mode, text);
    return !strcmp(text, "default") || !strcmp(text, "strict");
}

void codestore_path(const char *arch, const struct family *f, const struct variant *v,
                    const struct case_mode *mode, char *ret_path, size_t size)
{
    char folder[PATH_MAX], text[64], file[64];
    codestore_folder(folder, sizeof folder);
    caseid_print_mode(mode, text);
    snprintf(file, sizeof file, "%s", v->source);
    file[strcspn(file, ".")] = 0;
    snprintf(ret_path, size, "%s/code/%s/%s.%s.%s.zst", folder, f->name, file, arch, text);
}

static void mode_options(const struct backend *b, const char *arch, const struct case_mode *m,
                         char *ret_text, size_t size)
{
    struct fp_mode mode = {m->contract, m->flush, m->exact_div, m->exact_sqrt, m->approximate};
    b->toolchain->options(arch, &mode, ret_text, size);
}

enum err codestore_check(const struct backend *b, const char *arch, const struct family *f,
                         const struct variant *v, const struct case_mode *mode,
                         const struct codefile *file, struct errinfo *e)
{
    char source[33], options[512];
    TRY(codestore_source_digest(f, v, source, e));
    mode_options(b, arch, mode, options, sizeof options);
    const char *what = NULL;
    if (strcmp(source, file->source))
        what = "its source has changed since";
    else if (strcmp(options, file->options))
        what = "it was compiled with other options";
    if (what)
        return err_set(e, ERR_FORMAT,
                       "the kept code of %s/%s for %s is stale (%s); `gpuparity golden code` "
                       "compiles it again",
                       f->name, v->source, arch, what);
    return ERR_OK;
}

static enum err code_take(struct codefile *f, struct code *ret_code, struct errinfo *e)
{
    struct code c = {.bytes = f->bytes, .size = f->size};
    c.options = strdup(f->options);
    c.log = strdup("");
    if (!c.options || !c.log) {
        free(c.options);
        free(c.log);
        return err_set(e, ERR_NOMEM, "out of memory");
    }
    snprintf(c.version, sizeof c.version, "%.50s (golden)", f->compiler);
    f->bytes = NULL;
    *ret_code = c;
    return ERR_OK;
}

enum err codestore_load(const struct backend *b, const char *arch, const struct case_id *id,
                        struct code *ret_code, struct errinfo *e)
{
    char path[PATH_MAX], mode[64];
    caseid_print_mode(&id->mode, mode);
    if (!codestore_keeps(&id->mode))
        return err_set(
            e, ERR_MISSING,
            "no code is kept for mode %s (only default and strict): it needs %s here", mode,
            b->toolchain->name);
    codestore_path(arch, id->family, id->variant, &id->mode, path, sizeof path);
    struct codefile f = {0};
    enum err err = codefile_read(path, &f, e);
    if (err == ERR_MISSING)
        return err_set(e, ERR_MISSING,
                       "no code is kept for %s/%s, mode %s, on %s: `gpuparity golden code` "
                       "compiles it",
                       id->family->name, id->variant->source, mode, arch);
    if (!err)
        err = codestore_check(b, arch, id->family, id->variant, &id->mode, &f, e);
    if (!err)
        err = code_take(&f, ret_code, e);
    codefile_release(&f);
    return err;
}

enum err codestore_save(const struct backend *b, const struct family *f,
                        const struct variant *v, const struct case_mode *mode,
                        const struct code *code, struct errinfo *e)
{
    char path[PATH_MAX];
    struct codefile file = {.bytes = code->bytes, .size = code->size};
    TRY(codestore_source_digest(f, v, file.source, e));
    if (strlen(code->options) >= sizeof file.options)
        return err_set(e, ERR_USAGE, "%s/%s: its options are too long to keep", f->name,
                       v->source);
    snprintf(file.options, sizeof file.options, "%s", code->options);
    snprintf(file.compiler, sizeof file.compiler, "%s", code->version);
    codestore_path(b->arch, f, v, mode, path, sizeof path);
    return codefile_write(path, &file, e);
}
