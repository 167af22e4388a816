/* SPDX-License-Identifier: Apache-2.0 */
#include "exec.h"

extern const struct exec_table exec_table_base;
#ifdef __x86_64__
extern const struct exec_table exec_table_v3;
extern const struct exec_table exec_table_v4;
#endif

const struct exec_table *exec_table_best(void)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("fma"))
        return &exec_table_v4;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
        return &exec_table_v3;
#endif
    return &exec_table_base;
}
