/* SPDX-License-Identifier: Apache-2.0 */
#include "exec.h"

#include <string.h>

/* Instructions that look at other lanes or at registers chosen at run time. */

int exec_valu_nop(struct wave *w, const struct inst *i)
{
    (void)w, (void)i;
    return WAVE_GOES_ON;
}

static uint32_t operand_at(const struct wave *w, const struct operand *o, unsigned lane)
{
    return o->kind == OPERAND_VGPR ? w->v[o->index][lane] : scalar_32(w, o);
}

/* With no lane active it is lane 0 that is read. */
int exec_readfirstlane(struct wave *w, const struct inst *i)
{
    const uint32_t exec = w->s[WAVE_EXEC];
    w->s[i->d] = operand_at(w, &i->src[0], exec ? (unsigned)__builtin_ctz(exec) : 0);
    return WAVE_GOES_ON;
}

int exec_readlane(struct wave *w, const struct inst *i)
{
    w->s[i->d] = operand_at(w, &i->src[0], operand_at(w, &i->src[1], 0) & 31);
    return WAVE_GOES_ON;
}

int exec_writelane(struct wave *w, const struct inst *i)
{
    unsigned lane = operand_at(w, &i->src[1], 0) & 31;
    w->v[i->d][lane] = operand_at(w, &i->src[0], 0);
    return WAVE_GOES_ON;
}

static void row_store(struct wave *w, unsigned reg, const uint32_t *r)
{
    for (uint32_t rest = w->s[WAVE_EXEC]; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        w->v[reg][lane] = r[lane];
    }
}

static void operand_row(const struct wave *w, const struct operand *o, uint32_t *ret)
{
    for (unsigned lane = 0; lane < WAVE_LANES; lane++)
        ret[lane] = operand_at(w, o, lane);
}

int exec_swap(struct wave *w, const struct inst *i)
{
    wave_row d, s;
    const bool half = i->code->d == T_B16;
    memcpy(d, w->v[i->d], sizeof d);
    operand_row(w, &i->src[0], s);
    if (i->src[0].kind != OPERAND_VGPR)
        return wave_trap(w, i, "swaps with something that is no vector register");
    for (int lane = 0; half && lane < WAVE_LANES; lane++) {
        const unsigned ds = i->d_high ? 16 : 0, ss = i->src[0].high ? 16 : 0;
        const uint32_t p = d[lane] >> ds & 0xffff, q = s[lane] >> ss & 0xffff;
        const bool same = i->d == i->src[0].index;
        s[lane] = (s[lane] & ~(0xffffu << ss)) | p << ss;
        d[lane] = ((same ? s[lane] : d[lane]) & ~(0xffffu << ds)) | q << ds;
        s[lane] = same ? d[lane] : s[lane];
    }
    row_store(w, i->d, half ? d : s);
    row_store(w, i->src[0].index, half ? s : d);
    return WAVE_GOES_ON;
}

/* v_movreld, v_movrels, v_movrelsd (one index for both), v_movrelsd_2 and v_swaprel (ten bits
 * each). */
int exec_movrel(struct wave *w, const struct inst *i)
{
    const char *kind = i->code->name;
    const bool both = strstr(kind, "_2_") || strstr(kind, "swaprel");
    const bool from = both || strstr(kind, "movrels"),
               to = both || strstr(kind, "reld") || strstr(kind, "relsd");
    const uint32_t m0 = w->s[WAVE_M0];
    const uint64_t s = i->src[0].index + (from ? both ? m0 & 1023 : (uint64_t)m0 : 0);
    const uint64_t d = i->d + (to ? both ? m0 >> 16 & 1023 : (uint64_t)m0 : 0);
    wave_row r, old;
    if (d >= WAVE_VGPRS || (from && (i->src[0].kind != OPERAND_VGPR || s >= WAVE_VGPRS)))
        return wave_trap(w, i, "a register chosen by M0 does not exist");
    if (from)
        memcpy(r, w->v[s], sizeof r);
    else
        operand_row(w, &i->src[0], r);
    memcpy(old, w->v[d], sizeof old);
    row_store(w, (unsigned)d, r);
    if (strstr(kind, "swaprel"))
        row_store(w, (unsigned)s, old);
    return WAVE_GOES_ON;
}

/* Between the halves of a wave of 64; a wave of 32 has only one. */
int exec_permlane64(struct wave *w, const struct inst *i)
{
    (void)w, (void)i;
    return WAVE_GOES_ON;
}

/* Sixteen four-bit selectors in src1 and src2, within each row of 16 or from the other row.
 * op_sel 0: read lanes that are off; op_sel 1: such a lane gives 0 instead of keeping d. */
int exec_permlane16(struct wave *w, const struct inst *i)
{
    const bool cross = strstr(i->code->name, "permlanex") != NULL;
    const uint64_t select = scalar_32(w, &i->src[1]) | (uint64_t)scalar_32(w, &i->src[2]) << 32;
    const uint32_t exec = w->s[WAVE_EXEC];
    wave_row s, r;
    operand_row(w, &i->src[0], s);
    memcpy(r, w->v[i->d], sizeof r);
    for (int lane = 0; lane < WAVE_LANES; lane++) {
        int row = (lane & 16) ^ (cross ? 16 : 0);
        int source = row + (int)(select >> 4 * (lane & 15) & 15);
        if ((exec >> source & 1) || (i->opsel & 1))
            r[lane] = s[source];
        else if (i->opsel & 2)
            r[lane] = 0;
    }
    row_store(w, i->d, r);
    return WAVE_GOES_ON;
}
