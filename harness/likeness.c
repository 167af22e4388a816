/* SPDX-License-Identifier: Apache-2.0 */
#include "likeness.h"

#include <ctype.h>
#include <string.h>

static bool in_word(const char *text, const char *at)
{
    return at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_');
}

/* Where the number ends that begins at `at`; `at` where there is none. */
static const char *number_end(const char *text, const char *at)
{
    const char *p = at;
    if (in_word(text, at))
        return at;
    p += *p == '-' || *p == '+';
    if (!strncmp(p, "inf", 3) || !strncmp(p, "nan", 3))
        return isalpha((unsigned char)p[3]) ? at : p + 3;
    if (!isdigit((unsigned char)*p))
        return at;
    while (isalnum((unsigned char)*p) || (*p == '.' && isdigit((unsigned char)p[1])) ||
           ((*p == '-' || *p == '+') && (p[-1] == 'e' || p[-1] == 'E')))
        p++;
    return p;
}

void likeness_kind(const char *text, char *ret_kind, size_t size)
{
    size_t used = 0;
    for (const char *at = text; *at && used + 1 < size;) {
        const char *end = number_end(text, at);
        ret_kind[used++] = end > at ? '#' : *at;
        at = end > at ? end : at + 1;
    }
    ret_kind[used] = 0;
}

static bool same_kind(const char *x, const char *y)
{
    char a[1024], b[1024];
    likeness_kind(x, a, sizeof a);
    likeness_kind(y, b, sizeof b);
    return !strcmp(a, b);
}

bool likeness_same(const struct finding *x, const struct finding *y)
{
    const struct cause_claim *a = finding_cause(x), *b = finding_cause(y);
    if (x->verdict != y->verdict || x->a.status != y->a.status || x->b.status != y->b.status ||
        !a != !b)
        return false;
    if (!a)
        return same_kind(x->reason, y->reason);
    return a->cause == b->cause && a->side == b->side && same_kind(a->evidence, b->evidence);
}
