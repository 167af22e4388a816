/* SPDX-License-Identifier: Apache-2.0 */
#include "cudasim.h"

/* Integer arithmetic, against arithmetic of 128 bits written apart from the simulator. */

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

#define S16(x) ((wide)(int16_t)(x))
#define S32(x) ((wide)(int32_t)(x))
#define S64(x) ((wide)(int64_t)(x))
#define E(name, expression)                                                                    \
    static uint64_t name(uint64_t a, uint64_t b, uint64_t c)                                   \
    {                                                                                          \
        (void)a, (void)b, (void)c;                                                             \
        return (uint64_t)(expression);                                                         \
    }

static wide clamp32(wide v)
{
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
}

/* Truncating division by repeated doubling, so that not even '/' is shared. */
static wide quotient(wide a, wide b)
{
    uwide x = a < 0 ? -(uwide)a : (uwide)a, y = b < 0 ? -(uwide)b : (uwide)b, q = 0;
    for (int k = 63; k >= 0; k--)
        if (y << k <= x) {
            x -= y << k;
            q |= (uwide)1 << k;
        }
    return (a < 0) != (b < 0) ? -(wide)q : (wide)q;
}

static wide remainder_of(wide a, wide b)
{
    return a - quotient(a, b) * b;
}

E(add, a + b)
E(sub, a - b)
E(mul, a *b)
E(add_halves, ((a + b) & 0xffff) | (((a >> 16) + (b >> 16)) << 16))
E(add_sat, clamp32(S32(a) + S32(b)))
E(sub_sat, clamp32(S32(a) - S32(b)))
E(hi_u16, (uwide)a *b >> 16)
E(hi_s16, S16(a) * S16(b) >> 16)
E(hi_u32, (uwide)a *b >> 32)
E(hi_s32, S32(a) * S32(b) >> 32)
E(hi_u64, (uwide)a *b >> 64)
E(hi_s64, S64(a) * S64(b) >> 64)
E(wide_s16, S16(a) * S16(b))
E(wide_s32, S32(a) * S32(b))
#define LOW24(x) ((x)&0xffffff)
#define S24(x) ((wide)(LOW24(x) ^ 0x800000) - 0x800000)
E(mul24_lo_u, LOW24(a) * LOW24(b))
E(mul24_lo_s, S24(a) * S24(b))
E(mul24_hi_u, (LOW24(a) * LOW24(b)) >> 16)
E(mul24_hi_s, S24(a) * S24(b) >> 16)
E(mad24_lo_u, LOW24(a) * LOW24(b) + c)
E(mad24_lo_s, S24(a) * S24(b) + (wide)c)
E(mad24_hi_u, ((LOW24(a) * LOW24(b)) >> 16) + c)
E(mad24_hi_s, (S24(a) * S24(b) >> 16) + (wide)c)
E(mad, a *b + c)
E(mad_hi_u16, ((uwide)a * b >> 16) + c)
E(mad_hi_s16, (S16(a) * S16(b) >> 16) + (wide)c)
E(mad_hi_u32, ((uwide)a * b >> 32) + c)
E(mad_hi_s32, (S32(a) * S32(b) >> 32) + (wide)c)
E(mad_hi_u64, ((uwide)a * b >> 64) + c)
E(mad_hi_s64, (S64(a) * S64(b) >> 64) + (wide)c)
E(mad_hi_sat, clamp32((S32(a) * S32(b) >> 32) + S32(c)))
E(mad_wide_u, (uwide)a *b + c)
E(mad_wide_s16, S16(a) * S16(b) + (wide)c)
E(mad_wide_s32, S32(a) * S32(b) + (wide)c)
#define AWAY(x, y) ((x) < (y) ? (y) - (x) : (x) - (y))
E(sad_u, AWAY((wide)a, (wide)b) + (wide)c)
E(sad_s16, AWAY(S16(a), S16(b)) + (wide)c)
E(sad_s32, AWAY(S32(a), S32(b)) + (wide)c)
E(sad_s64, AWAY(S64(a), S64(b)) + (wide)c)
E(div_u, b ? (uint64_t)quotient((wide)a, (wide)b) : UINT64_MAX)
E(div_s16, b ? quotient(S16(a), S16(b)) : -1)
E(div_s32, b ? quotient(S32(a), S32(b)) : -1)
E(div_s64, b ? quotient(S64(a), S64(b)) : -1)
E(rem_u, b ? (uint64_t)remainder_of((wide)a, (wide)b) : a)
E(rem_s16, b ? remainder_of(S16(a), S16(b)) : S16(a))
E(rem_s32, b ? remainder_of(S32(a), S32(b)) : S32(a))
E(rem_s64, b ? remainder_of(S64(a), S64(b)) : S64(a))
E(abs_s16, AWAY(S16(a), 0))
E(abs_s32, AWAY(S32(a), 0))
E(abs_s64, AWAY(S64(a), 0))
E(neg, 0 - a)
E(min_u, a < b ? a : b)
E(max_u, a > b ? a : b)
E(min_s16, S16(a) < S16(b) ? a : b)
E(max_s16, S16(a) > S16(b) ? a : b)
E(min_s32, S32(a) < S32(b) ? a : b)
E(max_s32, S32(a) > S32(b) ? a : b)
E(min_s64, S64(a) < S64(b) ? a : b)
E(max_s64, S64(a) > S64(b) ? a : b)

