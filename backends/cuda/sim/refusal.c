/* SPDX-License-Identifier: Apache-2.0 */
#include "form.h"

#include <string.h>

/* Apart from the forms themselves: whoever only reads a module needs this and not how to run it. */

static bool refused_operation(const char *pattern, struct slice op)
{
    size_t n = strcspn(pattern, "*");
    return pattern[n] ? op.size >= n && !memcmp(op.text, pattern, n) : slice_is(op, pattern);
}

const char *form_refusal(const struct ptx_inst *i)
{
    static const struct {
        const char *op, *word, *why;
    } rows[] = {
#define REFUSE(op, word, why) {op, word, why},
#include "refuse.def"
#undef REFUSE
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        if (!refused_operation(rows[r].op, i->op))
            continue;
        bool found = !*rows[r].word;
        for (int k = 0; k < i->n_word; k++)
            found |= slice_is(i->word_text[k], rows[r].word);
        if (found)
            return rows[r].why;
    }
    return NULL;
}
