/* SPDX-License-Identifier: Apache-2.0 */
#include "cudasim.h"

/* Bits, shifts, comparisons of integers and selection, bit by bit or through signed 128-bit
 * numbers. */

__extension__ typedef __int128 wide;
#define E(name, expression)                                                                    \
    static uint64_t name(uint64_t a, uint64_t b, uint64_t c)                                   \
    {                                                                                          \
        (void)a, (void)b, (void)c;                                                             \
        return (uint64_t)(expression);                                                         \
    }
#define S(bits, x) ((wide)((int64_t)((uint64_t)(x) << (64 - (bits))) >> (64 - (bits))))

static uint64_t bit(uint64_t v, uint64_t k)
{
    return k < 64 ? v >> k & 1 : 0;
}

E(and_, a &b)
E(or_, a | b)
E(xor_, a ^ b)
E(not_, ~a)
E(cnot, a == 0)

static uint64_t moved(uint64_t v, wide by, int bits)
{
    uint64_t r = 0;
    for (int k = 0; k < bits; k++)
        if (k - by >= 0 && k - by < bits)
            r |= bit(v, (uint64_t)(k - by)) << k;
    return r;
}
E(shl16, moved(a, (uint32_t)b, 16))
E(shl32, moved(a, (uint32_t)b, 32))
E(shl64, moved(a, (uint32_t)b, 64))
E(shr16, moved(a, -(wide)(uint32_t)b, 16))
E(shr32, moved(a, -(wide)(uint32_t)b, 32))
E(shr64, moved(a, -(wide)(uint32_t)b, 64))
#define SIGNED_SHIFT(bits) (S(bits, a) >> ((uint32_t)b > 64 ? 64 : (uint32_t)b))
E(sar16, SIGNED_SHIFT(16))
E(sar32, SIGNED_SHIFT(32))
E(sar64, SIGNED_SHIFT(64))
#define PAIR ((uint64_t)(uint32_t)b << 32 | (uint32_t)a)
#define CLAMP32(x) ((x) > 32 ? 32 : (x))
E(shf_lw, moved(PAIR, c % 32, 64) >> 32)
E(shf_rw, moved(PAIR, -(wide)(c % 32), 64))
E(shf_lc, moved(PAIR, (wide)CLAMP32(c), 64) >> 32)
E(shf_rc, moved(PAIR, -(wide)CLAMP32(c), 64))

static uint64_t ones(uint64_t v, int bits)
{
    uint64_t n = 0;
    for (int k = 0; k < bits; k++)
        n += bit(v, (uint64_t)k);
    return n;
}
E(popc, ones(a, 64))

static int top_bit(uint64_t v, int bits)
{
    int k = bits - 1;
    while (k >= 0 && !bit(v, (uint64_t)k))
        k--;
    return k;
}
E(clz32, 31 - top_bit(a, 32))
E(clz64, 63 - top_bit(a, 64))
E(find_u, top_bit(a, 64))
E(find_s32, top_bit(S(32, a) < 0 ? ~a & 0xffffffff : a, 32))
E(find_s64, top_bit(S(64, a) < 0 ? ~a : a, 64))
#define SHIFT(bits, v) (top_bit(v, bits) < 0 ? -1 : (bits)-1 - top_bit(v, bits))
E(shift_u32, SHIFT(32, a))
E(shift_u64, SHIFT(64, a))
E(shift_s32, SHIFT(32, S(32, a) < 0 ? ~a & 0xffffffff : a))
E(shift_s64, SHIFT(64, S(64, a) < 0 ? ~a : a))

static uint64_t mirrored(uint64_t v, int bits)
{
    uint64_t r = 0;
    for (int k = 0; k < bits; k++)
        r |= bit(v, (uint64_t)k) << (bits - 1 - k);
    return r;
}
E(brev32, mirrored(a, 32))
E(brev64, mirrored(a, 64))

