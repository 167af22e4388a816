/* SPDX-License-Identifier: Apache-2.0 */
#include "fproute.h"
#include "fpwarp.h"
#include "suite.h"

/* The exact path, itself held against MPFR, is the second route. */

typedef void binary_fn(const struct fp_env *, uint32_t *, const uint32_t *, const uint32_t *);
typedef uint64_t exact_fn(const struct fp_env *, enum fp_format, uint64_t, uint64_t);

static const struct {
    binary_fn *warp;
    exact_fn *exact;
} binary[] = {{fp_warp_add, fp_add}, {fp_warp_sub, fp_sub}, {fp_warp_mul, fp_mul},
              {fp_warp_div, fp_div}, {fp_warp_min, fp_min}, {fp_warp_max, fp_max}};

static struct fp_rules rules_make(unsigned seed)
{
    struct fp_rules r = plain;
    r.nan[FP_F32] = 0xffc00000;
    r.nan_rule[FP_F32] = seed & 1 ? FP_NAN_OPERAND : FP_NAN_CANONICAL;
    r.minmax_nan = r.nan_rule[FP_F32];
    r.minmax_signalling = seed & 1;
    r.tiny_before_rounding = seed & 16;
    return r;
}

static void lanes_draw(uint32_t *x, unsigned kind)
{
    const struct format *f = &formats[1];
    uint64_t edge[EDGE_MAX];
    const uint64_t n = (uint64_t)edges(f, edge);
    for (int i = 0; i < FP_WARP; i++)
        x[i] = (uint32_t)(kind & 1 ? edge[draw() % n] : draw_bits(f));
}

START_TEST(warps_agree_with_lanes)
{
    for (unsigned round = 0; round < 4000; round++) {
        const struct fp_rules rules = rules_make(round);
        const struct fp_env v = {.rules = &rules,
                                 .round = round % 8 == 7 ? FP_RU : FP_RNE,
                                 .flush_in = round & 2 ? 1 << FP_F32 : 0,
                                 .flush_out = round & 4 ? 1 << FP_F32 : 1 << FP_F16};
        uint32_t a[FP_WARP], b[FP_WARP], c[FP_WARP], d[FP_WARP];
        lanes_draw(a, round >> 5);
        lanes_draw(b, round >> 6);
        lanes_draw(c, round >> 7);
        for (size_t op = 0; op < sizeof binary / sizeof *binary; op++) {
            binary[op].warp(&v, d, a, b);
            for (int i = 0; i < FP_WARP; i++)
                ck_assert_uint_eq(d[i], binary[op].exact(&v, FP_F32, a[i], b[i]));
        }
        fp_warp_sqrt(&v, d, a);
        for (int i = 0; i < FP_WARP; i++)
            ck_assert_uint_eq(d[i], fp_sqrt(&v, FP_F32, a[i]));
        memcpy(d, c, sizeof d);
        fp_warp_fma(&v, d, a, b, d);
        for (int i = 0; i < FP_WARP; i++)
            ck_assert_uint_eq(d[i], fp_fma(&v, FP_F32, a[i], b[i], c[i]));
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim_fpwarp");
    TCase *t = tcase_create("fp");
    tcase_add_checked_fixture(t, mpfr_open, NULL);
    tcase_add_test(t, warps_agree_with_lanes);
    suite_add_tcase(s, t);
    return suite_run(s);
}
