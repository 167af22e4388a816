/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include "../../sim/fp.h"

/* Comparisons: each lane's result is 0 or ~0 in 32 bits. */

#define ROW_TEST(name, T, test) ROW_EXPR(cmp_##name, row_u32, T, T, T, (test) ? ~0u : 0)

ROW_EXPR(cmp_f, row_u32, row_u32, row_u32, row_u32, 0)
ROW_EXPR(cmp_t, row_u32, row_u32, row_u32, row_u32, ~0u)

/* A and B: the operands as numbers. */
#define ROWS_ORDER(suffix, T, A, B)                                                            \
    ROW_TEST(lt_##suffix, T, A < B)                                                            \
    ROW_TEST(eq_##suffix, T, A == B)                                                           \
    ROW_TEST(le_##suffix, T, A <= B)                                                           \
    ROW_TEST(gt_##suffix, T, A > B)                                                            \
    ROW_TEST(ge_##suffix, T, A >= B)
#define ROWS_INTEGER(suffix, T, A, B)                                                          \
    ROWS_ORDER(suffix, T, A, B)                                                                \
    ROW_TEST(ne_##suffix, T, A != B)
#define ROWS_FLOAT(suffix, T, A, B)                                                            \
    ROWS_ORDER(suffix, T, A, B)                                                                \
    ROW_TEST(lg_##suffix, T, A<B || A> B)                                                      \
    ROW_TEST(o_##suffix, T, A == A && B == B)                                                  \
    ROW_TEST(u_##suffix, T, A != A || B != B)                                                  \
    ROW_TEST(nge_##suffix, T, !(A >= B))                                                       \
    ROW_TEST(nlg_##suffix, T, !(A < B || A > B))                                               \
    ROW_TEST(ngt_##suffix, T, !(A > B))                                                        \
    ROW_TEST(nle_##suffix, T, !(A <= B))                                                       \
    ROW_TEST(neq_##suffix, T, A != B)                                                          \
    ROW_TEST(nlt_##suffix, T, !(A < B))

ROWS_INTEGER(u32, row_u32, a[i], b[i])
ROWS_INTEGER(i32, row_i32, a[i], b[i])
ROWS_INTEGER(u64, row_u64, a[i], b[i])
ROWS_INTEGER(i64, row_i64, a[i], b[i])
ROWS_INTEGER(u16, row_u32, (uint16_t)a[i], (uint16_t)b[i])
ROWS_INTEGER(i16, row_u32, (int16_t)a[i], (int16_t)b[i])
ROWS_FLOAT(f32, row_f32, a[i], b[i])
ROWS_FLOAT(f64, row_f64, a[i], b[i])
ROWS_FLOAT(f16, row_u32, half_value(a[i]), half_value(b[i]))

#define ROW_CLASS(suffix, TA, format)                                                          \
    ROW_EXPR(cmp_class_##suffix, row_u32, TA, row_u32, row_u32,                                \
             ((uint32_t)fp_classify(format, a[i]) & b[i] & 0x3ff) ? ~0u : 0)
ROW_CLASS(f16, row_u32, FP_F16)
ROW_CLASS(f32, row_u32, FP_F32)
ROW_CLASS(f64, row_u64, FP_F64)
