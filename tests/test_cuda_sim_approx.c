/* SPDX-License-Identifier: Apache-2.0 */
#include "cudasim.h"

#include <math.h>
#include <mpfr.h>

/* The special function unit: correctly rounded by default, inside the documented bound and on
 * the asked side of the exact value with GPUPARITY_SIM_APPROX. The exact value comes from MPFR.
 */

enum function {
    EX2,
    LG2,
    RCP,
    RSQRT,
    SQRT,
    SIN,
    COS,
    TANH,
    DIV,
    DIV_FULL,
    EX2_HALF,
    TANH_HALF
};

static const struct {
    const char *text;
    enum function function;
    double low, high; /* where operands are drawn, as powers of two of the magnitude */
    bool negative;
    double ulp, relative, absolute; /* the bound: one of them */
} rows[] = {
    {"ex2.approx.f32 %d, %a;", EX2, -20, 6.9, true, 2, 0, 0},
    {"ex2.approx.ftz.f32 %d, %a;", EX2, -20, 6.9, true, 2, 0, 0},
    {"lg2.approx.f32 %d, %a;", LG2, -120, 120, false, 0, 0x1p-22, 0x1p-22},
    {"lg2.approx.ftz.f32 %d, %a;", LG2, -1, 1, false, 0, 0x1p-22, 0x1p-22},
    {"rcp.approx.f32 %d, %a;", RCP, -120, 120, true, 1, 0, 0},
    {"rcp.approx.ftz.f32 %d, %a;", RCP, -120, 120, true, 1, 0, 0},
    {"rsqrt.approx.f32 %d, %a;", RSQRT, -140, 120, false, 0, 0x1.1261p-23, 0},
    {"rsqrt.approx.ftz.f32 %d, %a;", RSQRT, -120, 120, false, 0, 0x1.1261p-23, 0},
    {"sqrt.approx.f32 %d, %a;", SQRT, -140, 120, false, 0, 0x1p-23, 0},
    {"sqrt.approx.ftz.f32 %d, %a;", SQRT, -120, 120, false, 0, 0x1p-23, 0},
    {"sin.approx.f32 %d, %a;", SIN, -10, 2.6, true, 0, 0, 0x1.6a0ap-21},
    {"sin.approx.ftz.f32 %d, %a;", SIN, -10, 2.6, true, 0, 0, 0x1.6a0ap-21},
    {"cos.approx.f32 %d, %a;", COS, -10, 2.6, true, 0, 0, 0x1.6a0ap-21},
    {"cos.approx.ftz.f32 %d, %a;", COS, -10, 2.6, true, 0, 0, 0x1.6a0ap-21},
    {"tanh.approx.f32 %d, %a;", TANH, -20, 4, true, 0, 0x1p-11, 0},
    {"div.approx.f32 %d, %a, %b;", DIV, -60, 60, true, 2, 0, 0},
    {"div.approx.ftz.f32 %d, %a, %b;", DIV, -60, 60, true, 2, 0, 0},
    {"div.full.f32 %d, %a, %b;", DIV_FULL, -60, 60, true, 2, 0, 0},
    {"div.full.ftz.f32 %d, %a, %b;", DIV_FULL, -60, 60, true, 2, 0, 0},
};

static float float_of(uint64_t u)
{
    uint32_t low = (uint32_t)u;
    float f;
    memcpy(&f, &low, sizeof f);
    return f;
}

static uint32_t bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static void exact(mpfr_t r, enum function f, float a, float b)
{
    mpfr_t x, y;
    mpfr_inits2(64, x, y, (mpfr_ptr)0);
    mpfr_set_flt(x, a, MPFR_RNDN);
    mpfr_set_flt(y, b, MPFR_RNDN);
    switch (f) {
    case EX2:
        mpfr_exp2(r, x, MPFR_RNDN);
        break;
    case LG2:
        mpfr_log2(r, x, MPFR_RNDN);
        break;
    case RCP:
        mpfr_ui_div(r, 1, x, MPFR_RNDN);
        break;
    case RSQRT:
        mpfr_rec_sqrt(r, x, MPFR_RNDN);
        break;
    case SQRT:
        mpfr_sqrt(r, x, MPFR_RNDN);
        break;
    case SIN:
        mpfr_sin(r, x, MPFR_RNDN);
        break;
    case COS:
        mpfr_cos(r, x, MPFR_RNDN);
        break;
    case TANH:
        mpfr_tanh(r, x, MPFR_RNDN);
        break;
    default:
        mpfr_div(r, x, y, MPFR_RNDN);
    }
    mpfr_clears(x, y, (mpfr_ptr)0);
}

