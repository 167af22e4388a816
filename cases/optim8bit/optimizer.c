/* SPDX-License-Identifier: Apache-2.0 */
#include "step.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Optimizer kernels. The numbers of a state are called m, slow and v; in 8-bit kernels m and
 * slow are the planes of code1 with the signed book, v is code2 with the unsigned one. */

enum { SIZE = 256 };
enum { M, SLOW, V, NUMBERS };

static int find(const struct case_plan *p, const char *name)
{
    for (int i = 0; i < p->n_tensor; i++)
        if (!strcmp(p->tensor[i].name, name))
            return i;
    return -1;
}

static bool rule_has(enum rule r, int number)
{
    return number == M || (number == SLOW ? step_has_slow(r) : step_has_v(r));
}

/* Squares only: no rule makes them negative. */
static bool is_square(enum rule r, int number)
{
    return number == V || (number == M && (r == RULE_RMSPROP || r == RULE_ADAGRAD));
}

/* --- plan ------------------------------------------------------------------------------------
 */

static void push_scalars(struct case_launch *l, const struct step *s)
{
    const float all[] = {s->beta1, s->beta2, s->beta3, s->alpha,
                         s->eps,   s->lr,    s->wd,    s->gnorm};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        push_f32(l, all[i]);
}

static enum err optimizer_check(const struct case_id *id, struct errinfo *e)
{
    enum group group = trait_of(id)->group;
    int64_t n = id->value[P_N].i, rows = id->value[P_STEPS].i;
    const struct case_mode *m = &id->mode;
    if (group == GROUP_STEP8 && trait_of(id)->rule == RULE_ADEMAMIX && n % SIZE)
        return err_set(
            e, ERR_USAGE,
            "n=%lld: the planes of ademamix8 share a scale unless n is a multiple of "
            "%d",
            (long long)n, SIZE);
    if (group == GROUP_RUN8 && !freedom_of(m).exact)
        return err_set(
            e, ERR_USAGE,
            "adam8run has no reference in a mode with fast division: a code may flip "
            "and the run goes another way; judge single steps with adam8:steps=%lld",
            (long long)rows);
    if (n * rows > 1 << 27)
        return err_set(e, ERR_USAGE, "n=%lld,steps=%lld: more than 2^27 elements", (long long)n,
                       (long long)rows);
    return ERR_OK;
}

static void plan_states32(const struct case_id *id, struct case_plan *p)
{
    static const char *const names[] = {"m", "slow", "v"};
    enum rule rule = trait_of(id)->rule;
    int64_t n = id->value[P_N].i;
    for (int k = 0; k < NUMBERS; k++)
        if (rule_has(rule, k))
            plan_tensor(p, names[k], TENSOR_INOUT, DTYPE_F32, 1, &n,
                        is_square(rule, k) ? DIST_POSITIVE : DIST_NORMAL);
}

static void plan_states8(const struct case_id *id, struct case_plan *p)
{
    enum rule rule = trait_of(id)->rule;
    bool run = trait_of(id)->group == GROUP_RUN8;
    enum tensor_role role = run ? TENSOR_OUT : TENSOR_INOUT;
    int64_t rows = id->value[P_STEPS].i, n = id->value[P_N].i, blocks = (n + SIZE - 1) / SIZE;
    int64_t planes = step_has_slow(rule) ? 2 : 1, book = 256;
    const int64_t codes1[] = {rows, planes * n}, scales1[] = {rows, planes * blocks};
    const int64_t codes2[] = {rows, n}, scales2[] = {rows, blocks};
    enum dist scales = id->dist == DIST_ONEHOT ? DIST_ZERO : DIST_POSITIVE;
    plan_tensor(p, "code1", role, DTYPE_CODE8, 2, codes1, DIST_UNIFORM);
    plan_tensor(p, "absmax1", role, DTYPE_F32, 2, scales1, scales);
    if (step_has_v(rule)) {
        plan_tensor(p, "code2", role, DTYPE_CODE8, 2, codes2, DIST_UNIFORM);
        plan_tensor(p, "absmax2", role, DTYPE_F32, 2, scales2, scales);
    }
    plan_tensor(p, "book1", TENSOR_IN, DTYPE_F32, 1, &book, DIST_ZERO);
    if (step_has_v(rule))
        plan_tensor(p, "book2", TENSOR_IN, DTYPE_F32, 1, &book, DIST_ZERO);
}

