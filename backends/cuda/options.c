/* SPDX-License-Identifier: Apache-2.0 */
#include "../driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NVRTC's options for a mode. All five rules are independent here: --use_fast_math sets four
 * switches and replaces library functions by the hardware's approximations, and an explicit
 * switch wins over it in any order (NVRTC 11.8, 12.0 and 13.0 agree), so only the replacement
 * remains.
 *
 *   contract     --fmad       as the vendor's default; fuses within an expression and, in the
 *                             driver's compiler, bare mul + add. false makes every step .rn
 *   flush        --ftz        subnormal f32 inputs and results; f16, bf16 and f64 keep theirs
 *   exact_div    --prec-div   false: 2 ulp, and wrong for 2^126 < |y|
 *   exact_sqrt   --prec-sqrt  false: sqrt.approx
 *   approximate  --use_fast_math
 *
 * What cannot be said: approximations without their own flushing. ex2.approx.ftz inside expf
 * and tanhf flushes whatever --ftz says, in the default mode too.
 *
 * The target is virtual (compute_86): the code is PTX, compiled for the card by its driver, or
 * run by the simulator. */
void vendor_options_cuda(const char *arch, const struct fp_mode *mode, char *ret_text,
                         size_t size)
{
    const char *number = strncmp(arch, "sm_", 3) ? arch : arch + 3;
    snprintf(ret_text, size,
             "--std=c++17 --gpu-architecture=compute_%s --fmad=%s --ftz=%s --prec-div=%s "
             "--prec-sqrt=%s%s",
             number, mode->contract ? "true" : "false", mode->flush ? "true" : "false",
             mode->exact_div ? "true" : "false", mode->exact_sqrt ? "true" : "false",
             mode->approximate ? " --use_fast_math" : "");
}

/* PTX for an older card runs on a newer one. */
bool vendor_runs_cuda(const char *device_arch, const char *code_arch)
{
    if (strncmp(device_arch, "sm_", 3) || strncmp(code_arch, "sm_", 3))
        return false;
    return atoi(device_arch + 3) >= atoi(code_arch + 3);
}
