/* SPDX-License-Identifier: Apache-2.0 */
#include "tensorfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base64.h"
#include "fileread.h"
#include "jsonread.h"
#include "npyhead.h"

/* What Polygraphy's --save-outputs and --save-inputs write: an array is an object whose "array"
 * is base64 of an npy file; a RunResults is {"lst": [[runner, [{"outputs": {name: array}}]]]},
 * a list of feeds [{name: array}]. Arrays may be wrapped in further objects. */

enum { PATH_MAX_ = 12, BEGIN = (NPYHEAD_MAX + 2) / 3 * 4 };

struct step {
    int64_t index; /* in an array; -1: a key */
    char key[TENSORFILE_NAME_MAX];
};

/* Where an array stood, until it is known how many runners and iterations there are. */
struct place {
    int64_t runner, iteration; /* -1: none */
    char name_of_runner[128];
};

struct walk {
    struct tensorfile *file;
    struct jsonread j;
    struct jsonread_item item;
    struct step step[PATH_MAX_];
    char runner[128]; /* the last one met */
    struct bytes places;
    int64_t last_runner, last_iteration;
};

static enum err read_head(struct walk *w, uint64_t offset, uint64_t size,
                          struct tensorfile_tensor *t, struct errinfo *e)
{
    char text[BEGIN];
    unsigned char bytes[BEGIN / 4 * 3], tail[3];
    struct npyhead h;
    size_t n = size < BEGIN ? (size_t)size : BEGIN, got = 0, last = 0;
    if (size % 4 || size < 4)
        return err_set(e, ERR_FORMAT, "an array whose base64 text has %" PRIu64 " characters",
                       size);
    TRY(fileread_at(w->file->fd, offset, text, n, e));
    bool good = base64_decode(text, n, bytes, &got);
    TRY(fileread_at(w->file->fd, offset + size - 4, text, 4, e));
    if (!good || !base64_decode(text, 4, tail, &last))
        return err_set(e, ERR_FORMAT, "an array that is no base64 text");
    TRY(npyhead_parse(bytes, got, &h, e));
    tensorfile_from_npy(t, &h);
    uint64_t have = size / 4 * 3 - 3 + last - h.size;
    uint64_t want = (uint64_t)h.count * (uint64_t)dtype_info(h.dtype)->bytes;
    if (!t->other[0] && want != have)
        return err_set(e, ERR_FORMAT, "the head says %" PRIu64 " bytes, %" PRIu64 " follow",
                       want, have);
    t->form = TENSORFILE_BASE64;
    t->offset = offset;
    t->size = size;
    t->skip = h.size;
    return ERR_OK;
}

/* The steps are those to the object that holds the array. */
static struct place place_of(const struct walk *w, int depth, const char **ret_name)
{
    struct place p = {-1, -1, ""};
    const struct step *s = w->step;
    int at = 0;
    if (depth > 5 && !strcmp(s[0].key, "lst") && s[1].index >= 0 && s[2].index == 1 &&
        s[3].index >= 0) {
        p.runner = s[1].index;
        p.iteration = s[3].index;
        snprintf(p.name_of_runner, sizeof p.name_of_runner, "%s", w->runner);
        at = 5;
    } else if (depth > 1 && s[0].index >= 0) {
        p.iteration = s[0].index;
        at = 1;
    }
    *ret_name = depth > at && s[at].index < 0 ? s[at].key : "array";
    return p;
}

static enum err add_array(struct walk *w, int depth, bool torch, struct errinfo *e)
{
    const char *name;
    struct tensorfile_tensor t = {0};
    struct place p = place_of(w, depth, &name);
    enum err err = ERR_OK;
    TRY(tensorfile_name(&t, name, strlen(name), e));
    t.trouble = torch;
    if (torch)
        snprintf(t.other, sizeof t.other, "a torch.Tensor; save numpy arrays");
    else if (!w->item.plain)
        err = err_set(e, ERR_FORMAT, "an array in a text with escapes");
    else
        err = read_head(w, w->item.offset, w->item.size, &t, e);
    if (err)
        return err_context(e, err, "%s", name);
    w->last_runner = p.runner > w->last_runner ? p.runner : w->last_runner;
    w->last_iteration = p.iteration > w->last_iteration ? p.iteration : w->last_iteration;
    TRY(bytes_append(&w->places, &p, sizeof p, e));
    return tensorfile_add(w->file, &t, e);
}

