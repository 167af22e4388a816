/* SPDX-License-Identifier: Apache-2.0 */
#include "capturematch.h"

#include <stdlib.h>
#include <string.h>

/* An operator's place among those of the same name, module and phase. */
struct place {
    const struct capture_operator *o;
    int64_t index, turn;
};

static int by_key(const struct place *x, const struct place *y)
{
    int d = strcmp(x->o->module, y->o->module);
    d = d ? d : strcmp(x->o->op, y->o->op);
    return d ? d : strcmp(x->o->phase, y->o->phase);
}

static int by_key_and_index(const void *p, const void *q)
{
    const struct place *x = p, *y = q;
    int d = by_key(x, y);
    return d ? d : (x->index > y->index) - (x->index < y->index);
}

static int by_key_and_turn(const void *p, const void *q)
{
    const struct place *x = p, *y = q;
    int d = by_key(x, y);
    return d ? d : (x->turn > y->turn) - (x->turn < y->turn);
}

/* All operators sorted by key and turn; the caller frees. NULL: out of memory. */
static struct place *places_make(const struct capture *c)
{
    int64_t n = capture_count(c);
    struct place *p = calloc((size_t)n + 1, sizeof *p);
    for (int64_t i = 0; p && i < n; i++)
        p[i] = (struct place){capture_at(c, i), i, 0};
    if (p)
        qsort(p, (size_t)n, sizeof *p, by_key_and_index);
    for (int64_t i = 1; p && i < n; i++)
        p[i].turn = by_key(&p[i - 1], &p[i]) ? 0 : p[i - 1].turn + 1;
    return p;
}

enum err capture_match(const struct capture *a, const struct capture *b,
                       const struct capture_operator ***ret_twin, struct errinfo *e)
{
    struct place *x = places_make(a), *y = places_make(b);
    const struct capture_operator **twin = calloc((size_t)capture_count(a) + 1, sizeof *twin);
    enum err err = x && y && twin ? ERR_OK : err_set(e, ERR_NOMEM, "out of memory");
    for (int64_t i = 0; i < capture_count(a) && !err; i++) {
        const struct place *found =
            bsearch(&x[i], y, (size_t)capture_count(b), sizeof *y, by_key_and_turn);
        twin[x[i].index] = found ? found->o : NULL;
    }
    free(x);
    free(y);
    if (err)
        free(twin);
    else
        *ret_twin = twin;
    return err;
}
