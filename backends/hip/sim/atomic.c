/* SPDX-License-Identifier: Apache-2.0 */
#include "exec.h"

#include "../../sim/fp.h"
#include "rules.h"

/* 32-bit operations are given zero-extended words and their result is cut to 32 bits. */

static const struct fp_env nearest = {.rules = &hip_rules, .round = FP_RNE};

#define ATOMIC_FN(name, result)                                                                \
    uint64_t atomic_##name(uint64_t memory, uint64_t data, uint64_t other)                     \
    {                                                                                          \
        (void)memory, (void)data, (void)other;                                                 \
        return result;                                                                         \
    }
#define I32(v) ((int32_t)(uint32_t)(v))
#define I64(v) ((int64_t)(v))

ATOMIC_FN(swap, data)
ATOMIC_FN(cmpswap_32, (uint32_t)memory == (uint32_t)other ? data : memory)
ATOMIC_FN(cmpswap_64, memory == other ? data : memory)
ATOMIC_FN(cmpswap_f32, fp_compare(&nearest, FP_F32, memory, other) == FP_EQUAL ? data : memory)
ATOMIC_FN(add, memory + data)
ATOMIC_FN(sub, memory - data)
ATOMIC_FN(rsub, data - memory)
ATOMIC_FN(csub_u32, memory < data ? 0 : memory - data)
ATOMIC_FN(min_i32, I32(data) < I32(memory) ? data : memory)
ATOMIC_FN(max_i32, I32(data) > I32(memory) ? data : memory)
ATOMIC_FN(min_i64, I64(data) < I64(memory) ? data : memory)
ATOMIC_FN(max_i64, I64(data) > I64(memory) ? data : memory)
ATOMIC_FN(min_u64, data < memory ? data : memory)
ATOMIC_FN(max_u64, data > memory ? data : memory)
ATOMIC_FN(and, memory &data)
ATOMIC_FN(or, memory | data)
ATOMIC_FN(xor, memory ^ data)
ATOMIC_FN(inc, memory >= data ? 0 : memory + 1)
ATOMIC_FN(dec, memory == 0 || memory > data ? data : memory - 1)
ATOMIC_FN(min_f32, fp_min(&nearest, FP_F32, memory, data))
ATOMIC_FN(max_f32, fp_max(&nearest, FP_F32, memory, data))
ATOMIC_FN(min_f64, fp_min(&nearest, FP_F64, memory, data))
ATOMIC_FN(max_f64, fp_max(&nearest, FP_F64, memory, data))
ATOMIC_FN(add_f32, fp_add(&nearest, FP_F32, memory, data))
ATOMIC_FN(mskor, (memory & ~data) | other)
/* shared memory's compare-and-store has its operands the other way round: data is the new value
 * and comes first, the expected one second */
ATOMIC_FN(cmpstore, memory == other ? data : memory)
ATOMIC_FN(cmpstore_f32, fp_compare(&nearest, FP_F32, memory, other) == FP_EQUAL ? data : memory)
ATOMIC_FN(cmpstore_f64, fp_compare(&nearest, FP_F64, memory, other) == FP_EQUAL ? data : memory)
ATOMIC_FN(wrap, memory >= data ? memory - data : memory + other)
/* only the half whose top bit is set is stored */
ATOMIC_FN(condxchg32, (data >> 63 ? (data & 0x7fffffff00000000) : memory & 0xffffffff00000000) |
                          (data >> 31 & 1 ? data & 0x7fffffff : memory & 0xffffffff))
