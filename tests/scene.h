/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TESTS_SCENE_H
#define GPUPARITY_TESTS_SCENE_H

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "caseid.h"
#include "kerneltext.h"
#include "rng.h"

/* For tests of a family's reference and bounds: a case with its inputs and one oracle, judging
 * of results that a test computes in its own way, and checks that hold for every family. */

struct scene {
    char text[CASEID_TEXT_MAX];
    struct case_id id;
    struct case_plan plan;
    struct tensor input[CASE_TENSOR_MAX];
    const struct tensor *at[CASE_TENSOR_MAX]; /* NULL for OUT, as the oracle takes them */
    struct oracle o;
};

static inline int scene_place(const struct scene *s, const char *name)
{
    for (int i = 0; i < s->plan.n_tensor; i++)
        if (!strcmp(s->plan.tensor[i].name, name))
            return i;
    ck_abort_msg("%s has no %s", s->text, name);
}

static inline const struct tensor *scene_tensor(const struct scene *s, const char *name)
{
    return s->at[scene_place(s, name)];
}

/* The reference of an output by its number, which the caller releases. */
static inline struct oracle scene_oracle_at(const struct scene *s, int which, int threads)
{
    struct oracle o;
    struct errinfo e = {0};
    ck_assert_msg(!case_oracle(&s->id, &s->plan, s->at, which, threads, &o, &e),
                  "%s: %s", s->text, e.text);
    return o;
}

/* The same by its name. */
static inline struct oracle scene_oracle_of(const struct scene *s, const char *output)
{
    return scene_oracle_at(s, scene_place(s, output), 1);
}

/* The same, kept in the scene. */
static inline void scene_oracle(struct scene *s, const char *output)
{
    oracle_release(&s->o);
    s->o = scene_oracle_of(s, output);
}

/* The inputs, no oracle. */
static inline void scene_open(struct scene *s, const char *text)
{
    struct errinfo e = {0};
    memset(s, 0, sizeof *s);
    snprintf(s->text, sizeof s->text, "%s", text);
    ck_assert_msg(!caseid_parse(text, &s->id, &e), "%s", e.text);
    ck_assert_msg(!s->id.family->plan(&s->id, &s->plan, &e), "%s: %s", text, e.text);
    for (int i = 0; i < s->plan.n_tensor; i++) {
        if (s->plan.tensor[i].role == TENSOR_OUT)
            continue;
        ck_assert_msg(!case_input(&s->id, &s->plan, i, &s->input[i], &e), "%s", e.text);
        s->at[i] = &s->input[i];
    }
}

/* Inputs and the oracle of `output`. */
static inline void scene_init(struct scene *s, const char *text, const char *output)
{
    scene_open(s, text);
    scene_oracle(s, output);
}

static inline void scene_release(struct scene *s)
{
    for (int i = 0; i < s->plan.n_tensor; i++)
        tensor_release(&s->input[i]);
    oracle_release(&s->o);
}

static inline double scene_value(const struct scene *s, const char *name, int64_t i)
{
    return tensor_value(scene_tensor(s, name), i);
}

/* --- judging ---------------------------------------------------------------------------------
 */

struct judged {
    int64_t judged, outside;
    double worst; /* error in units of the bound */
};

static inline double scene_narrow(enum dtype d, double x)
{
    return dtype_value(d, dtype_round(d, x));
}

/* How far a device's f32 result y, stored in the output's format, is from the reference, in
 * units of the bound; 0 where nothing is judged, Inf where the class is wrong or a bound of 0
 * is missed. */
static inline double scene_off(const struct scene *s, enum dtype d, int64_t i, double y)
{
    const struct oracle *o = &s->o;
    y = scene_narrow(d, y);
    if (isinf(o->bound[i]))
        return 0;
    if (!isfinite(o->value[i]) || !isfinite(y))
        return isnan(y) ? (isnan(o->value[i]) ? 0 : INFINITY)
                        : (y == o->value[i] ? 0 : INFINITY);
    double off = fabs(y - o->value[i] - o->tail[i]);
    return off == 0 ? 0 : off / o->bound[i];
}

/* y moved by twice the bound before it is stored, away from the reference; in 16 bits either way,
 * since spacings differ below and above. */
static inline bool scene_fault_shows(const struct scene *s, enum dtype d, int64_t i, double y)
{
    double bound = s->o.bound[i], side = y >= s->o.value[i] ? 2 : -2;
    if (bound == 0)
        return scene_off(s, d, i, dtype_value(d, dtype_round(d, y) ^ 1)) > 1;
    return scene_off(s, d, i, y + side * bound) > 1 ||
           (d != DTYPE_F32 && scene_off(s, d, i, y - side * bound) > 1);
}

