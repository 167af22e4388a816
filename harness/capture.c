/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "jsonread.h"
#include "tensorread.h"

/* --- the JSON text ----------------------------------------------------------------------------- */

/* A text, kept as far as it fits; null leaves it empty. */
static enum err read_text(struct jsonread *j, char *ret_text, size_t size, struct errinfo *e)
{
    struct jsonread_item item;
    TRY(jsonread_next(j, &item, e));
    if (item.kind == JSONREAD_TEXT)
        snprintf(ret_text, size, "%s", item.text);
    else
        TRY(jsonread_skip(j, &item, e));
    return ERR_OK;
}

static bool is_digest(const char *text)
{
    return strlen(text) == CAPTURE_DIGEST - 1 &&
           strspn(text, "0123456789abcdef") == CAPTURE_DIGEST - 1;
}

/* An array of digests or nulls; calls `take` for each. */
typedef enum err take_digest(void *context, const char *digest, struct errinfo *e);

static enum err read_digests(struct jsonread *j, take_digest *take, void *context,
                             struct errinfo *e)
{
    struct jsonread_item item;
    TRY(jsonread_next(j, &item, e));
    if (item.kind != JSONREAD_ARRAY)
        return err_set(e, ERR_FORMAT, "a list of tensors is no array");
    for (;;) {
        TRY(jsonread_next(j, &item, e));
        if (item.kind == JSONREAD_ARRAY_END)
            return ERR_OK;
        bool null = item.kind == JSONREAD_WORD && !strcmp(item.text, "null");
        if (!null && (item.kind != JSONREAD_TEXT || !is_digest(item.text)))
            return err_set(e, ERR_FORMAT, "'%.40s' is no digest", item.text);
        TRY(take(context, null ? "" : item.text, e));
    }
}

struct list {
    int *n;
    char (*digest)[CAPTURE_DIGEST];
};

static enum err take_into_list(void *context, const char *digest, struct errinfo *e)
{
    struct list *l = context;
    if (*l->n == CAPTURE_OUT_MAX)
        return err_set(e, ERR_FORMAT, "an operator with more than %d outputs", CAPTURE_OUT_MAX);
    strcpy(l->digest[(*l->n)++], digest);
    return ERR_OK;
}

static enum err take_into_hash(void *context, const char *digest, struct errinfo *e)
{
    (void)e;
    XXH3_128bits_update(context, digest, strlen(digest) + 1);
    return ERR_OK;
}

static enum err read_inputs(struct jsonread *j, struct capture_operator *o, struct errinfo *e)
{
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return err_set(e, ERR_NOMEM, "out of memory");
    XXH3_128bits_reset(state);
    enum err err = read_digests(j, take_into_hash, state, e);
    XXH128_hash_t h = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    snprintf(o->inputs, sizeof o->inputs, "%016" PRIx64 "%016" PRIx64, (uint64_t)h.high64,
             (uint64_t)h.low64);
    return err;
}

static enum err read_member(struct jsonread *j, const char *key, struct capture_operator *o,
                            struct errinfo *e)
{
    const struct {
        const char *key;
        char *text;
        size_t size;
    } texts[] = {{"op", o->op, sizeof o->op},
                 {"module", o->module, sizeof o->module},
                 {"phase", o->phase, sizeof o->phase},
                 {"autocast", o->autocast, sizeof o->autocast},
                 {"asked", o->asked, sizeof o->asked}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(key, texts[i].key))
            return read_text(j, texts[i].text, texts[i].size, e);
    if (!strcmp(key, "inputs"))
        return read_inputs(j, o, e);
    if (!strcmp(key, "outputs"))
        return read_digests(j, take_into_list, &(struct list){&o->n_out, o->out}, e);
    if (!strcmp(key, "wide"))
        return read_digests(j, take_into_list, &(struct list){&o->n_wide, o->wide}, e);
    if (!strcmp(key, "bound"))
        return read_digests(j, take_into_list, &(struct list){&o->n_bound, o->bound}, e);
    struct jsonread_item item;
    TRY(jsonread_next(j, &item, e));
    if (!strcmp(key, "random"))
        o->random = item.kind == JSONREAD_WORD && !strcmp(item.text, "true");
    return jsonread_skip(j, &item, e);
}

static enum err read_operator(struct jsonread *j, struct capture_operator *o, struct errinfo *e)
{
    struct jsonread_item item;
    for (;;) {
        TRY(jsonread_next(j, &item, e));
        if (item.kind == JSONREAD_OBJECT_END)
            break;
        TRY(read_member(j, item.text, o, e));
    }
    if (!*o->op || !o->n_out)
        return err_set(e, ERR_FORMAT, "an operator without %s", *o->op ? "outputs" : "a name");
    if ((o->n_wide && o->n_wide != o->n_out) || (o->n_bound && o->n_bound != o->n_wide))
        return err_set(e, ERR_FORMAT, "%s has references for some of its outputs only", o->op);
    return ERR_OK;
}

static enum err read_operators(struct jsonread *j, struct capture *c, struct errinfo *e)
{
    struct jsonread_item item;
    TRY(jsonread_next(j, &item, e));
    if (item.kind != JSONREAD_ARRAY)
        return err_set(e, ERR_FORMAT, "the operators are no array");
    for (;;) {
        struct capture_operator o = {0};
        TRY(jsonread_next(j, &item, e));
        if (item.kind == JSONREAD_ARRAY_END)
            return ERR_OK;
        if (item.kind != JSONREAD_OBJECT || capture_count(c) == CAPTURE_OPERATORS_MAX)
            return err_set(e, ERR_FORMAT, "operator %" PRId64 " is no object, or too many",
                           capture_count(c));
        TRY(read_operator(j, &o, e));
        TRY(bytes_append(&c->operators, &o, sizeof o, e));
    }
}

