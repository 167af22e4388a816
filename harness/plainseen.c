/* SPDX-License-Identifier: Apache-2.0 */
#include "plainseen.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- indices --- */

/* Row-major to the order of the pass, or back: `from` has the strides of what is given. */
static int64_t turn(const struct plainseen *s, int64_t index, bool to_pass)
{
    int64_t turned = 0, in_pass = 1;
    if (!s->turned)
        return index;
    for (int i = 0; i < s->rank; i++) {
        int64_t step = to_pass ? s->stride[i] : in_pass;
        turned += index / step % s->dim[i] * (to_pass ? in_pass : s->stride[i]);
        in_pass *= s->dim[i];
    }
    return turned;
}

int64_t plainseen_index(const struct plainseen *s, int64_t in_pass)
{
    return turn(s, in_pass, false);
}

int64_t plainseen_at(const struct plainseen *s, int64_t index, int axis)
{
    return index / s->stride[axis] % s->dim[axis];
}

/* Whole blocks are looked at or left out, by a hash of their number. */
static bool looked_at(const struct plainseen *s, int64_t index)
{
    uint64_t h = (uint64_t)(index / PLAINSEEN_BLOCK) * 0x9e3779b97f4a7c15u;
    return s->parts <= 1 || (h >> 32) % (uint64_t)s->parts == 0;
}

int64_t plainseen_slot(const struct plainseen *s, int64_t index)
{
    if (index < 0 || index >= s->count || !looked_at(s, index))
        return -1;
    return gap_sample_slot(s->sample, turn(s, index, true));
}

uint64_t plainseen_bits(const struct plainseen *s, int side, int64_t slot)
{
    return gap_sample_bits(s->sample, side, slot);
}

bool plainseen_whole(const struct plainseen *s)
{
    return s->sample->windows == 1 && s->parts <= 1;
}

/* --- which elements --- */

static void take(struct plainseen *s, int64_t index, uint64_t a, uint64_t b)
{
    s->x[s->n++] = (struct plainseen_element){
        index, {a, b}, {dtype_value(s->d, a), dtype_value(s->d, b)}, 0};
}

static int by_index(const void *a, const void *b)
{
    int64_t x = ((const struct plainseen_element *)a)->index,
            y = ((const struct plainseen_element *)b)->index;
    return (x > y) - (x < y);
}

static bool differ(const struct plainseen *s, uint64_t a, uint64_t b)
{
    return a != b && !(s->is_float && dtype_is_nan(s->d, a) && dtype_is_nan(s->d, b));
}

/* Goes through the sample; counts what differs in blocks looked at, and takes it if there is
 * room for it. */
static int64_t walk(struct plainseen *s)
{
    int64_t n = 0;
    const struct gap_sample *m = s->sample;
    for (int64_t slot = 0; slot < m->window * m->windows; slot++) {
        uint64_t a = gap_sample_bits(m, 0, slot), b = gap_sample_bits(m, 1, slot);
        if (!differ(s, a, b))
            continue;
        int64_t in_pass = gap_sample_start(m, slot / m->window) + slot % m->window;
        int64_t index = turn(s, in_pass, false);
        if (!looked_at(s, index))
            continue;
        n++;
        if (s->x && s->n < PLAINSEEN_MAX)
            take(s, index, a, b);
    }
    return n;
}

static void measure(struct plainseen *s)
{
    const struct gap_sample *m = s->sample;
    int64_t slots = m->window * m->windows, step = slots / PLAINSEEN_MAX + 1;
    for (int side = 0; side < 2; side++) {
        double sum = 0;
        int64_t n = 0;
        for (int64_t i = 0; i < slots; i += step) {
            double x = dtype_value(s->d, gap_sample_bits(m, side, i));
            if (!isfinite(x) || fabs(x) > 1e150)
                continue;
            sum += x * x;
            n++;
        }
        s->rms[side] = n ? sqrt(sum / (double)n) : 0;
    }
}

