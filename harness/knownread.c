/* SPDX-License-Identifier: Apache-2.0 */
#include "known.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "casefile.h"
#include "text.h"

/* --- values ----------------------------------------------------------------------------------
 */

static bool text_blank(const char *text)
{
    return !text[strspn(text, " \t\r\n")];
}

static enum err set_text(char *to, size_t size, const char *text, struct errinfo *e)
{
    if (text_blank(text))
        return err_set(e, ERR_FORMAT, "is empty");
    if (strlen(text) >= size)
        return err_set(e, ERR_FORMAT, "is longer than %zu bytes", size - 1);
    snprintf(to, size, "%s", text);
    for (char *at = to; *at; at++)
        if (isspace((unsigned char)*at))
            *at = ' ';
    return ERR_OK;
}

bool known_text_valid(const char *text)
{
    size_t size = strlen(text);
    return size < KNOWN_TEXT_MAX && !text_blank(text) && text_valid(text, size) &&
           !text[strcspn(text, "\t\r\n")];
}

static enum err set_case(struct known_entry *x, const char *text, struct errinfo *e)
{
    /* A case file's ids are taken as they stand: the file need not be here. */
    if (text[strcspn(text, "*?[")] || casefile_path_length(text))
        return set_text(x->id, sizeof x->id, text, e);
    struct case_id id;
    TRY(caseid_parse(text, &id, e));
    caseid_print(&id, x->id);
    return ERR_OK;
}

static enum err set_output(struct known_entry *x, const char *text, struct errinfo *e)
{
    return set_text(x->output, sizeof x->output, text, e);
}

static enum err set_devices(struct known_entry *x, const char *text, struct errinfo *e)
{
    size_t n = strcspn(text, ",");
    const char *b = text[n] ? text + n + 1 : "";
    if (!n || n >= sizeof x->device_a || strlen(b) >= sizeof x->device_b || strchr(b, ',') ||
        (text[n] && !b[0]) || text[strcspn(text, " \t\r\n")])
        return err_set(e, ERR_FORMAT, "'%.60s' is not one device or two: cuda-sim,hip-sim",
                       text);
    snprintf(x->device_a, sizeof x->device_a, "%.*s", (int)n, text);
    snprintf(x->device_b, sizeof x->device_b, "%s", b);
    return ERR_OK;
}

static enum err set_verdict(struct known_entry *x, const char *text, struct errinfo *e)
{
    static const enum verdict valid[] = {VERDICT_DISTINGUISHABLE, VERDICT_A_WRONG,
                                         VERDICT_B_WRONG, VERDICT_BOTH_WRONG};
    for (size_t i = 0; i < sizeof valid / sizeof *valid; i++)
        if (!strcmp(text, verdict_name(valid[i]))) {
            x->verdict = valid[i];
            return ERR_OK;
        }
    return err_set(e, ERR_FORMAT, "'%.60s' is no verdict that can be accepted", text);
}

/* The end of an unsigned number of digits only, or NULL. */
static const char *read_count(const char *text, int64_t *ret_count)
{
    char *end;
    errno = 0;
    long long value = isdigit((unsigned char)text[0]) ? strtoll(text, &end, 10) : -1;
    if (value < 0 || errno)
        return NULL;
    *ret_count = value;
    return end;
}

static enum err set_element(struct known_entry *x, const char *text, struct errinfo *e)
{
    const char *at = text;
    int rank = 0;
    for (; rank < TENSOR_RANK_MAX; at++) {
        at = read_count(at, &x->coordinate[rank]);
        if (!at)
            break;
        rank++;
        if (*at != ',')
            break;
    }
    if (!at || *at || !rank)
        return err_set(e, ERR_FORMAT, "'%.60s' is no list of coordinates", text);
    x->rank = rank;
    return ERR_OK;
}

static enum err set_bits(uint64_t *to, const char *text, struct errinfo *e)
{
    size_t digits = text[0] == '0' && text[1] == 'x' ? strlen(text + 2) : 0;
    if (!digits || digits > 16 || strspn(text + 2, "0123456789abcdefABCDEF") != digits)
        return err_set(e, ERR_FORMAT, "'%.60s' is no bit pattern", text);
    *to = strtoull(text + 2, NULL, 16);
    return ERR_OK;
}

static enum err set_a(struct known_entry *x, const char *text, struct errinfo *e)
{
    return set_bits(&x->a, text, e);
}

static enum err set_b(struct known_entry *x, const char *text, struct errinfo *e)
{
    return set_bits(&x->b, text, e);
}

static enum err set_limit(struct known_entry *x, const char *text, struct errinfo *e)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value <= 0)
        return err_set(e, ERR_FORMAT, "'%.60s' is no number above zero", text);
    x->limit = value;
    return ERR_OK;
}

