/* SPDX-License-Identifier: Apache-2.0 */
#include "change.h"

static bool is_causal(const struct attention *a)
{
    return a->last < ATTENTION_OPEN;
}

static bool is_windowed(const struct attention *a)
{
    return a->first > -ATTENTION_OPEN;
}

/* The rules of a precision: does the change make one for this case? */
static bool precision_applies(const struct attention *a, enum change change)
{
    bool narrow = attention_tiled(a) && a->dtype != DTYPE_F32;
    switch (change) {
    case CHANGE_WEIGHT_F32:
        return narrow;
    case CHANGE_DIFFERENCE:
        return a->softcap == 0 && !a->alibi;
    case CHANGE_WEIGHT_BF16:
        return !narrow || a->dtype != DTYPE_BF16;
    case CHANGE_WEIGHT_F16:
        return !narrow || a->dtype != DTYPE_F16;
    case CHANGE_INPUT_FLUSH:
        return a->kind == ATTENTION_MMA && a->dtype == DTYPE_BF16;
    case CHANGE_INPUT_TF32:
        return a->dtype == DTYPE_F32;
    case CHANGE_INPUT_BF16:
        return a->dtype != DTYPE_BF16;
    default:
        return true;
    }
}

/* Which keys a row sees. */
static bool mask_change(struct attention *a, enum change change)
{
    switch (change) {
    case CHANGE_KEY_MORE:
    case CHANGE_KEY_LESS:
        if (!is_causal(a))
            return false;
        a->last += change == CHANGE_KEY_MORE ? 1 : -1;
        return true;
    case CHANGE_CORNER: {
        if (a->kind == ATTENTION_VARLEN) {
            a->bottom = !a->bottom;
            return is_causal(a);
        }
        int64_t shift = a->last == 1 ? a->diagonal : 1 - a->last;
        a->last += shift;
        a->first += is_windowed(a) ? shift : 0;
        return is_causal(a) && shift;
    }
    case CHANGE_KEYS_ALL:
        a->last = ATTENTION_OPEN;
        a->first = -ATTENTION_OPEN;
        return true;
    default: /* CHANGE_WINDOW_MORE, CHANGE_WINDOW_LESS */
        if (!is_windowed(a))
            return false;
        a->first += change == CHANGE_WINDOW_MORE ? -1 : 1;
        return true;
    }
}

bool attention_change(struct attention *a, enum change change)
{
    switch (change) {
    case CHANGE_KEY_MORE:
    case CHANGE_KEY_LESS:
    case CHANGE_CORNER:
    case CHANGE_KEYS_ALL:
    case CHANGE_WINDOW_MORE:
    case CHANGE_WINDOW_LESS:
        return mask_change(a, change);
    case CHANGE_NO_CAP:
        return a->softcap != 0;
    case CHANGE_NO_BIAS:
        return a->alibi;
    case CHANGE_NO_SCALE:
        return a->scale != 1;
    case CHANGE_EXP2:
    case CHANGE_EXP:
        a->scale *= change == CHANGE_EXP2 ? 0x1.62e43p-1f : 0x1.715476p+0f;
        return true;
    case CHANGE_NO_RESCALE:
        return attention_tiled(a);
    case CHANGE_HEAD_TURNS:
        return a->kv_heads > 1 && a->kv_heads < a->heads;
    case CHANGE_ROUNDS_7:
    case CHANGE_ROUNDS_10: {
        int rounds = change == CHANGE_ROUNDS_7 ? 7 : 10, declared = a->rounds;
        a->rounds = rounds;
        return attention_drops(a) && rounds != declared;
    }
    case CHANGE_LONGEST:
        a->longest = true;
        return a->kind == ATTENTION_VARLEN && (a->bottom || a->alibi);
    case CHANGE_EARLY:
        return a->kind == ATTENTION_VARLEN;
    case CHANGE_AVERAGE:
        return a->split > 1;
    case CHANGE_NEXT_PAGE:
        return a->pages > 1;
    case CHANGE_TAIL_16:
        return a->keys % 16 && a->keys > 16;
    case CHANGE_TAIL_32:
        return a->keys % 32 && a->keys > 32;
    default:
        return precision_applies(a, change);
    }
}
