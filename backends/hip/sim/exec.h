/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_EXEC_H
#define GPUPARITY_HIP_SIM_EXEC_H

#include "decode.h"

/* Executors: one instruction for one wave. They return enum wave_event. */

#define SOP2(op, name, ...) exec_fn exec_##name;
#define SOP1(op, name, ...) exec_fn exec_##name;
#define SOPC(op, name, ...) exec_fn exec_##name;
#define SOPK(op, name, ...) exec_fn exec_##name;
#define SOPP(op, name, ...) exec_fn exec_##name;
#include "ops.def"

exec_fn exec_smem_load, exec_smem_buffer_load, exec_smem_nothing;
exec_fn exec_valu_nop, exec_readfirstlane, exec_readlane, exec_writelane, exec_movrel,
    exec_swap, exec_permlane16, exec_permlane64, exec_pk_fmac_f16, exec_dot, exec_fma_mix,
    exec_wmma, exec_mqsad;
exec_fn exec_flat_load, exec_flat_store, exec_flat_atomic, exec_global_load, exec_global_store,
    exec_scratch_load, exec_scratch_store, exec_buffer_load, exec_buffer_store,
    exec_buffer_atomic;
exec_fn exec_ds_load, exec_ds_store, exec_ds_load2, exec_ds_store2, exec_ds_atomic, exec_ds_nop,
    exec_ds_exchange2, exec_ds_swizzle, exec_ds_append, exec_ds_addtid, exec_ds_permute;
exec_fn exec_unknown;

atomic_fn atomic_swap, atomic_cmpswap_32, atomic_cmpswap_64, atomic_cmpswap_f32, atomic_add,
    atomic_sub, atomic_rsub, atomic_csub_u32, atomic_min_i32, atomic_max_i32, atomic_min_i64,
    atomic_max_i64, atomic_min_u64, atomic_max_u64, atomic_and, atomic_or, atomic_xor,
    atomic_inc, atomic_dec, atomic_min_f32, atomic_max_f32, atomic_min_f64, atomic_max_f64,
    atomic_add_f32, atomic_mskor, atomic_cmpstore, atomic_cmpstore_f32, atomic_cmpstore_f64,
    atomic_wrap, atomic_condxchg32;

/* Where a scalar load reads. False: beyond its buffer, which gives zeros. */
bool smem_where(const struct wave *w, const struct inst *i, uint64_t *ret_address);

/* Value of a scalar or constant operand. */
static inline uint32_t scalar_32(const struct wave *w, const struct operand *o)
{
    switch (o->kind) {
    case OPERAND_SGPR:
        return w->s[o->index];
    case OPERAND_SCC:
        return w->scc;
    case OPERAND_VCCZ:
        return w->s[WAVE_VCC] == 0;
    case OPERAND_EXECZ:
        return w->s[WAVE_EXEC] == 0;
    default:
        return o->value;
    }
}

static inline uint64_t scalar_64(const struct wave *w, const struct operand *o)
{
    switch (o->kind) {
    case OPERAND_SGPR:
        return w->s[o->index] | (uint64_t)w->s[o->index + 1] << 32;
    case OPERAND_CONST:
        return o->high == 2   ? (uint64_t)o->value << 32
               : o->high == 1 ? (uint64_t)(int64_t)(int32_t)o->value
                              : o->value;
    case OPERAND_APERTURE:
        return (uint64_t)o->value << 32 | (o->high ? 0xffffffffu : 0);
    default:
        return scalar_32(w, o);
    }
}

/* The vector executors and rows, compiled once for each kind of host processor. */
struct valu_variant {
    const char *name;
    row_fn *const *row;  /* by number of the row; NULL where an instruction has none */
    exec_fn *plain;      /* 32-bit operands without modifiers */
    exec_fn *with_signs; /* the same, and negated or absolute operands */
    exec_fn *full;       /* any operand types, modifiers, DPP */
    exec_fn *carry;      /* 32-bit operands without modifiers, second result a mask */
    exec_fn *compare;    /* 32-bit operands without modifiers */
    exec_fn *compare_full;
    exec_fn *packed;                                            /* VOP3P on two halves */
    exec_fn *dual;                                              /* VOPD */
    exec_fn *global_load, *global_store, *lds_load, *lds_load2; /* words */
};
/* The best one for this machine; GPUPARITY_SIM_ISA=base, v3 or v4 chooses. Bits never differ.
 */
const struct valu_variant *valu_variant(void);
const struct valu_variant *
valu_variant_named(const char *name); /* NULL: unknown or cannot run */

#endif
