/* SPDX-License-Identifier: Apache-2.0 */
#include "gap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ulp.h"

enum { STRIP = 1024, LANES = 8, TABLES = 4 };
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* What the loops need of a format. */
struct shape {
    enum dtype d;
    bool is_float, fnuz;
    int width, unused, shift;
    uint64_t mask, limit, sign, flip; /* float: codes below limit are finite */
    uint64_t normal;                  /* float: the smallest normal number */
    double scale;                     /* float: value = code in the place of a double's, times this */
};

struct marks {
    int64_t smaller[2], flushed[2], zero_sign;
};

/* What one strip comes to, when all of it is finite. */
struct strip {
    int equal;
    double absolute;
    struct marks marks;
    uint32_t values[2];
    int64_t low, high; /* distances */
    uint64_t far;      /* the largest magnitude */
    bool near;         /* the distances are in near, else in far */
};

union distances {
    int32_t near[STRIP];
    int64_t far[STRIP];
};

static struct shape shape_make(enum dtype d)
{
    const struct dtype_info *i = dtype_info(d);
    struct shape f = {.d = d, .width = 8 * i->bytes, .is_float = i->kind == DTYPE_KIND_FLOAT};
    f.sign = 1ULL << (f.width - 1);
    f.flip = f.is_float || i->kind == DTYPE_KIND_INT ? 0 : f.sign;
    if (!f.is_float)
        return f;
    f.fnuz = i->specials == DTYPE_SPECIALS_FNUZ;
    f.unused = f.width - 1 - i->exponent - i->fraction;
    f.mask = (f.sign - 1) >> f.unused << f.unused;
    f.shift = 52 - i->fraction - f.unused;
    f.limit = (dtype_round(d, dtype_max(d)) & f.mask) + (1ULL << f.unused);
    f.normal = 1ULL << (i->fraction + f.unused);
    f.scale = ldexp(1, 1023 - i->bias);
    return f;
}

static inline double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A finite number of a format of at most 32 bits. */
ALWAYS_INLINE double float_value(const struct shape *f, uint32_t bits)
{
    double x = from_bits((uint64_t)(bits & (uint32_t)f->mask) << f->shift) * f->scale;
    return bits & (uint32_t)f->sign ? -x : x;
}

#define WORD uint8_t
#define SIGNED int8_t
#define FLOAT float
#define NAME(x) x##_8
ALWAYS_INLINE float to_float_8(uint8_t bits)
{
    return bits; /* there is no such type */
}
#define GAP_NO_FLOAT
#include "gap_scan.h"

#define WORD uint16_t
#define SIGNED int16_t
#define FLOAT float
#define NAME(x) x##_16
ALWAYS_INLINE float to_float_16(uint16_t bits)
{
    return bits;
}
#include "gap_scan.h"
#undef GAP_NO_FLOAT

#define WORD uint32_t
#define SIGNED int32_t
#define FLOAT float
#define NAME(x) x##_32
#include "gap_scan.h"

#define WORD uint64_t
#define SIGNED int64_t
#define FLOAT double
#define NAME(x) x##_64
#define GAP_WIDE
#include "gap_scan.h"
#undef GAP_WIDE
ALWAYS_INLINE bool near_64(const struct shape *f, const void *a, const void *b, int n,
                           int32_t *d)
{
    (void)f, (void)a, (void)b, (void)n, (void)d;
    return false;
}

