/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose.h"
#include "plainrule.h"
#include "sample.h"
#include "tensor.h"

/* Factors and offsets by least squares: how much of the sum of (b - a)^2 goes away when B is
 * taken for q a, or a + c, with one q or c for all, for each index of an axis, each row or each
 * block. */

enum { GROUP_LEAST = 6, GROUPS_MAX = 1 << 16 };
#define EXPLAINED 0.985

struct group {
    double aa, ab, bb, d, dd;
    int64_t n;
};

struct fit {
    double left;           /* of the sum of squares, 0..1 */
    double low, high, one; /* values found, and that of the largest group */
    int64_t groups, n;
};

static bool usable(const struct plainseen *s, const struct plainseen_element *x)
{
    return plainseen_numbers(s, x) && fabs(x->value[0]) < 1e150 && fabs(x->value[1]) < 1e150;
}

static void group_add(struct group *g, const struct plainseen_element *x)
{
    double a = x->value[0], b = x->value[1];
    g->aa += a * a;
    g->ab += a * b;
    g->bb += b * b;
    g->d += b - a;
    g->dd += (b - a) * (b - a);
    g->n++;
}

/* Degrees of freedom: a group's own factor explains one of its elements by itself. */
static struct fit fit_groups(const struct group *g, int64_t groups, bool offset)
{
    struct fit f = {.left = 1, .low = INFINITY, .high = -INFINITY};
    double all = 0, left = 0;
    int64_t largest = 0;
    for (int64_t i = 0; i < groups; i++) {
        if (g[i].n < 2 || (!offset && !(g[i].aa > 0)))
            continue;
        double q = offset ? g[i].d / (double)g[i].n : g[i].ab / g[i].aa;
        double rest = offset ? g[i].dd - g[i].d * q : g[i].bb - g[i].ab * q;
        left += fmax(rest, 0) * (double)g[i].n / (double)(g[i].n - 1);
        all += g[i].dd;
        f.low = fmin(f.low, q);
        f.high = fmax(f.high, q);
        if (g[i].n > largest)
            f.one = q, largest = g[i].n;
        f.groups++;
        f.n += g[i].n;
    }
    f.left = all > 0 ? left / all : 1;
    return f;
}

/* Does B = q a + c, but for the rounding of both sides, and is the difference of that sign? The
 * sign is what noise of a step or two does not have. */
static bool fits(const struct plainseen *s, const struct plainseen_element *x, double q,
                 double c)
{
    double a = x->value[0], b = x->value[1], gap = b - a, model = (q - 1) * a + c;
    double room = s->is_float ? 3 * dtype_unit(s->d) * fmax(fabs(a), fabs(b)) : 1.01;
    double near = fmin(fabs(gap), fabs(q * a + c)) / 64; /* of what is left, too */
    return fabs(gap - model) <= fmax(room, near) && gap * model > 0;
}

static int64_t count_fitting(const struct plainseen *s, double q, double c)
{
    int64_t n = 0;
    for (int64_t i = 0; i < s->n; i++)
        n += fits(s, &s->x[i], q, c);
    return n;
}

static bool is_narrow(const struct plainseen *s)
{
    return !s->is_float || dtype_unit(s->d) > 0x1p-10;
}

/* What a number may be: a power of two, or made of the tensor's dimensions. */
static void name_factor(const struct plainseen *s, double q, char *text, size_t size)
{
    double close = s->is_float ? fmax(16 * dtype_unit(s->d), 1e-6) : 1e-3,
           m = fabs(log2(fabs(q)));
    *text = 0;
    if (fabs(m - rint(m)) < close && rint(m) > 0)
        snprintf(text, size, ", 2^%d", (int)rint(log2(fabs(q))));
    for (int i = 0; i < s->rank && !*text; i++) {
        double n = (double)s->dim[i];
        const struct {
            double value;
            const char *format;
        } known[] = {{sqrt(n), ", the root of dimension %.0f"},
                     {n, ", dimension %.0f"},
                     {n / (n - 1), ", n/(n-1) of dimension %.0f"},
                     {sqrt(n / (n - 1)), ", the root of n/(n-1) of dimension %.0f"}};
        for (size_t k = 0; k < 4 && n > 2 && !*text; k++) {
            bool over = fabs(q * known[k].value - 1) < close;
            if (!over && !(fabs(q / known[k].value - 1) < close))
                continue;
            snprintf(text, size, known[k].format, n);
            if (over && strlen(text) + 8 < size)
                strcat(text, " (1 by)");
        }
    }
}

/* The least change that is more than rounding: in narrow formats a step or two. */
static bool telling(const struct plainseen *s, double q)
{
    double u = s->is_float ? dtype_unit(s->d) : 0x1p-8;
    return fabs(q - 1) > (u < 0x1p-20 ? 16 * u : u) && fabs(q) > 1e-6;
}

