/* SPDX-License-Identifier: Apache-2.0 */
#include "tensorfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guard.h"
#include "hdfset.h"
#include "npyhead.h"

/* Any HDF5 file. A child process lists its datasets with the library; what it says is checked
 * here before it is used. */

enum { NESTED_MAX = 64, OBJECTS_MAX = 1 << 21 };

struct walk {
    hid_t file;
    struct hdfdrive_note *note;
    uint64_t size;
    int64_t objects;
    struct tensorfile *to;
};

/* --- the tree --- */

static enum err walk_group(struct walk *w, hid_t group, const char *path, int nested,
                           struct errinfo *e);

static enum err walk_object(struct walk *w, hid_t group, const char *name, H5L_type_t link,
                            const char *path, int nested, struct errinfo *e)
{
    struct tensorfile_tensor t = {0};
    TRY(tensorfile_name(&t, path, strlen(path), e));
    if (link != H5L_TYPE_HARD) {
        snprintf(t.other, sizeof t.other, "a soft or external link, which is not followed");
        return tensorfile_add(w->to, &t, e);
    }
    hid_t object = H5Oopen(group, name, H5P_DEFAULT);
    if (object < 0)
        return hdf_error(e, ERR_FORMAT, "damaged");
    enum err err = ERR_OK;
    H5I_type_t type = H5Iget_type(object);
    if (type == H5I_GROUP) {
        err = walk_group(w, object, path, nested + 1, e);
    } else if (type == H5I_DATASET) {
        err = hdfset_read(w->to, w->size, object, w->note, &t, e);
        if (!err)
            err = tensorfile_add(w->to, &t, e);
    }
    H5Oclose(object);
    return err;
}

struct group {
    struct walk *walk;
    const char *path;
    int nested;
    enum err err;
    struct errinfo *e;
};

static herr_t walk_link(hid_t id, const char *name, const H5L_info_t *link, void *context)
{
    struct group *g = context;
    char inner[2 * TENSORFILE_NAME_MAX];
    if (++g->walk->objects > OBJECTS_MAX)
        g->err = err_set(g->e, ERR_FORMAT, "more than %d objects", OBJECTS_MAX);
    else if (strlen(name) >= TENSORFILE_NAME_MAX)
        g->err = err_set(g->e, ERR_FORMAT, "a name of %zu bytes, %.60s...", strlen(name), name);
    snprintf(inner, sizeof inner, "%s%s%s", g->path, *g->path ? "/" : "", name);
    if (!g->err)
        g->err = walk_object(g->walk, id, name, link->type, inner, g->nested, g->e);
    if (g->err && !g->nested)
        err_context(g->e, g->err, "/%.300s", name);
    return g->err ? 1 : 0;
}

/* All links at once: asking for them one by one would look through the group each time. */
static enum err walk_group(struct walk *w, hid_t group, const char *path, int nested,
                           struct errinfo *e)
{
    struct group g = {w, path, nested, ERR_OK, e};
    if (nested > NESTED_MAX)
        return err_set(e, ERR_FORMAT, "groups nested deeper than %d", NESTED_MAX);
    if (H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, walk_link, &g) < 0 && !g.err)
        return hdf_error(e, ERR_FORMAT, "a damaged group");
    return g.err;
}

/* How the list travels: this, the tensors, the blob. */
struct answer {
    size_t tensors, blob;
};

static enum err walk_file(void *context, struct bytes *out, struct errinfo *e)
{
    struct walk *w = context;
    hdf_begin();
    TRY(hdfdrive_open(w->to->fd, &w->file, &w->note, e));
    TRY(walk_group(w, w->file, "", 0, e));
    const struct bytes *tensors = &w->to->tensors, *blob = &w->to->blob;
    struct answer a = {tensors->size, blob->size};
    TRY(bytes_append(out, &a, sizeof a, e));
    TRY(bytes_append(out, tensors->data, a.tensors, e));
    return bytes_append(out, blob->data, a.blob, e);
}

/* --- what the child says --- */

static bool chunks_fit(const struct tensorfile_tensor *t)
{
    uint64_t bytes = (uint64_t)dtype_info(t->dtype)->bytes;
    for (int i = 0; i < t->rank; i++) {
        if (t->chunk[i] < 1 || t->chunk[i] > TENSORFILE_CHUNK_MAX)
            return false;
        bytes *= (uint64_t)t->chunk[i];
        if (bytes > TENSORFILE_CHUNK_MAX)
            return false;
    }
    return t->rank > 0 && t->element > 0 && t->element <= 16 && t->n_filter >= 0 &&
           t->n_filter <= TENSORFILE_FILTERS_MAX;
}

