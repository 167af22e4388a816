/* SPDX-License-Identifier: Apache-2.0 */
#include "summation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caseid.h"
#include "fill.h"

static enum err none(const struct family *f, struct errinfo *e)
{
    char names[256] = "";
    for (int i = 0; case_families[i]; i++)
        if (case_families[i]->summation)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
                     *names ? ", " : "", case_families[i]->name);
    return err_set(e, ERR_USAGE, "the order of %s's sums cannot be probed; that of %s can",
                   f->name, names);
}

enum err summation_plan(const struct case_id *id, struct case_sum *ret_sum, struct errinfo *e)
{
    if (!id->family->summation)
        return none(id->family, e);
    struct case_sum s;
    struct case_plan plan;
    TRY(id->family->summation(id, &s, e));
    TRY(id->family->plan(&s.id, &plan, e));
    const struct dtype_info *f = dtype_info(plan.tensor[s.output].dtype);
    if (s.leaves > (int64_t)1 << (f->fraction + 1))
        return err_set(e, ERR_USAGE,
                       "%lld terms: a result in %s counts to %d; take so many terms or fewer",
                       (long long)s.leaves, f->name, 1 << (f->fraction + 1));
    *ret_sum = s;
    return ERR_OK;
}

int32_t summation_met(const struct case_sum *s, double value, double one)
{
    double ones = value * s->factor / one, period = 4;
    while (period < 4 * (double)s->leaves)
        period *= 2;
    double left = nearbyint(ones);
    if (!isfinite(ones) || fabs(ones) > 1e6 * period)
        return -1;
    left -= floor(left / period) * period;
    return left <= (double)(s->leaves - 2) ? (int32_t)(s->leaves - (int64_t)left) : -1;
}

static enum err met_read(const struct case_sum *s, const struct tensor *t, int32_t *met,
                         struct errinfo *e)
{
    double one = fill_mask(DTYPE_F32, s->leaves).one;
    for (int64_t p = 0; p < s->leaves * (s->leaves - 1) / 2; p++) {
        double value = tensor_value(t, p * s->stride);
        met[p] = summation_met(s, value, one);
        int64_t i, j;
        fill_mask_pair(s->leaves, p, &i, &j);
        if (met[p] < 0)
            return err_set(
                e, ERR_FORMAT,
                "with +2^15 at term %lld and -2^15 at term %lld the sum is %a, which "
                "is no number of small terms (%a each); where results have 16 bits, fewer "
                "terms may help",
                (long long)i, (long long)j, value, one);
    }
    return ERR_OK;
}

static enum err tree_read(const struct case_sum *s, const struct record_out *outs, int n_out,
                          struct tree *ret_tree, struct errinfo *e)
{
    struct case_plan plan;
    const struct tensor *t = NULL;
    int64_t pairs = s->leaves * (s->leaves - 1) / 2;
    TRY(s->id.family->plan(&s->id, &plan, e));
    for (int i = 0; i < n_out; i++)
        if (!strcmp(outs[i].name, plan.tensor[s->output].name))
            t = &outs[i].tensor;
    if (!t || t->count < (pairs - 1) * s->stride + 1)
        return err_set(e, ERR_FORMAT, "the record lacks the output %s of this case",
                       plan.tensor[s->output].name);
    int32_t *met = malloc((size_t)pairs * sizeof *met);
    if (!met)
        return err_set(e, ERR_NOMEM, "no memory for %lld pairs", (long long)pairs);
    enum err err = met_read(s, t, met, e);
    if (!err)
        err = tree_make((int)s->leaves, met, ret_tree, e);
    free(met);
    return err;
}

enum err summation_tree(struct record *r, int run, const struct case_sum *s,
                        struct tree *ret_tree, struct errinfo *e)
{
    char id[CASEID_TEXT_MAX];
    struct record_case c;
    struct record_out outs[RECORD_OUT_MAX];
    int n_out = 0;
    caseid_print(&s->id, id);
    int64_t at = record_find_case(r, run, id);
    if (at < 0)
        return err_set(e, ERR_FORMAT, "the record has no case %s", id);
    TRY(record_read_case(r, run, at, &c, e));
    if (c.status)
        return err_set(e, c.status == RECORD_SKIPPED ? ERR_MISSING : ERR_FORMAT, "%s: %s %s",
                       id, record_status_name(c.status), c.reason);
    TRY(record_read_outs(r, run, at, &n_out, outs, e));
    enum err err = tree_read(s, outs, n_out, ret_tree, e);
    for (int i = 0; i < n_out; i++)
        tensor_release(&outs[i].tensor);
    return err;
}
