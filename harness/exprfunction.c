/* SPDX-License-Identifier: Apache-2.0 */
#include "exprfunction.h"

#include <string.h>

const struct expr_function expr_functions[EXPR_FUNCTIONS] = {
#define WHOLE true, false
#define REAL false, true
#define BOTH true, true
#define FUNCTION(id, name, arity, where, ulp, meaning) {name, EXPR_##id, arity, ulp, where},
#include "expr.def"
#undef FUNCTION
#undef WHOLE
#undef REAL
#undef BOTH
};

const struct expr_function *expr_function_find(const char *name, bool real)
{
    for (int i = 0; i < EXPR_FUNCTIONS; i++) {
        const struct expr_function *f = &expr_functions[i];
        if (!strcmp(f->name, name) && (real ? f->real : f->whole))
            return f;
    }
    return NULL;
}

/* Operations of functions follow the others, in the order of the table. */
int expr_function_ulp(enum expr_op op)
{
    return op > EXPR_HIGHEST ? expr_functions[op - EXPR_HIGHEST - 1].ulp : 0;
}