static uint64_t dot4(uint64_t a, uint64_t b, uint64_t c, int a_signed, int b_signed)
{
    wide sum = (wide)c;
    for (int k = 0; k < 4; k++) {
        wide x = (wide)(a >> 8 * k & 255), y = (wide)(b >> 8 * k & 255);
        sum += (a_signed && x > 127 ? x - 256 : x) * (b_signed && y > 127 ? y - 256 : y);
    }
    return (uint64_t)sum;
}
E(dot_uu, dot4(a, b, c, 0, 0))
E(dot_us, dot4(a, b, c, 0, 1))
E(dot_su, dot4(a, b, c, 1, 0))
E(dot_ss, dot4(a, b, c, 1, 1))
E(dot2_lo, (wide)c + S16(a) * (wide)(int8_t)b + S16(a >> 16) * (wide)(int8_t)(b >> 8))
E(dot2_hi, (wide)c + (wide)(a & 0xffff) * (wide)(b >> 16 & 255) +
               (wide)(a >> 16 & 0xffff) * (wide)(b >> 24 & 255))

/* a + b with the carry of c + b added, and so on. */
E(carry_add, a + b + (uint64_t)(((uwide)b + c) >> 64))
E(carry_add32, a + b + ((b + c) >> 32))
E(carry_sub, a - b - (c < b))
E(carry_mad32, ((uwide)a * b >> 32) + c + (uint64_t)(((uwide)(uint32_t)(a * b) + c) >> 32))
E(carry_mad64, (uint64_t)((uwide)a *b >> 64) + c + (uint64_t)(((uwide)(a * b) + c) >> 64))

