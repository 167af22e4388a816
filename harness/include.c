/* SPDX-License-Identifier: Apache-2.0 */
#include "include.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "casefile.h"
#include "kerneltext.h"

enum { FILES_MAX = 4096 };
static const size_t file_limit = (size_t)16 << 20, total_limit = (size_t)256 << 20;

void include_release(struct include_set *s)
{
    for (int i = 0; i < s->count; i++) {
        free(s->file[i].path);
        free(s->file[i].loaded);
    }
    free(s->file);
    memset(s, 0, sizeof *s);
}

/* --- lines -----------------------------------------------------------------------------------
 */

static const char *skip_blanks(const char *p)
{
    while (*p == ' ' || *p == '\t')
        p++;
    return p;
}

/* Past a text in quotes, or to the line's end. */
static const char *skip_quoted(const char *p, char quote)
{
    for (p++; *p && *p != '\n' && *p != quote; p++)
        if (*p == '\\' && p[1] && p[1] != '\n')
            p++;
    return *p == quote ? p + 1 : p;
}

/* The end of the line that begins at `p`; follows comments over it. */
static const char *line_end(const char *p, bool *comment)
{
    while (*p && *p != '\n') {
        if (*comment) {
            *comment = strncmp(p, "*/", 2) != 0;
            p += *comment ? 1 : 2;
        } else if (!strncmp(p, "//", 2)) {
            return p + strcspn(p, "\n") + (strchr(p, '\n') != NULL);
        } else if (!strncmp(p, "/*", 2)) {
            *comment = true;
            p += 2;
        } else {
            p = *p == '"' || *p == '\'' ? skip_quoted(p, *p) : p + 1;
        }
    }
    return *p ? p + 1 : p;
}

static bool header_name(const char *p, struct include_line *l)
{
    char close = *p == '"' ? '"' : *p == '<' ? '>' : 0;
    size_t n = close ? strcspn(p + 1, close == '"' ? "\"\n" : ">\n") : 0;
    if (!n || p[n + 1] != close || n >= sizeof l->name)
        return false;
    l->angle = close == '>';
    snprintf(l->name, sizeof l->name, "%.*s", (int)n, p + 1);
    return true;
}

static enum include_kind directive(const char *p, struct include_line *l)
{
    size_t n = 0;
    for (p = skip_blanks(p); isalpha((unsigned char)p[n]); n++)
        ;
    if (n >= sizeof l->name)
        return INCLUDE_PLAIN;
    snprintf(l->name, sizeof l->name, "%.*s", (int)n, p);
    p = skip_blanks(p + n);
    if (!strcmp(l->name, "include"))
        return header_name(p, l) ? INCLUDE_HEADER : INCLUDE_PLAIN;
    if (!strcmp(l->name, "pragma"))
        return !strncmp(p, "once", 4) && !isalnum((unsigned char)p[4]) ? INCLUDE_ONCE
                                                                       : INCLUDE_PLAIN;
    if (!strncmp(l->name, "if", 2))
        return INCLUDE_OPEN;
    return !strcmp(l->name, "endif") ? INCLUDE_CLOSE : INCLUDE_PLAIN;
}

bool include_next(struct include_scan *s, struct include_line *l)
{
    if (!*s->at)
        return false;
    const char *p = skip_blanks(s->at);
    *l = (struct include_line){.begin = s->at};
    if (!s->comment && *p == '#')
        l->kind = directive(p + 1, l);
    l->end = s->at = line_end(s->at, &s->comment);
    return true;
}

/* --- places ----------------------------------------------------------------------------------
 */

/* Where a header is. */
struct place {
    char path[PATH_MAX];
    const char *text; /* in this program */
    struct stat st;   /* else */
};

static bool on_disk(struct place *p, const char *folder, int n, const char *name)
{
    const char *slash = n && folder[n - 1] != '/' ? "/" : "";
    if (snprintf(p->path, sizeof p->path, "%.*s%s%s", n, folder, slash, name) >= PATH_MAX)
        return false;
    return !stat(p->path, &p->st) && S_ISREG(p->st.st_mode) && !access(p->path, R_OK);
}

/* In a folder of the options. */
static bool in_folders(struct place *p, const char *options, const char *name)
{
    static const char *const flags[] = {"-I", "--include-path="};
    for (const char *at = options; *at;) {
        int n = (int)strcspn(at, " ");
        for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
            int k = (int)strlen(flags[i]);
            if (n > k && !strncmp(at, flags[i], (size_t)k) && on_disk(p, at + k, n - k, name))
                return true;
        }
        at += n;
        at += strspn(at, " ");
    }
    return false;
}

static bool in_program(struct place *p, const char *folder, int n, const char *name)
{
    if (snprintf(p->path, sizeof p->path, "%.*s%s", n, folder, name) >= PATH_MAX)
        return false;
    return (p->text = kernel_text_find(p->path)) != NULL;
}