/* PTX's own pseudo-code for bfe and bfi. */
static uint64_t extract(uint64_t a, uint64_t pos, uint64_t len, int msb, bool sign)
{
    pos &= 255, len &= 255;
    uint64_t sbit = 0, d = 0;
    if (sign && len)
        sbit = bit(a, pos + len - 1 < (uint64_t)msb ? pos + len - 1 : (uint64_t)msb);
    for (uint64_t k = 0; k <= (uint64_t)msb; k++)
        d |= (k < len && pos + k <= (uint64_t)msb ? bit(a, pos + k) : sbit) << k;
    return d;
}
E(bfe_u32, extract(a, b, c, 31, false))
E(bfe_s32, extract(a, b, c, 31, true))
E(bfe_u64, extract(a, b, c, 63, false))
E(bfe_s64, extract(a, b, c, 63, true))

static uint64_t insert(uint64_t a, uint64_t b, uint64_t pos, uint64_t len, uint64_t msb)
{
    pos &= 255, len &= 255;
    for (uint64_t k = 0; k < len && pos + k <= msb; k++)
        b = (b & ~((uint64_t)1 << (pos + k))) | bit(a, k) << (pos + k);
    return b;
}
E(bfi32, insert(a, b, c, 7, 31))
E(bfi64, insert(a, b, c, 40, 63))

static uint64_t mask_of(uint64_t a, uint64_t b, bool clamp)
{
    uint64_t r = 0, start = clamp ? a : a % 32, n = clamp ? b : b % 32;
    for (uint64_t k = 0; k < 32; k++)
        r |= (uint64_t)(k >= start && k - start < n) << k;
    return r;
}
E(bmsk_c, mask_of(a, b, true))
E(bmsk_w, mask_of(a, b, false))

static uint64_t narrowed(uint64_t a, uint64_t n, bool sign, bool clamp)
{
    n = clamp ? (n > 32 ? 32 : n) : n % 32;
    if (!n)
        return 0;
    return (uint64_t)(sign ? S(n, a) : (wide)(a & (UINT64_MAX >> (64 - n))));
}
E(szext_uc, narrowed(a, b, false, true))
E(szext_uw, narrowed(a, b, false, false))
E(szext_sc, narrowed(a, b, true, true))
E(szext_sw, narrowed(a, b, true, false))

static uint64_t byte_of(uint64_t a, uint64_t b, uint64_t k)
{
    return k < 4 ? a >> 8 * k & 255 : b >> 8 * (k - 4) & 255;
}

static uint64_t permuted(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t r = 0;
    for (uint64_t k = 0; k < 4; k++) {
        uint64_t s = c >> 4 * k & 15, v = byte_of(a, b, s & 7);
        r |= (s & 8 ? (v & 128 ? 255 : 0) : v) << 8 * k;
    }
    return r;
}

/* Rows of the table in the PTX manual, most significant byte first, for selector c[1:0]. */
static uint64_t from_table(uint64_t a, uint64_t b, uint64_t c, const char *const table[4])
{
    uint64_t r = 0;
    for (int k = 0; k < 4; k++)
        r = r << 8 | byte_of(a, b, (uint64_t)(table[c & 3][k] - '0'));
    return r;
}
static const char *const f4e[] = {"3210", "4321", "5432", "6543"};
static const char *const b4e[] = {"5670", "6701", "7012", "0123"};
static const char *const rc8[] = {"0000", "1111", "2222", "3333"};
static const char *const ecl[] = {"3210", "3211", "3222", "3333"};
static const char *const ecr[] = {"0000", "1110", "2210", "3210"};
static const char *const rc16[] = {"1010", "3232", "1010", "3232"};
E(prmt_f4e, from_table(a, b, c, f4e))
E(prmt_b4e, from_table(a, b, c, b4e))
E(prmt_rc8, from_table(a, b, c, rc8))
E(prmt_ecl, from_table(a, b, c, ecl))
E(prmt_ecr, from_table(a, b, c, ecr))
E(prmt_rc16, from_table(a, b, c, rc16))

