/* SPDX-License-Identifier: Apache-2.0 */
#include "merge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"
#include "config.h"
#include "recordhandle.h"

struct shard {
    const char *path;
    struct record *record; /* owned */
    int place, total;      /* 2/5 */
    const char *split;     /* how parts were balanced, ":1f3a9c04"; "" if in turn */
};

struct merge {
    int n;
    struct shard *shard; /* owned; by place once check_places is through */
};

/* --- opening --- */

static enum err read_place(struct shard *s, struct errinfo *e)
{
    const char *text = record_run_at(s->record, 0)->shard;
    int used = 0;
    bool good = sscanf(text, "%d/%d%n", &s->place, &s->total, &used) == 2 && s->place >= 1 &&
                s->total >= s->place;
    s->split = text + used;
    if (!good || (*s->split && *s->split != ':'))
        return err_set(e, ERR_FORMAT, "%s: its shard is '%s', not I/N", s->path, text);
    if (s->total == 1)
        return err_set(
            e, ERR_USAGE,
            "%s is a whole record (shard 1/1): merge wants the parts that run --shard "
            "I/N writes",
            s->path);
    for (int r = 1; r < record_run_count(s->record); r++)
        if (strcmp(record_run_at(s->record, r)->shard, text) != 0)
            return err_set(e, ERR_USAGE, "%s: its runs are of different shards, %s and %s",
                           s->path, text, record_run_at(s->record, r)->shard);
    return ERR_OK;
}

static enum err open_shard(struct shard *s, const char *path, struct errinfo *e)
{
    s->path = path;
    TRY(record_open(path, &s->record, e));
    const char *version = s->record->catalog.version;
    if (strcmp(version, GPUPARITY_VERSION) != 0)
        return err_set(e, ERR_USAGE,
                       "%s was made by gpuparity %s, this is %s: merge it with that version",
                       path, version, GPUPARITY_VERSION);
    if (record_run_count(s->record) == 0)
        return err_set(e, ERR_USAGE, "%s holds no run: it is no shard", path);
    return read_place(s, e);
}

static void merge_release(struct merge *m)
{
    for (int k = 0; k < m->n; k++)
        record_close(m->shard[k].record);
    free(m->shard);
}

/* --- do they belong together? --- */

static int compare_places(const void *a, const void *b)
{
    const struct shard *x = a, *y = b;
    return (x->place > y->place) - (x->place < y->place);
}

/* Leaves the shards sorted. */
static enum err check_places(struct merge *m, struct errinfo *e)
{
    struct shard *s = m->shard;
    for (int k = 1; k < m->n; k++)
        if (s[k].total != s[0].total)
            return err_set(
                e, ERR_USAGE,
                "%s is shard %d/%d, %s is %d/%d: they are not parts of one selection",
                s[0].path, s[0].place, s[0].total, s[k].path, s[k].place, s[k].total);
    for (int k = 1; k < m->n; k++)
        if (strcmp(s[k].split, s[0].split) != 0)
            return err_set(e, ERR_USAGE,
                           "%s and %s are parts of different splits (%s and %s): run all with "
                           "the same cases and --times",
                           s[0].path, s[k].path, *s[0].split ? s[0].split + 1 : "in turn",
                           *s[k].split ? s[k].split + 1 : "in turn");
    qsort(s, (size_t)m->n, sizeof *s, compare_places);
    for (int k = 1; k < m->n; k++)
        if (s[k].place == s[k - 1].place)
            return err_set(e, ERR_USAGE, "%s and %s are both shard %d/%d: leave one out",
                           s[k - 1].path, s[k].path, s[k].place, s[k].total);
    int first = 0;
    while (first < m->n && s[first].place == first + 1)
        first++;
    if (first < s[0].total)
        return err_set(e, ERR_USAGE,
                       "shard %d/%d is missing, %d of %d are here: merge wants all of them",
                       first + 1, s[0].total, m->n, s[0].total);
    return ERR_OK;
}

/* Index of the run on this device, or -1. */
static int find_run(const struct record *r, const char *device)
{
    for (int i = 0; i < record_run_count(r); i++)
        if (!strcmp(record_run_at(r, i)->device, device))
            return i;
    return -1;
}

static enum err check_devices(const struct merge *m, const struct shard *s, struct errinfo *e)
{
    const struct shard *first = &m->shard[0];
    for (int i = 0; i < record_run_count(s->record); i++) {
        const char *device = record_run_at(s->record, i)->device;
        if (find_run(s->record, device) != i)
            return err_set(e, ERR_USAGE, "%s has two runs on %s: which is the shard?", s->path,
                           device);
        if (find_run(first->record, device) < 0)
            return err_set(e, ERR_USAGE, "%s has a run on %s, %s has none", s->path, device,
                           first->path);
    }
    for (int i = 0; i < record_run_count(first->record); i++) {
        const char *device = record_run_at(first->record, i)->device;
        if (find_run(s->record, device) < 0)
            return err_set(e, ERR_USAGE, "%s has a run on %s, %s has none", first->path, device,
                           s->path);
    }
    return ERR_OK;
}

