/* SPDX-License-Identifier: Apache-2.0 */
/* A libcuda.so.1 for tests of selfcheck: cuda-sim, with its approximate functions where STANDIN
 * says (nearest, low, high), in the place of a card whose units are not the model's. It tells
 * the client that it is simulated, as cuda-sim does. */
#include <stdlib.h>

__attribute__((constructor)) static void units_choose(void)
{
    const char *where = getenv("STANDIN");
    setenv("GPUPARITY_SIM_APPROX", where ? where : "nearest", 1);
}
