/* SPDX-License-Identifier: Apache-2.0 */
#include "charts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codes.h"
#include "reference.h"
#include "ulp.h"

struct sums {
    double off[3], size;
};

struct charting {
    const struct tensor *side[2]; /* [1] NULL: one-sided */
    const struct oracle *o;
    struct tensor shape;
    enum dtype dtype;
    int64_t count;
    bool sequence;
    struct charts c;
    struct binades *binades; /* owned; NULL: codes have no magnitude */
    int64_t cell[CHARTS_ROWS][CHARTS_COLUMNS], differ[CHARTS_ROWS][CHARTS_COLUMNS];
    int64_t stride; /* elements of a point of the sequence; 0: none */
    struct sums step[CHARTS_STEPS];
    struct codes moves; /* owned; n 0: no codes */
};

/* --- where -----------------------------------------------------------------------------------
 */

/* |error| / bound; -1: not judged. */
static double used_of(const struct charting *v, const struct reference *r, uint64_t bits)
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

static void place_use(struct charting *v, int row, int column, int64_t i)
{
    struct charts *c = &v->c;
    const struct oracle *o = v->o;
    struct reference r = reference_make(v->dtype, o->value[i], o->tail[i], o->bound[i]);
    for (int s = 0; s < 2 && v->side[s]; s++) {
        float used = (float)used_of(v, &r, tensor_bits(v->side[s], i));
        c->used[s][row][column] = fmaxf(c->used[s][row][column], used);
    }
}

static void map_begin(struct charting *k)
{
    static const float none = -1;
    map_shape(&k->shape, &k->c);
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < CHARTS_ROWS * CHARTS_COLUMNS; i++)
            (&k->c.used[s][0][0])[i] = none;
}

static void place_add(struct charting *k, int64_t i)
{
    const struct charts *c = &k->c;
    int row = (int)(i / c->line / c->row_step), column = (int)(i % c->line / c->column_step);
    k->cell[row][column]++;
    if (k->o)
        place_use(k, row, column, i);
    if (k->side[1])
        k->differ[row][column] +=
            bits_differ(k->dtype, tensor_bits(k->side[0], i), tensor_bits(k->side[1], i));
}

static void map_make(const struct charting *k, struct charts *c)
{
    for (int r = 0; r < CHARTS_ROWS; r++)
        for (int n = 0; n < CHARTS_COLUMNS; n++)
            if (k->cell[r][n])
                c->differ[r][n] = (float)k->differ[r][n] / (float)k->cell[r][n];
}

/* --- from step to step -----------------------------------------------------------------------
 */

static void sums_add_code(const struct charting *v, int64_t i, struct sums *s)
{
    uint64_t a = tensor_bits(v->side[0], i), b = v->side[1] ? tensor_bits(v->side[1], i) : a;
    uint64_t right = dtype_round(v->dtype, v->o->value[i]);
    s->off[0] += a != right;
    s->off[1] += b != right;
    s->off[2] += a != b;
    s->size += 1;
}

static void sums_add_number(const struct charting *v, int64_t i, struct sums *s)
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

static void steps_begin(struct charting *k)
{
    const struct tensor *t = &k->shape;
    if (!k->sequence || t->rank < 2 || t->dim[0] < 2)
        return;
    k->c.steps = t->dim[0];
    k->c.step_width = (k->c.steps + CHARTS_STEPS - 1) / CHARTS_STEPS;
    k->stride = k->count / k->c.steps * k->c.step_width;
}

static void steps_add(struct charting *k, int64_t i)
{
    struct sums *s = &k->step[i / k->stride];
    if (dtype_info(k->dtype)->kind == DTYPE_KIND_CODE)
        sums_add_code(k, i, s);
    else
        sums_add_number(k, i, s);
}

static void steps_make(const struct charting *k, struct charts *c)
{
    bool code = dtype_info(k->dtype)->kind == DTYPE_KIND_CODE;
    c->points = (int)((k->count + k->stride - 1) / k->stride);
    for (int n = 0; n < c->points; n++)
        for (int x = 0; x < 3; x++) {
            const struct sums *s = &k->step[n];
            double ratio = s->off[x] == 0 ? 0 : s->off[x] / s->size;
            c->drift[x][n] = code ? ratio : sqrt(ratio);
        }
}

/* --- codes -----------------------------------------------------------------------------------
 */

static void element_moves(struct charting *v, int64_t i)
{
    const struct tensor *a = v->side[0], *b = v->side[1];
    codes_add(&v->moves, b ? tensor_bits(a, i) : dtype_round(v->dtype, v->o->value[i]),
              tensor_bits(b ? b : a, i));
}

static void move_add(struct charts *c, int from, int to, int64_t count)
{
    int column = from * c->code_columns / c->codes, far = abs(to - from), row = 0;
    c->code_count[column] += count;
    if (!far)
        return;
    while (1 << row < far)
        row++;
    row++;
    c->moved += count;
    c->move[CHARTS_FAR + (to > from ? row : -row)][column] += count;
}

