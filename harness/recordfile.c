/* SPDX-License-Identifier: Apache-2.0 */
#include "recordfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "config.h"
#include "text.h"

void recordfile_digest(const void *bytes, size_t size, char *ret_hex)
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes, size));
    for (size_t i = 0; i < sizeof canonical.digest; i++)
        snprintf(ret_hex + 2 * i, 3, "%02x", canonical.digest[i]);
}

void recordfile_now(char *ret_text)
{
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(ret_text, 32, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

static enum err put_root(hid_t file, struct errinfo *e)
{
    char now[32];
    recordfile_now(now);
    TRY(hdf_put_int(file, "schema", RECORD_SCHEMA, e));
    TRY(hdf_put_text(file, "tool", "gpuparity", e));
    TRY(hdf_put_text(file, "version", GPUPARITY_VERSION, e));
    TRY(hdf_put_text(file, "created", now, e));
    hid_t runs = H5I_INVALID_HID;
    TRY(hdf_make_group(file, "run", &runs, e));
    H5Gclose(runs);
    return ERR_OK;
}

enum err recordfile_create(const char *path, hid_t *ret_file, struct errinfo *e)
{
    hid_t file = H5I_INVALID_HID;
    TRY(hdf_create(path, &file, e));
    enum err err = put_root(file, e);
    if (err) {
        H5Fclose(file);
        return err;
    }
    *ret_file = file;
    return ERR_OK;
}

static enum err put_field(hid_t at, const struct record_field *f, const void *owner,
                          struct errinfo *e)
{
    const char *value = (const char *)owner + f->offset;
    switch (f->kind) {
    case RECORD_FIELD_TEXT:
        return hdf_put_text(at, f->name, value, e);
    case RECORD_FIELD_STATUS:
        return hdf_put_text(at, f->name, record_status_name(*(const enum record_status *)value),
                            e);
    case RECORD_FIELD_BOOL:
        return hdf_put_int(at, f->name, *(const bool *)value, e);
    case RECORD_FIELD_INT:
        return hdf_put_int(at, f->name, *(const int *)value, e);
    case RECORD_FIELD_LONG:
        return hdf_put_int(at, f->name, *(const int64_t *)value, e);
    case RECORD_FIELD_COUNT:
        return hdf_put_count(at, f->name, *(const uint64_t *)value, e);
    case RECORD_FIELD_REAL:
        return hdf_put_real(at, f->name, *(const double *)value, e);
    }
    return err_set(e, ERR_USAGE, "the field %s has no kind", f->name);
}

static enum err put_fields(hid_t at, const struct record_field *fields, const void *owner,
                           struct errinfo *e)
{
    for (const struct record_field *f = fields; f->name; f++)
        TRY(put_field(at, f, owner, e));
    return ERR_OK;
}

static enum err put_env(hid_t group, const struct record_run *run, struct errinfo *e)
{
    for (int i = 0; i < run->n_env; i++)
        TRY(hdf_put_text(group, run->env[i].name, run->env[i].value, e));
    return ERR_OK;
}

static enum err put_run(hid_t group, const struct record_run *run, struct errinfo *e)
{
    hid_t env = H5I_INVALID_HID, cases = H5I_INVALID_HID;
    TRY(put_fields(group, record_run_fields, run, e));
    TRY(hdf_make_group(group, "env", &env, e));
    enum err err = put_env(env, run, e);
    H5Gclose(env);
    TRY(err);
    TRY(hdf_make_group(group, "case", &cases, e));
    H5Gclose(cases);
    return ERR_OK;
}

enum err recordfile_put_run(hid_t file, int index, const struct record_run *run,
                            struct errinfo *e)
{
    char path[48];
    hid_t group = H5I_INVALID_HID;
    snprintf(path, sizeof path, "run/%d", index);
    TRY(hdf_make_group(file, path, &group, e));
    enum err err = put_run(group, run, e);
    H5Gclose(group);
    return err;
}

static enum err put_out(hid_t at, const struct record_out *o, struct errinfo *e)
{
    hid_t dataset = H5I_INVALID_HID;
    char digest[33];
    tensor_digest(&o->tensor, digest);
    TRY(hdf_put_tensor(at, o->name, &o->tensor, &dataset, e));
    enum err err = hdf_put_text(dataset, "dtype", dtype_info(o->tensor.dtype)->name, e);
    if (!err)
        err = hdf_put_text(dataset, "role", o->role, e);
    if (!err)
        err = hdf_put_text(dataset, "digest", digest, e);
    H5Dclose(dataset);
    return err;
}

static enum err put_outs(hid_t group, const struct recordfile_case *c, struct errinfo *e)
{
    hid_t outs = H5I_INVALID_HID;
    enum err err = ERR_OK;
    TRY(hdf_make_group(group, "out", &outs, e));
    for (int i = 0; i < c->n_out && !err; i++)
        err = put_out(outs, &c->out[i], e);
    H5Gclose(outs);
    return err;
}

static enum err put_code_fields(hid_t dataset, const struct recordfile_case *c,
                                struct errinfo *e)
{
    char digest[33];
    recordfile_digest(c->code->bytes, c->code->size, digest);
    TRY(hdf_put_text(dataset, "dtype", "u8", e));
    TRY(hdf_put_text(dataset, "digest", digest, e));
    TRY(hdf_put_text(dataset, "compiler", c->head->compiler, e));
    return hdf_put_text(dataset, "options", c->head->options, e);
}

static enum err put_code(hid_t group, const struct recordfile_case *c, struct errinfo *e)
{
    if (!c->code || c->code->size == 0)
        return ERR_OK;
    hid_t dataset = H5I_INVALID_HID;
    struct tensor bytes = {.dtype = DTYPE_U8,
                           .rank = 1,
                           .dim = {(int64_t)c->code->size},
                           .count = (int64_t)c->code->size,
                           .data = (void *)(uintptr_t)c->code->bytes};
    TRY(hdf_put_tensor(group, "code", &bytes, &dataset, e));
    enum err err = put_code_fields(dataset, c, e);
    H5Dclose(dataset);
    return err;
}

static enum err put_log_text(hid_t group, const char *log, size_t size, struct errinfo *e)
{
    hid_t dataset = H5I_INVALID_HID;
    char digest[33];
    recordfile_digest(log, size, digest);
    TRY(hdf_put_long_text(group, "code_log", log, size, &dataset, e));
    enum err err = hdf_put_text(dataset, "dtype", "text", e);
    if (!err)
        err = hdf_put_text(dataset, "digest", digest, e);
    H5Dclose(dataset);
    return err;
}

static enum err put_log(hid_t group, const struct recordfile_case *c, struct errinfo *e)
{
    if (!c->code || !c->code->log || !*c->code->log)
        return ERR_OK;
    size_t size = strlen(c->code->log) + 1;
    char *log = strdup(c->code->log);
    if (!log)
        return err_set(e, ERR_NOMEM, "out of memory");
    text_mend(log, size - 1);
    enum err err = put_log_text(group, log, size, e);
    free(log);
    return err;
}

static enum err put_case(hid_t group, const struct recordfile_case *c, struct errinfo *e)
{
    TRY(put_fields(group, record_case_fields, c->head, e));
    TRY(put_outs(group, c, e));
    TRY(put_code(group, c, e));
    return put_log(group, c, e);
}

enum err recordfile_put_case(hid_t file, int run, int64_t index,
                             const struct recordfile_case *c, struct errinfo *e)
{
    char path[64];
    hid_t group = H5I_INVALID_HID;
    snprintf(path, sizeof path, "run/%d/case/%" PRId64, run, index);
    TRY(hdf_make_group(file, path, &group, e));
    enum err err = put_case(group, c, e);
    H5Gclose(group);
    return err;
}

enum err recordfile_close(hid_t file, const char *path, struct errinfo *e)
{
    TRY(hdf_close(file, e));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) < 0) {
        enum err err = err_set(e, ERR_IO, "cannot write: %s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return err;
    }
    close(fd);
    return ERR_OK;
}
