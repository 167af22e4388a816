/* SPDX-License-Identifier: Apache-2.0 */
#include "exec_inside.h"
#include "exec_address.h"
#include "hmma.h"

/* mma and wmma: from the lanes' registers to plain matrices and back.
 *
 * In mma, lane 4g+t holds in 32-bit register r of A the elements of row g + 8(r mod 2), word
 * t + 4(r div 2); of B column g, word t + 4r; of C row g + 8(r div 2), column 2t + r mod 2.
 * (Only one row group: no second row.) The layout of wmma fragments is open in PTX: here word w
 * of a matrix lies in register w / 32 of lane w mod 32. */

enum { MMA_WORDS = 32 * 16 };

struct shape {
    int m, n, k;
    int words; /* 32-bit words along k */
};

struct matrices {
    uint32_t a[MMA_WORDS], b[MMA_WORDS], c[1024], d[1024];
};

static struct shape shape_of(const struct inst *i)
{
    struct shape s = {(int)(i->extra & 63), (int)(i->extra >> 6 & 63),
                      (int)(i->extra >> 12 & 511), 0};
    s.words = s.k * ptx_types[i->type].bits / 32;
    return s;
}

static void words_take(struct warp *w, const uint32_t *slot, uint32_t *to, int words)
{
    for (int x = 0; x < words; x++)
        to[x] = LANES32(slot[x / WARP_LANES])[x % WARP_LANES];
}

static void a_take(struct warp *w, const uint32_t *slot, int n, const struct shape *s,
                   uint32_t *to)
{
    for (int r = 0; r < n; r++) {
        const u32 *reg = LANES32(slot[r]);
        int row = s->m == 8 ? 0 : 8 * (r & 1), word = s->m == 8 ? 4 * r : 4 * (r >> 1);
        for (int l = 0; l < WARP_LANES; l++)
            to[(row + l / 4) * s->words + word + l % 4] = reg[l];
    }
}

static void b_take(struct warp *w, const uint32_t *slot, int n, const struct shape *s,
                   uint32_t *to)
{
    for (int r = 0; r < n; r++) {
        const u32 *reg = LANES32(slot[r]);
        for (int l = 0; l < WARP_LANES; l++)
            to[l / 4 * s->words + 4 * r + l % 4] = reg[l];
    }
}

static int c_place(int r, int l)
{
    return (l / 4 + 8 * (r >> 1)) * 8 + l % 4 * 2 + (r & 1);
}

static void c_take(struct warp *w, const uint32_t *slot, int n, bool half, uint32_t *to)
{
    for (int r = 0; r < n; r++) {
        const u32 *reg = LANES32(slot[r]);
        for (int l = 0; l < WARP_LANES; l++)
            if (half)
                to[c_place(2 * r, l) / 2] = reg[l];
            else
                to[c_place(r, l)] = reg[l];
    }
}

static void c_give(struct warp *w, const uint32_t *slot, int n, bool half, const uint32_t *from)
{
    for (int r = 0; r < n; r++) {
        u32 *reg = LANES32(slot[r]);
        for (int l = 0; l < WARP_LANES; l++)
            reg[l] = from[half ? c_place(2 * r, l) / 2 : c_place(r, l)];
    }
}

/* --- integers and bits: exact ----------------------------------------------------------------
 */

static int32_t integer_at(const uint32_t *words, int at, uint32_t type)
{
    int bits = ptx_types[type].bits, per = 32 / bits;
    uint32_t v = words[at / per] >> (at % per * bits) & ((1u << bits) - 1);
    if (ptx_types[type].kind == TYPE_KIND_SIGNED && v >> (bits - 1))
        return (int32_t)v - (1 << bits);
    return (int32_t)v;
}

static void integer_mma(const struct inst *i, const struct shape *s, struct matrices *x)
{
    for (int r = 0; r < s->m; r++)
        for (int c = 0; c < s->n; c++) {
            int64_t sum = (int32_t)x->c[r * s->n + c];
            for (int l = 0; l < s->k; l++)
                sum += (int64_t)integer_at(x->a + r * s->words, l, i->type) *
                       integer_at(x->b + c * s->words, l, i->type2);
            if (i->flags & INST_SAT)
                sum = sat_s32(sum);
            x->d[r * s->n + c] = (uint32_t)sum;
        }
}

