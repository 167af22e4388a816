/* SPDX-License-Identifier: Apache-2.0 */
#include "gpuparity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "ulp.h"
#include "verdict.h"

const char *gpuparity_version(void)
{
    return GPUPARITY_VERSION;
}

static bool is_format(int format)
{
    return format >= 0 && format < DTYPE_COUNT_;
}

int gpuparity_format(const char *name)
{
    enum dtype d = dtype_find(name);
    return d == DTYPE_COUNT_ ? -1 : (int)d;
}

size_t gpuparity_format_size(int format)
{
    return is_format(format) ? (size_t)dtype_info((enum dtype)format)->bytes : 0;
}

double gpuparity_value(int format, uint64_t bits)
{
    return is_format(format) ? dtype_value((enum dtype)format, bits) : (double)NAN;
}

uint64_t gpuparity_round(int format, double value)
{
    return is_format(format) ? dtype_round((enum dtype)format, value) : 0;
}

uint64_t gpuparity_ulp_distance(int format, uint64_t a, uint64_t b)
{
    enum dtype d = (enum dtype)format;
    if (!is_format(format) || !dtype_is_finite(d, a) || !dtype_is_finite(d, b))
        return UINT64_MAX;
    return ulp_distance(d, a, b);
}

double gpuparity_ulp_error(int format, uint64_t bits, double value, double tail)
{
    enum dtype d = (enum dtype)format;
    if (!is_format(format) || !dtype_is_finite(d, bits) || !isfinite(value) || !isfinite(tail))
        return NAN;
    return ulp_error(d, bits, value, tail);
}

/* --- two buffers --- */

static const struct {
    enum verdict inside;
    const char *name;
} verdicts[] = {
    [GPUPARITY_SAME] = {VERDICT_SAME, "SAME"},
    [GPUPARITY_EQUIVALENT] = {VERDICT_EQUIVALENT, "EQUIVALENT"},
    [GPUPARITY_DISTINGUISHABLE] = {VERDICT_DISTINGUISHABLE, "DISTINGUISHABLE"},
    [GPUPARITY_A_WRONG] = {VERDICT_A_WRONG, "A_WRONG"},
    [GPUPARITY_B_WRONG] = {VERDICT_B_WRONG, "B_WRONG"},
    [GPUPARITY_BOTH_WRONG] = {VERDICT_BOTH_WRONG, "BOTH_WRONG"},
    [GPUPARITY_MISTRUSTED] = {VERDICT_MISTRUSTED, "MISTRUSTED"},
    [GPUPARITY_DIFFERENT] = {VERDICT_DIFFERENT, "DIFFERENT"},
};
enum { VERDICTS = sizeof verdicts / sizeof *verdicts };

const char *gpuparity_verdict_name(enum gpuparity_verdict verdict)
{
    return (unsigned)verdict < VERDICTS ? verdicts[verdict].name : "?";
}

static enum gpuparity_verdict verdict_outside(enum verdict v)
{
    for (int i = 0; i < VERDICTS; i++)
        if (verdicts[i].inside == v)
            return (enum gpuparity_verdict)i;
    return GPUPARITY_MISTRUSTED;
}

/* The caller's buffer, seen as a tensor that is only read. */
static struct tensor tensor_view(const struct gpuparity_job *j, const void *data)
{
    struct tensor t = {.dtype = (enum dtype)j->format, .rank = 1, .count = j->count};
    t.dim[0] = j->count;
    memcpy(&t.data, &data, sizeof data);
    return t;
}

static double half_step(const struct gpuparity_job *j, int64_t i)
{
    double v = j->value[i];
    return isfinite(v) ? 0.5 * ulp_size((enum dtype)j->format, v) : INFINITY;
}

static void reference_fill(const struct gpuparity_job *j, struct oracle *o)
{
    for (int64_t i = 0; i < j->count; i++) {
        o->value[i] = j->value[i];
        o->tail[i] = j->tail ? j->tail[i] : 0;
        o->bound[i] = j->bound ? j->bound[i] : half_step(j, i);
        o->drop[i] = j->drop ? j->drop[i] : INFINITY;
    }
}

static void element_fill(const struct gpuparity_job *j, struct finding_element *x, int64_t i)
{
    struct tensor a = tensor_view(j, j->a), b = tensor_view(j, j->b);
    if (i < 0)
        return;
    *x = (struct finding_element){.shown = true, .index = i, .coordinate = {i}};
    x->value_a = tensor_value(&a, i);
    x->value_b = j->b ? tensor_value(&b, i) : 0;
    if (!j->value)
        return;
    x->value = j->value[i];
    x->tail = j->tail ? j->tail[i] : 0;
    x->bound = j->bound ? j->bound[i] : half_step(j, i);
}

