/* SPDX-License-Identifier: Apache-2.0 */
#include "recordcatalog.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hdf.h"
#include "text.h"

/* Reads a record file with the HDF5 library into a catalog: the one place where bytes of a
 * stranger's file become ours. */

struct walk {
    hid_t file;
    uint64_t file_size;
    struct catalog *catalog;
};

static enum err get_bounded(hid_t at, const struct record_field *f, int64_t least, int64_t most,
                            int64_t *ret_value, struct errinfo *e)
{
    int64_t value;
    TRY(hdf_get_int(at, f->name, &value, e));
    if (value < least || value > most)
        return err_set(e, ERR_FORMAT, "the attribute '%s' is out of range: %" PRId64, f->name,
                       value);
    *ret_value = value;
    return ERR_OK;
}

static enum err get_status(hid_t at, const struct record_field *f, enum record_status *ret,
                           struct errinfo *e)
{
    char word[32];
    TRY(hdf_get_text(at, f->name, word, sizeof word, e));
    enum record_status s = record_status_find(word);
    if (s == RECORD_STATUS_COUNT_)
        return err_set(e, ERR_FORMAT, "the attribute '%s' is '%s', which is none that exists",
                       f->name, word);
    *ret = s;
    return ERR_OK;
}

static enum err get_field(hid_t at, const struct record_field *f, void *owner,
                          struct errinfo *e)
{
    char *value = (char *)owner + f->offset;
    int64_t i = 0;
    enum err err = ERR_OK;
    switch (f->kind) {
    case RECORD_FIELD_TEXT:
        return hdf_get_text(at, f->name, value, f->size, e);
    case RECORD_FIELD_STATUS:
        return get_status(at, f, (enum record_status *)value, e);
    case RECORD_FIELD_BOOL:
        err = get_bounded(at, f, 0, 1, &i, e);
        *(bool *)value = i != 0;
        return err;
    case RECORD_FIELD_INT:
        err = get_bounded(at, f, INT_MIN, INT_MAX, &i, e);
        *(int *)value = (int)i;
        return err;
    case RECORD_FIELD_LONG:
        return hdf_get_int(at, f->name, (int64_t *)value, e);
    case RECORD_FIELD_COUNT:
        return hdf_get_count(at, f->name, (uint64_t *)value, e);
    case RECORD_FIELD_REAL:
        return hdf_get_real(at, f->name, (double *)value, e);
    }
    return err_set(e, ERR_USAGE, "the field %s has no kind", f->name);
}

static enum err get_fields(hid_t at, const struct record_field *fields, void *owner,
                           struct errinfo *e)
{
    for (const struct record_field *f = fields; f->name; f++)
        TRY(get_field(at, f, owner, e));
    return ERR_OK;
}

static enum err get_place(const struct walk *w, hid_t dataset, uint64_t size,
                          struct catalog_place *ret_place, struct errinfo *e)
{
    struct catalog_place p = {.size = size};
    TRY(hdf_place(dataset, size, w->file_size, &p.offset, e));
    bool has_digest = false;
    TRY(hdf_has_attribute(dataset, "digest", &has_digest, e));
    if (has_digest)
        TRY(hdf_get_text(dataset, "digest", p.digest, sizeof p.digest, e));
    *ret_place = p;
    return ERR_OK;
}

static enum err get_dtype(hid_t dataset, enum dtype *ret_dtype, struct errinfo *e)
{
    char name[32];
    TRY(hdf_get_text(dataset, "dtype", name, sizeof name, e));
    *ret_dtype = dtype_find(name);
    if (*ret_dtype == DTYPE_COUNT_)
        return err_set(e, ERR_FORMAT, "there is no format '%s'", name);
    return ERR_OK;
}

