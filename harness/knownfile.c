/* SPDX-License-Identifier: Apache-2.0 */
#include "known.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bytes.h"
#include "filewrite.h"

static enum err read_all(int fd, const char *path, struct bytes *text, struct errinfo *e)
{
    char part[4096];
    for (;;) {
        ssize_t n = read(fd, part, sizeof part);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(e, ERR_IO, "cannot read %.200s: %s", path, strerror(errno));
        if (!n)
            return ERR_OK;
        if (text->size + (size_t)n > KNOWN_FILE_MAX)
            return err_set(e, ERR_IO, "%.200s is larger than %d bytes", path, KNOWN_FILE_MAX);
        TRY(bytes_append(text, part, (size_t)n, e));
    }
}

/* Never waits, whatever the path is. */
static enum err read_file(const char *path, bool optional, struct bytes *text,
                          struct errinfo *e)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && optional)
        return ERR_OK;
    if (fd < 0)
        return err_set(e, ERR_IO, "cannot open %.200s: %s", path, strerror(errno));
    struct stat s;
    enum err err = ERR_OK;
    if (fstat(fd, &s) || !S_ISREG(s.st_mode))
        err = err_set(e, ERR_IO, "%.200s is no regular file", path);
    if (!err)
        err = read_all(fd, path, text, e);
    close(fd);
    return err;
}

enum err known_load(const char *path, bool optional, const char *today, struct known *ret_known,
                    struct errinfo *e)
{
    struct bytes text = {0};
    enum err err = read_file(path, optional, &text, e);
    if (!err)
        err = known_parse(path, text.data ? text.data : "", text.size, today, ret_known, e);
    bytes_release(&text);
    return err;
}

/* --- writing ---------------------------------------------------------------------------------
 */

static void print_quoted(FILE *out, const char *key, const char *text)
{
    fprintf(out, "  %s: '", key);
    for (; *text; text++)
        fprintf(out, *text == '\'' ? "''" : "%c", *text);
    fprintf(out, "'\n");
}

static void print_element(FILE *out, const struct known_entry *x)
{
    fprintf(out, "  element: '");
    for (int i = 0; i < x->rank; i++)
        fprintf(out, "%s%" PRId64, i ? "," : "", x->coordinate[i]);
    fprintf(out, "'\n  a: 0x%" PRIx64 "\n", x->a);
    if (x->device_b[0])
        fprintf(out, "  b: 0x%" PRIx64 "\n", x->b);
}

static void print_entry(FILE *out, const struct known_entry *x)
{
    fprintf(out, "- case: '%s'\n", x->id);
    print_quoted(out, "output", x->output);
    fprintf(out, "  devices: '%s%s%s'\n", x->device_a, x->device_b[0] ? "," : "", x->device_b);
    if (x->verdict != VERDICT_COUNT_)
        fprintf(out, "  verdict: %s\n", verdict_name(x->verdict));
    if (x->rank)
        print_element(out, x);
    if (x->limit > 0)
        fprintf(out, "  limit: %.6g\n", x->limit);
    if (x->wrong >= 0)
        fprintf(out, "  wrong: %" PRId64 "\n", x->wrong);
    print_quoted(out, "cause", cause_name(x->cause));
    print_quoted(out, "reason", x->reason);
    if (x->issue[0])
        print_quoted(out, "issue", x->issue);
    fprintf(out, "  date: %s\n  expires: %s\n", x->date, x->expires);
}

static enum err check_new(const struct known *k, const struct known_entry *x, struct errinfo *e)
{
    for (int i = 0; i < k->count; i++) {
        const struct known_entry *y = &k->entry[i];
        if (!strcmp(x->id, y->id) && !strcmp(x->output, y->output) &&
            !strcmp(x->device_a, y->device_a) && !strcmp(x->device_b, y->device_b))
            return err_set(e, ERR_USAGE,
                           "%.200s:%d is an entry for this already: remove it first", k->path,
                           y->line);
    }
    return ERR_OK;
}

static enum err extend(struct bytes *text, int count, const struct known_entry *entry,
                       struct errinfo *e)
{
    char *added = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&added, &size);
    if (!out)
        return err_set(e, ERR_NOMEM, "out of memory");
    if (text->size && ((const char *)text->data)[text->size - 1] != '\n')
        fputc('\n', out);
    for (int i = 0; i < count; i++)
        print_entry(out, &entry[i]);
    bool bad = ferror(out);
    bad |= fclose(out) != 0;
    enum err err =
        bad ? err_set(e, ERR_NOMEM, "out of memory") : bytes_append(text, added, size, e);
    free(added);
    return err;
}

/* Adds the entries to the text of the file and reads it back. */
static enum err append_text(const char *path, const char *today, int count,
                            const struct known_entry *entry, struct bytes *text,
                            struct errinfo *e)
{
    struct known before = {0}, after = {0};
    TRY(known_parse(path, text->data ? text->data : "", text->size, today, &before, e));
    enum err err = ERR_OK;
    for (int i = 0; !err && i < count; i++)
        err = check_new(&before, &entry[i], e);
    int expected = before.count + count;
    known_release(&before);
    if (err)
        return err;
    TRY(extend(text, count, entry, e));
    if (known_parse(path, text->data, text->size, today, &after, e))
        return err_context(e, ERR_FORMAT, "an entry cannot be appended here");
    err = after.count == expected
              ? ERR_OK
              : err_set(e, ERR_FORMAT, "%.200s: an entry cannot be appended here", path);
    known_release(&after);
    return err;
}

enum err known_append(const char *path, const char *today, int count,
                      const struct known_entry *entry, struct errinfo *e)
{
    struct bytes text = {0};
    enum err err = read_file(path, true, &text, e);
    if (!err)
        err = append_text(path, today, count, entry, &text, e);
    if (!err)
        err = text.size <= KNOWN_FILE_MAX
                  ? filewrite_replace(path, text.data, text.size, e)
                  : err_set(e, ERR_IO, "%.200s would be larger than %d bytes", path,
                            KNOWN_FILE_MAX);
    bytes_release(&text);
    return err;
}
