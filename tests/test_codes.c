/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdlib.h>

#include "codes.h"
#include "suite.h"

/* A table with both kinds of cells, 16 codes; the test's own formula. */
static int64_t cell(int i, int j)
{
    return i == j ? 100 + 7 * i : (i * 5 + j * 3) % 7 == 0 ? (i * i + 2 * j) % 11 : 0;
}

static void fill(struct codes *c, enum dtype d)
{
    struct errinfo e;
    ck_assert_int_eq(codes_init(c, d, &e), 0);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++)
            for (int64_t n = 0; n < cell(i, j); n++)
                codes_add(c, (uint64_t)i, (uint64_t)j);
}

static void near(double x, double want)
{
    ck_assert_msg(fabs(x - want) <= 1e-12 * fabs(want), "%.17g, not %.17g", x, want);
}

/* SciPy 1.17.1: stats.chi2_contingency([a, b], correction=False) of the two histograms, its
 * statistic, p and degrees of freedom; stats.chi2.sf for Bowker's. */
START_TEST(published_values)
{
    struct codes c;
    struct codes_stats s;
    fill(&c, DTYPE_U8);
    codes_finish(&c, &s);
    ck_assert_int_eq(s.count, 2603);
    ck_assert_int_eq(s.flips, 163);
    near(s.chi2, 2.0570134255601862);
    near(s.chi2_p, 0.99996428298291185);
    ck_assert_int_eq(s.chi2_df, 15);
    near(s.cramer, 0.019877715992468913);
    near(s.bowker, 141.1);
    ck_assert_int_eq(s.bowker_df, 28);
    near(s.bowker_p, 4.825287673296987e-17);
    codes_release(&c);
}
END_TEST

/* Counted once more from the formula. */
START_TEST(counts)
{
    struct codes c;
    struct codes_stats s;
    int64_t up = 0, down = 0, most = 0;
    double distance = 0;
    fill(&c, DTYPE_CODE8);
    codes_finish(&c, &s);
    for (int i = 0; i < 16; i++) {
        int64_t a = 0, b = 0;
        for (int j = 0; j < 16; j++) {
            a += cell(i, j);
            b += cell(j, i);
            up += j > i ? cell(i, j) : 0;
            down += j < i ? cell(i, j) : 0;
            most = i != j && cell(i, j) > most ? cell(i, j) : most;
        }
        distance += fabs((double)(a - b)) / 2 / 2603;
    }
    ck_assert_int_eq(s.up, up);
    ck_assert_int_eq(s.down, down);
    near(s.distance, distance);
    ck_assert_int_eq(s.top[0].count, most);
    ck_assert_int_eq(cell(s.top[0].from, s.top[0].to), most);
    for (int k = 1; k < CODES_TOP; k++)
        ck_assert(s.top[k].count <= s.top[k - 1].count);
    codes_release(&c);
}
END_TEST

/* Signed bytes and 8-bit floats flip upwards to a larger number, not to larger bits. */
START_TEST(directions)
{
    static const struct {
        enum dtype d;
        uint64_t from, to;
    } up[] = {{DTYPE_I8, 0xff, 0x01}, {DTYPE_U8, 0x01, 0xff}, {DTYPE_E4M3, 0xb8, 0x38},
              {DTYPE_E5M2, 0xc0, 0xbc}};
    for (size_t i = 0; i < sizeof up / sizeof *up; i++) {
        struct codes c;
        struct codes_stats s;
        struct errinfo e;
        ck_assert_int_eq(codes_init(&c, up[i].d, &e), 0);
        codes_add(&c, up[i].from, up[i].to);
        codes_finish(&c, &s);
        ck_assert(s.up == 1 && s.down == 0 && s.flips == 1);
        codes_release(&c);
    }
}
END_TEST

/* Two codes a byte, and tables that were counted apart. */
START_TEST(packed_and_merged)
{
    struct codes c, other;
    struct codes_stats s;
    struct errinfo e;
    ck_assert_int_eq(codes_init(&c, DTYPE_NF4X2, &e), 0);
    ck_assert_int_eq(codes_init(&other, DTYPE_NF4X2, &e), 0);
    codes_add(&c, 0x12, 0x13);
    codes_add(&other, 0x12, 0x13);
    codes_add(&other, 0x21, 0x31);
    codes_merge(&c, &other);
    codes_finish(&c, &s);
    ck_assert(s.codes == 16 && s.count == 6 && s.flips == 3);
    ck_assert(s.top[0].from == 2 && s.top[0].to == 3 && s.top[0].count == 3);
    ck_assert_int_eq(s.top[1].count, 0);
    codes_release(&c);
    codes_release(&other);
    ck_assert_int_eq(codes_of(DTYPE_F16), 0);
}
END_TEST

/* Q(df/2, x/2) by MPFR. */
START_TEST(tail_of_chi_square)
{
    mpfr_t a, x, q, g;
    mpfr_inits2(200, a, x, q, g, (mpfr_ptr)0);
    for (int df = 1; df < 3000; df = df * 2 + 1)
        for (double at = 0.01 * df; at < 3 * df + 200; at = at * 1.4 + 0.1) {
            mpfr_set_d(a, df / 2.0, MPFR_RNDN);
            mpfr_set_d(x, at / 2, MPFR_RNDN);
            mpfr_gamma_inc(q, a, x, MPFR_RNDN);
            mpfr_gamma(g, a, MPFR_RNDN);
            mpfr_div(q, q, g, MPFR_RNDN);
            double want = mpfr_get_d(q, MPFR_RNDN), p = codes_chi2_p(at, df);
            double allowed = want > 0.5 ? 1e-12 + 1e-13 * df : (1e-11 + 1e-13 * df) * want;
            ck_assert_msg(want < 1e-290 ? p < 1e-289 : fabs(p - want) <= allowed,
                          "df %d, x %g: %.17g, not %.17g", df, at, p, want);
        }
    mpfr_clears(a, x, q, g, (mpfr_ptr)0);
    ck_assert(codes_chi2_p(0, 3) == 1 && codes_chi2_p(5, 0) == 1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("codes");
    TCase *c = tcase_create("codes");
    suite_add_tcase(s, c);
    tcase_add_test(c, published_values);
    tcase_add_test(c, counts);
    tcase_add_test(c, directions);
    tcase_add_test(c, packed_and_merged);
    tcase_add_test(c, tail_of_chi_square);
    return suite_run(s);
}
