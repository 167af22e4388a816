/* SPDX-License-Identifier: Apache-2.0 */
#include "taint.h"

#include <string.h>

/* Vector instructions whose lanes are not on their own. */

/* Lanes of which a register of A or B has an unset bit. */
static uint32_t spoiled(const struct taint *t, const struct inst *i, int n)
{
    const struct operand *o = &i->src[n];
    const unsigned count = o->type == T_X64 ? 2 : o->type == T_X128 ? 4 : 8;
    uint32_t lanes = 0;
    for (unsigned v = 0; o->kind == OPERAND_VGPR && v < count; v++)
        for (int l = 0; l < 16; l++)
            lanes |= (uint32_t)(t->v[o->index + v][l] != 0) << l;
    return lanes;
}

/* Row r of A, column c of B, element of C: the layout is that of matrix.c. */
static int matrix_run(struct wave *w, const struct inst *i)
{
    struct taint *t = w->taint;
    const uint32_t a = spoiled(t, i, 0), b = spoiled(t, i, 1);
    wave_row r;
    for (unsigned v = 0; v < 8; v++) {
        for (unsigned l = 0; l < WAVE_LANES; l++) {
            const uint32_t c =
                i->src[2].kind == OPERAND_VGPR ? t->v[i->src[2].index + v][l] : 0;
            r[l] = c || (a >> (2 * v + l / 16) & 1) || (b >> l % 16 & 1) ? ~0u : 0;
        }
        taint_store(t, i->d + v, r, w->s[WAVE_EXEC], ~0u);
    }
    return i->exec(w, i);
}

/* --- instructions that look at other lanes or registers chosen at run time: the unset bits
 * make the same move, by the values of what chooses */

static void fix(const struct wave *w, struct operand *o)
{
    const uint32_t value = o->kind == OPERAND_VGPR ? w->v[o->index][0] : scalar_32(w, o);
    *o = (struct operand){.kind = OPERAND_CONST, .type = o->type, .value = value};
}

static uint32_t choice_unset(const struct taint *t, const struct inst *i)
{
    uint32_t unset = i->code->exec == exec_movrel ? t->shadow.s[WAVE_M0] : 0;
    for (int n = 1; n < 3; n++) {
        const struct operand *o = &i->src[n];
        if (o->kind == OPERAND_SGPR && o->index != WAVE_EXEC)
            unset |= t->shadow.s[o->index];
        if (o->kind == OPERAND_VGPR)
            unset |= t->v[o->index][0];
    }
    return unset;
}

static int moved(struct wave *w, const struct inst *i)
{
    struct taint *t = w->taint;
    struct inst move = *i;
    const uint32_t m0 = t->shadow.s[WAVE_M0];
    if (choice_unset(t, i))
        return taint_found(w, i, -1, "chooses a register or lane by something");
    if (move.src[0].kind != OPERAND_VGPR && move.src[0].kind != OPERAND_SGPR)
        move.src[0] = (struct operand){.kind = OPERAND_CONST, .type = move.src[0].type};
    for (int n = 1; n < 3; n++)
        if (move.src[n].kind)
            fix(w, &move.src[n]);
    t->shadow.s[WAVE_M0] = w->s[WAVE_M0];
    const int event = i->exec(&t->shadow, &move);
    if (i->code->d != T_S32 || i->d != WAVE_M0)
        t->shadow.s[WAVE_M0] = m0;
    if (event)
        return i->exec(w, i);
    memset(t->dirty, 1, sizeof t->dirty);
    return i->exec(w, i);
}

/* Sums of bytes: one unset bit of a lane spoils all four. */
static int sums_run(struct wave *w, const struct inst *i)
{
    struct taint *t = w->taint;
    static const unsigned count[3] = {2, 1, 4};
    wave_row any = {0};
    for (int n = 0; n < 3; n++)
        for (unsigned k = 0; k < count[n]; k++)
            for (int l = 0; l < WAVE_LANES; l++)
                any[l] |= i->src[n].kind == OPERAND_VGPR   ? t->v[i->src[n].index + k][l]
                          : i->src[n].kind == OPERAND_SGPR ? t->shadow.s[i->src[n].index + k]
                                                           : 0;
    for (int l = 0; l < WAVE_LANES; l++)
        any[l] = any[l] ? ~0u : 0;
    for (unsigned k = 0; k < 4; k++)
        taint_store(t, i->d + k, any, w->s[WAVE_EXEC], ~0u);
    return i->exec(w, i);
}

static bool moves(const struct inst *i)
{
    exec_fn *const own = i->code->exec;
    return own == exec_readfirstlane || own == exec_readlane || own == exec_writelane ||
           own == exec_movrel || own == exec_swap || own == exec_permlane16;
}

bool taint_lanes(struct wave *w, const struct inst *i, int *ret_event)
{
    if (i->code->exec == exec_wmma)
        *ret_event = matrix_run(w, i);
    else if (i->code->exec == exec_mqsad)
        *ret_event = sums_run(w, i);
    else if (moves(i))
        *ret_event = moved(w, i);
    else
        return false;
    return true;
}
