/* SPDX-License-Identifier: Apache-2.0 */
#include "recordcatalog.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fileread.h"
#include "guard.h"
#include "recordfile.h"

void catalog_release(struct catalog *c)
{
    bytes_release(&c->runs);
    bytes_release(&c->cases);
    bytes_release(&c->outs);
}

int64_t catalog_run_count(const struct catalog *c)
{
    return (int64_t)(c->runs.size / sizeof(struct catalog_run));
}

int64_t catalog_case_count(const struct catalog *c)
{
    return (int64_t)(c->cases.size / sizeof(struct catalog_case));
}

struct catalog_run *catalog_run_at(const struct catalog *c, int64_t i)
{
    return (struct catalog_run *)c->runs.data + i;
}

struct catalog_case *catalog_case_at(const struct catalog *c, int64_t i)
{
    return (struct catalog_case *)c->cases.data + i;
}

struct catalog_out *catalog_out_at(const struct catalog *c, int64_t i)
{
    return (struct catalog_out *)c->outs.data + i;
}

/* --- from the child --- */

/* How a catalog travels: this, then the three lists. */
struct catalog_head {
    char tool[32], version[32], created[32];
    size_t runs, cases, outs;
};

static enum err catalog_pack(const struct catalog *c, struct bytes *out, struct errinfo *e)
{
    struct catalog_head head = {
        .runs = c->runs.size, .cases = c->cases.size, .outs = c->outs.size};
    memcpy(head.tool, c->tool, sizeof head.tool);
    memcpy(head.version, c->version, sizeof head.version);
    memcpy(head.created, c->created, sizeof head.created);
    TRY(bytes_append(out, &head, sizeof head, e));
    TRY(bytes_append(out, c->runs.data, c->runs.size, e));
    TRY(bytes_append(out, c->cases.data, c->cases.size, e));
    return bytes_append(out, c->outs.data, c->outs.size, e);
}

static enum err catalog_unpack(const struct bytes *in, struct catalog *c, struct errinfo *e)
{
    struct catalog_head head;
    if (in->size < sizeof head)
        return err_set(e, ERR_FORMAT, "a damaged file");
    memcpy(&head, in->data, sizeof head);
    size_t left = in->size - sizeof head;
    if (head.runs > left || head.cases > left - head.runs ||
        head.outs != left - head.runs - head.cases)
        return err_set(e, ERR_FORMAT, "a damaged file");
    memcpy(c->tool, head.tool, sizeof head.tool);
    memcpy(c->version, head.version, sizeof head.version);
    memcpy(c->created, head.created, sizeof head.created);
    const char *at = (const char *)in->data + sizeof head;
    TRY(bytes_append(&c->runs, at, head.runs, e));
    TRY(bytes_append(&c->cases, at + head.runs, head.cases, e));
    return bytes_append(&c->outs, at + head.runs + head.cases, head.outs, e);
}

static bool range_fits(int64_t first, int64_t count, int64_t total)
{
    return first >= 0 && count >= 0 && first <= total && count <= total - first;
}

/* Texts end, and a bool is one. */
static bool fields_fit(const struct record_field *fields, const void *owner)
{
    for (const struct record_field *f = fields; f->name; f++) {
        const char *at = (const char *)owner + f->offset;
        if (f->kind == RECORD_FIELD_TEXT && !memchr(at, 0, f->size))
            return false;
        if (f->kind == RECORD_FIELD_BOOL && (unsigned char)*at > 1)
            return false;
    }
    return true;
}

static bool place_fits(const struct catalog_place *p)
{
    return memchr(p->digest, 0, sizeof p->digest) != NULL;
}

static bool out_fits(const struct catalog_out *o)
{
    return (unsigned)o->dtype < DTYPE_COUNT_ && o->rank >= 0 && o->rank <= TENSOR_RANK_MAX &&
           memchr(o->name, 0, sizeof o->name) && memchr(o->role, 0, sizeof o->role) &&
           place_fits(&o->place);
}

