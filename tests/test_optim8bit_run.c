/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cases/optim8bit/optim8bit.h"
#include "scene.h"
#include "suite.h"

/* 8-bit AdamW over many steps, once more in plain loops: nearest codes by trying all values,
 * bias corrections by pow, parameters in double. */

enum { N = 600, STEPS = 30, BLOCK = 256, BLOCKS = 3 };

#define ID(variant) "optim8bit/" variant ":n=600,step=1,steps=30,wd=0.01,seed=5"

/* --- the same run, apart ---------------------------------------------------------------------
 */

struct run {
    uint8_t code[2][STEPS][N];
    float most[2][STEPS][BLOCKS];
    double p[STEPS][N], wide[STEPS][N]; /* wide: with states in double */
};

static uint8_t nearest(const float *book, float y, float x, bool has_sign)
{
    int best = 0;
    for (int k = 1; k < 256 && !isnan(y); k++) {
        double d = fabs((double)book[k] - (double)y), e = fabs((double)book[best] - (double)y);
        if (d < e || (d == e && k % 2 == 0))
            best = k;
    }
    if (has_sign && signbit(book[best]) != signbit(x))
        best += x > 0 ? 1 : -1;
    return (uint8_t)best;
}

static void run_states(const float *g, const float *book[2], struct run *r)
{
    static float x[2][BLOCKS * BLOCK];
    for (int t = 0; t < STEPS; t++) {
        for (int k = 0; k < 2; k++)
            for (int b = 0; b < BLOCKS; b++)
                r->most[k][t][b] = 0;
        for (int i = 0; i < BLOCKS * BLOCK; i++) {
            int b = i / BLOCK;
            float h = i < N ? g[t * N + i] : 0;
            for (int k = 0; k < 2; k++) {
                int code = i < N ? (t ? r->code[k][t - 1][i] : 0) : k ? 0 : 128;
                volatile float old = book[k][code] * (t ? r->most[k][t - 1][b] : 0);
                float beta = k ? 0.999f : 0.9f;
                volatile float kept = old * beta, left = 1 - beta, scaled = left * h;
                x[k][i] = k ? fmaf(scaled, h, kept) : fmaf(left, h, kept);
                r->most[k][t][b] = fmaxf(r->most[k][t][b], fabsf(x[k][i]));
            }
        }
        for (int i = 0; i < N; i++)
            for (int k = 0; k < 2; k++)
                r->code[k][t][i] =
                    nearest(book[k], x[k][i] / r->most[k][t][i / BLOCK], x[k][i], !k);
        for (int i = 0; i < N; i++) {
            double c1 = 1 - pow((double)0.9f, t + 1), c2 = sqrt(1 - pow((double)0.999f, t + 1));
            double u = (double)0.001f * c2 / c1 * (double)x[0][i] /
                       (sqrt((double)x[1][i]) + c2 * 1e-8);
            r->p[t][i] = (t ? r->p[t - 1][i] : r->p[t][i]) - u;
            r->p[t][i] *= 1 - (double)0.001f * (double)0.01f;
        }
    }
}

static void run_wide(const float *g, struct run *r)
{
    for (int i = 0; i < N; i++) {
        double m = 0, v = 0, p = r->wide[0][i];
        for (int t = 0; t < STEPS; t++) {
            double h = (double)g[t * N + i];
            m = (double)0.9f * m + (1 - (double)0.9f) * h;
            v = (double)0.999f * v + (1 - (double)0.999f) * h * h;
            double c1 = 1 - pow((double)0.9f, t + 1), c2 = sqrt(1 - pow((double)0.999f, t + 1));
            p -= (double)0.001f * c2 / c1 * m / (sqrt(v) + c2 * 1e-8);
            p *= 1 - (double)0.001f * (double)0.01f;
            r->wide[t][i] = p;
        }
    }
}

static struct run *run_make(const struct scene *w)
{
    struct run *r = calloc(1, sizeof *r);
    ck_assert_ptr_nonnull(r);
    const float *book[] = {scene_tensor(w, "book1")->data, scene_tensor(w, "book2")->data};
    for (int i = 0; i < N; i++)
        r->p[0][i] = r->wide[0][i] = tensor_value(scene_tensor(w, "p"), i);
    run_states(scene_tensor(w, "g")->data, book, r);
    run_wide(scene_tensor(w, "g")->data, r);
    return r;
}

