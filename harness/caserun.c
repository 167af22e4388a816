/* SPDX-License-Identifier: Apache-2.0 */
#include "caserun.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "caseid.h"
#include "caserunagain.h"
#include "caseruncall.h"
#include "casekernel.h"
#include "child.h"
#include "codestore.h"
#include "poison.h"

void caserun_phase(struct caserun *r, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(r->place->phase, CASERUN_PHASE_MAX, format, ap);
    va_end(ap);
}

bool caserun_fail(struct caserun *r, enum record_status status, const char *format, ...)
{
    struct record_case *c = &r->result->c;
    va_list ap;
    va_start(ap, format);
    vsnprintf(c->reason, sizeof c->reason, format, ap);
    va_end(ap);
    c->status = status;
    return false;
}

/* A backend's refusal as a status of the case. */
static bool device_fail(struct caserun *r, enum backend_status s, const char *while_what,
                        const struct backend_error *e)
{
    r->result->spoiled = s == BACKEND_FAULT;
    return caserun_fail(r, s == BACKEND_NOMEM ? RECORD_SKIPPED : RECORD_LAUNCH_FAILED, "%s: %.700s",
                    while_what, e->text);
}

static void bytes_digest(const void *bytes, size_t size, char *ret_hex)
{
    XXH128_hash_t h = XXH3_128bits(bytes, size);
    snprintf(ret_hex, 33, "%016llx%016llx", (unsigned long long)h.high64,
             (unsigned long long)h.low64);
}

/* --- before ----------------------------------------------------------------------------------
 */

enum err caserun_make(struct caserun *r, int i, bool other_poison, struct errinfo *e)
{
    const struct case_tensor *t = &r->plan.tensor[i];
    if (t->role != TENSOR_OUT && r->place->input && r->place->input[i])
        return tensor_copy(&r->tensor[i], r->place->input[i], e);
    if (t->role != TENSOR_OUT)
        return case_input(r->id, &r->plan, i, &r->tensor[i], e);
    uint64_t poison = poison_bits(t->dtype);
    if (other_poison)
        poison = dtype_info(t->dtype)->bytes == 1 ? POISON_OTHER_BYTE : 0;
    TRY(tensor_init(&r->tensor[i], t->dtype, t->rank, t->dim, e));
    if (!t->zeroed)
        for (int64_t k = 0; k < r->tensor[i].count; k++)
            tensor_set_bits(&r->tensor[i], k, poison);
    return ERR_OK;
}

static bool make_inputs(struct caserun *r)
{
    struct errinfo e = {0};
    caserun_phase(r, "making the inputs");
    enum err err = r->id->family->plan(r->id, &r->plan, &e);
    if (!err)
        err = case_input_digest(r->id, &r->plan, r->result->c.input_digest, &e);
    for (int i = 0; i < r->plan.n_tensor && !err; i++)
        err = caserun_make(r, i, false, &e);
    return err ? caserun_fail(r, RECORD_SKIPPED, "%s", e.text) : true;
}

static const char *code_name(const struct case_id *id)
{
    return id->family->path ? id->family->path : id->variant->source;
}

static bool take_code(struct caserun *r)
{
    const struct code *code = NULL;
    struct record_case *c = &r->result->c;
    struct backend_error e = {0};
    caserun_phase(r, "getting the code of %s", code_name(r->id));
    c->status = casecode_get(r->place->code, r->id, &r->plan, &code, c->reason, sizeof c->reason);
    if (code) {
        snprintf(c->compiler, sizeof c->compiler, "%s", code->version);
        snprintf(c->options, sizeof c->options, "%.255s", code->options ? code->options : "");
        r->result->code = code;
    }
    if (c->status)
        return false;
    bytes_digest(code->bytes, code->size, c->code_digest);
    caserun_phase(r, "loading the code of %s", code_name(r->id));
    enum backend_status s =
        r->place->backend->load(r->place->device, code->bytes, code->size, &e);
    return s ? device_fail(r, s, "loading the code", &e) : true;
}

/* --- on the device ---------------------------------------------------------------------------
 */

/* What byte `at` around tensor i holds. A float read from there is the NaN that outputs start as,
 * negative, so that it passes neither for a small number nor for one never written; in repeats on
 * other memory it is another number. */
static unsigned char guard_byte(const struct caserun *r, int i, size_t at)
{
    enum dtype d = r->tensor[i].dtype;
    size_t bytes = (size_t)dtype_info(d)->bytes;
    bool number = dtype_info(d)->kind == DTYPE_KIND_FLOAT && bytes > 1;
    uint64_t pattern = poison_bits(d) | UINT64_C(1) << (8 * bytes - 1);
    return number && r->guard == POISON_BYTE ? (unsigned char)(pattern >> at % bytes * 8) : r->guard;
}

