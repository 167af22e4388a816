/* SPDX-License-Identifier: Apache-2.0 */
#include "exec.h"

#include <stdlib.h>
#include <string.h>

extern const struct valu_variant base_valu;
#if defined(__x86_64__)
extern const struct valu_variant v3_valu, v4_valu;

static bool can_v3(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool can_v4(void)
{
    return can_v3() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

const struct valu_variant *valu_variant_named(const char *name)
{
#if defined(__x86_64__)
    if (strcmp(name, "v4") == 0)
        return can_v4() ? &v4_valu : NULL;
    if (strcmp(name, "v3") == 0)
        return can_v3() ? &v3_valu : NULL;
#endif
    return strcmp(name, "base") == 0 ? &base_valu : NULL;
}

const struct valu_variant *valu_variant(void)
{
    const char *wanted = getenv("GPUPARITY_SIM_ISA");
    const struct valu_variant *v = wanted ? valu_variant_named(wanted) : NULL;
    if (v)
        return v;
#if defined(__x86_64__)
    if (can_v4())
        return &v4_valu;
    if (can_v3())
        return &v3_valu;
#endif
    return &base_valu;
}
