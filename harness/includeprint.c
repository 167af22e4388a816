/* SPDX-License-Identifier: Apache-2.0 */
#include "includeprint.h"

#include <stdlib.h>
#include <string.h>

struct header {
    bool once, guarded, open, done;
};

struct print {
    FILE *out;
    const struct include_set *set;
    struct header *header; /* owned, by number in the set */
    size_t size;
};

static const size_t size_limit = (size_t)16 << 20;

/* A guard is the text's first directive, an #ifndef. */
static void header_describe(const char *text, struct header *ret_header)
{
    struct include_scan scan = {.at = text};
    struct include_line l;
    bool first = true;
    while (include_next(&scan, &l)) {
        ret_header->once |= l.kind == INCLUDE_ONCE;
        if (l.name[0] && first)
            ret_header->guarded = !strcmp(l.name, "ifndef");
        first &= !l.name[0];
    }
}

static enum err text_print(struct print *p, int number, int depth, struct errinfo *e);

static void line_print(struct print *p, const char *begin, const char *end)
{
    fwrite(begin, 1, (size_t)(end - begin), p->out);
    p->size += (size_t)(end - begin);
}

/* A header in its place. Under `depth` conditions it may not be there for others. */
static enum err header_print(struct print *p, int number, int depth, struct errinfo *e)
{
    struct header *h = &p->header[number];
    const struct include_file *f = &p->set->file[number];
    const char *slash = strrchr(f->path, '/'), *name = slash ? slash + 1 : f->path;
    if (h->done || h->open)
        return ERR_OK;
    if (p->size > size_limit)
        return err_set(e, ERR_USAGE, "%.300s with its headers is longer than %zu MiB",
                       p->set->file[0].path, size_limit >> 20);
    p->size += 256; /* headers that only include take time, too */
    fprintf(p->out, "\n/* ===== %s ===== */\n", name);
    if (h->once)
        fprintf(p->out, "#ifndef GPUPARITY_ONCE_%d\n#define GPUPARITY_ONCE_%d\n", number, number);
    TRY(text_print(p, number, depth, e));
    fprintf(p->out, "%s\n/* ===== after %s ===== */\n", h->once ? "#endif\n" : "", name);
    h->done = depth <= 0 && (h->once || h->guarded);
    return ERR_OK;
}

/* A text that is met while it is being written ends itself by its guard: nothing more comes. */
static enum err text_print(struct print *p, int number, int depth, struct errinfo *e)
{
    struct include_scan scan = {.at = p->set->file[number].text};
    struct include_line l;
    struct header *h = &p->header[number];
    h->open = true;
    depth -= h->guarded && number;
    while (include_next(&scan, &l)) {
        depth += (l.kind == INCLUDE_OPEN) - (l.kind == INCLUDE_CLOSE);
        int header = l.kind == INCLUDE_HEADER ? include_find(p->set, number, &l) : -1;
        if (header >= 0)
            TRY(header_print(p, header, depth, e));
        else if (l.kind != INCLUDE_ONCE)
            line_print(p, l.begin, l.end);
    }
    h->open = false;
    return ERR_OK;
}

enum err include_print(FILE *out, const struct include_set *s, struct errinfo *e)
{
    struct print p = {.out = out, .set = s, .header = calloc((size_t)s->count, sizeof *p.header)};
    if (!p.header)
        return err_set(e, ERR_NOMEM, "out of memory");
    for (int i = 0; i < s->count; i++)
        header_describe(s->file[i].text, &p.header[i]);
    enum err err = text_print(&p, 0, 0, e);
    free(p.header);
    return err;
}
