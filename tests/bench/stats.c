/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stats.h"
#include "ulp.h"

/* bench_stats [SIZE]: the statistics of two SIZE x SIZE outputs, beside memcpy of the same
 * bytes. What is read are both outputs and four doubles of the reference an element. */

enum { REPEATS = 5 };

struct scene {
    struct tensor a, b;
    struct oracle o;
};

enum kind { UNEQUAL, EQUAL, SPECIAL, KINDS };
static const char *const kind_name[KINDS] = {"unequal", "equal sides", "1 % NaN"};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Products of normal variates with errors of about an ulp, different on the two sides. */
static void scene_fill(struct scene *s, enum kind kind)
{
    struct rng_key key = rng_key_make(1, "bench");
    for (int64_t i = 0; i < s->a.count; i++) {
        uint64_t at = (uint64_t)i;
        double x = rng_normal(key, at, 0), y = rng_normal(key, at, 1), v = x * y;
        double u = ulp_size(s->a.dtype, v);
        s->o.value[i] = v;
        s->o.tail[i] = fma(x, y, -v);
        s->o.bound[i] = 6 * u;
        s->o.drop[i] = 1;
        double da = 0.7 * u * rng_normal(key, at, 2), db = 0.8 * u * rng_normal(key, at, 3);
        uint64_t a = dtype_round(s->a.dtype, v + da);
        if (kind == SPECIAL && rng_bits(key, at, 4) % 100 == 0)
            a = dtype_round(s->a.dtype, (double)NAN);
        tensor_set_bits(&s->a, i, a);
        tensor_set_bits(&s->b, i, kind == EQUAL ? a : dtype_round(s->b.dtype, v + db));
    }
}

static double copy_seconds(const struct scene *s)
{
    size_t size = tensor_bytes(&s->a), wide = (size_t)s->o.count * sizeof(double);
    const void *part[] = {s->a.data, s->b.data, s->o.value, s->o.tail, s->o.bound, s->o.drop};
    char *to = malloc(wide);
    double best = INFINITY;
    for (int r = 0; to && r < REPEATS; r++) {
        double start = now();
        for (int i = 0; i < 6; i++) {
            memcpy(to, part[i], i < 2 ? size : wide);
            __asm__ volatile("" : : "r"(to) : "memory"); /* or the copies are left out */
        }
        best = fmin(best, now() - start);
    }
    free(to);
    return best;
}

static int bench(struct scene *s, enum kind kind)
{
    double bytes = 2 * (double)tensor_bytes(&s->a) + 32 * (double)s->o.count;
    double copy = copy_seconds(s);
    struct errinfo e = {0};
    for (int threads = 1; threads <= 2; threads++) {
        double best = INFINITY;
        for (int r = 0; r < REPEATS; r++) {
            struct output_stats out;
            double start = now();
            if (stats_compute(&s->a, &s->b, &s->o, UINT64_MAX, threads, &out, &e))
                return fprintf(stderr, "%s\n", e.text), 1;
            best = fmin(best, now() - start);
        }
        printf("%-4s %-12s %d thread%s %8.2f ms %7.3f GB/s %8.4f of memcpy (%.1f GB/s)\n",
               dtype_info(s->a.dtype)->name, kind_name[kind], threads, threads > 1 ? "s" : " ",
               best * 1e3, bytes / best * 1e-9, copy / best, bytes / copy * 1e-9);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const enum dtype formats[] = {DTYPE_F32, DTYPE_BF16, DTYPE_I32, DTYPE_F64};
    int64_t size = argc > 1 ? atoll(argv[1]) : 1024;
    const int64_t dim[] = {size, size};
    int failed = 0;
    for (int d = 0; d < 4; d++)
        for (int kind = 0; kind < (d ? 1 : KINDS); kind++) {
            struct scene s = {0};
            struct errinfo e = {0};
            if (tensor_init(&s.a, formats[d], 2, dim, &e) ||
                tensor_init(&s.b, formats[d], 2, dim, &e) || oracle_init(&s.o, s.a.count, &e))
                return fprintf(stderr, "%s\n", e.text), 1;
            scene_fill(&s, (enum kind)kind);
            failed |= bench(&s, (enum kind)kind);
            tensor_release(&s.a);
            tensor_release(&s.b);
            oracle_release(&s.o);
        }
    return failed;
}
