/* SPDX-License-Identifier: Apache-2.0 */
#include "casekernel.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "text.h"

static const size_t source_limit = (size_t)16 << 20, binary_limit = (size_t)1 << 30;

/* --- what the case file says -----------------------------------------------------------------
 */

static enum err option_add(const struct casefile *f, char *options, const char *format,
                           const char *a, const char *b, struct errinfo *e)
{
    size_t used = strlen(options);
    if (used)
        options[used++] = ' ';
    int n = snprintf(options + used, CASEKERNEL_OPTIONS_MAX - used, format, a, b);
    if (n >= (int)(CASEKERNEL_OPTIONS_MAX - used))
        return err_set(e, ERR_USAGE, "%.200s: the compiler's options are longer than %d "
                       "characters", f->path, CASEKERNEL_OPTIONS_MAX);
    return ERR_OK;
}

static const char *absolute(const struct casefile *f, const char *path)
{
    return path[0] == '/' ? "" : f->folder[0] ? f->folder : "./";
}

/* First beside the source: one compiler looks there anyway, the other does not. */
static enum err folders_add(const struct casefile *f, const char *path, char *options,
                            struct errinfo *e)
{
    char flag[2 * CASEFILE_TEXT_MAX];
    const char *slash = strrchr(path, '/');
    int own = slash ? (int)(slash - path) + 1 : 0;
    snprintf(flag, sizeof flag, "-I%s%.*s", absolute(f, path), own, path);
    TRY(option_add(f, options, "%s%s", flag, "", e));
    for (int i = 0; i < f->n_include; i++) {
        snprintf(flag, sizeof flag, "-I%s", absolute(f, f->include[i]));
        TRY(option_add(f, options, "%s%s", flag, f->include[i], e));
    }
    return own ? option_add(f, options, "-I%s%s", absolute(f, ""), "", e) : ERR_OK;
}

static enum err options_make(const struct casefile *f, const struct case_id *id,
                             const struct casefile_side *s, const char *path, char *options,
                             struct errinfo *e)
{
    char value[CASEFILE_TEXT_MAX], flag[CASEFILE_TEXT_MAX + 80];
    for (int i = 0; i < f->n_define; i++) {
        TRY(casefile_expand(f, id, f->define[i].value, value, sizeof value, e));
        snprintf(flag, sizeof flag, "-D%.60s%s", f->define[i].name, value[0] ? "=" : "");
        TRY(option_add(f, options, "%s%s", flag, value, e));
    }
    TRY(folders_add(f, path, options, e));
    bool own = id->variant != &f->changed[CASEFILE_NO_OPTIONS];
    for (int i = 0; i < s->n_option && own; i++)
        TRY(option_add(f, options, "%s%s", s->option[i], "", e));
    return ERR_OK;
}

/* The source of another side, where it is another one. */
static const struct yamlnode *other_source(const struct casefile *f, const struct casefile_side *s)
{
    for (int i = 0; i < f->n_side; i++)
        if (s->source && f->side[i].source && f->side[i].source != s->source &&
            strcmp(f->side[i].source->text, s->source->text))
            return f->side[i].source;
    return NULL;
}

bool casekernel_changes(const struct case_id *id, const struct backend *b, enum casefile_change c)
{
    const struct casefile *f = id->family->file;
    const struct casefile_side *s = f ? casefile_side(f, b->name) : NULL;
    if (!s || f->library || s->binary)
        return false;
    return c == CASEFILE_NO_OPTIONS ? s->n_option > 0 : other_source(f, s) != NULL;
}