static enum err walk_value(struct walk *w, int depth, struct errinfo *e);

static enum err walk_array(struct walk *w, int depth, struct errinfo *e)
{
    for (int64_t i = 0;; i++) {
        TRY(jsonread_next(&w->j, &w->item, e));
        if (w->item.kind == JSONREAD_ARRAY_END)
            return ERR_OK;
        w->step[depth] = (struct step){.index = i};
        if (depth == 2 && i == 0 && w->item.kind == JSONREAD_TEXT)
            snprintf(w->runner, sizeof w->runner, "%.127s", w->item.text);
        TRY(walk_value(w, depth + 1, e));
    }
}

static enum err walk_object(struct walk *w, int depth, struct errinfo *e)
{
    for (;;) {
        TRY(jsonread_next(&w->j, &w->item, e));
        if (w->item.kind == JSONREAD_OBJECT_END)
            return ERR_OK;
        struct step *s = &w->step[depth];
        s->index = -1;
        if (!w->item.whole || strlen(w->item.text) >= sizeof s->key)
            return err_set(e, ERR_FORMAT, "a name of %" PRIu64 " bytes, %.60s...", w->item.size,
                           w->item.text);
        memcpy(s->key, w->item.text, strlen(w->item.text) + 1);
        TRY(jsonread_next(&w->j, &w->item, e));
        bool text = w->item.kind == JSONREAD_TEXT, torch = !strcmp(s->key, "tensor");
        if (text && (torch || !strcmp(s->key, "array")))
            TRY(add_array(w, depth, torch, e));
        else
            TRY(walk_value(w, depth + 1, e));
    }
}

/* w->item is the value's beginning. */
static enum err walk_value(struct walk *w, int depth, struct errinfo *e)
{
    bool object = w->item.kind == JSONREAD_OBJECT;
    if (!object && w->item.kind != JSONREAD_ARRAY)
        return ERR_OK;
    if (depth == PATH_MAX_)
        return jsonread_skip(&w->j, &w->item, e);
    return object ? walk_object(w, depth, e) : walk_array(w, depth, e);
}

/* [runner/][iteration/]name */
static enum err complete_names(struct walk *w, struct errinfo *e)
{
    struct tensorfile_tensor *t = w->file->tensors.data;
    const struct place *p = w->places.data;
    for (int64_t i = 0; i < tensorfile_count(w->file); i++) {
        char name[sizeof t->name + sizeof p->name_of_runner + 32] = "";
        size_t used = 0;
        if (w->last_runner > 0)
            used = (size_t)snprintf(name, sizeof name, "%s/", p[i].name_of_runner);
        if (w->last_iteration > 0)
            used += (size_t)snprintf(name + used, sizeof name - used, "%" PRId64 "/",
                                     p[i].iteration);
        used += (size_t)snprintf(name + used, sizeof name - used, "%s", t[i].name);
        TRY(tensorfile_name(&t[i], name, used, e));
    }
    return ERR_OK;
}

static enum err walk_all(struct walk *w, struct errinfo *e)
{
    TRY(jsonread_next(&w->j, &w->item, e));
    TRY(walk_value(w, 0, e));
    TRY(jsonread_next(&w->j, &w->item, e)); /* the end, or what should not be there */
    if (!tensorfile_count(w->file))
        return err_set(e, ERR_FORMAT, "JSON without an array as Polygraphy writes them");
    return complete_names(w, e);
}

enum err tensorfile_polygraphy(struct tensorfile *f, uint64_t size, struct errinfo *e)
{
    struct walk *w = calloc(1, sizeof *w);
    if (!w)
        return err_set(e, ERR_NOMEM, "out of memory");
    w->file = f;
    jsonread_begin(&w->j, f->fd, 0, size);
    enum err err = walk_all(w, e);
    bytes_release(&w->places);
    free(w);
    return err;
}
