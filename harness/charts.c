/* SPDX-License-Identifier: Apache-2.0 */
#include "charts.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference.h"
#include "ulp.h"

/* Half binades of |error| in ULP from 2^BIN_LOW; the first bin takes what is below, 0 too. */
enum { BINS = 160, BIN_LOW = -30 };

struct view {
    const struct tensor *side[2]; /* [1] NULL: one-sided */
    const struct oracle *o;
    enum dtype dtype;
    int64_t count;
};

/* --- error against magnitude -----------------------------------------------------------------
 */

struct bands {
    int64_t bin[2][CHARTS_BANDS][BINS];
};

static bool has_magnitude(const struct oracle *o, int64_t i)
{
    return isfinite(o->value[i]) && o->value[i] != 0;
}

static bool bands_range(const struct view *v, struct charts *c)
{
    int low = INT_MAX, high = INT_MIN;
    for (int64_t i = 0; i < v->count; i++) {
        if (!has_magnitude(v->o, i))
            continue;
        int e = ilogb(v->o->value[i]);
        low = e < low ? e : low;
        high = e > high ? e : high;
    }
    if (low > high)
        return false;
    c->width = (high - low) / CHARTS_BANDS + 1;
    c->exponent = low;
    c->n_band = (high - low) / c->width + 1;
    return true;
}

static int bin_of(double error)
{
    if (!(error > 0))
        return 0;
    double bin = 2 * (log2(error) - BIN_LOW);
    return bin < 1 ? 0 : bin > BINS - 1 ? BINS - 1 : (int)bin;
}

static double bin_middle(int bin)
{
    return bin ? exp2(0.5 * bin + 0.25 + BIN_LOW) : 0;
}

static void band_add(const struct view *v, struct charts *c, struct bands *n, int band,
                     int64_t i)
{
    const struct oracle *o = v->o;
    double bound = o->bound[i] / ulp_size(v->dtype, o->value[i]);
    if (bound < INFINITY)
        c->bound[band] = fmax(c->bound[band], bound);
    for (int s = 0; s < 2 && v->side[s]; s++) {
        uint64_t bits = tensor_bits(v->side[s], i);
        if (!dtype_is_finite(v->dtype, bits))
            continue;
        double error = fabs(ulp_error(v->dtype, bits, o->value[i], o->tail[i]));
        struct charts_band *b = &c->band[s][band];
        b->count++;
        b->worst = fmax(b->worst, error);
        n->bin[s][band][bin_of(error)]++;
    }
}

static double band_median(const int64_t *bin, const struct charts_band *b)
{
    int64_t below = 0;
    for (int i = 0; i < BINS; i++) {
        below += bin[i];
        if (2 * below >= b->count)
            return fmin(bin_middle(i), b->worst);
    }
    return b->worst;
}

static enum err bands_make(const struct view *v, struct charts *c, struct errinfo *e)
{
    if (!bands_range(v, c))
        return ERR_OK;
    struct bands *n = calloc(1, sizeof *n);
    if (!n)
        return err_set(e, ERR_NOMEM, "no memory for the plots");
    for (int64_t i = 0; i < v->count; i++)
        if (has_magnitude(v->o, i))
            band_add(v, c, n, (ilogb(v->o->value[i]) - c->exponent) / c->width, i);
    for (int s = 0; s < 2; s++)
        for (int k = 0; k < c->n_band; k++)
            if (c->band[s][k].count)
                c->band[s][k].median = band_median(n->bin[s][k], &c->band[s][k]);
    free(n);
    return ERR_OK;
}

/* --- where -----------------------------------------------------------------------------------
 */

/* |error| / bound; -1: not judged. */
static double used_of(const struct view *v, const struct reference *r, uint64_t bits)
{
    switch (reference_judge(r, v->dtype, bits)) {
    case JUDGEMENT_NAN_WRONG:
    case JUDGEMENT_INF_WRONG:
        return INFINITY;
    case JUDGEMENT_NUMBER: {
        double error = fabs(reference_error(r, v->dtype, bits));
        return error == 0 ? 0 : error / r->bound;
    }
    default:
        return r->bound < INFINITY ? 0 : -1;
    }
}

