/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose.h"
#include "poison.h"
#include "scene.h"
#include "suite.h"
#include "verdict.h"

/* Faults of values (flush, classes, rounding, scales, codes) planted into outputs by arithmetic of
 * this file, and the cause that must be named first. Side A is the reference, rounded. */

/* A case whose outputs are both the reference, rounded, until B is altered. */
struct sides {
    struct scene c;
    struct tensor a, b;
    int which;
};

static void sides_open(struct sides *s, const char *id, const char *out)
{
    struct errinfo e;
    scene_init(&s->c, id, out);
    s->which = scene_place(&s->c, out);
    const struct case_tensor *t = &s->c.plan.tensor[s->which];
    ck_assert_int_eq(tensor_init(&s->a, t->dtype, t->rank, t->dim, &e), 0);
    for (int64_t i = 0; i < s->a.count; i++)
        tensor_set_bits(&s->a, i, dtype_round_sum(t->dtype, s->c.o.value[i], s->c.o.tail[i]));
    ck_assert_int_eq(tensor_copy(&s->b, &s->a, &e), 0);
}

static void sides_close(struct sides *s)
{
    scene_release(&s->c);
    tensor_release(&s->a);
    tensor_release(&s->b);
}

typedef void alteration(struct sides *s);

static void put(struct sides *s, int64_t i, double x)
{
    tensor_set_bits(&s->b, i, dtype_round(s->b.dtype, x));
}

/* --- flush -----------------------------------------------------------------------------------
 */

static void zeros_for_subnormals(struct sides *s)
{
    for (int64_t i = 0; i < s->b.count; i++)
        if (dtype_is_subnormal(s->b.dtype, tensor_bits(&s->b, i)))
            put(s, i, 0);
}

/* A widened f16 in which the subnormal ones became zero. */
static void inputs_flushed(struct sides *s)
{
    const struct tensor *x = scene_tensor(&s->c, "x");
    for (int64_t i = 0; i < s->b.count; i++)
        if (dtype_is_subnormal(x->dtype, tensor_bits(x, i)))
            put(s, i, 0);
}

static void logs_of_flushed(struct sides *s)
{
    for (int64_t i = 0; i < s->b.count; i++)
        if (fabs(tensor_value(scene_tensor(&s->c, "x"), i)) < 0x1p-126)
            put(s, i, -(double)INFINITY);
}

static void products_of_flushed(struct sides *s)
{
    const struct tensor *a = scene_tensor(&s->c, "a"), *b = scene_tensor(&s->c, "b");
    int64_t n = s->b.dim[1], depth = a->dim[1];
    for (int64_t i = 0; i < s->b.count; i++) {
        float sum = 0;
        for (int64_t k = 0; k < depth; k++) {
            double x = tensor_value(a, i / n * depth + k), y = tensor_value(b, k * n + i % n);
            sum = fmaf(fabs(x) < 0x1p-14 ? 0 : (float)x, fabs(y) < 0x1p-14 ? 0 : (float)y, sum);
        }
        put(s, i, (double)sum);
    }
}

/* --- classes ---------------------------------------------------------------------------------
 */

static void largest_for_infinite(struct sides *s)
{
    for (int64_t i = 0; i < s->b.count; i++)
        if (isinf(tensor_value(&s->b, i)))
            put(s, i, copysign(65504, tensor_value(&s->b, i)));
}

static void nan_for_infinite(struct sides *s)
{
    for (int64_t i = 0; i < s->b.count; i++)
        if (isinf(tensor_value(&s->b, i)))
            put(s, i, (double)NAN);
}

static void nan_for_zero(struct sides *s)
{
    for (int64_t i = 0; i < s->b.count; i++)
        if (s->c.o.value[i] == 0)
            put(s, i, (double)NAN);
}

static void nan_becomes_least(struct sides *s)
{
    for (int64_t i = 0; i < s->b.count; i++)
        if (isnan(tensor_value(scene_tensor(&s->c, "x"), i)))
            put(s, i, -0x1p31);
}

/* --- rounding --------------------------------------------------------------------------------
 */

