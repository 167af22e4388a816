/* SPDX-License-Identifier: Apache-2.0 */
#include "../driver.h"

#include <stdio.h>
#include <string.h>

/* hipRTC's options for a mode. The rules are not independent on this side:
 *
 *   contract     true: no option, since the compiler's own default (fast-honor-pragmas) cannot
 * be named on the command line of LLVM 17 and differs from both `on` and `fast`. It fuses
 * across statements. false: -ffp-contract=off flush        -fgpu-flush-denormals-to-zero: a
 * mode bit of the kernel (f32 only) and other sequences for division and square root exact_div,
 * exact_sqrt   one switch for both: losing either loses both approximate  -fapprox-func:
 * functions may be approximated, nothing is reordered, NaN and Inf stay. It also loosens
 * division and square root, as if they were not exact. -ffast-math is not this: it reorders
 * sums and assumes that NaN and Inf never occur, which --use_fast_math of the other vendor does
 * not. -fgpu-approx-transcendentals is unknown to LLVM 17 and changes nothing in 21. */
void vendor_options_hip(const char *arch, const struct fp_mode *mode, char *ret_text,
                        size_t size)
{
    snprintf(ret_text, size, "-std=c++17 -O3 --offload-arch=%s%s%s%s%s", arch,
             mode->contract ? "" : " -ffp-contract=off",
             mode->flush ? " -fgpu-flush-denormals-to-zero" : "",
             mode->exact_div && mode->exact_sqrt
                 ? ""
                 : " -fno-hip-fp32-correctly-rounded-divide-sqrt",
             mode->approximate ? " -fapprox-func" : "");
}

/* Machine code runs on the card it was made for. */
bool vendor_runs_hip(const char *device_arch, const char *code_arch)
{
    return !strcmp(device_arch, code_arch);
}
