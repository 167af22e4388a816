/* SPDX-License-Identifier: Apache-2.0 */
#include "cudasim.h"
#include "fproute.h"

/* cvt between all types: integers by 128-bit arithmetic, anything with a floating-point side by
 * MPFR or, where a double holds every value, by the C library's rounding functions. */

static void mpfr_ready(void)
{
    static bool open;
    if (!open)
        mpfr_open();
    open = true;
}

__extension__ typedef __int128 wide;

static const struct {
    const char *name;
    int bits;
    bool sign;
} integers[] = {{"u8", 8, false},   {"s8", 8, true},   {"u16", 16, false}, {"s16", 16, true},
                {"u32", 32, false}, {"s32", 32, true}, {"u64", 64, false}, {"s64", 64, true}};

static char letter_of(int bits)
{
    return bits == 64 ? 'd' : bits == 32 ? 'w' : 'h';
}

static uint64_t low_bits(uint64_t v, int bits)
{
    return bits == 64 ? v : v & ((UINT64_C(1) << bits) - 1);
}

static wide value_of(uint64_t v, int type)
{
    int bits = integers[type].bits;
    v = low_bits(v, bits);
    if (integers[type].sign && v >> (bits - 1))
        return (wide)v - ((wide)1 << bits);
    return (wide)v;
}

static wide clamped(wide v, int type)
{
    int bits = integers[type].bits;
    wide high = integers[type].sign ? ((wide)1 << (bits - 1)) - 1 : ((wide)1 << bits) - 1;
    wide low = integers[type].sign ? -((wide)1 << (bits - 1)) : 0;
    return v > high ? high : v < low ? low : v;
}

static void series_run(const char *text, const char *types, struct sample *in,
                       struct sample *out)
{
    memcpy(out, in, SAMPLES * sizeof *in);
    instruction_run(text, types, out, SAMPLES);
}

static void result_check(const char *text, const struct sample *in, uint64_t have,
                         uint64_t want)
{
    ck_assert_msg(have == want, "%s of %#" PRIx64 ": %#" PRIx64 ", expected %#" PRIx64, text,
                  in->a, have, want);
}

static struct sample in[SAMPLES], out[SAMPLES];

/* From type to type, with registers of the types' sizes and of 64 bits. */
static void integer_pair(int to, int from, bool sat, bool roomy)
{
    char text[64], types[3];
    types[0] = roomy ? 'd' : letter_of(integers[to].bits);
    types[1] = roomy ? 'd' : letter_of(integers[from].bits);
    types[2] = 0;
    snprintf(text, sizeof text, "cvt%s.%s.%s %%d, %%a;", sat ? ".sat" : "", integers[to].name,
             integers[from].name);
    for (uint64_t k = 0; k < SAMPLES; k++)
        in[k].a = integer_draw(k, 5) & letter_mask(types[1]);
    series_run(text, types, in, out);
    for (int k = 0; k < SAMPLES; k++) {
        wide v = value_of(in[k].a, from);
        v = sat ? clamped(v, to) : value_of((uint64_t)v, to);
        result_check(text, &in[k], out[k].d & letter_mask(types[0]),
                     (uint64_t)v & letter_mask(types[0]));
    }
}

START_TEST(integer_to_integer)
{
    gpu_start();
    for (int from = 0; from < 8; from++)
        for (int k = 0; k < 4; k++)
            integer_pair(_i, from, k & 1, k & 2);
}
END_TEST

/* --- floats ----------------------------------------------------------------------------------
 */

static uint64_t flushed(const struct format *f, uint64_t u)
{
    uint64_t field = ((UINT64_C(1) << f->exponent) - 1) << f->fraction;
    return u & field ? u : u & UINT64_C(1) << (f->bits - 1);
}

static double rounded(double v, int mode)
{
    return mode == 0 ? rint(v) : mode == 1 ? trunc(v) : mode == 2 ? ceil(v) : floor(v);
}

static const char *const integral[] = {".rni", ".rzi", ".rpi", ".rmi"};
static const char *const inexact[] = {".rn", ".rz", ".rp", ".rm"};