static bool list_fits(const struct tensorfile *f, const struct tensorfile_tensor *t)
{
    uint64_t size = (uint64_t)t->listed * sizeof(struct chunkplace);
    return !t->listed ||
           (t->listed == tensorfile_grid(t).count && t->listed <= TENSORFILE_LISTED_MAX &&
            size <= f->blob.size && t->offset <= f->blob.size - size);
}

static bool fits(const struct tensorfile *f, uint64_t size, const struct tensorfile_tensor *t)
{
    int64_t count;
    if (!memchr(t->name, 0, sizeof t->name) || !memchr(t->other, 0, sizeof t->other) ||
        (unsigned)t->dtype >= DTYPE_COUNT_ || t->rank < 0 || t->rank > TENSOR_RANK_MAX)
        return false;
    if (t->other[0])
        return true;
    if (!npyhead_count(t->rank, t->dim, dtype_info(t->dtype)->bytes, &count) ||
        count != t->count)
        return false;
    uint64_t bytes = (uint64_t)count * (uint64_t)dtype_info(t->dtype)->bytes;
    uint64_t end = t->form == TENSORFILE_RAW ? size : f->blob.size;
    if (t->form == TENSORFILE_CHUNKED)
        return chunks_fit(t) && list_fits(f, t);
    if (t->form == TENSORFILE_FILL)
        return true;
    return (t->form == TENSORFILE_RAW || t->form == TENSORFILE_INSIDE) && t->size == bytes &&
           bytes <= end && t->offset <= end - bytes;
}

static enum err unpack(struct tensorfile *f, uint64_t size, const struct bytes *in,
                       struct errinfo *e)
{
    struct answer a;
    if (in->size < sizeof a)
        return err_set(e, ERR_FORMAT, "a damaged file");
    memcpy(&a, in->data, sizeof a);
    size_t left = in->size - sizeof a;
    if (a.tensors > left || a.blob != left - a.tensors ||
        a.tensors % sizeof(struct tensorfile_tensor))
        return err_set(e, ERR_FORMAT, "a damaged file");
    const char *at = (const char *)in->data + sizeof a;
    TRY(bytes_append(&f->tensors, at, a.tensors, e));
    TRY(bytes_append(&f->blob, at + a.tensors, a.blob, e));
    for (int64_t i = 0; i < tensorfile_count(f); i++)
        if (!fits(f, size, tensorfile_at(f, i)))
            return err_set(e, ERR_FORMAT, "a damaged file");
    return ERR_OK;
}

static const struct guard guard = {.what = "a damaged file: the HDF5 library",
                                   .crash = ERR_FORMAT,
                                   .seconds = 120,
                                   .memory = (size_t)4 << 30};

enum err tensorfile_hdf(struct tensorfile *f, uint64_t size, struct errinfo *e)
{
    struct tensorfile listed = {.fd = f->fd};
    struct walk w = {.size = size, .to = &listed};
    struct bytes answer = {0};
    TRY(guard_run(&guard, walk_file, &w, &answer, e));
    enum err err = unpack(f, size, &answer, e);
    bytes_release(&answer);
    return err ? err : chunkfinder_open(f->fd, &f->finder, e);
}

/* A record says what it is at the root. */
static bool is_record(hid_t file)
{
    char tool[32];
    bool schema = false, named = false;
    return !hdf_has_attribute(file, "schema", &schema, NULL) && schema &&
           !hdf_has_attribute(file, "tool", &named, NULL) && named &&
           !hdf_get_text(file, "tool", tool, sizeof tool, NULL) && !strcmp(tool, "gpuparity");
}

/* What is asked of the root, in a child. */
struct question {
    const char *path, *name; /* NULL: is it a record's? */
};

static enum err look_at_root(void *context, struct bytes *out, struct errinfo *e)
{
    const struct question *q = context;
    hid_t file;
    hdf_begin();
    TRY(hdf_open(q->path, &file, e));
    bool has = false;
    if (q->name)
        TRY(hdf_has(file, q->name, &has, e));
    char yes = q->name ? has : is_record(file);
    return bytes_append(out, &yes, 1, e);
}

static bool answer_is_yes(struct question q)
{
    struct bytes answer = {0};
    struct stat s;
    if (stat(q.path, &s) || !S_ISREG(s.st_mode) ||
        guard_run(&guard, look_at_root, &q, &answer, NULL))
        return false;
    bool yes = *(const char *)answer.data;
    bytes_release(&answer);
    return yes;
}

bool tensorfile_is_record(const char *path)
{
    return answer_is_yes((struct question){path, NULL});
}

bool tensorfile_has(const char *path, const char *name)
{
    return answer_is_yes((struct question){path, name});
}