static float draw_operand(int row, uint64_t k)
{
    uint64_t r = mix(k * 0x9e3779b97f4a7c15 + (uint64_t)row);
    double power =
        rows[row].low + (rows[row].high - rows[row].low) * (double)(r >> 11) * 0x1p-53;
    float f = (float)exp2(power);
    return rows[row].negative && r & 1 ? -f : f;
}

static double bound_of(int row, float a, double value)
{
    double ulp =
        value == 0 ? 0x1p-149 : ldexp(1, (ilogb(value) < -126 ? -126 : ilogb(value)) - 23);
    if (rows[row].ulp)
        return rows[row].ulp * ulp;
    if (rows[row].function == LG2)
        return a > 0.5f && a < 2 ? 0x1p-22 : 0x1p-22 * fabs(value);
    return rows[row].absolute ? rows[row].absolute : rows[row].relative * fabs(value);
}

static void samples_check(int row, const struct sample *in, const struct sample *out, int side)
{
    mpfr_t r, error;
    mpfr_inits2(120, r, error, (mpfr_ptr)0);
    int moved = 0;
    for (int k = 0; k < SAMPLES; k++) {
        float a = float_of(in[k].a), have = float_of(out[k].d);
        exact(r, rows[row].function, a, float_of(in[k].b));
        float nearest = mpfr_get_flt(r, MPFR_RNDN);
        if (fabsf(nearest) < 0x1p-125f)
            continue; /* results near the smallest are judged by hand below */
        mpfr_ui_sub(error, 0, r, MPFR_RNDN);
        mpfr_add_d(error, error, (double)have, MPFR_RNDN);
        double e = mpfr_get_d(error, MPFR_RNDN), bound = bound_of(row, a, (double)nearest);
        double ulp = ldexp(1, ilogb((double)nearest) - 23);
        if (side == 0)
            ck_assert_msg(have == nearest, "%s of %a, %a: %a, nearest is %a", rows[row].text, a,
                          float_of(in[k].b), have, nearest);
        else
            ck_assert_msg(fabs(e) <= bound + ulp * 0.5001 && (e == 0 || e * side > -ulp),
                          "%s of %a: %a is off by %a, bound %a", rows[row].text, a, have, e,
                          bound);
        moved += side && have != nearest;
    }
    ck_assert(!side || moved > SAMPLES / 8);
    mpfr_clears(r, error, (mpfr_ptr)0);
}

START_TEST(inside_bounds)
{
    static const char *const mode[] = {"nearest", "high", "low"};
    static const int side[] = {0, 1, -1};
    static struct sample in[SAMPLES], out[SAMPLES];
    bool two = rows[_i].function == DIV || rows[_i].function == DIV_FULL;
    gpu_start();
    for (int m = 0; m < 3; m++) {
        setenv("GPUPARITY_SIM_APPROX", mode[m], 1);
        for (uint64_t k = 0; k < SAMPLES; k++) {
            in[k].a = bits_of(draw_operand(_i, k));
            in[k].b = bits_of(draw_operand(_i, k + 100000));
        }
        memcpy(out, in, sizeof in);
        instruction_run(rows[_i].text, two ? "www" : "ww", out, SAMPLES);
        samples_check(_i, in, out, side[m]);
    }
    unsetenv("GPUPARITY_SIM_APPROX");
}
END_TEST

