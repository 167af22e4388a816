/* SPDX-License-Identifier: Apache-2.0 */
#include "gemm.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "unit.h"

enum input { IN_EXACT, IN_TF32_RZ, IN_TF32, IN_BF16, IN_F16, IN_FLUSHED };
enum product { PRODUCT_EXACT, PRODUCT_F32, PRODUCT_F32_FTZ, PRODUCT_INPUT };
enum accumulate {
    ACC_F32,
    ACC_F32_RZ,
    ACC_14_RZ,
    ACC_F32_FTZ,
    ACC_F32_FTZ_ADD,
    ACC_F16,
    ACC_BF16,
    ACC_OUT,
    ACC_WIDE
};
enum order {
    FORWARD,
    BACKWARD,
    TREE,
    SPLIT,
    DROP,
    TAIL,
    SWAP_A,
    SWAP_B,
    NO_ALPHA,
    NO_BETA,
    UNIT_AMPERE,
    UNIT_GFX11
};

struct recipe {
    enum input input;
    enum product product;
    enum accumulate accumulate;
    enum order order;
    int64_t argument;
};

const struct case_model gemm_models[] = {
#define MODEL(name, cause, right, input, product, accumulate, order, argument)                 \
    {name, CAUSE_##cause, right, order == SWAP_A},
#include "model.def"
#undef MODEL
    {NULL, CAUSE_UNEXPLAINED, false, false},
};

static const struct recipe recipes[] = {
#define MODEL(name, cause, right, input, product, accumulate, order, argument)                 \
    {IN_##input, PRODUCT_##product, ACC_##accumulate, order, argument},
#include "model.def"
#undef MODEL
};

/* One dot product under way: operands as doubles, which hold every input format. */
struct dot {
    const struct gemm *g;
    const struct recipe *r;
    const double *a, *b;
};

static double round_to(enum dtype d, double x)
{
    return isfinite(x) ? dtype_value(d, dtype_round(d, x)) : x;
}

static double cut_tf32(double x)
{
    float f = (float)x;
    union {
        float f;
        uint32_t u;
    } bits = {f};
    bits.u &= ~UINT32_C(0x1fff);
    return (double)bits.f;
}

static double change_input(enum input kind, double x, enum dtype d)
{
    switch (kind) {
    case IN_TF32_RZ:
        return cut_tf32(x);
    case IN_TF32:
        return round_to(DTYPE_TF32, x);
    case IN_BF16:
        return round_to(DTYPE_BF16, x);
    case IN_F16:
        return round_to(DTYPE_F16, x);
    case IN_FLUSHED:
        return fabs(x) < dtype_min_normal(d) ? copysign(0, x) : x;
    default:
        return x;
    }
}

static float add_truncating(float acc, double product)
{
    int mode = fegetround();
    fesetround(FE_TOWARDZERO);
    volatile double exact = (double)acc + product;
    volatile float sum = (float)exact;
    fesetround(mode);
    return sum;
}

static double add_short(double acc, double product)
{
    double sum = acc + product;
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    bits &= ~((UINT64_C(1) << (52 - 13)) - 1);
    memcpy(&sum, &bits, sizeof sum);
    return sum;
}

/* acc + p as the recipe accumulates; WIDE keeps double, whose rounding is far below f32's. */
static double add(const struct dot *d, double acc, double p)
{
    if (d->g->acc == DTYPE_I32)
        return acc + p;
    switch (d->r->accumulate) {
    case ACC_F32_RZ:
        return add_truncating((float)acc, p);
    case ACC_14_RZ:
        return add_short(acc, p);
    case ACC_F16:
        return round_to(DTYPE_F16, acc + p);
    case ACC_BF16:
        return round_to(DTYPE_BF16, acc + p);
    case ACC_WIDE:
        return acc + p;
    default:
        break;
    }
    /* dtype_round of the exact sum, as fmaf: the double sum may be inexact, so carry its error.
     */
    double sum = acc + p, part = sum - acc;
    double tail = (acc - (sum - part)) + (p - part);
    float f = isfinite(sum)
                  ? (float)dtype_value(DTYPE_F32, dtype_round_sum(DTYPE_F32, sum, tail))
                  : (float)sum;
    if (d->r->accumulate == ACC_F32_FTZ && fabsf(f) < 0x1p-126f)
        f = copysignf(0, f);
    return (double)f;
}

static double product(const struct dot *d, int64_t l)
{
    double a = change_input(d->r->input, d->a[l], d->g->in);
    double b = change_input(d->r->input, d->b[l], d->g->in);
    double p = a * b;
    if (d->r->product == PRODUCT_F32)
        return (double)(float)p;
    if (d->r->product == PRODUCT_F32_FTZ)
        return fabs(p) < 0x1p-126 ? copysign(0, p) : (double)(float)p;
    return d->r->product == PRODUCT_INPUT ? round_to(d->g->in, p) : p;
}

static double sum_range(const struct dot *d, int64_t first, int64_t last)
{
    double acc = 0;
    for (int64_t l = first; l < last; l++)
        acc = add(d, acc, product(d, l));
    return acc;
}

static double sum_tree(const struct dot *d, int64_t first, int64_t last)
{
    if (last - first == 1)
        return product(d, first);
    int64_t middle = first + (last - first) / 2;
    return add(d, sum_tree(d, first, middle), sum_tree(d, middle, last));
}

static double flush(double x)
{
    return fabs(x) < 0x1p-126 ? copysign(0, x) : x;
}

/* What is left of a partial sum, or of the running total, where partial sums meet. */
static double meet(const struct dot *d, double x)
{
    if (d->r->accumulate == ACC_OUT)
        return round_to(d->g->out, x);
    return d->r->accumulate == ACC_F32_FTZ_ADD ? flush(x) : x;
}

static double sum_split(const struct dot *d)
{
    double acc = 0;
    int64_t parts = d->r->argument ? d->r->argument : d->g->split;
    int64_t length = (d->g->k + parts - 1) / parts;
    for (int64_t p = 0; p < parts; p++) {
        int64_t first = p * length, last = first + length < d->g->k ? first + length : d->g->k;
        double part = meet(d, first < last ? sum_range(d, first, last) : 0);
        acc = meet(d, p ? add(d, acc, part) : part);
    }
    return acc;
}

static double sum_all(const struct dot *d)
{
    int64_t k = d->g->k, argument = d->r->argument;
    double acc = 0;
    switch (d->r->order) {
    case UNIT_AMPERE:
        return gemm_unit_ampere(d->g->in, d->g->acc, k, d->a, d->b);
    case UNIT_GFX11:
        return gemm_unit_gfx11(d->g->in, d->g->acc, k, d->a, d->b);
    case BACKWARD:
        for (int64_t l = k - 1; l >= 0; l--)
            acc = add(d, acc, product(d, l));
        return acc;
    case TREE:
        return k ? sum_tree(d, 0, k) : 0;
    case SPLIT:
        return sum_split(d);
    case DROP:
        return sum_range(d, 0, k > argument ? k - argument : 0);
    case TAIL:
        return sum_range(d, 0, k - k % argument);
    default:
        return sum_range(d, 0, k);
    }
}

static uint64_t finish(const struct dot *d, double acc, double c)
{
    const struct gemm *g = d->g;
    bool wide = d->r->accumulate == ACC_WIDE;
    double alpha = d->r->order == NO_ALPHA ? 1 : (double)g->alpha;
    double beta = d->r->order == NO_BETA ? 0 : (double)g->beta;
    double value = alpha * acc;
    value = wide ? value : (double)(float)value;
    if (beta != 0) {
        double more = beta * c + value;
        value = wide ? more : (double)fmaf((float)beta, (float)c, (float)value);
    }
    return dtype_round(g->out, value);
}

/* Does this way of computing make sense for the case, and differ from the plain one? */
static bool applies(const struct gemm *g, const struct recipe *r)
{
    const struct dtype_info *in = dtype_info(g->in);
    bool terms =
        r->order == DROP || r->order == TAIL || r->order == SWAP_A || r->order == SWAP_B;
    if (in->kind != DTYPE_KIND_FLOAT && !terms)
        return false;
    if (r->order == UNIT_AMPERE || r->order == UNIT_GFX11)
        return g->sums == GEMM_MATRIX && (r->order == UNIT_AMPERE || g->in != DTYPE_TF32);
    int fraction = r->input == IN_TF32 || r->input == IN_TF32_RZ || r->input == IN_F16 ? 10
                   : r->input == IN_BF16                                               ? 7
                                                                                       : 52;
    if (r->input != IN_EXACT && r->input != IN_FLUSHED && in->fraction <= fraction)
        return false;
    if (r->accumulate == ACC_OUT && dtype_info(g->out)->fraction >= 23)
        return false;
    if (r->order == SPLIT && !r->argument)
        return g->split > 1 && g->split <= g->k;
    if (r->order == SPLIT || r->order == TAIL || r->order == DROP)
        return r->argument < g->k && (r->order != TAIL || g->k % r->argument);
    if (r->order == SWAP_A || r->order == SWAP_B)
        return r->order == SWAP_A ? g->m == g->k : g->k == g->n;
    if (r->order == NO_ALPHA || r->order == NO_BETA)
        return r->order == NO_ALPHA ? g->alpha != 1 : g->beta != 0;
    return true;
}

static void gather(const struct gemm *g, const struct recipe *r,
                   const struct tensor *const *input, int64_t row, int64_t j, double *a,
                   double *b)
{
    struct gemm read = *g;
    read.ta = g->ta != (r->order == SWAP_A);
    read.tb = g->tb != (r->order == SWAP_B);
    int64_t z = row / g->m, i = row % g->m;
    for (int64_t l = 0; l < g->k; l++) {
        a[l] = tensor_value(input[GEMM_A], gemm_at_a(&read, z, i, l));
        b[l] = tensor_value(input[GEMM_B], gemm_at_b(&read, z, l, j));
    }
}

bool gemm_model(const struct case_id *id, const struct case_plan *plan,
                const struct tensor *const *input, int which, int model, int64_t n,
                const int64_t *index, uint64_t *ret_bits)
{
    (void)plan;
    struct gemm g;
    gemm_decode(id, &g);
    const struct recipe *r = &recipes[model];
    if (which != GEMM_C || !applies(&g, r))
        return false;
    double *a = malloc(((size_t)g.k * 2 + 2) * sizeof *a);
    if (!a)
        return false;
    struct dot d = {&g, r, a, a + g.k + 1};
    for (int64_t x = 0; x < n; x++) {
        int64_t i = index[x] / g.n, j = index[x] % g.n;
        gather(&g, r, input, i, j, a, a + g.k + 1);
        double c = g.beta != 0 && input[GEMM_C] ? tensor_value(input[GEMM_C], index[x]) : 0;
        ret_bits[x] = finish(&d, sum_all(&d), c);
    }
    free(a);
    return true;
}
