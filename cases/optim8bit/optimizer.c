/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Optimizer kernels: plan and reference. */

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
    if (group == GROUP_STEP8 && trait_of(id)->rule == RULE_ADEMAMIX && n % WALK_SIZE)
        return err_set(
            e, ERR_USAGE,
            "n=%lld: the planes of ademamix8 share a scale unless n is a multiple of "
            "%d",
            (long long)n, WALK_SIZE);
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
    for (int k = 0; k < WALK_NUMBERS; k++)
        if (walk_has(rule, k))
            plan_tensor(p, names[k], TENSOR_INOUT, DTYPE_F32, 1, &n,
                        walk_is_square(rule, k) ? DIST_POSITIVE : DIST_NORMAL);
}

static void plan_states8(const struct case_id *id, struct case_plan *p)
{
    enum rule rule = trait_of(id)->rule;
    bool run = trait_of(id)->group == GROUP_RUN8;
    enum tensor_role role = run ? TENSOR_OUT : TENSOR_INOUT;
    int64_t rows = id->value[P_STEPS].i, n = id->value[P_N].i,
            blocks = (n + WALK_SIZE - 1) / WALK_SIZE;
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

static void push_all(const struct case_id *id, const struct step *s, struct case_plan *p,
                     struct case_launch *l)
{
    for (int i = 0; i < p->n_tensor; i++)
        push_tensor(l, i);
    push_i32(l, id->value[P_N].i);
    push_i32(l, s->t);
}

/* The sum of squared updates and the launch that makes it. */
static void plan_norm(const struct case_id *id, const struct step *s, struct case_plan *p)
{
    const int64_t one = 1, blocks = (id->value[P_N].i + WALK_SIZE - 1) / WALK_SIZE;
    char entry[64];
    p->tensor[plan_tensor(p, "unorm", TENSOR_OUT, DTYPE_F32, 1, &one, DIST_ZERO)].zeroed = true;
    snprintf(entry, sizeof entry, "%s_norm_%s", s->rule == RULE_MOMENTUM ? "lars32" : "lamb32",
             dtype_info(s->d)->name);
    struct case_launch *l = plan_launch(p, entry, blocks, WALK_SIZE);
    push_all(id, s, p, l);
    push_scalars(l, s);
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
    if (step_is_wide(id))
        plan_states32(id, p);
    else
        plan_states8(id, p);
    plan_tensor(p, "rate", TENSOR_IN, DTYPE_F32, 2, rates, DIST_ZERO);
    if (group == GROUP_CLIP32)
        plan_norm(id, &s, p);

    for (int i = 0; i < p->n_tensor; i++)
        p->tensor[i].sequence = rows > 1;
    for (int i = 0; i < p->n_tensor; i++)
        p->tensor[i].whole = run ? p->tensor[i].role != TENSOR_IN
                                 : rows > 1 && p->tensor[i].role == TENSOR_INOUT && i;
    p->tensor[walk_find(p, run ? "p_at" : "p")].drifts = run;

    snprintf(entry, sizeof entry, "%s_%s", id->variant->name, dtype_info(s.d)->name);
    struct case_launch *l = plan_launch(p, entry, (n + WALK_SIZE - 1) / WALK_SIZE, WALK_SIZE);
    l->grid[1] = run ? 1 : (uint32_t)rows;
    push_all(id, &s, p, l);
    if (run)
        push_i32(l, rows);
    push_scalars(l, &s);
    if (group == GROUP_CLIP32)
        push_f32(l, s.limit);
    return ERR_OK;
}

/* Whole blocks of one step. */
bool optimizer_needs(const struct case_id *id, const struct case_plan *plan, int which, int i,
                     struct case_span span, struct case_span *ret_need)
{
    struct step s = step_make(id);
    bool scales = !strncmp(plan->tensor[which].name, "absmax", 6);
    int64_t size = scales ? 1 : WALK_SIZE;
    struct case_span block = {span.from / size, (span.to - 1) / size + 1};
    bool one = id->value[P_STEPS].i == 1 && !(s.limit > 0) &&
               (step_is_wide(id) || !step_has_slow(s.rule));
    *ret_need = strncmp(plan->tensor[i].name, "absmax", 6)
                    ? (struct case_span){block.from * WALK_SIZE, block.to * WALK_SIZE}
                    : block;
    return one;
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
        judge_between(o, at, code, walk_code_signed(b, other, x, k != WALK_V), 1);
}

static bool is_run(const struct walk *w)
{
    return trait_of(w->id)->group == GROUP_RUN8;
}

/* With a fast division a witnessed flip sends the run another way: from the second step on
 * nothing can be said of it. Single steps (adam8:steps=N) can always be judged. */
static bool is_open(const struct walk *w, int64_t row)
{
    return is_run(w) && row > 0 && !w->s.freedom.exact;
}

static void take_params(const struct walk *w, struct oracle *o, int64_t first, int count,
                        const struct block_result *r)
{
    for (int i = 0; i < count; i++) {
        judge_param(o, first + i, w->s.d, &r->p[i]);
        if (is_run(w))
            o->drop[first + i] = r->effect[i];
    }
}

static void judge_take(struct walk *w, int64_t row, int64_t block, int count,
                       const struct block_result *r)
{
    const struct judged *j = w->context;
    struct oracle *o = j->o;
    int64_t first = row * w->n + block * WALK_SIZE;
    if (j->name[0] == 'p')
        take_params(w, o, first, count, r);
    for (int i = 0; i < count && j->name[0] == 'p' && is_open(w, row); i++)
        o->bound[first + i] = INFINITY;
    for (int k = j->second ? WALK_V : WALK_M; k <= (j->second ? WALK_V : WALK_SLOW); k++) {
        if (!walk_has(w->s.rule, k) || j->name[0] == 'p')
            continue;
        double most = (double)r->next.most[k];
        int64_t scale = walk_scale_at(w, row, k, block);
        if (j->name[0] == 'a')
            judge_exact(o, scale, most, most - (double)r->second[k]);
        if (j->name[0] == 'a' && is_open(w, row))
            judge_nothing(o, scale, most);
        for (int i = 0; i < count && j->name[0] == 'c'; i++) {
            int64_t at = walk_code_at(w, row, k, block * WALK_SIZE + i);
            judge_state_code(w, o, at, k, i, r);
            if (is_open(w, row))
                judge_nothing(o, at, r->next.code[k][i]);
        }
    }
}

/* The rows that have elements of the span, and the blocks where it lies in one plane of one row. */
static void walk_limit(struct walk *w, const char *name, struct case_span span)
{
    bool scales = name[0] == 'a', first = name[0] != 'p' && !strchr(name, '2');
    int64_t plane = scales ? w->blocks : w->n, size = scales ? 1 : WALK_SIZE;
    int64_t width = plane * (first ? w->planes : 1), last = span.to - 1;
    w->row = (struct case_span){span.from / width, last / width + 1};
    if (span.from / plane == last / plane)
        w->block = (struct case_span){span.from % plane / size, last % plane / size + 1};
}

static enum err oracle8(const struct case_id *id, const struct case_plan *plan,
                        const struct tensor *const *input, int which, struct case_span span,
                        struct oracle *o, struct errinfo *e)
{
    struct walk w = walk_make(id, plan);
    struct judged j = {o, plan->tensor[which].name, strchr(plan->tensor[which].name, '2')};
    w.p = input[walk_find(plan, "p")];
    w.g = input[walk_find(plan, "g")];
    w.code1 = input[walk_find(plan, "code1")];
    w.absmax1 = input[walk_find(plan, "absmax1")];
    if (step_has_v(w.s.rule)) {
        w.code2 = input[walk_find(plan, "code2")];
        w.absmax2 = input[walk_find(plan, "absmax2")];
    }
    w.take = judge_take;
    w.context = &j;
    if (!is_run(&w))
        walk_limit(&w, j.name, span);
    return walk_all(&w, e);
}

static float input_at(const struct tensor *const *input, int tensor, int64_t i)
{
    return tensor < 0 ? 0 : (float)tensor_value(input[tensor], i);
}

static void judge_norm(struct oracle *o, const struct clip *c, int64_t n)
{
    judge_exact(o, 0, c->sum, c->sum / (double)n);
    o->bound[0] = c->beyond ? INFINITY : c->bound;
}

/* The factor of the update, from all elements: noted. */
static struct clip oracle_clip(const struct case_plan *plan, const struct tensor *const *input,
                               int64_t n, struct step *s, struct oracle *o)
{
    const double *x = o->note;
    int v = walk_find(plan, "v");
    const struct walk_tensors t = {input[walk_find(plan, "p")], input[walk_find(plan, "g")],
                                   input[walk_find(plan, "m")], v < 0 ? NULL : input[v]};
    struct clip c = {x[0], x[1], x[2], x[3], x[4], x[5] != 0};
    if (!o->noted) {
        c = clip_make(s, &t, n);
        const double note[] = {c.sum,    c.bound,           c.relative,
                               c.factor, c.factor_relative, c.beyond};
        memcpy(o->note, note, sizeof note);
        o->noted = 1;
    }
    s->factor = c.factor;
    s->factor_relative = c.factor_relative;
    return c;
}

static void oracle32(const struct case_id *id, const struct case_plan *plan,
                     const struct tensor *const *input, int which, struct case_span span,
                     struct oracle *o)
{
    struct step s = step_make(id);
    const char *name = plan->tensor[which].name;
    struct clip clip = {0};
    if (s.limit > 0)
        clip = oracle_clip(plan, input, id->value[P_N].i, &s, o);
    if (!strcmp(name, "unorm")) {
        judge_norm(o, &clip, id->value[P_N].i);
        return;
    }
    int m = walk_find(plan, "m"), slow = walk_find(plan, "slow"), v = walk_find(plan, "v");
    for (int64_t i = span.from; i < span.to; i++) {
        double x = tensor_value(input[walk_find(plan, "p")], i);
        float g = (float)tensor_value(input[walk_find(plan, "g")], i);
        struct range p = {x, x, x, 0};
        struct state old = {input_at(input, m, i), input_at(input, slow, i),
                            input_at(input, v, i)};
        struct state new = step_state(&s, (float)x, g, &old);
        p = step_param(&s, &p, g, &old, &new);
        if (name[0] == 'p') {
            judge_param(o, i, s.d, &p);
            o->bound[i] = clip.beyond ? INFINITY : o->bound[i];
        } else {
            bool is_m = name[0] == 'm', is_v = name[0] == 'v';
            float now = is_m ? new.m : is_v ? new.v : new.slow;
            float was = is_m ? old.m : is_v ? old.v : old.slow;
            judge_exact(o, i, (double)now, (double)now - (double)was);
        }
    }
}

enum err optimizer_oracle(const struct case_id *id, const struct case_plan *plan,
                          const struct tensor *const *input, int which, struct case_span span,
                          struct oracle *o, struct errinfo *e)
{
    if (!step_is_wide(id))
        return oracle8(id, plan, input, which, span, o, e);
    oracle32(id, plan, input, which, span, o);
    return ERR_OK;
}
