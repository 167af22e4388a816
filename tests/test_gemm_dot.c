/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

/* The kernels of each processor are private: the test looks inside. */
#include "../cases/gemm/dot.c"
#include "suite.h"

static float random_float(uint64_t *state, int spread)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    int e = (int)(*state >> 33) % (2 * spread + 1) - spread;
    return (float)__builtin_ldexp((double)(int64_t)(*state >> 8) - 0x1p55, e - 55);
}

struct quad {
    double value[40 * 40], tail[40 * 40], magnitude[40 * 40], walk[40 * 40];
};

static struct gemm_dots dots_of(struct quad *t)
{
    return (struct gemm_dots){t->value, t->tail, t->magnitude, t->walk};
}

static void ck_same(const struct gemm_operands *o, void (*rows)(const struct rows_job *),
                    const struct quad *want)
{
    static struct quad got;
    size_t size = (size_t)(o->m * o->n) * sizeof(double);
    memset(&got, 0xff, sizeof got);
    struct gemm_dots d = dots_of(&got);
    rows(&(struct rows_job){o, 0, o->m / 3, &d});
    rows(&(struct rows_job){o, o->m / 3, o->m, &d});
    ck_assert(!memcmp(got.value, want->value, size));
    ck_assert(!memcmp(got.tail, want->tail, size));
    ck_assert(!memcmp(got.magnitude, want->magnitude, size));
    ck_assert(!memcmp(got.walk, want->walk, size));
}

START_TEST(processors_agree)
{
    static struct quad want;
    uint64_t state = 7;
    for (int round = 0; round < 60; round++) {
        int64_t m = 1 + round % 7 * 5, n = 1 + round * 13 % 40, k = round * 11 % 90;
        int64_t columns = (n + GEMM_PANEL - 1) / GEMM_PANEL * GEMM_PANEL;
        float *a = calloc((size_t)(m * k + 1), sizeof *a);
        float *b = calloc((size_t)(columns * k + 1), sizeof *b);
        for (int64_t i = 0; i < m * k; i++)
            a[i] = random_float(&state, round);
        for (int64_t i = 0; i < columns * k; i++)
            b[i] = random_float(&state, round);
        struct gemm_operands o = {m, n, k, a, b};
        struct gemm_dots d = dots_of(&want);
        rows_plain(&(struct rows_job){&o, 0, m, &d});
#ifdef __x86_64__
        if (__builtin_cpu_supports("avx2"))
            ck_same(&o, rows_avx2, &want);
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
            ck_same(&o, rows_avx512, &want);
#endif
        ck_same(&o, rows_plain, &want);
        free(a);
        free(b);
    }
}
END_TEST

/* 2^100 + 1 - 2^100 + 2^-140: value and tail together keep all of it. */
START_TEST(tail_keeps_what_value_loses)
{
    float a[4] = {0x1p100f, 1, -0x1p100f, 0x1p-70f}, b[4 * GEMM_PANEL] = {0};
    for (int l = 0; l < 4; l++)
        b[l * GEMM_PANEL] = l == 3 ? 0x1p-70f : 1;
    struct gemm_operands o = {1, 1, 4, a, b};
    double value, tail, magnitude, walk;
    gemm_dot(&o, 0, 1, &(struct gemm_dots){&value, &tail, &magnitude, &walk});
    ck_assert(value == 0x1p-140 && tail == 1);
    ck_assert(magnitude == 0x1p101 && walk == 0x1p101);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("gemm_dot");
    TCase *c = tcase_create("dot");
    tcase_add_test(c, processors_agree);
    tcase_add_test(c, tail_keeps_what_value_loses);
    suite_add_tcase(s, c);
    return suite_run(s);
}
