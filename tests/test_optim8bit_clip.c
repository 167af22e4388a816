/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "../cases/optim8bit/walk.h"
#include "rng.h"
#include "scene.h"
#include "suite.h"

/* Limited updates: references against the definition in long double, which rounds no state; and the
 * bound of the norm, by f32 sums in any order. */

enum { N = 700 };

static double at(const struct scene *w, const char *name, int i)
{
    return tensor_value(scene_tensor(w, name), i);
}

/* The update before its limit, from PyTorch's formulas (adam: betas 0.9 and 0.999, eps 1e-8; the bias
 * corrections are an input, in f32) or m (lars). */
static long double update_of(const struct scene *w, bool lars, int i)
{
    long double b1 = (long double)0.9f, b2 = (long double)0.999f, eps = (long double)1e-8f;
    long double g = at(w, "g", i), m = b1 * at(w, "m", i);
    if (lars)
        return m + g;
    long double v = b2 * at(w, "v", i) + (1 - b2) * g * g;
    m += (1 - b1) * g;
    return m / (long double)at(w, "rate", 0) /
           (sqrtl(v) / (long double)at(w, "rate", 1) + eps);
}

static const struct {
    const char *id;
    bool lars, limited;
} scenes[] = {
    {"optim8bit/lamb32:n=700,unorm=0.1,pnorm=20", false, true},
    {"optim8bit/lamb32:n=700,unorm=10,pnorm=20", false, false},
    {"optim8bit/lars32:n=700,unorm=0.1,pnorm=20", true, true},
};

START_TEST(references_follow_the_definition)
{
    struct scene w;
    scene_open(&w, scenes[_i].id);
    struct oracle p = scene_oracle_of(&w, "p"), norm = scene_oracle_of(&w, "unorm");
    long double sum = 0, limit = scenes[_i].limited ? 2 : 200;
    for (int i = 0; i < N; i++)
        sum += powl(update_of(&w, scenes[_i].lars, i), 2);
    ck_assert((sqrtl(sum) > limit) == scenes[_i].limited);
    ck_assert_double_eq_tol(norm.value[0], (double)sum, 2e-6 * (double)sum);
    ck_assert_double_gt(norm.drop[0], 2 * norm.bound[0]);
    long double factor = scenes[_i].limited ? limit / sqrtl(sum) : 1;
    for (int i = 0; i < N; i++) {
        long double move = (long double)0.001f * factor * update_of(&w, scenes[_i].lars, i);
        double off = p.value[i] + p.tail[i] - (double)(at(&w, "p", i) - move);
        ck_assert_double_le(fabs(off), 4e-6 * (double)fabsl(move) + 1e-12);
        ck_assert_double_le(p.bound[i], 1e-5 * (double)fabsl(move) + 0x1p-23 * fabs(p.value[i]));
    }
    oracle_release(&p);
    oracle_release(&norm);
    scene_release(&w);
}
END_TEST

/* A device's sum: each update off by what its five operations may err, blocks and terms in any
 * order. One block left out must show. */
static float device_sum(const struct scene *w, const struct step *s, uint64_t draw, int lost)
{
    struct rng_key key = rng_key_make(draw, "clip");
    float sum = 0;
    int first = (int)(rng_bits(key, 9999, 0) % 3);
    for (int b = 0; b < 3; b++) {
        int block = (b + first) % 3;
        float part = 0;
        for (int t = 0; t < WALK_SIZE && block * WALK_SIZE + t < N; t++) {
            int i = block * WALK_SIZE + t;
            struct state old = {(float)at(w, "m", i), 0, (float)at(w, "v", i)};
            struct state x = step_state(s, 0, (float)at(w, "g", i), &old);
            float root = sqrtf(x.v) / s->c2 + s->eps, u = x.m / s->c1 / root;
            volatile float square = u * u;
            part += rng_bits(key, (uint64_t)i, 0) & 1 ? square : nextafterf(square, 2 * square);
        }
        sum += block == lost ? 0 : part;
    }
    return sum;
}

START_TEST(sums_stay_inside_and_a_lost_block_does_not)
{
    struct scene w;
    scene_open(&w, scenes[0].id);
    struct step s = step_make(&w.id);
    struct oracle o = scene_oracle_of(&w, "unorm");
    for (uint64_t draw = 0; draw < 200; draw++) {
        double got = (double)device_sum(&w, &s, draw, -1);
        ck_assert_double_le(fabs(got - o.value[0]), o.bound[0]);
        got = (double)device_sum(&w, &s, draw, (int)(draw % 3));
        ck_assert_double_gt(fabs(got - o.value[0]), o.bound[0]);
    }
    oracle_release(&o);
    scene_release(&w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("optim8bit_clip");
    TCase *c = tcase_create("clip");
    tcase_add_loop_test(c, references_follow_the_definition, 0, 3);
    tcase_add_test(c, sums_stay_inside_and_a_lost_block_does_not);
    suite_add_tcase(s, c);
    return suite_run(s);
}
