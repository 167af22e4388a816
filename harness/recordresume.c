/* SPDX-License-Identifier: Apache-2.0 */
#include "recordresume.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guard.h"
#include "recordcatalog.h"

static const char *env_value(const struct record_run *r, const char *name)
{
    for (int i = 0; i < r->n_env; i++)
        if (!strcmp(r->env[i].name, name))
            return r->env[i].value;
    return "(not set)";
}

static enum err compare_env(const struct record_run *before, const struct record_run *now,
                            const struct record_run *names, struct errinfo *e)
{
    for (int i = 0; i < names->n_env; i++) {
        const char *name = names->env[i].name;
        if (strcmp(env_value(before, name), env_value(now, name)) != 0)
            return err_set(e, ERR_USAGE,
                           "cannot resume: the variable %s was '%s', now it is '%s'", name,
                           env_value(before, name), env_value(now, name));
    }
    return ERR_OK;
}

enum err resume_compare(const struct record_run *before, const struct record_run *now,
                        struct errinfo *e)
{
    char a[256], b[256];
    for (const struct record_field *f = record_run_fields; f->name; f++) {
        record_field_print(f, before, a, sizeof a);
        record_field_print(f, now, b, sizeof b);
        if (f->fixed && strcmp(a, b) != 0)
            return err_set(e, ERR_USAGE, "cannot resume: %s was '%s', now it is '%s'", f->name,
                           a, b);
    }
    TRY(compare_env(before, now, before, e));
    return compare_env(before, now, now, e);
}

/* --- the finished record --- */

static enum err take_base_case(struct folder *f, const struct catalog *c, int run, int64_t i,
                               struct errinfo *e)
{
    const struct catalog_case *k = catalog_case_at(c, catalog_run_at(c, run)->first_case + i);
    struct folder_case taken = {.run = run,
                                .ordinal = i,
                                .hash = folder_hash(k->head.id),
                                .id = strdup(k->head.id),
                                .index = i,
                                .base_run = run};
    folder_origin(&k->head, taken.origin);
    return folder_add(f, &taken, e);
}

static enum err take_base(struct folder *f, struct errinfo *e)
{
    struct catalog c = {0};
    enum err err = ERR_OK;
    if (f->base_fd < 0)
        return ERR_OK;
    err = catalog_read(f->base_fd, f->path, &c, e);
    if (err)
        return err_context(e, err, "cannot add to a damaged record; delete it to start afresh");
    f->n_run = (int)catalog_run_count(&c);
    for (int r = 0; r < f->n_run && !err; r++) {
        const struct catalog_run *run = catalog_run_at(&c, r);
        f->run[r] = (struct folder_run){.head = run->head, .number = r, .leftover = true};
        for (int64_t i = 0; i < run->n_case && !err; i++)
            err = take_base_case(f, &c, r, i, e);
    }
    catalog_release(&c);
    return err;
}

/* --- the files --- */

struct leftover {
    int number;
    int64_t ordinal;
    char name[96];
    uint64_t size;
    bool fine; /* what the child found */
    char id[512], origin[33];
    int run; /* index into leftovers.runs */
};

struct leftovers {
    int folder_fd;
    struct bytes list; /* of struct leftover */
    struct bytes runs; /* of struct record_run */
};

static struct leftover *leftover_at(const struct leftovers *l, int64_t i)
{
    return (struct leftover *)l->list.data + i;
}

static int64_t leftover_count(const struct leftovers *l)
{
    return (int64_t)(l->list.size / sizeof(struct leftover));
}

static int compare_leftovers(const void *a, const void *b)
{
    const struct leftover *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    if (x->ordinal != y->ordinal)
        return x->ordinal < y->ordinal ? -1 : 1;
    return strcmp(x->name, y->name);
}

