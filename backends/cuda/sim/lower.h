/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_LOWER_H
#define GPUPARITY_CUDA_SIM_LOWER_H

#include "form.h"
#include "fuse.h"

/* What the lowering files share. Every function that returns bool has set the error when it
 * returns false; functions that return a slot give 0 then. */

enum patch_kind { PATCH_TARGET, PATCH_LIST, PATCH_FUNCTION };

/* A jump whose destination is not known yet. */
struct patch {
    enum patch_kind kind;
    uint32_t inst, item; /* which instruction; LIST: which of its list */
    uint32_t target;     /* instruction of the PTX function, or the function's index */
};

struct lowerer {
    struct image *image;
    const struct ptx_module *module;
    const struct ptx_function *function; /* being lowered */
    const struct ptx_inst *in;           /* being lowered */
    int form;
    struct ptx_error *error;
    struct lower_options option;
    struct arena arena; /* scratch */
    size_t inst_room, slot_room, pool_room;
    uint32_t n_pool;
    uint32_t *reg_base; /* slot of register 0, by function index */
    uint32_t *start;    /* by PTX instruction of the running function */
    struct patch *patch;
    size_t n_patch, patch_room;
    uint32_t *constant; /* hash of constant slots */
    size_t constant_room, n_constant;
    uint8_t *function_state; /* 0: not needed, 1: wanted, 2: done */
    struct fuse_plan fuse;   /* of the running function */
    uint32_t true_pred, carry;
    bool memory_failed;
};

bool lower_fail(struct lowerer *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends an instruction with the guard, line and form of l->in. NULL on failure; the pointer
 * is good until the next emit. */
struct inst *emit(struct lowerer *l, enum exec_id exec);
bool emit_list(struct lowerer *l, struct inst *i, const uint32_t *slot, uint32_t n,
               uint32_t n_write);

/* --- slots -----------------------------------------------------------------------------------
 */

uint32_t slot_new(struct lowerer *l, enum slot_kind kind, int bits, uint64_t value);
uint32_t slot_constant(struct lowerer *l, int bits, uint64_t value);
uint32_t slot_special(struct lowerer *l, enum ptx_special s);
uint32_t slot_reg(struct lowerer *l, uint32_t reg);
int reg_bits(const struct lowerer *l, uint32_t reg); /* of the declaration: 1, 16, 32, 64 */

/* --- operands --------------------------------------------------------------------------------
 */

const struct ptx_operand *operand(struct lowerer *l, int k); /* NULL and error if missing */
bool operand_count(struct lowerer *l, int least, int most);

/* Operand k as a value of `bits` (1, 32, 64) for reading; immediates are converted to `type`.
 */
uint32_t source(struct lowerer *l, int k, int bits, enum ptx_word type);
uint32_t source_of(struct lowerer *l, const struct ptx_operand *o, int bits,
                   enum ptx_word type);

/* Operand k as a register for writing. A sink gives a scratch slot. */
uint32_t target(struct lowerer *l, int k, int bits);
uint32_t target_of(struct lowerer *l, const struct ptx_operand *o, int bits);

/* A predicate for reading; `ret_flip` for !p. */
uint32_t source_pred(struct lowerer *l, int k, bool *ret_flip);

struct address {
    uint32_t slot;
    bool wide; /* the slot has 64 bits */
    uint64_t offset;
    uint8_t space; /* where it really is */
    bool param;    /* a parameter of the kernel at the constant `offset` */
};
bool address_of(struct lowerer *l, int k, enum ptx_space space, struct address *ret_address);
enum ptx_space inst_space(const struct ptx_inst *i);
enum ptx_word inst_type(const struct ptx_inst *i); /* the last type, or WORD_unknown */
enum ptx_word inst_round(const struct ptx_inst *i);
bool word_starts(const struct ptx_inst *i, const char *text); /* has a word of that beginning */

uint8_t inst_float_flags(const struct ptx_inst *i);

/* Lane types of an executor's operands in bits: d, a, b, c; 0 = none, 1 = predicate. */
struct exec_shape {
    uint8_t d, a, b, c;
};
extern const struct exec_shape exec_shapes[EXEC_COUNT_];

/* --- the lowerings of form.def ---------------------------------------------------------------
 */

lower_fn lower_alu, lower_pred, lower_dp2a, lower_carry, lower_carry_mad, lower_bfi,
    lower_prmt_mode, lower_lop3, lower_setp, lower_setp_half, lower_setp_x2, lower_set,
    lower_set_x2, lower_selp, lower_testp, lower_float, lower_float64, lower_float_half,
    lower_minmax, lower_minmax_half, lower_approx, lower_mov, lower_convert_int, lower_convert,
    lower_convert_x2, lower_cvta, lower_isspacep, lower_load, lower_store, lower_atom,
    lower_cp_async, lower_nop, lower_policy, lower_ldmatrix, lower_stmatrix, lower_movmatrix, lower_bra,
    lower_brx, lower_call, lower_ret, lower_exit, lower_bar, lower_bar_red, lower_warp_sync,
    lower_shfl, lower_vote, lower_match, lower_redux, lower_activemask, lower_elect, lower_mma,
    lower_mma_f64, lower_wmma_mma, lower_wmma_load, lower_wmma_store, lower_movmatrix;

#endif