/* Bytes of a shape; ERR_FORMAT beyond 2^63. */
static enum err shape_bytes(enum dtype d, int rank, const int64_t *dim, uint64_t *ret_size,
                            struct errinfo *e)
{
    int64_t size = dtype_info(d)->bytes;
    bool empty = false;
    for (int i = 0; i < rank; i++)
        empty |= dim[i] == 0;
    for (int i = 0; i < rank && !empty; i++)
        if (__builtin_mul_overflow(size, dim[i], &size))
            return err_set(e, ERR_FORMAT, "it claims more than 2^63 bytes");
    *ret_size = empty ? 0 : (uint64_t)size;
    return ERR_OK;
}

static enum err read_out(const struct walk *w, hid_t dataset, struct catalog_out *o,
                         struct errinfo *e)
{
    uint64_t size = 0;
    TRY(get_dtype(dataset, &o->dtype, e));
    TRY(hdf_get_text(dataset, "role", o->role, sizeof o->role, e));
    if (strcmp(o->role, "out") != 0 && strcmp(o->role, "inout") != 0)
        return err_set(e, ERR_FORMAT, "its role is '%s', neither out nor inout", o->role);
    TRY(hdf_shape(dataset, o->dtype, &o->rank, o->dim, e));
    TRY(shape_bytes(o->dtype, o->rank, o->dim, &size, e));
    return get_place(w, dataset, size, &o->place, e);
}

static enum err open_and_read_out(const struct walk *w, hid_t outs, struct catalog_out *o,
                                  struct errinfo *e)
{
    hid_t dataset = H5I_INVALID_HID;
    TRY(hdf_open_dataset(outs, o->name, &dataset, e));
    enum err err = read_out(w, dataset, o, e);
    H5Dclose(dataset);
    return err;
}

static enum err walk_out(const struct walk *w, hid_t outs, int64_t i, struct errinfo *e)
{
    struct catalog_out o = {0};
    TRY(hdf_name(outs, i, o.name, sizeof o.name, e));
    enum err err = open_and_read_out(w, outs, &o, e);
    if (err)
        return err_context(e, err, "out/%s", o.name);
    return bytes_append(&w->catalog->outs, &o, sizeof o, e);
}

static enum err walk_outs(const struct walk *w, hid_t group, int *ret_count, struct errinfo *e)
{
    hid_t outs = H5I_INVALID_HID;
    int64_t n = 0;
    TRY(hdf_open_group(group, "out", &outs, e));
    enum err err = hdf_count(outs, &n, e);
    if (!err && n > RECORD_OUT_MAX)
        err = err_set(e, ERR_FORMAT, "%" PRId64 " outputs; at most %d", n, RECORD_OUT_MAX);
    for (int64_t i = 0; i < n && !err; i++)
        err = walk_out(w, outs, i, e);
    H5Gclose(outs);
    *ret_count = (int)n;
    return err;
}

static enum err read_code(const struct walk *w, hid_t dataset, struct catalog_place *ret_place,
                          struct errinfo *e)
{
    int rank;
    int64_t dim[TENSOR_RANK_MAX];
    uint64_t size = 0;
    TRY(hdf_shape(dataset, DTYPE_U8, &rank, dim, e));
    TRY(shape_bytes(DTYPE_U8, rank, dim, &size, e));
    return get_place(w, dataset, size, ret_place, e);
}

static enum err read_log(const struct walk *w, hid_t dataset, struct catalog_place *ret_place,
                         struct errinfo *e)
{
    uint64_t size = 0;
    TRY(hdf_long_text_size(dataset, &size, e));
    return get_place(w, dataset, size, ret_place, e);
}

typedef enum err read_dataset(const struct walk *w, hid_t dataset,
                              struct catalog_place *ret_place, struct errinfo *e);

