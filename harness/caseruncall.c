/* SPDX-License-Identifier: Apache-2.0 */
#include "caseruncall.h"

#include <ffi.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What calls that are made once have given, by case file. The worker's, and as long-lived. */
struct caserun_once {
    struct caserun_once *next;
    const struct casefile *file;
    bool done[CASE_LAUNCH_MAX];
    uint64_t slot[CASEFILE_HANDLES_MAX];
};

static struct caserun_once *once_get(struct caserun *r)
{
    struct caserun_once **list = r->place->once, *n = *list;
    while (n && n->file != r->id->family->file)
        n = n->next;
    if (n)
        return n;
    n = calloc(1, sizeof *n);
    if (!n)
        return NULL;
    n->file = r->id->family->file;
    n->next = *list;
    return *list = n;
}

/* --- libraries -------------------------------------------------------------------------------
 */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool caserun_library(struct caserun *r)
{
    struct record_case *c = &r->result->c;
    struct caselibrary *l = &r->library;
    struct errinfo e = {0};
    enum err err = caselibrary_find(r->id, r->place->backend, l, &e);
    if (!err) {
        caserun_phase(r, "opening the library %.200s", l->path[0]);
        err = caselibrary_open(l, &e);
    }
    if (err)
        return caserun_fail(r, RECORD_SKIPPED, "%s", e.text);
    snprintf(c->compiler, sizeof c->compiler, "library %.100s", base_name(l->path[0]));
    caselibrary_digest(l, c->code_digest);
    return true;
}

/* --- a call ----------------------------------------------------------------------------------
 */

union call_value {
    uint64_t bits;
    void *pointer;
};

struct call {
    struct caserun *r;
    const struct casefile_kernel *k;
    const struct case_launch *l;
    uint64_t *slot;
    union call_value value[CASE_ARG_MAX], pointed[CASE_ARG_MAX];
    char words[CASEFILE_WORDS_SIZE]; /* what the function said */
    char text[CASE_ARG_MAX][64];
    ffi_type *type[CASE_ARG_MAX];
    void *arg[CASE_ARG_MAX];
};

static ffi_type *type_of(enum dtype d)
{
    bool sign = dtype_info(d)->kind == DTYPE_KIND_INT;
    if (d == DTYPE_F32)
        return &ffi_type_float;
    if (d == DTYPE_F64)
        return &ffi_type_double;
    switch (dtype_info(d)->bytes) {
    case 1:
        return sign ? &ffi_type_sint8 : &ffi_type_uint8;
    case 2:
        return sign ? &ffi_type_sint16 : &ffi_type_uint16;
    case 4:
        return sign ? &ffi_type_sint32 : &ffi_type_uint32;
    default:
        return sign ? &ffi_type_sint64 : &ffi_type_uint64;
    }
}

static bool scratch_make(struct call *c, uint64_t size, union call_value *v)
{
    struct backend_error e = {0};
    v->bits = 0;
    if (!size || !c->r->place->backend->alloc(c->r->place->device, size, &v->bits, &e))
        return true;
    return caserun_fail(c->r, RECORD_SKIPPED, "scratch: %.600s", e.text);
}

static bool text_make(struct call *c, int i)
{
    struct errinfo e = {0};
    const struct casefile_arg *a = &c->k->arg[i];
    if (casefile_expand(c->r->id->family->file, c->r->id, a->node->text + strlen("text "),
                        c->text[i], sizeof c->text[i], &e))
        return caserun_fail(c->r, RECORD_SKIPPED, "%s", e.text);
    c->value[i].pointer = c->text[i];
    return true;
}

static bool arg_make(struct call *c, int i)
{
    const struct casefile_arg *a = &c->k->arg[i];
    const struct case_arg *p = &c->l->arg[i];
    union call_value *v = &c->value[i];
    c->arg[i] = v;
    c->type[i] = &ffi_type_pointer;
    switch (a->form) {
    case CASEFILE_POINTER:
        c->pointed[i].bits = p->bits;
        v->pointer = &c->pointed[i];
        break;
    case CASEFILE_HOST:
        v->pointer = c->r->tensor[a->tensor].data;
        break;
    case CASEFILE_HANDLE:
        v->bits = c->slot[a->slot];
        break;
    case CASEFILE_HANDLE_POINTER:
        v->pointer = &c->slot[a->slot];
        break;
    case CASEFILE_WORDS:
        v->pointer = c->words;
        break;
    case CASEFILE_TEXT:
        return text_make(c, i);
    case CASEFILE_SCRATCH:
        return scratch_make(c, p->bits, v);
    case CASEFILE_VALUE:
        if (a->tensor >= 0) {
            v->bits = c->r->buffer[a->tensor].address;
        } else if (a->tensor == -1) {
            c->type[i] = type_of(a->dtype.dtype);
            v->bits = p->bits;
        }
        break;
    }
    return true;
}

