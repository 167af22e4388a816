/* SPDX-License-Identifier: Apache-2.0 */
#include "form.h"

#include <string.h>

#include "approx.h"
#include "floatop.h"
#include "lower.h"

const struct form forms[FORM_COUNT_] = {
#define FORM(op, words, lower, exec, extra) {op, words, lower_##lower, EXEC_##exec, extra},
#include "form.def"
#undef FORM
};

/* One word against "name" or "{a|b}" at *p, which is left behind it. */
static bool word_match(const char **p, struct slice word)
{
    const char *s = *p;
    bool choice = *s == '{', found = false;
    if (!choice) {
        size_t n = strcspn(s, ".[]{");
        *p = s + n;
        return n == word.size && !memcmp(s, word.text, n);
    }
    for (s++; *s && s[-1] != '}';) {
        size_t n = strcspn(s, "|}");
        found |= n == word.size && !memcmp(s, word.text, n);
        s += n + 1;
    }
    *p = s;
    return found;
}

/* The words of one optional group or of the rest, up to ']' or '['. */
static int run_match(const char *p, const char *end, const struct slice *word, int n_word)
{
    int used = 0;
    while (p < end) {
        p++; /* the dot */
        if (used == n_word || !word_match(&p, word[used]))
            return -1;
        used++;
    }
    return used;
}

bool form_match(const char *pattern, const struct slice *word, int n_word)
{
    int at = 0;
    for (const char *p = pattern; *p;) {
        bool optional = *p == '[';
        p += optional;
        const char *end = p + strcspn(p, optional ? "]" : "[");
        int used = run_match(p, end, word + at, n_word - at);
        if (used < 0 && !optional)
            return false;
        at += used > 0 ? used : 0;
        p = end + optional;
    }
    return at == n_word;
}

/* The qualifiers of a memory operation come in any order (Triton writes atom.global.acq_rel.gpu):
 * ordering, scope, space, then what is left as it stands. */
static int word_rank(struct slice word)
{
    static const char *const rank[] = {
        "weak volatile relaxed acquire release acq_rel mmio",
        "cta cluster gpu sys",
        "global shared shared::cta shared::cluster local const param param::entry param::func",
    };
    for (int r = 0; r < 3; r++)
        for (const char *p = rank[r]; *p;) {
            size_t n = strcspn(p, " ");
            if (n == word.size && !memcmp(p, word.text, n))
                return r;
            p += n + (p[n] == ' ');
        }
    return 3;
}

static void words_sort(struct slice *word, int n)
{
    for (int k = 1; k < n; k++)
        for (int j = k; j > 0 && word_rank(word[j]) < word_rank(word[j - 1]); j--) {
            struct slice t = word[j];
            word[j] = word[j - 1];
            word[j - 1] = t;
        }
}

int form_find(const struct ptx_inst *i, bool *ret_known)
{
    struct slice word[PTX_WORD_MAX];
    memcpy(word, i->word_text, sizeof word);
    if (slice_is(i->op, "ld") || slice_is(i->op, "st") || slice_is(i->op, "atom") ||
        slice_is(i->op, "red"))
        words_sort(word, i->n_word);
    *ret_known = false;
    for (int f = 0; f < FORM_COUNT_; f++) {
        if (!slice_is(i->op, forms[f].op))
            continue;
        *ret_known = true;
        if (form_match(forms[f].words, word, i->n_word))
            return f;
    }
    return -1;
}
