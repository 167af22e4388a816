/* SPDX-License-Identifier: Apache-2.0 */
#include "caserunagain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "noise.h"
#include "poison.h"

/* From fresh memory on; the inputs are made anew, since an INOUT holds results by now. */
static bool run_again(struct caserun *r, bool other_poison)
{
    struct errinfo e = {0};
    r->place->backend->release(r->place->device);
    r->guard = other_poison ? POISON_OTHER_BYTE : POISON_BYTE;
    for (int i = 0; i < r->plan.n_tensor; i++) {
        if (r->plan.tensor[i].role == TENSOR_IN)
            continue;
        tensor_release(&r->tensor[i]);
        if (caserun_make(r, i, other_poison, &e))
            return caserun_fail(r, RECORD_SKIPPED, "%s", e.text);
    }
    return caserun_on_device(r);
}

/* --- elements that were never written
 * ---------------------------------------------------------- */

static bool may_stay_poison(const struct case_tensor *t)
{
    return t->role == TENSOR_OUT && !t->zeroed;
}

/* Counts what holds the poison; true if that is only a suspicion, in a format of one byte. */
static bool poison_count(struct caserun *r, int64_t *ret_count)
{
    bool suspicion = false;
    for (int i = 0, o = 0; i < r->plan.n_tensor; i++) {
        const struct case_tensor *t = &r->plan.tensor[i];
        if (t->role == TENSOR_IN)
            continue;
        const struct tensor *out = &r->result->out[o++].tensor;
        for (int64_t k = 0; k < out->count && may_stay_poison(t); k++) {
            if (tensor_bits(out, k) != poison_bits(t->dtype))
                continue;
            if (dtype_info(t->dtype)->bytes == 1)
                suspicion = true;
            else
                ++*ret_count;
        }
    }
    return suspicion;
}

/* Once more on another poison: never written is what holds the one, then the other. */
static bool poison_confirm(struct caserun *r, int64_t *ret_count)
{
    if (!run_again(r, true))
        return false;
    for (int i = 0, o = 0; i < r->plan.n_tensor; i++) {
        const struct case_tensor *t = &r->plan.tensor[i];
        if (t->role == TENSOR_IN)
            continue;
        const struct tensor *out = &r->result->out[o++].tensor;
        if (!may_stay_poison(t) || dtype_info(t->dtype)->bytes != 1)
            continue;
        for (int64_t k = 0; k < out->count; k++)
            *ret_count += tensor_bits(out, k) == poison_bits(t->dtype) &&
                          tensor_bits(&r->tensor[i], k) == POISON_OTHER_BYTE;
    }
    return true;
}

bool caserun_unwritten(struct caserun *r, int64_t *ret_count)
{
    return !poison_count(r, ret_count) || poison_confirm(r, ret_count);
}

/* --- noise -----------------------------------------------------------------------------------
 */

static const char order_variable[] = "GPUPARITY_SIM_ORDER", fill_variable[] = "GPUPARITY_SIM_FILL";

/* A simulated device runs the k-th repeat in an order of its own; a real one in a stream of its
 * own, every other time with a second stream at work. The last of three or more is as the
 * first, on memory that held something else: outputs, what lies around tensors, and on a
 * simulated device shared memory and registers. */
static enum noise_kind order_set(int k, int repeats, const char *own)
{
    char text[16];
    bool memory = repeats > 2 && k == repeats - 1;
    snprintf(text, sizeof text, "%d", POISON_OTHER_BYTE);
    if (memory && !getenv(fill_variable))
        setenv(fill_variable, text, 1);
    snprintf(text, sizeof text, "%d", k);
    if (!memory)
        setenv(order_variable, k == 1 ? "reverse" : text, 1);
    else if (own)
        setenv(order_variable, own, 1);
    else
        unsetenv(order_variable);
    return memory ? NOISE_MEMORY : NOISE_ORDER;
}

static void noises_add(struct caserun *r, struct noise *n, enum noise_kind kind)
{
    for (int i = 0, o = 0; i < r->plan.n_tensor; i++) {
        const struct case_tensor *t = &r->plan.tensor[i];
        if (t->role == TENSOR_IN)
            continue;
        bool other = kind == NOISE_MEMORY && t->role == TENSOR_OUT && !t->zeroed;
        uint64_t poison = !other                             ? UINT64_MAX
                          : dtype_info(t->dtype)->bytes == 1 ? POISON_OTHER_BYTE
                                                             : 0;
        noise_add(&n[o++], &r->tensor[i], kind, poison);
    }
}

/* The output with the most elements that moved stands for the case. */
static void noises_give(struct caserun *r, const struct noise *n)
{
    struct record_case *c = &r->result->c;
    int64_t most = 0, stalest = 0;
    for (int o = 0; o < r->result->n_out; o++) {
        int64_t unstable = noise_unstable(&n[o]), stale = noise_stale(&n[o]);
        if (unstable > most) {
            most = unstable;
            snprintf(c->unstable_tensor, sizeof c->unstable_tensor, "%s",
                     r->result->out[o].name);
            c->noise_largest = n[o].largest;
            c->noise_rms = noise_rms(&n[o]);
        }
        if (stale > stalest) {
            stalest = stale;
            snprintf(c->stale_tensor, sizeof c->stale_tensor, "%s", r->result->out[o].name);
        }
        c->unstable += unstable;
        c->stale += stale;
    }
}

static void way_set(struct caserun *r, int k, enum noise_kind kind)
{
    const struct backend *b = r->place->backend;
    bool plain = !k || kind == NOISE_MEMORY;
    if (b->vary)
        b->vary(r->place->device, plain ? LAUNCH_DEFAULT : k % 2 ? LAUNCH_CONTENDED : LAUNCH_STREAM);
}

static bool repeat_into(struct caserun *r, struct noise *n, const char *own)
{
    bool filled = getenv(fill_variable) != NULL, good = true;
    for (int k = 1; k < r->place->repeats && good; k++) {
        enum noise_kind kind = order_set(k, r->place->repeats, own);
        way_set(r, k, kind);
        good = run_again(r, kind == NOISE_MEMORY);
        if (good)
            noises_add(r, n, kind);
    }
    if (!filled)
        unsetenv(fill_variable);
    return good;
}

bool caserun_repeat(struct caserun *r)
{
    if (r->place->repeats < 2)
        return true;
    struct noise n[CASE_TENSOR_MAX] = {0};
    struct errinfo e = {0};
    bool good = true;
    const char *set = getenv(order_variable);
    char *own = set ? strdup(set) : NULL;
    for (int o = 0; o < r->result->n_out && good; o++)
        good = !noise_init(&n[o], &r->result->out[o].tensor, &e) ||
               caserun_fail(r, RECORD_SKIPPED, "%s", e.text);
    good = good && repeat_into(r, n, own);
    way_set(r, 0, NOISE_ORDER);
    if (good)
        noises_give(r, n);
    for (int o = 0; o < r->result->n_out; o++)
        noise_release(&n[o]);
    if (own)
        setenv(order_variable, own, 1);
    else
        unsetenv(order_variable);
    free(own);
    return good;
}