static enum err set_wrong(struct known_entry *x, const char *text, struct errinfo *e)
{
    const char *end = read_count(text, &x->wrong);
    return end && !*end ? ERR_OK : err_set(e, ERR_FORMAT, "'%.60s' is no count", text);
}

static enum err set_cause(struct known_entry *x, const char *text, struct errinfo *e)
{
    const char *names[CAUSE_COUNT_];
    for (int i = 0; i < CAUSE_COUNT_; i++) {
        names[i] = cause_name((enum cause)i);
        if (strcmp(text, names[i]))
            continue;
        x->cause = (enum cause)i;
        return ERR_OK;
    }
    char hint[NEAREST_HINT_MAX];
    return err_set(e, ERR_FORMAT, "'%.60s' is no cause%s", text,
                   nearest_hint(text, names, CAUSE_COUNT_, hint));
}

static enum err set_reason(struct known_entry *x, const char *text, struct errinfo *e)
{
    return set_text(x->reason, sizeof x->reason, text, e);
}

static enum err set_issue(struct known_entry *x, const char *text, struct errinfo *e)
{
    return set_text(x->issue, sizeof x->issue, text, e);
}

bool known_date_valid(const char *text)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (strlen(text) != 10 || strspn(text, "0123456789") != 4 || text[4] != '-' ||
        strspn(text + 5, "0123456789") != 2 || text[7] != '-' ||
        strspn(text + 8, "0123456789") != 2)
        return false;
    int year = atoi(text), month = atoi(text + 5), day = atoi(text + 8);
    if (month < 1 || month > 12 || day < 1)
        return false;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return day <= days[month - 1] + (month == 2 && leap);
}

static enum err set_day(char *to, const char *text, struct errinfo *e)
{
    if (!known_date_valid(text))
        return err_set(e, ERR_FORMAT, "'%.60s' is no day of the calendar", text);
    snprintf(to, KNOWN_DATE_MAX, "%s", text);
    return ERR_OK;
}

static enum err set_date(struct known_entry *x, const char *text, struct errinfo *e)
{
    return set_day(x->date, text, e);
}

static enum err set_expires(struct known_entry *x, const char *text, struct errinfo *e)
{
    return set_day(x->expires, text, e);
}

static const struct {
    const char *name;
    bool required;
    const char *wants;
    enum err (*set)(struct known_entry *x, const char *text, struct errinfo *e);
} keys[] = {
#define KEY(name, required, wants) {#name, required, wants, set_##name},
#include "known.def"
#undef KEY
};
enum { KEYS = sizeof keys / sizeof *keys };
enum {
#define KEY(name, required, wants) KEY_##name,
#include "known.def"
#undef KEY
};

/* --- the document ----------------------------------------------------------------------------
 */

struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the one to look at; zeroed: none */
    struct known known;
    struct errinfo *e;
};

static enum err fail(struct reader *r, yaml_mark_t at, const char *what)
{
    return err_set(r->e, ERR_FORMAT, "%.200s:%zu:%zu: %s", r->known.path, at.line + 1,
                   at.column + 1, what);
}

static enum err next(struct reader *r)
{
    yaml_event_delete(&r->event);
    memset(&r->event, 0, sizeof r->event);
    if (yaml_parser_parse(&r->parser, &r->event))
        return ERR_OK;
    const yaml_parser_t *p = &r->parser;
    const char *problem = p->problem ? p->problem : "damaged YAML";
    if (p->error == YAML_MEMORY_ERROR)
        return err_set(r->e, ERR_NOMEM, "out of memory while reading %.200s", r->known.path);
    if (p->error == YAML_READER_ERROR)
        return err_set(r->e, ERR_FORMAT, "%.200s: %s, at byte %zu", r->known.path, problem,
                       p->problem_offset);
    return fail(r, p->problem_mark, problem);
}

/* The text of the scalar at hand, if it may be shown to people. */
static enum err scalar(struct reader *r, const char *what, const char **ret_text)
{
    const yaml_event_t *v = &r->event;
    if (v->type != YAML_SCALAR_EVENT)
        return fail(r, v->start_mark, what);
    const char *text = (const char *)v->data.scalar.value;
    size_t size = v->data.scalar.length;
    if (strlen(text) != size || !text_valid(text, size))
        return fail(r, v->start_mark, "control characters are not allowed");
    *ret_text = text;
    return ERR_OK;
}

static enum err unknown_key(struct reader *r, const char *name)
{
    const char *names[KEYS];
    for (int i = 0; i < KEYS; i++)
        names[i] = keys[i].name;
    char hint[NEAREST_HINT_MAX];
    char text[160];
    snprintf(text, sizeof text, "unknown key '%.60s'%s", name,
             nearest_hint(name, names, KEYS, hint));
    return fail(r, r->event.start_mark, text);
}

