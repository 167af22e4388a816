/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct reporter *const reporters[] = {
#define REPORTER(name) &reporter_##name,
#include "report.def"
#undef REPORTER
    NULL,
};

struct report {
    const struct reporter *reporter;
    const struct report_options *options;
    FILE *out;
    char *path;      /* NULL: stdout */
    char *temporary; /* what is being written instead of path; NULL: path itself */
    void *state;
};

const struct reporter *reporter_find(const char *name)
{
    for (int i = 0; reporters[i]; i++)
        if (!strcmp(reporters[i]->name, name))
            return reporters[i];
    return NULL;
}

const struct reporter *reporter_find_extension(const char *path)
{
    size_t length = strlen(path);
    for (int i = 0; reporters[i]; i++) {
        size_t n = strlen(reporters[i]->extension);
        if (length > n && !strcasecmp(path + length - n, reporters[i]->extension))
            return reporters[i];
    }
    return NULL;
}

static enum err tags_check(const struct report_options *o, struct errinfo *e)
{
    for (int i = 0; i < o->n_tag; i++) {
        const char *equals = strchr(o->tag[i], '=');
        if (!equals || equals == o->tag[i] || equals - o->tag[i] > REPORT_TAG_MAX)
            return err_set(e, ERR_USAGE,
                           "tag '%.80s': write key=value, the key of 1 to %d characters",
                           o->tag[i], REPORT_TAG_MAX);
        size_t key = (size_t)(equals - o->tag[i]) + 1;
        for (int j = 0; j < i; j++)
            if (!strncmp(o->tag[i], o->tag[j], key))
                return err_set(e, ERR_USAGE, "tag '%.*s' is given twice", (int)key - 1,
                               o->tag[i]);
    }
    return ERR_OK;
}

static enum err io_error(const struct report *r, const char *doing, struct errinfo *e)
{
    return err_set(e, ERR_IO, "cannot %s report '%s': %s", doing, r->path ? r->path : "stdout",
                   strerror(errno));
}

/* mkstemp would make a file that only its owner may read; this one obeys the umask. */
static int temporary_create(struct report *r)
{
    for (int i = 0; i < 100; i++) {
        free(r->temporary);
        if (asprintf(&r->temporary, "%s.tmp-%ld-%d", r->path, (long)getpid(), i) < 0) {
            r->temporary = NULL;
            errno = ENOMEM;
            return -1;
        }
        int fd = open(r->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static int file_create(struct report *r)
{
    struct stat st;
    bool there = !stat(r->path, &st);
    if (r->reporter->stream || (there && !S_ISREG(st.st_mode)))
        return open(r->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int fd = temporary_create(r);
    if (fd < 0) {
        free(r->temporary);
        r->temporary = NULL;
    }
    return fd;
}

/* A link is followed, so that the rename replaces the file and not the link. */
static enum err file_open(struct report *r, const char *path, struct errinfo *e)
{
    char *real = realpath(path, NULL);
    r->path = real ? real : strdup(path);
    if (!r->path)
        return err_set(e, ERR_NOMEM, "out of memory");
    int fd = file_create(r);
    if (fd < 0)
        return io_error(r, "create", e);
    r->out = fdopen(fd, "w");
    if (!r->out) {
        close(fd);
        return io_error(r, "create", e);
    }
    return ERR_OK;
}

static enum err report_start(struct report *r, const char *path,
                             const struct finding_sides *sides, struct errinfo *e)
{
    r->state = calloc(1, r->reporter->state_size ? r->reporter->state_size : 1);
    if (!r->state)
        return err_set(e, ERR_NOMEM, "out of memory");
    if (path && strcmp(path, "-"))
        TRY(file_open(r, path, e));
    else
        r->out = stdout;
    TRY(r->reporter->begin(r->state, r->out, r->options, sides, e));
    if (r->reporter->stream && fflush(r->out))
        return io_error(r, "write", e);
    return ERR_OK;
}

enum err report_open(const struct reporter *reporter, const char *path,
                     const struct report_options *o, const struct finding_sides *sides,
                     struct report **ret_report, struct errinfo *e)
{
    TRY(tags_check(o, e));
    struct report *r = calloc(1, sizeof *r);
    if (!r)
        return err_set(e, ERR_NOMEM, "out of memory");
    r->reporter = reporter;
    r->options = o;
    enum err err = report_start(r, path, sides, e);
    if (err) {
        report_close(r);
        return err;
    }
    *ret_report = r;
    return ERR_OK;
}

enum err report_finding(struct report *r, const struct finding *f, struct errinfo *e)
{
    TRY(r->reporter->finding(r->state, r->out, f, e));
    if (r->reporter->stream && fflush(r->out))
        return io_error(r, "write", e);
    if (ferror(r->out))
        return io_error(r, "write", e);
    return ERR_OK;
}

/* To a file also fsync: a full disk may show only there, and rename must not outrun the data.
 */
static enum err report_settle(struct report *r, struct errinfo *e)
{
    if (fflush(r->out) || ferror(r->out))
        return io_error(r, "write", e);
    if (r->out == stdout)
        return ERR_OK;
    if (r->temporary && fsync(fileno(r->out)))
        return io_error(r, "write", e);
    FILE *out = r->out;
    r->out = NULL;
    if (fclose(out))
        return io_error(r, "write", e);
    if (!r->temporary)
        return ERR_OK;
    if (rename(r->temporary, r->path))
        return io_error(r, "rename", e);
    free(r->temporary);
    r->temporary = NULL;
    return ERR_OK;
}

enum err report_finish(struct report *r, const struct finding_tally *t, struct errinfo *e)
{
    if (t->strict != r->options->strict)
        return err_set(e, ERR_USAGE, "report_options.strict and finding_tally.strict differ");
    TRY(r->reporter->end(r->state, r->out, t, e));
    return report_settle(r, e);
}

void report_close(struct report *r)
{
    if (!r)
        return;
    if (r->state && r->reporter->release)
        r->reporter->release(r->state);
    if (r->out && r->out != stdout)
        fclose(r->out);
    if (r->temporary)
        unlink(r->temporary);
    free(r->temporary);
    free(r->path);
    free(r->state);
    free(r);
}
