/* SPDX-License-Identifier: Apache-2.0 */
#include "exec_inside.h"

/* The elementwise executors of exec.def, and the table of all of them. */

#define LOOP for (int l = 0; l < WARP_LANES; l++)

/* With a full mask results go straight to their register (a register is either the same as an
 * operand or apart from it, so iterations are independent); else through a copy. */
#define ELEMENTWISE(D, load, expression)                                                       \
    D *d = (D *)__builtin_assume_aligned(w->regs + i->d, 64);                                  \
    if (mask == 0xffffffffu) {                                                                 \
        _Pragma("GCC ivdep") LOOP                                                              \
        {                                                                                      \
            load d[l] = (D)(expression);                                                       \
        }                                                                                      \
        return RUN_NEXT;                                                                       \
    }                                                                                          \
    D r[WARP_LANES] __attribute__((aligned(64)));                                              \
    LOOP                                                                                       \
    {                                                                                          \
        load r[l] = (D)(expression);                                                           \
    }                                                                                          \
    if (sizeof(D) == 4)                                                                        \
        write32((u32 *)d, (const u32 *)r, mask);                                               \
    else                                                                                       \
        write64((u64 *)d, (const u64 *)r, mask);                                               \
    return RUN_NEXT;

#define OPERAND(T, name)                                                                       \
    const T *name##_lane = (const T *)__builtin_assume_aligned(w->regs + i->name, 64);

#define CUSTOM(name)
#define UNARY(name, D, A, expression)                                                          \
    static EXECUTOR(name)                                                                      \
    {                                                                                          \
        OPERAND(A, a)                                                                          \
        ELEMENTWISE(D, const A a = a_lane[l];, expression)                                     \
    }
#define BINARY(name, D, A, B, expression)                                                      \
    static EXECUTOR(name)                                                                      \
    {                                                                                          \
        OPERAND(A, a)                                                                          \
        OPERAND(B, b)                                                                          \
        ELEMENTWISE(D, const A a = a_lane[l]; const B b = b_lane[l];, expression)              \
    }
#define TERNARY(name, D, A, B, C, expression)                                                  \
    static EXECUTOR(name)                                                                      \
    {                                                                                          \
        OPERAND(A, a)                                                                          \
        OPERAND(B, b)                                                                          \
        OPERAND(C, c) ELEMENTWISE(D, const A a = a_lane[l]; const B b = b_lane[l];             \
                                  const C c = c_lane[l];, expression)                          \
    }
#define COMPARE(name, A, expression)                                                           \
    static EXECUTOR(name)                                                                      \
    {                                                                                          \
        OPERAND(A, a) OPERAND(A, b) uint32_t r = 0;                                            \
        LOOP                                                                                   \
        {                                                                                      \
            const A a = a_lane[l], b = b_lane[l];                                              \
            r |= (expression) ? (uint32_t)1 << l : 0;                                          \
        }                                                                                      \
        pred_write(w, i->d, r, mask);                                                          \
        return RUN_NEXT;                                                                       \
    }
#define PREDICATE(name, expression)                                                            \
    static EXECUTOR(name)                                                                      \
    {                                                                                          \
        const uint32_t a = PRED(i->a), b = PRED(i->b);                                         \
        (void)b;                                                                               \
        pred_write(w, i->d, expression, mask);                                                 \
        return RUN_NEXT;                                                                       \
    }
#include "exec.def"
#undef CUSTOM
#undef UNARY
#undef BINARY
#undef TERNARY
#undef COMPARE
#undef PREDICATE

#define ISA_TEXT_(isa) #isa
#define ISA_TEXT(isa) ISA_TEXT_(isa)
#define ROW(name) [EXEC_##name] = EXECUTE(name),
#define CUSTOM(name) ROW(name)
#define UNARY(name, D, A, expression) ROW(name)
#define BINARY(name, D, A, B, expression) ROW(name)
#define TERNARY(name, D, A, B, C, expression) ROW(name)
#define COMPARE(name, A, expression) ROW(name)
#define PREDICATE(name, expression) ROW(name)
extern const struct exec_table ISA_JOIN(exec_table, SIM_ISA);
const struct exec_table ISA_JOIN(exec_table, SIM_ISA) = {
    .name = ISA_TEXT(SIM_ISA),
    .run =
        {
#include "exec.def"
        },
};
