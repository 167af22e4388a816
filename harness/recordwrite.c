/* SPDX-License-Identifier: Apache-2.0 */
#include "recordhandle.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recordfile.h"
#include "recordresume.h"
#include "text.h"

enum err record_create(const char *path, bool resume, bool replace, struct record **ret_record,
                       struct errinfo *e)
{
    struct record *r = calloc(1, sizeof *r);
    if (!r)
        return err_set(e, ERR_NOMEM, "out of memory");
    r->writing = true;
    r->fd = -1;
    enum err err = folder_open(&r->folder, path, resume, replace, e);
    if (!err && resume)
        err = resume_load(&r->folder, e);
    if (err) {
        record_close(r);
        return err;
    }
    *ret_record = r;
    return ERR_OK;
}

/* Texts as they will be read back, so that a resume compares like with like. */
static void mend_fields(const struct record_field *fields, void *owner)
{
    for (const struct record_field *f = fields; f->name; f++) {
        if (f->kind != RECORD_FIELD_TEXT)
            continue;
        char *text = (char *)owner + f->offset;
        text[f->size - 1] = '\0';
        text_mend(text, strlen(text));
    }
}

static void mend_env(struct record_run *run)
{
    for (int i = 0; i < run->n_env; i++) {
        run->env[i].name[sizeof run->env[i].name - 1] = '\0';
        run->env[i].value[sizeof run->env[i].value - 1] = '\0';
        text_mend(run->env[i].name, strlen(run->env[i].name));
        text_mend(run->env[i].value, strlen(run->env[i].value));
    }
}

static int next_number(const struct folder *f)
{
    int next = 0;
    for (int i = 0; i < f->n_run; i++)
        if (f->run[i].number >= next)
            next = f->run[i].number + 1;
    return next;
}

static enum err reuse_run(struct folder *f, const struct record_run *run, bool *ret_found,
                          int *ret_run, struct errinfo *e)
{
    for (int i = 0; i < f->n_run; i++) {
        if (!f->run[i].leftover || strcmp(f->run[i].head.device, run->device) != 0)
            continue;
        enum err err = resume_compare(&f->run[i].head, run, e);
        if (err)
            return err_context(e, err, "%s: device %s", f->path, run->device);
        f->run[i].leftover = false;
        *ret_found = true;
        *ret_run = i;
        return ERR_OK;
    }
    *ret_found = false;
    return ERR_OK;
}

enum err record_add_run(struct record *r, const struct record_run *run, int *ret_run,
                        struct errinfo *e)
{
    struct folder *f = &r->folder;
    struct record_run mended = *run;
    bool found;
    if (run->n_env < 0 || run->n_env > RECORD_ENV_MAX)
        return err_set(e, ERR_USAGE, "%d variables in a run; at most %d", run->n_env,
                       RECORD_ENV_MAX);
    mend_fields(record_run_fields, &mended);
    mend_env(&mended);
    TRY(reuse_run(f, &mended, &found, ret_run, e));
    if (found)
        return ERR_OK;
    if (f->n_run == RECORD_RUN_MAX)
        return err_set(e, ERR_USAGE, "%s: a record holds at most %d runs", f->path,
                       RECORD_RUN_MAX);
    f->run[f->n_run] = (struct folder_run){.head = mended, .number = next_number(f)};
    *ret_run = f->n_run++;
    return ERR_OK;
}

bool record_has_id(const struct record *r, int run, const char *id)
{
    return folder_find(&r->folder, run, id) >= 0;
}

bool record_has_case(const struct record *r, int run, const struct record_case *c)
{
    int64_t i = folder_find(&r->folder, run, c->id);
    char origin[33];
    folder_origin(c, origin);
    return i >= 0 && !strcmp(r->folder.cases[i].origin, origin);
}

/* --- one case --- */

static bool is_name(const char *name)
{
    size_t length = strnlen(name, TENSOR_NAME_MAX);
    return length > 0 && length < TENSOR_NAME_MAX && !strchr(name, '/') && name[0] != '.' &&
           text_valid(name, length);
}

