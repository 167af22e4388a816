/* SPDX-License-Identifier: Apache-2.0 */
#include "show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "quote.h"
#include "record.h"

enum { SHOW_VALUES = 8, SHOW_MORE_VALUES = 64 };

struct show {
    FILE *out;
    const char *path;
    struct record *record;
};

static void show_field(FILE *out, const struct record_field *f, const void *owner)
{
    char text[1024];
    record_field_print(f, owner, text, sizeof text);
    if (!*text)
        return;
    fprintf(out, "    %-14s ", f->name);
    quote_line(out, text, "");
    fputc('\n', out);
}

static void show_env(FILE *out, const struct record_run *run)
{
    for (int i = 0; i < run->n_env; i++) {
        fputs("    env            ", out);
        quote_line(out, run->env[i].name, "");
        fputc('=', out);
        quote_line(out, run->env[i].value, "");
        fputc('\n', out);
    }
}

static void show_run_line(const struct show *s, int run)
{
    const struct record_run *r = record_run_at(s->record, run);
    fprintf(s->out, "/run/%d  ", run);
    quote_line(s->out, r->device, "");
    fprintf(s->out, "%s, %" PRId64 " cases\n", r->simulated ? " (simulated)" : "",
            record_case_count(s->record, run));
}

static void show_case_line(const struct show *s, int run, int64_t i,
                           const struct record_case *c)
{
    fprintf(s->out, "  /run/%d/case/%" PRId64 "  %-13s ", run, i,
            record_status_name(c->status));
    quote_line(s->out, c->id, "");
    if (*c->reason) {
        fputs("  (", s->out);
        quote_line(s->out, c->reason, "");
        fputc(')', s->out);
    }
    fputc('\n', s->out);
}

static enum err show_run(const struct show *s, int run, struct errinfo *e)
{
    const struct record_run *r = record_run_at(s->record, run);
    show_run_line(s, run);
    for (const struct record_field *f = record_run_fields; f->name; f++)
        show_field(s->out, f, r);
    show_env(s->out, r);
    for (int64_t i = 0; i < record_case_count(s->record, run); i++) {
        struct record_case c;
        TRY(record_read_case(s->record, run, i, &c, e));
        show_case_line(s, run, i, &c);
    }
    return ERR_OK;
}

static void show_index(FILE *out, const struct tensor *t, int64_t i)
{
    int64_t at[TENSOR_RANK_MAX];
    for (int d = t->rank - 1; d >= 0; d--) {
        at[d] = i % t->dim[d];
        i /= t->dim[d];
    }
    fputs("      [", out);
    for (int d = 0; d < t->rank; d++)
        fprintf(out, "%s%" PRId64, d ? "," : "", at[d]);
    fputs("]", out);
}

static void show_values(FILE *out, const struct tensor *t, int64_t most)
{
    for (int64_t i = 0; i < t->count && i < most; i++) {
        char bits[QUOTE_BITS_MAX], number[QUOTE_NUMBER_MAX];
        quote_bits(bits, t->dtype, tensor_bits(t, i));
        quote_number(number, tensor_value(t, i));
        show_index(out, t, i);
        fprintf(out, "  %s  %s\n", bits, number);
    }
    if (t->count > most)
        fprintf(out, "      ... %" PRId64 " more\n", t->count - most);
}

static void show_out(FILE *out, const struct record_out *o, int64_t most)
{
    char digest[33];
    tensor_digest(&o->tensor, digest);
    fprintf(out, "    %-14s ", o->role);
    quote_line(out, o->name, "");
    fprintf(out, ": %s [", dtype_info(o->tensor.dtype)->name);
    for (int d = 0; d < o->tensor.rank; d++)
        fprintf(out, "%s%" PRId64, d ? " x " : "", o->tensor.dim[d]);
    fprintf(out, "]  digest %s\n", digest);
    show_values(out, &o->tensor, most);
}

static enum err show_code(const struct show *s, int run, int64_t i, struct errinfo *e)
{
    void *bytes;
    size_t size;
    char *log;
    TRY(record_read_code(s->record, run, i, &bytes, &size, &log, e));
    if (size)
        fprintf(s->out, "    %-14s %zu bytes\n", "code", size);
    if (*log) {
        fprintf(s->out, "    %-14s ", "code_log");
        quote_line(s->out, log, "");
        fputc('\n', s->out);
    }
    free(bytes);
    free(log);
    return ERR_OK;
}

