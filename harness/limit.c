/* SPDX-License-Identifier: Apache-2.0 */
#include "limit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caseid.h"
#include "ulp.h"

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

double limit_least(enum limit_kind k, enum dtype d)
{
    const struct dtype_info *i = dtype_info(d);
    bool real = i->kind == DTYPE_KIND_FLOAT;
    switch (k) {
    case LIMIT_ULP:
        return 1;
    case LIMIT_ABS:
        return real ? dtype_value(d, 1) : 1;
    case LIMIT_REL:
        /* 2^e and the number before it, which is a step of 2^(e - 1 - fraction) away. */
        return ldexp(1, real ? -i->fraction - 1 : -8 * i->bytes);
    default:
        return 0;
    }
}

double limit_allowed(const struct limit_rule *r, enum dtype d, double magnitude)
{
    double most = 0;
    for (int k = 0; k < r->n; k++) {
        double v = r->term[k].value;
        most = fmax(most, r->term[k].kind == LIMIT_ABS   ? v
                          : r->term[k].kind == LIMIT_REL ? v * magnitude
                                                         : v * ulp_size(d, magnitude));
    }
    return most;
}

bool limit_is_equality(const struct limit_rule *r, enum dtype d, char *ret_text, size_t size)
{
    size_t used = 0;
    for (int k = 0; k < r->n; k++)
        if (!(r->term[k].value < limit_least(r->term[k].kind, d)))
            return false;
    used = (size_t)snprintf(ret_text, size, "%.60s allows equal numbers only: different ones of %s",
                            r->text, dtype_info(d)->name);
    for (int k = 0; k < r->n && used < size; k++)
        used += (size_t)snprintf(ret_text + used, size - used, "%s at least %s:%.3g",
                                 k ? " or" : " are", names[r->term[k].kind],
                                 limit_least(r->term[k].kind, d));
    if (used < size)
        snprintf(ret_text + used, size - used, " apart");
    return true;
}

bool limit_too_close(const struct limit_rule *r, enum dtype d, double a, double b,
                     char *ret_text, size_t size)
{
    double magnitude = fmax(fabs(a), fabs(b));
    if (!limit_of_elements(r) || limit_is_equality(r, d, ret_text, size))
        return limit_of_elements(r);
    double step = ulp_size(d, fmin(fabs(a), fabs(b))), allowed = limit_allowed(r, d, magnitude);
    if (!isfinite(magnitude) || !(allowed < step))
        return false;
    snprintf(ret_text, size, "at the first, neighbours in %s are %.3g apart, %.60s allows %.3g",
             dtype_info(d)->name, step, r->text, allowed);
    return true;
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
