/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include <math.h>
#include <string.h>

/* Inputs of optimizers. */

static void fill_rates(const struct case_id *id, struct tensor *t)
{
    struct step s = step_make(id);
    float *rate = t->data;
    for (int64_t row = 0; row < t->dim[0]; row++) {
        step_at(&s, id->value[P_STEP].i + row);
        const float all[] = {s.c1, s.c2, s.size, s.floor};
        memcpy(rate + 4 * row, all, sizeof all);
    }
}

/* Random codes of squares are of the signed book's upper half. */
static void fill_squares(const struct case_id *id, struct case_span span, struct tensor *t)
{
    struct rng_key key = rng_key_make(id->seed, "optim8bit/squares");
    for (int64_t i = span.from; i < span.to; i++)
        tensor_set_bits(t, i, 127 + rng_bits(key, (uint64_t)i, 0) % 129);
}

/* Normal, and of four blocks one with a NaN, one with an Inf, one with a zero of each sign and
 * the smallest subnormals: most blocks keep a scale that says something. */
static void fill_special(const struct case_id *id, struct case_span span, struct tensor *t)
{
    struct rng_key key = rng_key_make(id->seed, "optim8bit/special");
    const double small = dtype_min_subnormal(t->dtype);
    const double of[4][4] = {
        {0, -0.0, small, -small}, {(double)NAN, 1, 0, -1}, {-INFINITY, 1, 0, -1}, {1, 2, 3, 4}};
    for (int64_t i = span.from; i < span.to; i++) {
        int64_t in = i % t->dim[1], block = in / WALK_SIZE, at = in % WALK_SIZE;
        bool here = at >= 17 && at < 21;
        uint64_t bits = dtype_round(t->dtype, of[block % 4][here ? at - 17 : 0]);
        tensor_set_bits(t, i,
                        here ? bits : fill_bits(key, DIST_NORMAL, t->dtype, t->dim[1], i));
    }
}

/* A state on its way: row r of `t` holds what r steps from nothing leave. */
struct trail {
    struct tensor *t;
    bool codes, second; /* of code1 and absmax1, or of code2 and absmax2 */
};

static void trail_take(struct walk *w, int64_t row, int64_t block, int count,
                       const struct block_result *r)
{
    const struct trail *trail = w->context;
    if (row + 1 == w->rows)
        return;
    for (int k = trail->second ? WALK_V : WALK_M; k <= (trail->second ? WALK_V : WALK_SLOW);
         k++) {
        if (!walk_has(w->s.rule, k))
            continue;
        if (!trail->codes) {
            float *scale = trail->t->data;
            scale[walk_scale_at(w, row + 1, k, block)] = r->next.most[k];
        }
        for (int i = 0; i < count && trail->codes; i++)
            tensor_set_bits(trail->t, walk_code_at(w, row + 1, k, block * WALK_SIZE + i),
                            r->next.code[k][i]);
    }
}

static void fill_trail(const struct case_id *id, const struct case_plan *plan, struct tensor *t,
                       bool codes, bool second)
{
    struct errinfo e;
    struct tensor p = {0}, g = {0};
    struct walk w = walk_make(id, plan);
    struct trail trail = {t, codes, second};
    w.s.freedom = (struct freedom){.exact = true};
    w.take = trail_take;
    w.context = &trail;
    if (!case_input(id, plan, walk_find(plan, "p"), &p, &e) &&
        !case_input(id, plan, walk_find(plan, "g"), &g, &e)) {
        w.p = &p;
        w.g = &g;
        walk_all(&w, &e);
    }
    tensor_release(&p);
    tensor_release(&g);
}

bool optimizer_fill(const struct case_id *id, const struct case_plan *plan, int i,
                  struct case_span span, struct tensor *t)
{
    struct books b = books_make();
    const char *name = plan->tensor[i].name;
    bool codes = !strncmp(name, "code", 4), scales = !strncmp(name, "absmax", 6);
    if (!strcmp(name, "rate"))
        fill_rates(id, t);
    else if (!strcmp(name, "book1"))
        book_table(&b.of[WALK_M], t->data);
    else if (!strcmp(name, "book2"))
        book_table(&b.of[WALK_V], t->data);
    else if ((codes || scales) && id->value[P_STEPS].i > 1)
        fill_trail(id, plan, t, codes, strchr(name, '2') != NULL);
    else if (!strcmp(name, "g") && id->dist == DIST_SPECIAL)
        fill_special(id, span, t);
    else if (!strcmp(name, "code1") && walk_is_square(trait_of(id)->rule, WALK_M))
        fill_squares(id, span, t);
    else
        return false;
    return true;
}
