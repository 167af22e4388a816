/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "exec.h"

extern const struct exec_table exec_table_base;
#ifdef __x86_64__
extern const struct exec_table exec_table_v3;
extern const struct exec_table exec_table_v4;
#endif

static bool host_has(const struct exec_table *t)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("bmi2");
    bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    return t == &exec_table_base || (t == &exec_table_v3 && v3) || (t == &exec_table_v4 && v4);
#else
    return t == &exec_table_base;
#endif
}

const struct exec_table *exec_table_best(void)
{
    static const struct exec_table *const tables[] = {
#ifdef __x86_64__
        &exec_table_v4,
        &exec_table_v3,
#endif
    };
    const char *wanted = getenv("GPUPARITY_SIM_ISA");
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
        if (host_has(tables[k]) && (!wanted || !strcmp(wanted, tables[k]->name)))
            return tables[k];
    return &exec_table_base;
}
