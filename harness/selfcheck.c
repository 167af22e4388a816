/* SPDX-License-Identifier: Apache-2.0 */
#include "selfcheck.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "caseid.h"
#include "codestore.h"
#include "quote.h"
#include "wrap.h"

enum { CLASSES_TEXT = 8192 };

/* What a case showed. */
struct outcome {
    struct record_case card, simulated;
    bool comparable, equal;
    char words[400];            /* where it differs, or why it could not be compared */
    char classes[CLASSES_TEXT]; /* blank-separated */
};

/* --- bits ------------------------------------------------------------------------------------
 */

static void difference_describe(struct outcome *o, const struct record_out *a,
                                const struct record_out *b)
{
    int64_t count = 0, first = -1;
    for (int64_t k = 0; k < a->tensor.count; k++) {
        bool same = tensor_bits(&a->tensor, k) == tensor_bits(&b->tensor, k);
        count += !same;
        first = first < 0 && !same ? k : first;
    }
    if (!count)
        return;
    char x[QUOTE_BITS_MAX], y[QUOTE_BITS_MAX];
    quote_bits(x, a->tensor.dtype, tensor_bits(&a->tensor, first));
    quote_bits(y, b->tensor.dtype, tensor_bits(&b->tensor, first));
    size_t used = strlen(o->words);
    snprintf(o->words + used, sizeof o->words - used,
             "%s%s: %" PRId64 " of %" PRId64 " elements, first [%" PRId64
             "] card %s, simulated %s",
             used ? "; " : "", a->name, count, a->tensor.count, first, x, y);
    o->equal = false;
}

static bool same_shape(int n, const struct record_out *a, int m, const struct record_out *b)
{
    for (int i = 0; i < n && n == m; i++)
        if (strcmp(a[i].name, b[i].name) || a[i].tensor.dtype != b[i].tensor.dtype ||
            a[i].tensor.count != b[i].tensor.count)
            return false;
    return n == m;
}

static enum err outs_compare(struct selfcheck *s, int64_t i, int64_t j, struct outcome *o,
                             struct errinfo *e)
{
    struct record_out a[RECORD_OUT_MAX], b[RECORD_OUT_MAX];
    int n = 0, m = 0;
    enum err err = record_read_outs(s->record, s->card, i, &n, a, e);
    if (!err)
        err = record_read_outs(s->record, s->simulated, j, &m, b, e);
    if (!err && !same_shape(n, a, m, b))
        err = err_set(e, ERR_FORMAT, "%s: the two sides have different outputs", o->card.id);
    o->equal = true;
    for (int k = 0; !err && k < n; k++)
        difference_describe(o, &a[k], &b[k]);
    for (int k = 0; k < n; k++)
        tensor_release(&a[k].tensor);
    for (int k = 0; k < m; k++)
        tensor_release(&b[k].tensor);
    return err;
}

/* --- one case --------------------------------------------------------------------------------
 */

static enum err classes_find(const struct selfcheck *s, struct outcome *o, struct errinfo *e)
{
    struct case_id id;
    struct case_plan plan;
    struct code code = {0};
    TRY(caseid_parse(o->card.id, &id, e));
    TRY(id.family->plan(&id, &plan, e));
    TRY(codestore_load(s->backend, s->backend->arch, &id, &code, e));
    for (int i = 0; i < plan.n_launch; i++) {
        size_t used = strlen(o->classes);
        if (used + 2 >= sizeof o->classes)
            break;
        o->classes[used] = ' ';
        s->backend->classes(code.bytes, code.size, plan.launch[i].entry, o->classes + used + 1,
                            sizeof o->classes - used - 1);
    }
    code_release(&code);
    return ERR_OK;
}

static bool ran(struct outcome *o, const struct record_case *c, const char *side)
{
    if (c->status == RECORD_OK)
        return true;
    snprintf(o->words, sizeof o->words, "%s on the %s: %.300s", record_status_name(c->status),
             side, c->reason);
    return false;
}

static enum err case_compare(struct selfcheck *s, int64_t i, struct outcome *o,
                             struct errinfo *e)
{
    memset(o, 0, sizeof *o);
    TRY(record_read_case(s->record, s->card, i, &o->card, e));
    int64_t j = record_find_case(s->record, s->simulated, o->card.id);
    if (j < 0)
        return err_set(e, ERR_FORMAT, "%s: only one side has it", o->card.id);
    TRY(record_read_case(s->record, s->simulated, j, &o->simulated, e));
    /* A case that the card alone cannot run, or the simulator alone, is a difference. */
    bool card = ran(o, &o->card, "card"), simulated = ran(o, &o->simulated, "simulated GPU");
    o->comparable = card || simulated;
    if (!o->comparable || (!card && o->card.status == RECORD_SKIPPED) ||
        (!simulated && o->simulated.status == RECORD_SKIPPED)) {
        o->comparable = false;
        return ERR_OK;
    }
    TRY(classes_find(s, o, e));
    if (!card || !simulated)
        return ERR_OK;
    if (strcmp(o->card.code_digest, o->simulated.code_digest))
        return err_set(e, ERR_FORMAT, "%s: the two sides ran different code", o->card.id);
    return outs_compare(s, i, j, o, e);
}

/* --- kinds of instruction --------------------------------------------------------------------
 */

