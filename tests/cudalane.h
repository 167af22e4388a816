/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CUDALANE_H
#define TESTS_CUDALANE_H

#include "cudasim.h"

enum { THREADS = 128 };

/* A kernel whose thread i has %i = i, reads in[i] (word i of the second half) into %x and
 * stores %y. */
static inline void kernel_run(const char *declare, const char *body, const uint32_t *x,
                       uint32_t *ret_y, unsigned threads)
{
    static char text[8192];
    uint32_t both[2 * THREADS] = {0};
    memcpy(both + THREADS, x, threads * sizeof *x);
    snprintf(text, sizeof text,
             "%s%s.visible .entry k(.param .u64 p)\n{\n.reg .b64 %%q, %%z; .reg .b32 %%i, %%x, "
             "%%y, %%r<16>;"
             ".reg .pred %%p<8>;\nld.param.u64 %%q, [p];\nmov.u32 %%i, %%tid.x;\nmul.wide.u32 "
             "%%z, %%i, 4;\n"
             "add.u64 %%q, %%q, %%z;\nld.global.u32 %%x, [%%q+%d];\nmov.u32 %%y, 0;\n%s\n"
             "st.global.u32 [%%q], %%y;\nret;\n}\n",
             head, declare, (int)(THREADS * 4), body);
    ptx_run(text, both, sizeof both, 1, threads);
    memcpy(ret_y, both, threads * sizeof *ret_y);
}

#endif