static enum err read_pair(struct reader *r, struct known_entry *x, bool *seen)
{
    const char *text;
    TRY(scalar(r, "a key must be a word", &text));
    int key = 0;
    while (key < KEYS && strcmp(text, keys[key].name))
        key++;
    if (key == KEYS)
        return unknown_key(r, text);
    if (seen[key])
        return fail(r, r->event.start_mark, "this key is here already");
    seen[key] = true;
    TRY(next(r));
    char what[160];
    snprintf(what, sizeof what, "%s must be a plain value: %s", keys[key].name,
             keys[key].wants);
    TRY(scalar(r, what, &text));
    struct errinfo inner = {0};
    if (keys[key].set(x, text, &inner)) {
        char problem[480];
        snprintf(problem, sizeof problem, "%s: %.280s; it wants %s", keys[key].name, inner.text,
                 keys[key].wants);
        return fail(r, r->event.start_mark, problem);
    }
    return next(r);
}

/* What an entry lacks as a whole, or NULL. */
static const char *entry_fault(const struct known_entry *x, const bool *seen)
{
    if (!seen[KEY_element] && !seen[KEY_limit])
        return "the entry needs 'element' with the bits 'a' and 'b', or 'limit'";
    bool two = x->device_b[0];
    if (seen[KEY_element] != seen[KEY_a] || (seen[KEY_element] && two) != seen[KEY_b])
        return two ? "'element', 'a' and 'b' belong together"
                   : "'element' and 'a' belong together, and with one device there is no 'b'";
    if (strcmp(x->expires, x->date) < 0)
        return "the entry expires before its date";
    return NULL;
}

static enum err read_entry(struct reader *r)
{
    yaml_mark_t start = r->event.start_mark;
    if (r->event.type != YAML_MAPPING_START_EVENT)
        return fail(r, start, "an entry must be keys with values: - case: ...");
    struct known_entry x = {
        .verdict = VERDICT_COUNT_, .wrong = -1, .line = (int)start.line + 1};
    bool seen[KEYS] = {false};
    TRY(next(r));
    while (r->event.type != YAML_MAPPING_END_EVENT)
        TRY(read_pair(r, &x, seen));
    for (int i = 0; i < KEYS; i++) {
        char text[160];
        snprintf(text, sizeof text, "the entry has no '%s': %s", keys[i].name, keys[i].wants);
        if (keys[i].required && !seen[i])
            return fail(r, start, text);
    }
    const char *fault = entry_fault(&x, seen);
    if (fault)
        return fail(r, start, fault);
    struct known *k = &r->known;
    if (k->count == KNOWN_ENTRIES_MAX)
        return fail(r, start, "too many entries");
    if (!(k->count & (k->count - 1))) { /* grows at powers of two */
        size_t room = k->count ? 2 * (size_t)k->count : 1;
        struct known_entry *more = realloc(k->entry, room * sizeof *more);
        if (!more)
            return err_set(r->e, ERR_NOMEM, "out of memory while reading %.200s", k->path);
        k->entry = more;
    }
    k->entry[k->count++] = x;
    return next(r);
}

static enum err read_document(struct reader *r)
{
    TRY(next(r));
    if (r->event.type == YAML_SCALAR_EVENT && !r->event.data.scalar.length)
        return next(r);
    if (r->event.type != YAML_SEQUENCE_START_EVENT)
        return fail(r, r->event.start_mark, "the file must be a list of entries: - case: ...");
    TRY(next(r));
    while (r->event.type != YAML_SEQUENCE_END_EVENT)
        TRY(read_entry(r));
    return next(r);
}

static enum err read_stream(struct reader *r)
{
    TRY(next(r));
    TRY(next(r));
    if (r->event.type == YAML_STREAM_END_EVENT)
        return ERR_OK;
    TRY(read_document(r));
    TRY(next(r));
    if (r->event.type != YAML_STREAM_END_EVENT)
        return fail(r, r->event.start_mark, "one file is one document");
    return ERR_OK;
}

enum err known_parse(const char *path, const char *text, size_t size, const char *today,
                     struct known *ret_known, struct errinfo *e)
{
    struct reader r = {.e = e};
    snprintf(r.known.path, sizeof r.known.path, "%s", path);
    snprintf(r.known.today, sizeof r.known.today, "%s", today);
    if (!yaml_parser_initialize(&r.parser))
        return err_set(e, ERR_NOMEM, "out of memory while reading %.200s", path);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, size);
    enum err err = read_stream(&r);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    if (err)
        known_release(&r.known);
    else
        *ret_known = r.known;
    return err;
}
