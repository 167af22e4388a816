/* SPDX-License-Identifier: Apache-2.0 */
#include "codemap.h"

#include <errno.h>
#include <stdbool.h>
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
    for (struct inst *y = m->pairs, *next; y; y = next) {
        next = y->pair;
        free(y);
    }
    munmap(m->inst, m->count * sizeof *m->inst);
    pthread_mutex_destroy(&m->lock);
    *m = (struct codemap){0};
}

/* Instructions that only schedule: nothing happens here, so the one before steps over them. */
static bool is_idle(uint32_t word)
{
    static const uint16_t idle[] = {0xbf80 /* s_nop */,
                                    0xbf84 /* s_set_inst_prefetch_distance */,
                                    0xbf85 /* s_clause */,
                                    0xbf87 /* s_delay_alu */,
                                    0xbf88 /* s_waitcnt_depctr */,
                                    0xbf89 /* s_waitcnt */};
    for (size_t n = 0; n < sizeof idle / sizeof *idle; n++)
        if (word >> 16 == idle[n])
            return true;
    return false;
}

/* Not after instructions that look at the program counter or may leave the wave's loop. */
static void idle_skip(const struct codemap *m, size_t pc, struct inst *i)
{
    if (!i->code || i->encoding == ENC_SOP1 || i->encoding == ENC_SOPK ||
        i->encoding == ENC_SOPP)
        return;
    while (i->advance < 32 && pc + i->advance < m->count && is_idle(m->word[pc + i->advance]))
        i->advance++;
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
        idle_skip(m, pc, &i);
        if (i.pair) {
            i.pair->pair = m->pairs;
            m->pairs = i.pair;
        }
        exec_fn *exec = i.exec;
        i.exec = NULL;
        *slot = i;
        __atomic_store_n(&slot->exec, exec, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&m->lock);
    return slot;
}