static const struct row rows[] = {
    {"add.u16 %d, %a, %b;", "hhh", add},
    {"add.s32 %d, %a, %b;", "www", add},
    {"add.u64 %d, %a, %b;", "ddd", add},
    {"add.sat.s32 %d, %a, %b;", "www", add_sat},
    {"add.u16x2 %d, %a, %b;", "www", add_halves},
    {"sub.s16 %d, %a, %b;", "hhh", sub},
    {"sub.u32 %d, %a, %b;", "www", sub},
    {"sub.s64 %d, %a, %b;", "ddd", sub},
    {"sub.sat.s32 %d, %a, %b;", "www", sub_sat},
    {"mul.lo.s16 %d, %a, %b;", "hhh", mul},
    {"mul.lo.u32 %d, %a, %b;", "www", mul},
    {"mul.lo.s64 %d, %a, %b;", "ddd", mul},
    {"mul.hi.u16 %d, %a, %b;", "hhh", hi_u16},
    {"mul.hi.s16 %d, %a, %b;", "hhh", hi_s16},
    {"mul.hi.u32 %d, %a, %b;", "www", hi_u32},
    {"mul.hi.s32 %d, %a, %b;", "www", hi_s32},
    {"mul.hi.u64 %d, %a, %b;", "ddd", hi_u64},
    {"mul.hi.s64 %d, %a, %b;", "ddd", hi_s64},
    {"mul.wide.u16 %d, %a, %b;", "whh", mul},
    {"mul.wide.s16 %d, %a, %b;", "whh", wide_s16},
    {"mul.wide.u32 %d, %a, %b;", "dww", mul},
    {"mul.wide.s32 %d, %a, %b;", "dww", wide_s32},
    {"mul24.lo.u32 %d, %a, %b;", "www", mul24_lo_u},
    {"mul24.lo.s32 %d, %a, %b;", "www", mul24_lo_s},
    {"mul24.hi.u32 %d, %a, %b;", "www", mul24_hi_u},
    {"mul24.hi.s32 %d, %a, %b;", "www", mul24_hi_s},
    {"mad24.lo.u32 %d, %a, %b, %c;", "wwww", mad24_lo_u},
    {"mad24.lo.s32 %d, %a, %b, %c;", "wwww", mad24_lo_s},
    {"mad24.hi.u32 %d, %a, %b, %c;", "wwww", mad24_hi_u},
    {"mad24.hi.s32 %d, %a, %b, %c;", "wwww", mad24_hi_s},
    {"mad.lo.u16 %d, %a, %b, %c;", "hhhh", mad},
    {"mad.lo.s32 %d, %a, %b, %c;", "wwww", mad},
    {"mad.lo.u64 %d, %a, %b, %c;", "dddd", mad},
    {"mad.hi.u16 %d, %a, %b, %c;", "hhhh", mad_hi_u16},
    {"mad.hi.s16 %d, %a, %b, %c;", "hhhh", mad_hi_s16},
    {"mad.hi.u32 %d, %a, %b, %c;", "wwww", mad_hi_u32},
    {"mad.hi.s32 %d, %a, %b, %c;", "wwww", mad_hi_s32},
    {"mad.hi.u64 %d, %a, %b, %c;", "dddd", mad_hi_u64},
    {"mad.hi.s64 %d, %a, %b, %c;", "dddd", mad_hi_s64},
    {"mad.hi.sat.s32 %d, %a, %b, %c;", "wwww", mad_hi_sat},
    {"mad.wide.u16 %d, %a, %b, %c;", "whhw", mad_wide_u},
    {"mad.wide.s16 %d, %a, %b, %c;", "whhw", mad_wide_s16},
    {"mad.wide.u32 %d, %a, %b, %c;", "dwwd", mad_wide_u},
    {"mad.wide.s32 %d, %a, %b, %c;", "dwwd", mad_wide_s32},
    {"sad.u16 %d, %a, %b, %c;", "hhhh", sad_u},
    {"sad.s16 %d, %a, %b, %c;", "hhhh", sad_s16},
    {"sad.u32 %d, %a, %b, %c;", "wwww", sad_u},
    {"sad.s32 %d, %a, %b, %c;", "wwww", sad_s32},
    {"sad.u64 %d, %a, %b, %c;", "dddd", sad_u},
    {"sad.s64 %d, %a, %b, %c;", "dddd", sad_s64},
    {"div.u16 %d, %a, %b;", "hhh", div_u},
    {"div.s16 %d, %a, %b;", "hhh", div_s16},
    {"div.u32 %d, %a, %b;", "www", div_u},
    {"div.s32 %d, %a, %b;", "www", div_s32},
    {"div.u64 %d, %a, %b;", "ddd", div_u},
    {"div.s64 %d, %a, %b;", "ddd", div_s64},
    {"rem.u16 %d, %a, %b;", "hhh", rem_u},
    {"rem.s16 %d, %a, %b;", "hhh", rem_s16},
    {"rem.u32 %d, %a, %b;", "www", rem_u},
    {"rem.s32 %d, %a, %b;", "www", rem_s32},
    {"rem.u64 %d, %a, %b;", "ddd", rem_u},
    {"rem.s64 %d, %a, %b;", "ddd", rem_s64},
    {"abs.s16 %d, %a;", "hh", abs_s16},
    {"abs.s32 %d, %a;", "ww", abs_s32},
    {"abs.s64 %d, %a;", "dd", abs_s64},
    {"neg.s16 %d, %a;", "hh", neg},
    {"neg.s32 %d, %a;", "ww", neg},
    {"neg.s64 %d, %a;", "dd", neg},
    {"min.u16 %d, %a, %b;", "hhh", min_u},
    {"max.u16 %d, %a, %b;", "hhh", max_u},
    {"min.s16 %d, %a, %b;", "hhh", min_s16},
    {"max.s16 %d, %a, %b;", "hhh", max_s16},
    {"min.u32 %d, %a, %b;", "www", min_u},
    {"max.u32 %d, %a, %b;", "www", max_u},
    {"min.s32 %d, %a, %b;", "www", min_s32},
    {"max.s32 %d, %a, %b;", "www", max_s32},
    {"min.u64 %d, %a, %b;", "ddd", min_u},
    {"max.u64 %d, %a, %b;", "ddd", max_u},
    {"min.s64 %d, %a, %b;", "ddd", min_s64},
    {"max.s64 %d, %a, %b;", "ddd", max_s64},
    {"dp4a.u32.u32 %d, %a, %b, %c;", "wwww", dot_uu},
    {"dp4a.u32.s32 %d, %a, %b, %c;", "wwww", dot_us},
    {"dp4a.s32.u32 %d, %a, %b, %c;", "wwww", dot_su},
    {"dp4a.s32.s32 %d, %a, %b, %c;", "wwww", dot_ss},
    {"dp2a.lo.s32.s32 %d, %a, %b, %c;", "wwww", dot2_lo},
    {"dp2a.hi.u32.u32 %d, %a, %b, %c;", "wwww", dot2_hi},
    {"add.cc.u64 %d, %b, %c; addc.u64 %d, %a, %b;", "dddd", carry_add},
    {"add.cc.u32 %d, %b, %c; addc.cc.u32 %d, %a, %b;", "wwww", carry_add32},
    {"sub.cc.u64 %d, %c, %b; subc.u64 %d, %a, %b;", "dddd", carry_sub},
    {"sub.cc.u32 %d, %c, %b; subc.cc.u32 %d, %a, %b;", "wwww", carry_sub},
    {"mad.lo.cc.u32 %d, %a, %b, %c; madc.hi.u32 %d, %a, %b, %c;", "wwww", carry_mad32},
    {"mad.lo.cc.u64 %d, %a, %b, %c; madc.hi.u64 %d, %a, %b, %c;", "dddd", carry_mad64},
};

START_TEST(each_row)
{
    gpu_start();
    row_run(&rows[_i], integer_draw, NULL);
}
END_TEST

START_TEST(all_forms)
{
    forms_check(" mul24 mad24 sad dp4a dp2a rem addc subc madc ");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cuda_sim_int");
    TCase *t = tcase_create("rows");
    tcase_add_loop_test(t, each_row, 0, (int)(sizeof rows / sizeof *rows));
    tcase_add_test(t, all_forms);
    suite_add_tcase(s, t);
    return suite_run_in_one(s);
}
