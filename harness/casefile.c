/* SPDX-License-Identifier: Apache-2.0 */
#include "casefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

static const char ending[] = ".case.yaml";

/* --- lifetime --------------------------------------------------------------------------------
 */

static void data_release(struct casefile_data *d)
{
    free(d->path);
    free(d->bytes);
}

static void tensor_forget(struct casefile_tensor *t)
{
    for (int i = 0; i < TENSOR_RANK_MAX; i++)
        expr_release(&t->dim[i]);
    expr_release(&t->formula);
    data_release(&t->data);
    data_release(&t->answer_data);
}

static void kernel_forget(struct casefile_kernel *k)
{
    for (int i = 0; i < k->n_arg; i++)
        expr_release(&k->arg[i].value);
    for (int i = 0; i < 3; i++) {
        expr_release(&k->grid[i]);
        expr_release(&k->block[i]);
    }
    expr_release(&k->shared);
}

static void casefile_close(struct casefile *f)
{
    for (int i = 0; i < f->n_tensor; i++)
        tensor_forget(&f->tensor[i]);
    for (int i = 0; i < f->n_kernel; i++)
        kernel_forget(&f->kernel[i]);
    yamltree_release(&f->tree);
    free(f);
}

void casefiles_release(struct casefiles *l)
{
    while (l->first) {
        struct casefile *f = l->first;
        l->first = f->next;
        casefile_close(f);
    }
}

/* --- files -----------------------------------------------------------------------------------
 */