static bool run_fits(const struct catalog *c, const struct catalog_run *r)
{
    if (!range_fits(r->first_case, r->n_case, catalog_case_count(c)) || r->head.n_env < 0 ||
        r->head.n_env > RECORD_ENV_MAX)
        return false;
    for (int i = 0; i < r->head.n_env; i++)
        if (!memchr(r->head.env[i].name, 0, sizeof r->head.env[i].name) ||
            !memchr(r->head.env[i].value, 0, sizeof r->head.env[i].value))
            return false;
    return fields_fit(record_run_fields, &r->head);
}

static bool case_fits(const struct catalog_case *k, int64_t n_out)
{
    return range_fits(k->first_out, k->n_out, n_out) && k->n_out <= RECORD_OUT_MAX &&
           (unsigned)k->head.status < RECORD_STATUS_COUNT_ && place_fits(&k->code) &&
           place_fits(&k->log) && fields_fit(record_case_fields, &k->head);
}

/* The child is trusted no more than the file: a library that wrote over its memory may have
 * said anything. */
static bool catalog_fits(const struct catalog *c)
{
    int64_t n_out = (int64_t)(c->outs.size / sizeof(struct catalog_out));
    for (int64_t i = 0; i < catalog_run_count(c); i++)
        if (!run_fits(c, catalog_run_at(c, i)))
            return false;
    for (int64_t i = 0; i < catalog_case_count(c); i++)
        if (!case_fits(catalog_case_at(c, i), n_out))
            return false;
    for (int64_t i = 0; i < n_out; i++)
        if (!out_fits(catalog_out_at(c, i)))
            return false;
    return catalog_run_count(c) <= RECORD_RUN_MAX;
}

struct catalog_work {
    int fd;
    const char *path;
};

static enum err walk_in_child(void *context, struct bytes *out, struct errinfo *e)
{
    const struct catalog_work *w = context;
    struct catalog c = {0};
    enum err err = catalog_walk(w->fd, w->path, &c, e);
    if (!err)
        err = catalog_pack(&c, out, e);
    catalog_release(&c);
    return err;
}

static enum err check_plain_file(int fd, uint64_t *ret_size, struct errinfo *e)
{
    static const char signature[8] = "\211HDF\r\n\032\n";
    char start[8];
    struct stat s;
    if (fstat(fd, &s))
        return err_set(e, ERR_IO, "%s", strerror(errno));
    if (!S_ISREG(s.st_mode))
        return err_set(e, ERR_FORMAT, "not a file but %s; give the record's path",
                       S_ISDIR(s.st_mode) ? "a folder" : "a device or pipe");
    if (pread(fd, start, sizeof start, 0) != sizeof start ||
        memcmp(start, signature, sizeof start))
        return err_set(e, ERR_FORMAT, "not an HDF5 file (%lld bytes)", (long long)s.st_size);
    *ret_size = (uint64_t)s.st_size;
    return ERR_OK;
}

/* Names the file once, whoever found the damage. */
static enum err run_guarded(int fd, const char *path, uint64_t size, struct bytes *ret_answer,
                            struct errinfo *e)
{
    char what[300];
    snprintf(what, sizeof what, "%.200s: a damaged file: the HDF5 library", path);
    struct guard g = {.what = what,
                      .crash = ERR_FORMAT,
                      .seconds = 60 + (unsigned)(size >> 24),
                      .memory = ((size_t)256 << 20) + 16 * (size_t)size};
    struct catalog_work work = {fd, path};
    return guard_run(&g, walk_in_child, &work, ret_answer, e);
}

enum err catalog_read(int fd, const char *path, struct catalog *ret_catalog, struct errinfo *e)
{
    uint64_t size = 0;
    struct bytes answer = {0};
    struct catalog c = {0};
    enum err err = check_plain_file(fd, &size, e);
    if (err)
        return err_context(e, err, "%s", path);
    TRY(run_guarded(fd, path, size, &answer, e));
    err = catalog_unpack(&answer, &c, e);
    bytes_release(&answer);
    if (!err && !catalog_fits(&c))
        err = err_set(e, ERR_FORMAT, "%s: a damaged file", path);
    if (err)
        catalog_release(&c);
    else
        *ret_catalog = c;
    return err;
}

/* --- bytes --- */

/* Before memory is taken for them: do so many bytes lie there? */
static enum err check_place(int fd, const struct catalog_place *p, struct errinfo *e)
{
    struct stat s;
    if (fstat(fd, &s))
        return err_set(e, ERR_IO, "%s", strerror(errno));
    uint64_t end = (uint64_t)s.st_size;
    if (p->size > end || p->offset > end - p->size)
        return err_set(e, ERR_FORMAT, "the file is truncated");
    return ERR_OK;
}

