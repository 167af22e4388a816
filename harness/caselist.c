/* SPDX-License-Identifier: Apache-2.0 */
#include "caseid.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "casefile.h"
#include "text.h"

enum { EXPANSION_MAX = 1 << 14, TAG_MAX = 32 };

void caselist_release(struct caselist *l)
{
    if (l->files)
        casefiles_release(l->files);
    free(l->files);
    free(l->id);
    memset(l, 0, sizeof *l);
}

/* A list under construction, with a hash table over it: `slot` holds index + 1, 0 is free. */
struct builder {
    struct caselist list;
    int64_t *slot; /* owned */
    size_t slots;  /* a power of two, at least twice list.count; or 0 */
};

static size_t builder_slot(const struct builder *b, const struct case_id *id)
{
    size_t at = XXH3_64bits(id, sizeof *id) & (b->slots - 1);
    while (b->slot[at] && memcmp(&b->list.id[b->slot[at] - 1], id, sizeof *id))
        at = (at + 1) & (b->slots - 1);
    return at;
}

static enum err builder_grow(struct builder *b, struct errinfo *e)
{
    struct caselist *l = &b->list;
    int64_t room = l->room ? 2 * l->room : 64;
    struct case_id *id = realloc(l->id, (size_t)room * sizeof *id);
    if (id)
        l->id = id;
    int64_t *slot = calloc((size_t)room * 2, sizeof *slot);
    if (!id || !slot) {
        free(slot);
        return err_set(e, ERR_NOMEM, "no memory for %lld cases", (long long)room);
    }
    free(b->slot);
    b->slot = slot;
    b->slots = (size_t)room * 2;
    l->room = room;
    for (int64_t i = 0; i < l->count; i++)
        b->slot[builder_slot(b, &l->id[i])] = i + 1;
    return ERR_OK;
}

static enum err builder_add(struct builder *b, const struct case_id *id, struct errinfo *e)
{
    struct caselist *l = &b->list;
    if (l->count == l->room)
        TRY(builder_grow(b, e));
    size_t at = builder_slot(b, id);
    if (b->slot[at])
        return ERR_OK;
    memcpy(&l->id[l->count++], id, sizeof *id);
    b->slot[at] = l->count;
    return ERR_OK;
}

/* --- {a|b|c} ---------------------------------------------------------------------------------
 */

struct expansion {
    enum err (*each)(void *context, const char *text, struct errinfo *e);
    void *context;
    int left; /* how many more texts may come */
};

/* The end of the alternative that starts at `at`: its '|' or '}', groups within it skipped; or
 * NULL. */
static const char *alternative_end(const char *at)
{
    for (int depth = 0; *at; at++) {
        if (!depth && (*at == '|' || *at == '}'))
            return at;
        depth += (*at == '{') - (*at == '}');
    }
    return NULL;
}

/* The '}' that belongs to the '{' before `at`, or NULL. */
static const char *group_end(const char *at)
{
    const char *end = alternative_end(at);
    while (end && *end == '|')
        end = alternative_end(end + 1);
    return end;
}

static enum err expand(struct expansion *x, const char *text, struct errinfo *e)
{
    const char *open = strchr(text, '{'), *stray = strchr(text, '}');
    const char *close = open ? group_end(open + 1) : stray;
    if (!open && !close)
        return x->left-- > 0 ? x->each(x->context, text, e)
                             : err_set(e, ERR_USAGE, "more than %d cases", EXPANSION_MAX);
    if (!open || !close || stray < open || strlen(text) >= CASEID_TEXT_MAX)
        return err_set(e, ERR_USAGE, "'%.80s': '{' and '}' do not pair up, or it is too long",
                       text);
    for (const char *at = open + 1; at <= close; at++) {
        char one[CASEID_TEXT_MAX];
        const char *end = alternative_end(at);
        snprintf(one, sizeof one, "%.*s%.*s%s", (int)(open - text), text, (int)(end - at), at,
                 close + 1);
        TRY(expand(x, one, e));
        at = end;
    }
    return ERR_OK;
}

/* --- tags ------------------------------------------------------------------------------------
 */

/* Is `tag` (n characters) one of the comma-separated words of `list`? */
static bool tags_have(const char *list, const char *tag, size_t n)
{
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, ",");
        if (length == n && !memcmp(at, tag, n))
            return true;
        at += length + (at[length] == ',');
    }
    return false;
}