static bool buffer_put(struct caserun *r, int i)
{
    const struct backend *b = r->place->backend;
    struct caserun_buffer *p = &r->buffer[i];
    struct backend_error e = {0};
    p->size = tensor_bytes(&r->tensor[i]);
    size_t whole = p->size + 2 * POISON_GUARD_BYTES;
    char *image = malloc(whole);
    if (!image)
        return caserun_fail(r, RECORD_SKIPPED, "out of memory: %zu bytes for tensor %s", whole,
                        r->plan.tensor[i].name);
    for (size_t k = 0; k < POISON_GUARD_BYTES; k++)
        image[k] = image[whole - POISON_GUARD_BYTES + k] = (char)guard_byte(r, i, k);
    memcpy(image + POISON_GUARD_BYTES, r->tensor[i].data, p->size);
    enum backend_status s = b->alloc(r->place->device, whole, &p->base, &e);
    p->address = p->base + POISON_GUARD_BYTES;
    if (!s)
        s = b->write(r->place->device, p->base, image, whole, &e);
    free(image);
    return s ? device_fail(r, s, r->plan.tensor[i].name, &e) : true;
}

union arg_value {
    uint64_t address;
    int32_t i32;
    int64_t i64;
    float f32;
    uint64_t bits;
};

static void arg_make(const struct caserun *r, const struct case_arg *a, union arg_value *v,
                     struct launch_arg *ret_arg)
{
    ret_arg->bytes = v;
    switch (a->kind) {
    case CASE_ARG_TENSOR:
        v->address = r->buffer[a->tensor].address;
        ret_arg->size = sizeof v->address;
        break;
    case CASE_ARG_I32:
        v->i32 = (int32_t)a->i;
        ret_arg->size = sizeof v->i32;
        break;
    case CASE_ARG_I64:
        v->i64 = a->i;
        ret_arg->size = sizeof v->i64;
        break;
    case CASE_ARG_F32:
        v->f32 = a->f;
        ret_arg->size = sizeof v->f32;
        break;
    case CASE_ARG_BITS:
        v->bits = a->bits;
        ret_arg->size = (size_t)a->bytes;
        break;
    }
}

static bool launch_one(struct caserun *r, const struct case_launch *l)
{
    union arg_value value[CASE_ARG_MAX];
    struct launch_arg arg[CASE_ARG_MAX];
    struct backend_error e = {0};
    struct launch q = {.entry = l->entry, .shared = l->shared, .n_arg = l->n_arg, .arg = arg};
    memcpy(q.grid, l->grid, sizeof q.grid);
    memcpy(q.block, l->block, sizeof q.block);
    for (int i = 0; i < l->n_arg; i++)
        arg_make(r, &l->arg[i], &value[i], &arg[i]);
    caserun_phase(r, "running the kernel %s", l->entry);
    enum backend_status s = r->place->backend->launch(r->place->device, &q, &e);
    return s ? device_fail(r, s, l->entry, &e) : true;
}

/* Where the element lies is known only now. */
static void trace_set(const struct caserun *r)
{
    const struct caserun_trace *t = &r->place->trace;
    char text[64];
    if (!t->on || t->output >= r->plan.n_tensor)
        return;
    int bytes = dtype_info(r->plan.tensor[t->output].dtype)->bytes;
    snprintf(text, sizeof text, "%" PRIx64 ":%d",
             r->buffer[t->output].address + (uint64_t)(t->element * bytes), bytes);
    setenv("GPUPARITY_SIM_TRACE_AT", text, 1);
}

static bool launch_all(struct caserun *r)
{
    struct device_stats s;
    struct record_case *c = &r->result->c;
    r->place->backend->stats(r->place->device, &s);
    bool good = true;
    trace_set(r);
    for (int i = 0; i < r->plan.n_launch && good; i++)
        good = launch_one(r, &r->plan.launch[i]);
    if (r->result->spoiled)
        return false;
    r->place->backend->stats(r->place->device, &s);
    c->instructions = s.instructions;
    snprintf(c->marks, sizeof c->marks, "%s", s.marks);
    return good;
}

/* --- after -----------------------------------------------------------------------------------
 */

static int64_t guard_count(const struct caserun *r, int i, const char *guard)
{
    int64_t changed = 0;
    for (size_t k = 0; k < POISON_GUARD_BYTES; k++)
        changed += (unsigned char)guard[k] != guard_byte(r, i, k);
    return changed;
}

/* What lies around an output must be untouched. */
static void guard_check(struct caserun *r, int i, int64_t before, int64_t after)
{
    struct record_case *c = &r->result->c;
    if (c->repeats)
        return;
    if ((before || after) && !c->guard_tensor[0])
        snprintf(c->guard_tensor, sizeof c->guard_tensor, "%s", r->plan.tensor[i].name);
    c->guard_before += before;
    c->guard_after += after;
}