static bool bits_differ(enum dtype d, uint64_t a, uint64_t b)
{
    return a != b && !(dtype_is_nan(d, a) && dtype_is_nan(d, b));
}

/* One dimension becomes lines of a power of two elements, about twice as wide as high. */
static void map_shape(const struct tensor *t, struct charts *c)
{
    c->line = t->rank ? t->dim[t->rank - 1] : 1;
    if (t->rank == 1 || c->line == t->count)
        for (c->line = 1; c->line * c->line < 2 * t->count && c->line < t->count;)
            c->line *= 2;
    if (c->line < 1)
        c->line = 1;
    c->lines = (t->count + c->line - 1) / c->line;
    c->column_step = (c->line + CHARTS_COLUMNS - 1) / CHARTS_COLUMNS;
    c->row_step = (c->lines + CHARTS_ROWS - 1) / CHARTS_ROWS;
    c->columns = (int)((c->line + c->column_step - 1) / c->column_step);
    c->rows = (int)((c->lines + c->row_step - 1) / c->row_step);
}

static void place_use(const struct view *v, struct charts *c, int row, int column, int64_t i)
{
    const struct oracle *o = v->o;
    struct reference r = reference_make(v->dtype, o->value[i], o->tail[i], o->bound[i]);
    for (int s = 0; s < 2 && v->side[s]; s++) {
        float used = (float)used_of(v, &r, tensor_bits(v->side[s], i));
        c->used[s][row][column] = fmaxf(c->used[s][row][column], used);
    }
}

static void map_make(const struct view *v, struct charts *c)
{
    static const float none = -1;
    int64_t cell[CHARTS_ROWS][CHARTS_COLUMNS] = {{0}};
    map_shape(v->side[0], c);
    for (int s = 0; s < 2; s++)
        for (int k = 0; k < CHARTS_ROWS * CHARTS_COLUMNS; k++)
            (&c->used[s][0][0])[k] = none;
    for (int64_t i = 0; i < v->count; i++) {
        int row = (int)(i / c->line / c->row_step),
            column = (int)(i % c->line / c->column_step);
        cell[row][column]++;
        if (v->o)
            place_use(v, c, row, column, i);
        if (v->side[1])
            c->differ[row][column] +=
                bits_differ(v->dtype, tensor_bits(v->side[0], i), tensor_bits(v->side[1], i));
    }
    for (int k = 0; k < CHARTS_ROWS * CHARTS_COLUMNS; k++)
        if ((&cell[0][0])[k])
            (&c->differ[0][0])[k] /= (float)(&cell[0][0])[k];
}

/* --- from step to step -----------------------------------------------------------------------
 */

struct sums {
    double off[3], size;
};

static void sums_add_code(const struct view *v, int64_t i, struct sums *s)
{
    uint64_t a = tensor_bits(v->side[0], i), b = v->side[1] ? tensor_bits(v->side[1], i) : a;
    uint64_t right = dtype_round(v->dtype, v->o->value[i]);
    s->off[0] += a != right;
    s->off[1] += b != right;
    s->off[2] += a != b;
    s->size += 1;
}

static void sums_add_number(const struct view *v, int64_t i, struct sums *s)
{
    double right = v->o->value[i], a = tensor_value(v->side[0], i),
           b = v->side[1] ? tensor_value(v->side[1], i) : a;
    if (!isfinite(right) || !isfinite(a) || !isfinite(b))
        return;
    s->off[0] += (a - right) * (a - right);
    s->off[1] += (b - right) * (b - right);
    s->off[2] += (b - a) * (b - a);
    s->size += right * right;
}