static enum err walk_optional(const struct walk *w, hid_t group, const char *name,
                              read_dataset *read, struct catalog_place *ret_place,
                              struct errinfo *e)
{
    hid_t dataset = H5I_INVALID_HID;
    bool has = false;
    TRY(hdf_has(group, name, &has, e));
    if (!has)
        return ERR_OK;
    TRY(hdf_open_dataset(group, name, &dataset, e));
    enum err err = read(w, dataset, ret_place, e);
    H5Dclose(dataset);
    return err ? err_context(e, err, "%s", name) : ERR_OK;
}

static enum err read_case(const struct walk *w, hid_t group, struct catalog_case *c,
                          struct errinfo *e)
{
    c->first_out = (int64_t)(w->catalog->outs.size / sizeof(struct catalog_out));
    TRY(get_fields(group, record_case_fields, &c->head, e));
    if (!*c->head.id)
        return err_set(e, ERR_FORMAT, "the attribute 'id' is empty");
    TRY(walk_outs(w, group, &c->n_out, e));
    TRY(walk_optional(w, group, "code", read_code, &c->code, e));
    return walk_optional(w, group, "code_log", read_log, &c->log, e);
}

static enum err walk_case(const struct walk *w, hid_t cases, int run, int64_t index,
                          struct errinfo *e)
{
    char name[24];
    struct catalog_case c = {0};
    hid_t group = H5I_INVALID_HID;
    snprintf(name, sizeof name, "%" PRId64, index);
    enum err err = hdf_open_group(cases, name, &group, e);
    if (!err) {
        err = read_case(w, group, &c, e);
        H5Gclose(group);
    }
    if (err)
        return err_context(e, err, "/run/%d/case/%s", run, name);
    return bytes_append(&w->catalog->cases, &c, sizeof c, e);
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp((*(const struct catalog_case *const *)a)->head.id,
                  (*(const struct catalog_case *const *)b)->head.id);
}

static enum err check_unique(const struct walk *w, const struct catalog_run *r,
                             struct errinfo *e)
{
    size_t n = (size_t)r->n_case;
    const struct catalog_case **sorted = malloc((n + 1) * sizeof *sorted);
    if (!sorted)
        return err_set(e, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < n; i++)
        sorted[i] = catalog_case_at(w->catalog, r->first_case + (int64_t)i);
    qsort(sorted, n, sizeof *sorted, compare_ids);
    enum err err = ERR_OK;
    for (size_t i = 1; i < n && !err; i++)
        if (!compare_ids(&sorted[i - 1], &sorted[i]))
            err = err_set(e, ERR_FORMAT, "the case %s is there twice", sorted[i]->head.id);
    free(sorted);
    return err;
}

static enum err walk_cases(const struct walk *w, hid_t cases, int run, struct catalog_run *r,
                           struct errinfo *e)
{
    r->first_case = catalog_case_count(w->catalog);
    enum err err = hdf_count(cases, &r->n_case, e);
    for (int64_t i = 0; i < r->n_case && !err; i++)
        err = walk_case(w, cases, run, i, e);
    return err ? err : check_unique(w, r, e);
}

/* H5Aiterate2 calls this for each variable; a negative answer stops it. */
static herr_t add_env_name(hid_t env, const char *name, const H5A_info_t *info, void *context)
{
    struct record_run *run = context;
    (void)env;
    (void)info;
    size_t length = strlen(name);
    if (run->n_env == RECORD_ENV_MAX || length >= sizeof run->env[0].name ||
        !text_valid(name, length))
        return -1;
    memcpy(run->env[run->n_env++].name, name, length + 1);
    return 0;
}

static enum err read_env(hid_t env, struct record_run *run, struct errinfo *e)
{
    hsize_t start = 0;
    if (H5Aiterate2(env, H5_INDEX_NAME, H5_ITER_INC, &start, add_env_name, run) < 0)
        return hdf_error(e, ERR_FORMAT, "the variables in env are damaged or too many");
    for (int i = 0; i < run->n_env; i++)
        TRY(hdf_get_text(env, run->env[i].name, run->env[i].value, sizeof run->env[i].value,
                         e));
    return ERR_OK;
}

