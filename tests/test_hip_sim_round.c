/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hipkernel.h"
#include "suite.h"

/* The sequences hipcc makes of a division or a root give correctly rounded results: the host's
 * division and root are IEEE. */

/* --- rounding: the host's division and root are IEEE
 * ------------------------------------------ */

enum { PAIRS = 1 << 17 };

static bool same_32(uint32_t p, uint32_t q)
{
    const bool nan_p = (p & 0x7fffffff) > 0x7f800000, nan_q = (q & 0x7fffffff) > 0x7f800000;
    return p == q || (nan_p && nan_q);
}

static bool same_64(uint64_t p, uint64_t q)
{
    const uint64_t inf = 0x7ff0000000000000, top = 1ull << 63;
    return p == q || ((p & ~top) > inf && (q & ~top) > inf);
}

/* Bit patterns at random, subnormals and specials among them. */
static void quotient_32(const char *kernel, float (*host)(float, float))
{
    uint32_t *a = malloc(3 * PAIRS * sizeof *a), *b = a + PAIRS, *c = b + PAIRS;
    uint64_t seed = 11;
    for (int n = 0; n < PAIRS; n++) {
        a[n] = (uint32_t)random_next(&seed);
        b[n] = (uint32_t)random_next(&seed);
        if (n % 8 == 0)
            a[n] &= 0x807fffff;
        if (n % 8 == 1)
            b[n] &= 0x807fffff;
        if (n % 8 == 2)
            b[n] = (a[n] & 0xff800000) | (b[n] & 0x7fffff);
    }
    run(kernel, a, b, c, sizeof *a, PAIRS, 0);
    for (int n = 0; n < PAIRS; n++) {
        float p, q, r;
        uint32_t want;
        memcpy(&p, &a[n], 4);
        memcpy(&q, &b[n], 4);
        r = host(p, q);
        memcpy(&want, &r, 4);
        ck_assert_msg(same_32(c[n], want), "%s(%08x, %08x) = %08x, not %08x", kernel, a[n],
                      b[n], c[n], want);
    }
    free(a);
}

static void quotient_64(const char *kernel, double (*host)(double, double))
{
    uint64_t *a = malloc(3 * PAIRS * sizeof *a), *b = a + PAIRS, *c = b + PAIRS;
    uint64_t seed = 12;
    for (int n = 0; n < PAIRS; n++) {
        a[n] = random_next(&seed) << 32 ^ random_next(&seed);
        b[n] = random_next(&seed) << 32 ^ random_next(&seed);
        if (n % 8 == 0)
            a[n] &= 0x800fffffffffffff;
        if (n % 8 == 1)
            b[n] &= 0x800fffffffffffff;
        if (n % 8 == 2)
            b[n] = (a[n] & 0xfff0000000000000) | (b[n] & 0xfffffffffffff);
    }
    run(kernel, a, b, c, sizeof *a, PAIRS, 0);
    for (int n = 0; n < PAIRS; n++) {
        double p, q, r;
        uint64_t want;
        memcpy(&p, &a[n], 8);
        memcpy(&q, &b[n], 8);
        r = host(p, q);
        memcpy(&want, &r, 8);
        ck_assert_msg(same_64(c[n], want), "%s(%a, %a) = %016llx, not %016llx", kernel, p, q,
                      (unsigned long long)c[n], (unsigned long long)want);
    }
    free(a);
}

static float divided(float a, float b)
{
    return a / b;
}
static double divided_64(double a, double b)
{
    return a / b;
}
static float rooted(float a, float b)
{
    (void)b;
    return sqrtf(a);
}
static double rooted_64(double a, double b)
{
    (void)b;
    return sqrt(a);
}
static float fused(float a, float b)
{
    return fmaf(a, b, a);
}

START_TEST(division_is_correctly_rounded)
{
    quotient_32("divide", divided);
    quotient_64("divide64", divided_64);
}
END_TEST

START_TEST(roots_and_fused_are_correctly_rounded)
{
    quotient_32("root", rooted);
    quotient_64("root64", rooted_64);
    quotient_32("fused", fused);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hip_sim_round");
    TCase *c = tcase_create("round");
    tcase_add_checked_fixture(c, module_open, module_close);
    tcase_add_test(c, division_is_correctly_rounded);
    tcase_add_test(c, roots_and_fused_are_correctly_rounded);
    suite_add_tcase(s, c);
    return suite_run(s);
}