static enum err check_out(const struct record_out *out, int i, struct errinfo *e)
{
    const struct tensor *t = &out[i].tensor;
    if (!is_name(out[i].name))
        return err_set(e, ERR_USAGE, "output %d has no usable name", i);
    if (strcmp(out[i].role, "out") != 0 && strcmp(out[i].role, "inout") != 0)
        return err_set(e, ERR_USAGE, "output %s has the role '%.7s'; it must be out or inout",
                       out[i].name, out[i].role);
    if ((unsigned)t->dtype >= DTYPE_COUNT_ || t->rank < 0 || t->rank > TENSOR_RANK_MAX)
        return err_set(e, ERR_USAGE, "output %s is no tensor", out[i].name);
    for (int k = 0; k < i; k++)
        if (!strcmp(out[k].name, out[i].name))
            return err_set(e, ERR_USAGE, "two outputs are called %s", out[i].name);
    return ERR_OK;
}

static enum err check_case(const struct record *r, int run, const struct recordfile_case *c,
                           struct errinfo *e)
{
    if (!r->writing || r->finished)
        return err_set(e, ERR_USAGE, "the record is not being written");
    if (run < 0 || run >= r->folder.n_run)
        return err_set(e, ERR_USAGE, "%s has no run %d", r->folder.path, run);
    if (!*c->head->id)
        return err_set(e, ERR_USAGE, "a case without an id");
    if (c->n_out < 0 || c->n_out > RECORD_OUT_MAX)
        return err_set(e, ERR_USAGE, "%d outputs; at most %d", c->n_out, RECORD_OUT_MAX);
    for (int i = 0; i < c->n_out; i++)
        TRY(check_out(c->out, i, e));
    return ERR_OK;
}

struct case_work {
    const char *path;
    const struct record_run *run;
    struct recordfile_case c;
};

static enum err write_case(void *context, struct bytes *out, struct errinfo *e)
{
    const struct case_work *w = context;
    hid_t file = H5I_INVALID_HID;
    (void)out;
    hdf_begin();
    TRY(recordfile_create(w->path, &file, e));
    TRY(recordfile_put_run(file, 0, w->run, e));
    TRY(recordfile_put_case(file, 0, 0, &w->c, e));
    return recordfile_close(file, w->path, e);
}

static enum err store_case(struct folder *f, int run, int64_t ordinal, const struct record_case *c,
                           struct errinfo *e)
{
    char name[96];
    folder_name(f, run, ordinal, c->id, name);
    struct folder_case stored = {
        .run = run, .ordinal = ordinal, .hash = folder_hash(c->id), .id = strdup(c->id)};
    folder_origin(c, stored.origin);
    stored.file = strdup(name);
    if (!stored.file) {
        free(stored.id);
        return err_set(e, ERR_NOMEM, "out of memory");
    }
    enum err err = folder_commit(f, name, e);
    if (!err)
        return folder_add(f, &stored, e);
    free(stored.id);
    free(stored.file);
    return err;
}

enum err record_put_case(struct record *r, int run, int64_t ordinal,
                         const struct record_case *c, int n_out, const struct record_out *out,
                         const struct record_code *code, struct errinfo *e)
{
    struct record_case mended = *c;
    mend_fields(record_case_fields, &mended);
    struct case_work w = {.c = {&mended, n_out, out, code}};
    TRY(check_case(r, run, &w.c, e));
    if (ordinal < 0 || ordinal > 999999999999999999)
        return err_set(e, ERR_USAGE, "the ordinal %" PRId64 " is out of range", ordinal);
    w.run = &r->folder.run[run].head;
    enum err err = folder_make_new(&r->folder, write_case, &w, &w.path, e);
    if (!err)
        err = store_case(&r->folder, run, ordinal, &mended, e);
    return err ? err_context(e, err, "%s: %s", r->folder.path, mended.id) : ERR_OK;
}

/* --- the whole --- */

static int compare_cases(const void *a, const void *b)
{
    const struct folder_case *x = a, *y = b;
    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    if (x->ordinal != y->ordinal)
        return x->ordinal < y->ordinal ? -1 : 1;
    return strcmp(x->id, y->id);
}

static enum err finish(struct folder *f, struct errinfo *e)
{
    if (f->count)
        qsort(f->cases, (size_t)f->count, sizeof *f->cases, compare_cases);
    enum err err = record_pack(f, e);
    if (err)
        return err_context(e, err,
                           "cannot make %s (every case is still in %s; --resume goes on)",
                           f->path, f->folder);
    return folder_finish(f, e);
}

enum err record_finish(struct record *r, struct errinfo *e)
{
    if (!r->writing || r->finished)
        return err_set(e, ERR_USAGE, "the record is not being written");
    TRY(finish(&r->folder, e));
    r->finished = true;
    return ERR_OK;
}