static const char *env_value(const struct record_run *r, const char *name)
{
    for (int i = 0; i < r->n_env; i++)
        if (!strcmp(r->env[i].name, name))
            return r->env[i].value;
    return "(not set)";
}

static enum err check_env(const struct shard *a, const struct record_run *x,
                          const struct shard *b, const struct record_run *y, struct errinfo *e)
{
    for (int i = 0; i < x->n_env; i++) {
        const char *name = x->env[i].name, *other = env_value(y, name);
        if (strcmp(x->env[i].value, other) != 0)
            return err_set(e, ERR_USAGE,
                           "%s and %s ran %s with different environments: %s is '%s' and '%s'",
                           a->path, b->path, x->device, name, x->env[i].value, other);
    }
    return ERR_OK;
}

static enum err check_run(const struct shard *a, const struct record_run *x,
                          const struct shard *b, const struct record_run *y, struct errinfo *e)
{
    char left[256], right[256];
    for (const struct record_field *f = record_run_fields; f->name; f++) {
        if (!f->fixed || f->offset == offsetof(struct record_run, shard))
            continue;
        record_field_print(f, x, left, sizeof left);
        record_field_print(f, y, right, sizeof right);
        if (strcmp(left, right) != 0)
            return err_set(e, ERR_USAGE,
                           "%s and %s ran on different devices: %s is '%s' and '%s'", a->path,
                           b->path, f->name, left, right);
    }
    TRY(check_env(a, x, b, y, e));
    return check_env(b, y, a, x, e);
}

/* Part I of N has every N-th case from the I-th on; of balanced parts the split says enough. */
static enum err check_size(const struct merge *m, const struct shard *s, const char *device,
                           struct errinfo *e)
{
    const struct shard *first = &m->shard[0], *last = &m->shard[m->n - 1];
    int64_t most = record_case_count(first->record, find_run(first->record, device)),
            least = record_case_count(last->record, find_run(last->record, device)),
            here = record_case_count(s->record, find_run(s->record, device)), before = most;
    if (*s->split)
        return ERR_OK;
    if (s != first)
        before = record_case_count(s[-1].record, find_run(s[-1].record, device));
    if (here > before || most - least > 1)
        return err_set(e, ERR_USAGE,
                       "%s: %" PRId64 " cases on %s, but %" PRId64 " in %s: they are not parts "
                       "of one selection",
                       here > before ? s->path : last->path, here > before ? here : least,
                       device, here > before ? before : most,
                       here > before ? s[-1].path : first->path);
    return ERR_OK;
}

static enum err check_runs(const struct merge *m, struct errinfo *e)
{
    const struct shard *first = &m->shard[0];
    for (int k = 0; k < m->n; k++)
        TRY(check_devices(m, &m->shard[k], e));
    for (int r = 0; r < record_run_count(first->record); r++) {
        const struct record_run *x = record_run_at(first->record, r);
        for (int k = 0; k < m->n; k++) {
            const struct shard *s = &m->shard[k];
            TRY(check_run(first, x, s, record_run_at(s->record, find_run(s->record, x->device)),
                          e));
            TRY(check_size(m, s, x->device, e));
        }
    }
    return ERR_OK;
}

/* --- and their cases? --- */

struct kernel {
    char name[64], digest[33];
    const char *path; /* who said so first */
};

static enum err check_source(struct bytes *kernels, const struct shard *s,
                             const struct record_case *c, struct errinfo *e)
{
    struct kernel k = {.path = s->path}, *known = kernels->data;
    size_t count = kernels->size / sizeof k;
    snprintf(k.name, sizeof k.name, "%.*s", (int)strcspn(c->id, ":"), c->id);
    memcpy(k.digest, c->source_digest, sizeof k.digest);
    if (!k.digest[0])
        return ERR_OK;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(known[i].name, k.name) != 0)
            continue;
        if (!strcmp(known[i].digest, k.digest))
            return ERR_OK;
        return err_set(e, ERR_USAGE, "%s and %s ran different sources of %s", known[i].path,
                       s->path, k.name);
    }
    return bytes_append(kernels, &k, sizeof k, e);
}

static enum err check_case(const struct merge *m, struct bytes *kernels, int k, int run,
                           int64_t i, struct errinfo *e)
{
    const struct shard *s = &m->shard[k];
    const char *device = record_run_at(s->record, run)->device;
    struct record_case c;
    TRY(record_read_case(s->record, run, i, &c, e));
    for (int j = 0; j < k; j++) {
        struct record *other = m->shard[j].record;
        if (record_find_case(other, find_run(other, device), c.id) >= 0)
            return err_set(e, ERR_USAGE, "%s and %s both have %.200s on %s", m->shard[j].path,
                           s->path, c.id, device);
    }
    return check_source(kernels, s, &c, e);
}

