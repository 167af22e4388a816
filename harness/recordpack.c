/* SPDX-License-Identifier: Apache-2.0 */
#include "recordhandle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guard.h"
#include "recordfile.h"

/* Packing goes through our own reader and writer, not H5Ocopy: that one crashes on a full disk.
 */

struct pack {
    const char *path;
    const struct folder *folder;
    struct record *base; /* the finished record, once it is needed */
};

/* What was read of a case. */
struct pack_case {
    struct record_case head;
    int n_out;
    struct record_out out[RECORD_OUT_MAX];
    void *code;
    size_t code_size;
    char *log;
};

static void pack_case_release(struct pack_case *p)
{
    for (int i = 0; i < p->n_out; i++)
        tensor_release(&p->out[i].tensor);
    free(p->code);
    free(p->log);
}

static enum err read_case(struct record *from, int run, int64_t index, struct pack_case *p,
                          struct errinfo *e)
{
    TRY(record_read_case(from, run, index, &p->head, e));
    TRY(record_read_outs(from, run, index, &p->n_out, p->out, e));
    return record_read_code(from, run, index, &p->code, &p->code_size, &p->log, e);
}

static enum err copy_case(struct record *from, int from_run, int64_t from_index, hid_t to,
                          int to_run, int64_t to_index, struct errinfo *e)
{
    struct pack_case p = {.n_out = 0};
    enum err err = read_case(from, from_run, from_index, &p, e);
    struct record_code code = {p.code, p.code_size, p.log};
    struct recordfile_case c = {&p.head, p.n_out, p.out, &code};
    if (!err)
        err = recordfile_put_case(to, to_run, to_index, &c, e);
    pack_case_release(&p);
    return err;
}

static enum err open_file(const struct folder *f, const char *name, struct record **ret_record,
                          struct errinfo *e)
{
    int fd = openat(f->folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return err_set(e, ERR_IO, "cannot open %s/%s: %s", f->folder, name, strerror(errno));
    return record_open_fd(fd, name, catalog_walk, ret_record, e);
}

static enum err pack_file(const struct pack *p, hid_t to, const struct folder_case *c,
                          int64_t index, struct errinfo *e)
{
    struct record *from = NULL;
    TRY(open_file(p->folder, c->file, &from, e));
    enum err err = copy_case(from, 0, 0, to, c->run, index, e);
    record_close(from);
    return err;
}

static enum err pack_case(struct pack *p, hid_t to, const struct folder_case *c, int64_t index,
                          struct errinfo *e)
{
    if (c->file)
        return pack_file(p, to, c, index, e);
    if (!p->base) {
        int fd = dup(p->folder->base_fd);
        TRY(record_open_fd(fd, p->folder->path, catalog_walk, &p->base, e));
    }
    return copy_case(p->base, c->base_run, c->index, to, c->run, index, e);
}

static enum err pack_cases(struct pack *p, hid_t to, struct errinfo *e)
{
    const struct folder *f = p->folder;
    int64_t index = 0;
    for (int64_t i = 0; i < f->count; i++) {
        const struct folder_case *c = &f->cases[i];
        index = i && f->cases[i - 1].run == c->run ? index + 1 : 0;
        enum err err = pack_case(p, to, c, index, e);
        if (err)
            return err_context(e, err, "%s", c->id);
    }
    return ERR_OK;
}

static enum err pack_all(void *context, struct bytes *out, struct errinfo *e)
{
    struct pack *p = context;
    hid_t to = H5I_INVALID_HID;
    (void)out;
    hdf_begin();
    TRY(recordfile_create(p->path, &to, e));
    for (int r = 0; r < p->folder->n_run; r++)
        TRY(recordfile_put_run(to, r, &p->folder->run[r].head, e));
    TRY(pack_cases(p, to, e));
    return recordfile_close(to, p->path, e);
}

static enum err check_packed(const struct folder *f, struct errinfo *e)
{
    char name[96];
    struct catalog c = {0};
    folder_new_name(name);
    int fd = openat(f->folder_fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(e, ERR_IO, "cannot open %s/%s: %s", f->folder, name, strerror(errno));
    enum err err = catalog_read(fd, name, &c, e);
    if (!err && (catalog_run_count(&c) != f->n_run || catalog_case_count(&c) != f->count))
        err = err_set(e, ERR_IO, "cases were lost");
    if (!err)
        err = catalog_verify(fd, &c, e);
    catalog_release(&c);
    close(fd);
    return err;
}

enum err record_pack(struct folder *f, struct errinfo *e)
{
    struct pack p = {.folder = f};
    TRY(folder_make_new(f, pack_all, &p, &p.path, e));
    return check_packed(f, e);
}