static bool tags_meet(const char *list, const char *other)
{
    for (const char *at = other; *at;) {
        size_t n = strcspn(at, ",");
        if (tags_have(list, at, n))
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

/* Every tag of every family, once. `ret_names` points into `store`. */
static int tags_collect(char store[TAG_MAX][32], const char *ret_names[TAG_MAX])
{
    int count = 0;
    for (int f = 0; case_families[f]; f++)
        for (const struct suite_row *r = case_families[f]->suites; r->tag; r++)
            for (const char *at = r->tag; *at;) {
                size_t n = strcspn(at, ",");
                bool known = false;
                for (int i = 0; i < count; i++)
                    known |= strlen(store[i]) == n && !memcmp(store[i], at, n);
                if (!known && count < TAG_MAX) {
                    snprintf(store[count], sizeof store[count], "%.*s", (int)n, at);
                    ret_names[count] = store[count];
                    count++;
                }
                at += n + (at[n] == ',');
            }
    return count;
}

static enum err tags_check(const char *tags, struct errinfo *e)
{
    char store[TAG_MAX][32], all[320], tag[32];
    const char *names[TAG_MAX];
    int count = tags_collect(store, names);
    for (const char *at = tags; *at || at == tags;) {
        size_t n = strcspn(at, ",");
        snprintf(tag, sizeof tag, "%.*s", (int)n, at);
        bool known = false;
        for (int i = 0; i < count; i++)
            known |= !strcmp(names[i], tag);
        if (!known) {
            nearest_list(tag, names, count, all, sizeof all);
            return err_set(e, ERR_USAGE, "no suite '%s'; %s", tag, all);
        }
        at += n + (at[n] == ',');
        if (!*at)
            break;
    }
    return ERR_OK;
}

/* --- patterns --------------------------------------------------------------------------------
 */

/* What a row of a suite must be to come in. NULL fields do not restrict. */
struct filter {
    const struct family *family;
    const struct variant *variant;
    const char *glob, *tags;
    char without[8][CASEID_TEXT_MAX];
    int n_without;
};

struct suite_walk {
    struct builder *list;
    const struct filter *filter;
    const struct family *family;
    int64_t seen, taken;
};

static bool filter_takes(const struct filter *f, const struct case_id *id)
{
    char text[CASEID_TEXT_MAX];
    if (id->variant->hidden || (f->variant && f->variant != id->variant))
        return false;
    caseid_print(id, text);
    if (f->glob && fnmatch(f->glob, text, 0))
        return false;
    for (int i = 0; i < f->n_without; i++)
        if (!fnmatch(f->without[i], text, 0))
            return false;
    return true;
}

static enum err row_take(void *context, const char *text, struct errinfo *e)
{
    struct suite_walk *w = context;
    const struct family *f = w->family;
    char whole[2 * CASEID_TEXT_MAX];
    struct case_id id;
    snprintf(whole, sizeof whole, "%s%s%s", f->path ? f->path : f->name, f->path ? "" : "/",
             text);
    enum err code = f->path ? caseid_parse_values(f, whole, whole + strlen(f->path), &id, e)
                            : caseid_parse(whole, &id, e);
    if (code)
        return err_context(e, code, "suite row '%.80s'", whole);
    w->seen++;
    if (!filter_takes(w->filter, &id))
        return ERR_OK;
    w->taken++;
    return builder_add(w->list, &id, e);
}

static enum err suites_take(struct builder *l, const struct filter *f, const char *pattern,
                            struct errinfo *e)
{
    struct suite_walk w = {l, f, NULL, 0, 0};
    const struct family *const one[] = {f->family, NULL};
    const struct family *const *families = f->family ? one : case_families;
    for (int i = 0; families[i]; i++) {
        w.family = families[i];
        for (const struct suite_row *r = w.family->suites; r->tag; r++) {
            struct expansion x = {row_take, &w, EXPANSION_MAX};
            if (tags_meet(r->tag, f->tags))
                TRY(expand(&x, r->id, e));
        }
    }
    if (!w.taken)
        return err_set(
            e, ERR_USAGE,
            "'%.120s' selects none of the %lld cases of suite %.40s; 'gpuparity list' "
            "shows them",
            pattern, (long long)w.seen, f->tags);
    return ERR_OK;
}

/* Splits "positive:-without:-without". */
static enum err pattern_split(const char *pattern, char ret_positive[CASEID_TEXT_MAX],
                              struct filter *f, struct errinfo *e)
{
    if (strlen(pattern) >= CASEID_TEXT_MAX)
        return err_set(e, ERR_USAGE, "a pattern of %zu characters: at most %d are possible",
                       strlen(pattern), CASEID_TEXT_MAX - 1);
    snprintf(ret_positive, CASEID_TEXT_MAX, "%s", pattern);
    char *at = strstr(ret_positive, ":-");
    while (at) {
        *at = 0;
        char *rest = at + 2;
        at = strstr(rest, ":-");
        if (f->n_without == 8)
            return err_set(e, ERR_USAGE, "more than 8 exclusions in '%.80s'", pattern);
        int n = at ? (int)(at - rest) : (int)strlen(rest);
        if (!n)
            return err_set(e, ERR_USAGE, "nothing after ':-' in '%.80s'", pattern);
        snprintf(f->without[f->n_without++], CASEID_TEXT_MAX, "%.*s", n, rest);
    }
    return ERR_OK;
}

static enum err files_of(struct builder *l, struct casefiles **ret_files, struct errinfo *e)
{
    if (!l->list.files)
        l->list.files = calloc(1, sizeof *l->list.files);
    if (!l->list.files)
        return err_set(e, ERR_NOMEM, "out of memory");
    *ret_files = l->list.files;
    return ERR_OK;
}

/* An exact id must also make sense as a whole: its plan says. */
static enum err exact_take(struct builder *l, const char *text, struct errinfo *e)
{
    struct case_id id;
    struct case_plan plan;
    struct casefiles *files = NULL;
    TRY(files_of(l, &files, e));
    TRY(casefiles_parse_id(files, text, &id, e));
    enum err code = id.family->plan(&id, &plan, e);
    if (code)
        return err_context(e, code, "%.200s", text);
    return builder_add(l, &id, e);
}

/* A case file: its suites, an exact id of it, or its suites with exclusions. */
static enum err file_take(struct builder *l, const char *positive, const char *pattern,
                          struct filter *f, struct errinfo *e)
{
    struct casefiles *files = NULL;
    const struct casefile *file;
    size_t n = casefile_path_length(positive);
    if (positive[n] && !f->n_without)
        return exact_take(l, pattern, e);
    if (positive[n])
        return err_set(e, ERR_USAGE, "'%.120s': exclusions go with %.*s alone", pattern, (int)n,
                       positive);
    TRY(files_of(l, &files, e));
    TRY(casefiles_get(files, positive, n, &file, e));
    f->family = &file->family;
    return suites_take(l, f, pattern, e);
}

struct selection {
    struct builder *list;
    const char *tags;
};

static enum err pattern_take(void *context, const char *pattern, struct errinfo *e)
{
    struct selection *s = context;
    struct filter f = {.tags = s->tags};
    char positive[CASEID_TEXT_MAX];
    TRY(pattern_split(pattern, positive, &f, e));

    if (casefile_path_length(positive))
        return file_take(s->list, positive, pattern, &f, e);
    if (strstr(positive, ".case.yaml"))
        return err_set(e, ERR_USAGE,
                       "'%.120s': behind the path of a case file comes ':' and its parameters",
                       positive);
    if (text_ends(positive, ".yaml") || text_ends(positive, ".yml"))
        return err_set(e, ERR_USAGE, "'%.120s': the name of a case file ends in .case.yaml",
                       positive);
    if (strpbrk(positive, "*?["))
        f.glob = positive;
    else if (*positive || !f.n_without) {
        char *slash = strchr(positive, '/');
        if (slash && strchr(slash, ':') && !f.n_without)
            return exact_take(s->list, pattern, e);

        /* A family or a variant; the parser knows the words for what is wrong with either. */
        struct case_id id;
        f.family = family_find(positive);
        if (!f.family) {
            TRY(caseid_parse(positive, &id, e));
            if (id.variant->hidden)
                return exact_take(s->list, positive, e);
            f.family = id.family;
            f.variant = id.variant;
        }
    }
    return suites_take(s->list, &f, pattern, e);
}

enum err caselist_select(struct caselist *ret_list, int n_pattern, const char *const *pattern,
                         const char *tags, struct errinfo *e)
{
    struct builder b = {0};
    struct selection s = {&b, tags ? tags : "quick"};
    static const char *const all[] = {"*"};
    if (!n_pattern) {
        n_pattern = 1;
        pattern = all;
    }
    enum err code = tags_check(s.tags, e);
    for (int i = 0; i < n_pattern && !code; i++) {
        struct expansion x = {pattern_take, &s, EXPANSION_MAX};
        code = expand(&x, pattern[i], e);
    }
    free(b.slot);
    if (code)
        caselist_release(&b.list);
    else
        *ret_list = b.list;
    return code;
}
