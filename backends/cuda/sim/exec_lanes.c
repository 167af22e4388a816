/* SPDX-License-Identifier: Apache-2.0 */
#include "exec_inside.h"

/* Instructions in which the lanes of a warp see each other. The member mask is an operand;
 * lanes of it that have not come yet are waited for, those that have ended do not count. */

static bool members_here(const struct warp *w, uint32_t members, uint32_t mask)
{
    uint32_t need = members & w->alive;
    return (mask & need) == need;
}

static uint32_t members_of(const struct warp *w, uint32_t slot, uint32_t mask)
{
    return LANES32(slot)[first_lane(mask)];
}

/* a: value, b: lane or distance, c: clamp and segment; list: member mask. */
EXECUTOR(shfl)
{
    if (!members_here(w, members_of(w, i->list[0], mask), mask))
        return RUN_SYNC;
    const u32 *a = LANES32(i->a), *b = LANES32(i->b), *c = LANES32(i->c);
    u32 r[WARP_LANES] __attribute__((aligned(64)));
    uint32_t inside = 0;
    for (int32_t l = 0; l < WARP_LANES; l++) {
        int32_t segment = (int32_t)(c[l] >> 8 & 31), clamp = (int32_t)(c[l] & 31);
        int32_t distance = (int32_t)(b[l] & 31), low = l & segment;
        int32_t high = low | (clamp & ~segment), j;
        bool ok;
        switch (i->round) {
        case WORD_up:
            j = l - distance;
            ok = j >= high;
            break;
        case WORD_down:
            j = l + distance;
            ok = j <= high;
            break;
        case WORD_bfly:
            j = l ^ distance;
            ok = j <= high;
            break;
        default:
            j = low | (distance & ~segment);
            ok = j <= high;
        }
        r[l] = a[ok ? j : l];
        inside |= (uint32_t)ok << l;
    }
    if (i->d)
        write32(LANES32(i->d), r, mask);
    pred_write(w, i->e, inside, mask);
    return RUN_NEXT;
}

/* c: predicate; list: member mask. */
EXECUTOR(vote)
{
    uint32_t members = i->n_list ? members_of(w, i->list[0], mask) : mask;
    if (i->n_list && !members_here(w, members, mask))
        return RUN_SYNC;
    uint32_t here = members & mask;
    uint32_t p = (PRED(i->c) ^ (i->flags & INST_FLIP_C ? UINT32_MAX : 0)) & here;
    if (i->round == WORD_ballot) {
        u32 r[WARP_LANES];
        for (int l = 0; l < WARP_LANES; l++)
            r[l] = p;
        write32(LANES32(i->d), r, mask);
        return RUN_NEXT;
    }
    bool r = i->round == WORD_all ? p == here : i->round == WORD_any ? p != 0 : p == here || !p;
    pred_write(w, i->d, r ? UINT32_MAX : 0, mask);
    return RUN_NEXT;
}

/* a: value; list: member mask; e: all equal (match.all). */
EXECUTOR(match)
{
    uint32_t members = members_of(w, i->list[0], mask), equal_all = 0;
    if (!members_here(w, members, mask))
        return RUN_SYNC;
    uint32_t here = members & mask;
    u32 r[WARP_LANES];
    for (uint32_t l = 0; l < WARP_LANES; l++) {
        uint32_t same = 0;
        for (uint32_t k = 0; k < WARP_LANES; k++) {
            bool equal = i->flags & INST_WIDE ? LANES64(i->a)[k] == LANES64(i->a)[l]
                                              : LANES32(i->a)[k] == LANES32(i->a)[l];
            same |= (uint32_t)(equal && (here >> k & 1)) << k;
        }
        bool all = same == here;
        equal_all |= (uint32_t)all << l;
        r[l] = i->round == WORD_any || all ? same : 0;
    }
    if (i->d)
        write32(LANES32(i->d), r, mask);
    pred_write(w, i->e, equal_all, mask);
    return RUN_NEXT;
}

static uint32_t redux_join(const struct inst *i, uint32_t x, uint32_t y)
{
    bool less = i->type == TYPE_s32 ? (int32_t)x < (int32_t)y : x < y;
    switch (i->round) {
    case WORD_add:
        return x + y;
    case WORD_min:
        return less ? x : y;
    case WORD_max:
        return less ? y : x;
    case WORD_and:
        return x & y;
    case WORD_or:
        return x | y;
    default:
        return x ^ y;
    }
}

EXECUTOR(redux)
{
    uint32_t members = members_of(w, i->list[0], mask);
    if (!members_here(w, members, mask))
        return RUN_SYNC;
    const u32 *a = LANES32(i->a);
    uint32_t here = members & mask, value = a[first_lane(here ? here : mask)];
    for (uint32_t left = here & (here - 1); left; left &= left - 1)
        value = redux_join(i, value, a[first_lane(left)]);
    u32 r[WARP_LANES];
    for (int l = 0; l < WARP_LANES; l++)
        r[l] = value;
    write32(LANES32(i->d), r, mask);
    return RUN_NEXT;
}

EXECUTOR(elect)
{
    uint32_t members = members_of(w, i->list[0], mask), lane;
    if (!members_here(w, members, mask))
        return RUN_SYNC;
    lane = first_lane(members & mask ? members & mask : mask);
    u32 r[WARP_LANES];
    for (int l = 0; l < WARP_LANES; l++)
        r[l] = lane;
    if (i->d)
        write32(LANES32(i->d), r, mask);
    pred_write(w, i->e, (uint32_t)1 << lane, mask);
    return RUN_NEXT;
}

EXECUTOR(activemask)
{
    u32 r[WARP_LANES];
    for (int l = 0; l < WARP_LANES; l++)
        r[l] = mask;
    write32(LANES32(i->d), r, mask);
    return RUN_NEXT;
}

/* --- selection by predicate ------------------------------------------------------------------
 */

EXECUTOR(selp_32)
{
    uint32_t p = PRED(i->c) ^ (i->flags & INST_FLIP_C ? UINT32_MAX : 0), lane[WARP_LANES];
    const u32 *a = LANES32(i->a), *b = LANES32(i->b);
    u32 r[WARP_LANES] __attribute__((aligned(64)));
    mask_expand(p, lane);
    for (int l = 0; l < WARP_LANES; l++)
        r[l] = (a[l] & lane[l]) | (b[l] & ~lane[l]);
    write32(LANES32(i->d), r, mask);
    return RUN_NEXT;
}

EXECUTOR(selp_64)
{
    uint32_t p = PRED(i->c) ^ (i->flags & INST_FLIP_C ? UINT32_MAX : 0);
    const u64 *a = LANES64(i->a), *b = LANES64(i->b);
    u64 r[WARP_LANES] __attribute__((aligned(64)));
    for (uint32_t l = 0; l < WARP_LANES; l++)
        r[l] = p >> l & 1 ? a[l] : b[l];
    write64(LANES64(i->d), r, mask);
    return RUN_NEXT;
}
