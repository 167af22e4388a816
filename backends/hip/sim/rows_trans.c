/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include "dot2.h"
#include "trans.h"
#include "trig.h"

#define ROW_UNIT(name)                                                                         \
    ROW(name)                                                                                  \
    {                                                                                          \
        ROW_UNUSED;                                                                            \
        trans_##name##_row(vd, va);                                                            \
    }
ROW_UNIT(rcp_f32)
ROW_UNIT(rsq_f32)
ROW_UNIT(exp_f32)
ROW_UNIT(log_f32)
ROW_UNIT(sqrt_f32)
ROW_U32(rcp_f16, trans_rcp_f16(a[i]))
ROW_U32(rsq_f16, trans_rsq_f16(a[i]))
ROW_U32(exp_f16, trans_exp_f16(a[i]))
ROW_U32(log_f16, trans_log_f16(a[i]))
ROW_U32(sqrt_f16, trans_sqrt_f16(a[i]))

ROW_U32(sin_f32, trig_sin_f32(a[i]))
ROW_U32(cos_f32, trig_cos_f32(a[i]))
ROW_U32(sin_f16, trig_sin_f16(a[i]))
ROW_U32(cos_f16, trig_cos_f16(a[i]))
#define ROW_U64(name, expr) ROW_EXPR(name, row_u64, row_u64, row_u64, row_u64, expr)
ROW_U64(rcp_f64, trig_rcp_f64(a[i]))
ROW_U64(rsq_f64, trig_rsq_f64(a[i]))
ROW_U64(sqrt_f64, trig_sqrt_f64(a[i]))

ROW_U32(dot2_f32_f16, dot2_f32_f16(a[i], b[i], c[i]))
ROW_U32(dot2_f32_bf16, dot2_f32_bf16(a[i], b[i], c[i]))
ROW_U32(dot2_f16_f16, dot2_f16_f16(a[i], b[i], c[i]))
ROW_U32(dot2_bf16_bf16, dot2_bf16_bf16(a[i], b[i], c[i]))