/* The table's number is the result for the inputs 0xf0, 0xcc, 0xaa. */
E(lop_96, a ^ b ^ c)
E(lop_e8, (a & b) | (a & c) | (b & c))
E(lop_1a, (~a & c) | (a & ~b & ~c))
E(lop_ca, (a & b) | (~a & c))

static uint64_t nth_set(uint64_t mask, uint64_t base, wide offset)
{
    wide k = (wide)base, step = offset < 0 ? -1 : 1, left = offset < 0 ? -offset : offset;
    if (base > 31)
        return 0xffffffff;
    if (!offset)
        return bit(mask, base) ? base : 0xffffffff;
    for (; k >= 0 && k < 32; k += step)
        if (bit(mask, (uint64_t)k) && --left == 0)
            return (uint64_t)k;
    return 0xffffffff;
}
E(fns, nth_set(a, b % 32, S(32, c) % 9))

E(eq, a == b)
E(ne, a != b)
E(lt_u, a < b)
E(le_u, a <= b)
E(gt_u, a > b)
E(ge_u, a >= b)
E(lt_s16, S(16, a) < S(16, b))
E(ge_s16, S(16, a) >= S(16, b))
E(le_s32, S(32, a) <= S(32, b))
E(gt_s32, S(32, a) > S(32, b))
E(lt_s64, S(64, a) < S(64, b))
E(ge_s64, S(64, a) >= S(64, b))
E(lt_and, S(32, a) < S(32, b) && c)
E(lt_or_not, S(32, a) < S(32, b) || !c)
E(not_lt_xor, !(a < b) != !!c)
E(set_all, S(32, a) < S(32, b) ? 0xffffffff : 0)
E(set_one, a == b ? 0x3f800000 : 0)
E(set_s64_and, S(64, a) > S(64, b) && c ? 0xffffffff : 0)
E(set_s16, S(16, a) < S(16, b) ? 0xffffffff : 0)
E(set_hs, a >= b ? 0xffffffff : 0)
E(pick, c ? a : b)
E(pick_not, c ? b : a)
E(pick_sign, S(32, c) >= 0 ? a : b)
/* f32: >= 0, which NaN is not and -0 is. */
E(pick_float, (c & 0x7fffffff) > 0x7f800000 ? b : c >> 31 && c & 0x7fffffff ? b : a)
E(pick_flushed, (c & 0x7fffffff) > 0x7f800000 ? b : c >> 31 && c & 0x7f800000 ? b : a)
E(p_and, a &&b)
E(p_or, a || b)
E(p_xor, !a != !b)
E(p_not, !a)
E(p_mov, !!a)