static enum err check_cases(const struct merge *m, struct errinfo *e)
{
    struct bytes kernels = {0}; /* of struct kernel */
    enum err err = ERR_OK;
    for (int k = 0; k < m->n && !err; k++) {
        struct record *r = m->shard[k].record;
        for (int run = 0; run < record_run_count(r) && !err; run++)
            for (int64_t i = 0; i < record_case_count(r, run) && !err; i++)
                err = check_case(m, &kernels, k, run, i, e);
    }
    bytes_release(&kernels);
    return err;
}

/* --- writing --- */

static bool list_has(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at++)
        if ((at == list || at[-1] == ' ') && (at[n] == ',' || !at[n]))
            return true;
    return false;
}

static void add_host(struct record_run *run, const char *host)
{
    size_t used = strlen(run->host);
    if (*host && !list_has(run->host, host))
        snprintf(run->host + used, sizeof run->host - used, "%s%s", used ? ", " : "", host);
}

static void head_make(const struct merge *m, int run, struct record_run *ret_run)
{
    *ret_run = *record_run_at(m->shard[0].record, run);
    for (int k = 1; k < m->n; k++) {
        struct record *r = m->shard[k].record;
        const struct record_run *x = record_run_at(r, find_run(r, ret_run->device));
        add_host(ret_run, x->host);
        if (strcmp(x->created, ret_run->created) < 0)
            memcpy(ret_run->created, x->created, sizeof x->created);
    }
    snprintf(ret_run->shard, sizeof ret_run->shard, "1/1");
}

/* Parts in turn are put together as they were; balanced ones follow one another. */
static int64_t ordinal_of(const struct shard *s, int64_t i)
{
    return *s->split ? (int64_t)s->place * 1000000000 + i : i * s->total + s->place - 1;
}

static enum err copy_case(const struct shard *s, int from, int64_t i, struct record *to,
                          int run, struct errinfo *e)
{
    struct record_case c;
    struct record_out out[RECORD_OUT_MAX];
    void *bytes = NULL;
    char *log = NULL;
    int n_out = 0;
    size_t size = 0;
    TRY(record_read_case(s->record, from, i, &c, e));
    TRY(record_read_outs(s->record, from, i, &n_out, out, e));
    enum err err = record_read_code(s->record, from, i, &bytes, &size, &log, e);
    if (!err) {
        struct record_code code = {bytes, size, log};
        err = record_put_case(to, run, ordinal_of(s, i), &c, n_out, out, &code, e);
    }
    for (int k = 0; k < n_out; k++)
        tensor_release(&out[k].tensor);
    free(bytes);
    free(log);
    return err;
}

static enum err copy_run(const struct merge *m, int first_run, struct record *to,
                         int64_t *ret_cases, struct errinfo *e)
{
    struct record_run head;
    int run = 0;
    head_make(m, first_run, &head);
    TRY(record_add_run(to, &head, &run, e));
    for (int k = 0; k < m->n; k++) {
        const struct shard *s = &m->shard[k];
        int from = find_run(s->record, head.device);
        int64_t count = record_case_count(s->record, from);
        for (int64_t i = 0; i < count; i++)
            TRY(copy_case(s, from, i, to, run, e));
        *ret_cases += count;
    }
    return ERR_OK;
}

static enum err write_whole(const struct merge *m, const char *output, bool replace,
                            int64_t *ret_cases, struct errinfo *e)
{
    struct record *to = NULL;
    int64_t cases = 0;
    if (!replace && !access(output, F_OK))
        return err_set(e, ERR_USAGE, "%s exists; choose another path or --replace it", output);
    TRY(record_create(output, false, replace, &to, e));
    enum err err = ERR_OK;
    for (int r = 0; r < record_run_count(m->shard[0].record) && !err; r++)
        err = copy_run(m, r, to, &cases, e);
    if (!err)
        err = record_finish(to, e);
    record_close(to);
    if (!err)
        *ret_cases = cases;
    return err;
}

enum err merge_records(int n, const char *const *path, const char *output, bool replace,
                       int64_t *ret_cases, struct errinfo *e)
{
    struct merge m = {0};
    if (n < 1)
        return err_set(e, ERR_USAGE, "no records to merge");
    m.shard = calloc((size_t)n, sizeof *m.shard);
    if (!m.shard)
        return err_set(e, ERR_NOMEM, "out of memory");
    enum err err = ERR_OK;
    while (m.n < n && !err) {
        err = open_shard(&m.shard[m.n], path[m.n], e);
        m.n++;
    }
    if (!err)
        err = check_places(&m, e);
    if (!err)
        err = check_runs(&m, e);
    if (!err)
        err = check_cases(&m, e);
    if (!err)
        err = write_whole(&m, output, replace, ret_cases, e);
    merge_release(&m);
    return err;
}
