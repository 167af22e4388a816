/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose.h"

#include <math.h>
#include <stdlib.h>

#include "sample.h"
#include "ulp.h"

/* Scales that a single factor for the tensor, a row or a column does not show: one a block, the
 * reciprocal, one beside a constant that is added. */

static double unit_of(const struct suspect *s, int64_t i)
{
    return s->in->oracle->bound[i] + ulp_size(s->t->dtype, s->in->oracle->value[i]);
}

static bool is_usable(const struct suspect *s, int64_t i)
{
    double right = s->in->oracle->value[i];
    return isfinite(right) && isfinite(tensor_value(s->t, i)) && fabs(right) > 16 * unit_of(s, i);
}

/* A factor taken at the block's largest element is off by that one's error over its value, so by
 * no more than a unit at any other; got has a unit and a rounding of its own. */
static bool fits_factor(const struct suspect *s, int64_t i, double factor)
{
    double got = tensor_value(s->t, i);
    double room = 2 * (unit_of(s, i) * fmax(1, fabs(factor)) + ulp_size(s->t->dtype, got));
    return fabs(got - factor * s->in->oracle->value[i]) <= room;
}

/* --- one factor a block ----------------------------------------------------------------------
 */

/* Stretches of `length` elements, from the beginning of the tensor or of each row. */
struct blocks {
    int64_t length, row;
    int64_t tested, fits;        /* elements beside the one that gave the factor */
    int64_t wrong, bad;          /* blocks with another factor than 1; bad elements in them */
    int64_t seen, agree;         /* of those tested, what lies in wrong blocks */
    double low, high;
};

static void block_fit(const struct suspect *s, struct blocks *b, int64_t first, int64_t end)
{
    const double *value = s->in->oracle->value;
    int64_t most = -1, bad = 0, tested = 0, fits = 0;
    for (int64_t i = first; i < end; i++) {
        bad += s->bad[i];
        if (is_usable(s, i) && (most < 0 || fabs(value[i]) > fabs(value[most])))
            most = i;
    }
    if (most < 0)
        return;
    double factor = tensor_value(s->t, most) / value[most];
    for (int64_t i = first; i < end; i++) {
        if (i == most || !is_usable(s, i))
            continue;
        tested++;
        fits += fits_factor(s, i, factor);
    }
    b->tested += tested;
    b->fits += fits;
    if (fabs(factor - 1) * fabs(value[most]) <= 4 * unit_of(s, most))
        return;
    b->low = !b->wrong || factor < b->low ? factor : b->low;
    b->high = !b->wrong || factor > b->high ? factor : b->high;
    b->wrong++;
    b->seen += tested;
    b->agree += fits;
    b->bad += bad;
}

static void blocks_fit(const struct suspect *s, struct blocks *b)
{
    for (int64_t row = 0; row < s->count; row += b->row)
        for (int64_t i = row; i < row + b->row; i += b->length)
            block_fit(s, b, i, i + b->length < row + b->row ? i + b->length : row + b->row);
}

static bool claim_blocks(struct suspect *s, const struct blocks *b)
{
    bool zeros = b->low == 0 && b->high == 0; /* nothing was computed: no scale does that */
    if (zeros || b->tested < 16 || b->fits * 20 < b->tested * 19 || b->bad * 10 < s->n_bad * 8 ||
        b->seen < 8 || b->agree * 20 < b->seen * 19 || (b->wrong > 1 && b->high - b->low <= 1e-6 * fabs(b->high)))
        return false;
    claim_add(s->o, CAUSE_SCALE, s->side, 0.97,
              "blocks of %lld elements%s have one factor each: %lld of them another than 1, from "
              "%.6g to %.6g",
              (long long)b->length, b->row < s->count ? " of a row" : "", (long long)b->wrong,
              b->low, b->high);
    return true;
}

/* The columns in which elements are wrong, where they are one block of equal ones. */
static int64_t wrong_columns(const struct suspect *s, int64_t row)
{
    int64_t first = row, last = -1;
    for (int64_t i = s->first; i <= s->last; i++)
        if (s->bad[i]) {
            first = i % row < first ? i % row : first;
            last = i % row > last ? i % row : last;
        }
    int64_t length = last - first + 1;
    return length >= 8 && length < row && first % length == 0 ? length : 0;
}

void diagnose_blocks(struct suspect *s)
{
    int64_t row = s->t->rank ? s->t->dim[s->t->rank - 1] : 1;
    /* A wrong sum is one factor a row, too. A model has no factors to choose. */
    if (s->n_bad < 8 || suspect_from_zero(s) || (suspect_fit(s) && s->variance > 0.95))
        return;
    for (int64_t length = 8192; length >= 16; length /= 2)
        for (int rows = 0; rows < (row < s->count ? 2 : 1); rows++) {
            struct blocks b = {.length = length, .row = rows ? row : s->count};
            if (length >= b.row)
                continue;
            blocks_fit(s, &b);
            if (claim_blocks(s, &b))
                return;
        }
    struct blocks b = {.length = row < s->count ? wrong_columns(s, row) : 0, .row = row};
    if (b.length) {
        blocks_fit(s, &b);
        claim_blocks(s, &b);
    }
}

/* --- the reciprocal --------------------------------------------------------------------------
 */

