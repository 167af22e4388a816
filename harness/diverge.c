/* SPDX-License-Identifier: Apache-2.0 */
#include "diverge.h"

#include <string.h>

enum { STEPS_MAX = 1000000 };

/* --- values ----------------------------------------------------------------------------------
 */

static uint64_t sign_of(int bits)
{
    return UINT64_C(1) << (bits - 1);
}

int diverge_operand_bits(const struct op_event *a, const struct op_event *b, int bits)
{
    if (strcmp(a->name, "cvt") || strcmp(b->name, "cvt"))
        return bits;
    return a->operand[0] >> 32 || b->operand[0] >> 32   ? 64
           : bits == 16                                 ? 32
           : a->operand[0] >> 16 || b->operand[0] >> 16 ? 32
                                                        : 16;
}

/* --- operations in one form ------------------------------------------------------------------
 */

/* sub and a product by one are additions. */
struct form {
    enum { FORM_ADD, FORM_MUL, FORM_FMA, FORM_OTHER } kind;
    const struct op_event *event;
    int64_t at; /* place in the trace */
    int n;
    uint64_t v[3]; /* FMA: v[0] v[1] + v[2] */
};

static bool is_one(uint64_t x, int bits)
{
    return bits == 32 ? x == 0x3f800000 : bits == 64 ? x == 0x3ff0000000000000 : x == 0x3c00;
}

static struct form form_of(const struct optrace *t, int64_t at)
{
    const struct op_event *x = &t->event[at];
    struct form f = {.kind = FORM_OTHER, .event = x, .at = at, .n = x->n};
    uint64_t sign = sign_of(x->bits);
    memcpy(f.v, x->operand, sizeof f.v);
    if (!strcmp(x->name, "subrev")) {
        f.v[0] = x->operand[1];
        f.v[1] = x->operand[0] ^ sign;
        f.kind = FORM_ADD;
    } else if (!strcmp(x->name, "sub")) {
        f.v[1] ^= sign;
        f.kind = FORM_ADD;
    } else if (!strcmp(x->name, "add")) {
        f.kind = FORM_ADD;
    } else if (!strcmp(x->name, "mul")) {
        f.kind = FORM_MUL;
    } else if (!strcmp(x->name, "fma")) {
        f.kind = FORM_FMA;
    }
    for (int k = 0; k < 2 && f.kind == FORM_FMA; k++)
        if (is_one(f.v[k] & ~sign, x->bits)) {
            uint64_t flip = f.v[k] & sign;
            f = (struct form){FORM_ADD, x, at, 2, {f.v[1 - k] ^ flip, x->operand[2], 0}};
        }
    return f;
}

/* A product by one moves a value, and so does AMD's scaling where it scales by nothing. */
static bool only_moves(const struct op_event *x)
{
    uint64_t sign = sign_of(x->bits);
    if (!strcmp(x->name, "div_scale") || !strncmp(x->name, "ldexp", 5))
        return x->result == x->operand[0];
    return !strcmp(x->name, "mul") &&
           (is_one(x->operand[0] & ~sign, x->bits) || is_one(x->operand[1] & ~sign, x->bits));
}

static int64_t producer_of(const struct optrace *t, int64_t before, uint64_t value, int bits,
                           int64_t thread)
{
    uint64_t sign = sign_of(bits);
    for (int64_t i = before - 1; i >= 0; i--) {
        const struct op_event *x = &t->event[i];
        if (thread >= 0 ? x->thread != thread : !strcmp(x->name, "load"))
            continue;
        bool wider = !strcmp(x->name, "load") && x->bits > bits; /* a word with two halves */
        uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
        if ((x->bits != bits && !wider) || only_moves(x))
            continue;
        if (((x->result ^ value) & mask & ~sign) == 0 ||
            (wider && ((x->result >> 16 ^ value) & mask & ~sign) == 0))
            return i;
    }
    return -1;
}

/* The operation before `before` that made the value, of either sign; -1. What a thread has not
 * made itself it has from another one of its block, through shared memory or from lane to lane.
 */
static int64_t producer(const struct optrace *t, int64_t before, uint64_t value, int bits)
{
    uint32_t thread = before < t->count ? t->event[before].thread : t->thread;
    int64_t own = producer_of(t, before, value, bits, thread);
    if (!t->whole_block || (own >= 0 && strcmp(t->event[own].name, "load")))
        return own;
    int64_t other = producer_of(t, before, value, bits, -1);
    return other >= 0 ? other : own;
}

