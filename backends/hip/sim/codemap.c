/* SPDX-License-Identifier: Apache-2.0 */
#include "codemap.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

int codemap_init(struct codemap *m, const uint32_t *word, size_t count, uint64_t address)
{
    *m = (struct codemap){.word = word, .count = count, .address = address};
    if (!count)
        return EINVAL;
    void *p = mmap(NULL, count * sizeof *m->inst, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return errno;
    m->inst = p;
    return pthread_mutex_init(&m->lock, NULL);
}

void codemap_release(struct codemap *m)
{
    if (!m->inst)
        return;
    for (size_t n = 0; n < m->count; n++)
        if (m->inst[n].exec)
            free(m->inst[n].pair);
    munmap(m->inst, m->count * sizeof *m->inst);
    pthread_mutex_destroy(&m->lock);
    *m = (struct codemap){0};
}

/* The executor is stored last: whoever sees it sees the rest. */
const struct inst *codemap_decode(struct codemap *m, size_t pc)
{
    struct inst *slot = &m->inst[pc];
    pthread_mutex_lock(&m->lock);
    if (!slot->exec) {
        const char *why;
        struct inst i;
        inst_decode(m->word + pc, m->count - pc, &i, &why);
        exec_fn *exec = i.exec;
        i.exec = NULL;
        *slot = i;
        __atomic_store_n(&slot->exec, exec, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&m->lock);
    return slot;
}
