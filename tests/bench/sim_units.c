/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the arithmetic the simulators share is, on one thread, in processor time. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "dot2.h"
#include "fpwarp.h"
#include "hmma.h"
#include "trans.h"

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const struct fp_rules rules = {.name = "bench", .nan = {[FP_F32] = 0x7fc00000}};
static const struct fp_env env = {.rules = &rules};

static uint16_t a[16][16], b[16][16], h[16][16];
static uint32_t c[16][16], x[32], y[32], z[32];
static uint64_t sink;

static void bench_wmma_f32(void)
{
    wmma_f32_f16(c, a, b, c);
    c[3][4] &= 0x3fffffff; /* stay finite */
}

static void bench_wmma_f16(void)
{
    memset(h, 0, sizeof h);
    wmma_f16_f16(h, a, b, h);
}

static void bench_wmma_iu8(void)
{
    uint8_t bytes[16][16];
    memcpy(bytes, a, sizeof bytes);
    wmma_i32_iu8(c, bytes, bytes, c, true, true, false);
}

static void bench_hmma_f32(void)
{
    hmma_f32(HMMA_F16, 16, 8, 16, a, b, c[0], c[0]);
    c[3][4] &= 0x3fffffff;
}

static void bench_hmma_f16(void)
{
    memset(h, 0, sizeof h);
    hmma_f16(16, 8, 16, a[0], b[0], h[0], h[0]);
}

static void bench_warp_fma(void)
{
    fp_warp_fma(&env, z, x, y, z);
}

static void bench_rcp(void)
{
    trans_rcp_f32_row(z, x);
}

static void bench_exp(void)
{
    trans_exp_f32_row(z, x);
}

static void bench_exact_fma(void)
{
    for (int i = 0; i < 32; i++)
        sink += fp_fma(&env, FP_F32, x[i], y[i], z[i]);
}

static const struct {
    const char *name, *unit;
    void (*run)(void);
    double work; /* units a call */
} benches[] = {{"WMMA, f32 sums", "multiply-adds", bench_wmma_f32, 4096},
               {"WMMA, f16 sums", "multiply-adds", bench_wmma_f16, 4096},
               {"WMMA, iu8", "multiply-adds", bench_wmma_iu8, 4096},
               {"mma, f32 sums", "multiply-adds", bench_hmma_f32, 2048},
               {"mma, f16 sums", "multiply-adds", bench_hmma_f16, 2048},
               {"f32 fma of a warp", "lanes", bench_warp_fma, 32},
               {"v_rcp_f32 of a wave", "lanes", bench_rcp, 32},
               {"v_exp_f32 of a wave", "lanes", bench_exp, 32},
               {"exact f32 fma", "lanes", bench_exact_fma, 32}};

int main(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        a[i / 16][i % 16] = (uint16_t)(0x3000 + i * 37 % 0x0c00 + (i % 3 ? 0x8000 : 0));
        b[i / 16][i % 16] = (uint16_t)(0x3000 + i * 101 % 0x0c00 + (i % 5 ? 0 : 0x8000));
        x[i % 32] = 0x3f000000 + i * 0x7001;
        y[i % 32] = 0xbf000000 + i * 0x5003;
    }
    for (size_t i = 0; i < sizeof benches / sizeof *benches; i++) {
        double start = seconds(), spent = 0;
        long calls = 0;
        for (; spent < 0.3; spent = seconds() - start)
            for (int k = 0; k < 100; k++, calls++)
                benches[i].run();
        printf("%-20s %8.1f million %s a second\n", benches[i].name,
               1e-6 * (double)calls * benches[i].work / spent, benches[i].unit);
    }
    return sink == 1;
}
