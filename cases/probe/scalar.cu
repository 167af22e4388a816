/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

/* out[i] = operation in[4 i] of the f32 bits in[4 i + 1 .. 3]; beside[i] is 0, but a * b for
 * STORED and a * b - c for TWICE. Operands come from memory, so no compiler knows them. */

#define OPERATION(name, words, arity) name,
enum op {
#include "operation.def"
};
#undef OPERATION

/* Lanes of this thread's warp that are here. */
DEVICE u32 lanes_here()
{
#if DEVICE_IS_HIP
    return (u32)__builtin_popcountll(__builtin_amdgcn_read_exec());
#else
    return (u32)__popc(__activemask());
#endif
}

DEVICE u32 functions(u32 op, f32 a, u32 bits)
{
    switch (op) {
    case SQRT:
        return f32_bits(sqrtf(a));
    case RCP:
        return f32_bits(1.0f / a);
    case RSQRT:
        return f32_bits(rsqrtf(a));
    case EXP:
        return f32_bits(expf(a));
    case EXP2:
        return f32_bits(exp2f(a));
    case LOG:
        return f32_bits(logf(a));
    case LOG2:
        return f32_bits(log2f(a));
    case TO_F16:
        return f16_round(a);
    case FROM_F16:
        return f32_bits(f16_widen((u16)bits));
    case TO_BF16:
        return bf16_round(a);
    case TO_I32:
        return (u32)(i32)a;
    default:
        return 0;
    }
}

KERNEL(64) scalar(const u32 *in, u32 *out, u32 *beside, i32 n)
{
    u32 lanes = lanes_here();
    i32 i = BLOCK_X * 64 + THREAD_X;
    if (i >= n)
        return;
    u32 op = in[4 * i];
    f32 a = f32_from_bits(in[4 * i + 1]), b = f32_from_bits(in[4 * i + 2]);
    f32 c = f32_from_bits(in[4 * i + 3]);
    u32 stored = 0, result;
    switch (op) {
    case ADD:
        result = f32_bits(a + b);
        break;
    case MUL:
        result = f32_bits(a * b);
        break;
    case MULADD:
        result = f32_bits(a * b + c);
        break;
    case STORED: {
        f32 t = a * b;
        stored = f32_bits(t);
        result = f32_bits(t + c);
        break;
    }
    case TWICE: {
        f32 t = a * b;
        result = f32_bits(t + c);
        stored = f32_bits(t - c);
        break;
    }
    case FMA:
        result = f32_bits(fmaf(a, b, c));
        break;
    case DIV:
        result = f32_bits(a / b);
        break;
    case DIVINTO:
        result = f32_bits(b / a);
        break;
    case MAX:
        result = f32_bits(fmaxf(a, b));
        break;
    case MIN:
        result = f32_bits(fminf(a, b));
        break;
    case LANES:
        result = lanes;
        break;
    default:
        result = functions(op, a, in[4 * i + 1]);
    }
    out[i] = result;
    beside[i] = stored;
}
