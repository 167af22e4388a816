/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HOSTILE_HIP_SIM_H
#define GPUPARITY_HOSTILE_HIP_SIM_H

#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "launch.h"
#include "watch.h"

/* Bytes from anywhere, as the test of hostile code objects and the fuzz target use them: loads
 * them and starts every kernel there is with a little budget. Nothing may crash. */
static inline int hostile_load(struct sim_memory *memory, const uint8_t *bytes, size_t size)
{
    char why[400];
    struct image image;
    struct codeobject object;
    if (code_image_open(bytes, size, &image, why, sizeof why))
        return strlen(why) > 0 ? 1 : -1;
    int failed = codeobject_load(image.bytes, image.size, memory, &object, why, sizeof why);
    code_image_release(&image);
    if (failed)
        return strlen(why) > 0 ? 1 : -1;
    int error;
    struct watch *watch = watch_open(memory, &error); /* if GPUPARITY_SIM_CHECK asks for it */
    for (int n = 0; n < object.n_kernel; n++) {
        struct sim_fault fault;
        uint64_t instructions = 0;
        const struct launch_request p = {.object = &object,
                                         .kernel = &object.kernel[n],
                                         .grid = {1, 1, 1},
                                         .block = {40, 1, 1},
                                         .watch = watch};
        launch_run(&p, &instructions, &fault);
    }
    watch_close(watch);
    codeobject_release(&object);
    return 0;
}

#endif
