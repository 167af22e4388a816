/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CAUSE_H
#define GPUPARITY_CAUSE_H

/* The vocabulary of causes; diagnose.h finds them. */
enum cause {
#define CAUSE(id, name, tier, check) CAUSE_##id,
#include "cause.def"
#undef CAUSE
    CAUSE_COUNT_
};

enum cause_tier {
    CAUSE_TIER_EXPECTED, /* the arithmetic allows it: no one is at fault */
    CAUSE_TIER_POLICY,   /* a documented choice on which the vendors differ */
    CAUSE_TIER_DEFECT,   /* somebody's bug */
    CAUSE_TIER_HEALTH,   /* this one device */
    CAUSE_TIER_UNEXPLAINED
};

const char *cause_name(enum cause c);
const char *cause_check(enum cause c); /* what a user can check, a phrase */
enum cause_tier cause_tier(enum cause c);
const char *cause_tier_name(enum cause_tier t);

/* A cause with its evidence. */
struct cause_claim {
    enum cause cause;
    char side;          /* 'A', 'B', or '=' for the pair */
    double share;       /* of the differing or wrong elements that it explains, 0..1 */
    char evidence[320]; /* one sentence with numbers that can be checked */
};
enum { CAUSE_CLAIMS_MAX = 4 };

#endif
