/* SPDX-License-Identifier: Apache-2.0 */
/* A record of one case with two sides, made without a device: A holds the reference rounded once,
 * B what `alter` makes of that. */
#ifndef GPUPARITY_TESTS_LARGERECORD_H
#define GPUPARITY_TESTS_LARGERECORD_H

#include <stdio.h>
#include <string.h>

#include "caseid.h"
#include "record.h"

typedef uint64_t alter_fn(const struct tensor *a, int64_t i, uint64_t bits);

/* By windows, as memory is what such records are about. */
static inline enum err large_output(const struct case_id *id, const struct case_plan *plan,
                                    int which, struct tensor *ret, struct errinfo *e)
{
    struct tensor in[CASE_TENSOR_MAX];
    const struct tensor *at[CASE_TENSOR_MAX] = {NULL};
    const struct case_tensor *t = &plan->tensor[which];
    struct oracle o;
    for (int i = 0; i < plan->n_tensor; i++)
        if (plan->tensor[i].role != TENSOR_OUT) {
            TRY(case_input(id, plan, i, &in[i], e));
            at[i] = &in[i];
        }
    TRY(tensor_init(ret, t->dtype, t->rank, t->dim, e));
    TRY(oracle_init(&o, ret->count, e));
    for (int64_t from = 0; from < ret->count; from += CASE_WINDOW) {
        struct case_span s = {from,
                              ret->count - from < CASE_WINDOW ? ret->count : from + CASE_WINDOW};
        TRY(id->family->oracle(id, plan, at, which, s, 2, &o, e));
        for (int64_t i = s.from; i < s.to; i++)
            tensor_set_bits(ret, i, dtype_round_sum(t->dtype, o.value[i], o.tail[i]));
        oracle_drop(&o, s.from, s.to);
    }
    oracle_release(&o);
    for (int i = 0; i < plan->n_tensor; i++)
        if (at[i])
            tensor_release(&in[i]);
    return ERR_OK;
}

static inline enum err large_put(struct record *r, const char *device, const struct record_case *c,
                                 const struct record_out *out, struct errinfo *e)
{
    int run;
    struct record_run head = {.simulated = true};
    snprintf(head.device, sizeof head.device, "%s", device);
    TRY(record_add_run(r, &head, &run, e));
    return record_put_case(r, run, 0, c, 1, out, NULL, e);
}

/* `alter` NULL: B is as A. The case has one output. */
static inline enum err large_record(const char *path, const char *text, alter_fn *alter,
                                    struct errinfo *e)
{
    struct case_id id;
    struct case_plan plan;
    struct record *r;
    struct record_case c = {.status = RECORD_OK, .repeats = 1};
    struct record_out out = {.role = "out"};
    TRY(caseid_parse(text, &id, e));
    TRY(id.family->plan(&id, &plan, e));
    int which = plan.n_tensor - 1;
    caseid_print(&id, c.id);
    TRY(case_input_digest(&id, &plan, c.input_digest, e));
    TRY(large_output(&id, &plan, which, &out.tensor, e));
    snprintf(out.name, sizeof out.name, "%s", plan.tensor[which].name);
    TRY(record_create(path, false, true, &r, e));
    TRY(large_put(r, "cuda-sim", &c, &out, e));
    for (int64_t i = 0; alter && i < out.tensor.count; i++)
        tensor_set_bits(&out.tensor, i, alter(&out.tensor, i, tensor_bits(&out.tensor, i)));
    TRY(large_put(r, "hip-sim", &c, &out, e));
    tensor_release(&out.tensor);
    TRY(record_finish(r, e));
    record_close(r);
    return ERR_OK;
}

/* A line of /proc/self/status in KiB: "VmHWM", "VmRSS". */
static inline long large_status(const char *name)
{
    char line[128];
    long kib = -1;
    size_t length = strlen(name);
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, name, length))
            sscanf(line + length, ": %ld", &kib);
    if (f)
        fclose(f);
    return kib;
}

/* From now on VmHWM is what memory is taken at most. */
static inline void large_reset_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (!f)
        return;
    fputs("5\n", f);
    fclose(f);
}

#endif
