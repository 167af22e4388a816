/* SPDX-License-Identifier: Apache-2.0 */
#include "fuse.h"

#include <string.h>

bool fuse_plan_make(const struct ptx_function *f, struct arena *a, struct fuse_plan *ret_plan)
{
    (void)f, (void)a;
    memset(ret_plan, 0, sizeof *ret_plan);
    return true;
}
