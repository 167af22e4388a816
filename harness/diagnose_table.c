/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose.h"

#include <math.h>
#include <stdlib.h>

#include "ulp.h"

/* An input of codes that stand for other values than they should: wherever one code is read, the
 * result is the right one times the same factor, and each code has a factor of its own. */

enum { CODES = 256, TABLE_LEAST = 16 };

struct table {
    const struct tensor *t;
    bool packed;           /* two codes a byte */
    int64_t most[CODES];   /* the element of each code whose right value is largest; -1: none */
    double factor[CODES];  /* there */
    int64_t count[CODES], fits[CODES], bad[CODES];
};

static int code_at(const struct table *x, int64_t i)
{
    if (!x->packed)
        return (int)(tensor_bits(x->t, i) & 255);
    int byte = (int)(tensor_bits(x->t, i / 2) & 255);
    return i % 2 ? byte & 15 : byte >> 4;
}

static bool table_make(const struct suspect *s, int which, struct table *x)
{
    const struct tensor *t = s->in->input[which];
    if (!t || dtype_info(t->dtype)->bytes != 1 ||
        dtype_info(s->t->dtype)->kind != DTYPE_KIND_FLOAT)
        return false;
    x->t = t;
    x->packed = dtype_info(t->dtype)->kind != DTYPE_KIND_FLOAT && t->count == (s->count + 1) / 2 &&
                s->count > 1;
    return x->packed || t->count == s->count;
}

static double off_by(const struct suspect *s, int64_t i)
{
    return s->in->oracle->bound[i] + ulp_size(s->t->dtype, s->in->oracle->value[i]);
}

static bool is_usable(const struct suspect *s, int64_t i)
{
    double right = s->in->oracle->value[i], got = tensor_value(s->t, i);
    return isfinite(right) && isfinite(got) && fabs(right) > 8 * off_by(s, i);
}

static void table_factors(const struct suspect *s, struct table *x)
{
    for (int c = 0; c < CODES; c++)
        x->most[c] = -1;
    for (int64_t i = 0; i < s->count; i++) {
        int c = code_at(x, i);
        const double *value = s->in->oracle->value;
        if (is_usable(s, i) && (x->most[c] < 0 || fabs(value[i]) > fabs(value[x->most[c]])))
            x->most[c] = i;
    }
    for (int c = 0; c < CODES; c++)
        if (x->most[c] >= 0)
            x->factor[c] = tensor_value(s->t, x->most[c]) / s->in->oracle->value[x->most[c]];
}

static void table_fit(const struct suspect *s, struct table *x)
{
    for (int64_t i = 0; i < s->count; i++) {
        int c = code_at(x, i);
        x->bad[c] += s->bad[i];
        if (x->most[c] < 0 || !is_usable(s, i) || x->most[c] == i)
            continue;
        double got = tensor_value(s->t, i);
        double room = 2 * (off_by(s, i) * fmax(1, fabs(x->factor[c])) + ulp_size(s->t->dtype, got));
        x->count[c]++;
        x->fits[c] += fabs(got - x->factor[c] * s->in->oracle->value[i]) <= room;
    }
}

struct found {
    int64_t tested, fits, bad;
    int moved, codes, example; /* codes with another factor than 1 */
    double low, high;
};

static void table_judge(const struct suspect *s, const struct table *x, struct found *f)
{
    for (int c = 0; c < CODES; c++) {
        if (x->most[c] < 0 || !x->count[c])
            continue;
        double slack = 4 * off_by(s, x->most[c]) / fabs(s->in->oracle->value[x->most[c]]);
        f->tested += x->count[c];
        f->fits += x->fits[c];
        f->codes++;
        if (fabs(x->factor[c] - 1) <= slack)
            continue;
        f->low = !f->moved || x->factor[c] < f->low ? x->factor[c] : f->low;
        f->high = !f->moved || x->factor[c] > f->high ? x->factor[c] : f->high;
        f->bad += x->bad[c];
        f->example = c;
        f->moved++;
    }
}

static bool claim_table(struct suspect *s, int which, const struct table *x, const struct found *f)
{
    bool all_alike = f->moved == f->codes && f->high - f->low <= 0.01 * fabs(f->high);
    if (!f->moved || f->tested < TABLE_LEAST || f->fits * 20 < f->tested * 19 ||
        f->bad * 10 < s->n_bad * 7 || all_alike)
        return false;
    claim_add(s->o, CAUSE_CODEBOOK, s->side, 0.97,
              "wherever one code of %s is read the result is off by one factor: %d of %d codes "
              "stand for another value, 0x%02x for %.6g times its own",
              s->in->plan->tensor[which].name, f->moved, f->codes, (unsigned)f->example,
              x->factor[f->example]);
    return true;
}

void diagnose_table(struct suspect *s)
{
    struct table *x = calloc(1, sizeof *x);
    for (int k = 0; x && k < s->in->plan->n_tensor; k++) {
        struct found f = {0};
        *x = (struct table){0};
        if (!table_make(s, k, x))
            continue;
        table_factors(s, x);
        table_fit(s, x);
        table_judge(s, x, &f);
        if (claim_table(s, k, x, &f))
            break;
    }
    free(x);
}