/* --- how two operations differ ---------------------------------------------------------------
 */

static bool same_pair(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return (a == c && b == d) || (a == d && b == c);
}

/* Puts b's exchangeable operands where they fit a's best. */
static void align(const struct form *a, struct form *b)
{
    bool swap = a->kind != FORM_OTHER && b->n >= 2 &&
                (a->v[0] == b->v[1]) + (a->v[1] == b->v[0]) >
                    (a->v[0] == b->v[0]) + (a->v[1] == b->v[1]);
    if (swap) {
        uint64_t t = b->v[0];
        b->v[0] = b->v[1];
        b->v[1] = t;
    }
}

/* The product of these magnitudes that was rounded on its own, and is now `value`. */
static const struct op_event *product_of(const struct optrace *t, int64_t before,
                                         uint64_t value, uint64_t x, uint64_t y, int bits)
{
    uint64_t sign = sign_of(bits);
    int64_t at = producer(t, before, value, bits);
    if (at < 0)
        return NULL;
    struct form f = form_of(t, at);
    return f.kind == FORM_MUL && same_pair(f.v[0] & ~sign, f.v[1] & ~sign, x & ~sign, y & ~sign)
               ? f.event
               : NULL;
}

struct step {
    enum { STEP_END, STEP_ON } what;
    uint64_t a, b; /* STEP_ON: the values to go on with */
};

/* fma on one side, an addition on the other: is its term the rounded product? */
static bool fused_against_sum(const struct optrace *t, const struct form *fma,
                              const struct form *sum, const struct op_event **ret_product,
                              uint64_t *ret_term)
{
    for (int k = 0; k < 2; k++) {
        *ret_product =
            product_of(t, sum->at, sum->v[k], fma->v[0], fma->v[1], sum->event->bits);
        *ret_term = sum->v[1 - k];
        if (*ret_product)
            return true;
    }
    return false;
}

static struct step end(struct diverge *d, enum diverge_kind kind)
{
    d->kind = kind;
    return (struct step){STEP_END, 0, 0};
}

static struct step fused_step(const struct optrace *ta, const struct form *a,
                              const struct optrace *tb, const struct form *b, struct diverge *d)
{
    uint64_t term;
    bool a_fused = a->kind == FORM_FMA;
    if (!fused_against_sum(a_fused ? tb : ta, a_fused ? a : b, a_fused ? b : a, &d->product,
                           &term))
        return end(d, DIVERGE_OPERATION);
    d->product_on_a = !a_fused;
    uint64_t other = a_fused ? a->v[2] : b->v[2];
    if (term == other)
        return end(d, DIVERGE_CONTRACTION);
    return (struct step){STEP_ON, a_fused ? other : term, a_fused ? term : other};
}

/* Was the value computed by this thread? A conversion's operand may have another width. */
static bool is_made(const struct optrace *t, int64_t before, uint64_t value, int bits)
{
    int64_t at = producer(t, before, value, bits);
    return at >= 0 && strcmp(t->event[at].name, "load");
}

/* Back along the operand that both sides have computed, if it is one only; of functions and
 * products, whose operands have places of their own, along the first; of sums with several, too,
 * but for trial (`ret_fork`). Where what they loaded differs, this operation is the first to
 * meet it. */
static int computed_operand(const struct optrace *ta, const struct form *a,
                            const struct optrace *tb, const struct form *b, bool *ret_fork)
{
    int first = -1, n = 0, bits = diverge_operand_bits(a->event, b->event, a->event->bits);
    for (int k = 0; k < a->n; k++) {
        if (a->v[k] == b->v[k] || !is_made(ta, a->at, a->v[k], bits) ||
            !is_made(tb, b->at, b->v[k], bits))
            continue;
        first = first < 0 ? k : first;
        n++;
    }
    *ret_fork = n > 1 && a->kind != FORM_OTHER && a->kind != FORM_MUL;
    return first;
}

