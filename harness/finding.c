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

const struct cause_claim *finding_cause(const struct finding *f)
{
    const struct finding_out *worst = NULL;
    for (int i = 0; i < f->n_out; i++)
        if (f->out[i].n_claim && (!worst || f->out[i].verdict > worst->verdict))
            worst = &f->out[i];
    return worst ? &worst->claim[0] : NULL;
}
