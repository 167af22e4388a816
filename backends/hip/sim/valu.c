/* SPDX-License-Identifier: Apache-2.0 */
#include "valu_full.h"

/* The short ways through the vector unit: 32-bit operands, no modifiers, default float mode.
 * Everything else is valu_full.c. */

static int exec_plain(struct wave *w, const struct inst *i)
{
    wave_row room[3];
    if (__builtin_expect(!w->plain, 0))
        return VARIANT_NAME(exec_full)(w, i);
    const uint32_t exec = w->s[WAVE_EXEC];
    const uint32_t *a = lanes_operand(w, &i->src[0], room[0]);
    const uint32_t *b = lanes_operand(w, &i->src[1], room[1]);
    const uint32_t *c = lanes_operand(w, &i->src[2], room[2]);
    const struct row_context x = {.inst = i, .mode = w->mode};
    if (exec == ~0u) {
        i->row(w->v[i->d], a, b, c, &x);
        return WAVE_GOES_ON;
    }
    if (exec == 0)
        return WAVE_GOES_ON;
    wave_row r;
    i->row(r, a, b, c, &x);
    lanes_store(w->v[i->d], r, exec);
    return WAVE_GOES_ON;
}

/* The same with signs of operands changed. */
static int exec_signed(struct wave *w, const struct inst *i)
{
    wave_row room[3], r;
    if (__builtin_expect(!w->plain, 0))
        return VARIANT_NAME(exec_full)(w, i);
    const uint32_t exec = w->s[WAVE_EXEC];
    const uint32_t *a = lanes_signed(w, i, 0, room[0]);
    const uint32_t *b = lanes_signed(w, i, 1, room[1]);
    const uint32_t *c = lanes_signed(w, i, 2, room[2]);
    const struct row_context x = {.inst = i, .mode = w->mode};
    if (exec == ~0u) {
        i->row(w->v[i->d], a, b, c, &x);
        return WAVE_GOES_ON;
    }
    i->row(r, a, b, c, &x);
    lanes_store(w->v[i->d], r, exec);
    return WAVE_GOES_ON;
}

static int exec_carry(struct wave *w, const struct inst *i)
{
    wave_row room[3], out, r;
    const uint32_t exec = w->s[WAVE_EXEC];
    const uint32_t *a = lanes_operand(w, &i->src[0], room[0]);
    const uint32_t *b = lanes_operand(w, &i->src[1], room[1]);
    const uint32_t *c = lanes_operand(w, &i->src[2], room[2]);
    if (__builtin_expect(!w->plain, 0))
        return VARIANT_NAME(exec_full)(w, i);
    const struct row_context x = {.inst = i, .mode = w->mode, .out = out};
    i->row(r, a, b, c, &x);
    lanes_store(w->v[i->d], r, exec);
    w->s[i->d2] = lanes_collect(out) & exec;
    return WAVE_GOES_ON;
}

static int exec_compare(struct wave *w, const struct inst *i)
{
    wave_row room[2], r;
    if (__builtin_expect(!w->plain, 0))
        return VARIANT_NAME(exec_compare_full)(w, i);
    const uint32_t *a = lanes_signed(w, i, 0, room[0]);
    const uint32_t *b = lanes_signed(w, i, 1, room[1]);
    const struct row_context x = {.inst = i, .mode = w->mode};
    i->row(r, a, b, b, &x);
    w->s[i->d2] = lanes_collect(r) & w->s[WAVE_EXEC];
    return WAVE_GOES_ON;
}

/* Both halves read before either writes. */
static int exec_dual(struct wave *w, const struct inst *i)
{
    wave_row room[3], x_result, y_result;
    const struct inst *y = i->pair;
    const uint32_t exec = w->s[WAVE_EXEC];
    if (__builtin_expect(!w->plain, 0))
        return VARIANT_NAME(exec_dual_full)(w, i);
    const uint32_t *a = lanes_operand(w, &i->src[0], room[0]);
    const uint32_t *b = lanes_operand(w, &i->src[1], room[1]);
    const uint32_t *c = lanes_operand(w, &i->src[2], room[2]);
    struct row_context x = {.inst = i, .mode = w->mode};
    i->row(x_result, a, b, c, &x);
    a = lanes_operand(w, &y->src[0], room[0]);
    b = lanes_operand(w, &y->src[1], room[1]);
    c = lanes_operand(w, &y->src[2], room[2]);
    x.inst = y;
    if (exec == ~0u) {
        y->row(w->v[y->d], a, b, c, &x);
    } else {
        y->row(y_result, a, b, c, &x);
        lanes_store(w->v[y->d], y_result, exec);
    }
    lanes_store(w->v[i->d], x_result, exec);
    return WAVE_GOES_ON;
}

static row_fn *const rows[OP_COUNT_] = {
#define VALU(encoding, op, name, D, A, B, C, form, exec, row)                                  \
    [OP_##name] = VARIANT_NAME(row_##row),
#include "ops.def"
};

const struct valu_variant VARIANT_NAME(valu) = {
    .name = VARIANT_TEXT(VARIANT),
    .row = rows,
    .plain = exec_plain,
    .with_signs = exec_signed,
    .full = VARIANT_NAME(exec_full),
    .carry = exec_carry,
    .compare = exec_compare,
    .compare_full = VARIANT_NAME(exec_compare_full),
    .packed = VARIANT_NAME(exec_packed),
    .dual = exec_dual,
    .global_load = VARIANT_NAME(exec_gather),
    .global_store = VARIANT_NAME(exec_scatter),
    .lds_load = VARIANT_NAME(exec_lds_word),
    .lds_load2 = VARIANT_NAME(exec_lds_words),
};