/* x to so many significant bits: 0 cut, 1 away from zero, 2 odd, 3 drawn in proportion. */
static double rounded(double x, int bits, int way)
{
    int exponent;
    double digits = ldexp(frexp(fabs(x), &exponent), bits), low = floor(digits);
    double part = digits - low;
    bool more = way == 1   ? part > 0
                : way == 2 ? part > 0 && fmod(low, 2) == 0
                : way == 3 ? (double)rand() / RAND_MAX < part
                           : false;
    return copysign(ldexp(low + more, exponent - bits), x);
}

static void round_all(struct sides *s, int way)
{
    int bits = dtype_info(s->b.dtype)->fraction + 1;
    srand(5);
    for (int64_t i = 0; i < s->b.count; i++)
        put(s, i, rounded(s->c.o.value[i], bits, way));
}

static void cut_all(struct sides *s)
{
    round_all(s, 0);
}

static void away_all(struct sides *s)
{
    round_all(s, 1);
}

static void odd_all(struct sides *s)
{
    round_all(s, 2);
}

static void odd_of_input(struct sides *s)
{
    for (int64_t i = 0; i < s->b.count; i++)
        put(s, i, rounded(tensor_value(scene_tensor(&s->c, "x"), i), 24, 2));
}

static void drawn_all(struct sides *s)
{
    round_all(s, 3);
}

static void twice_by_f16(struct sides *s)
{
    for (int64_t i = 0; i < s->b.count; i++)
        put(s, i, dtype_value(DTYPE_F16, dtype_round(DTYPE_F16, s->c.o.value[i])));
}

/* floor(x + 1/2) where the nearest even integer is right, and no clamp. */
static void half_up(struct sides *s)
{
    for (int64_t i = 0; i < s->b.count; i++) {
        double x = tensor_value(scene_tensor(&s->c, "x"), i);
        if (isfinite(x))
            put(s, i, floor(x + 0.5));
    }
}

static void wrap(struct sides *s)
{
    for (int64_t i = 0; i < s->b.count; i++) {
        double x = tensor_value(scene_tensor(&s->c, "x"), i);
        if (fabs(x) < 1e9)
            tensor_set_bits(&s->b, i, (uint64_t)(int64_t)rint(x) & 255);
    }
}

/* --- scales ----------------------------------------------------------------------------------
 */

static void next_block(struct sides *s)
{
    const struct tensor *m = scene_tensor(&s->c, "absmax");
    for (int64_t i = 0; i < s->b.count; i++) {
        double own = tensor_value(m, i / 64), other = tensor_value(m, (i / 64 + 1) % m->count);
        put(s, i, s->c.o.value[i] / own * other);
    }
}

/* The last 100 columns of each row without their scale. */
static void last_block(struct sides *s)
{
    const struct tensor *scale = scene_tensor(&s->c, "scale");
    for (int64_t i = 0; i < s->b.count; i++)
        if (i % 300 >= 200)
            put(s, i, s->c.o.value[i] / tensor_value(scale, i / 300 * 3 + 2));
}

static void reciprocals(struct sides *s)
{
    for (int64_t i = 0; i < s->b.count; i++)
        put(s, i, 1 / s->c.o.value[i]);
}

/* What a bias was added to, times 127^2 / 128^2. */
static void beside_bias(struct sides *s)
{
    for (int64_t i = 0; i < s->b.count; i++) {
        double bias = (double)(i % s->b.dim[1] % 7) - 3;
        put(s, i, (s->c.o.value[i] - bias) * (127.0 * 127 / (128 * 128)) + bias);
    }
}