static void floats_draw(const struct format *f)
{
    uint64_t edge[EDGE_MAX];
    int n = edges(f, edge);
    for (int k = 0; k < SAMPLES; k++) {
        in[k].a = draw() % 2 ? edge[draw() % (uint64_t)n] : draw_bits(f);
        if (draw() % 4 == 0) /* halves and numbers about the limits of integers */
            in[k].a =
                encode(f, ldexp((double)(int)(draw() % 4001) - 2000, (int)(draw() % 60) - 4));
        in[k].a = low_bits(in[k].a, f->bits);
    }
}

static uint64_t integer_from(double v, int to, int source_bits)
{
    int bits = integers[to].bits;
    if (isnan(v))
        return source_bits == 64 || bits == 64 ? UINT64_C(1) << (bits - 1) : 0;
    if (fabs(v) < 0x1p100)
        return (uint64_t)clamped((wide)v, to);
    return (uint64_t)clamped(v > 0 ? (wide)1 << 100 : -((wide)1 << 100), to);
}

START_TEST(float_to_integer)
{
    const struct format *f = &formats[_i % 4];
    gpu_start();
    mpfr_ready();
    for (int to = 0; to < 8; to++)
        for (int mode = 0; mode < MODES; mode++) {
            char text[64], types[] = {letter_of(integers[to].bits), letter_of(f->bits), 0};
            bool ftz = f->id == FP_F32 && (to & 1);
            snprintf(text, sizeof text, "cvt%s%s.%s.%s %%d, %%a;", integral[mode],
                     ftz ? ".ftz" : "", integers[to].name, f->name);
            floats_draw(f);
            series_run(text, types, in, out);
            for (int k = 0; k < SAMPLES; k++) {
                double v = decode(f, ftz ? flushed(f, in[k].a) : in[k].a);
                uint64_t want = integer_from(rounded(v, mode), to, f->bits);
                if (integers[to].bits == 8 && integers[to].sign)
                    want = (uint64_t)(int64_t)(int8_t)want;
                result_check(text, &in[k], out[k].d & letter_mask(types[0]),
                             want & letter_mask(types[0]));
            }
        }
}
END_TEST

START_TEST(integer_to_float)
{
    const struct format *f = &formats[_i % 4];
    gpu_start();
    mpfr_ready();
    mpfr_set_prec(result, f->fraction + 1);
    range_set(f);
    for (int from = 0; from < 8; from++)
        for (int mode = 0; mode < MODES; mode++) {
            char text[64], types[] = {letter_of(f->bits), letter_of(integers[from].bits), 0};
            snprintf(text, sizeof text, "cvt%s.%s.%s %%d, %%a;", inexact[mode], f->name,
                     integers[from].name);
            for (uint64_t k = 0; k < SAMPLES; k++)
                in[k].a = integer_draw(k, 9) & letter_mask(types[1]);
            series_run(text, types, in, out);
            for (int k = 0; k < SAMPLES; k++) {
                wide v = value_of(in[k].a, from);
                int t = v < 0 ? mpfr_set_sj(result, (intmax_t)v, modes[mode].theirs)
                              : mpfr_set_uj(result, (uintmax_t)v, modes[mode].theirs);
                result_check(text, &in[k], out[k].d & letter_mask(types[0]),
                             finish(f, result, t, modes[mode].theirs));
            }
        }
}
END_TEST

enum { FTZ = 1, SAT = 2, RELU = 4, SATFINITE = 8 };

static uint64_t finished(const struct format *f, uint64_t r, int flags)
{
    double v = decode(f, r);
    if (isnan(v))
        return flags & SAT        ? 0
               : f->bits == 32    ? 0x7fffffff
               : f->bits == 16    ? 0x7fff
               : f->id == FP_TF32 ? 0x7fffe000
                                  : r;
    if (flags & FTZ && f->id == FP_F32)
        r = flushed(f, r);
    if (flags & SAT)
        r = encode(f, v > 1 ? 1 : v > 0 ? decode(f, r) : 0);
    if (flags & SATFINITE && isinf(v))
        r = encode(f, copysign(ldexp(2 - ldexp(1, -f->fraction), bias(f)), v));
    if (flags & RELU && v <= 0)
        r = 0;
    return r;
}

struct pair {
    const char *text;
    int to, from, mode, flags; /* mode 4: to an integral number first, by mode `integral` */
    int integral;
};