/* And an input altogether. */
static bool input_check(struct caserun *r, int i, const char *now, int64_t before,
                        int64_t after)
{
    size_t size = r->buffer[i].size;
    const char *start = r->tensor[i].data;
    int64_t inside = 0;
    if (memcmp(now, start, size))
        for (size_t k = 0; k < size; k++)
            inside += now[k] != start[k];
    if (!inside && !before && !after)
        return true;
    return caserun_fail(r, RECORD_LAUNCH_FAILED,
                    "the kernel wrote into its input %s: %" PRId64 " bytes in it, %" PRId64
                    " before, %" PRId64 " behind",
                    r->plan.tensor[i].name, inside, before, after);
}

static bool buffer_take(struct caserun *r, int i)
{
    struct caserun_buffer *p = &r->buffer[i];
    struct backend_error e = {0};
    size_t whole = p->size + 2 * POISON_GUARD_BYTES;
    char *image = malloc(whole);
    if (!image)
        return caserun_fail(r, RECORD_SKIPPED, "out of memory: %zu bytes for tensor %s", whole,
                        r->plan.tensor[i].name);
    enum backend_status s =
        r->place->backend->read(r->place->device, p->base, image, whole, &e);
    bool good = s ? device_fail(r, s, r->plan.tensor[i].name, &e) : true;
    if (good) {
        char *now = image + POISON_GUARD_BYTES;
        int64_t before = guard_count(r, i, image), after = guard_count(r, i, now + p->size);
        if (r->plan.tensor[i].role == TENSOR_IN)
            good = input_check(r, i, now, before, after);
        else
            guard_check(r, i, before, after);
        memcpy(r->tensor[i].data, now, p->size);
    }
    free(image);
    return good;
}

static void output_give(struct caserun *r, int i)
{
    const struct case_tensor *t = &r->plan.tensor[i];
    struct record_out *o = &r->result->out[r->result->n_out++];
    snprintf(o->name, sizeof o->name, "%s", t->name);
    snprintf(o->role, sizeof o->role, "%s", t->role == TENSOR_OUT ? "out" : "inout");
    o->tensor = r->tensor[i];
    memset(&r->tensor[i], 0, sizeof r->tensor[i]);
}

bool caserun_on_device(struct caserun *r)
{
    caserun_phase(r, "filling the device's memory");
    for (int i = 0; i < r->plan.n_tensor; i++)
        if (!buffer_put(r, i))
            return false;
    bool library = r->id->family->file && r->id->family->file->library;
    if (library ? !caserun_calls(r) : !launch_all(r))
        return false;
    caserun_phase(r, "reading the results");
    for (int i = 0; i < r->plan.n_tensor; i++)
        if (!buffer_take(r, i))
            return false;
    r->result->c.repeats++;
    return true;
}

void caserun_describe(const struct case_id *id, struct record_case *ret_case)
{
    memset(ret_case, 0, sizeof *ret_case);
    caseid_print(id, ret_case->id);
    caseid_print_mode(&id->mode, ret_case->mode);
    if (id->family->file) {
        casekernel_digest(id, ret_case->source_digest);
        snprintf(ret_case->case_digest, sizeof ret_case->case_digest, "%s",
                 id->family->file->digest);
    } else if (codestore_source_digest(id->family, id->variant, ret_case->source_digest, NULL)) {
        ret_case->source_digest[0] = 0;
    }
}

static bool run_steps(struct caserun *r)
{
    int64_t *unwritten = &r->result->c.unwritten;
    bool library = r->id->family->file && r->id->family->file->library;
    if (!make_inputs(r) || !(library ? caserun_library(r) : take_code(r)) || !caserun_on_device(r))
        return false;
    for (int i = 0; i < r->plan.n_tensor; i++)
        if (r->plan.tensor[i].role != TENSOR_IN)
            output_give(r, i);
    return caserun_unwritten(r, unwritten) && caserun_repeat(r);
}

void caserun_do(const struct caserun_place *p, const struct case_id *id,
                struct caserun_result *ret_result)
{
    struct caserun r = {.place = p, .id = id, .result = ret_result, .guard = POISON_BYTE};
    memset(ret_result, 0, sizeof *ret_result);
    caserun_describe(id, &ret_result->c);
    double start = child_clock();
    run_steps(&r);
    ret_result->c.seconds = child_clock() - start;
    if (!ret_result->spoiled)
        p->backend->release(p->device);
    for (int i = 0; i < CASE_TENSOR_MAX; i++)
        tensor_release(&r.tensor[i]);
    caserun_phase(&r, "being idle");
}

void caserun_release(struct caserun_result *r)
{
    for (int i = 0; i < r->n_out; i++)
        tensor_release(&r->out[i].tensor);
    memset(r, 0, sizeof *r);
}
