/* SPDX-License-Identifier: Apache-2.0 */
#include "cudasim.h"
#include "fproute.h"

/* Minimum, maximum, signs, comparisons and classes of floating-point numbers: by the host's
 * doubles, which hold every f32, f16 and bf16 value. */

static void mpfr_ready(void)
{
    static bool open;
    if (!open)
        mpfr_open();
    open = true;
}

enum kind {
    KIND_MIN,
    KIND_MAX,
    KIND_ABS,
    KIND_NEG,
    KIND_COPYSIGN,
    KIND_SETP,
    KIND_SET,
    KIND_TESTP
};
enum { FTZ = 1, NAN_ = 2, XORSIGN = 4, PAIR = 8, SECOND = 16 };

struct group {
    enum kind kind;
    const char *text; /* with %s for the relation or class */
    int format, flags;
    const char *types;
};

static const struct group groups[] = {
    {KIND_MIN, "min.f32 %d, %a, %b;", 1, 0, "www"},
    {KIND_MIN, "min.ftz.f32 %d, %a, %b;", 1, FTZ, "www"},
    {KIND_MIN, "min.NaN.f32 %d, %a, %b;", 1, NAN_, "www"},
    {KIND_MIN, "min.xorsign.abs.f32 %d, %a, %b;", 1, XORSIGN, "www"},
    {KIND_MIN, "min.ftz.NaN.xorsign.abs.f32 %d, %a, %b;", 1, FTZ | NAN_ | XORSIGN, "www"},
    {KIND_MAX, "max.f32 %d, %a, %b;", 1, 0, "www"},
    {KIND_MAX, "max.ftz.f32 %d, %a, %b;", 1, FTZ, "www"},
    {KIND_MAX, "max.NaN.f32 %d, %a, %b;", 1, NAN_, "www"},
    {KIND_MAX, "max.xorsign.abs.f32 %d, %a, %b;", 1, XORSIGN, "www"},
    {KIND_MIN, "min.f64 %d, %a, %b;", 0, 0, "ddd"},
    {KIND_MAX, "max.f64 %d, %a, %b;", 0, 0, "ddd"},
    {KIND_MIN, "min.f16 %d, %a, %b;", 2, 0, "hhh"},
    {KIND_MAX, "max.NaN.f16 %d, %a, %b;", 2, NAN_, "hhh"},
    {KIND_MAX, "max.ftz.xorsign.abs.f16 %d, %a, %b;", 2, FTZ | XORSIGN, "hhh"},
    {KIND_MIN, "min.f16x2 %d, %a, %b;", 2, PAIR, "www"},
    {KIND_MAX, "max.ftz.NaN.f16x2 %d, %a, %b;", 2, PAIR | FTZ | NAN_, "www"},
    {KIND_MIN, "min.NaN.bf16 %d, %a, %b;", 3, NAN_, "hhh"},
    {KIND_MAX, "max.bf16 %d, %a, %b;", 3, 0, "hhh"},
    {KIND_MIN, "min.xorsign.abs.bf16x2 %d, %a, %b;", 3, PAIR | XORSIGN, "www"},
    {KIND_MAX, "max.NaN.bf16x2 %d, %a, %b;", 3, PAIR | NAN_, "www"},
    {KIND_ABS, "abs.f32 %d, %a;", 1, 0, "ww"},
    {KIND_ABS, "abs.ftz.f32 %d, %a;", 1, FTZ, "ww"},
    {KIND_ABS, "abs.f64 %d, %a;", 0, 0, "dd"},
    {KIND_ABS, "abs.f16 %d, %a;", 2, 0, "hh"},
    {KIND_ABS, "abs.f16x2 %d, %a;", 2, PAIR, "ww"},
    {KIND_ABS, "abs.bf16 %d, %a;", 3, 0, "hh"},
    {KIND_ABS, "abs.bf16x2 %d, %a;", 3, PAIR, "ww"},
    {KIND_NEG, "neg.f32 %d, %a;", 1, 0, "ww"},
    {KIND_NEG, "neg.ftz.f32 %d, %a;", 1, FTZ, "ww"},
    {KIND_NEG, "neg.f64 %d, %a;", 0, 0, "dd"},
    {KIND_NEG, "neg.f16 %d, %a;", 2, 0, "hh"},
    {KIND_NEG, "neg.f16x2 %d, %a;", 2, PAIR, "ww"},
    {KIND_NEG, "neg.bf16 %d, %a;", 3, 0, "hh"},
    {KIND_NEG, "neg.bf16x2 %d, %a;", 3, PAIR, "ww"},
    {KIND_COPYSIGN, "copysign.f32 %d, %a, %b;", 1, 0, "www"},
    {KIND_COPYSIGN, "copysign.f64 %d, %a, %b;", 0, 0, "ddd"},
    {KIND_SETP, "setp.%s.f32 %%d, %%a, %%b;", 1, 0, "pww"},
    {KIND_SETP, "setp.%s.ftz.f32 %%d, %%a, %%b;", 1, FTZ, "pww"},
    {KIND_SETP, "setp.%s.f64 %%d, %%a, %%b;", 0, 0, "pdd"},
    {KIND_SETP, "setp.%s.f16 %%d, %%a, %%b;", 2, 0, "phh"},
    {KIND_SETP, "setp.%s.ftz.f16 %%d, %%a, %%b;", 2, FTZ, "phh"},
    {KIND_SETP, "setp.%s.bf16 %%d, %%a, %%b;", 3, 0, "phh"},
    {KIND_SETP, ".reg .pred %%e; setp.%s.f16x2 %%d|%%e, %%a, %%b;", 2, 0, "pww"},
    {KIND_SETP, ".reg .pred %%e; setp.%s.ftz.f16x2 %%e|%%d, %%a, %%b;", 2, FTZ | SECOND, "pww"},
    {KIND_SETP, ".reg .pred %%e; setp.%s.bf16x2 %%e|%%d, %%a, %%b;", 3, SECOND, "pww"},
    {KIND_SET, "set.%s.u32.f32 %%d, %%a, %%b;", 1, 0, "www"},
    {KIND_SET, "set.%s.ftz.s32.f32 %%d, %%a, %%b;", 1, FTZ, "www"},
    {KIND_SET, "set.%s.u32.f64 %%d, %%a, %%b;", 0, 0, "wdd"},
    {KIND_SET, "set.%s.u32.f16 %%d, %%a, %%b;", 2, 0, "whh"},
    {KIND_SET, "set.%s.f16.f16 %%d, %%a, %%b;", 2, 0, "hhh"},
    {KIND_SET, "set.%s.bf16.bf16 %%d, %%a, %%b;", 3, 0, "hhh"},
    {KIND_SET, "set.%s.f16x2.f16x2 %%d, %%a, %%b;", 2, PAIR, "www"},
    {KIND_SET, "set.%s.bf16x2.bf16x2 %%d, %%a, %%b;", 3, PAIR, "www"},
    {KIND_TESTP, "testp.%s.f32 %%d, %%a;", 1, 0, "pw"},
    {KIND_TESTP, "testp.%s.f64 %%d, %%a;", 0, 0, "pd"},
};