/* The run's own groups; the caller closes `ret_cases`. */
static enum err read_run(hid_t group, struct record_run *run, hid_t *ret_cases,
                         struct errinfo *e)
{
    hid_t env = H5I_INVALID_HID;
    TRY(get_fields(group, record_run_fields, run, e));
    TRY(hdf_open_group(group, "env", &env, e));
    enum err err = read_env(env, run, e);
    H5Gclose(env);
    TRY(err);
    return hdf_open_group(group, "case", ret_cases, e);
}

static enum err walk_run(const struct walk *w, hid_t runs, int run, struct errinfo *e)
{
    char name[24];
    struct catalog_run r = {0};
    hid_t group = H5I_INVALID_HID, cases = H5I_INVALID_HID;
    snprintf(name, sizeof name, "%d", run);
    enum err err = hdf_open_group(runs, name, &group, e);
    if (!err) {
        err = read_run(group, &r.head, &cases, e);
        H5Gclose(group);
    }
    if (err)
        return err_context(e, err, "/run/%s", name);
    err = walk_cases(w, cases, run, &r, e);
    H5Gclose(cases);
    return err ? err : bytes_append(&w->catalog->runs, &r, sizeof r, e);
}

static enum err walk_root(const struct walk *w, struct errinfo *e)
{
    int64_t schema;
    bool has_schema = false;
    TRY(hdf_has_attribute(w->file, "schema", &has_schema, e));
    if (!has_schema)
        return err_set(e, ERR_FORMAT,
                       "an HDF5 file, but no gpuparity record (it has no attribute 'schema')");
    TRY(hdf_get_int(w->file, "schema", &schema, e));
    if (schema > RECORD_SCHEMA)
        return err_set(e, ERR_FORMAT,
                       "made by a newer gpuparity: schema %" PRId64 ", this reads up to %d",
                       schema, RECORD_SCHEMA);
    if (schema < 1)
        return err_set(e, ERR_FORMAT, "no gpuparity record: schema %" PRId64, schema);
    struct catalog *c = w->catalog;
    TRY(hdf_get_text(w->file, "tool", c->tool, sizeof c->tool, e));
    TRY(hdf_get_text(w->file, "version", c->version, sizeof c->version, e));
    return hdf_get_text(w->file, "created", c->created, sizeof c->created, e);
}

static enum err walk_runs(const struct walk *w, struct errinfo *e)
{
    hid_t runs = H5I_INVALID_HID;
    int64_t n = 0;
    TRY(hdf_open_group(w->file, "run", &runs, e));
    enum err err = hdf_count(runs, &n, e);
    if (!err && n > RECORD_RUN_MAX)
        err = err_set(e, ERR_FORMAT, "%" PRId64 " runs; at most %d", n, RECORD_RUN_MAX);
    for (int64_t i = 0; i < n && !err; i++)
        err = walk_run(w, runs, (int)i, e);
    H5Gclose(runs);
    return err;
}

static enum err walk_file(int fd, struct catalog *c, struct errinfo *e)
{
    char name[64];
    struct stat s;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    if (fstat(fd, &s) || access(name, F_OK))
        return err_set(e, ERR_IO, "cannot read through %s; mount /proc", name);
    struct walk w = {.file_size = (uint64_t)s.st_size, .catalog = c};
    hdf_begin();
    TRY(hdf_open(name, &w.file, e));
    enum err err = walk_root(&w, e);
    if (!err)
        err = walk_runs(&w, e);
    H5Fclose(w.file);
    return err;
}

enum err catalog_walk(int fd, const char *path, struct catalog *ret_catalog, struct errinfo *e)
{
    struct catalog c = {0};
    enum err err = walk_file(fd, &c, e);
    if (err) {
        catalog_release(&c);
        return err_context(e, err, "%s", path);
    }
    *ret_catalog = c;
    return ERR_OK;
}