static struct selfcheck_class *class_find(struct selfcheck *s, const char *name, size_t n)
{
    if (n >= SELFCHECK_CLASS_NAME)
        return NULL;
    for (int k = 0; k < s->n_class; k++)
        if (strlen(s->class[k].name) == n && !memcmp(s->class[k].name, name, n))
            return &s->class[k];
    if (s->n_class == SELFCHECK_CLASSES_MAX)
        return NULL;
    struct selfcheck_class *c = &s->class[s->n_class++];
    snprintf(c->name, sizeof c->name, "%.*s", (int)n, name);
    return c;
}

/* Calls `each` for every kind of the case; a case with several launches may name one twice. */
static void classes_each(struct selfcheck *s, const struct outcome *o,
                         void (*each)(struct selfcheck_class *c, const struct outcome *o,
                                      FILE *out),
                         FILE *out)
{
    for (const char *p = o->classes; *p;) {
        size_t n = strcspn(p, " ");
        bool again = false;
        for (const char *q = o->classes; q < p; q += strcspn(q, " "), q += *q == ' ')
            again |= strcspn(q, " ") == n && !memcmp(p, q, n);
        struct selfcheck_class *c = n && !again ? class_find(s, p, n) : NULL;
        if (c)
            each(c, o, out);
        p += n + (p[n] == ' ');
    }
}

static void class_count(struct selfcheck_class *c, const struct outcome *o, FILE *out)
{
    (void)out;
    c->equal += o->equal;
    c->differ += !o->equal;
}

static void class_suspect(struct selfcheck_class *c, const struct outcome *o, FILE *out)
{
    (void)o;
    if (!c->equal)
        fprintf(out, " %s", c->name);
}

static int class_order(const void *a, const void *b)
{
    const struct selfcheck_class *x = a, *y = b;
    bool sx = x->differ && !x->equal, sy = y->differ && !y->equal;
    if (sx != sy)
        return sx ? -1 : 1;
    if (x->differ != y->differ)
        return x->differ > y->differ ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void classes_print(struct selfcheck *s, FILE *out)
{
    qsort(s->class, (size_t)s->n_class, sizeof *s->class, class_order);
    if (s->n_class)
        fprintf(out, "\n%-48s %6s %6s\n", "cases with the instruction", "equal", "differ");
    for (int k = 0; k < s->n_class; k++) {
        const struct selfcheck_class *c = &s->class[k];
        fprintf(out, "%-48s %6" PRId64 " %6" PRId64 "%s\n", c->name, c->equal, c->differ,
                c->differ && !c->equal ? "  suspect: no equal case has it" : "");
    }
}

/* --- the report ------------------------------------------------------------------------------
 */

static void sides_print(const struct selfcheck *s, FILE *out)
{
    const struct record_run *a = record_run_at(s->record, s->card),
                            *b = record_run_at(s->record, s->simulated);
    fprintf(out, "%s: ", a->device);
    quote_line(out, a->name, "");
    fprintf(out, " (%s), against %s (%s)\n", a->arch, b->device, b->arch);
    if (a->simulated)
        fprintf(out, "SIMULATED: %s is no card but a stand-in for its library. Nothing below "
                     "says anything about hardware.\n",
                a->device);
    if (strcmp(a->arch, b->arch))
        fprintf(out, "The card is another one than the simulated: its compiler joins and its "
                     "units round by rules of its own.\n");
}

static void outcome_print(struct selfcheck *s, const struct outcome *o, FILE *out)
{
    fprintf(out, "%s ", o->comparable ? "DIFFERS " : "UNTESTED");
    quote_line(out, o->card.id, "");
    fputs("\n         ", out);
    wrap_print(out, o->words, 9, 9, 99);
    if (!o->comparable)
        return;
    fputs("         only here and in other cases that differ:", out);
    classes_each(s, o, class_suspect, out);
    fputs("\n", out);
}

/* First the counts, which the second round needs to name suspects. */
static enum err round_go(struct selfcheck *s, bool counting, FILE *out, struct errinfo *e)
{
    int64_t n = record_case_count(s->record, s->card);
    struct outcome *o = malloc(sizeof *o);
    enum err err = o ? ERR_OK : err_set(e, ERR_NOMEM, "out of memory");
    for (int64_t i = 0; !err && i < n; i++) {
        err = case_compare(s, i, o, e);
        if (err)
            break;
        if (!counting && (!o->comparable || !o->equal))
            outcome_print(s, o, out);
        if (!counting)
            continue;
        s->untested += !o->comparable;
        s->equal += o->comparable && o->equal;
        s->differ += o->comparable && !o->equal;
        if (o->comparable)
            classes_each(s, o, class_count, out);
    }
    free(o);
    return err;
}

enum err selfcheck_report(struct selfcheck *s, FILE *out, struct errinfo *e)
{
    sides_print(s, out);
    TRY(round_go(s, true, out, e));
    TRY(round_go(s, false, out, e));
    classes_print(s, out);
    fprintf(out,
            "\n%" PRId64 " cases with the same code and inputs: %" PRId64
            " equal in every bit, %" PRId64 " differ, %" PRId64 " untested\n",
            s->equal + s->differ + s->untested, s->equal, s->differ, s->untested);
    return ERR_OK;
}