enum err optimizer_plan(const struct case_id *id, struct case_plan *p, struct errinfo *e)
{
    char entry[64];
    struct step s = step_make(id);
    enum group group = trait_of(id)->group;
    int64_t n = id->value[P_N].i, rows = id->value[P_STEPS].i, one = 1;
    const int64_t matrix[] = {rows, n}, rates[] = {rows, 4};
    bool run = group == GROUP_RUN8;
    TRY(optimizer_check(id, e));
    plan_tensor(p, "p", run ? TENSOR_IN : TENSOR_INOUT, s.d, 2, matrix, DIST_NORMAL);
    plan_tensor(p, "g", TENSOR_IN, s.d, 2, matrix, id->dist);
    if (run) {
        p->tensor[0].dim[0] = one;
        plan_tensor(p, "p_at", TENSOR_OUT, s.d, 2, matrix, DIST_ZERO);
    }
    if (group == GROUP_STEP32)
        plan_states32(id, p);
    else
        plan_states8(id, p);
    plan_tensor(p, "rate", TENSOR_IN, DTYPE_F32, 2, rates, DIST_ZERO);

    snprintf(entry, sizeof entry, "%s_%s", id->variant->name, dtype_info(s.d)->name);
    struct case_launch *l = plan_launch(p, entry, (n + SIZE - 1) / SIZE, SIZE);
    l->grid[1] = run ? 1 : (uint32_t)rows;
    for (int i = 0; i < p->n_tensor; i++)
        push_tensor(l, i);
    push_i32(l, n);
    push_i32(l, id->value[P_STEP].i);
    if (run)
        push_i32(l, rows);
    push_scalars(l, &s);
    return ERR_OK;
}

/* --- one block of one 8-bit step -------------------------------------------------------------
 */

/* Codes and scales of a block, by number of the state. */
struct block {
    uint8_t code[NUMBERS][SIZE];
    float most[NUMBERS];
};

/* What became of it, element by element. */
struct block_result {
    struct block next;
    float number[NUMBERS][SIZE]; /* before quantization */
    float second[NUMBERS];       /* largest magnitude but one */
    struct range p[SIZE];
};

struct books {
    struct book of[NUMBERS];
};

static struct books books_make(void)
{
    struct books b;
    book_make(BOOK_DYNAMIC, &b.of[M]);
    b.of[SLOW] = b.of[M];
    book_make(BOOK_UDYNAMIC, &b.of[V]);
    return b;
}

static void block_maximum(const float *x, float *ret_most, float *ret_second)
{
    *ret_most = *ret_second = -FLT_MAX;
    for (int i = 0; i < SIZE; i++) {
        float v = fabsf(x[i]);
        if (v > *ret_most) {
            *ret_second = *ret_most;
            *ret_most = v;
        } else if (v > *ret_second)
            *ret_second = v;
    }
}

/* The sign rule of m and slow: the code moves towards x where their signs differ. */
static uint8_t code_signed(const struct book *b, int place, float x, bool has_sign)
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
    return code_signed(b, book_place(b, y), x, number != V);
}

/* p and g have SIZE elements; those behind the block's `count` are zeros, with the codes of
 * lanes that do not exist. */
