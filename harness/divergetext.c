/* SPDX-License-Identifier: Apache-2.0 */
#include "divergetext.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- values ----------------------------------------------------------------------------------
 */

static bool is_named(const struct op_event *x, const char *name)
{
    return x && !strncmp(x->name, name, strlen(name));
}

static double number(uint64_t bits, int width)
{
    return dtype_value(width == 64 ? DTYPE_F64 : width == 16 ? DTYPE_F16 : DTYPE_F32, bits);
}

static void value_print(uint64_t bits, int width, char *text, size_t size)
{
    snprintf(text, size, "0x%0*" PRIx64 " (%.9g)", width / 4, bits, number(bits, width));
}

void divergetext_print(const struct op_event *x, char *ret_text, size_t size)
{
    char value[64];
    size_t used = (size_t)snprintf(ret_text, size, "%s", x->name);
    for (int k = 0; k < x->n && used < size; k++) {
        /* A conversion takes another width than it gives. */
        int wide = strcmp(x->name, "cvt") ? x->bits : diverge_operand_bits(x, x, x->bits);
        value_print(x->operand[k], wide, value, sizeof value);
        if (k == 1 && is_named(x, "ldexp"))
            snprintf(value, sizeof value, "%d", (int)x->operand[k]);
        used += (size_t)snprintf(ret_text + used, size - used, " %s", value);
    }
    value_print(x->result, x->bits, value, sizeof value);
    if (used < size)
        snprintf(ret_text + used, size - used, " = %s", value);
}

/* --- what an operation is --------------------------------------------------------------------
 */

/* Made by this thread, not loaded. */
static const struct op_event *made(const struct optrace *t, const struct op_event *x, int k)
{
    uint64_t sign = UINT64_C(1) << (x->bits - 1);
    for (const struct op_event *y = x - 1; y >= t->event; y--)
        if (y->thread == x->thread && y->bits == x->bits && !is_named(y, "load") &&
            ((y->result ^ x->operand[k]) & ~sign) == 0)
            return y;
    return NULL;
}

static bool is_power(uint64_t bits, int width)
{
    int exponent;
    double v = fabs(number(bits, width));
    return isfinite(v) && v != 0 && frexp(v, &exponent) == 0.5;
}

/* The operand that a scaling by a power of two scales; -1. */
static int scaled_operand(const struct op_event *x)
{
    if (is_named(x, "ldexp"))
        return 0;
    if (!is_named(x, "mul") || x->n != 2)
        return -1;
    return is_power(x->operand[1], x->bits) ? 0 : is_power(x->operand[0], x->bits) ? 1 : -1;
}

static bool is_reciprocal(const struct op_event *x)
{
    return is_named(x, "rcp") || (is_named(x, "div") && x->n == 2 && number(x->operand[0], x->bits) == 1);
}

const struct op_event *divergetext_before(const struct optrace *t, const struct op_event *x)
{
    int k = x ? scaled_operand(x) : -1;
    if (k >= 0)
        return made(t, x, k);
    for (k = 0; is_named(x, "mul") && k < x->n; k++)
        if (is_reciprocal(made(t, x, k)))
            return made(t, x, k);
    return NULL;
}

static const struct {
    const char *name, *words;
} kinds[] = {
    {"fma", "a product and a sum rounded once"},
    {"add", "a sum"},
    {"sub", "a sum"},
    {"mul", "a product"},
    {"div", "a division"},
    {"rcp", "the reciprocal unit"},
    {"sqrt", "a square root"},
    {"rsqrt", "the reciprocal square root unit"},
    {"exp2", "the exp2 unit"},
    {"log2", "the log2 unit"},
    {"sin", "the sine unit"},
    {"cos", "the cosine unit"},
    {"min", "a minimum"},
    {"max", "a maximum"},
    {"cvt", "a conversion"},
    {"mma", "the matrix unit"},
};

static const char *kind_words(const struct op_event *x)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(x->name, kinds[i].name))
            return kinds[i].words;
    return x->name;
}

/* "a product with a reciprocal", "the exp2 unit, scaled by a power of two". */
static void describe(const struct optrace *t, const struct op_event *x, char *text, size_t size)
{
    const struct op_event *y = divergetext_before(t, x);
    bool scales = scaled_operand(x) >= 0;
    if (y && scales)
        snprintf(text, size, "%s, scaled by a power of two", kind_words(y));
    else if (y)
        snprintf(text, size, "a product with a reciprocal");
    else
        snprintf(text, size, "%s", scales ? "a scaling by a power of two" : kind_words(x));
}

/* --- the sentence ----------------------------------------------------------------------------
 */

static const char *const words[] = {
    [DIVERGE_NOWHERE] = "both store the same",
    [DIVERGE_CONTRACTION] = "contraction: one side rounds the product before it adds, the "
                            "other rounds once",
    [DIVERGE_PRODUCT] = "contraction: of two products each side joins another one with the "
                        "addition",
    [DIVERGE_UNIT] =
        "the same operation on the same operands gives another result: the units "
        "differ (an approximation, a rounding or flushing)",
    [DIVERGE_OPERANDS] =
        "the same operation on other operands: another order, or other terms",
    [DIVERGE_MORE] = "one operation more on that side",
    [DIVERGE_OPERATION] = "other operations lead to this value",
    [DIVERGE_MATRIX] =
        "each vendor's matrix unit adds its products in groups and with cuts of its "
        "own",
    [DIVERGE_MEMORY] =
        "the value was loaded: from another place, or it differs already in memory "
        "(another thread or an earlier launch made it)",
    [DIVERGE_UNKNOWN] = "the value was not made by traced arithmetic (integer or bit "
                        "operations)",
};

void divergetext_kind(enum diverge_kind k, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "%s", words[k]);
}

void divergetext_meaning(const struct optrace *a, const struct optrace *b,
                         const struct diverge *d, char *ret_text, size_t size)
{
    char of_a[120], of_b[120];
    if (d->kind == DIVERGE_MORE) {
        describe(d->more_on_a ? a : b, d->more_on_a ? d->a : d->b, of_a, sizeof of_a);
        snprintf(ret_text, size,
                 "%c does one operation more: %s on the value that %c has already",
                 d->more_on_a ? 'A' : 'B', of_a, d->more_on_a ? 'B' : 'A');
    } else if (d->kind == DIVERGE_OPERATION) {
        describe(a, d->a, of_a, sizeof of_a);
        describe(b, d->b, of_b, sizeof of_b);
        snprintf(ret_text, size, "%s: A's comes from %s, B's from %s", words[d->kind], of_a,
                 of_b);
    } else {
        snprintf(ret_text, size, "%s", words[d->kind]);
    }
}
