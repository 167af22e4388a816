/* SPDX-License-Identifier: Apache-2.0 */
#include "codeobject.h"

#include <stdio.h>
#include <string.h>

#include "exec.h"
#include "trig.h"

/* Looks through a kernel's instructions for what the launch must know beforehand. */

static bool is_ordered(const struct inst *i)
{
    if (i->code->form != FORM_ATOMIC || i->encoding == ENC_DS)
        return false;
    atomic_fn *const fn = i->code->fn;
    const bool commutes = fn == atomic_add || fn == atomic_sub || fn == atomic_and ||
                          fn == atomic_or || fn == atomic_xor || fn == atomic_min_i32 ||
                          fn == atomic_max_i32 || fn == atomic_min_i64 ||
                          fn == atomic_max_i64 || fn == atomic_min_u64 ||
                          fn == atomic_max_u64 || fn == atomic_inc || fn == atomic_dec;
    return i->glc || !commutes;
}

static void mark_add(struct kernel *k, const char *mark)
{
    if (!mark || strstr(k->marks, mark))
        return;
    size_t used = strlen(k->marks);
    snprintf(k->marks + used, sizeof k->marks - used, "%s%s", used ? "; " : "", mark);
}

static bool is_call(const struct inst *i)
{
    return strcmp(i->code->name, "s_swappc_b64") == 0 ||
           strcmp(i->code->name, "s_setpc_b64") == 0;
}

/* Returns whether something was called that may lie anywhere. */
static bool range_scan(struct codeobject *c, struct kernel *k, size_t from, size_t to)
{
    bool calls = false;
    for (size_t pc = from; pc < to && pc < c->code.count;) {
        const struct inst *i = codemap_at(&c->code, pc);
        pc += i->advance;
        if (!i->code)
            continue;
        k->ordered |= is_ordered(i);
        k->swaps |= strstr(i->code->name, "atomic_cmpswap") != NULL;
        calls |= is_call(i);
        mark_add(k, trig_mark(i->code->name));
    }
    return calls;
}

void codeobject_scan(struct codeobject *c, struct kernel *k)
{
    if (k->scanned)
        return;
    k->scanned = true;
    const struct global *g = codeobject_global(c, k->meta->name);
    const bool sized = g && g->address == c->code.address + 4ull * k->entry && g->size;
    const size_t end = sized ? k->entry + g->size / 4 : c->code.count;
    if (range_scan(c, k, k->entry, end))
        range_scan(c, k, 0, c->code.count);
}