static void product_by(struct sides *s, int64_t shift, bool turned, int entry)
{
    const struct tensor *a = scene_tensor(&s->c, "a"), *code = scene_tensor(&s->c, "code"),
                        *m = scene_tensor(&s->c, "absmax"), *book = scene_tensor(&s->c, "book");
    int64_t depth = a->count, block = s->b.count * depth / m->count;
    for (int64_t i = 0; i < s->b.count; i++) {
        double sum = 0;
        for (int64_t k = 0; k < depth; k++) {
            int64_t at = i * depth + k;
            bool high = (at % 2 == 0) != turned;
            int c = (int)(tensor_bits(code, at / 2) >> (high ? 4 : 0) & 15);
            double w = c == entry ? 0.1 : tensor_value(book, c);
            sum += tensor_value(a, k) * w * tensor_value(m, (at / block + shift) % m->count);
        }
        put(s, i, sum);
    }
}

static void product_next_block(struct sides *s)
{
    product_by(s, 1, false, -1);
}

/* --- codes -----------------------------------------------------------------------------------
 */

static void product_turned(struct sides *s)
{
    product_by(s, 0, true, -1);
}

static void product_entry(struct sides *s)
{
    product_by(s, 0, false, 9);
}

static void bits_of_bf16(struct sides *s)
{
    for (int64_t i = 0; i < s->b.count; i++)
        tensor_set_bits(&s->b, i, dtype_round(DTYPE_BF16, s->c.o.value[i]));
}

static void bytes_swapped(struct sides *s)
{
    for (int64_t i = 0; i < s->b.count; i++) {
        uint64_t x = tensor_bits(&s->b, i);
        tensor_set_bits(&s->b, i, (x >> 8 | x << 8) & 0xffff);
    }
}

static void unsigned_bytes(struct sides *s)
{
    const struct tensor *a = scene_tensor(&s->c, "a"), *b = scene_tensor(&s->c, "b");
    int64_t n = s->b.dim[1], depth = a->dim[1];
    for (int64_t i = 0; i < s->b.count; i++) {
        double sum = 0;
        for (int64_t k = 0; k < depth; k++)
            sum += (double)(tensor_bits(a, i / n * depth + k) & 255) *
                   tensor_value(b, k * n + i % n);
        put(s, i, sum);
    }
}

static void bits_left_over(struct sides *s)
{
    for (int64_t i = s->b.count - 1; i > 0; i--)
        tensor_set_bits(&s->b, i, tensor_bits(&s->b, i) | (tensor_bits(&s->a, i - 1) & 0xf0));
}

static void entry_mirrored(struct sides *s)
{
    const struct tensor *code = scene_tensor(&s->c, "code");
    for (int64_t i = 0; i < s->b.count; i++)
        if ((tensor_bits(code, i / 2) >> (i % 2 ? 0 : 4) & 15) == 3)
            put(s, i, -s->c.o.value[i]);
}

static void one_place_on(struct sides *s)
{
    for (int64_t i = 0; i < s->b.count; i++)
        tensor_set_bits(&s->b, i, tensor_bits(&s->a, i) < 255 ? tensor_bits(&s->a, i) + 1 : 255);
}