static const char *const relations[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                        "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
static const char *const classes[] = {"finite",     "infinite", "number",
                                      "notanumber", "normal",   "subnormal"};

static uint64_t flushed(const struct format *f, uint64_t u)
{
    uint64_t field = ((UINT64_C(1) << f->exponent) - 1) << f->fraction;
    return u & field ? u : u & UINT64_C(1) << (f->bits - 1);
}

static bool holds(int relation, double a, double b)
{
    bool unordered = isnan(a) || isnan(b);
    switch (relation) {
    case 0:
        return a == b;
    case 1:
        return !unordered && a != b;
    case 2:
        return a < b;
    case 3:
        return a <= b;
    case 4:
        return a > b;
    case 5:
        return a >= b;
    case 12:
        return !unordered;
    case 13:
        return unordered;
    default:
        return unordered || holds(relation - 6, a, b);
    }
}

static bool belongs(int class, const struct format *f, double a)
{
    bool tiny = a != 0 && fabs(a) < ldexp(1, 1 - bias(f));
    switch (class) {
    case 0:
        return isfinite(a);
    case 1:
        return isinf(a);
    case 2:
        return !isnan(a);
    case 3:
        return isnan(a);
    case 4:
        return isfinite(a) && !tiny;
    default:
        return tiny;
    }
}

/* Order in which -0 comes before +0. */
static bool before(double a, double b)
{
    return a < b || (a == b && signbit(a) && !signbit(b));
}

static double extreme(const struct group *g, double a, double b, bool negative)
{
    double sign = negative ? -1 : 1;
    if (g->flags & XORSIGN)
        a = fabs(a), b = fabs(b);
    bool nan_wins = g->flags & NAN_;
    if (isnan(a) || isnan(b))
        return nan_wins || (isnan(a) && isnan(b))
                   ? NAN
                   : (isnan(a) ? b : a) * (g->flags & XORSIGN ? sign : 1);
    double r = before(a, b) == (g->kind == KIND_MIN) ? a : b;
    return g->flags & XORSIGN ? r * sign : r;
}

static uint64_t truth(const struct group *g, const struct format *f, bool yes)
{
    if (g->kind != KIND_SET)
        return yes;
    char last = g->text[strlen("set.%s.")];
    bool ftz = last == 'f' && g->text[strlen("set.%s.") + 1] == 't';
    if (last == 'u' || ftz)
        return yes ? 0xffffffff : 0;
    return yes ? encode(f, 1) : 0;
}

static uint64_t expected(const struct group *g, int which, const struct format *f, uint64_t x,
                         uint64_t y)
{
    const uint64_t top = UINT64_C(1) << (f->bits - 1);
    if (g->flags & FTZ)
        x = flushed(f, x), y = flushed(f, y);
    double a = decode(f, x), b = decode(f, y);
    switch (g->kind) {
    case KIND_MIN:
    case KIND_MAX:
        return encode(f, extreme(g, a, b, (x ^ y) & top));
    case KIND_ABS:
        return x & ~top;
    case KIND_NEG:
        return x ^ top;
    case KIND_COPYSIGN:
        return (x & top) | (y & ~top);
    case KIND_TESTP:
        return belongs(which, f, a);
    default:
        return truth(g, f, holds(which, a, b));
    }
}

static bool result_same(const struct group *g, const struct format *f, uint64_t have,
                        uint64_t want)
{
    bool number = g->kind <= KIND_NEG;
    if (!number || !isnan(decode(f, want)))
        return have == want;
    if (f->bits == 64)
        return isnan(decode(f, have));
    return have == (f->bits == 32 ? 0x7fffffff : 0x7fff);
}

static void relation_run(const struct group *g, int which, const char *word)
{
    static struct sample in[SAMPLES], out[SAMPLES];
    const struct format *f = &formats[g->format];
    uint64_t edge[EDGE_MAX], mask = f->bits == 64 ? UINT64_MAX : (UINT64_C(1) << f->bits) - 1;
    char text[128];
    int n = edges(f, edge), halves = g->flags & PAIR ? 2 : 1;
    if (word)
        snprintf(text, sizeof text, g->text, word);
    else
        snprintf(text, sizeof text, "%s", g->text);
    bool packed = f->bits == 16 && g->types[1] == 'w';
    for (int k = 0; k < SAMPLES; k++) {
        in[k].a = edge[draw() % (uint64_t)n];
        in[k].b = draw() % 4 ? edge[draw() % (uint64_t)n] : in[k].a;
        if (packed) {
            in[k].a |= edge[draw() % (uint64_t)n] << 16;
            in[k].b |= edge[draw() % (uint64_t)n] << 16;
        }
    }
    memcpy(out, in, sizeof in);
    instruction_run(text, g->types, out, SAMPLES);
    for (int k = 0; k < SAMPLES; k++)
        for (int h = 0; h < halves; h++) {
            int from = g->flags & SECOND ? 16 : 16 * h;
            uint64_t a = in[k].a >> from & mask, b = in[k].b >> from & mask;
            uint64_t have = out[k].d & letter_mask(g->types[0]);
            have = halves == 2 ? have >> 16 * h & 0xffff : have;
            uint64_t want = expected(g, which, f, a, b);
            ck_assert_msg(result_same(g, f, have, want),
                          "%s with %" PRIx64 ", %" PRIx64 ": %" PRIx64 ", expected %" PRIx64,
                          text, a, b, have, want);
        }
}

START_TEST(each_group)
{
    const struct group *g = &groups[_i];
    gpu_start();
    mpfr_ready();
    if (g->kind == KIND_SETP || g->kind == KIND_SET)
        for (int r = 0; r < 14; r++)
            relation_run(g, r, relations[r]);
    else if (g->kind == KIND_TESTP)
        for (int c = 0; c < 6; c++)
            relation_run(g, c, classes[c]);
    else
        relation_run(g, 0, NULL);
}
END_TEST

START_TEST(all_forms)
{
    forms_check(" testp copysign ");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cuda_sim_compare");
    TCase *t = tcase_create("groups");
    tcase_add_loop_test(t, each_group, 0, (int)(sizeof groups / sizeof *groups));
    tcase_add_test(t, all_forms);
    suite_add_tcase(s, t);
    return suite_run_in_one(s);
}