enum err casekernel_describe(const struct case_id *id, const struct backend *b,
                             struct casekernel *ret_kernel, struct errinfo *e)
{
    const struct casefile *f = id->family->file;
    const struct casefile_side *s = casefile_side(f, b->name);
    if (f->library)
        return err_set(e, ERR_USAGE, "%.200s calls a library: it has no kernels to compile or to "
                       "write down", f->path);
    if (!s || (!s->source && !s->binary))
        return err_set(e, ERR_USAGE,
                       "%.200s has nothing for %s: add source: {%s: FILE} or binary: {%s: FILE}",
                       f->path, b->name, b->name, b->name);
    const struct yamlnode *n = s->binary ? s->binary : s->source;
    if (id->variant == &f->changed[CASEFILE_OTHER_SOURCE] && other_source(f, s))
        n = other_source(f, s);
    memset(ret_kernel, 0, sizeof *ret_kernel);
    ret_kernel->binary = s->binary != NULL;
    enum err err = casefile_expand(f, id, n->text, ret_kernel->path, sizeof ret_kernel->path, e);
    if (!err && !s->binary)
        err = options_make(f, id, s, ret_kernel->path, ret_kernel->options, e);
    return err ? yamltree_context(&f->tree, n, e, err) : ERR_OK;
}

/* --- sources ---------------------------------------------------------------------------------
 */

enum err casekernel_source(const struct case_id *id, const struct casekernel *k,
                           struct include_set *ret_set, struct errinfo *e)
{
    char path[2 * CASEFILE_TEXT_MAX];
    snprintf(path, sizeof path, "%s%s", k->path[0] == '/' ? "" : id->family->file->folder,
             k->path);
    return include_disk(path, k->options, ret_set, e);
}

void casekernel_request(const struct include_set *s,
                        struct source_file header[BUILD_HEADERS_MAX], struct build_request *r)
{
    int n = include_headers(s, header);
    for (int i = 0; backends[i]; i++)
        for (const char *const *h = backends[i]->implied; *h && n < BUILD_HEADERS_MAX; h++)
            header[n++] = (struct source_file){*h, "\n"};
    r->source = (struct source_file){s->file[0].path, s->file[0].text};
    r->n_header = n;
    r->header = header;
}

void casekernel_digest(const struct case_id *id, char *ret_hex)
{
    char part[CASEFILE_SIDES_MAX][33];
    size_t n = 0;
    ret_hex[0] = 0;
    for (int i = 0; backends[i] && n < CASEFILE_SIDES_MAX; i++) {
        struct casekernel k;
        struct include_set s;
        if (casekernel_describe(id, backends[i], &k, NULL) || k.binary ||
            casekernel_source(id, &k, &s, NULL))
            continue;
        n += !include_digest(&s, part[n], NULL);
        include_release(&s);
    }
    if (!n)
        return;
    XXH128_hash_t h = XXH3_128bits(part, n * sizeof part[0]);
    snprintf(ret_hex, 33, "%016llx%016llx", (unsigned long long)h.high64,
             (unsigned long long)h.low64);
}

/* --- binaries --------------------------------------------------------------------------------
 */

/* The one kernel of the folder: the name of its .json, without the ending. */
static enum err folder_kernel(const char *folder, const char *wanted, char *ret_name, size_t size,
                              struct errinfo *e)
{
    DIR *d = opendir(folder);
    int count = 0;
    if (!d)
        return err_set(e, ERR_USAGE, "cannot read %.300s: %s", folder, strerror(errno));
    for (struct dirent *x; (x = readdir(d));) {
        size_t n = strlen(x->d_name);
        if (!text_ends(x->d_name, ".json") || n == 5 || !strncmp(x->d_name, "__grp__", 7) ||
            n - 5 >= size)
            continue;
        bool named = wanted[0] && !strncmp(x->d_name, wanted, n - 5) && !wanted[n - 5];
        if (wanted[0] && !named)
            continue;
        snprintf(ret_name, size, "%.*s", (int)n - 5, x->d_name);
        count++;
    }
    closedir(d);
    if (count == 1)
        return ERR_OK;
    return count ? err_set(e, ERR_USAGE, "%.300s holds %d kernels: name one (kernels: name)",
                           folder, count)
                 : err_set(e, ERR_USAGE,
                           "%.300s is no folder of Triton's: it has no %s.json beside its code",
                           folder, wanted[0] ? wanted : "NAME");
}

static uint64_t number_of(const struct yamlnode *map, const char *key)
{
    const struct yamlnode *n = map ? yamlnode_get(map, key) : NULL;
    return n && n->kind == YAML_TEXT ? strtoull(n->text, NULL, 10) : 0;
}

