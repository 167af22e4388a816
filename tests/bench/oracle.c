/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "caseid.h"
#ifdef HAVE_OPENBLAS
#include <cblas.h>
#endif

/* bench_oracle [SIZE] [THREADS]: the gemm reference beside OpenBLAS dgemm of the same size,
 * where that is installed. The reference carries a tail, magnitudes and bounds: about ten
 * operations where dgemm needs two. */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void line(const char *name, int64_t n, double seconds)
{
    double flop = 2 * (double)n * (double)n * (double)n;
    printf("%-28s %8.3f s %8.2f GFLOP/s\n", name, seconds, flop / seconds * 1e-9);
}

static int bench_reference(int64_t n, int threads)
{
    char text[128];
    struct case_id id;
    struct case_plan plan;
    struct errinfo e = {0};
    snprintf(text, sizeof text, "gemm/naive:m=%lld,n=%lld,k=%lld", (long long)n, (long long)n,
             (long long)n);
    if (caseid_parse(text, &id, &e) || id.family->plan(&id, &plan, &e)) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    struct tensor input[2];
    const struct tensor *at[] = {&input[0], &input[1], NULL};
    struct oracle o;
    double start = now();
    for (int i = 0; i < 2; i++)
        if (case_input(&id, &plan, i, &input[i], &e))
            return 1;
    printf("%-28s %8.3f s\n", "inputs", now() - start);
    start = now();
    if (case_oracle(&id, &plan, at, 2, threads, &o, &e))
        return 1;
    line("reference", n, now() - start);
    oracle_release(&o);
    tensor_release(&input[0]);
    tensor_release(&input[1]);
    return 0;
}

#ifdef HAVE_OPENBLAS
static void bench_dgemm(int64_t n, int threads)
{
    size_t count = (size_t)(n * n);
    double *a = calloc(3 * count, sizeof *a);
    if (!a)
        return;
    for (size_t i = 0; i < 2 * count; i++)
        a[i] = (double)(i % 1000) * 1e-3;
    openblas_set_num_threads(threads);
    for (int i = 0; i < 2; i++) {
        double start = now();
        int size = (int)n;
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size, size, size, 1, a, size,
                    a + count, size, 0, a + 2 * count, size);
        if (i)
            line("OpenBLAS dgemm", n, now() - start);
    }
    free(a);
}
#endif

int main(int argc, char **argv)
{
    int64_t n = argc > 1 ? atoll(argv[1]) : 1024;
    int threads = argc > 2 ? atoi(argv[2]) : 2;
    int status = bench_reference(n, threads);
#ifdef HAVE_OPENBLAS
    bench_dgemm(n, threads);
#endif
    return status;
}