/* rsqrt.approx.f64 is arithmetic on the unit's seed: within an ulp whatever the seed. */
START_TEST(wide_rsqrt)
{
    static const char *const mode[] = {"nearest", "high", "low"};
    static struct sample s[SAMPLES];
    mpfr_t r;
    mpfr_init2(r, 120);
    gpu_start();
    setenv("GPUPARITY_SIM_APPROX", mode[_i], 1);
    for (uint64_t k = 0; k < SAMPLES; k++) /* one in four subnormal */
        s[k].a = mix(k + 1) >> 1 & (k % 4 ? UINT64_MAX : UINT64_MAX >> 12);
    instruction_run("rsqrt.approx.f64 %d, %a;", "dd", s, SAMPLES);
    for (int k = 0; k < SAMPLES; k++) {
        double a, have;
        memcpy(&a, &s[k].a, sizeof a);
        memcpy(&have, &s[k].d, sizeof have);
        if (!isfinite(a))
            continue;
        mpfr_set_d(r, a, MPFR_RNDN);
        mpfr_rec_sqrt(r, r, MPFR_RNDN);
        double ulp = ldexp(1, ilogb(have) - 52);
        mpfr_sub_d(r, r, have, MPFR_RNDN);
        ck_assert_msg(fabs(mpfr_get_d(r, MPFR_RNDN)) <= ulp, "rsqrt of %a: %a", a, have);
    }
    mpfr_clear(r);
    unsetenv("GPUPARITY_SIM_APPROX");
}
END_TEST

/* Special values, from the tables of the PTX manual. */
static const struct {
    const char *text;
    uint64_t a, b, want;
} specials[] = {
    {"ex2.approx.f32 %d, %a;", 0xff800000, 0, 0},
    {"ex2.approx.f32 %d, %a;", 0x7f800000, 0, 0x7f800000},
    {"ex2.approx.f32 %d, %a;", 0x80000000, 0, 0x3f800000},
    {"ex2.approx.f32 %d, %a;", 0x7fc00000, 0, 0x7fffffff},
    {"ex2.approx.f32 %d, %a;", 0x00000001, 0, 0x3f800000},
    {"ex2.approx.f32 %d, %a;", 0xc3000000, 0, 0x00200000}, /* -128: 2^-128 */
    {"ex2.approx.ftz.f32 %d, %a;", 0xc3000000, 0, 0},
    {"ex2.approx.f32 %d, %a;", 0x43000000, 0, 0x7f800000},
    {"ex2.approx.f32 %d, %a;", 0xc0400000, 0, 0x3e000000}, /* -3 */
    {"lg2.approx.f32 %d, %a;", 0x80000000, 0, 0xff800000},
    {"lg2.approx.f32 %d, %a;", 0xbf800000, 0, 0x7fffffff},
    {"lg2.approx.f32 %d, %a;", 0x7f800000, 0, 0x7f800000},
    {"lg2.approx.f32 %d, %a;", 0x3f800000, 0, 0},
    {"lg2.approx.f32 %d, %a;", 0x00000001, 0, 0xc3150000}, /* -149 */
    {"lg2.approx.ftz.f32 %d, %a;", 0x00000001, 0, 0xff800000},
    {"rcp.approx.f32 %d, %a;", 0x80000000, 0, 0xff800000},
    {"rcp.approx.f32 %d, %a;", 0xff800000, 0, 0x80000000},
    {"rcp.approx.ftz.f32 %d, %a;", 0x7f000001, 0, 0},
    {"rcp.approx.ftz.f32 %d, %a;", 0x80000001, 0, 0xff800000},
    {"rsqrt.approx.f32 %d, %a;", 0x80000000, 0, 0xff800000},
    {"rsqrt.approx.f32 %d, %a;", 0x7f800000, 0, 0},
    {"rsqrt.approx.f32 %d, %a;", 0xbf800000, 0, 0x7fffffff},
    {"rsqrt.approx.f32 %d, %a;", 0x40800000, 0, 0x3f000000},
    {"sqrt.approx.f32 %d, %a;", 0x80000000, 0, 0x80000000},
    {"sqrt.approx.f32 %d, %a;", 0x7f800000, 0, 0x7f800000},
    {"sqrt.approx.f32 %d, %a;", 0xff800000, 0, 0x7fffffff},
    {"sin.approx.f32 %d, %a;", 0x7f800000, 0, 0x7fffffff},
    {"sin.approx.f32 %d, %a;", 0x80000000, 0, 0x80000000},
    {"cos.approx.f32 %d, %a;", 0x80000000, 0, 0x3f800000},
    {"tanh.approx.f32 %d, %a;", 0x7f800000, 0, 0x3f800000},
    {"tanh.approx.f32 %d, %a;", 0xff800000, 0, 0xbf800000},
    {"tanh.approx.f32 %d, %a;", 0x80000000, 0, 0x80000000},
    {"tanh.approx.f32 %d, %a;", 0x00000001, 0, 0x00000001},
    {"div.approx.f32 %d, %a, %b;", 0x3f800000, 0x7f000000, 0}, /* 2^126 < b < 2^128: 0 */
    {"div.full.f32 %d, %a, %b;", 0x40000000, 0x7f000000, 0x00800000},
    {"div.approx.f32 %d, %a, %b;", 0x7f800000, 0x7f000001, 0x7fffffff},
    {"div.approx.f32 %d, %a, %b;", 0xbf800000, 0x7f000001, 0x80000000},
    {"div.approx.f32 %d, %a, %b;", 0x3f800000, 0x80000000, 0xff800000},
    {"ex2.approx.f16 %d, %a;", 0x3c00, 0, 0x4000},
    {"ex2.approx.f16x2 %d, %a;", 0xc0003c00, 0, 0x34004000},
    {"ex2.approx.ftz.bf16 %d, %a;", 0x4040, 0, 0x4100},
    {"ex2.approx.ftz.bf16x2 %d, %a;", 0xc0003f80, 0, 0x3e804000},
    {"tanh.approx.f16 %d, %a;", 0x7c00, 0, 0x3c00},
    {"tanh.approx.f16x2 %d, %a;", 0xfc008000, 0, 0xbc008000},
    {"tanh.approx.bf16 %d, %a;", 0xff80, 0, 0xbf80},
    {"tanh.approx.bf16x2 %d, %a;", 0x7f800000, 0, 0x3f800000},
    {"rcp.approx.ftz.f64 %d, %a;", 0x4010000000000000, 0, 0x3fd0000000000000},
    {"rcp.approx.ftz.f64 %d, %a;", 0x8000000000000001, 0, 0xfff0000000000000},
    {"rcp.approx.ftz.f64 %d, %a;", 0x3ffffffdffffffff, 0, 0x3fe0000200000000}, /* the low word is ignored */
    {"rsqrt.approx.ftz.f64 %d, %a;", 0x40100000ffffffff, 0, 0x3fe0000000000000},
    {"rsqrt.approx.ftz.f64 %d, %a;", 0x4010000000000000, 0, 0x3fe0000000000000},
    {"rsqrt.approx.f64 %d, %a;", 0x4030000000000000, 0, 0x3fd0000000000000},
    {"rsqrt.approx.f64 %d, %a;", 0x8000000000000000, 0, 0xfff0000000000000},
    {"rsqrt.approx.f64 %d, %a;", 0x7ff0000000000000, 0, 0},
    {"rsqrt.approx.f64 %d, %a;", 0xbff0000000000000, 0, 0xfff8000000000000},
};

