/* SPDX-License-Identifier: Apache-2.0 */
#include "limit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "caseid.h"

static const char *const names[LIMIT_KINDS] = {"ulp", "abs", "rel", "share", "mean", "bound"};

static bool of_elements(enum limit_kind k)
{
    return k == LIMIT_ULP || k == LIMIT_ABS || k == LIMIT_REL;
}

static enum err unknown(const char *text, size_t length, struct errinfo *e)
{
    char name[32] = "";
    memcpy(name, text, length < sizeof name ? length : sizeof name - 1);
    const char *near = nearest_name(name, names, LIMIT_KINDS);
    return err_set(
        e, ERR_USAGE,
        "--limit %.60s: %s%s%s; valid: ulp:N, abs:X, rel:X, share:X, mean:X, bound:X", text,
        near ? "did you mean " : "no such limit", near ? near : "", near ? "?" : "");
}

/* One "name:value"; *at moves behind it. */
static enum err parse_term(const char **at, struct limit_rule *r, struct errinfo *e)
{
    size_t length = strcspn(*at, ":,");
    int k = 0;
    while (k < LIMIT_KINDS && (strlen(names[k]) != length || memcmp(names[k], *at, length)))
        k++;
    if (k == LIMIT_KINDS)
        return unknown(*at, length, e);
    const char *number = *at + length + 1;
    char *end = (char *)number;
    double value = (*at)[length] == ':' ? strtod(number, &end) : -1;
    if (end == number || (*end && *end != ',') || !(value >= 0) || isinf(value))
        return err_set(e, ERR_USAGE, "--limit %.60s: %s wants a number from 0 on: %s:4",
                       r->text, names[k], names[k]);
    if (r->n == LIMIT_TERMS_MAX)
        return err_set(e, ERR_USAGE, "--limit %.60s: more than %d terms", r->text,
                       LIMIT_TERMS_MAX);
    r->term[r->n].kind = (enum limit_kind)k;
    r->term[r->n++].value = value;
    *at = end + (*end == ',');
    return ERR_OK;
}

static enum err parse_rule(const char *text, struct limit_rule *ret_rule, struct errinfo *e)
{
    struct limit_rule r = {.text = text};
    const char *at = text;
    do
        TRY(parse_term(&at, &r, e));
    while (*at);
    for (int i = 0; i < r.n && r.n > 1; i++)
        if (!of_elements(r.term[i].kind))
            return err_set(e, ERR_USAGE,
                           "--limit %.60s: %s is about the whole tensor and stands alone, in a "
                           "--limit of its own",
                           text, names[r.term[i].kind]);
    *ret_rule = r;
    return ERR_OK;
}

enum err limits_parse(int n, const char *const *text, struct limits *ret_limits,
                      struct errinfo *e)
{
    struct limits l = {0};
    if (n > LIMIT_RULES_MAX)
        return err_set(e, ERR_USAGE, "more than %d limits", LIMIT_RULES_MAX);
    for (; l.n < n; l.n++)
        TRY(parse_rule(text[l.n], &l.rule[l.n], e));
    *ret_limits = l;
    return ERR_OK;
}

bool limit_of_elements(const struct limit_rule *r)
{
    return of_elements(r->term[0].kind);
}

bool limits_have(const struct limits *l, enum limit_kind kind)
{
    for (int i = 0; i < l->n; i++)
        for (int k = 0; k < l->rule[i].n; k++)
            if (l->rule[i].term[k].kind == kind)
                return true;
    return false;
}

bool limits_allow(const struct limits *l, uint64_t ulp, double absolute, double relative)
{
    for (int i = 0; i < l->n; i++) {
        const struct limit_rule *r = &l->rule[i];
        bool fine = !limit_of_elements(r);
        for (int k = 0; k < r->n && !fine; k++) {
            double x = r->term[k].kind == LIMIT_ULP   ? (double)ulp
                       : r->term[k].kind == LIMIT_ABS ? absolute
                                                      : relative;
            fine = x <= r->term[k].value;
        }
        if (!fine)
            return false;
    }
    return true;
}
