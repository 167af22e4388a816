/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_CODEMAP_H
#define GPUPARITY_HIP_SIM_CODEMAP_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "decode.h"

/* The executable words of a code object, decoded one by one when they are first run. Several
 * threads may run the same code. */
struct codemap {
    const uint32_t *word; /* borrowed: the loaded code, which must not change */
    size_t count;         /* dwords */
    uint64_t address;     /* of word[0] on the device */
    const struct sourceline *lines; /* for messages, borrowed; NULL: none */
    struct inst *inst;    /* one a dword, owned; zero pages until used */
    struct inst *pairs;   /* the Y halves of all VOPDs, linked by `pair`; owned */
    pthread_mutex_t lock;
};

/* 0, or errno. */
int codemap_init(struct codemap *m, const uint32_t *word, size_t count, uint64_t address);
void codemap_release(struct codemap *m); /* accepts a zeroed struct */

/* The decoded instruction at dword `pc`, which is below count. */
const struct inst *codemap_decode(struct codemap *m, size_t pc);

static inline const struct inst *codemap_at(struct codemap *m, size_t pc)
{
    const struct inst *i = &m->inst[pc];
    return __atomic_load_n(&i->exec, __ATOMIC_ACQUIRE) ? i : codemap_decode(m, pc);
}

#endif