/* Only the output `name`, or all of them if it is NULL. */
static enum err show_outs(const struct show *s, int run, int64_t i, const char *name,
                          struct errinfo *e)
{
    struct record_out out[RECORD_OUT_MAX];
    int n_out = 0, shown = 0;
    TRY(record_read_outs(s->record, run, i, &n_out, out, e));
    for (int k = 0; k < n_out; k++) {
        if (!name || !strcmp(out[k].name, name)) {
            show_out(s->out, &out[k], name ? SHOW_MORE_VALUES : SHOW_VALUES);
            shown++;
        }
        tensor_release(&out[k].tensor);
    }
    if (name && !shown)
        return err_set(e, ERR_USAGE,
                       "%s: case %" PRId64 " of run %d has no output '%s'; gpuparity show %s "
                       "/run/%d/case/%" PRId64 " lists them",
                       s->path, i, run, name, s->path, run, i);
    return ERR_OK;
}

static enum err show_case(const struct show *s, int run, int64_t i, const char *name,
                          struct errinfo *e)
{
    struct record_case c;
    TRY(record_read_case(s->record, run, i, &c, e));
    show_run_line(s, run);
    show_case_line(s, run, i, &c);
    if (name)
        return show_outs(s, run, i, name, e);
    for (const struct record_field *f = record_case_fields; f->name; f++)
        show_field(s->out, f, &c);
    TRY(show_outs(s, run, i, NULL, e));
    return show_code(s, run, i, e);
}

static enum err show_all(const struct show *s, struct errinfo *e)
{
    fprintf(s->out, "%s: a gpuparity record, schema %d, %d run%s\n", s->path, RECORD_SCHEMA,
            record_run_count(s->record), record_run_count(s->record) == 1 ? "" : "s");
    for (int run = 0; run < record_run_count(s->record); run++)
        TRY(show_run(s, run, e));
    return ERR_OK;
}

static enum err show_id(const struct show *s, const char *id, struct errinfo *e)
{
    int shown = 0;
    for (int run = 0; run < record_run_count(s->record); run++) {
        int64_t i = record_find_case(s->record, run, id);
        if (i < 0)
            continue;
        TRY(show_case(s, run, i, NULL, e));
        shown++;
    }
    if (!shown)
        return err_set(e, ERR_USAGE, "%s has no '%s'; gpuparity show %s lists what it has",
                       s->path, id, s->path);
    return ERR_OK;
}

/* "/run/1/case/2/out/c": how many of run, case and out are there; 0 when it is no such path. */
static int parse_inner(const char *text, int *run, int64_t *index, char name[TENSOR_NAME_MAX])
{
    int end[3] = {0};
    text += *text == '/';
    int n = sscanf(text, "run/%d%n/case/%" SCNd64 "%n/out/%31[^/]%n", run, &end[0], index,
                   &end[1], name, &end[2]);
    if (n < 1 || end[n - 1] == 0)
        return 0;
    const char *rest = text + end[n - 1];
    return *rest == '\0' || !strcmp(rest, "/") ? n : 0;
}

static enum err show_inner(const struct show *s, const char *inner, struct errinfo *e)
{
    int run = 0;
    int64_t index = 0;
    char name[TENSOR_NAME_MAX];
    int depth = parse_inner(inner, &run, &index, name);
    if (!inner[strspn(inner, "/")])
        return show_all(s, e);
    if (depth == 0)
        return show_id(s, inner, e);
    if (run < 0 || run >= record_run_count(s->record))
        return err_set(e, ERR_USAGE, "%s has no run %d; gpuparity show %s lists what it has",
                       s->path, run, s->path);
    return depth == 1 ? show_run(s, run, e)
                      : show_case(s, run, index, depth == 3 ? name : NULL, e);
}

enum err show_record(FILE *out, const char *path, const char *inner, struct errinfo *e)
{
    struct show s = {.out = out, .path = path};
    TRY(record_open(path, &s.record, e));
    enum err err = inner ? show_inner(&s, inner, e) : show_all(&s, e);
    record_close(s.record);
    if (!err && (fflush(out) || ferror(out)))
        return err_set(e, ERR_IO, "cannot write: %s", strerror(errno));
    return err;
}