static bool place_find(const struct include_set *s, int from, const struct include_line *l,
                       struct place *ret_place)
{
    const struct include_file *f = &s->file[from];
    const char *slash = strrchr(f->path, '/');
    int own = slash ? (int)(slash - f->path) + 1 : 0;
    memset(ret_place, 0, sizeof *ret_place);
    if (f->loaded && l->name[0] == '/')
        return on_disk(ret_place, "", 0, l->name);
    if (!l->angle && (f->loaded ? on_disk(ret_place, f->path, own, l->name)
                                : in_program(ret_place, f->path, own, l->name)))
        return true;
    if (f->loaded && in_folders(ret_place, s->options, l->name))
        return true;
    return !strchr(l->name, '/') && in_program(ret_place, "", 0, l->name);
}

static int place_number(const struct include_set *s, const struct place *p)
{
    for (int i = 0; i < s->count; i++) {
        const struct include_file *f = &s->file[i];
        if (p->text ? f->text == p->text
                    : f->loaded && f->inode == p->st.st_ino && f->device == p->st.st_dev)
            return i;
    }
    return -1;
}

int include_find(const struct include_set *s, int from, const struct include_line *l)
{
    struct place p;
    return place_find(s, from, l, &p) ? place_number(s, &p) : -1;
}

/* --- gathering -------------------------------------------------------------------------------
 */

static enum err place_add(struct include_set *s, const struct place *p, size_t *total,
                          struct errinfo *e)
{
    struct include_file f = {.text = p->text, .device = p->st.st_dev, .inode = p->st.st_ino};
    size_t size = 0;
    void *bytes = NULL;
    if (!p->text)
        TRY(casefile_load_path(p->path, file_limit, &bytes, &size, e));
    f.loaded = bytes;
    f.text = p->text ? p->text : f.loaded;
    f.path = strdup(p->path);
    *total += size;
    struct include_file *grown = realloc(s->file, (size_t)(s->count + 1) * sizeof *grown);
    if (grown)
        s->file = grown;
    if (f.path && grown && s->count <= FILES_MAX && *total <= total_limit) {
        s->file[s->count++] = f;
        return ERR_OK;
    }
    free(f.path);
    free(f.loaded);
    if (!f.path || !grown)
        return err_set(e, ERR_NOMEM, "out of memory");
    return err_set(e, ERR_USAGE, "%.300s includes more than %d headers or %zu MiB",
                   s->file[0].path, FILES_MAX, total_limit >> 20);
}

static enum err headers_add(struct include_set *s, size_t *total, struct errinfo *e)
{
    struct include_line l;
    struct place p;
    for (int i = 0; i < s->count; i++) {
        struct include_scan scan = {.at = s->file[i].text};
        while (include_next(&scan, &l))
            if (l.kind == INCLUDE_HEADER && place_find(s, i, &l, &p) && place_number(s, &p) < 0)
                TRY(place_add(s, &p, total, e));
    }
    return ERR_OK;
}

static enum err set_gather(struct include_set *s, const struct place *first,
                           struct include_set *ret_set, struct errinfo *e)
{
    size_t total = 0;
    enum err err = place_add(s, first, &total, e);
    if (!err)
        err = headers_add(s, &total, e);
    if (err)
        include_release(s);
    else
        *ret_set = *s;
    return err;
}

enum err include_inside(const char *path, struct include_set *ret_set, struct errinfo *e)
{
    struct include_set s = {0};
    struct place p = {.text = NULL};
    if (!in_program(&p, "", 0, path))
        return err_set(e, ERR_MISSING, "the kernel file %s is not in this program", path);
    return set_gather(&s, &p, ret_set, e);
}

enum err include_disk(const char *path, const char *options, struct include_set *ret_set,
                      struct errinfo *e)
{
    struct include_set s = {.options = options};
    struct place p = {.text = NULL};
    on_disk(&p, "", 0, path); /* if it cannot be read, reading it says why */
    return set_gather(&s, &p, ret_set, e);
}

/* --- uses ------------------------------------------------------------------------------------
 */

int include_headers(const struct include_set *s,
                    struct source_file ret_header[BUILD_HEADERS_MAX])
{
    int n = 0;
    for (int i = 1; i < s->count && n < BUILD_HEADERS_MAX; i++) {
        const struct include_file *f = &s->file[i];
        const char *slash = strrchr(f->path, '/');
        if (!f->loaded)
            ret_header[n++] = (struct source_file){slash ? slash + 1 : f->path, f->text};
    }
    return n;
}

enum err include_digest(const struct include_set *s, char *ret_hex, struct errinfo *e)
{
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return err_set(e, ERR_NOMEM, "out of memory");
    XXH3_128bits_reset(state);
    /* With the final zeros, so that no text can move from one to the other unnoticed. */
    for (int i = 0; i < s->count; i++)
        XXH3_128bits_update(state, s->file[i].text, strlen(s->file[i].text) + 1);
    XXH128_hash_t h = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    snprintf(ret_hex, 33, "%016llx%016llx", (unsigned long long)h.high64,
             (unsigned long long)h.low64);
    return ERR_OK;
}