START_TEST(run_matches_plain_loops)
{
    struct scene w;
    scene_open(&w, ID("adam8run"));
    struct run *r = run_make(&w);
    static const char *const codes[] = {"code1", "code2"}, *const scales[] = {"absmax1",
                                                                              "absmax2"};
    for (int k = 0; k < 2; k++) {
        struct oracle c = scene_oracle_of(&w, codes[k]), s = scene_oracle_of(&w, scales[k]);
        for (int t = 0; t < STEPS; t++) {
            for (int i = 0; i < N; i++)
                ck_assert_msg(c.value[t * N + i] == r->code[k][t][i] && !c.bound[t * N + i],
                              "%s step %d [%d]: %g, must be %d", codes[k], t + 1, i,
                              c.value[t * N + i], r->code[k][t][i]);
            for (int b = 0; b < BLOCKS; b++)
                ck_assert(s.value[t * BLOCKS + b] == (double)r->most[k][t][b]);
        }
        oracle_release(&c);
        oracle_release(&s);
    }
    free(r);
    scene_release(&w);
}
END_TEST

/* Rounding of p alone parts the reference from the run in double; the bound covers it. */
START_TEST(parameters_and_quantization_effect)
{
    struct scene w;
    scene_open(&w, ID("adam8run"));
    struct run *r = run_make(&w);
    struct oracle p = scene_oracle_of(&w, "p_at");
    for (int t = 0; t < STEPS; t++)
        for (int i = 0; i < N; i++) {
            int at = t * N + i;
            double slack = (t + 2) * (fabs(r->p[t][i]) + 0.01) * 0x1p-22;
            ck_assert_double_eq_tol(p.value[at], r->p[t][i], slack);
            ck_assert(p.bound[at] < 2 * slack);
            double effect = fabs(r->p[t][i] - r->wide[t][i]);
            if (t)
                ck_assert_double_eq_tol(p.drop[at], effect, 2 * slack);
        }
    oracle_release(&p);
    free(r);
    scene_release(&w);
}
END_TEST

/* Row t of the open steps begins with what step t of the run left, and ends with what the next
 * step of the run makes. */
START_TEST(open_steps_are_those_of_the_run)
{
    struct scene w, open;
    scene_open(&w, ID("adam8run"));
    scene_open(&open, ID("adam8"));
    static const char *const names[] = {"code1", "absmax1", "code2", "absmax2"};
    for (int k = 0; k < 4; k++) {
        struct oracle o = scene_oracle_of(&w, names[k]), next = scene_oracle_of(&open, names[k]);
        const struct tensor *t = open.at[scene_place(&open, names[k])];
        int64_t row = t->dim[1];
        for (int64_t i = 0; i < t->count; i++) {
            double want = i < row ? 0 : o.value[i - row];
            ck_assert_msg(tensor_value(t, i) == want, "%s[%d]", names[k], (int)i);
            ck_assert(next.value[i] == o.value[i] && next.bound[i] == 0);
        }
        oracle_release(&o);
        oracle_release(&next);
    }
    scene_release(&w);
    scene_release(&open);
}
END_TEST

/* After the first step a run with a fast division is reported, not judged; open steps are. */
START_TEST(fast_runs_are_open)
{
    struct scene w;
    scene_open(&w, ID("adam8run") ",mode=fast");
    struct oracle c = scene_oracle_of(&w, "code1"), p = scene_oracle_of(&w, "p_at");
    for (int i = 0; i < STEPS * N; i++)
        ck_assert(isinf(c.bound[i]) == (i >= N) && isinf(p.bound[i]) == (i >= N));
    oracle_release(&c);
    oracle_release(&p);
    scene_release(&w);
    scene_open(&w, ID("adam8") ",mode=fast");
    c = scene_oracle_of(&w, "code1");
    for (int i = 0; i < STEPS * N; i++)
        ck_assert(c.bound[i] < 1);
    oracle_release(&c);
    scene_release(&w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("optim8bit_run");
    TCase *t = tcase_create("run");
    tcase_add_test(t, run_matches_plain_loops);
    tcase_add_test(t, parameters_and_quantization_effect);
    tcase_add_test(t, open_steps_are_those_of_the_run);
    tcase_add_test(t, fast_runs_are_open);
    suite_add_tcase(s, t);
    return suite_run(s);
}
