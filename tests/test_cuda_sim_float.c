/* SPDX-License-Identifier: Apache-2.0 */
#include "cudasim.h"
#include "fproute.h"

/* Floating-point instructions of all formats and modifiers against MPFR. */

static void mpfr_ready(void)
{
    static bool open;
    if (!open)
        mpfr_open();
    open = true;
}

struct operation {
    const char *name;
    int operands;
    int (*route)(mpfr_t r, mpfr_rnd_t mode);
};

static int route_add(mpfr_t r, mpfr_rnd_t mode)
{
    return mpfr_add(r, operand[0], operand[1], mode);
}

static int route_sub(mpfr_t r, mpfr_rnd_t mode)
{
    return mpfr_sub(r, operand[0], operand[1], mode);
}

static int route_mul(mpfr_t r, mpfr_rnd_t mode)
{
    return mpfr_mul(r, operand[0], operand[1], mode);
}

static int route_div(mpfr_t r, mpfr_rnd_t mode)
{
    return mpfr_div(r, operand[0], operand[1], mode);
}

static int route_fma(mpfr_t r, mpfr_rnd_t mode)
{
    return mpfr_fma(r, operand[0], operand[1], operand[2], mode);
}

static int route_rcp(mpfr_t r, mpfr_rnd_t mode)
{
    mpfr_t one;
    mpfr_init2(one, 4);
    mpfr_set_ui(one, 1, MPFR_RNDN);
    int t = mpfr_div(r, one, operand[0], mode);
    mpfr_clear(one);
    return t;
}

static int route_sqrt(mpfr_t r, mpfr_rnd_t mode)
{
    return mpfr_sqrt(r, operand[0], mode);
}

static const struct operation add = {"add", 2, route_add}, sub = {"sub", 2, route_sub},
                              mul = {"mul", 2, route_mul}, divide = {"div", 2, route_div},
                              fma_ = {"fma", 3, route_fma}, mad = {"mad", 3, route_fma},
                              rcp = {"rcp", 1, route_rcp}, root = {"sqrt", 1, route_sqrt};

enum { FTZ = 1, SAT = 2, RELU = 4, PAIR = 8, BARE = 16, DIRECTED = 32 };

/* Everything that `flags` allows is tried in all combinations. */
static const struct {
    const struct operation *op;
    int format; /* index into formats[] */
    int flags;
} groups[] = {
    {&add, 1, FTZ | SAT | BARE | DIRECTED},
    {&sub, 1, FTZ | SAT | BARE | DIRECTED},
    {&mul, 1, FTZ | SAT | BARE | DIRECTED},
    {&fma_, 1, FTZ | SAT | DIRECTED},
    {&mad, 1, FTZ | SAT | DIRECTED},
    {&divide, 1, FTZ | DIRECTED},
    {&rcp, 1, FTZ | DIRECTED},
    {&root, 1, FTZ | DIRECTED},
    {&add, 0, BARE | DIRECTED},
    {&sub, 0, BARE | DIRECTED},
    {&mul, 0, BARE | DIRECTED},
    {&fma_, 0, DIRECTED},
    {&mad, 0, DIRECTED},
    {&divide, 0, DIRECTED},
    {&rcp, 0, DIRECTED},
    {&root, 0, DIRECTED},
    {&add, 2, FTZ | SAT | BARE},
    {&sub, 2, FTZ | SAT | BARE},
    {&mul, 2, FTZ | SAT | BARE},
    {&fma_, 2, FTZ | SAT},
    {&fma_, 2, FTZ | RELU},
    {&add, 2, FTZ | SAT | BARE | PAIR},
    {&sub, 2, FTZ | SAT | BARE | PAIR},
    {&mul, 2, FTZ | SAT | BARE | PAIR},
    {&fma_, 2, FTZ | SAT | PAIR},
    {&fma_, 2, FTZ | RELU | PAIR},
    {&add, 3, BARE},
    {&sub, 3, BARE},
    {&mul, 3, BARE},
    {&fma_, 3, RELU},
    {&add, 3, BARE | PAIR},
    {&sub, 3, BARE | PAIR},
    {&mul, 3, BARE | PAIR},
    {&fma_, 3, RELU | PAIR},
};

static uint64_t flushed(const struct format *f, uint64_t u)
{
    uint64_t field = ((UINT64_C(1) << f->exponent) - 1) << f->fraction;
    return u & field ? u : u & UINT64_C(1) << (f->bits - 1);
}