/* BY_WIDTH(f, call) calls the function for the format's width. */
#define BY_WIDTH(f, name, ...)                                                                 \
    ((f)->width == 32   ? name##_32(__VA_ARGS__)                                               \
     : (f)->width == 16 ? name##_16(__VA_ARGS__)                                               \
     : (f)->width == 8  ? name##_8(__VA_ARGS__)                                                \
                        : name##_64(__VA_ARGS__))

ALWAYS_INLINE bool strip_special(const struct shape *f, const void *data, int n, uint64_t *bits)
{
    return BY_WIDTH(f, special, f, data, n, bits);
}

/* Everything that can be said of a strip without looking at elements one by one. */
ALWAYS_INLINE bool strip_scan(const struct shape *f, const void *a, const void *b, int n,
                              union distances *d, struct strip *s)
{
    s->near = BY_WIDTH(f, near, f, a, b, n, d->near);
    if (s->near) {
        int32_t low = 0, high = 0;
        for (int i = 0; i < n; i++) {
            low = d->near[i] < low ? d->near[i] : low;
            high = d->near[i] > high ? d->near[i] : high;
        }
        s->low = low;
        s->high = high;
    } else {
        if (!BY_WIDTH(f, far, f, a, b, n, d->far))
            return false;
        int64_t low = 0, high = 0;
        for (int i = 0; i < n; i++) {
            low = d->far[i] < low ? d->far[i] : low;
            high = d->far[i] > high ? d->far[i] : high;
        }
        s->low = low;
        s->high = high;
    }
    uint64_t up = (uint64_t)s->high, down = 0 - (uint64_t)s->low;
    s->far = up > down ? up : down;
    s->equal = BY_WIDTH(f, compare, f, a, b, n, &s->absolute);
    if (f->is_float)
        BY_WIDTH(f, marks, f, a, b, n, &s->marks);
    BY_WIDTH(f, values, a, n, &s->values[0]);
    BY_WIDTH(f, values, b, n, &s->values[1]);
    return true;
}

typedef bool special_fn(const struct shape *f, const void *data, int n, uint64_t *bits);
typedef bool scan_fn(const struct shape *f, const void *a, const void *b, int n, union distances *d,
                     struct strip *s);

static bool special_base(const struct shape *f, const void *data, int n, uint64_t *bits)
{
    return strip_special(f, data, n, bits);
}

static bool scan_base(const struct shape *f, const void *a, const void *b, int n, union distances *d,
                      struct strip *s)
{
    return strip_scan(f, a, b, n, d, s);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static bool special_avx2(const struct shape *f,
                                                         const void *data, int n,
                                                         uint64_t *bits)
{
    return strip_special(f, data, n, bits);
}

__attribute__((target("avx2"))) static bool scan_avx2(const struct shape *f, const void *a,
                                                      const void *b, int n, union distances *d,
                                                      struct strip *s)
{
    return strip_scan(f, a, b, n, d, s);
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}
#else
#define special_avx2 special_base
#define scan_avx2 scan_base
static bool has_avx2(void)
{
    return false;
}
#endif

/* --- one piece --- */

struct piece {
    struct gap *g;
    struct shape f;
    const struct gap_where *where;
    const struct limits *limits; /* NULL: none for elements */
    special_fn *special;
    scan_fn *scan;
    uint32_t near[TABLES][2 * GAP_NEAR];
    union distances d;
};

static int64_t index_of(const struct piece *p, int64_t at)
{
    return p->where->start[at / p->where->run] + at % p->where->run;
}

static uint64_t bits_at(const struct shape *f, const void *data, int64_t i)
{
    switch (f->width) {
    case 8:
        return ((const uint8_t *)data)[i];
    case 16:
        return ((const uint16_t *)data)[i];
    case 32:
        return ((const uint32_t *)data)[i];
    default:
        return ((const uint64_t *)data)[i];
    }
}

static int unequal(const struct shape *f, const void *a, const void *b, int from, int n)
{
    return BY_WIDTH(f, unequal, a, b, from, n);
}

static void square_add(struct gap_square *s, unsigned __int128 x)
{
    s->low += x;
    s->high += s->low < x;
}

static void note_first(struct gap_element *first, int64_t index, uint64_t a, uint64_t b)
{
    if (first->index < 0 || index < first->index)
        *first = (struct gap_element){index, {a, b}};
}

static void note_different(struct gap *g, int64_t index, uint64_t a, uint64_t b)
{
    note_first(&g->first, index, a, b);
    if (index > g->last)
        g->last = index;
    if (g->n_place < GAP_PLACES)
        g->place[g->n_place] = index;
    g->n_place++;
}

static void note_worst(struct gap *g, uint64_t far, const struct gap_element *x)
{
    if (g->worst.index >= 0 &&
        (far < g->worst_ulp || (far == g->worst_ulp && x->index > g->worst.index)))
        return;
    g->worst_ulp = far;
    g->worst = *x;
}

static void note_beyond(struct gap *g, int64_t index, uint64_t a, uint64_t b)
{
    g->beyond++;
    note_first(&g->first_beyond, index, a, b);
}

static double relative_of(double x, double y)
{
    double larger = fmax(fabs(x), fabs(y));
    return larger > 0 ? fabs(y - x) / larger : 0;
}

/* Do the limits allow this pair of finite numbers? */
static bool allowed(const struct piece *p, uint64_t a, uint64_t b, uint64_t far)
{
    double x = dtype_value(p->f.d, a), y = dtype_value(p->f.d, b);
    double absolute = p->f.is_float ? fabs(y - x) : (double)far;
    double relative = relative_of(x, y);
    if (relative > p->g->worst_relative)
        p->g->worst_relative = relative;
    return limits_allow(p->limits, far, absolute, relative);
}

static void element_finite(struct piece *p, uint64_t a, uint64_t b, int64_t index)
{
    struct gap *g = p->g;
    __int128 d = (__int128)ulp_position(p->f.d, b) - ulp_position(p->f.d, a);
    uint64_t far = (uint64_t)(d < 0 ? -d : d);
    g->finite++;
    g->sum += d;
    g->lowest = d < g->lowest ? d : g->lowest;
    g->highest = d > g->highest ? d : g->highest;
    square_add(&g->square, (unsigned __int128)far * far);
    g->cell[gap_cell(d < 0, far)]++;
    if (a == b)
        return;
    note_worst(g, far, &(struct gap_element){index, {a, b}});
    double gap = p->f.is_float ? fabs(dtype_value(p->f.d, b) - dtype_value(p->f.d, a))
                               : (double)far;
    g->worst_absolute = gap > g->worst_absolute ? gap : g->worst_absolute;
    if (p->f.is_float) {
        struct marks m = {0};
        BY_WIDTH(&p->f, marks, &p->f, &a, &b, 1, &m); /* little-endian: low bytes come first */
        for (int side = 0; side < 2; side++) {
            g->smaller[side] += m.smaller[side];
            g->flushed[side] += m.flushed[side];
        }
        g->zero_sign += m.zero_sign;
    }
    if (p->limits && !allowed(p, a, b, far))
        note_beyond(g, index, a, b);
}

static void element_add(struct piece *p, const void *a, const void *b, int64_t at)
{
    struct gap *g = p->g;
    uint64_t x = bits_at(&p->f, a, at), y = bits_at(&p->f, b, at);
    bool nan_x = dtype_is_nan(p->f.d, x), nan_y = dtype_is_nan(p->f.d, y);
    bool inf = dtype_is_inf(p->f.d, x) || dtype_is_inf(p->f.d, y);
    bool class_differs = nan_x != nan_y || (inf && x != y && !nan_x);
    int64_t index = index_of(p, at);
    g->nan_both += nan_x && nan_y;
    g->bits_equal += x == y || (nan_x && nan_y);
    if (x != y && !(nan_x && nan_y))
        note_different(g, index, x, y);
    if (class_differs) {
        g->nan_differs += nan_x != nan_y;
        g->inf_differs += nan_x == nan_y;
        note_first(&g->first_class, index, x, y);
        if (p->limits)
            note_beyond(g, index, x, y);
    } else if (!nan_x && !inf) {
        element_finite(p, x, y, index);
    }
}

static int64_t distance(const struct piece *p, const struct strip *s, int i)
{
    return s->near ? p->d.near[i] : p->d.far[i];
}

static uint64_t magnitude(int64_t d)
{
    return d < 0 ? 0 - (uint64_t)d : (uint64_t)d;
}

/* The distances of a strip into cells, and large ones into the sums. */
static void strip_count(struct piece *p, const struct strip *s, int n)
{
    struct gap *g = p->g;
    if (s->near && s->far < GAP_NEAR) {
        for (int i = 0; i < n; i++)
            p->near[i % TABLES][p->d.near[i] + GAP_NEAR]++;
        return;
    }
    for (int i = 0; i < n; i++) {
        int64_t d = distance(p, s, i);
        uint64_t far = magnitude(d);
        if (far < GAP_NEAR) {
            p->near[i % TABLES][d + GAP_NEAR]++;
            continue;
        }
        g->sum += d;
        square_add(&g->square, (unsigned __int128)far * far);
        g->cell[gap_cell(d < 0, far)]++;
    }
}

/* The small distances of a piece into the cells and sums. */
static void near_commit(struct piece *p)
{
    struct gap *g = p->g;
    for (int i = 1; i < 2 * GAP_NEAR; i++) {
        uint64_t n = 0, d = magnitude(i - GAP_NEAR);
        for (int t = 0; t < TABLES; t++)
            n += p->near[t][i];
        g->cell[GAP_SIDE + i - GAP_NEAR] += n;
        g->sum += (int64_t)n * (i - GAP_NEAR);
        square_add(&g->square, n * d * d);
    }
}

/* The differing elements of a strip: places, and what the limits say. */
static void strip_places(struct piece *p, const struct strip *s, const void *a, const void *b,
                         int64_t at, int n)
{
    struct gap *g = p->g;
    const struct limits *l = p->limits;
    bool judge =
        l && (limits_have(l, LIMIT_REL) || !limits_allow(l, s->far, s->absolute, INFINITY));
    if (!judge && g->n_place >= GAP_PLACES) { /* then only the ends can change */
        int first = unequal(&p->f, a, b, 0, n), last = n - 1;
        while (bits_at(&p->f, a, last) == bits_at(&p->f, b, last))
            last--;
        g->n_place += n - s->equal;
        note_first(&g->first, index_of(p, at + first), bits_at(&p->f, a, first),
                   bits_at(&p->f, b, first));
        int64_t to = index_of(p, at + last);
        g->last = to > g->last ? to : g->last;
        return;
    }
    for (int i = unequal(&p->f, a, b, 0, n); i < n; i = unequal(&p->f, a, b, i + 1, n)) {
        int64_t index = index_of(p, at + i);
        uint64_t far = magnitude(distance(p, s, i));
        uint64_t x = bits_at(&p->f, a, i), y = bits_at(&p->f, b, i);
        note_different(g, index, x, y);
        if (judge && !allowed(p, x, y, far))
            note_beyond(g, index, x, y);
    }
}

static void strip_worst(struct piece *p, const struct strip *s, const void *a, const void *b,
                        int64_t at, int n)
{
    if (p->g->worst.index >= 0 && s->far < p->g->worst_ulp)
        return;
    for (int i = unequal(&p->f, a, b, 0, n); i < n; i = unequal(&p->f, a, b, i + 1, n)) {
        uint64_t far = magnitude(distance(p, s, i));
        if (far == s->far) {
            const struct gap_element x = {index_of(p, at + i),
                                          {bits_at(&p->f, a, i), bits_at(&p->f, b, i)}};
            note_worst(p->g, far, &x);
            return;
        }
    }
}

static void strip_commit(struct piece *p, const struct strip *s, const void *a, const void *b,
                         int64_t at, int n)
{
    struct gap *g = p->g;
    g->finite += n;
    g->bits_equal += s->equal;
    g->lowest = s->low < g->lowest ? s->low : g->lowest;
    g->highest = s->high > g->highest ? s->high : g->highest;
    g->worst_absolute = s->absolute > g->worst_absolute ? s->absolute : g->worst_absolute;
    g->zero_sign += s->marks.zero_sign;
    for (int side = 0; side < 2; side++) {
        g->smaller[side] += s->marks.smaller[side];
        g->flushed[side] += s->marks.flushed[side];
        g->values[side] += s->values[side];
    }
    strip_count(p, s, n);
    if (s->equal < n) {
        strip_places(p, s, a, b, at, n);
        strip_worst(p, s, a, b, at, n);
    }
}

static void strip_add(struct piece *p, const char *a, const char *b, int64_t at, int n)
{
    struct gap *g = p->g;
    size_t size = (size_t)p->f.width / 8;
    bool same = !memcmp(a, b, size * (size_t)n);
    bool odd = p->special(&p->f, a, n, &g->bits[0]);
    if (same) {
        g->bits[1] |= g->bits[0];
    } else {
        odd |= p->special(&p->f, b, n, &g->bits[1]);
    }
    if (same && !odd) {
        g->finite += n;
        g->bits_equal += n;
        g->cell[GAP_SIDE] += (uint64_t)n;
        return;
    }
    struct strip s = {0};
    if (!odd && p->scan(&p->f, a, b, n, &p->d, &s)) {
        if (!p->f.is_float)
            s.absolute = (double)s.far;
        strip_commit(p, &s, a, b, at, n);
        return;
    }
    BY_WIDTH(&p->f, values, a, n, &g->values[0]);
    BY_WIDTH(&p->f, values, b, n, &g->values[1]);
    const char *from_a = a - (size_t)at * size, *from_b = b - (size_t)at * size;
    for (int64_t i = at; i < at + n; i++)
        element_add(p, from_a, from_b, i);
}

void gap_add(struct gap *g, enum dtype d, const void *a, const void *b, int64_t n,
             const struct gap_where *where, const struct limits *l)
{
    bool judge = false, wide = has_avx2();
    for (int i = 0; l && i < l->n; i++)
        judge = judge || limit_of_elements(&l->rule[i]);
    struct piece p = {.g = g, .f = shape_make(d), .where = where, .limits = judge ? l : NULL};
    p.special = wide ? special_avx2 : special_base;
    p.scan = wide ? scan_avx2 : scan_base;
    size_t size = (size_t)p.f.width / 8;
    for (int64_t at = 0; at < n; at += STRIP)
        strip_add(&p, (const char *)a + (size_t)at * size, (const char *)b + (size_t)at * size, at,
                  n - at < STRIP ? (int)(n - at) : STRIP);
    near_commit(&p);
    g->count += n;
}

/* --- the whole --- */

int gap_cell(bool negative, uint64_t magnitude)
{
    int cell = (int)magnitude;
    if (magnitude >= GAP_NEAR) {
        int e = 63 - __builtin_clzll(magnitude);
        cell = GAP_NEAR + (e - 7) * GAP_BINADE + (int)(magnitude >> (e - 6) & (GAP_BINADE - 1));
    }
    return negative ? GAP_SIDE - cell : GAP_SIDE + cell;
}

double gap_cell_value(int cell)
{
    int m = cell < GAP_SIDE ? GAP_SIDE - cell : cell - GAP_SIDE;
    double x = m;
    if (m >= GAP_NEAR) {
        int e = (m - GAP_NEAR) / GAP_BINADE + 7, part = (m - GAP_NEAR) % GAP_BINADE;
        x = ldexp(GAP_BINADE + part + 0.5, e - 6);
    }
    return cell < GAP_SIDE ? -x : x;
}

enum err gap_init(struct gap *g, struct errinfo *e)
{
    const struct gap_element none = {.index = -1};
    *g = (struct gap){.first = none,
                      .first_class = none,
                      .first_beyond = none,
                      .worst = none,
                      .last = -1};
    g->cell = calloc(GAP_CELLS, sizeof *g->cell);
    g->place = malloc(GAP_PLACES * sizeof *g->place);
    if (g->cell && g->place)
        return ERR_OK;
    gap_release(g);
    return err_set(e, ERR_NOMEM, "no memory for a comparison");
}

void gap_release(struct gap *g)
{
    free(g->cell);
    free(g->place);
    g->cell = NULL;
    g->place = NULL;
}

static void merge_first(struct gap_element *x, const struct gap_element *other)
{
    if (other->index >= 0)
        note_first(x, other->index, other->bits[0], other->bits[1]);
}

static void merge_counts(struct gap *g, const struct gap *o)
{
    g->count += o->count;
    g->bits_equal += o->bits_equal;
    g->finite += o->finite;
    g->nan_differs += o->nan_differs;
    g->inf_differs += o->inf_differs;
    g->nan_both += o->nan_both;
    g->zero_sign += o->zero_sign;
    g->beyond += o->beyond;
    for (int side = 0; side < 2; side++) {
        g->flushed[side] += o->flushed[side];
        g->smaller[side] += o->smaller[side];
        g->bits[side] |= o->bits[side];
        g->values[side] += o->values[side];
    }
    for (int i = 0; i < GAP_CELLS; i++)
        g->cell[i] += o->cell[i];
}

void gap_merge(struct gap *g, const struct gap *o)
{
    merge_counts(g, o);
    merge_first(&g->first, &o->first);
    merge_first(&g->first_class, &o->first_class);
    merge_first(&g->first_beyond, &o->first_beyond);
    g->last = o->last > g->last ? o->last : g->last;
    if (o->worst.index >= 0)
        note_worst(g, o->worst_ulp, &o->worst);
    g->worst_absolute = fmax(g->worst_absolute, o->worst_absolute);
    g->worst_relative = fmax(g->worst_relative, o->worst_relative);
    g->sum += o->sum;
    g->lowest = o->lowest < g->lowest ? o->lowest : g->lowest;
    g->highest = o->highest > g->highest ? o->highest : g->highest;
    g->square.high += o->square.high;
    square_add(&g->square, o->square.low);
    for (int64_t i = 0; i < o->n_place && o->n_place <= GAP_PLACES; i++)
        if (g->n_place + i < GAP_PLACES)
            g->place[g->n_place + i] = o->place[i];
    g->n_place += o->n_place;
}

static enum err make_sample(const struct gap *g, struct sample *ret_sample, struct errinfo *e)
{
    struct sample s = {.x = malloc(GAP_CELLS * sizeof *s.x),
                       .upto = malloc(GAP_CELLS * sizeof *s.upto)};
    if (!s.x || !s.upto) {
        sample_release(&s);
        return err_set(e, ERR_NOMEM, "no memory for a distribution");
    }
    for (int i = 0; i < GAP_CELLS; i++)
        if (g->cell[i]) {
            s.total += (int64_t)g->cell[i];
            s.x[s.n] = gap_cell_value(i);
            s.upto[s.n++] = s.total;
        }
    *ret_sample = s;
    return ERR_OK;
}

enum err gap_pair(const struct gap *g, struct pair_stats *ret_pair, struct errinfo *e)
{
    struct sample s;
    TRY(make_sample(g, &s, e));
    struct moments m = {.count = g->finite,
                        .sum = (double)g->sum,
                        .square = ldexp((double)g->square.high, 128) + (double)g->square.low,
                        .minimum = (double)g->lowest,
                        .maximum = (double)g->highest};
    struct pair_stats p = {.count = g->count,
                           .bits_equal = g->bits_equal,
                           .nan_differs = g->nan_differs,
                           .inf_differs = g->inf_differs,
                           .worst_index =
                               g->first_class.index >= 0 ? g->first_class.index : g->worst.index,
                           .first_index = g->first.index,
                           .worst_ulp = g->worst_ulp,
                           .worst_absolute = g->worst_absolute,
                           .ks = NAN,
                           .ks_p = NAN,
                           .wasserstein = NAN};
    distribution_make(&m, &s, &p.ulp);
    sample_release(&s);
    *ret_pair = p;
    return ERR_OK;
}

static bool keeps(const struct gap *g, const struct limit_rule *r)
{
    double most = r->term[0].value;
    switch (r->term[0].kind) {
    case LIMIT_SHARE:
        return (double)(g->count - g->bits_equal) <= most * (double)g->count;
    case LIMIT_MEAN:
        return fabs((double)g->sum) <= most * (double)g->finite;
    case LIMIT_BOUND:
        return true;
    default:
        return !g->beyond;
    }
}

const struct limit_rule *gap_broken(const struct gap *g, const struct limits *l)
{
    for (int i = 0; i < l->n; i++)
        if (!keeps(g, &l->rule[i]))
            return &l->rule[i];
    return NULL;
}