static enum err check_digest(const char *wanted, const char *found, struct errinfo *e)
{
    if (!*wanted || !strcmp(wanted, found))
        return ERR_OK;
    return err_set(e, ERR_FORMAT, "its bytes are damaged (digest %s, recorded as %s)", found,
                   wanted);
}

enum err catalog_read_bytes(int fd, const struct catalog_place *p, void **ret_bytes,
                            struct errinfo *e)
{
    char digest[33];
    TRY(check_place(fd, p, e));
    void *bytes = malloc(p->size ? p->size : 1);
    if (!bytes)
        return err_set(e, ERR_NOMEM, "out of memory: %" PRIu64 " bytes wanted", p->size);
    enum err err = fileread_at(fd, p->offset, bytes, p->size, e);
    if (!err) {
        recordfile_digest(bytes, p->size, digest);
        err = check_digest(p->digest, digest, e);
    }
    if (err)
        free(bytes);
    else
        *ret_bytes = bytes;
    return err;
}

enum err catalog_tensor_shape(int fd, const struct catalog_out *o, struct tensor *ret_tensor,
                              struct errinfo *e)
{
    struct tensor t;
    TRY(check_place(fd, &o->place, e));
    enum err err = tensor_reserve(&t, o->dtype, o->rank, o->dim, e);
    if (err)
        return err_set(e, err == ERR_USAGE ? ERR_FORMAT : err, "its shape is out of range");
    bool agree = tensor_bytes(&t) == o->place.size;
    struct tensor shape = t;
    shape.data = NULL;
    shape.reserved = false;
    tensor_release(&t);
    if (!agree)
        return err_set(e, ERR_FORMAT, "its size and shape disagree");
    *ret_tensor = shape;
    return ERR_OK;
}

enum err catalog_read_part(int fd, const struct catalog_out *o, int64_t from, int64_t to,
                           struct tensor *t, struct errinfo *e)
{
    size_t width = (size_t)dtype_info(o->dtype)->bytes, at = (size_t)from * width;
    return fileread_at(fd, o->place.offset + at, (char *)t->data + at,
                       (size_t)(to - from) * width, e);
}

enum err catalog_check_digest(const struct catalog_out *o, const char *digest, struct errinfo *e)
{
    return check_digest(o->place.digest, digest, e);
}

enum err catalog_read_tensor(int fd, const struct catalog_out *o, struct tensor *ret_tensor,
                             struct errinfo *e)
{
    char digest[33];
    struct tensor t;
    TRY(catalog_tensor_shape(fd, o, &t, e));
    TRY(tensor_init(&t, o->dtype, o->rank, o->dim, e));
    enum err err = catalog_read_part(fd, o, 0, t.count, &t, e);
    if (!err) {
        tensor_digest(&t, digest);
        err = check_digest(o->place.digest, digest, e);
    }
    if (err)
        tensor_release(&t);
    else
        *ret_tensor = t;
    return err;
}

static enum err verify_bytes(int fd, const struct catalog_place *p, struct errinfo *e)
{
    void *bytes;
    if (p->size == 0)
        return ERR_OK;
    TRY(catalog_read_bytes(fd, p, &bytes, e));
    free(bytes);
    return ERR_OK;
}

static enum err verify_case(int fd, const struct catalog *c, const struct catalog_case *k,
                            struct errinfo *e)
{
    struct tensor t;
    for (int i = 0; i < k->n_out; i++) {
        TRY(catalog_read_tensor(fd, catalog_out_at(c, k->first_out + i), &t, e));
        tensor_release(&t);
    }
    TRY(verify_bytes(fd, &k->code, e));
    return verify_bytes(fd, &k->log, e);
}

enum err catalog_verify(int fd, const struct catalog *c, struct errinfo *e)
{
    for (int64_t i = 0; i < catalog_case_count(c); i++) {
        const struct catalog_case *k = catalog_case_at(c, i);
        enum err err = verify_case(fd, c, k, e);
        if (err)
            return err_context(e, err, "%s", k->head.id);
    }
    return ERR_OK;
}