/* formats[]: 0 f64, 1 f32, 2 f16, 3 bf16, 4 tf32 */
static const struct pair pairs[] = {
    {"cvt.rn.f32.f64", 1, 0, 0, 0, -1},
    {"cvt.rz.f32.f64", 1, 0, 1, 0, -1},
    {"cvt.rp.f32.f64", 1, 0, 2, 0, -1},
    {"cvt.rm.f32.f64", 1, 0, 3, 0, -1},
    {"cvt.rn.ftz.f32.f64", 1, 0, 0, FTZ, -1},
    {"cvt.rn.ftz.sat.f32.f64", 1, 0, 0, FTZ | SAT, -1},
    {"cvt.f64.f32", 0, 1, 0, 0, -1},
    {"cvt.ftz.f64.f32", 0, 1, 0, FTZ, -1},
    {"cvt.rn.f16.f32", 2, 1, 0, 0, -1},
    {"cvt.rz.f16.f32", 2, 1, 1, 0, -1},
    {"cvt.rp.f16.f32", 2, 1, 2, 0, -1},
    {"cvt.rm.f16.f32", 2, 1, 3, 0, -1},
    {"cvt.rn.ftz.f16.f32", 2, 1, 0, FTZ, -1},
    {"cvt.rn.sat.f16.f32", 2, 1, 0, SAT, -1},
    {"cvt.rn.f16.f64", 2, 0, 0, 0, -1},
    {"cvt.f32.f16", 1, 2, 0, 0, -1},
    {"cvt.sat.f32.f16", 1, 2, 0, SAT, -1},
    {"cvt.f64.f16", 0, 2, 0, 0, -1},
    {"cvt.f32.bf16", 1, 3, 0, 0, -1},
    {"cvt.rn.bf16.f32", 3, 1, 0, 0, -1},
    {"cvt.rz.bf16.f32", 3, 1, 1, 0, -1},
    {"cvt.rn.relu.bf16.f32", 3, 1, 0, RELU, -1},
    {"cvt.rn.relu.f16.f32", 2, 1, 0, RELU, -1},
    {"cvt.rz.relu.f16.f32", 2, 1, 1, RELU, -1},
    {"cvt.rn.satfinite.f16.f32", 2, 1, 0, SATFINITE, -1},
    {"cvt.rn.relu.satfinite.bf16.f32", 3, 1, 0, RELU | SATFINITE, -1},
    {"cvt.rz.satfinite.bf16.f32", 3, 1, 1, SATFINITE, -1},
    {"cvt.sat.f32.f32", 1, 1, 0, SAT, -1},
    {"cvt.ftz.sat.f32.f32", 1, 1, 0, FTZ | SAT, -1},
    {"cvt.rni.f32.f32", 1, 1, 0, 0, 0},
    {"cvt.rzi.f32.f32", 1, 1, 0, 0, 1},
    {"cvt.rpi.f32.f32", 1, 1, 0, 0, 2},
    {"cvt.rmi.f32.f32", 1, 1, 0, 0, 3},
    {"cvt.rni.ftz.f32.f32", 1, 1, 0, FTZ, 0},
    {"cvt.rmi.ftz.f32.f32", 1, 1, 0, FTZ, 3},
    {"cvt.rni.f64.f64", 0, 0, 0, 0, 0},
    {"cvt.rzi.f64.f64", 0, 0, 0, 0, 1},
    {"cvt.rpi.f64.f64", 0, 0, 0, 0, 2},
    {"cvt.rmi.f64.f64", 0, 0, 0, 0, 3},
    {"cvt.rni.f16.f16", 2, 2, 0, 0, 0},
    {"cvt.rmi.f16.f16", 2, 2, 0, 0, 3},
    {"cvt.rn.tf32.f32", 4, 1, 0, 0, -1},
    {"cvt.rz.tf32.f32", 4, 1, 1, 0, -1},
    {"cvt.rna.tf32.f32", 4, 1, 4, 0, -1},
    {"cvt.rna.satfinite.tf32.f32", 4, 1, 4, SATFINITE, -1},
    {"cvt.rn.relu.tf32.f32", 4, 1, 0, RELU, -1},
};