/* y must be inside the bound; moved by twice the bound it should be outside. */
static inline void scene_judge(const struct scene *s, enum dtype d, int64_t i, double y,
                               struct judged *t)
{
    const struct oracle *o = &s->o;
    double off = scene_off(s, d, i, y);
    if (!(off <= 1)) /* Check's own macros write to a pipe each time */
        ck_abort_msg("%s: element %lld is %a for %a, %.3f of its bound", s->text, (long long)i, y,
                     o->value[i], off);
    if (isinf(o->bound[i]) || !isfinite(o->value[i]))
        return;
    t->judged++;
    t->worst = fmax(t->worst, off);
    t->outside += scene_fault_shows(s, d, i, y);
}

/* --- f32 arithmetic of a device --------------------------------------------------------------
 *
 * `lean` 0: to nearest, functions off by what their vendors document at random. Otherwise every
 * operation errs by `lean` times what it may, upwards for lean > 0: what is divided by leans the
 * other way. */

struct device {
    struct rng_key key;
    uint64_t draw;
    double lean;
    bool flush;
};

static inline double device_draw(struct device *d)
{
    return (double)(rng_bits(d->key, d->draw++, 0) >> 11) * 0x1p-53;
}

static inline double device_kept(const struct device *d, double x)
{
    return d->flush && fabs(x) < 0x1p-126 ? copysign(0, x) : x;
}

/* The result of an operation, x exactly. */
static inline double device_op(const struct device *d, double x)
{
    return d->lean != 0 ? x + fabs(x) * d->lean * 0x1p-24 : device_kept(d, (double)(float)x);
}

/* The result of a function whose documented error is `ulps`. */
static inline double device_call(struct device *d, double x, int ulps)
{
    if (d->lean != 0)
        return x + fabs(x) * d->lean * (ulps + 0.5) * 0x1p-23;
    float y = (float)x;
    int steps = (int)(device_draw(d) * (ulps + 1));
    float to = device_draw(d) < 0.5 ? -INFINITY : INFINITY;
    for (; steps > 0 && isfinite(y) && y != 0; steps--)
        y = nextafterf(y, to);
    return device_kept(d, (double)y);
}

/* --- what holds for every family -------------------------------------------------------------
 */

/* One output of a case has power. */
static inline bool scene_power(const struct scene *s)
{
    int64_t caught = 0;
    for (int64_t i = 0; i < s->o.count; i++)
        caught += s->o.drop[i] > 2 * s->o.bound[i];
    return caught > 0;
}

static inline void scene_has_power(const struct case_id *id)
{
    char text[CASEID_TEXT_MAX];
    struct case_plan plan;
    struct errinfo e;
    int caught = 0;
    caseid_print(id, text);
    ck_assert_msg(!id->family->plan(id, &plan, &e), "%s: %s", text, e.text);
    for (int i = 0; i < plan.n_tensor; i++) {
        struct scene s;
        if (plan.tensor[i].role == TENSOR_IN)
            continue;
        scene_init(&s, text, plan.tensor[i].name);
        caught += scene_power(&s);
        scene_release(&s);
    }
    ck_assert_msg(caught > 0, "%s catches nothing", text);
}

/* Every case of the quick and full suites: in each, some output would show the loss that `drop`
 * names. */
static inline void scene_suites(const char *family, int64_t quick_most, int64_t least)
{
    struct caselist l;
    const char *ids[] = {family};
    ck_assert(!caselist_select(&l, 1, ids, "quick", NULL));
    ck_assert_int_le(l.count, quick_most);
    caselist_release(&l);
    ck_assert(!caselist_select(&l, 1, ids, "quick,full", NULL));
    ck_assert_int_ge(l.count, least);
    for (int64_t k = 0; k < l.count; k++)
        scene_has_power(&l.id[k]);
    caselist_release(&l);
}

/* The id cannot be planned, and the text says what would be possible. */
static inline void scene_refused(const char *text, const char *says)
{
    struct errinfo e = {0};
    struct case_id id;
    struct case_plan plan;
    ck_assert_msg(!caseid_parse(text, &id, &e), "%s", e.text);
    ck_assert_int_eq(id.family->plan(&id, &plan, &e), ERR_USAGE);
    ck_assert_msg(strstr(e.text, says) != NULL, "%s", e.text);
}

#endif