static void judge(const struct gpuparity_job *j, struct finding_out *o)
{
    const struct output_stats *s = &o->stats;
    struct finding f = {.one_sided = !j->b};
    bool b = s->b.first_wrong >= 0 && j->b && s->b.worst_bound >= s->a.worst_bound;
    element_fill(j, &o->worst, b ? s->b.worst_index : s->a.worst_index);
    verdict_output(&f, o);
    if (j->value || s->pair.bits_equal == j->count)
        return;
    o->verdict = VERDICT_DIFFERENT;
    snprintf(o->reason, sizeof o->reason,
             "%lld of %lld elements differ, by at most %llu ULP; there is no reference",
             (long long)(j->count - s->pair.bits_equal), (long long)j->count,
             (unsigned long long)s->pair.worst_ulp);
}

static struct gpuparity_side side_copy(const struct side_stats *s)
{
    struct gpuparity_side r = {
        .count = s->ulp.count,
        .mean = s->ulp.mean,
        .median = s->ulp.median,
        .rms = s->ulp.rms,
        .minimum = s->ulp.minimum,
        .maximum = s->ulp.maximum,
        .nan_wrong = s->nan_wrong,
        .inf_wrong = s->inf_wrong,
        .over_bound = s->over_bound,
        .correctly_rounded = s->correctly_rounded,
        .worst_bound = s->worst_bound,
        .worst_index = s->worst_index,
        .first_wrong = s->first_wrong,
    };
    _Static_assert(sizeof r.quantile == sizeof s->ulp.quantile, "quantiles");
    _Static_assert(sizeof r.histogram == sizeof s->ulp.hist, "histogram");
    memcpy(r.quantile, s->ulp.quantile, sizeof r.quantile);
    memcpy(r.histogram, s->ulp.hist, sizeof r.histogram);
    memcpy(r.histogram_negative, s->ulp.hist_negative, sizeof r.histogram_negative);
    return r;
}

static struct gpuparity_result result_make(const struct finding_out *o)
{
    const struct pair_stats *p = &o->stats.pair;
    struct gpuparity_result r = {
        .verdict = verdict_outside(o->verdict),
        .a = side_copy(&o->stats.a),
        .b = side_copy(&o->stats.b),
        .pair = {.bits_equal = p->bits_equal,
                 .nan_differs = p->nan_differs,
                 .inf_differs = p->inf_differs,
                 .worst_ulp = p->worst_ulp,
                 .worst_absolute = p->worst_absolute,
                 .worst_index = p->worst_index,
                 .first_index = p->first_index,
                 .ks = p->ks,
                 .ks_p = p->ks_p,
                 .wasserstein = p->wasserstein},
    };
    snprintf(r.reason, sizeof r.reason, "%s", o->reason);
    return r;
}

static enum err job_check(const struct gpuparity_job *j, struct errinfo *e)
{
    if (!is_format(j->format))
        return err_set(e, ERR_USAGE, "%d is no format: see gpuparity_format", j->format);
    if (j->count < 0 || (j->count && !j->a))
        return err_set(e, ERR_USAGE, "no elements: count is %lld, a is %s", (long long)j->count,
                       j->a ? "given" : "NULL");
    if (!j->b && !j->value)
        return err_set(e, ERR_USAGE, "neither b nor a reference: nothing to compare a with");
    return ERR_OK;
}

static enum err job_run(const struct gpuparity_job *j, struct finding_out *o, struct errinfo *e)
{
    struct oracle reference = {0};
    struct tensor a = tensor_view(j, j->a), b = tensor_view(j, j->b);
    TRY(job_check(j, e));
    if (j->value) {
        TRY(oracle_init(&reference, j->count, e));
        reference_fill(j, &reference);
    }
    enum err err = stats_compute(&a, j->b ? &b : NULL, j->value ? &reference : NULL, UINT64_MAX,
                                 j->threads > 1 ? j->threads : 1, &o->stats, e);
    oracle_release(&reference);
    return err;
}

int gpuparity_compare(const struct gpuparity_job *job, struct gpuparity_result *ret_result,
                      char *error, size_t size)
{
    struct errinfo e = {0};
    struct finding_out *o = calloc(1, sizeof *o);
    enum err err = o ? job_run(job, o, &e) : err_set(&e, ERR_NOMEM, "out of memory");
    if (!err) {
        o->dtype = (enum dtype)job->format;
        o->rank = 1;
        o->dim[0] = job->count;
        snprintf(o->name, sizeof o->name, "x");
        judge(job, o);
        *ret_result = result_make(o);
    } else if (error && size) {
        snprintf(error, size, "%s", e.text);
    }
    free(o);
    return err ? -1 : 0;
}