static struct step same_step(const struct optrace *ta, const struct form *a,
                             const struct optrace *tb, struct form *b, struct diverge *d,
                             bool *ret_fork)
{
    int unequal = 0;
    align(a, b);
    for (int k = 0; k < a->n; k++)
        unequal += a->v[k] != b->v[k];
    if (!unequal)
        return end(d, DIVERGE_UNIT);
    int bits = a->event->bits;
    if (unequal > 1 && a->kind == FORM_FMA &&
        product_of(ta, a->at, a->v[2], b->v[0], b->v[1], bits) &&
        product_of(tb, b->at, b->v[2], a->v[0], a->v[1], bits))
        return end(d, DIVERGE_PRODUCT);
    int which = computed_operand(ta, a, tb, b, ret_fork);
    return which < 0 ? end(d, DIVERGE_OPERANDS)
                     : (struct step){STEP_ON, a->v[which], b->v[which]};
}

/* Does the operation take the other side's value, and do something more to it? Zero, one and
 * infinity may be there by chance. */
static bool goes_on(const struct op_event *x, uint64_t value, int bits)
{
    uint64_t sign = sign_of(bits), magnitude = value & ~sign;
    uint64_t fraction = bits == 64 ? 52 : bits == 16 ? 10 : 23;
    bool plain = !(magnitude & ((UINT64_C(1) << fraction) - 1));
    for (int k = 0; k < x->n && !plain && x->bits == bits && strcmp(x->name, "cvt"); k++)
        if ((x->operand[k] & ~sign) == magnitude)
            return true;
    return false;
}

static struct step step_back(const struct optrace *ta, int64_t *at_a, const struct optrace *tb,
                             int64_t *at_b, struct diverge *d, bool *ret_fork)
{
    int64_t a = producer(ta, *at_a, d->value_a, d->bits),
            b = producer(tb, *at_b, d->value_b, d->bits);
    d->a = a < 0 ? NULL : &ta->event[a];
    d->b = b < 0 ? NULL : &tb->event[b];
    if (!d->a || !d->b)
        return end(d, DIVERGE_UNKNOWN);
    *at_a = a;
    *at_b = b;
    if (!strcmp(d->a->name, "load") || !strcmp(d->b->name, "load"))
        return end(d, DIVERGE_MEMORY);
    struct form fa = form_of(ta, a), fb = form_of(tb, b);
    bool sums = fa.kind != FORM_OTHER && fb.kind != FORM_OTHER;
    d->more_on_a = goes_on(d->a, d->value_b, d->bits);
    if (d->more_on_a != goes_on(d->b, d->value_a, d->bits))
        return end(d, DIVERGE_MORE);
    if (fa.kind == fb.kind && fa.n == fb.n && (sums || !strcmp(d->a->name, d->b->name)))
        return fa.n ? same_step(ta, &fa, tb, &fb, d, ret_fork) : end(d, DIVERGE_MATRIX);
    if (sums && fa.kind != FORM_MUL && fb.kind != FORM_MUL)
        return fused_step(ta, &fa, tb, &fb, d);
    return end(d, DIVERGE_OPERATION);
}

void diverge_find(const struct optrace *a, const struct optrace *b, struct diverge *ret_diverge)
{
    struct diverge d = {.value_a = a->value, .value_b = b->value, .bits = a->bits};
    int64_t at_a = a->count, at_b = b->count;
    if (a->value == b->value && a->bits == b->bits) {
        *ret_diverge = d;
        return;
    }
    struct step s = {STEP_ON, a->value, b->value};
    struct diverge fork = {.kind = DIVERGE_NOWHERE};
    while (s.what == STEP_ON && d.steps < STEPS_MAX) {
        bool forks = false;
        d.value_a = s.a;
        d.value_b = s.b;
        s = step_back(a, &at_a, b, &at_b, &d, &forks);
        d.steps++;
        if (s.what == STEP_ON && forks && fork.kind == DIVERGE_NOWHERE) {
            fork = d;
            fork.kind = DIVERGE_OPERANDS;
        }
        if (s.what == STEP_ON)
            d.bits = diverge_operand_bits(d.a, d.b, d.bits);
    }
    bool certain = d.kind == DIVERGE_UNIT || d.kind == DIVERGE_CONTRACTION ||
                   d.kind == DIVERGE_PRODUCT || d.kind == DIVERGE_MATRIX;
    *ret_diverge = fork.kind == DIVERGE_NOWHERE || certain ? d : fork;
}