static void bit_mma(const struct inst *i, const struct shape *s, struct matrices *x)
{
    for (int r = 0; r < s->m; r++)
        for (int c = 0; c < s->n; c++) {
            uint32_t sum = x->c[r * s->n + c];
            for (int l = 0; l < s->words; l++) {
                uint32_t a = x->a[r * s->words + l], b = x->b[c * s->words + l];
                sum += (uint32_t)__builtin_popcount(i->round == WORD_and ? a & b : a ^ b);
            }
            x->d[r * s->n + c] = sum;
        }
}

static void matrices_multiply(const struct inst *i, const struct shape *s, struct matrices *x,
                              bool half_c, bool half_d)
{
    enum hmma_format f = i->type == TYPE_f16    ? HMMA_F16
                         : i->type == TYPE_bf16 ? HMMA_BF16
                                                : HMMA_TF32;
    if (i->type == TYPE_b1) {
        bit_mma(i, s, x);
    } else if (ptx_types[i->type].kind != TYPE_KIND_FLOAT) {
        integer_mma(i, s, x);
    } else if (half_c && half_d) {
        hmma_f16(s->m, s->n, s->k, (const uint16_t *)x->a, (const uint16_t *)x->b,
                 (const uint16_t *)x->c, (uint16_t *)x->d);
    } else {
        if (half_c)
            for (int e = s->m * s->n - 1; e >= 0; e--)
                x->c[e] = bits32(half_float(((const uint16_t *)x->c)[e]));
        hmma_f32(f, s->m, s->n, s->k, x->a, x->b, x->c, x->d);
        if (half_d)
            for (int e = 0; e < s->m * s->n; e++)
                ((uint16_t *)x->d)[e] = (uint16_t)float_half(float32(x->d[e]));
    }
}

/* --- executors -------------------------------------------------------------------------------
 */

static int warp_whole(struct warp *w, const struct inst *i, uint32_t mask)
{
    if (mask == UINT32_MAX)
        return RUN_NEXT;
    if (w->alive != UINT32_MAX || mask == w->mask)
        return warp_fault(
            w, i, mask, SIM_FAULT_BARRIER,
            "a matrix instruction needs all 32 lanes of the warp, here are 0x%08x", mask);
    return RUN_SYNC;
}

/* list: D, A, B, C; imm: how many registers of each, a byte each from the low end, then flags.
 */
enum { MMA_LINEAR = 1, MMA_HALF_C = 2, MMA_HALF_D = 4 };

EXECUTOR(mma)
{
    if (mask != UINT32_MAX && w->alive == UINT32_MAX)
        return RUN_SYNC;
    int r = warp_whole(w, i, mask);
    if (r)
        return r;
    int n_d = i->imm & 255, n_a = i->imm >> 8 & 255, n_b = i->imm >> 16 & 255,
        n_c = i->imm >> 24 & 255;
    int flags = (int)(i->imm >> 32);
    bool half_c = flags & MMA_HALF_C, half_d = flags & MMA_HALF_D;
    const uint32_t *d = i->list, *a = d + n_d, *b = a + n_a, *c = b + n_b;
    struct shape s = shape_of(i);
    struct matrices x;
    if (flags & MMA_LINEAR) {
        words_take(w, a, x.a, s.m * s.words);
        words_take(w, b, x.b, s.n * s.words);
        words_take(w, c, x.c, s.m * s.n / (half_c ? 2 : 1));
    } else {
        a_take(w, a, n_a, &s, x.a);
        b_take(w, b, n_b, &s, x.b);
        c_take(w, c, n_c, half_c, x.c);
    }
    matrices_multiply(i, &s, &x, half_c, half_d);
    if (flags & MMA_LINEAR)
        for (int e = 0; e < s.m * s.n / (half_d ? 2 : 1); e++)
            LANES32(d[e / WARP_LANES])[e % WARP_LANES] = x.d[e];
    else
        c_give(w, d, n_d, half_d, x.d);
    return RUN_NEXT;
}

