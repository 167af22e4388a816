/* SPDX-License-Identifier: Apache-2.0 */
#include "lowering.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "casekernel.h"

static const struct {
    const char *word, *what;
    bool on;
    size_t offset;
} modes[] = {
#define MODE(field, word, on, what) {word, what, on, offsetof(struct case_mode, field)},
#define SIMULATED(word, name, value, what)
#include "lowering.def"
#undef MODE
#undef SIMULATED
};

static const struct {
    const char *word, *name, *value, *what;
} simulated_rows[] = {
#define MODE(field, word, on, what)
#define SIMULATED(word, name, value, what) {word, name, value, what},
#include "lowering.def"
#undef MODE
#undef SIMULATED
};

static bool *mode_field(struct case_mode *m, int row)
{
    return (bool *)((char *)m + modes[row].offset);
}

const char *lowering_fixed(const struct case_id *id, const struct backend *b)
{
    const struct casefile *f = id->family->file;
    const struct casefile_side *s = f ? casefile_side(f, b->name) : NULL;
    return !f                  ? NULL
           : f->library        ? "a library"
           : s && s->binary    ? "a binary"
                               : NULL;
}

/* One side's binary keeps the whole case in its only mode. */
static bool any_fixed(const struct case_id *id)
{
    bool fixed = false;
    for (int i = 0; backends[i]; i++)
        fixed |= lowering_fixed(id, backends[i]) != NULL;
    return fixed;
}

static void list_change(const struct case_id *id, const struct backend *b, enum casefile_change c,
                        const char *what, struct lowering *list, int *n)
{
    if (!casekernel_changes(id, b, c))
        return;
    const struct variant *v = &id->family->file->changed[c];
    struct lowering *l = &list[(*n)++];
    *l = (struct lowering){.kind = LOWERING_VARIANT, .what = what, .variant = v};
    snprintf(l->word, sizeof l->word, "%.60s", v->source);
}

static void list_modes(const struct case_id *id, struct lowering *list, int *n)
{
    struct case_mode m = id->mode;
    for (int i = 0; i < (int)(sizeof modes / sizeof *modes); i++) {
        struct lowering *l = &list[(*n)++];
        *l = (struct lowering){.kind = LOWERING_MODE, .what = modes[i].what, .row = i};
        bool on = *mode_field(&m, i) == modes[i].on;
        snprintf(l->word, sizeof l->word, "%s=%s", modes[i].word, on ? "off" : "on");
    }
}

static void list_simulated(struct lowering *list, int *n)
{
    for (int i = 0; i < (int)(sizeof simulated_rows / sizeof *simulated_rows); i++) {
        struct lowering *l = &list[(*n)++];
        *l = (struct lowering){
            .kind = LOWERING_SIMULATED, .what = simulated_rows[i].what, .row = i};
        snprintf(l->word, sizeof l->word, "%s", simulated_rows[i].word);
    }
}

/* Tensors of the same names and shapes: then inputs are the same too. */
static bool same_tensors(const struct case_plan *x, const struct case_plan *y)
{
    if (x->n_tensor != y->n_tensor)
        return false;
    for (int i = 0; i < x->n_tensor; i++) {
        const struct case_tensor *a = &x->tensor[i], *b = &y->tensor[i];
        if (strcmp(a->name, b->name) || a->role != b->role || a->dtype != b->dtype ||
            a->rank != b->rank || memcmp(a->dim, b->dim, sizeof a->dim))
            return false;
    }
    return true;
}

static void list_variants(const struct case_id *id, struct lowering *list, int *n)
{
    struct case_plan mine, other;
    struct errinfo e;
    struct case_id x = *id;
    if (id->family->plan(id, &mine, &e))
        return;
    for (const struct variant *v = id->family->variants; v->name && *n < DELTA_SWITCHES_MAX;
         v++) {
        x.variant = v;
        if (v->hidden || v == id->variant || id->family->plan(&x, &other, &e) ||
            !same_tensors(&mine, &other))
            continue;
        struct lowering *l = &list[(*n)++];
        *l = (struct lowering){
            .kind = LOWERING_VARIANT, .what = "how the kernel itself computes", .variant = v};
        snprintf(l->word, sizeof l->word, "variant=%.50s", v->name);
    }
}

int lowering_list(const struct case_id *id, const struct device_choice *device, bool variants,
                  struct lowering ret_list[DELTA_SWITCHES_MAX])
{
    const struct backend *b = device->backend;
    int n = 0;
    if (!any_fixed(id))
        list_modes(id, ret_list, &n);
    list_change(id, b, CASEFILE_NO_OPTIONS, "the options that the case file gives its compiler",
                ret_list, &n);
    if (device->kind == DEVICE_CHOICE_SIMULATED)
        list_simulated(ret_list, &n);
    if (variants)
        list_variants(id, ret_list, &n);
    if (variants)
        list_change(id, b, CASEFILE_OTHER_SOURCE, "the source itself", ret_list, &n);
    return n;
}

static bool env_add(struct trial *t, const char *name, const char *value)
{
    for (int i = 0; i < t->n_env; i++)
        if (!strcmp(t->env[i].name, name))
            return false;
    if (t->n_env == WORKER_ENV_MAX)
        return false;
    t->env[t->n_env++] = (struct worker_env){name, value};
    return true;
}

bool lowering_apply(const struct lowering *list, int n, uint32_t set, struct case_id *id,
                    struct trial *t)
{
    bool variant = false;
    for (int i = 0; i < n; i++) {
        const struct lowering *l = &list[i];
        if (!(set >> i & 1))
            continue;
        if (l->kind == LOWERING_MODE) {
            bool *field = mode_field(&id->mode, l->row);
            *field = !*field;
        } else if (l->kind == LOWERING_SIMULATED) {
            if (!env_add(t, simulated_rows[l->row].name, simulated_rows[l->row].value))
                return false;
        } else {
            if (variant)
                return false;
            variant = true;
            id->variant = l->variant;
        }
    }
    return true;
}

void lowering_print(const struct lowering *list, int n, uint32_t set, char *ret_text,
                    size_t size)
{
    size_t used = 0;
    ret_text[0] = 0;
    for (int i = 0; i < n && used < size; i++)
        if (set >> i & 1)
            used += (size_t)snprintf(ret_text + used, size - used, "%s%s", used ? "+" : "",
                                     list[i].word);
}

static enum err word_unknown(const struct lowering *list, int n, const char *word,
                             struct errinfo *e)
{
    char words[400];
    size_t used = 0;
    for (int i = 0; i < n && used < sizeof words; i++)
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", i ? " " : "",
                                 list[i].word);
    return err_set(e, ERR_USAGE, "no change '%.40s' for this case on this device; valid: %s",
                   word, words);
}

enum err lowering_parse(const struct lowering *list, int n, const char *text, uint32_t *ret_set,
                        struct errinfo *e)
{
    uint32_t set = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, "+");
        int found = -1;
        for (int i = 0; i < n; i++)
            if (strlen(list[i].word) == length && !memcmp(list[i].word, at, length))
                found = i;
        if (found < 0)
            return word_unknown(list, n, at, e);
        set |= UINT32_C(1) << found;
        at += length;
        if (!*at)
            break;
    }
    *ret_set = set;
    return ERR_OK;
}