static void steps_make(const struct view *v, struct charts *c)
{
    const struct tensor *t = v->side[0];
    bool code = dtype_info(v->dtype)->kind == DTYPE_KIND_CODE;
    c->steps = t->dim[0];
    c->step_width = (c->steps + CHARTS_STEPS - 1) / CHARTS_STEPS;
    int64_t stride = v->count / c->steps * c->step_width;
    for (int64_t from = 0; from < v->count; from += stride) {
        struct sums s = {0};
        int64_t to = from + stride < v->count ? from + stride : v->count;
        for (int64_t i = from; i < to; i++)
            code ? sums_add_code(v, i, &s) : sums_add_number(v, i, &s);
        for (int k = 0; k < 3; k++) {
            double ratio = s.off[k] == 0 ? 0 : s.off[k] / s.size;
            c->drift[k][c->points] = code ? ratio : sqrt(ratio);
        }
        c->points++;
    }
}

/* --- codes -----------------------------------------------------------------------------------
 */

static int codes_of(enum dtype d)
{
    if (d == DTYPE_NF4X2 || d == DTYPE_FP4X2)
        return 16;
    enum dtype_kind k = dtype_info(d)->kind;
    return dtype_info(d)->bytes == 1 && k != DTYPE_KIND_FLOAT ? 256 : 0;
}

static void move_add(struct charts *c, int64_t *table, int from, int to)
{
    int column = from * c->code_columns / c->codes, far = abs(to - from), row = 0;
    c->code_count[column]++;
    if (!far)
        return;
    while (1 << row < far)
        row++;
    row++;
    c->moved++;
    c->move[CHARTS_FAR + (to > from ? row : -row)][column]++;
    table[from * c->codes + to]++;
}

static void element_moves(const struct view *v, struct charts *c, int64_t *table, int64_t i)
{
    const struct tensor *a = v->side[0], *b = v->side[1];
    uint64_t to = tensor_bits(b ? b : a, i);
    uint64_t from = b ? tensor_bits(a, i) : dtype_round(v->dtype, v->o->value[i]);
    int flip = dtype_info(v->dtype)->kind == DTYPE_KIND_INT ? 128 : 0;
    if (c->codes == 256) {
        move_add(c, table, (int)(from & 255) ^ flip, (int)(to & 255) ^ flip);
        return;
    }
    move_add(c, table, (int)(from >> 4 & 15), (int)(to >> 4 & 15));
    move_add(c, table, (int)(from & 15), (int)(to & 15));
}

static void top_take(struct charts *c, const int64_t *table)
{
    for (int i = 0; i < c->codes * c->codes; i++) {
        struct charts_move m = {i / c->codes, i % c->codes, table[i]};
        for (int k = 0; k < CHARTS_TOP; k++)
            if (m.count > c->top[k].count) {
                struct charts_move less = c->top[k];
                c->top[k] = m;
                m = less;
            }
    }
}

static enum err codes_make(const struct view *v, struct charts *c, struct errinfo *e)
{
    c->codes = v->o || v->side[1] ? codes_of(v->dtype) : 0;
    if (!c->codes)
        return ERR_OK;
    c->code_columns = c->codes < CHARTS_CODES ? c->codes : CHARTS_CODES;
    int64_t *table = calloc((size_t)c->codes * (size_t)c->codes, sizeof *table);
    if (!table)
        return err_set(e, ERR_NOMEM, "no memory for the plots");
    for (int64_t i = 0; i < v->count; i++)
        element_moves(v, c, table, i);
    top_take(c, table);
    free(table);
    return ERR_OK;
}

enum err charts_make(const struct tensor *a, const struct tensor *b, const struct oracle *o,
                     bool sequence, struct charts *ret_charts, struct errinfo *e)
{
    struct view v = {{a, b}, o, a->dtype, a->count};
    memset(ret_charts, 0, sizeof *ret_charts);
    if (!v.count)
        return ERR_OK;
    if (o && dtype_info(v.dtype)->kind != DTYPE_KIND_CODE)
        TRY(bands_make(&v, ret_charts, e));
    map_make(&v, ret_charts);
    if (o && sequence && a->rank > 1 && a->dim[0] > 1)
        steps_make(&v, ret_charts);
    return codes_make(&v, ret_charts, e);
}