static bool factor_of_all(struct plainseen *s, const struct group *g)
{
    char words[96], known[80];
    struct fit f = fit_groups(g, 1, false);
    double q = f.one;
    if (f.n < RULE_FEW || 1 - f.left < (is_narrow(s) ? 0.75 : EXPLAINED) || !telling(s, q))
        return false;
    int64_t fitting = count_fitting(s, q, 0);
    if (plainseen_share(s, fitting) < (is_narrow(s) ? 0.9 : 0.8))
        return false;
    name_factor(s, q, known, sizeof known);
    claim_add(s->o, CAUSE_SCALE, '=', plainseen_share(s, fitting),
              "one factor %.9g%s explains %.4g %% of %s: B = %.6g A, A = %.6g B; which side is "
              "right cannot be told without a reference",
              q, known, 100 * plainseen_share(s, fitting), plainseen_words(s, words), q, 1 / q);
    return true;
}

/* --- groups --- */

struct grouping {
    int64_t step, dim; /* group: index / step % dim */
    bool row;          /* all that has it in common lies in the last dimension */
    char words[64];
};

/* Axes, coarse groups first, then leading axes together (rows), then blocks, large ones first.
 */
static int groupings(const struct plainseen *s, struct grouping list[2 * TENSOR_RANK_MAX + 12])
{
    int n = 0;
    for (int i = 0; i < s->rank && s->rank > 1; i++)
        if (s->dim[i] > 1) {
            list[n] = (struct grouping){s->stride[i], s->dim[i], s->rank == 2 && i == 0, ""};
            snprintf(list[n++].words, 64, "each index of dimension %d", i);
        }
    for (int i = 1; i < s->rank - 1; i++) {
        list[n] =
            (struct grouping){s->stride[i], s->count / s->stride[i], i == s->rank - 2, ""};
        snprintf(list[n++].words, 64, "each %" PRId64 " elements (dimensions 0..%d)",
                 s->stride[i], i);
    }
    for (int64_t size = 4096; size >= 16; size /= 2)
        if (s->count >= 4 * size) {
            list[n] = (struct grouping){size, s->count / size + 1, false, ""};
            snprintf(list[n++].words, 64, "each block of %" PRId64 " elements", size);
        }
    return n;
}

static struct fit fit_by(const struct plainseen *s, const struct grouping *how, struct group *g,
                         bool offset)
{
    if (how->dim > GROUPS_MAX && how->dim > s->n)
        return (struct fit){.left = 1};
    int64_t groups = how->dim < GROUPS_MAX ? how->dim : GROUPS_MAX;
    memset(g, 0, (size_t)groups * sizeof *g);
    for (int64_t i = 0; i < s->n; i++)
        if (usable(s, &s->x[i]))
            group_add(&g[s->x[i].index / how->step % how->dim % GROUPS_MAX], &s->x[i]);
    return fit_groups(g, groups, offset);
}

static int64_t count_fitting_by(const struct plainseen *s, const struct grouping *how,
                                const struct group *g, bool offset)
{
    int64_t n = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const struct group *mine = &g[s->x[i].index / how->step % how->dim % GROUPS_MAX];
        double q = offset ? 1 : mine->ab / mine->aa, c = offset ? mine->d / (double)mine->n : 0;
        n += fits(s, &s->x[i], q, c);
    }
    return n;
}

/* Elements in groups whose factor is more than rounding. */
static int64_t count_telling(const struct plainseen *s, const struct grouping *how,
                             const struct group *g)
{
    int64_t n = 0;
    double least = (is_narrow(s) ? 1 : 128) * (s->is_float ? dtype_unit(s->d) : 0x1p-8);
    for (int64_t i = 0; i < s->n; i++) {
        const struct group *mine = &g[s->x[i].index / how->step % how->dim % GROUPS_MAX];
        double q = mine->ab / mine->aa;
        n += fabs(q - 1) > least && fabs(q) > 1e-6;
    }
    return n;
}