void diagnose_reciprocal(struct suspect *s)
{
    double low = INFINITY, high = 0, right_low = INFINITY, right_high = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < s->count; i++) {
        double right = fabs(s->in->oracle->value[i]), got = fabs(tensor_value(s->t, i));
        if (!isfinite(right * got) || right == 0)
            continue;
        low = fmin(low, right * got);
        high = fmax(high, right * got);
        right_low = fmin(right_low, right);
        right_high = fmax(right_high, right);
        n++;
    }
    if (n < 4 || s->n_bad * 10 < s->count * 9 || high > low * 1.01 ||
        right_high < 1.05 * right_low)
        return;
    claim_add(s->o, CAUSE_SCALE, s->side, 0.97,
              "every element times the right one is %.6g: the reciprocal was stored",
              (low + high) / 2);
}

/* --- a factor of coarse codes ----------------------------------------------------------------
 */

/* Results of few bits jump: each lies within a step of the right one times the factor, but for
 * those at the end of the range. */
static int64_t within_step(const struct suspect *s, double factor, int64_t *ret_seen)
{
    enum dtype d = s->t->dtype;
    int64_t fits = 0;
    *ret_seen = 0;
    for (int64_t i = 0; i < s->count; i++) {
        double right = s->in->oracle->value[i], got = tensor_value(s->t, i);
        uint64_t bits = tensor_bits(s->t, i);
        if (!isfinite(right) || !isfinite(got) || right == 0 ||
            fabs(got) >= dtype_max(d) ||
            dtype_is_subnormal(d, bits) || got == 0)
            continue;
        ++*ret_seen;
        fits += fabs(got - factor * right) <=
                ulp_size(d, got) / 2 + fabs(factor) * ulp_size(d, right) / 2;
    }
    return fits;
}

void diagnose_coarse(struct suspect *s)
{
    const struct dtype_info *info = dtype_info(s->t->dtype);
    int64_t n = 0, seen, own;
    if (info->kind != DTYPE_KIND_FLOAT || info->fraction > 3 || s->n_bad * 2 < s->count ||
        (suspect_fit(s) && s->equal >= 0.7))
        return;
    double *ratio = calloc((size_t)s->count, sizeof *ratio);
    for (int64_t i = 0; ratio && i < s->count; i++)
        if (s->in->oracle->value[i] != 0 && isfinite(tensor_value(s->t, i)))
            ratio[n++] = tensor_value(s->t, i) / s->in->oracle->value[i];
    if (ratio)
        qsort(ratio, (size_t)n, sizeof *ratio, sample_ascending);
    double factor = n ? ratio[n / 2] : 1;
    free(ratio);
    int64_t fits = within_step(s, factor, &seen);
    own = within_step(s, 1, &seen);
    if (seen < 32 || fits * 20 < seen * 19 || own * 2 > seen)
        return;
    claim_add(s->o, CAUSE_SCALE, s->side, 0.96,
              "%lld of %lld codes lie within a step of the right ones times about %.3g: another "
              "scale",
              (long long)fits, (long long)seen, factor);
}

/* --- a factor beside a constant --------------------------------------------------------------
 */

/* Least squares of got = constant + slope right on a line of a matrix; at least 0.99 of the
 * errors' variance must go with it. */
static bool line_slope(const struct suspect *s, int64_t first, int64_t step, int64_t length,
                       double *ret_slope)
{
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (int64_t k = 0, i = first; k < length; k++, i += step) {
        double right = s->in->oracle->value[i], got = tensor_value(s->t, i);
        if (!isfinite(right) || !isfinite(got))
            return false;
        n++, x += right, y += got, xx += right * right, xy += right * got;
    }
    double spread = xx - x * x / n;
    if (!(spread > 1e-9 * xx))
        return false;
    *ret_slope = (xy - x * y / n) / spread;
    double constant = (y - *ret_slope * x) / n;
    double total = 0, left = 0;
    for (int64_t k = 0, i = first; k < length; k++, i += step) {
        double right = s->in->oracle->value[i], got = tensor_value(s->t, i);
        total += (got - right) * (got - right);
        left += (got - constant - *ret_slope * right) * (got - constant - *ret_slope * right);
    }
    return left <= 0.01 * total;
}

static bool claim_affine(struct suspect *s, bool columns)
{
    int64_t rows = s->t->dim[0], n = s->t->dim[1];
    int64_t lines = columns ? n : rows, length = columns ? rows : n, fits = 0;
    double *slope = calloc((size_t)lines, sizeof *slope);
    if (!slope)
        return false;
    for (int64_t l = 0; l < lines; l++)
        fits += line_slope(s, columns ? l : l * n, columns ? n : 1, length, &slope[fits]);
    qsort(slope, (size_t)fits, sizeof *slope, sample_ascending);
    double middle = fits ? slope[fits / 2] : 1;
    double width = fits ? slope[fits * 9 / 10] - slope[fits / 10] : 0;
    free(slope);
    if (length < 8 || fits * 10 < lines * 9 || fits < 2 || width > 0.02 * fabs(middle) ||
        fabs(middle - 1) < 2 * width || fabs(middle - 1) < 1e-5)
        return false;
    claim_add(s->o, CAUSE_SCALE, s->side, 0.97,
              "every element is the right one times %.6g plus a constant of its %s: a factor of "
              "what a bias was added to",
              middle, columns ? "column" : "row");
    return true;
}

void diagnose_affine(struct suspect *s)
{
    if (s->t->rank == 2 && s->n_bad * 2 > s->count && !claim_affine(s, true))
        claim_affine(s, false);
}
