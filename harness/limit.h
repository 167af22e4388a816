/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_LIMIT_H
#define GPUPARITY_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dtype.h"
#include "err.h"

/* How far two sides may differ, as the user says it: every rule must hold. A rule of several
 * terms, "ulp:4,abs:1e-6", asks of each element that one of them holds.
 *
 *   ulp    values of the format between a and b        abs   |b - a|
 *   rel    |b - a| / max(|a|, |b|)                     (these three for each element)
 *   share  of the elements may differ                  mean  |mean signed distance|, in ULP
 *   bound  of each element's derived bound may be used by a side (records only)
 *
 * NaN against a number and Inf against anything else are beyond every limit of an element. */

enum limit_kind {
    LIMIT_ULP,
    LIMIT_ABS,
    LIMIT_REL,
    LIMIT_SHARE,
    LIMIT_MEAN,
    LIMIT_BOUND,
    LIMIT_KINDS
};

enum { LIMIT_RULES_MAX = 16, LIMIT_TERMS_MAX = 4 };

struct limit_rule {
    const char *text; /* borrowed: as the user wrote it */
    int n;
    struct {
        enum limit_kind kind;
        double value;
    } term[LIMIT_TERMS_MAX];
};

struct limits {
    int n;
    struct limit_rule rule[LIMIT_RULES_MAX];
};

/* ERR_USAGE names what is wrong and what is valid. */
enum err limits_parse(int n, const char *const *text, struct limits *ret_limits,
                      struct errinfo *e);

/* Is it a rule for each element? */
bool limit_of_elements(const struct limit_rule *r);

/* Has any rule a term of that kind? */
bool limits_have(const struct limits *l, enum limit_kind kind);

/* The least distance that two different numbers of the format can have, in the rule's unit: 1 ULP,
 * its smallest number, or, relative to the larger of two neighbours, what lies below a power of
 * two. 0: the rule is not one of elements. */
double limit_least(enum limit_kind k, enum dtype d);

/* Does the rule allow equal numbers only, because no two numbers of the format lie so close? Then
 * `ret_text` says so. */
bool limit_is_equality(const struct limit_rule *r, enum dtype d, char *ret_text, size_t size);

/* That, or else that no two numbers beside a and b, the first two that differ, lie so close. */
bool limit_too_close(const struct limit_rule *r, enum dtype d, double a, double b,
                     char *ret_text, size_t size);

/* How far a rule of elements lets two numbers be apart of which the larger has that magnitude. */
double limit_allowed(const struct limit_rule *r, enum dtype d, double magnitude);

/* May two finite numbers differ so, by all rules for elements? */
bool limits_allow(const struct limits *l, uint64_t ulp, double absolute, double relative);

#endif