/* mma.m8n8k4 of f64: a chain of fused multiply-adds along k. */
EXECUTOR(mma_f64)
{
    if (mask != UINT32_MAX && w->alive == UINT32_MAX)
        return RUN_SYNC;
    int r = warp_whole(w, i, mask);
    if (r)
        return r;
    double a[8][4], b[8][4], d[2][WARP_LANES];
    for (int l = 0; l < WARP_LANES; l++) {
        a[l / 4][l % 4] = float64(LANES64(i->list[2])[l]);
        b[l / 4][l % 4] = float64(LANES64(i->list[3])[l]);
    }
    for (int h = 0; h < 2; h++)
        for (int l = 0; l < WARP_LANES; l++) {
            double sum = float64(LANES64(i->list[4 + h])[l]);
            for (int k = 0; k < 4; k++) {
                double x = a[l / 4][k], y = b[l % 4 * 2 + h][k];
                sum = nan64(__builtin_fma(x, y, sum), x, y, sum);
            }
            d[h][l] = sum;
        }
    for (int h = 0; h < 2; h++)
        memcpy(LANES64(i->list[h]), d[h], sizeof d[h]);
    return RUN_NEXT;
}

/* --- wmma.load and wmma.store ----------------------------------------------------------------
 */

/* Element e of a matrix with `along` elements in a row of the register order: its place in
 * memory. */
static uint64_t element_offset(const struct inst *i, int e, int along, uint64_t stride)
{
    uint64_t outer = (uint64_t)(e / along), inner = (uint64_t)(e % along);
    return (i->round ? inner * stride + outer : outer * stride + inner) * i->size;
}

/* extra: elements along; imm: words in all; type2: the address's offset is in `target`.
 * `round`: memory runs across. */
static int fragment_move(struct warp *w, const struct inst *i, uint32_t mask, bool load)
{
    if (mask != UINT32_MAX && w->alive == UINT32_MAX)
        return RUN_SYNC;
    int r = warp_whole(w, i, mask);
    if (r)
        return r;
    struct inst at = *i;
    at.imm = i->target;
    int words = (int)i->imm, per = i->size >= 4 ? 1 : 4 / i->size, lanes = WARP_LANES;
    uint64_t stride = LANES32(i->b)[0];
    for (int x = 0; x < words; x += lanes) {
        uint32_t here = words - x >= lanes ? UINT32_MAX : ((uint32_t)1 << (words - x)) - 1;
        u32 value[WARP_LANES] = {0}, *reg = LANES32(i->list[x / lanes]);
        for (int k = 0; k < per; k++) {
            uint64_t address[WARP_LANES];
            resolve_fill(w, &at, address);
            for (int l = 0; l < lanes; l++)
                address[l] += element_offset(i, (x + l) * per + k, (int)i->extra, stride);
            if (resolve_filled(w, &at, i, here, address, i->size))
                return RUN_FAULT;
            for (uint32_t left = here; left; left &= left - 1) {
                uint32_t l = first_lane(left);
                if (load)
                    memcpy((uint8_t *)&value[l] + k * i->size, (void *)(uintptr_t)address[l],
                           i->size);
                else
                    memcpy((void *)(uintptr_t)address[l], (uint8_t *)&reg[l] + k * i->size,
                           i->size);
            }
        }
        if (load)
            memcpy(reg, value, sizeof value);
    }
    /* f16 fragments have twice the registers they need: the upper half repeats the lower. */
    for (int n = words / lanes; load && n && n < i->n_list; n++)
        memcpy(LANES32(i->list[n]), LANES32(i->list[n % (words / lanes)]), WARP_LANES * 4);
    return RUN_NEXT;
}

EXECUTOR(wmma_load)
{
    return fragment_move(w, i, mask, true);
}

EXECUTOR(wmma_store)
{
    return fragment_move(w, i, mask, false);
}

EXECUTOR(movmatrix)
{
    if (mask != UINT32_MAX && w->alive == UINT32_MAX)
        return RUN_SYNC;
    int r = warp_whole(w, i, mask);
    if (r)
        return r;
    uint16_t in[8][8];
    const u32 *a = LANES32(i->a);
    u32 out[WARP_LANES];
    for (int l = 0; l < WARP_LANES; l++) {
        in[l / 4][l % 4 * 2] = (uint16_t)a[l];
        in[l / 4][l % 4 * 2 + 1] = (uint16_t)(a[l] >> 16);
    }
    for (int l = 0; l < WARP_LANES; l++)
        out[l] = in[l % 4 * 2][l / 4] | (uint32_t)in[l % 4 * 2 + 1][l / 4] << 16;
    memcpy(LANES32(i->d), out, sizeof out);
    return RUN_NEXT;
}