static const struct row rows[] = {
    {"and.b16 %d, %a, %b;", "hhh", and_},
    {"and.b32 %d, %a, %b;", "www", and_},
    {"and.b64 %d, %a, %b;", "ddd", and_},
    {"and.pred %d, %a, %b;", "ppp", p_and},
    {"or.b16 %d, %a, %b;", "hhh", or_},
    {"or.b32 %d, %a, %b;", "www", or_},
    {"or.b64 %d, %a, %b;", "ddd", or_},
    {"or.pred %d, %a, %b;", "ppp", p_or},
    {"xor.b16 %d, %a, %b;", "hhh", xor_},
    {"xor.b32 %d, %a, %b;", "www", xor_},
    {"xor.b64 %d, %a, %b;", "ddd", xor_},
    {"xor.pred %d, %a, %b;", "ppp", p_xor},
    {"not.b16 %d, %a;", "hh", not_},
    {"not.b32 %d, %a;", "ww", not_},
    {"not.b64 %d, %a;", "dd", not_},
    {"not.pred %d, %a;", "pp", p_not},
    {"mov.pred %d, %a;", "pp", p_mov},
    {"cnot.b16 %d, %a;", "hh", cnot},
    {"cnot.b32 %d, %a;", "ww", cnot},
    {"cnot.b64 %d, %a;", "dd", cnot},
    {"shl.b16 %d, %a, %b;", "hhw", shl16},
    {"shl.b32 %d, %a, %b;", "www", shl32},
    {"shl.b64 %d, %a, %b;", "ddw", shl64},
    {"shr.u16 %d, %a, %b;", "hhw", shr16},
    {"shr.b32 %d, %a, %b;", "www", shr32},
    {"shr.u64 %d, %a, %b;", "ddw", shr64},
    {"shr.s16 %d, %a, %b;", "hhw", sar16},
    {"shr.s32 %d, %a, %b;", "www", sar32},
    {"shr.s64 %d, %a, %b;", "ddw", sar64},
    {"shf.l.wrap.b32 %d, %a, %b, %c;", "wwww", shf_lw},
    {"shf.r.wrap.b32 %d, %a, %b, %c;", "wwww", shf_rw},
    {"shf.l.clamp.b32 %d, %a, %b, %c;", "wwww", shf_lc},
    {"shf.r.clamp.b32 %d, %a, %b, %c;", "wwww", shf_rc},
    {"popc.b32 %d, %a;", "ww", popc},
    {"popc.b64 %d, %a;", "wd", popc},
    {"clz.b32 %d, %a;", "ww", clz32},
    {"clz.b64 %d, %a;", "wd", clz64},
    {"brev.b32 %d, %a;", "ww", brev32},
    {"brev.b64 %d, %a;", "dd", brev64},
    {"bfind.u32 %d, %a;", "ww", find_u},
    {"bfind.s32 %d, %a;", "ww", find_s32},
    {"bfind.u64 %d, %a;", "wd", find_u},
    {"bfind.s64 %d, %a;", "wd", find_s64},
    {"bfind.shiftamt.u32 %d, %a;", "ww", shift_u32},
    {"bfind.shiftamt.s32 %d, %a;", "ww", shift_s32},
    {"bfind.shiftamt.u64 %d, %a;", "wd", shift_u64},
    {"bfind.shiftamt.s64 %d, %a;", "wd", shift_s64},
    {"bfe.u32 %d, %a, %b, %c;", "wwww", bfe_u32},
    {"bfe.s32 %d, %a, %b, %c;", "wwww", bfe_s32},
    {"bfe.u64 %d, %a, %b, %c;", "ddww", bfe_u64},
    {"bfe.s64 %d, %a, %b, %c;", "ddww", bfe_s64},
    {"bfi.b32 %d, %a, %b, %c, 7;", "wwww", bfi32},
    {"bfi.b64 %d, %a, %b, %c, 40;", "dddw", bfi64},
    {"bmsk.clamp.b32 %d, %a, %b;", "www", bmsk_c},
    {"bmsk.wrap.b32 %d, %a, %b;", "www", bmsk_w},
    {"szext.clamp.u32 %d, %a, %b;", "www", szext_uc},
    {"szext.wrap.u32 %d, %a, %b;", "www", szext_uw},
    {"szext.clamp.s32 %d, %a, %b;", "www", szext_sc},
    {"szext.wrap.s32 %d, %a, %b;", "www", szext_sw},
    {"prmt.b32 %d, %a, %b, %c;", "wwww", permuted},
    {"prmt.b32.f4e %d, %a, %b, %c;", "wwww", prmt_f4e},
    {"prmt.b32.b4e %d, %a, %b, %c;", "wwww", prmt_b4e},
    {"prmt.b32.rc8 %d, %a, %b, %c;", "wwww", prmt_rc8},
    {"prmt.b32.ecl %d, %a, %b, %c;", "wwww", prmt_ecl},
    {"prmt.b32.ecr %d, %a, %b, %c;", "wwww", prmt_ecr},
    {"prmt.b32.rc16 %d, %a, %b, %c;", "wwww", prmt_rc16},
    {"lop3.b32 %d, %a, %b, %c, 0x96;", "wwww", lop_96},
    {"lop3.b32 %d, %a, %b, %c, 0xe8;", "wwww", lop_e8},
    {"lop3.b32 %d, %a, %b, %c, 0x1a;", "wwww", lop_1a},
    {"lop3.b32 %d, %a, %b, %c, 0xca;", "wwww", lop_ca},
    {"and.b32 %b, %b, 31; rem.s32 %c, %c, 9; fns.b32 %d, %a, %b, %c;", "wwww", fns},
    {"setp.eq.b16 %d, %a, %b;", "phh", eq},
    {"setp.lt.s16 %d, %a, %b;", "phh", lt_s16},
    {"setp.ge.s16 %d, %a, %b;", "phh", ge_s16},
    {"setp.ne.b32 %d, %a, %b;", "pww", ne},
    {"setp.lt.u32 %d, %a, %b;", "pww", lt_u},
    {"setp.lo.u32 %d, %a, %b;", "pww", lt_u},
    {"setp.ls.u32 %d, %a, %b;", "pww", le_u},
    {"setp.hi.u32 %d, %a, %b;", "pww", gt_u},
    {"setp.hs.u32 %d, %a, %b;", "pww", ge_u},
    {"setp.le.s32 %d, %a, %b;", "pww", le_s32},
    {"setp.gt.s32 %d, %a, %b;", "pww", gt_s32},
    {"setp.gt.u64 %d, %a, %b;", "pdd", gt_u},
    {"setp.lt.s64 %d, %a, %b;", "pdd", lt_s64},
    {"setp.ge.s64 %d, %a, %b;", "pdd", ge_s64},
    {"setp.lt.and.s32 %d, %a, %b, %c;", "pwwp", lt_and},
    {"setp.lt.or.s32 %d, %a, %b, !%c;", "pwwp", lt_or_not},
    {".reg .pred %e; setp.lt.xor.u32 %e|%d, %a, %b, %c;", "pwwp", not_lt_xor},
    {"set.lt.u32.s32 %d, %a, %b;", "www", set_all},
    {"set.eq.f32.u32 %d, %a, %b;", "www", set_one},
    {"set.gt.and.u32.s64 %d, %a, %b, %c;", "wddp", set_s64_and},
    {"set.lt.s32.s16 %d, %a, %b;", "whh", set_s16},
    {"set.hs.u32.u64 %d, %a, %b;", "wdd", set_hs},
    {"selp.b16 %d, %a, %b, %c;", "hhhp", pick},
    {"selp.f32 %d, %a, %b, %c;", "wwwp", pick},
    {"selp.b32 %d, %a, %b, !%c;", "wwwp", pick_not},
    {"selp.u64 %d, %a, %b, %c;", "dddp", pick},
    {"slct.b32.s32 %d, %a, %b, %c;", "wwww", pick_sign},
    {"slct.u64.s32 %d, %a, %b, %c;", "dddw", pick_sign},
    {"slct.f32.f32 %d, %a, %b, %c;", "wwww", pick_float},
    {"slct.f64.f32 %d, %a, %b, %c;", "dddw", pick_float},
    {"slct.ftz.b32.f32 %d, %a, %b, %c;", "wwww", pick_flushed},
    {"slct.ftz.b64.f32 %d, %a, %b, %c;", "dddw", pick_flushed},
};

START_TEST(each_row)
{
    gpu_start();
    row_run(&rows[_i], integer_draw, NULL);
}
END_TEST

START_TEST(all_forms)
{
    forms_check(
        " cnot shl shr shf popc clz brev bfind bfe bfi bmsk szext prmt lop3 fns selp slct ");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cuda_sim_bits");
    TCase *t = tcase_create("rows");
    tcase_add_loop_test(t, each_row, 0, (int)(sizeof rows / sizeof *rows));
    tcase_add_test(t, all_forms);
    suite_add_tcase(s, t);
    return suite_run_in_one(s);
}
