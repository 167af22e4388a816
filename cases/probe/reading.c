/* SPDX-License-Identifier: Apache-2.0 */
#include "probe.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the outputs say. A result that fits no words is given as bits. */

struct reader {
    const struct probe_table *t;
    const struct probe_line *line;
    const struct tensor *out;
    struct case_reading *r;
};

static uint32_t out_of(const struct reader *x, int k)
{
    return (uint32_t)tensor_bits(x->out, x->line->first + k);
}

static void words(const struct reader *x, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void words(const struct reader *x, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(x->r->words, sizeof x->r->words, format, ap);
    va_end(ap);
}

static void prove(const struct reader *x, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void prove(const struct reader *x, const char *format, ...)
{
    size_t used = strlen(x->r->proof);
    va_list ap;
    va_start(ap, format);
    vsnprintf(x->r->proof + used, sizeof x->r->proof - used, format, ap);
    va_end(ap);
}

/* --- evidence --------------------------------------------------------------------------------
 */

static void prove_scalar(const struct reader *x, const struct probe_try *try)
{
    int arity = x->t->unit == PROBE_ATOMIC ? 2 : probe_op_arity(try->op);
    prove(x, "%s", x->t->unit == PROBE_ATOMIC ? "add" : probe_op_name(try->op));
    for (int k = 0; k < arity; k++)
        prove(x, "%s%08x", k ? ", " : " of ", (unsigned)try->in[k]);
}

static bool plain_zero(const struct probe_try *try, int k)
{
    return (uint32_t)(try->a[k] << 1) == 0 || try->a[k] == 0x8000;
}

/* The products that are not 0 times 1; more than four are not shown. */
static void prove_matrix(const struct reader *x, const struct probe_try *try)
{
    int digits = dtype_info(probe_operand(x->t->unit))->bytes * 2, shown = 0;
    prove(x, "C %0*x", dtype_info(probe_sum(x->t->unit))->bytes * 2, (unsigned)try->c);
    for (int k = 0; k < PROBE_DEPTH; k++)
        if (!plain_zero(try, k) && shown++ < 4)
            prove(x, " + %0*x * %0*x", digits, (unsigned)try->a[k], digits,
                  (unsigned)try->b[k]);
    if (shown > 4)
        prove(x, " + ...");
}

static void prove_try(const struct reader *x, int k)
{
    const struct probe_try *try = &x->t->try[x->line->first + k];
    prove(x, "%s", *x->r->proof ? "; " : "");
    if (probe_is_matrix(x->t->unit))
        prove_matrix(x, try);
    else
        prove_scalar(x, try);
    prove(x, " = %08x", (unsigned)out_of(x, k));
}

/* --- the kinds of lines ----------------------------------------------------------------------
 */

static void read_words(const struct reader *x)
{
    char other[64] = "0x";
    for (int k = 0; k < x->line->count; k++) {
        prove_try(x, k);
        snprintf(other + strlen(other), sizeof other - strlen(other), "%s%x", k ? ", 0x" : "",
                 (unsigned)out_of(x, k));
    }
    for (int w = 0; w < x->line->words; w++) {
        int same = 0;
        for (int k = 0; k < x->line->count; k++)
            same += x->line->word[w].out[k] == out_of(x, k);
        if (same == x->line->count) {
            words(x, "%s", x->line->word[w].text);
            return;
        }
    }
    words(x, "%s", other);
}

static void read_sweep(const struct reader *x)
{
    int wrong = 0, first = 0;
    uint32_t worst = 0;
    for (int k = 0; k < x->line->count; k++) {
        const struct probe_try *try = &x->t->try[x->line->first + k];
        uint32_t exact = probe_op_exact(try->op, try->in), got = out_of(x, k);
        uint32_t off = exact > got ? exact - got : got - exact;
        worst = off > worst ? off : worst;
        if (off && !wrong++)
            first = k;
    }
    prove_try(x, first);
    if (!wrong) {
        words(x, "correctly rounded, %d of %d", x->line->count, x->line->count);
        return;
    }
    const struct probe_try *try = &x->t->try[x->line->first + first];
    prove(x, ", exact %08x", (unsigned)probe_op_exact(try->op, try->in));
    words(x, "not always to nearest: %d of %d off, by %u ulp at most", wrong, x->line->count,
          (unsigned)worst);
}

static void read_bits(const struct reader *x)
{
    int last = x->line->count - 1, j = last;
    while (j > 0 && out_of(x, j - 1) == out_of(x, last))
        j--;
    if (j == 0 || j == last) {
        prove_try(x, last);
        words(x, j ? "%d at least" : "none (%d tried)", last);
        return;
    }
    prove_try(x, j - 1);
    prove_try(x, j);
    words(x, "%d", j - 1);
}

/* How many terms met where the two of try k did; as summation_met in harness/. */
static int met(const struct reader *x, int k)
{
    double left = dtype_value(probe_sum(x->t->unit), out_of(x, k)) * 0x1p15;
    double period = 4 * PROBE_DEPTH;
    left = nearbyint(left);
    left -= floor(left / period) * period;
    return left <= PROBE_DEPTH - 2 ? PROBE_DEPTH - (int)left : -1;
}

/* Sizes of the groups in which terms 0, 1, 2, ... enter, if they come in ascending order. */
static void read_order(const struct reader *x)
{
    char text[80] = "";
    int so_far = 0, first = -1;
    bool equal = true, good = true;
    for (int j = 1; j < PROBE_DEPTH && good; j++) {
        int m = met(x, j - 1);
        good = m > j && m >= so_far && (m == so_far || j == so_far || so_far == 0);
        if (!good || m == so_far)
            continue;
        first = first < 0 ? m : first;
        equal = equal && m - so_far == first;
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", so_far ? "+" : "",
                 m - so_far);
        so_far = m;
    }
    for (int k = PROBE_DEPTH - 1; k < x->line->count && first == PROBE_DEPTH; k++)
        good = good && met(x, k) == PROBE_DEPTH;
    prove_try(x, 0);
    prove_try(x, PROBE_DEPTH - 2);
    if (!good)
        words(x, "in another than ascending order; probe --tree shows it");
    else if (equal)
        words(x, "%d, in ascending order", first);
    else if (first == 2 && text[1] == '+' && strspn(text + 1, "+1") == strlen(text + 1))
        words(x, "1, in ascending order");
    else
        words(x, "%s, in ascending order", text);
}

int probe_readings(const struct case_id *id, const struct tensor *out, int room,
                   struct case_reading *ret_reading)
{
    static void (*const read[])(const struct reader *) = {
        [PROBE_WORDS] = read_words,
        [PROBE_SWEEP] = read_sweep,
        [PROBE_BITS] = read_bits,
        [PROBE_ORDER] = read_order,
    };
    struct probe_table *t = probe_table_make(probe_unit_of(id));
    int count = t && out->count >= t->tries ? t->lines : 0;
    count = count < room ? count : room;
    for (int i = 0; i < count; i++) {
        struct reader x = {t, &t->line[i], out, &ret_reading[i]};
        *x.r = (struct case_reading){.cause = x.line->cause};
        snprintf(x.r->name, sizeof x.r->name, "%s", x.line->name);
        read[x.line->kind](&x);
    }
    free(t);
    return count;
}