static enum err triton_read(const char *path, struct casekernel_triton *t, struct errinfo *e)
{
    struct yamltree tree = {0};
    void *text = NULL;
    size_t size = 0;
    TRY(casefile_load_path(path, source_limit, &text, &size, e));
    enum err err = yamltree_parse(path, text, size, &tree, e);
    free(text);
    if (err)
        return err;
    const struct yamlnode *root = tree.root;
    bool map = root && root->kind == YAML_MAP;
    const struct yamlnode *target = map ? yamlnode_get(root, "target") : NULL;
    const struct yamlnode *name = map ? yamlnode_get(root, "name") : NULL;
    uint64_t warps = map ? number_of(root, "num_warps") : 0;
    uint64_t warp = map ? number_of(root, "warp_size") : 0;
    if (!warp && target && target->kind == YAML_MAP)
        warp = number_of(target, "warp_size");
    if (!warps || warps > 64 || !warp || warp > 64 || !name || name->kind != YAML_TEXT) {
        err = err_set(e, ERR_USAGE, "%.300s does not say name, num_warps and warp_size as Triton "
                      "does", path);
    } else {
        t->there = true;
        snprintf(t->name, sizeof t->name, "%s", name->text);
        t->threads = (uint32_t)(warps * warp);
        t->shared = (uint32_t)number_of(root, "shared");
        t->scratch = number_of(root, "global_scratch_size") + number_of(root, "profile_scratch_size");
    }
    yamltree_release(&tree);
    return err;
}

/* The kernel's name in the case file, with its parameters; "" if the binary decides. */
static enum err wanted_name(const struct case_id *id, char *ret_name, size_t size,
                            struct errinfo *e)
{
    const struct casefile *f = id->family->file;
    const struct casefile_kernel *k = &f->kernel[f->n_reference];
    ret_name[0] = 0;
    return k->name ? casefile_expand(f, id, k->name, ret_name, size, e) : ERR_OK;
}

/* The file of code in a folder of Triton's, in the form the backend likes best. */
static enum err folder_code(const struct backend *b, const char *folder, const char *name,
                            char *ret_path, size_t size, struct errinfo *e)
{
    for (int i = 0; b->endings[i]; i++) {
        snprintf(ret_path, size, "%s/%s%s", folder, name, b->endings[i]);
        if (!access(ret_path, R_OK))
            return ERR_OK;
    }
    return err_set(e, ERR_USAGE, "%.300s has no %s%s: was %s compiled for %s?", folder, name,
                   b->endings[0], name, b->vendor);
}

static enum err folder_read(const struct case_id *id, const struct backend *b, char *path,
                            size_t size, struct casekernel_triton *t, struct errinfo *e)
{
    char wanted[256], name[256], json[2048], folder[1024];
    snprintf(folder, sizeof folder, "%s", path);
    TRY(wanted_name(id, wanted, sizeof wanted, e));
    TRY(folder_kernel(folder, wanted, name, sizeof name, e));
    snprintf(json, sizeof json, "%s/%s.json", folder, name);
    TRY(triton_read(json, t, e));
    return folder_code(b, folder, name, path, size, e);
}

enum err casekernel_binary(const struct case_id *id, const struct backend *b,
                           const struct casekernel *k, struct code *ret_code,
                           struct casekernel_triton *ret_triton, struct errinfo *e)
{
    const struct casefile *f = id->family->file;
    struct casekernel_triton t = {0};
    struct code c = {0};
    struct stat st;
    char path[2048];
    snprintf(path, sizeof path, "%s%s", k->path[0] == '/' ? "" : f->folder, k->path);
    if (!stat(path, &st) && S_ISDIR(st.st_mode))
        TRY(folder_read(id, b, path, sizeof path, &t, e));
    TRY(casefile_load_path(path, binary_limit, &c.bytes, &c.size, e));
    if (!c.size) {
        free(c.bytes);
        return err_set(e, ERR_USAGE, "%.300s is empty", path);
    }
    c.log = strdup("");
    c.options = strdup("");
    snprintf(c.version, sizeof c.version, t.there ? "Triton" : "binary");
    *ret_code = c;
    *ret_triton = t;
    return ERR_OK;
}
