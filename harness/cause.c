/* SPDX-License-Identifier: Apache-2.0 */
#include "cause.h"

static const struct {
    const char *name, *check;
    enum cause_tier tier;
} rows[CAUSE_COUNT_] = {
#define CAUSE(id, name, tier, check) [CAUSE_##id] = {name, check, CAUSE_TIER_##tier},
#include "cause.def"
#undef CAUSE
};

const char *cause_name(enum cause c)
{
    return rows[c].name;
}

const char *cause_check(enum cause c)
{
    return rows[c].check;
}

enum cause_tier cause_tier(enum cause c)
{
    return rows[c].tier;
}

const char *cause_tier_name(enum cause_tier t)
{
    static const char *const names[] = {"expected", "policy", "defect", "device health",
                                        "unexplained"};
    return names[t];
}