static enum err read_head_member(struct jsonread *j, const char *key, struct capture *c,
                                 int64_t *ret_schema, struct errinfo *e)
{
    const struct {
        const char *key;
        char *text;
        size_t size;
    } texts[] = {{"kind", c->kind, sizeof c->kind},       {"torch", c->torch, sizeof c->torch},
                 {"stack", c->stack, sizeof c->stack},    {"device", c->device, sizeof c->device},
                 {"host", c->host, sizeof c->host},       {"created", c->created, sizeof c->created}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(key, texts[i].key))
            return read_text(j, texts[i].text, texts[i].size, e);
    if (!strcmp(key, "operators"))
        return read_operators(j, c, e);
    struct jsonread_item item;
    TRY(jsonread_next(j, &item, e));
    if (!strcmp(key, "schema") && !jsonread_count(&item, ret_schema))
        *ret_schema = -1;
    return jsonread_skip(j, &item, e);
}

static enum err read_all(struct jsonread *j, struct capture *c, struct errinfo *e)
{
    struct jsonread_item item;
    int64_t schema = -1;
    TRY(jsonread_next(j, &item, e));
    if (item.kind != JSONREAD_OBJECT)
        return err_set(e, ERR_FORMAT, "the text is no object");
    for (;;) {
        TRY(jsonread_next(j, &item, e));
        if (item.kind == JSONREAD_OBJECT_END)
            break;
        TRY(read_head_member(j, item.text, c, &schema, e));
    }
    TRY(jsonread_next(j, &item, e));
    if (schema != CAPTURE_SCHEMA)
        return err_set(e, ERR_FORMAT, "schema %" PRId64 ", this program reads %d", schema,
                       CAPTURE_SCHEMA);
    if (!capture_count(c))
        return err_set(e, ERR_FORMAT, "no operators");
    return ERR_OK;
}

/* --- the file ---------------------------------------------------------------------------------- */

static const char list_name[] = "capture";

static const struct tensorfile_tensor *list_of(const struct tensorfile *f)
{
    const struct tensorfile_tensor *t = tensorfile_find(f, list_name);
    bool bytes = t && !t->other[0] && t->dtype == DTYPE_U8 && t->rank == 1;
    return bytes && t->form == TENSORFILE_RAW ? t : NULL;
}

bool capture_is(const char *path)
{
    struct tensorfile f = {0};
    struct errinfo e;
    bool is =
        tensorfile_has(path, list_name) && !tensorfile_open(path, &f, &e) && list_of(&f);
    tensorfile_close(&f);
    return is;
}

enum err capture_list(struct capture *c, int fd, uint64_t offset, uint64_t size, struct errinfo *e)
{
    struct jsonread *j = malloc(sizeof *j);
    if (!j)
        return err_set(e, ERR_NOMEM, "out of memory");
    jsonread_begin(j, fd, offset, size);
    enum err err = read_all(j, c, e);
    free(j);
    return err;
}

enum err capture_open(const char *path, struct capture *ret_capture, struct errinfo *e)
{
    struct capture c = {0};
    struct errinfo why = {0};
    enum err err = tensorfile_open(path, &c.file, e);
    const struct tensorfile_tensor *t = err ? NULL : list_of(&c.file);
    if (!err && !t)
        err = err_set(e, ERR_FORMAT, "%s: no capture: it has no list of operators", path);
    if (!err) {
        err = capture_list(&c, c.file.fd, t->offset, (uint64_t)t->count, &why);
        if (err)
            err_set(e, err, "%s: its list of operators is damaged: %s", path, why.text);
    }
    if (err)
        capture_close(&c);
    else
        *ret_capture = c;
    return err;
}

void capture_close(struct capture *c)
{
    bytes_release(&c->operators);
    tensorfile_close(&c->file);
    memset(c, 0, sizeof *c);
}

int64_t capture_count(const struct capture *c)
{
    return (int64_t)(c->operators.size / sizeof(struct capture_operator));
}

const struct capture_operator *capture_at(const struct capture *c, int64_t i)
{
    return (const struct capture_operator *)c->operators.data + i;
}

static enum err read_elements(const struct capture *c, const struct tensorfile_tensor *from,
                              struct tensor *t, struct errinfo *e)
{
    enum { PIECE = 1 << 16 };
    struct tensorread r;
    size_t width = (size_t)dtype_info(t->dtype)->bytes;
    enum err err = tensorread_open(&c->file, from, PIECE, &r, e);
    if (err)
        return err;
    for (int64_t done = 0, n; done < t->count && !err; done += n) {
        const void *data;
        n = t->count - done < PIECE ? t->count - done : PIECE;
        err = tensorread_range(&r, done, n, &data, e);
        if (!err)
            memcpy((char *)t->data + (size_t)done * width, data, (size_t)n * width);
    }
    tensorread_close(&r);
    return err;
}

enum err capture_read(const struct capture *c, const char *digest, struct tensor *ret_tensor,
                      struct errinfo *e)
{
    char name[64];
    snprintf(name, sizeof name, "tensor/%s", digest);
    const struct tensorfile_tensor *from = tensorfile_find(&c->file, name);
    if (!from || from->other[0])
        return err_set(e, ERR_FORMAT, "%s: %s is listed, but missing", c->file.path, name);
    struct tensor t = {0};
    struct errinfo why = {0};
    TRY(tensor_init(&t, from->dtype, from->rank, from->dim, e));
    enum err err = read_elements(c, from, &t, &why);
    if (err) {
        tensor_release(&t);
        return err_set(e, err, "%s: %s: %s", c->file.path, name, why.text);
    }
    *ret_tensor = t;
    return ERR_OK;
}