static uint64_t expected(const struct operation *op, const struct format *f, mpfr_rnd_t mode,
                         int flags, const uint64_t *x)
{
    for (int k = 0; k < 3; k++)
        mpfr_set_d(operand[k], decode(f, flags & FTZ ? flushed(f, x[k]) : x[k]), MPFR_RNDN);
    uint64_t r = finish(f, result, op->route(result, mode), mode);
    double value = decode(f, r);
    if (flags & FTZ)
        r = flushed(f, r);
    if (flags & SAT)
        r = encode(f, value > 1 ? 1 : value > 0 ? decode(f, r) : 0);
    if (flags & RELU && value <= 0)
        r = 0;
    return r;
}

static bool is_nan(const struct format *f, uint64_t u)
{
    return isnan(decode(f, u));
}

static bool same(const struct format *f, uint64_t have, uint64_t want)
{
    static const uint64_t nan[] = {0, 0x7fffffff, 0x7fff, 0x7fff};
    if (!is_nan(f, want))
        return have == want;
    return f->bits == 64 ? is_nan(f, have) : have == nan[f->id == FP_F32 ? 1 : 2];
}

static uint64_t half_of(uint64_t u, int h)
{
    return u >> 16 * h & 0xffff;
}

static void sample_check(const char *text, const struct operation *op, const struct format *f,
                         int mode, int flags, const struct sample *in, const struct sample *out)
{
    for (int h = 0; h < (flags & PAIR ? 2 : 1); h++) {
        uint64_t x[3] = {in->a, in->b, in->c}, have = out->d;
        if (flags & PAIR) {
            for (int k = 0; k < 3; k++)
                x[k] = half_of(x[k], h);
            have = half_of(have, h);
        } else if (f->bits < 64) {
            have &= (UINT64_C(1) << f->bits) - 1;
        }
        uint64_t want = expected(op, f, modes[mode].theirs, flags, x);
        ck_assert_msg(same(f, have, want),
                      "%s(%" PRIx64 ", %" PRIx64 ", %" PRIx64 ") = %" PRIx64
                      ", MPFR says %" PRIx64,
                      text, x[0], x[1], x[2], have, want);
    }
}

static uint64_t draw_operand(const struct format *f, const uint64_t *edge, int n)
{
    return draw() % 2 ? edge[draw() % (uint64_t)n] : draw_bits(f);
}

static void variant_run(const struct operation *op, const struct format *f, int mode, int flags)
{
    static const char *const word[] = {".rn", ".rz", ".rp", ".rm"};
    static struct sample in[SAMPLES], out[SAMPLES];
    char text[128], types[5];
    uint64_t edge[EDGE_MAX];
    int n = edges(f, edge);
    snprintf(text, sizeof text, "%s%s%s%s%s.%s%s %%d, %%a%s%s;", op->name,
             flags & BARE ? "" : word[mode], flags & FTZ ? ".ftz" : "",
             flags & SAT ? ".sat" : "", flags & RELU ? ".relu" : "", f->name,
             flags & PAIR ? "x2" : "", op->operands > 1 ? ", %b" : "",
             op->operands > 2 ? ", %c" : "");
    char letter = f->bits == 64 ? 'd' : f->bits == 32 || flags & PAIR ? 'w' : 'h';
    memset(types, letter, sizeof types);
    types[op->operands + 1] = 0;
    for (int k = 0; k < SAMPLES; k++) {
        uint64_t *x[3] = {&in[k].a, &in[k].b, &in[k].c};
        for (int o = 0; o < 3; o++) {
            *x[o] = draw_operand(f, edge, n);
            if (flags & PAIR)
                *x[o] |= draw_operand(f, edge, n) << 16;
        }
    }
    memcpy(out, in, sizeof in);
    instruction_run(text, types, out, SAMPLES);
    for (int k = 0; k < SAMPLES; k++)
        sample_check(text, op, f, mode, flags, &in[k], &out[k]);
}

START_TEST(arithmetic)
{
    const struct format *f = &formats[groups[_i].format];
    int allowed = groups[_i].flags;
    gpu_start();
    mpfr_ready();
    mpfr_set_prec(result, f->fraction + 1);
    range_set(f);
    for (int set = 0; set < BARE * 2; set++) {
        if ((set & ~allowed) || (allowed & PAIR) != (set & PAIR) ||
            (allowed & RELU && set & SAT))
            continue;
        int rounds = allowed & DIRECTED && !(set & BARE) ? MODES : 1;
        for (int mode = 0; mode < rounds; mode++)
            variant_run(groups[_i].op, f, mode, set);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cuda_sim_float");
    TCase *t = tcase_create("arithmetic");
    tcase_add_loop_test(t, arithmetic, 0, (int)(sizeof groups / sizeof *groups));
    suite_add_tcase(s, t);
    return suite_run_in_one(s);
}