static enum err list_add(struct leftovers *l, const char *name, struct errinfo *e)
{
    struct leftover left = {0};
    struct stat s;
    if (strlen(name) >= sizeof left.name ||
        sscanf(name, "%d-%" SCNd64 "-", &left.number, &left.ordinal) != 2)
        return ERR_OK;
    snprintf(left.name, sizeof left.name, "%s", name);
    if (fstatat(l->folder_fd, name, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(s.st_mode))
        left.size = (uint64_t)s.st_size;
    return bytes_append(&l->list, &left, sizeof left, e);
}

static enum err list_files(struct leftovers *l, const char *folder, struct errinfo *e)
{
    enum err err = ERR_OK;
    DIR *d = opendir(folder);
    if (!d)
        return err_set(e, ERR_IO, "cannot read %s: %s", folder, strerror(errno));
    for (struct dirent *entry; !err && (entry = readdir(d));)
        err = list_add(l, entry->d_name, e);
    closedir(d);
    if (!err && l->list.size)
        qsort(l->list.data, (size_t)leftover_count(l), sizeof(struct leftover),
              compare_leftovers);
    return err;
}

/* What the child says of each file; the run follows when it is not the last one said. */
struct verdict_of_file {
    bool fine, new_run;
    char id[512], origin[33];
};

static enum err read_whole(int fd, struct catalog *c, struct errinfo *e)
{
    TRY(catalog_walk(fd, "", c, e));
    if (catalog_run_count(c) != 1 || catalog_case_count(c) != 1)
        return err_set(e, ERR_FORMAT, "not one case");
    return catalog_verify(fd, c, e);
}

struct batch {
    const struct leftovers *l;
    int64_t first, count;
};

static enum err check_file(const struct batch *b, int64_t i, struct record_run *last,
                           struct bytes *out, struct errinfo *e)
{
    struct catalog c = {0};
    struct verdict_of_file v = {0};
    int fd = openat(b->l->folder_fd, leftover_at(b->l, i)->name,
                    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    v.fine = fd >= 0 && !read_whole(fd, &c, NULL);
    if (v.fine) {
        memcpy(v.id, catalog_case_at(&c, 0)->head.id, sizeof v.id);
        folder_origin(&catalog_case_at(&c, 0)->head, v.origin);
        v.new_run = memcmp(last, &catalog_run_at(&c, 0)->head, sizeof *last) != 0;
    }
    enum err err = bytes_append(out, &v, sizeof v, e);
    if (!err && v.new_run) {
        *last = catalog_run_at(&c, 0)->head;
        err = bytes_append(out, last, sizeof *last, e);
    }
    catalog_release(&c);
    if (fd >= 0)
        close(fd);
    return err;
}

static enum err check_in_child(void *context, struct bytes *out, struct errinfo *e)
{
    const struct batch *b = context;
    struct record_run *last = calloc(1, sizeof *last);
    enum err err = last ? ERR_OK : err_set(e, ERR_NOMEM, "out of memory");
    for (int64_t i = b->first; i < b->first + b->count && !err; i++)
        err = check_file(b, i, last, out, e);
    free(last);
    return err;
}

static bool take_bytes(const struct bytes *from, size_t *at, void *to, size_t size)
{
    if (from->size - *at < size)
        return false;
    memcpy(to, (const char *)from->data + *at, size);
    *at += size;
    return true;
}

static enum err take_verdicts(struct leftovers *l, const struct batch *b,
                              const struct bytes *answer, struct errinfo *e)
{
    size_t at = 0;
    struct record_run run;
    struct verdict_of_file v;
    for (int64_t i = b->first; i < b->first + b->count; i++) {
        if (!take_bytes(answer, &at, &v, sizeof v))
            return err_set(e, ERR_IO, "a child process answered with too little");
        if (v.new_run && !take_bytes(answer, &at, &run, sizeof run))
            return err_set(e, ERR_IO, "a child process answered with too little");
        if (v.new_run)
            TRY(bytes_append(&l->runs, &run, sizeof run, e));
        struct leftover *left = leftover_at(l, i);
        left->fine = v.fine && memchr(v.id, 0, sizeof v.id) &&
                     memchr(v.origin, 0, sizeof v.origin);
        left->run = (int)(l->runs.size / sizeof run) - 1;
        memcpy(left->id, v.id, sizeof left->id);
        memcpy(left->origin, v.origin, sizeof left->origin);
    }
    return ERR_OK;
}

static enum err check_files(struct leftovers *l, int64_t first, int64_t count,
                            struct errinfo *e);

static enum err check_halves(struct leftovers *l, int64_t first, int64_t count,
                             struct errinfo *e)
{
    TRY(check_files(l, first, count / 2, e));
    return check_files(l, first + count / 2, count - count / 2, e);
}

/* All files in one child; where that crashes, each half in one of its own. */
static enum err check_files(struct leftovers *l, int64_t first, int64_t count,
                            struct errinfo *e)
{
    if (count == 0)
        return ERR_OK;
    uint64_t total = 0;
    for (int64_t i = first; i < first + count; i++)
        total += leftover_at(l, i)->size;
    struct batch b = {l, first, count};
    struct guard g = {.what = "the HDF5 library",
                      .crash = ERR_FORMAT,
                      .seconds = (unsigned)(60 + count / 16 + (int64_t)(total >> 24)),
                      .memory = ((size_t)1 << 30) + 16 * (size_t)total};
    struct bytes answer = {0};
    enum err err = guard_run(&g, check_in_child, &b, &answer, e);
    if (!err)
        err = take_verdicts(l, &b, &answer, e);
    else if (err == ERR_FORMAT && count > 1)
        err = check_halves(l, first, count, e);
    else if (err == ERR_FORMAT)
        err = ERR_OK; /* it stays "not fine" */
    bytes_release(&answer);
    return err;
}

static int find_number(const struct folder *f, int number)
{
    int r = 0;
    while (r < f->n_run && f->run[r].number != number)
        r++;
    return r;
}

static enum err take_file(struct folder *f, const struct leftovers *l,
                          const struct leftover *left, struct errinfo *e)
{
    const struct record_run *run = (const struct record_run *)l->runs.data + left->run;
    int r = find_number(f, left->number);
    bool known = r < f->n_run;
    if (!left->fine || r == RECORD_RUN_MAX ||
        (known && resume_compare(&f->run[r].head, run, NULL))) {
        unlinkat(f->folder_fd, left->name, 0);
        return ERR_OK;
    }
    if (!known)
        f->run[f->n_run++] =
            (struct folder_run){.head = *run, .number = left->number, .leftover = true};
    struct folder_case taken = {.run = r,
                                .ordinal = left->ordinal,
                                .hash = folder_hash(left->id),
                                .id = strdup(left->id),
                                .file = strdup(left->name)};
    memcpy(taken.origin, left->origin, sizeof taken.origin);
    if (!taken.file) {
        free(taken.id);
        return err_set(e, ERR_NOMEM, "out of memory");
    }
    return folder_add(f, &taken, e);
}

enum err resume_load(struct folder *f, struct errinfo *e)
{
    struct leftovers l = {.folder_fd = f->folder_fd};
    TRY(take_base(f, e));
    enum err err = list_files(&l, f->folder, e);
    if (!err)
        err = check_files(&l, 0, leftover_count(&l), e);
    for (int64_t i = 0; i < leftover_count(&l) && !err; i++)
        err = take_file(f, &l, leftover_at(&l, i), e);
    bytes_release(&l.list);
    bytes_release(&l.runs);
    return err;
}