static const char *meaning_of(const struct yamlnode *map, int64_t value)
{
    for (const struct yamlnode *m = map ? map->first : NULL; m; m = m->next)
        if (strtoll(m->key, NULL, 10) == value)
            return m->text;
    return NULL;
}

/* Integers come back as wide as a register; only the low bytes are the function's. */
static int64_t number_of(enum dtype d, ffi_arg raw)
{
    int shift = 64 - 8 * dtype_info(d)->bytes;
    uint64_t top = (uint64_t)raw << shift;
    return dtype_info(d)->kind == DTYPE_KIND_INT ? (int64_t)top >> shift
                                                 : (int64_t)(top >> shift);
}

static bool number_judge(struct call *c, ffi_arg raw)
{
    int64_t v = number_of(c->k->return_dtype, raw);
    const char *untested = meaning_of(c->k->untested, v), *failed = meaning_of(c->k->failed, v);
    const char *meaning = untested ? untested : failed ? failed : "";
    return (!v && !untested) ||
           caserun_fail(c->r, untested ? RECORD_SKIPPED : RECORD_LAUNCH_FAILED,
                        "%s returned %" PRId64 "%s%.300s%s%s", c->l->entry, v,
                        *meaning ? ": " : "", meaning, c->words[0] ? ": " : "", c->words);
}

/* What the library says of its choices belongs to the result. */
static void words_keep(struct call *c)
{
    struct record_case *to = &c->r->result->c;
    size_t used = strlen(to->options);
    c->words[sizeof c->words - 1] = 0;
    c->words[strcspn(c->words, "\r\n")] = 0;
    if (c->words[0] && !c->r->result->c.repeats)
        snprintf(to->options + used, sizeof to->options - used, "%s%s", used ? "; " : "",
                 c->words);
}

static bool call_one(struct call *c)
{
    ffi_cif cif;
    union {
        ffi_arg number;
        void *pointer;
    } result = {0};
    ffi_type *returns = c->k->returns == CASEFILE_RETURNS_NOTHING ? &ffi_type_void
                        : c->k->returns == CASEFILE_RETURNS_POINTER
                            ? &ffi_type_pointer
                            : type_of(c->k->return_dtype);
    void *function = caselibrary_function(&c->r->library, c->l->entry);
    if (!function)
        return caserun_fail(c->r, RECORD_LAUNCH_FAILED, "there is no function %s", c->l->entry);
    for (int i = 0; i < c->l->n_arg; i++)
        if (!arg_make(c, i))
            return false;
    if (ffi_prep_cif(&cif, FFI_DEFAULT_ABI, (unsigned)c->l->n_arg, returns, c->type))
        return caserun_fail(c->r, RECORD_LAUNCH_FAILED, "%s cannot be called", c->l->entry);
    caserun_phase(c->r, "calling %s", c->l->entry);
    ffi_call(&cif, FFI_FN(function), &result, c->arg);
    words_keep(c);
    if (c->k->returns == CASEFILE_RETURNS_NUMBER)
        return number_judge(c, result.number);
    if (c->k->returns == CASEFILE_RETURNS_POINTER && !result.pointer)
        return caserun_fail(c->r, RECORD_LAUNCH_FAILED, "%s returned a null pointer",
                            c->l->entry);
    if (c->k->result >= 0)
        c->slot[c->k->result] = (uint64_t)(uintptr_t)result.pointer;
    return true;
}

/* Work that a library only queued ends here, and with it errors that nobody asked it for. */
static bool finish(struct caserun *r)
{
    struct backend_error e = {0};
    caserun_phase(r, "waiting for the device");
    enum backend_status s = r->place->backend->finish(r->place->device, &e);
    if (!s)
        return true;
    r->result->spoiled = true;
    return caserun_fail(r, RECORD_LAUNCH_FAILED, "after the calls: %.600s", e.text);
}

bool caserun_calls(struct caserun *r)
{
    const struct casefile *f = r->id->family->file;
    uint64_t slot[CASEFILE_HANDLES_MAX];
    struct caserun_once *once = once_get(r);
    struct call *c = calloc(1, sizeof *c);
    bool good = once && c;
    if (!good)
        caserun_fail(r, RECORD_SKIPPED, "out of memory");
    else
        memcpy(slot, once->slot, sizeof slot);
    for (int i = 0; i < f->n_kernel && good; i++) {
        *c = (struct call){.r = r, .k = &f->kernel[i], .l = &r->plan.launch[i], .slot = slot};
        if (!casefile_call_on(f, i, r->place->backend->name) || (c->k->once && once->done[i]))
            continue;
        good = call_one(c);
        if (good && c->k->once) {
            once->done[i] = true;
            memcpy(once->slot, slot, sizeof slot);
        }
    }
    free(c);
    return good && finish(r);
}