static void block_step(const struct step *s, const struct books *b, const struct block *old,
                       int count, const struct range *p, const float *g, struct block_result *r)
{
    for (int i = 0; i < SIZE; i++) {
        float x[NUMBERS] = {0};
        for (int k = 0; k < NUMBERS; k++) {
            int code = i < count ? old->code[k][i] : k == V ? 0 : 128;
            x[k] = flushed(&s->freedom, b->of[k].value[code] * old->most[k]);
        }
        struct state before = {x[M], x[SLOW], x[V]};
        struct state after = step_state(s, (float)p[i].value, g[i], &before);
        r->number[M][i] = after.m;
        r->number[SLOW][i] = after.slow;
        r->number[V][i] = after.v;
        r->p[i] = step_param(s, &p[i], g[i], &before, &after);
    }
    for (int k = 0; k < NUMBERS; k++) {
        block_maximum(r->number[k], &r->next.most[k], &r->second[k]);
        for (int i = 0; i < SIZE; i++)
            r->next.code[k][i] = code_of(s, &b->of[k], r->number[k][i], r->next.most[k], k);
    }
}

/* --- rows and blocks of a case ---------------------------------------------------------------
 */

/* Calls `take` for every block, in order: rows of a block one after the other. */
struct walk {
    const struct case_id *id;
    const struct case_plan *plan;
    const struct tensor *p, *g;
    const struct tensor *code1, *absmax1, *code2, *absmax2; /* NULL: the state is carried on */
    struct step s;
    struct books b;
    int64_t n, rows, blocks, planes;
    void (*take)(struct walk *w, int64_t row, int64_t block, int count,
                 const struct block_result *r);
    void *context;
};

static int64_t code_at(const struct walk *w, int64_t row, int k, int64_t i)
{
    return k == V ? row * w->n + i : (row * w->planes + k) * w->n + i;
}

static int64_t scale_at(const struct walk *w, int64_t row, int k, int64_t block)
{
    return k == V ? row * w->blocks + block : (row * w->planes + k) * w->blocks + block;
}

static void block_load(const struct walk *w, int64_t row, int64_t block, int count,
                       struct block *ret)
{
    memset(ret, 0, sizeof *ret);
    for (int k = 0; k < NUMBERS; k++) {
        const struct tensor *code = k == V ? w->code2 : w->code1;
        const struct tensor *scale = k == V ? w->absmax2 : w->absmax1;
        if (!rule_has(w->s.rule, k) || !code || !scale)
            continue;
        ret->most[k] = (float)tensor_value(scale, scale_at(w, row, k, block));
        for (int i = 0; i < count; i++)
            ret->code[k][i] = (uint8_t)tensor_bits(code, code_at(w, row, k, block * SIZE + i));
    }
}

/* Without states of their own the rows are one run: each starts with what the last one left. */
static void walk_block(struct walk *w, int64_t block, struct block_result *r)
{
    struct block state = {0};
    struct range p[SIZE] = {0};
    int count = (int)(w->n - block * SIZE < SIZE ? w->n - block * SIZE : SIZE);
    for (int64_t row = 0; row < w->rows; row++) {
        float g[SIZE] = {0};
        if (w->code1)
            block_load(w, row, block, count, &state);
        for (int i = 0; i < count; i++) {
            int64_t at = row * w->n + block * SIZE + i;
            g[i] = (float)tensor_value(w->g, at);
            if (at < w->p->count) {
                double x = tensor_value(w->p, at);
                p[i] = (struct range){x, x, x, 0};
            }
        }
        step_at(&w->s, w->id->value[P_STEP].i + row);
        block_step(&w->s, &w->b, &state, count, p, g, r);
        w->take(w, row, block, count, r);
        state = r->next;
        memcpy(p, r->p, sizeof p);
    }
}

static struct walk walk_make(const struct case_id *id, const struct case_plan *plan)
{
    struct walk w = {.id = id, .plan = plan, .s = step_make(id), .b = books_make()};
    w.n = id->value[P_N].i;
    w.rows = id->value[P_STEPS].i;
    w.blocks = (w.n + SIZE - 1) / SIZE;
    w.planes = step_has_slow(w.s.rule) ? 2 : 1;
    return w;
}