static int round_into(double v, int mode)
{
    if (mode < 4)
        return mpfr_set_d(result, v, modes[mode].theirs);
    /* Nearest, ties away: MPFR has it for whole numbers only. tf32 keeps 11 bits. */
    int e;
    double m = frexp(v, &e), r = isfinite(v) && v != 0 ? ldexp(round(ldexp(m, 11)), e - 11) : v;
    if (isfinite(v) && v != 0 && e < -125)
        r = ldexp(round(ldexp(v, 136)), -136);
    return mpfr_set_d(result, r, MPFR_RNDN);
}

static uint64_t converted(const struct pair *p, uint64_t a)
{
    const struct format *to = &formats[p->to], *from = &formats[p->from];
    double v = decode(from, p->flags & FTZ && p->from == 1 ? flushed(from, a) : a);
    if (p->integral >= 0)
        v = rounded(v, p->integral);
    int t = round_into(v, p->mode);
    return finished(to, finish(to, result, t, p->mode < 4 ? modes[p->mode].theirs : MPFR_RNDN),
                    p->flags);
}

START_TEST(float_to_float)
{
    const struct pair *p = &pairs[_i];
    const struct format *to = &formats[p->to], *from = &formats[p->from];
    char text[64], types[] = {p->to == 4 ? 'w' : letter_of(to->bits), letter_of(from->bits), 0};
    gpu_start();
    mpfr_ready();
    mpfr_set_prec(result, to->fraction + 1);
    range_set(to);
    snprintf(text, sizeof text, "%s %%d, %%a;", p->text);
    floats_draw(from);
    series_run(text, types, in, out);
    for (int k = 0; k < SAMPLES; k++) {
        uint64_t want = converted(p, in[k].a), have = out[k].d & letter_mask(types[0]);
        bool both_nan = to->bits == 64 && isnan(decode(to, want)) && isnan(decode(to, have));
        if (!both_nan)
            result_check(text, &in[k], have, want);
    }
}
END_TEST

/* cvt to f16x2 and bf16x2: the first operand is the upper half. */
START_TEST(float_pairs)
{
    static const struct {
        const char *text;
        struct pair half;
    } rows[] = {{"cvt.rn.f16x2.f32", {NULL, 2, 1, 0, 0, -1}},
                {"cvt.rz.f16x2.f32", {NULL, 2, 1, 1, 0, -1}},
                {"cvt.rn.relu.f16x2.f32", {NULL, 2, 1, 0, RELU, -1}},
                {"cvt.rn.bf16x2.f32", {NULL, 3, 1, 0, 0, -1}},
                {"cvt.rz.relu.bf16x2.f32", {NULL, 3, 1, 1, RELU, -1}},
                {"cvt.rn.satfinite.bf16x2.f32", {NULL, 3, 1, 0, SATFINITE, -1}}};
    const struct format *f = &formats[rows[_i].half.to];
    char text[64];
    gpu_start();
    mpfr_ready();
    mpfr_set_prec(result, f->fraction + 1);
    range_set(f);
    snprintf(text, sizeof text, "%s %%d, %%a, %%b;", rows[_i].text);
    floats_draw(&formats[1]);
    for (int k = 0; k < SAMPLES; k++)
        in[k].b = in[(k * 7 + 3) % SAMPLES].a;
    series_run(text, "www", in, out);
    for (int k = 0; k < SAMPLES; k++)
        result_check(text, &in[k], out[k].d & 0xffffffff,
                     converted(&rows[_i].half, in[k].a) << 16 |
                         converted(&rows[_i].half, in[k].b));
}
END_TEST

START_TEST(all_forms)
{
    forms_check(" cvt ");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cuda_sim_convert");
    TCase *t = tcase_create("cvt");
    tcase_add_loop_test(t, integer_to_integer, 0, 8);
    tcase_add_loop_test(t, float_to_integer, 0, 4);
    tcase_add_loop_test(t, integer_to_float, 0, 4);
    tcase_add_loop_test(t, float_to_float, 0, (int)(sizeof pairs / sizeof *pairs));
    tcase_add_loop_test(t, float_pairs, 0, 6);
    tcase_add_test(t, all_forms);
    suite_add_tcase(s, t);
    return suite_run_in_one(s);
}