static const struct {
    const char *id, *out;
    alteration *alter;
    enum cause cause;
} rows[] = {
    {"convert/cast:from=f64,to=f32,table=sweep,n=4096", "y", zeros_for_subnormals, CAUSE_FLUSH},
    {"fp8/cast:rows=9,d=301,to=e5m2,dist=wide", "code", zeros_for_subnormals, CAUSE_FLUSH},
    {"convert/cast:from=f16,to=f32,table=sweep,n=65536", "y", inputs_flushed, CAUSE_FLUSH},
    {"math/log2f:n=900,lo=1e-41,hi=1e-36", "y", logs_of_flushed, CAUSE_FLUSH},
    {"gemm/naive:dtype=f16,m=20,n=13,k=24,dist=subnormal", "c", products_of_flushed, CAUSE_FLUSH},
    {"convert/cast:from=f32,to=f16,n=3000,dist=wide", "y", largest_for_infinite, CAUSE_NANINF},
    {"math/expf:n=900,lo=60,hi=120", "y", nan_for_infinite, CAUSE_NANINF},
    {"attention/flash:queries=35,keys=19,d=24,mask=bottom", "o", nan_for_zero, CAUSE_NANINF},
    {"convert/cast:from=f32,to=i32,n=1001,dist=special", "y", nan_becomes_least, CAUSE_NANINF},
    {"norm/layer:dtype=bf16,rows=5,d=77", "y", cut_all, CAUSE_ROUNDING},
    {"rope/neox:dtype=f16,tokens=11,heads=2,d=66", "y", away_all, CAUSE_ROUNDING},
    {"rope/neox:dtype=f16,tokens=11,heads=2,d=66", "y", odd_all, CAUSE_ROUNDING},
    {"convert/cast:from=f64,to=f32,n=900", "y", odd_of_input, CAUSE_ROUNDING},
    {"activation/silu:dtype=bf16,rows=7,d=301", "y", drawn_all, CAUSE_ROUNDING},
    {"activation/gelu:dtype=bf16,rows=70,d=301", "y", twice_by_f16, CAUSE_ROUNDING},
    {"convert/cast:from=f32,to=i8,table=ties,n=3000", "y", half_up, CAUSE_ROUNDING},
    {"convert/cast:from=f32,to=i8,n=2000,dist=lognormal", "y", wrap, CAUSE_ROUNDING},
    {"fp8/dequantize:rows=8,d=300,group=block,width=100", "y", last_block, CAUSE_SCALE},
    {"optim8bit/dequantize:n=2101,block=64", "y", next_block, CAUSE_SCALE},
    {"fp8/quantize:rows=20,d=301", "scale", reciprocals, CAUSE_SCALE},
    {"gemm/naive:m=33,n=18,k=40,dtype=f16", "c", beside_bias, CAUSE_SCALE},
    {"optim8bit/gemv4:book=nf4,n=40,block=64,k=128", "y", product_next_block, CAUSE_SCALE},
    {"optim8bit/gemv4:book=fp4,n=40,block=64,k=128", "y", product_turned, CAUSE_CODEBOOK},
    {"optim8bit/gemv4:book=nf4,n=40,block=64,k=128", "y", product_entry, CAUSE_CODEBOOK},
    {"convert/cast:from=f32,to=f16,n=1000", "y", bits_of_bf16, CAUSE_CODEBOOK},
    {"norm/rms:dtype=bf16,rows=9,d=77", "y", bytes_swapped, CAUSE_CODEBOOK},
    {"gemm/naive:dtype=i8,m=33,n=18,k=20", "c", unsigned_bytes, CAUSE_CODEBOOK},
    {"optim8bit/quantize:book=nf4,n=2101,block=64", "code", bits_left_over, CAUSE_CODEBOOK},
    {"optim8bit/dequantize:book=nf4,n=1101,block=64", "y", entry_mirrored, CAUSE_CODEBOOK},
    {"optim8bit/quantize:n=1101,block=64", "code", one_place_on, CAUSE_CODEBOOK},
};

START_TEST(faults_of_values_are_named)
{
    struct sides s;
    struct errinfo e;
    struct finding f = {0};
    struct finding_out o = {0};
    sides_open(&s, rows[_i].id, rows[_i].out);
    rows[_i].alter(&s);
    struct diagnose_input in = {.id = &s.c.id,
                                .plan = &s.c.plan,
                                .input = s.c.at,
                                .which = s.which,
                                .a = &s.a,
                                .b = &s.b,
                                .oracle = &s.c.o};
    ck_assert_int_eq(
        stats_compute(&s.a, &s.b, &s.c.o, poison_bits(s.a.dtype), 1, &o.stats, &e), 0);
    verdict_output(&f, &o);
    ck_assert_int_eq(o.verdict, VERDICT_B_WRONG);
    ck_assert_int_eq(diagnose_output(&in, &o, &e), 0);
    ck_assert_int_gt(o.n_claim, 0);
    ck_assert_msg(o.claim[0].cause == rows[_i].cause, "%s: named %s: %s", rows[_i].id,
                  cause_name(o.claim[0].cause), o.claim[0].evidence);
    sides_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("diagnose_value");
    TCase *c = tcase_create("planted");
    tcase_add_loop_test(c, faults_of_values_are_named, 0, (int)(sizeof rows / sizeof *rows));
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
