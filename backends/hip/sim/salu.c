/* SPDX-License-Identifier: Apache-2.0 */
#include "exec.h"

#define U32(v) ((uint32_t)(v))
#define I32(v) ((int32_t)(uint32_t)(v))
#define EXEC32 (w->s[WAVE_EXEC])
#define EXEC64 (w->s[WAVE_EXEC] | (uint64_t)w->s[WAVE_EXEC + 1] << 32)
#define SET_EXEC32(v) (w->s[WAVE_EXEC] = U32(v), scc = w->s[WAVE_EXEC] != 0)
#define SET_EXEC64(v) scc = exec_set_64(w, v)

static uint32_t exec_set_64(struct wave *w, uint64_t v)
{
    w->s[WAVE_EXEC] = U32(v);
    w->s[WAVE_EXEC + 1] = U32(v >> 32);
    return v != 0;
}

static uint32_t add_overflows(uint64_t a, uint64_t b)
{
    int32_t r;
    return __builtin_add_overflow(I32(a), I32(b), &r);
}

static uint32_t sub_overflows(uint64_t a, uint64_t b)
{
    int32_t r;
    return __builtin_sub_overflow(I32(a), I32(b), &r);
}

static uint64_t bits_extract(uint64_t v, uint64_t low, uint64_t width)
{
    return width >= 64 ? v >> low : v >> low & ((1ull << width) - 1);
}

static int64_t bits_extract_signed(int64_t v, uint64_t low, uint64_t width)
{
    if (width == 0)
        return 0;
    int64_t field = v >> low;
    return width >= 64 ? field : (int64_t)((uint64_t)field << (64 - width)) >> (64 - width);
}

static uint64_t bits_reverse(uint64_t v)
{
    uint64_t r = 0;
    for (int n = 0; n < 64; n++)
        r |= (v >> n & 1) << (63 - n);
    return r;
}

/* How many bits at the top equal the sign; 64 if all do. */
static uint64_t bits_sign_run(uint64_t v)
{
    uint64_t u = v >> 63 ? ~v : v;
    return u ? (uint64_t)__builtin_clzll(u) : 64;
}

static uint64_t bits_double(uint64_t v)
{
    uint64_t r = 0;
    for (int n = 0; n < 32; n++)
        r |= (v >> n & 1) * (3ull << 2 * n);
    return r;
}

static uint64_t bits_quadmask(uint64_t v)
{
    uint64_t r = 0;
    for (int n = 0; n < 16; n++)
        r |= (uint64_t)((v >> 4 * n & 15) != 0) << n;
    return r;
}

static uint64_t bits_wqm(uint64_t v)
{
    uint64_t r = 0;
    for (int n = 0; n < 16; n++)
        r |= (v >> 4 * n & 15) ? 15ull << 4 * n : 0;
    return r;
}

/* s_movrels, s_movreld: register number plus M0; s_movrelsd_2 has two ten-bit parts. */
static int sgpr_relative(struct wave *w, const struct inst *i, bool from, bool to,
                         unsigned count)
{
    const bool both = from && to;
    const uint32_t m0 = w->s[WAVE_M0];
    uint64_t s = i->src[0].index + (from ? both ? m0 & 1023 : (uint64_t)m0 : 0);
    uint64_t d = i->d + (to ? both ? m0 >> 16 & 1023 : (uint64_t)m0 : 0);
    if (i->src[0].kind != OPERAND_SGPR || s + count > WAVE_SGPRS || d + count > WAVE_SGPRS)
        return wave_trap(w, i, "a register chosen by M0 does not exist");
    for (unsigned n = 0; n < count; n++)
        w->s[d + n] = w->s[s + n];
    return WAVE_GOES_ON;
}

#define READ_B32(o) scalar_32(w, o)
#define READ_B64(o) scalar_64(w, o)
#define READ_MSG(o) (o)->value
#define READ_Z(o) 0
#define OLD_B32 w->s[i->d]
#define OLD_B64 (w->s[i->d] | (uint64_t)w->s[i->d + 1] << 32)
#define OLD_Z 0
#define WRITE_B32 w->s[i->d] = U32(r)
#define WRITE_B64 (w->s[i->d] = U32(r), w->s[i->d + 1] = U32(r >> 32))
#define WRITE_Z (void)r

/* Destinations of SOPK by what the row calls them. */
#define OLD_C32 OLD_B32
#define OLD_CU32 OLD_B32
#define OLD_SETREG OLD_B32
#define OLD_GETREG 0
#define OLD_SETREGK 0
#define OLD_WAIT 0
#define OLD_CALL 0
#define WRITE_C32 (void)r
#define WRITE_CU32 (void)r
#define WRITE_SETREG (void)r
#define WRITE_SETREGK (void)r
#define WRITE_WAIT (void)r
#define WRITE_GETREG WRITE_B32
#define WRITE_CALL WRITE_B64

#define BODY(read_a, read_b, read_old, write, ...)                                             \
    {                                                                                          \
        uint64_t a = read_a, b = read_b, old = read_old, r = 0;                                \
        uint64_t scc = w->scc;                                                                 \
        (void)a, (void)b, (void)old;                                                           \
        __VA_ARGS__;                                                                           \
        w->scc = (uint32_t)scc;                                                                \
        write;                                                                                 \
        return WAVE_GOES_ON;                                                                   \
    }

#define SOP2(op, name, D, A, B, ...)                                                           \
    int exec_##name(struct wave *w, const struct inst *i)                                      \
        BODY(READ_##A(&i->src[0]), READ_##B(&i->src[1]), 0, WRITE_##D, __VA_ARGS__)
#define SOP1(op, name, D, A, ...)                                                              \
    int exec_##name(struct wave *w, const struct inst *i)                                      \
        BODY(READ_##A(&i->src[0]), 0, OLD_##D, WRITE_##D, __VA_ARGS__)
#define SOPC(op, name, A, B, ...)                                                              \
    int exec_##name(struct wave *w, const struct inst *i)                                      \
        BODY(READ_##A(&i->src[0]), READ_##B(&i->src[1]), 0, (void)r, __VA_ARGS__)
#define SOPK(op, name, D, ...)                                                                 \
    int exec_##name(struct wave *w, const struct inst *i)                                      \
    {                                                                                          \
        const int64_t k = i->imm;                                                              \
        (void)k;                                                                               \
        BODY(0, 0, OLD_##D, WRITE_##D, __VA_ARGS__)                                            \
    }
#define SOPP(op, name, form, ...)                                                              \
    int exec_##name(struct wave *w, const struct inst *i)                                      \
    {                                                                                          \
        const int64_t k = i->imm;                                                              \
        const uint32_t scc = w->scc;                                                           \
        (void)scc, (void)k;                                                                    \
        __VA_ARGS__;                                                                           \
        return WAVE_GOES_ON;                                                                   \
    }
#include "ops.def"