static bool by_group(struct plainseen *s, struct group *g, bool offset)
{
    struct grouping list[2 * TENSOR_RANK_MAX + 12];
    char words[96];
    int n = groupings(s, list);
    for (int i = 0; i < n; i++) {
        struct fit f = fit_by(s, &list[i], g, offset);
        double wanted = is_narrow(s) ? 0.9 : EXPLAINED;
        if (f.groups < 2 || f.n < GROUP_LEAST * f.groups || f.n < 0.9 * (double)s->n ||
            1 - f.left < wanted || (!offset && 2 * count_telling(s, &list[i], g) < s->n))
            continue;
        double fitting = plainseen_share(s, count_fitting_by(s, &list[i], g, offset));
        if (fitting < 0.8)
            continue;
        if (!offset && list[i].row && f.low < 1 && f.high > 1 && f.high - f.low < 0x1p-5) {
            claim_add(
                s->o, CAUSE_ACCUMULATE, '=', fitting,
                "one factor near 1 for %s, from %.6g to %.6g, explains %.4g %% of %s: what "
                "they have in common, a sum or a norm, is less precise on one side",
                list[i].words, f.low, f.high, 100 * fitting, plainseen_words(s, words));
            return true;
        }
        claim_add(s->o, CAUSE_SCALE, '=', fitting,
                  "one %s for %s, from %.6g to %.6g in %" PRId64
                  " of them, explains %.4g %% of %s",
                  offset ? "offset" : "factor", list[i].words, f.low, f.high, f.groups,
                  100 * fitting, plainseen_words(s, words));
        return true;
    }
    return false;
}

/* Lost counts, see plainrule_scattered. */
static bool few_counts(const struct plainseen *s)
{
    return !s->is_float && s->differing * 10 < s->count;
}

static struct group *groups_new(const struct plainseen *s)
{
    int64_t most = s->count + 1 < GROUPS_MAX ? s->count + 1 : GROUPS_MAX;
    return s->n >= RULE_FEW ? calloc((size_t)most + 1, sizeof(struct group)) : NULL;
}

static void group_all(const struct plainseen *s, struct group *all)
{
    memset(all, 0, sizeof *all);
    for (int64_t i = 0; i < s->n; i++)
        if (usable(s, &s->x[i]))
            group_add(all, &s->x[i]);
}

/* Out of memory only costs the claim. */
bool plainrule_factor(struct plainseen *s)
{
    struct group all;
    group_all(s, &all);
    if (all.n < s->n * 9 / 10 || few_counts(s) || plainseen_kinds(s, 0) < 3)
        return false;
    if (factor_of_all(s, &all))
        return true;
    struct group *g = groups_new(s);
    bool found = g && by_group(s, g, false);
    free(g);
    return found;
}

bool plainrule_offset(struct plainseen *s)
{
    char words[96];
    struct group all;
    group_all(s, &all);
    struct fit f = fit_groups(&all, 1, true);
    if (f.n < RULE_FEW || all.n < s->n * 9 / 10 || few_counts(s) || plainseen_kinds(s, 0) < 3)
        return false;
    int64_t fitting = count_fitting(s, 1, f.one);
    if (1 - f.left >= EXPLAINED && plainseen_share(s, fitting) >= 0.8) {
        claim_add(s->o, CAUSE_SCALE, '=', plainseen_share(s, fitting),
                  "one offset %+.9g explains %.4g %% of %s: a bias or a zero point", f.one,
                  100 * plainseen_share(s, fitting), plainseen_words(s, words));
        return true;
    }
    struct group *g = groups_new(s);
    bool found = g && by_group(s, g, true);
    free(g);
    return found;
}

/* --- few ratios --- */

bool plainrule_ratios(struct plainseen *s)
{
    enum { RATIOS_MAX = 32, EACH = 16 };
    char words[96];
    double *q = s->n >= RULE_MANY && plainseen_kinds(s, 0) >= 8 ? malloc((size_t)s->n * sizeof *q) : NULL;
    int64_t n = 0, kinds = 0, in_kinds = 0;
    if (!q)
        return false;
    double close = s->is_float ? 8 * dtype_unit(s->d) : 1e-6;
    for (int64_t i = 0; i < s->n; i++) {
        const double *v = s->x[i].value;
        if (plainseen_numbers(s, &s->x[i]) && v[0] != 0 &&
            fabs(v[1] / v[0] - 1) > fmax(1e-3, 2 * close))
            q[n++] = v[1] / v[0];
    }
    qsort(q, (size_t)n, sizeof *q, sample_ascending);
    for (int64_t from = 0, i = 1; i <= n; i++) {
        if (i < n && q[i] - q[i - 1] <= close * fabs(q[i]))
            continue;
        bool kind = i - from >= EACH && q[i - 1] - q[from] <= 8 * close * fabs(q[from]);
        kinds += kind;
        in_kinds += kind ? i - from : 0;
        from = i;
    }
    free(q);
    if (kinds < 2 || kinds > RATIOS_MAX || in_kinds < 0.9 * (double)n || n < 0.5 * (double)s->n)
        return false;
    claim_add(s->o, CAUSE_CODEBOOK, '=', (double)in_kinds / (double)n,
              "B / A takes only %" PRId64
              " values in %.4g %% of %s, and they are not one for each "
              "row or block: codes read with another table",
              kinds, 100 * (double)in_kinds / (double)n, plainseen_words(s, words));
    return true;
}
