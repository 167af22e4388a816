/* SPDX-License-Identifier: Apache-2.0 */
#include "caselibrary.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "child.h"
#include "device.h"

enum { CHECK_SECONDS = 120 };

/* --- paths -----------------------------------------------------------------------------------
 */

/* $NAME/rest: the variable's value, then the rest. */
static enum err variable_expand(const char *text, char *ret_text, size_t size,
                                struct errinfo *e)
{
    char name[80];
    size_t n = strcspn(text + 1, "/");
    snprintf(name, sizeof name, "%.*s", (int)n, text + 1);
    const char *value = n < sizeof name ? getenv(name) : NULL;
    if (!value || !value[0])
        return err_set(e, ERR_USAGE,
                       "the environment variable %s is not set: it says where '%.200s' is",
                       name, text);
    snprintf(ret_text, size, "%s%s", value, text + 1 + n);
    return ERR_OK;
}

static enum err path_make(const struct case_id *id, const struct yamlnode *n, char *ret_path,
                          size_t size, struct errinfo *e)
{
    const struct casefile *f = id->family->file;
    char text[CASEFILE_TEXT_MAX], whole[1024];
    TRY(casefile_expand(f, id, n->text, text, sizeof text, e));
    snprintf(whole, sizeof whole, "%s", text);
    if (text[0] == '$')
        TRY(variable_expand(text, whole, sizeof whole, e));
    snprintf(ret_path, size, "%s%.500s",
             whole[0] == '/' ? ""
             : f->folder[0]  ? f->folder
                             : "./",
             whole);
    if (strchr(whole, '/') || !access(ret_path, R_OK))
        return ERR_OK;
    char own[PATH_MAX]; /* of this program, else the loader's */
    device_simulator_folder(own, sizeof own);
    snprintf(own + strlen(own), sizeof own - strlen(own), "/%.500s", whole);
    snprintf(ret_path, size, "%.1000s", access(own, R_OK) ? whole : own);
    return ERR_OK;
}

static enum err no_side(const struct casefile *f, const struct backend *b, struct errinfo *e)
{
    char sides[120] = "";
    for (int i = 0; i < f->n_side; i++)
        snprintf(sides + strlen(sides), sizeof sides - strlen(sides), "%s%s", i ? "," : "",
                 f->side[i].backend);
    return err_set(e, ERR_USAGE, "%.200s has no library for %s; it has: --on %s", f->path,
                   b->name, sides);
}

enum err caselibrary_find(const struct case_id *id, const struct backend *b,
                          struct caselibrary *ret_library, struct errinfo *e)
{
    const struct casefile *f = id->family->file;
    const struct casefile_side *s = casefile_side(f, b->name);
    struct caselibrary l = {0};
    if (!s)
        return no_side(f, b, e);
    bool list = s->library->kind == YAML_LIST;
    for (const struct yamlnode *n = list ? s->library->first : s->library; n;
         n = list ? n->next : NULL, l.count++)
        if (path_make(id, n, l.path[l.count], sizeof l.path[0], e))
            return yamltree_context(&f->tree, n, e, ERR_USAGE);
    *ret_library = l;
    return ERR_OK;
}

/* --- libraries -------------------------------------------------------------------------------
 */

enum err caselibrary_open(struct caselibrary *l, struct errinfo *e)
{
    for (int i = 0; i < l->count; i++) {
        l->handle[i] = dlopen(l->path[i], RTLD_NOW | RTLD_LOCAL);
        if (!l->handle[i]) {
            const char *words = dlerror();
            size_t n = strlen(l->path[i]);
            if (words && !strncmp(words, l->path[i], n) && words[n] == ':') /* said already */
                words += n + 1 + strspn(words + n + 1, " ");
            return err_set(e, ERR_USAGE, "cannot open the library %.300s: %.400s", l->path[i],
                           words ? words : "no reason given");
        }
    }
    return ERR_OK;
}

void *caselibrary_function(const struct caselibrary *l, const char *name)
{
    void *p = NULL;
    for (int i = 0; i < l->count && !p; i++)
        p = dlsym(l->handle[i], name);
    return p;
}

static bool file_digest(const char *path, XXH128_hash_t *ret_hash)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    void *p = MAP_FAILED;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0)
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (p == MAP_FAILED)
        return false;
    *ret_hash = XXH3_128bits(p, (size_t)st.st_size);
    munmap(p, (size_t)st.st_size);
    return true;
}

void caselibrary_digest(const struct caselibrary *l, char *ret_hex)
{
    XXH128_hash_t part[CASEFILE_LIBRARIES_MAX];
    memset(part, 0, sizeof part);
    ret_hex[0] = 0;
    for (int i = 0; i < l->count; i++)
        if (!file_digest(l->path[i], &part[i]))
            return;
    XXH128_hash_t h = XXH3_128bits(part, (size_t)l->count * sizeof part[0]);
    snprintf(ret_hex, 33, "%016llx%016llx", (unsigned long long)h.high64,
             (unsigned long long)h.low64);
}

/* --- before anything runs --------------------------------------------------------------------
 */

struct request {
    const struct caselist *list;
    const struct backend *backend;
};

struct verdict {
    enum err err;
    struct errinfo e;
};

static enum err functions_check(const struct case_id *id, const struct backend *b,
                                const struct caselibrary *l, struct errinfo *e)
{
    const struct casefile *f = id->family->file;
    char name[256];
    for (int i = 0; i < f->n_kernel; i++) {
        if (!casefile_call_on(f, i, b->name))
            continue;
        TRY(casefile_expand(f, id, f->kernel[i].name, name, sizeof name, e));
        if (caselibrary_function(l, name))
            continue;
        err_set(e, ERR_USAGE, "%.200s%s ha%s no function '%.100s'", l->path[0],
                l->count > 1 ? " and those behind it" : "", l->count > 1 ? "ve" : "s", name);
        return yamltree_context(&f->tree, f->kernel[i].node, e, ERR_USAGE);
    }
    return ERR_OK;
}

static void check_work(void *context, void *result)
{
    const struct request *q = context;
    struct verdict *v = result;
    for (int64_t i = 0; i < q->list->count && !v->err; i++) {
        const struct case_id *id = &q->list->id[i];
        struct caselibrary l;
        if (!id->family->file || !id->family->file->library)
            continue;
        v->err = caselibrary_find(id, q->backend, &l, &v->e);
        if (!v->err && caselibrary_open(&l, &v->e)) {
            const struct casefile_side *s = casefile_side(id->family->file, q->backend->name);
            v->err = yamltree_context(&id->family->file->tree, s->library, &v->e, ERR_USAGE);
        }
        if (!v->err)
            v->err = functions_check(id, q->backend, &l, &v->e);
    }
}

enum err caselibrary_check(const struct caselist *list, const struct backend *b,
                           struct errinfo *e)
{
    struct request q = {list, b};
    struct verdict v = {0};
    char crash[400];
    bool any = false;
    for (int64_t i = 0; i < list->count && !any; i++)
        any = list->id[i].family->file && list->id[i].family->file->library;
    if (!any)
        return ERR_OK;
    if (!child_call(check_work, &q, &v, sizeof v, CHECK_SECONDS, crash, sizeof crash))
        return err_set(e, ERR_USAGE, "opening the libraries for %s, the process was %s",
                       b->name, crash);
    return v.err ? err_set(e, v.err, "%s", v.e.text) : ERR_OK;
}
