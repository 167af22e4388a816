/* SPDX-License-Identifier: Apache-2.0 */
#include "finding.h"

#include <stdlib.h>
#include <string.h>

enum fails { NO, YES, STRICT };

static const struct {
    const char *name, *meaning;
    enum fails fails;
} rows[VERDICT_COUNT_] = {
#define VERDICT(id, name, fails, meaning) [VERDICT_##id] = {name, meaning, fails},
#include "verdict.def"
#undef VERDICT
};

const char *verdict_name(enum verdict v)
{
    return rows[v].name;
}

const char *verdict_meaning(enum verdict v)
{
    return rows[v].meaning;
}

bool verdict_fails(enum verdict v, bool strict)
{
    return rows[v].fails == YES || (rows[v].fails == STRICT && strict);
}

void finding_release(struct finding *f)
{
    for (int i = 0; i < f->n_out; i++)
        free(f->out[i].charts);
    free(f->out);
    memset(f, 0, sizeof *f);
}

/* Does the claim say no more than where, or nothing? */
static bool says_little(const struct cause_claim *c)
{
    return c->cause == CAUSE_UNEXPLAINED || c->cause == CAUSE_LOCALISED;
}

/* Of outputs that are equally bad the first; but a mask or a scale that says what happened
 * explains the outputs that were made of it. */
const struct cause_claim *finding_cause(const struct finding *f)
{
    const struct finding_out *worst = NULL;
    for (int i = 0; i < f->n_out; i++) {
        const struct finding_out *o = &f->out[i];
        if (o->n_claim && (!worst || o->verdict > worst->verdict ||
                           (o->verdict == worst->verdict && says_little(&worst->claim[0]) &&
                            !says_little(&o->claim[0]))))
            worst = o;
    }
    return worst ? &worst->claim[0] : NULL;
}

void finding_tally_add(struct finding_tally *t, const struct finding *f)
{
    t->count++;
    t->verdicts[f->verdict]++;
    t->failing += verdict_fails(f->verdict, t->strict);
}
