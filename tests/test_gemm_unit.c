/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../backends/cuda/sim/hmma.h"
#include "../cases/gemm/unit.h"
#include "rng.h"
#include "suite.h"

/* The candidates of the gemm family against the simulators' units, which others wrote, in
 * integers. */

enum { DEPTH = 48 };

struct operand_pair {
    uint64_t bits_a[DEPTH], bits_b[DEPTH];
    double a[DEPTH], b[DEPTH];
};

/* `spread` binades around one; never zero, which the hardware's studies leave open. */
static void operands_make(struct operand_pair *o, enum dtype d, int spread, uint64_t n)
{
    struct rng_key key = rng_key_make(n, "unit");
    for (int l = 0; l < DEPTH; l++)
        for (int side = 0; side < 2; side++) {
            uint64_t r = rng_bits(key, (uint64_t)(2 * l + side), 0);
            int e = (int)(r >> 40) % (2 * spread + 1) - spread;
            double x = ldexp(1 + (double)(r & 0xffffffff) * 0x1p-32, e) * (r >> 63 ? -1 : 1);
            uint64_t bits = dtype_round(d, n % 3 ? x : fabs(x));
            (side ? o->bits_b : o->bits_a)[l] = bits;
            (side ? o->b : o->a)[l] = dtype_value(d, bits);
        }
}

static uint64_t sim_ampere(const struct operand_pair *o, enum hmma_format f, bool f16_sums)
{
    int step = f == HMMA_TF32 ? 8 : 16;
    uint32_t c32[16 * 8] = {0}, a32[16 * 16] = {0}, b32[8 * 16] = {0};
    uint16_t c16[16 * 8] = {0}, a16[16 * 16] = {0}, b16[8 * 16] = {0};
    for (int first = 0; first < DEPTH; first += step) {
        for (int l = 0; l < step; l++) {
            a32[l] = (uint32_t)o->bits_a[first + l];
            b32[l] = (uint32_t)o->bits_b[first + l];
            a16[l] = (uint16_t)a32[l];
            b16[l] = (uint16_t)b32[l];
        }
        if (f16_sums)
            hmma_f16(16, 8, step, a16, b16, c16, c16);
        else if (f == HMMA_TF32)
            hmma_f32(f, 16, 8, step, a32, b32, c32, c32);
        else
            hmma_f32(f, 16, 8, step, a16, b16, c32, c32);
    }
    return f16_sums ? c16[0] : c32[0];
}

static const struct {
    enum dtype in, acc;
    enum hmma_format format;
    int spread;
} kinds[] = {
    {DTYPE_F16, DTYPE_F32, HMMA_F16, 4},   {DTYPE_F16, DTYPE_F32, HMMA_F16, 12},
    {DTYPE_BF16, DTYPE_F32, HMMA_BF16, 3}, {DTYPE_BF16, DTYPE_F32, HMMA_BF16, 60},
    {DTYPE_TF32, DTYPE_F32, HMMA_TF32, 2}, {DTYPE_TF32, DTYPE_F32, HMMA_TF32, 30},
    {DTYPE_F16, DTYPE_F16, HMMA_F16, 2},   {DTYPE_F16, DTYPE_F16, HMMA_F16, 6},
};

START_TEST(ampere_equals_the_simulated_tensor_core)
{
    enum dtype acc = kinds[_i].acc;
    for (uint64_t n = 0; n < 4000; n++) {
        struct operand_pair o;
        operands_make(&o, kinds[_i].in, kinds[_i].spread, n);
        double got = gemm_unit_ampere(kinds[_i].in, acc, DEPTH, o.a, o.b);
        double want = dtype_value(acc, sim_ampere(&o, kinds[_i].format, acc == DTYPE_F16));
        ck_assert_msg(got == want, "kind %d, sample %d: %a, the simulator has %a", _i, (int)n,
                      got, want);
    }
}
END_TEST

/* Worked by hand from the published description of a step. */
START_TEST(gfx11_follows_its_description)
{
    /* -1 + 24 + 32 in one chain of exact integers: complements make it a unit too much. */
    double a[4] = {-1, 0, 24, 32}, one[4] = {1, 1, 1, 1};
    ck_assert(gemm_unit_gfx11(DTYPE_F16, DTYPE_F32, 4, a, one) == 0x1.b80002p5);
    double b[4] = {1, 0, -1, 1};
    ck_assert(gemm_unit_gfx11(DTYPE_F16, DTYPE_F32, 4, b, one) == 1 - 0x1p-24);
    double same[4] = {1, 2, 3, 4};
    ck_assert(gemm_unit_gfx11(DTYPE_F16, DTYPE_F32, 4, same, one) == 10);
    double tiny[2] = {0x1p-130, 0x1p-130}, big[2] = {0x1p100, 0x1p100};
    ck_assert(gemm_unit_gfx11(DTYPE_BF16, DTYPE_F32, 2, tiny, big) == 0);
    double inf[2] = {INFINITY, 1};
    ck_assert(gemm_unit_gfx11(DTYPE_F16, DTYPE_F32, 2, inf, one) == (double)INFINITY);
    ck_assert(isnan(gemm_unit_ampere(DTYPE_F16, DTYPE_F32, 2, inf, (double[]){0, 1})));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("gemm_unit");
    TCase *c = tcase_create("unit");
    tcase_add_loop_test(c, ampere_equals_the_simulated_tensor_core, 0,
                        sizeof kinds / sizeof kinds[0]);
    tcase_add_test(c, gfx11_follows_its_description);
    suite_add_tcase(s, c);
    return suite_run(s);
}