static enum err walk_all(struct walk *w, struct errinfo *e)
{
    struct block_result *r = malloc(sizeof *r);
    if (!r)
        return err_set(e, ERR_NOMEM, "no memory for the reference of an optimizer");
    for (int64_t block = 0; block < w->blocks; block++)
        walk_block(w, block, r);
    free(r);
    return ERR_OK;
}

/* --- inputs ----------------------------------------------------------------------------------
 */

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
static void fill_squares(const struct case_id *id, struct tensor *t)
{
    struct rng_key key = rng_key_make(id->seed, "optim8bit/squares");
    for (int64_t i = 0; i < t->count; i++)
        tensor_set_bits(t, i, 127 + rng_bits(key, (uint64_t)i, 0) % 129);
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
    for (int k = trail->second ? V : M; k <= (trail->second ? V : SLOW); k++) {
        if (!rule_has(w->s.rule, k))
            continue;
        if (!trail->codes) {
            float *scale = trail->t->data;
            scale[scale_at(w, row + 1, k, block)] = r->next.most[k];
        }
        for (int i = 0; i < count && trail->codes; i++)
            tensor_set_bits(trail->t, code_at(w, row + 1, k, block * SIZE + i),
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
    if (!case_input(id, plan, find(plan, "p"), &p, &e) &&
        !case_input(id, plan, find(plan, "g"), &g, &e)) {
        w.p = &p;
        w.g = &g;
        walk_all(&w, &e);
    }
    tensor_release(&p);
    tensor_release(&g);
}

bool optimizer_fill(const struct case_id *id, const struct case_plan *plan, int i,
                    struct tensor *t)
{
    struct books b = books_make();
    const char *name = plan->tensor[i].name;
    bool codes = !strncmp(name, "code", 4), scales = !strncmp(name, "absmax", 6);
    if (!strcmp(name, "rate"))
        fill_rates(id, t);
    else if (!strcmp(name, "book1"))
        book_table(&b.of[M], t->data);
    else if (!strcmp(name, "book2"))
        book_table(&b.of[V], t->data);
    else if ((codes || scales) && id->value[P_STEPS].i > 1)
        fill_trail(id, plan, t, codes, strchr(name, '2') != NULL);
    else if (!strcmp(name, "code1") && is_square(trait_of(id)->rule, M))
        fill_squares(id, t);
    else
        return false;
    return true;
}

/* --- reference -------------------------------------------------------------------------------
 */

struct judged {
    struct oracle *o;
    const char *name; /* of the output */
    bool second;
};

static void judge_param(struct oracle *o, int64_t at, enum dtype d, const struct range *r)
{
    judge_exact(o, at, r->value, r->move);
    o->error[at] = fabs(r->value) * 0x1p-48;
    if (!isfinite(r->value) || !isfinite(r->low) || !isfinite(r->high))
        return;
    o->bound[at] = fmax(fabs(r->high - r->value), fabs(r->low - r->value)) * (1 + 0x1p-40);
    if (d == DTYPE_F32) /* the interval's ends are not rounded */
        o->bound[at] += 0x1p-149;
}

static void judge_state_code(const struct walk *w, struct oracle *o, int64_t at, int k, int i,
                             const struct block_result *r)
{
    const struct book *b = &w->b.of[k];
    float x = r->number[k][i], most = r->next.most[k];
    uint8_t code = r->next.code[k][i];
    judge_exact(o, at, code, 1);
    o->scale[at] = 255;
    if (isnan(x)) /* the sign of a NaN is the vendor's, and the sign rule reads it */
        judge_nothing(o, at, code);
    if (w->s.freedom.exact || isnan(x))
        return;
    if (most != 0 && !(most >= FLT_MIN && most <= 0x1p126f)) {
        judge_nothing(o, at, code);
        return;
    }
    float y = flushed(&w->s.freedom, x) / most;
    int place = book_place(b, flushed(&w->s.freedom, y));
    int other =
        book_other(b, place, (double)x / (double)most, w->s.freedom.ulps, w->s.freedom.flushed);
    if (other >= 0)
        judge_between(o, at, code, code_signed(b, other, x, k != V), 1);
}

static void judge_take(struct walk *w, int64_t row, int64_t block, int count,
                       const struct block_result *r)
{
    const struct judged *j = w->context;
    if (j->name[0] == 'p') {
        for (int i = 0; i < count; i++)
            judge_param(j->o, row * w->n + block * SIZE + i, w->s.d, &r->p[i]);
        return;
    }
    for (int k = j->second ? V : M; k <= (j->second ? V : SLOW); k++) {
        if (!rule_has(w->s.rule, k))
            continue;
        double most = (double)r->next.most[k];
        if (j->name[0] == 'a')
            judge_exact(j->o, scale_at(w, row, k, block), most, most - (double)r->second[k]);
        for (int i = 0; i < count && j->name[0] == 'c'; i++)
            judge_state_code(w, j->o, code_at(w, row, k, block * SIZE + i), k, i, r);
    }
}

static enum err oracle8(const struct case_id *id, const struct case_plan *plan,
                        const struct tensor *const *input, int which, struct oracle *o,
                        struct errinfo *e)
{
    struct walk w = walk_make(id, plan);
    struct judged j = {o, plan->tensor[which].name, strchr(plan->tensor[which].name, '2')};
    w.p = input[find(plan, "p")];
    w.g = input[find(plan, "g")];
    w.code1 = input[find(plan, "code1")];
    w.absmax1 = input[find(plan, "absmax1")];
    if (step_has_v(w.s.rule)) {
        w.code2 = input[find(plan, "code2")];
        w.absmax2 = input[find(plan, "absmax2")];
    }
    w.take = judge_take;
    w.context = &j;
    return walk_all(&w, e);
}

static float input_at(const struct tensor *const *input, int tensor, int64_t i)
{
    return tensor < 0 ? 0 : (float)tensor_value(input[tensor], i);
}

static void oracle32(const struct case_id *id, const struct case_plan *plan,
                     const struct tensor *const *input, int which, struct oracle *o)
{
    struct step s = step_make(id);
    const char *name = plan->tensor[which].name;
    int m = find(plan, "m"), slow = find(plan, "slow"), v = find(plan, "v");
    for (int64_t i = 0; i < o->count; i++) {
        double x = tensor_value(input[find(plan, "p")], i);
        float g = (float)tensor_value(input[find(plan, "g")], i);
        struct range p = {x, x, x, 0};
        struct state old = {input_at(input, m, i), input_at(input, slow, i),
                            input_at(input, v, i)};
        struct state new = step_state(&s, (float)x, g, &old);
        p = step_param(&s, &p, g, &old, &new);
        if (name[0] == 'p')
            judge_param(o, i, s.d, &p);
        else {
            bool is_m = name[0] == 'm', is_v = name[0] == 'v';
            float now = is_m ? new.m : is_v ? new.v : new.slow;
            float was = is_m ? old.m : is_v ? old.v : old.slow;
            judge_exact(o, i, (double)now, (double)now - (double)was);
        }
    }
}

enum err optimizer_oracle(const struct case_id *id, const struct case_plan *plan,
                          const struct tensor *const *input, int which, struct oracle *o,
                          struct errinfo *e)
{
    const struct case_tensor *t = &plan->tensor[which];
    TRY(oracle_init(o, t->rank == 1 ? t->dim[0] : t->dim[0] * t->dim[1], e));
    if (trait_of(id)->group == GROUP_STEP32) {
        oracle32(id, plan, input, which, o);
        return ERR_OK;
    }
    enum err code = oracle8(id, plan, input, which, o, e);
    if (code)
        oracle_release(o);
    return code;
}