enum err plainseen_init(struct plainseen *s, const struct gap *g,
                        const struct gap_sample *sample, bool turned, struct finding_out *o,
                        struct errinfo *e)
{
    *s = (struct plainseen){.d = o->dtype,
                            .is_float = dtype_info(o->dtype)->kind == DTYPE_KIND_FLOAT,
                            .rank = o->rank,
                            .count = g->count,
                            .turned = turned,
                            .g = g,
                            .sample = sample,
                            .differing = g->count - g->bits_equal,
                            .parts = 1,
                            .o = o};
    memcpy(s->dim, o->dim, sizeof s->dim);
    for (int64_t step = 1, i = s->rank - 1; i >= 0; i--) {
        s->stride[i] = step;
        step *= s->dim[i];
    }
    bool complete = g->n_place <= GAP_PLACES;
    int64_t n = complete ? g->n_place : walk(s);
    s->parts = complete ? 1 : (n + PLAINSEEN_MAX - 1) / PLAINSEEN_MAX;
    s->x = malloc((size_t)((n < PLAINSEEN_MAX ? n : PLAINSEEN_MAX) + 1) * sizeof *s->x);
    if (!s->x)
        return err_set(e, ERR_NOMEM, "out of memory while looking for a cause");
    for (int64_t i = 0; complete && i < n; i++)
        take(s, turn(s, g->place[i].index, false), g->place[i].bits[0], g->place[i].bits[1]);
    if (!complete)
        walk(s);
    qsort(s->x, (size_t)s->n, sizeof *s->x, by_index);
    s->all = s->n == s->differing;
    measure(s);
    return ERR_OK;
}

void plainseen_release(struct plainseen *s)
{
    free(s->x);
    s->x = NULL;
}

/* --- how large --- */

bool plainseen_numbers(const struct plainseen *s, const struct plainseen_element *x)
{
    (void)s;
    return isfinite(x->value[0]) && isfinite(x->value[1]);
}

double plainseen_size(const struct plainseen *s, const struct plainseen_element *x)
{
    if (!plainseen_numbers(s, x))
        return INFINITY;
    double gap = fabs(x->value[1] - x->value[0]);
    if (!s->is_float)
        return gap;
    double scale = fmax(fmax(fabs(x->value[0]), fabs(x->value[1])), fmin(s->rms[0], s->rms[1]));
    return scale > 0 ? gap / (2 * dtype_unit(s->d) * scale) : 0;
}

/* Rounding size: up to 16 units, the noise of sums of many thousand terms; far: a thousand
 * times one unit, or for narrow formats and codes what they leave room for. These are choices.
 */
static double far_size(const struct plainseen *s)
{
    double u = s->is_float ? dtype_unit(s->d) : 0;
    return u && u < 0x1p-20 ? 1024 : u && u < 0x1p-9 ? 48 : u ? 12 : 8;
}

static double near_size(const struct plainseen *s)
{
    double u = s->is_float ? dtype_unit(s->d) : 0;
    return u && u < 0x1p-20 ? 16 : u && u < 0x1p-7 ? 2 : 1;
}

static int by_size(const void *a, const void *b)
{
    const struct plainseen_element *x = a, *y = b;
    return x->near != y->near ? x->near - y->near : by_index(a, b);
}

bool plainseen_split(struct plainseen *s)
{
    int64_t near = 0, far = 0;
    for (int64_t i = 0; i < s->n; i++) {
        double size = plainseen_size(s, &s->x[i]);
        s->x[i].near = size <= near_size(s);
        near += s->x[i].near;
        far += size >= far_size(s);
    }
    int64_t between = s->n - near - far;
    if (!far || near < 8 || near * 100 < s->n || between * 5 > far + 5)
        return false;
    qsort(s->x, (size_t)s->n, sizeof *s->x, by_size);
    s->n_small = near;
    s->n -= near;
    return true;
}

void plainseen_join(struct plainseen *s)
{
    s->n += s->n_small;
    s->n_small = 0;
    qsort(s->x, (size_t)s->n, sizeof *s->x, by_index);
}

bool plainseen_alike(const struct plainseen *s, double x, double y)
{
    double scale = fmax(fmax(fabs(x), fabs(y)), fmin(s->rms[0], s->rms[1]));
    return x == y ||
           (s->is_float && fabs(x - y) <= near_size(s) * 2 * dtype_unit(s->d) * scale);
}

double plainseen_far(const struct plainseen *s)
{
    int64_t far = 0;
    for (int64_t i = 0; i < s->n; i++)
        far += plainseen_size(s, &s->x[i]) >= far_size(s);
    return plainseen_share(s, far);
}

int plainseen_kinds(const struct plainseen *s, int side)
{
    uint64_t kind[PLAINSEEN_KINDS];
    int kinds = 0;
    for (int64_t i = 0; i < s->n && kinds < PLAINSEEN_KINDS; i++) {
        int k = 0;
        while (k < kinds && kind[k] != s->x[i].bits[side])
            k++;
        if (k == kinds)
            kind[kinds++] = s->x[i].bits[side];
    }
    return kinds;
}

/* --- words --- */

double plainseen_share(const struct plainseen *s, int64_t part)
{
    return s->n ? (double)part / (double)s->n : 0;
}

const char *plainseen_words(const struct plainseen *s, char ret_text[96])
{
    snprintf(ret_text, 96, "%" PRId64 "%s differing element%s%s", s->n,
             s->n_small ? " far" : "", s->n == 1 ? "" : "s", s->all ? "" : " looked at");
    return ret_text;
}