START_TEST(special_values)
{
    static struct sample s[128];
    gpu_start();
    const char *t = specials[_i].text;
    bool half = (strstr(t, "f16 ") != NULL) && !strstr(t, "x2"),
         wide = strstr(t, "f64") != NULL;
    uint64_t want = specials[_i].want;
    for (int k = 0; k < 128; k++)
        s[k] = (struct sample){0, specials[_i].a, specials[_i].b, 0};
    instruction_run(t, strstr(t, "%b") ? "www" : half ? "hh" : wide ? "dd" : "ww", s, 128);
    uint64_t have = s[77].d & letter_mask(half ? 'h' : wide ? 'd' : 'w');
    ck_assert_msg(have == want, "%s of %" PRIx64 ": %" PRIx64 ", expected %" PRIx64, t,
                  specials[_i].a, have, want);
}
END_TEST

START_TEST(all_forms)
{
    forms_check(" ex2 lg2 rsqrt sin cos tanh ");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cuda_sim_approx");
    TCase *t = tcase_create("approx");
    tcase_add_loop_test(t, inside_bounds, 0, (int)(sizeof rows / sizeof *rows));
    tcase_add_loop_test(t, wide_rsqrt, 0, 3);
    tcase_add_loop_test(t, special_values, 0, (int)(sizeof specials / sizeof *specials));
    tcase_add_test(t, all_forms);
    suite_add_tcase(s, t);
    return suite_run_in_one(s);
}
