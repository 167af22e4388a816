/* SPDX-License-Identifier: Apache-2.0 */
#include "recordhandle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int compare_index(const void *a, const void *b)
{
    const struct record_index *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static enum err make_index(struct record *r, struct errinfo *e)
{
    int64_t n = catalog_case_count(&r->catalog);
    for (int64_t i = 0; i < n; i++) {
        struct record_index x = {folder_hash(catalog_case_at(&r->catalog, i)->head.id), i};
        TRY(bytes_append(&r->index, &x, sizeof x, e));
    }
    if (n)
        qsort(r->index.data, (size_t)n, sizeof(struct record_index), compare_index);
    return ERR_OK;
}

enum err record_open_fd(int fd, const char *path, record_walk *walk, struct record **ret_record,
                        struct errinfo *e)
{
    struct record *r = calloc(1, sizeof *r);
    char *copy = strdup(path);
    if (!r || !copy) {
        free(r);
        free(copy);
        close(fd);
        return err_set(e, ERR_NOMEM, "out of memory");
    }
    r->fd = fd;
    r->path = copy;
    enum err err = walk(fd, path, &r->catalog, e);
    if (!err)
        err = make_index(r, e);
    if (err)
        record_close(r);
    else
        *ret_record = r;
    return err;
}

enum err record_open(const char *path, struct record **ret_record, struct errinfo *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_set(e, ERR_IO, "cannot open %s: %s", path, strerror(errno));
    return record_open_fd(fd, path, catalog_read, ret_record, e);
}

int record_run_count(const struct record *r)
{
    return r->writing ? r->folder.n_run : (int)catalog_run_count(&r->catalog);
}

const struct record_run *record_run_at(const struct record *r, int run)
{
    return r->writing ? &r->folder.run[run].head : &catalog_run_at(&r->catalog, run)->head;
}

static int64_t writing_case_count(const struct folder *f, int run)
{
    int64_t count = 0;
    for (int64_t i = 0; i < f->count; i++)
        count += f->cases[i].run == run;
    return count;
}

int64_t record_case_count(const struct record *r, int run)
{
    if (r->writing)
        return writing_case_count(&r->folder, run);
    return catalog_run_at(&r->catalog, run)->n_case;
}

static enum err find_case(const struct record *r, int run, int64_t i,
                          const struct catalog_case **ret_case, struct errinfo *e)
{
    if (r->writing)
        return err_set(e, ERR_USAGE, "%s is still being written", r->folder.path);
    if (run < 0 || run >= record_run_count(r) || i < 0 || i >= record_case_count(r, run))
        return err_set(e, ERR_USAGE, "%s has no case %lld in run %d", r->path, (long long)i,
                       run);
    *ret_case = catalog_case_at(&r->catalog, catalog_run_at(&r->catalog, run)->first_case + i);
    return ERR_OK;
}

enum err record_read_case(struct record *r, int run, int64_t i, struct record_case *ret_case,
                          struct errinfo *e)
{
    const struct catalog_case *c = NULL;
    TRY(find_case(r, run, i, &c, e));
    *ret_case = c->head;
    return ERR_OK;
}

int64_t record_find_case(struct record *r, int run, const char *id)
{
    if (r->writing || run < 0 || run >= record_run_count(r))
        return -1;
    const struct catalog_run *in = catalog_run_at(&r->catalog, run);
    const struct record_index *x = r->index.data;
    uint64_t hash = folder_hash(id);
    int64_t low = 0, high = catalog_case_count(&r->catalog), end = high;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (x[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < end && x[low].hash == hash; low++) {
        int64_t i = x[low].at - in->first_case;
        if (i >= 0 && i < in->n_case &&
            !strcmp(catalog_case_at(&r->catalog, x[low].at)->head.id, id))
            return i;
    }
    return -1;
}

/* An output's bytes are read by `read`, or it has none. */
typedef enum err read_tensor(int fd, const struct catalog_out *o, struct tensor *ret_tensor,
                             struct errinfo *e);

static enum err read_out(const struct record *r, const struct catalog_case *c, int i,
                         read_tensor *read, struct record_out *ret_out, struct errinfo *e)
{
    const struct catalog_out *o = catalog_out_at(&r->catalog, c->first_out + i);
    struct record_out out = {0};
    enum err err = read(r->fd, o, &out.tensor, e);
    if (err)
        return err_context(e, err, "%s: %s: out/%s", r->path, c->head.id, o->name);
    memcpy(out.name, o->name, sizeof out.name);
    memcpy(out.role, o->role, sizeof out.role);
    *ret_out = out;
    return ERR_OK;
}

static enum err read_outs(struct record *r, int run, int64_t i, read_tensor *read, int *ret_count,
                          struct record_out ret_out[RECORD_OUT_MAX], struct errinfo *e)
{
    const struct catalog_case *c = NULL;
    struct record_out out[RECORD_OUT_MAX];
    TRY(find_case(r, run, i, &c, e));
    for (int k = 0; k < c->n_out; k++) {
        enum err err = read_out(r, c, k, read, &out[k], e);
        if (err) {
            while (k-- > 0)
                tensor_release(&out[k].tensor);
            return err;
        }
    }
    memcpy(ret_out, out, (size_t)c->n_out * sizeof *out);
    *ret_count = c->n_out;
    return ERR_OK;
}

enum err record_read_outs(struct record *r, int run, int64_t i, int *ret_count,
                          struct record_out ret_out[RECORD_OUT_MAX], struct errinfo *e)
{
    return read_outs(r, run, i, catalog_read_tensor, ret_count, ret_out, e);
}

enum err record_list_outs(struct record *r, int run, int64_t i, int *ret_count,
                          struct record_out ret_out[RECORD_OUT_MAX], struct errinfo *e)
{
    return read_outs(r, run, i, catalog_tensor_shape, ret_count, ret_out, e);
}

enum err record_read_part(struct record *r, int run, int64_t i, int k, int64_t from, int64_t to,
                          struct tensor *t, struct errinfo *e)
{
    const struct catalog_case *c = NULL;
    TRY(find_case(r, run, i, &c, e));
    const struct catalog_out *o = catalog_out_at(&r->catalog, c->first_out + k);
    enum err err = catalog_read_part(r->fd, o, from, to, t, e);
    return err ? err_context(e, err, "%s: %s: out/%s", r->path, c->head.id, o->name) : ERR_OK;
}

enum err record_out_check(struct record *r, int run, int64_t i, int k, const char *digest,
                          struct errinfo *e)
{
    const struct catalog_case *c = NULL;
    TRY(find_case(r, run, i, &c, e));
    const struct catalog_out *o = catalog_out_at(&r->catalog, c->first_out + k);
    enum err err = catalog_check_digest(o, digest, e);
    return err ? err_context(e, err, "%s: %s: out/%s", r->path, c->head.id, o->name) : ERR_OK;
}

static enum err read_log(const struct record *r, const struct catalog_case *c, char **ret_log,
                         struct errinfo *e)
{
    void *log = NULL;
    if (c->log.size)
        TRY(catalog_read_bytes(r->fd, &c->log, &log, e));
    else
        log = strdup("");
    if (!log)
        return err_set(e, ERR_NOMEM, "out of memory");
    if (c->log.size && !memchr(log, 0, c->log.size)) {
        free(log);
        return err_set(e, ERR_FORMAT, "its text has no end");
    }
    *ret_log = log;
    return ERR_OK;
}

enum err record_read_code(struct record *r, int run, int64_t i, void **ret_bytes,
                          size_t *ret_size, char **ret_log, struct errinfo *e)
{
    const struct catalog_case *c = NULL;
    void *bytes = NULL;
    char *log = NULL;
    TRY(find_case(r, run, i, &c, e));
    enum err err = catalog_read_bytes(r->fd, &c->code, &bytes, e);
    if (err)
        return err_context(e, err, "%s: %s: code", r->path, c->head.id);
    err = read_log(r, c, &log, e);
    if (err) {
        free(bytes);
        return err_context(e, err, "%s: %s: code_log", r->path, c->head.id);
    }
    *ret_bytes = bytes;
    *ret_size = c->code.size;
    *ret_log = log;
    return ERR_OK;
}

void record_close(struct record *r)
{
    if (!r)
        return;
    if (r->writing)
        folder_close(&r->folder);
    else if (r->fd >= 0)
        close(r->fd);
    catalog_release(&r->catalog);
    bytes_release(&r->index);
    free(r->path);
    free(r);
}
