/* SPDX-License-Identifier: Apache-2.0 */
#include "caseid.h"

#include <stdio.h>
#include <string.h>

enum { RULE_FLUSH = 1, RULE_DIV = 2, RULE_SQRT = 4, RULE_APPROX = 8, RULE_STRICT = 16 };
enum { RULE_FAST = RULE_FLUSH | RULE_DIV | RULE_SQRT | RULE_APPROX };

/* In the order of printing: a word that holds several rules stands before its parts. */
static const struct mode_word {
    const char *name;
    unsigned rules;
} mode_words[] = {
    {"strict", RULE_STRICT}, {"fast", RULE_FAST},     {"flush", RULE_FLUSH},
    {"fastdiv", RULE_DIV},   {"fastsqrt", RULE_SQRT}, {"approx", RULE_APPROX},
};
enum { WORDS = sizeof mode_words / sizeof mode_words[0] };

static unsigned mode_rules(const struct case_mode *m)
{
    return (m->contract ? 0 : RULE_STRICT) | (m->flush ? RULE_FLUSH : 0) |
           (m->exact_div ? 0 : RULE_DIV) | (m->exact_sqrt ? 0 : RULE_SQRT) |
           (m->approximate ? RULE_APPROX : 0);
}

static struct case_mode rules_mode(unsigned rules)
{
    return (struct case_mode){
        .contract = !(rules & RULE_STRICT),
        .flush = rules & RULE_FLUSH,
        .exact_div = !(rules & RULE_DIV),
        .exact_sqrt = !(rules & RULE_SQRT),
        .approximate = rules & RULE_APPROX,
    };
}

void caseid_print_mode(const struct case_mode *m, char *ret_text)
{
    unsigned left = mode_rules(m);
    size_t used = 0;
    ret_text[0] = 0;
    for (int i = 0; i < WORDS; i++) {
        if ((left & mode_words[i].rules) != mode_words[i].rules)
            continue;
        used += (size_t)snprintf(ret_text + used, 64 - used, "%s%s", used ? "+" : "",
                                 mode_words[i].name);
        left &= ~mode_words[i].rules;
    }
    if (!used)
        snprintf(ret_text, 64, "default");
}

static enum err mode_unknown(const char *word, struct errinfo *e)
{
    const char *names[WORDS + 1] = {"default"};
    for (int i = 0; i < WORDS; i++)
        names[i + 1] = mode_words[i].name;
    const char *near = nearest_name(word, names, WORDS + 1);
    return err_set(e, ERR_USAGE,
                   "no mode '%.40s'; %s%s%sa mode is 'default' or words joined by '+': strict, "
                   "flush, fastdiv, fastsqrt, approx, fast",
                   word, near ? "did you mean '" : "", near ? near : "", near ? "'? " : "");
}

static enum err word_rules(const char *word, unsigned *ret_rules, struct errinfo *e)
{
    for (int i = 0; i < WORDS; i++)
        if (!strcmp(word, mode_words[i].name)) {
            *ret_rules = mode_words[i].rules;
            return ERR_OK;
        }
    return mode_unknown(word, e);
}

enum err caseid_parse_mode(const char *text, struct case_mode *ret_mode, struct errinfo *e)
{
    unsigned rules = 0;
    if (!strcmp(text, "default")) {
        *ret_mode = rules_mode(0);
        return ERR_OK;
    }
    for (const char *at = text;; at++) {
        char word[64];
        size_t n = strcspn(at, "+");
        if (n >= sizeof word)
            return mode_unknown(at, e);
        memcpy(word, at, n);
        word[n] = 0;

        unsigned more = 0;
        TRY(word_rules(word, &more, e));
        rules |= more;
        at += n;
        if (!*at)
            break;
    }
    *ret_mode = rules_mode(rules);
    return ERR_OK;
}
