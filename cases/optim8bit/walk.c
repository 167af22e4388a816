/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool walk_has(enum rule r, int number)
{
    return number == WALK_M || (number == WALK_SLOW ? step_has_slow(r) : step_has_v(r));
}

/* Squares only: no rule makes them negative. */
bool walk_is_square(enum rule r, int number)
{
    return number == WALK_V || (number == WALK_M && (r == RULE_RMSPROP || r == RULE_ADAGRAD));
}

int walk_find(const struct case_plan *p, const char *name)
{
    for (int i = 0; i < p->n_tensor; i++)
        if (!strcmp(p->tensor[i].name, name))
            return i;
    return -1;
}

/* --- one block of one 8-bit step -------------------------------------------------------------
 */

struct books books_make(void)
{
    struct books b;
    book_make(BOOK_DYNAMIC, &b.of[WALK_M]);
    b.of[WALK_SLOW] = b.of[WALK_M];
    book_make(BOOK_UDYNAMIC, &b.of[WALK_V]);
    return b;
}

static void block_maximum(const float *x, float *ret_most, float *ret_second)
{
    *ret_most = *ret_second = -FLT_MAX;
    for (int i = 0; i < WALK_SIZE; i++) {
        float v = fabsf(x[i]);
        if (v > *ret_most) {
            *ret_second = *ret_most;
            *ret_most = v;
        } else if (v > *ret_second)
            *ret_second = v;
    }
}

uint8_t walk_code_signed(const struct book *b, int place, float x, bool has_sign)
{
    int c = place;
    if (has_sign && signbit(b->value[place]) != signbit(x))
        c += x > 0 ? 1 : -1;
    return (uint8_t)c;
}

static uint8_t code_of(const struct step *s, const struct book *b, float x, float most,
                       int number)
{
    float y = flushed(&s->freedom, flushed(&s->freedom, x) / flushed(&s->freedom, most));
    return walk_code_signed(b, book_place(b, y), x, number != WALK_V);
}

/* p and g have WALK_SIZE elements; those behind the block's `count` are zeros, with the codes
 * of lanes that do not exist. */
static void block_step(const struct step *s, const struct books *b, const struct block *old,
                       int count, const struct range *p, const float *g, struct block_result *r)
{
    for (int i = 0; i < WALK_SIZE; i++) {
        float x[WALK_NUMBERS] = {0};
        for (int k = 0; k < WALK_NUMBERS; k++) {
            int code = i < count ? old->code[k][i] : k == WALK_V ? 0 : 128;
            x[k] = flushed(&s->freedom, b->of[k].value[code] * old->most[k]);
        }
        for (int k = 0; k < WALK_NUMBERS; k++)
            r->old[k][i] = x[k];
        struct state before = {x[WALK_M], x[WALK_SLOW], x[WALK_V]};
        struct state after = step_state(s, (float)p[i].value, g[i], &before);
        r->number[WALK_M][i] = after.m;
        r->number[WALK_SLOW][i] = after.slow;
        r->number[WALK_V][i] = after.v;
        r->p[i] = step_param(s, &p[i], g[i], &before, &after);
    }
    for (int k = 0; k < WALK_NUMBERS; k++) {
        block_maximum(r->number[k], &r->next.most[k], &r->second[k]);
        for (int i = 0; i < WALK_SIZE; i++)
            r->next.code[k][i] = code_of(s, &b->of[k], r->number[k][i], r->next.most[k], k);
    }
}

/* --- rows and blocks of a case ---------------------------------------------------------------
 */

int64_t walk_code_at(const struct walk *w, int64_t row, int k, int64_t i)
{
    return k == WALK_V ? row * w->n + i : (row * w->planes + k) * w->n + i;
}

int64_t walk_scale_at(const struct walk *w, int64_t row, int k, int64_t block)
{
    return k == WALK_V ? row * w->blocks + block : (row * w->planes + k) * w->blocks + block;
}

static void block_load(const struct walk *w, int64_t row, int64_t block, int count,
                       struct block *ret)
{
    memset(ret, 0, sizeof *ret);
    for (int k = 0; k < WALK_NUMBERS; k++) {
        const struct tensor *code = k == WALK_V ? w->code2 : w->code1;
        const struct tensor *scale = k == WALK_V ? w->absmax2 : w->absmax1;
        if (!walk_has(w->s.rule, k) || !code || !scale)
            continue;
        ret->most[k] = (float)tensor_value(scale, walk_scale_at(w, row, k, block));
        for (int i = 0; i < count; i++)
            ret->code[k][i] =
                (uint8_t)tensor_bits(code, walk_code_at(w, row, k, block * WALK_SIZE + i));
    }
}

/* The same elements with states in f32, beside a run. */
struct shadow {
    double p[WALK_SIZE];
    struct state state[WALK_SIZE];
};

static void shadow_step(const struct walk *w, int64_t row, int count, const float *g,
                        struct shadow *h, struct block_result *r)
{
    struct step s = w->s;
    s.wide = true;
    for (int i = 0; i < count; i++) {
        struct range p = {h->p[i], h->p[i], h->p[i], 0};
        struct state old = h->state[i];
        h->state[i] = step_state(&s, (float)h->p[i], g[i], &old);
        h->p[i] = step_param(&s, &p, g[i], &old, &h->state[i]).value;
        r->effect[i] = row ? fabs(r->p[i].value - h->p[i]) : r->p[i].move;
    }
}

/* Without states of their own the rows are one run: each starts with what the last one left. */
static void walk_block(struct walk *w, int64_t block, struct block_result *r)
{
    struct block state = {0};
    struct range p[WALK_SIZE] = {0};
    struct shadow shadow = {0};
    int count =
        (int)(w->n - block * WALK_SIZE < WALK_SIZE ? w->n - block * WALK_SIZE : WALK_SIZE);
    for (int64_t row = w->row.from; row < w->row.to; row++) {
        float g[WALK_SIZE] = {0};
        if (w->code1)
            block_load(w, row, block, count, &state);
        for (int i = 0; i < count; i++) {
            int64_t at = row * w->n + block * WALK_SIZE + i;
            g[i] = (float)tensor_value(w->g, at);
            if (at < w->p->count) {
                double x = tensor_value(w->p, at);
                p[i] = (struct range){x, x, x, 0};
                shadow.p[i] = x;
            }
        }
        step_at(&w->s, w->id->value[P_STEP].i + row);
        block_step(&w->s, &w->b, &state, count, p, g, r);
        if (trait_of(w->id)->group == GROUP_RUN8)
            shadow_step(w, row, count, g, &shadow, r);
        w->take(w, row, block, count, r);
        state = r->next;
        memcpy(p, r->p, sizeof p);
    }
}

struct walk walk_make(const struct case_id *id, const struct case_plan *plan)
{
    struct walk w = {.id = id, .plan = plan, .s = step_make(id), .b = books_make()};
    w.n = id->value[P_N].i;
    w.rows = id->value[P_STEPS].i;
    w.blocks = (w.n + WALK_SIZE - 1) / WALK_SIZE;
    w.planes = step_has_slow(w.s.rule) ? 2 : 1;
    w.row.to = w.rows;
    w.block.to = w.blocks;
    return w;
}

enum err walk_all(struct walk *w, struct errinfo *e)
{
    struct block_result *r = malloc(sizeof *r);
    if (!r)
        return err_set(e, ERR_NOMEM, "no memory for the reference of an optimizer");
    for (int64_t block = w->block.from; block < w->block.to; block++)
        walk_block(w, block, r);
    free(r);
    return ERR_OK;
}