static enum err fd_read(int fd, const char *path, size_t limit, void **ret_bytes,
                        size_t *ret_size, struct errinfo *e)
{
    struct stat st;
    if (fstat(fd, &st))
        return err_set(e, ERR_IO, "cannot read %.300s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_USAGE, "%.300s is no regular file", path);
    if ((uint64_t)st.st_size > limit)
        return err_set(e, ERR_USAGE, "%.300s has %lld bytes, at most %zu are read", path,
                       (long long)st.st_size, limit);
    size_t size = (size_t)st.st_size, have = 0;
    char *bytes = malloc(size + 1);
    if (!bytes)
        return err_set(e, ERR_NOMEM, "out of memory: %zu bytes of %.300s", size, path);
    for (ssize_t n = 1; have < size && n > 0;) {
        n = read(fd, bytes + have, size - have);
        have += n > 0 ? (size_t)n : 0;
    }
    if (have < size) {
        free(bytes);
        return err_set(e, ERR_IO, "cannot read all of %.300s", path);
    }
    bytes[size] = 0;
    *ret_bytes = bytes;
    *ret_size = size;
    return ERR_OK;
}

enum err casefile_load_path(const char *path, size_t limit, void **ret_bytes, size_t *ret_size,
                            struct errinfo *e)
{
    /* Not to hang on a pipe nobody writes. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_set(e, ERR_USAGE, "cannot read %.300s: %s", path, strerror(errno));
    enum err err = fd_read(fd, path, limit, ret_bytes, ret_size, e);
    close(fd);
    return err;
}

enum err casefile_load(const struct casefile *f, const char *path, size_t limit,
                       void **ret_bytes, size_t *ret_size, struct errinfo *e)
{
    char whole[1024];
    snprintf(whole, sizeof whole, "%s%s", path[0] == '/' ? "" : f->folder, path);
    return casefile_load_path(whole, limit, ret_bytes, ret_size, e);
}

/* The text, and the numbers that inputs and answers are read from. */
static void digest_make(struct casefile *f, const void *text, size_t size)
{
    XXH128_hash_t part[1 + 2 * CASE_TENSOR_MAX];
    size_t n = 0;
    memset(part, 0, sizeof part);
    part[n++] = XXH3_128bits(text, size);
    for (int i = 0; i < f->n_tensor; i++) {
        const struct casefile_data *d[] = {&f->tensor[i].data, &f->tensor[i].answer_data};
        for (int k = 0; k < 2; k++)
            if (d[k]->path)
                part[n++] = XXH3_128bits(d[k]->bytes, d[k]->size);
    }
    XXH128_hash_t h = XXH3_128bits(part, n * sizeof part[0]);
    snprintf(f->digest, sizeof f->digest, "%016llx%016llx", (unsigned long long)h.high64,
             (unsigned long long)h.low64);
}

/* --- opening ---------------------------------------------------------------------------------
 */

size_t casefile_path_length(const char *text)
{
    const char *at = strstr(text, ending);
    while (at && at[sizeof ending - 1] && at[sizeof ending - 1] != ':')
        at = strstr(at + 1, ending);
    return at ? (size_t)(at - text) + sizeof ending - 1 : 0;
}

/* Ids must be able to carry it, through patterns, shells and JSON. */
static enum err path_check(const char *path, struct errinfo *e)
{
    size_t bad = strcspn(path, " \t\r\n*?[]{}|\"'\\,:");
    for (size_t i = 0; path[i]; i++)
        if ((unsigned char)path[i] < ' ' && i < bad)
            bad = i;
    if (path[bad])
        return err_set(e, ERR_USAGE,
                       "the path of a case file becomes part of ids and cannot hold '%c': "
                       "%.200s; rename it, or use it from its own folder",
                       path[bad], path);
    return ERR_OK;
}

/* Takes `f` over: into the list, or away. */
static enum err casefile_take(struct casefiles *l, struct casefile *f, const char *text,
                              size_t size, struct errinfo *e)
{
    enum err err = yamltree_parse(f->path, text, size, &f->tree, e);
    if (!err)
        err = casefile_read(f, e);
    if (err) {
        casefile_close(f);
        return err;
    }
    digest_make(f, text, size);
    f->next = l->first;
    l->first = f;
    return ERR_OK;
}

enum err casefiles_add_text(struct casefiles *l, const char *path, const char *text, size_t size,
                            const struct casefile **ret_file, struct errinfo *e)
{
    TRY(path_check(path, e));
    struct casefile *f = calloc(1, sizeof *f);
    if (!f)
        return err_set(e, ERR_NOMEM, "out of memory");
    snprintf(f->path, sizeof f->path, "%s", path);
    const char *slash = strrchr(path, '/');
    snprintf(f->folder, sizeof f->folder, "%.*s", slash ? (int)(slash - path) + 1 : 0, path);
    TRY(casefile_take(l, f, text, size, e));
    *ret_file = f;
    return ERR_OK;
}

enum err casefiles_get(struct casefiles *l, const char *path, size_t size,
                       const struct casefile **ret_file, struct errinfo *e)
{
    char whole[sizeof l->first->path];
    for (; size > 2 && path[0] == '.' && path[1] == '/'; size -= 2)
        path += 2;
    if (size >= sizeof whole)
        return err_set(e, ERR_USAGE, "the path of a case file is longer than %zu characters",
                       sizeof whole - 1);
    snprintf(whole, sizeof whole, "%.*s", (int)size, path);
    for (struct casefile *f = l->first; f; f = f->next)
        if (!strcmp(f->path, whole)) {
            *ret_file = f;
            return ERR_OK;
        }
    void *text = NULL;
    size_t bytes = 0;
    TRY(path_check(whole, e));
    TRY(casefile_load_path(whole, CASEFILE_BYTES_MAX, &text, &bytes, e));
    enum err err = casefiles_add_text(l, whole, text, bytes, ret_file, e);
    free(text);
    return err;
}

enum err casefiles_parse_id(struct casefiles *l, const char *text, struct case_id *ret_id,
                            struct errinfo *e)
{
    size_t n = casefile_path_length(text);
    if (!n)
        return caseid_parse(text, ret_id, e);
    const struct casefile *f;
    TRY(casefiles_get(l, text, n, &f, e));
    return caseid_parse_values(&f->family, text, text + n, ret_id, e);
}

/* --- questions -------------------------------------------------------------------------------
 */

const struct casefile_side *casefile_side(const struct casefile *f, const char *backend)
{
    for (int i = 0; i < f->n_side; i++)
        if (!strcmp(f->side[i].backend, backend))
            return &f->side[i];
    return NULL;
}

int casefile_tensor_find(const struct casefile *f, const char *name)
{
    for (int i = 0; i < f->n_tensor; i++)
        if (!strcmp(f->tensor[i].node->key, name))
            return i;
    return -1;
}

enum dtype casefile_dtype_of(const struct casefile_dtype *d, const struct case_id *id)
{
    if (d->param < 0)
        return d->dtype;
    return dtype_find(id->family->params[d->param].words[id->value[d->param].i]);
}

/* The value by `words`, "a=b,c=d": what stands for it there, else itself. */
static void value_map(const char *words, size_t size, char *value, size_t room)
{
    size_t n = strlen(value);
    for (const char *at = words, *end = words + size; at < end;) {
        size_t word = strcspn(at, ",}");
        if (word > n && !strncmp(at, value, n) && at[n] == '=') {
            snprintf(value, room, "%.*s", (int)(word - n - 1), at + n + 1);
            return;
        }
        at += word + 1;
    }
}

/* What stands between { and }: NAME, or NAME:a=b,c=d. */
static enum err name_expand(const struct casefile *f, const struct case_id *id, const char *text,
                            size_t size, char *ret_value, size_t room, struct errinfo *e)
{
    char name[EXPR_NAME_MAX];
    size_t n = strcspn(text, ":}");
    snprintf(name, sizeof name, "%.*s", n < sizeof name ? (int)n : 0, text);
    int row = family_param_find(&f->family, name);
    if (row < 0 || text[size] != '}')
        return err_set(e, ERR_USAGE, "{%s} is no parameter of %.200s", name, f->path);
    caseid_print_value(&f->params[row], id->value[row], ret_value, room);
    if (n < size)
        value_map(text + n + 1, size - n - 1, ret_value, room);
    return ERR_OK;
}

enum err casefile_expand(const struct casefile *f, const struct case_id *id, const char *text,
                         char *ret_text, size_t size, struct errinfo *e)
{
    size_t used = 0;
    for (const char *at = text; *at && used < size;) {
        char value[256];
        size_t n = strcspn(at, "{");
        used += (size_t)snprintf(ret_text + used, size - used, "%.*s", (int)n, at);
        at += n;
        if (!*at)
            break;
        n = strcspn(++at, "}");
        enum err err = name_expand(f, id, at, n, value, sizeof value, e);
        if (err)
            return err_context(e, err, "'%.100s'", text);
        if (used < size)
            used += (size_t)snprintf(ret_text + used, size - used, "%s", value);
        at += n + 1;
    }
    if (used >= size - 1)
        return err_set(e, ERR_USAGE, "'%.100s' becomes longer than %zu characters", text,
                       size - 2);
    ret_text[used] = 0;
    return ERR_OK;
}
