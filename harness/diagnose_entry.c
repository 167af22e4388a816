/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose.h"

#include <math.h>
#include <stdlib.h>

/* One entry of a table of 16 that stands for another value, seen through sums: the case's own
 * reference says how results change while that code is another one, and errors that are a multiple
 * of this change come from that entry. */

enum { CODES = 16 };

static void code_replace(struct tensor *t, int code, int by)
{
    for (int64_t k = 0; k < t->count; k++) {
        int bits = (int)tensor_bits(t, k), high = bits >> 4 & 15, low = bits & 15;
        tensor_set_bits(t, k, (uint64_t)((high == code ? by : high) << 4 | (low == code ? by : low)));
    }
}

/* What share of the errors, in units of the bounds, is a multiple of what the other code makes. */
static double share_of(const struct suspect *s, const struct oracle *o)
{
    const struct oracle *ours = s->in->oracle;
    double ee = 0, ed = 0, dd = 0;
    for (int64_t i = 0; i < s->count; i++) {
        double unit = ours->bound[i], got = tensor_value(s->t, i);
        if (!(unit > 0) || isinf(unit) || !isfinite(got) || !isfinite(o->value[i]))
            continue;
        double error = (got - ours->value[i]) / unit, made = (o->value[i] - ours->value[i]) / unit;
        ee += error * error;
        ed += error * made;
        dd += made * made;
    }
    return ee > 0 && dd > 0 ? ed * ed / dd / ee : 0;
}

static double code_explains(const struct suspect *s, int which, int code)
{
    const struct tensor *input[CASE_TENSOR_MAX];
    struct tensor changed = {0};
    struct oracle o = {0};
    double share = 0;
    for (int i = 0; i < s->in->plan->n_tensor; i++)
        input[i] = s->in->input[i];
    if (tensor_copy(&changed, input[which], NULL))
        return 0;
    code_replace(&changed, code, (code + 1) % CODES);
    input[which] = &changed;
    if (!case_oracle(s->in->id, s->in->plan, input, s->in->which, 1, &o, NULL) &&
        o.count == s->count)
        share = share_of(s, &o);
    oracle_release(&o);
    tensor_release(&changed);
    return share;
}

static bool claim_entry(struct suspect *s, int which)
{
    double best = 0, second = 0;
    int entry = 0;
    for (int code = 0; code < CODES; code++) {
        double share = code_explains(s, which, code);
        second = share > best ? best : fmax(second, share);
        entry = share > best ? code : entry;
        best = fmax(best, share);
    }
    if (best < 0.98 || second > 0.8)
        return false;
    claim_add(s->o, CAUSE_CODEBOOK, s->side, best,
              "%.1f %% of the errors' variance goes with code %d of %s (with no other code more "
              "than %.1f %%): it stands for another value",
              100 * best, entry, s->in->plan->tensor[which].name, 100 * second);
    return true;
}

void diagnose_entry(struct suspect *s)
{
    if (!suspect_askable(s) || s->n_bad < 8)
        return;
    for (int i = 0; i < s->in->plan->n_tensor; i++) {
        const struct tensor *t = s->in->input[i];
        if (t && (t->dtype == DTYPE_NF4X2 || t->dtype == DTYPE_FP4X2) && claim_entry(s, i))
            return;
    }
}
