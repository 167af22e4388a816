/* SPDX-License-Identifier: Apache-2.0 */
#include "dpp.h"

#include <string.h>

/* dpp_ctrl values; rows are 16 lanes. */
enum {
    QUAD_PERM_MAX = 0xff,
    ROW_SHL = 0x100,
    ROW_SHR = 0x110,
    ROW_ROR = 0x120,
    ROW_MIRROR = 0x140,
    ROW_HALF_MIRROR = 0x141,
    ROW_SHARE = 0x150,
    ROW_XMASK = 0x160
};

int dpp_source(const struct inst *i, int lane)
{
    const unsigned control = i->dpp_control;
    const int row = lane & ~15, n = lane & 15;
    if (i->dpp == DPP_8)
        return (lane & ~7) + (int)(control >> 3 * (lane & 7) & 7);
    const int amount = (int)(control & 15);
    switch (control & ~15u) {
    case ROW_SHL:
        return n + amount < 16 ? lane + amount : -1;
    case ROW_SHR:
        return n - amount >= 0 ? lane - amount : -1;
    case ROW_ROR:
        return row + ((n - amount) & 15);
    case ROW_SHARE:
        return row + amount;
    case ROW_XMASK:
        return row + (n ^ amount);
    case ROW_MIRROR:
        return control == ROW_MIRROR        ? row + 15 - n
               : control == ROW_HALF_MIRROR ? (lane & ~7) + 7 - (lane & 7)
                                            : -1;
    default:
        break;
    }
    if (control <= QUAD_PERM_MAX)
        return (lane & ~3) + (int)(control >> 2 * (lane & 3) & 3);
    return -1;
}

static bool readable(const struct wave *w, const struct inst *i, int source)
{
    return source >= 0 && (i->dpp_fi || (w->s[WAVE_EXEC] >> source & 1));
}

void dpp_move(const struct wave *w, const struct inst *i, uint32_t *row)
{
    uint32_t old[WAVE_LANES];
    memcpy(old, row, sizeof old);
    for (int lane = 0; lane < WAVE_LANES; lane++) {
        int source = dpp_source(i, lane);
        row[lane] = readable(w, i, source) ? old[source] : 0;
    }
}

uint32_t dpp_write_mask(const struct wave *w, const struct inst *i)
{
    uint32_t mask = w->s[WAVE_EXEC];
    if (i->dpp == DPP_8)
        return mask;
    for (int lane = 0; lane < WAVE_LANES; lane++) {
        bool enabled =
            (i->dpp_rows >> (4 + lane / 16) & 1) && (i->dpp_rows >> (lane % 16 / 4) & 1);
        bool valid = i->dpp_bound || readable(w, i, dpp_source(i, lane));
        if (!enabled || !valid)
            mask &= ~(1u << lane);
    }
    return mask;
}