static void moves_make(const struct charting *k, struct charts *c)
{
    struct codes_stats s;
    int flip = dtype_info(k->dtype)->kind == DTYPE_KIND_INT ? 128 : 0;
    for (int from = 0; from < c->codes; from++)
        for (int to = 0; to < c->codes; to++)
            move_add(c, from ^ flip, to ^ flip, k->moves.move[from * c->codes + to]);
    codes_finish(&k->moves, &s);
    for (int i = 0; i < CHARTS_TOP; i++)
        c->top[i] = (struct charts_move){s.top[i].from ^ flip, s.top[i].to ^ flip, s.top[i].count};
}

/* Of floats of one byte a distance in ULP says more. */
static enum err codes_begin(struct charting *k, struct errinfo *e)
{
    struct charts *c = &k->c;
    if (dtype_info(k->dtype)->kind == DTYPE_KIND_FLOAT || !codes_of(k->dtype))
        return ERR_OK;
    c->codes = codes_of(k->dtype);
    c->code_columns = c->codes < CHARTS_CODES ? c->codes : CHARTS_CODES;
    return codes_init(&k->moves, k->dtype, e);
}

/* --- all of them -----------------------------------------------------------------------------
 */

enum err charts_begin(const struct tensor *shape, bool sequence, struct charting **ret_charting,
                      struct errinfo *e)
{
    struct charting *k = calloc(1, sizeof *k);
    if (!k)
        return err_set(e, ERR_NOMEM, "no memory for the plots");
    k->shape = *shape;
    k->dtype = shape->dtype;
    k->count = shape->count;
    k->sequence = sequence;
    bool numbers = dtype_info(k->dtype)->kind != DTYPE_KIND_CODE;
    if (numbers)
        k->binades = binades_open();
    if (k->count) {
        map_begin(k);
        steps_begin(k);
    }
    enum err err = numbers && !k->binades ? err_set(e, ERR_NOMEM, "no memory for the plots")
                   : k->count             ? codes_begin(k, e)
                                          : ERR_OK;
    if (err)
        charts_close(k);
    else
        *ret_charting = k;
    return err;
}

void charts_add(struct charting *k, const struct tensor *a, const struct tensor *b,
                const struct oracle *o, struct case_span window)
{
    k->side[0] = a;
    k->side[1] = b;
    k->o = o;
    for (int64_t i = window.from; i < window.to; i++) {
        if (o && k->binades)
            binades_add(k->binades, k->side, o, i);
        place_add(k, i);
        if (o && k->stride)
            steps_add(k, i);
        if (k->moves.n && (o || b))
            element_moves(k, i);
    }
}

void charts_add_pair(struct charting *k, int64_t index, uint64_t a, uint64_t b)
{
    struct charts *c = &k->c;
    int row = (int)(index / c->line / c->row_step), column = (int)(index % c->line / c->column_step);
    bool differ = bits_differ(k->dtype, a, b),
         finite = dtype_is_finite(k->dtype, a) && dtype_is_finite(k->dtype, b);
    double far = !differ ? 0 : finite ? (double)ulp_distance(k->dtype, a, b) : INFINITY;
    double size = finite ? fmax(fabs(dtype_value(k->dtype, a)), fabs(dtype_value(k->dtype, b))) : 0;
    c->pair = true;
    k->cell[row][column]++;
    k->differ[row][column] += differ;
    c->used[0][row][column] = fmaxf(c->used[0][row][column], (float)far);
    if (k->binades && far > 0 && size > 0)
        binades_note(k->binades, size, far);
    if (k->moves.n)
        codes_add(&k->moves, a, b);
}

void charts_end(struct charting *k, struct charts *ret_charts)
{
    struct charts *c = &k->c;
    if (k->binades)
        c->n_band = binades_end(k->binades, &c->exponent, &c->width, c->band, c->bound);
    map_make(k, c);
    if (k->stride && k->o)
        steps_make(k, c);
    else
        c->steps = c->step_width = 0;
    if (k->moves.n && (k->o || k->side[1] || c->pair))
        moves_make(k, c);
    else
        c->codes = c->code_columns = 0;
    *ret_charts = *c;
}

void charts_close(struct charting *k)
{
    if (!k)
        return;
    binades_close(k->binades);
    codes_release(&k->moves);
    free(k);
}

enum err charts_make(const struct tensor *a, const struct tensor *b, const struct oracle *o,
                     bool sequence, struct charts *ret_charts, struct errinfo *e)
{
    struct charting *k;
    TRY(charts_begin(a, sequence, &k, e));
    charts_add(k, a, b, o, (struct case_span){0, a->count});
    charts_end(k, ret_charts);
    charts_close(k);
    return ERR_OK;
}
