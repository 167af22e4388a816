/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

#include "expr.h"
#include "suite.h"

static struct errinfo e;

static const char *const whole_names[] = {"n", "m", ""};
static const struct expr_names sizes = {.n_value = 3, .value = whole_names};

static enum err whole(const char *text, int64_t n, int64_t m, int64_t *ret)
{
    struct expr x;
    const int64_t value[] = {n, m, 0};
    enum err err = expr_parse(text, false, &sizes, &x, &e);
    if (err)
        return err;
    err = expr_whole(&x, value, ret, &e);
    expr_release(&x);
    return err;
}

/* The right column is C's own arithmetic. */
START_TEST(whole_numbers)
{
    const int64_t n = 1001, m = -7;
    const struct {
        const char *text;
        int64_t want;
    } rows[] = {
        {"n", n},
        {" n + m*2 - 3 ", n + m * 2 - 3},
        {"(n + m) * 2 % 10", (n + m) * 2 % 10},
        {"n / m / 3", n / m / 3},
        {"m % 4", m % 4},
        {"-n - -m", -n - -m},
        {"ceildiv(n, 256) * 256", 1024},
        {"ceildiv(1000, 250)", 4},
        {"ceildiv(0, 5)", 0},
        {"min(n, max(m, 3), )", 0},
        {"min(n, max(m, 3))", 3},
        {"abs(m)", 7},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775807 - 1", INT64_MIN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t got = 0;
        if (strstr(rows[i].text, ", )")) {
            ck_assert_int_eq(whole(rows[i].text, n, m, &got), ERR_USAGE);
            continue;
        }
        ck_assert_msg(!whole(rows[i].text, n, m, &got), "%s: %s", rows[i].text, e.text);
        ck_assert_msg(got == rows[i].want, "%s is %lld", rows[i].text, (long long)got);
    }
}
END_TEST

START_TEST(whole_refusals)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "ends too early"},
        {"n +", "ends too early"},
        {"n n", "operator"},
        {"(n", "')' is missing"},
        {"nn", "'nn'"},
        {"ceildib(n, 2)", "did you mean 'ceildiv'?"},
        {"ceildiv(n)", "',' is missing"},
        {"1.5", "whole number"},
        {"9223372036854775808", "whole number"},
        {"exp(n)", "'exp'"},
        {"n[0]", "operator"},
        {"sum(k, n)", "'sum'"},
        {"n / 0", "division by zero"},
        {"n % (m - m)", "division by zero"},
        {"n * 9223372036854775807", "64 bits"},
        {"ceildiv(n, m)", "negative"},
        {"9223372036854775807 + 1", "64 bits"},
        {"(-9223372036854775807 - 1) / -1", "64 bits"},
        {"-(-9223372036854775807 - 1)", "64 bits"},
        {"$", "a number or a name"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t got = 0;
        ck_assert_msg(whole(rows[i].text, 5, -1, &got), "%s is taken", rows[i].text);
        ck_assert_msg(strstr(e.text, rows[i].says), "%s: %s", rows[i].text, e.text);
    }
    char deep[4000];
    memset(deep, '(', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    ck_assert_int_eq(expr_parse(deep, false, &sizes, &(struct expr){0}, &e), ERR_USAGE);
}
END_TEST

/* --- formulas --------------------------------------------------------------------------------
 */

enum { N = 37 };
static const char *const real_names[] = {"alpha"};
static const char *const tensor_names[] = {"x", "y", "w"};
static const int ranks[] = {1, 1, 2};

static const struct expr_rules f32_rules = {.unit = 0x1p-24,
                                            .tiny = 0x1p-149,
                                            .largest = 0x1.fffffep127,
                                            .exact_div = true,
                                            .exact_sqrt = true};

static struct tensor x, y, w;
static const struct tensor *const tensors[] = {&x, &y, &w};
static const long double alpha[] = {0.7f};

static float draw(void)
{
    return ldexpf((float)(rand() % (1 << 24)) - (1 << 23), -20 - rand() % 4);
}

static void setup(void)
{
    srand(1);
    ck_assert(!tensor_init(&x, DTYPE_F32, 1, (int64_t[]){N}, &e));
    ck_assert(!tensor_init(&y, DTYPE_F32, 1, (int64_t[]){N}, &e));
    ck_assert(!tensor_init(&w, DTYPE_F32, 2, (int64_t[]){N, 5}, &e));
    for (int i = 0; i < N; i++) {
        ((float *)x.data)[i] = draw();
        ((float *)y.data)[i] = draw();
    }
    for (int i = 0; i < N * 5; i++)
        ((float *)w.data)[i] = draw();
}

static void teardown(void)
{
    tensor_release(&x);
    tensor_release(&y);
    tensor_release(&w);
}

static struct expr parsed(const char *text, int n_index, const char *const *index)
{
    struct expr r = {0};
    const struct expr_names names = {.n_value = 1,
                                     .value = real_names,
                                     .n_tensor = 3,
                                     .tensor = tensor_names,
                                     .rank = ranks,
                                     .n_index = n_index,
                                     .index = index};
    ck_assert_msg(!expr_parse(text, true, &names, &r, &e), "%s: %s", text, e.text);
    return r;
}

static struct expr_env env_of(const struct expr *f)
{
    struct expr_env v = {.value = alpha, .tensor = tensors};
    for (int i = 0; i < EXPR_INDEX_MAX; i++)
        v.range[i] = -1;
    ck_assert_msg(!expr_ranges(f, tensors, tensor_names, v.range, &e), "%s", e.text);
    ck_assert(!expr_env_init(&v, f, &e));
    return v;
}

static float f32_axpy(float a, float b)
{
    return 0.7f * a + b;
}
static float f32_fused(float a, float b)
{
    return fmaf(0.7f, a, b);
}
static float f32_poly(float a, float b)
{
    return (a - b) * (a - b) / (a * a + 1.0f);
}
static float f32_silu(float a, float b)
{
    (void)b;
    return a / (1.0f + expf(-a));
}
static float f32_root(float a, float b)
{
    return sqrtf(fabsf(a)) + 0.1f * b;
}
static float f32_gelu(float a, float b)
{
    (void)b;
    return 0.5f * a * (1.0f + erff(a * 0.70710678f));
}

/* What C computes in f32, with its own libm, is a device that is right: it stays inside, and
 * the bound is not a hundred times too wide somewhere. */
START_TEST(f32_stays_inside)
{
    static const struct {
        const char *text;
        float (*f)(float, float);
    } rows[] = {
        {"alpha * x + y", f32_axpy},     {"alpha * x + y", f32_fused},
        {"(x - y) * (x - y) / (x * x + 1)", f32_poly},
        {"x / (1 + exp(-x))", f32_silu}, {"sqrt(abs(x)) + 0.1 * y", f32_root},
        {"0.5 * x * (1 + erf(x * 0.70710678))", f32_gelu},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct expr f = parsed(rows[r].text, 0, NULL);
        struct expr_env v = env_of(&f);
        long double worst = 0;
        for (int i = 0; i < N; i++) {
            v.element = i;
            struct expr_real got = expr_real(&f, &f32_rules, &v);
            long double off = fabsl((long double)rows[r].f(((float *)x.data)[i], ((float *)y.data)[i]) - got.value);
            ck_assert_msg(off <= got.slack + got.error, "%s [%d]: off by %Lg, bound %Lg",
                          rows[r].text, i, off, got.slack);
            worst = fmaxl(worst, off / got.slack);
        }
        ck_assert_msg(worst > 0.01L, "%s: %Lg of the bound", rows[r].text, worst);
        expr_env_release(&v);
        expr_release(&f);
    }
}
END_TEST

/* Each bound is reached: single operations on many numbers, and a sum that loses every term. */
START_TEST(bounds_are_reached)
{
    static const char *const text[] = {"x * y", "x + y", "x / y", "sqrt(abs(x))"};
    for (size_t r = 0; r < 4; r++) {
        struct expr f = parsed(text[r], 0, NULL);
        struct expr_env v = env_of(&f);
        long double worst = 0;
        for (int i = 0; i < 20000; i++) {
            float a = draw(), b = draw();
            ((float *)x.data)[0] = a;
            ((float *)y.data)[0] = b;
            float c = r == 0 ? a * b : r == 1 ? a + b : r == 2 ? a / b : sqrtf(fabsf(a));
            struct expr_real got = expr_real(&f, &f32_rules, &v);
            long double off = fabsl((long double)c - got.value);
            ck_assert(off <= got.slack + got.error || !isfinite(c));
            if (got.slack > 0 && isfinite(c))
                worst = fmaxl(worst, off / got.slack);
        }
        ck_assert_msg(worst > 0.95L, "%s: %Lg of the bound", text[r], worst);
        expr_env_release(&v);
        expr_release(&f);
    }
    struct expr f = parsed("sum(i, x[i])", 0, NULL);
    struct expr_env v = env_of(&f);
    float sum = 0;
    for (int i = 0; i < N; i++)
        sum += ((float *)x.data)[i] = i ? 0x1p-24f : 1; /* ties go to even: nothing arrives */
    struct expr_real got = expr_real(&f, &f32_rules, &v);
    ck_assert(sum == 1 && got.value == 1 + (N - 1) * 0x1p-24L);
    ck_assert(got.value - sum <= got.slack && got.value - sum > 0.95L * got.slack);
    expr_env_release(&v);
    expr_release(&f);
}
END_TEST

/* Softmax over w's rows and a product, with MPFR at 200 bits as the second route. */
START_TEST(sums_over_indices)
{
    static const char *const index[] = {"i", "j"};
    struct expr f = parsed("exp(w[i,j] - max(k, w[i,k])) / sum(m, exp(w[i,m] - max(k, w[i,k])))",
                           2, index);
    struct expr_env v = env_of(&f);
    mpfr_t t, s, q;
    mpfr_inits2(200, t, s, q, NULL);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < 5; j++) {
            const float *row = (float *)w.data + 5 * i;
            mpfr_set_zero(s, 1);
            for (int k = 0; k < 5; k++) {
                mpfr_set_d(t, row[k], MPFR_RNDN);
                mpfr_exp(t, t, MPFR_RNDN);
                mpfr_add(s, s, t, MPFR_RNDN);
                if (k == j)
                    mpfr_set(q, t, MPFR_RNDN);
            }
            mpfr_div(q, q, s, MPFR_RNDN);
            v.index[0] = i;
            v.index[1] = j;
            struct expr_real got = expr_real(&f, &f32_rules, &v);
            mpfr_set_ld(t, got.value, MPFR_RNDN);
            mpfr_sub(t, t, q, MPFR_RNDN);
            long double off = fabsl(mpfr_get_ld(t, MPFR_RNDN));
            ck_assert_msg(off <= got.error, "[%d,%d] off by %Lg, error %Lg", i, j, off, got.error);
            ck_assert(got.error < 1e-15L && got.slack > 1e-9L * got.value);
        }
    mpfr_clears(t, s, q, NULL);
    expr_env_release(&v);
    expr_release(&f);
}
END_TEST

/* A device's sum in the worst order stays inside, and integers come out exact. */
START_TEST(sums_in_any_order)
{
    struct expr f = parsed("sum(i, x[i] * y[i])", 0, NULL), g = parsed("mean(i, w[i,j])", 1, (const char *const[]){"j"});
    struct expr_env v = env_of(&f), u = env_of(&g);
    struct expr_real got = expr_real(&f, &f32_rules, &v);
    float up = 0, down = 0;
    for (int i = 0; i < N; i++) {
        up = fmaf(((float *)x.data)[i], ((float *)y.data)[i], up);
        down += ((float *)x.data)[N - 1 - i] * ((float *)y.data)[N - 1 - i];
    }
    ck_assert(fabsl(up - got.value) <= got.slack && fabsl(down - got.value) <= got.slack);
    ck_assert(up != down);
    for (int i = 0; i < N * 5; i++)
        ((float *)w.data)[i] = (float)(i % 5);
    for (int j = 0; j < 5; j++) {
        u.index[0] = j;
        ck_assert(expr_real(&g, &f32_rules, &u).value == j);
        for (int i = 0; i < EXPR_NODES_MAX && j < 4; i++) /* a new column: nothing is remembered */
            ck_assert(expr_real(&g, &f32_rules, &u).value == j);
    }
    expr_env_release(&v);
    expr_env_release(&u);
    expr_release(&f);
    expr_release(&g);
}
END_TEST

/* Where nothing can be said, nothing is. */
START_TEST(unknown_is_infinite)
{
    struct expr_rules r = f32_rules;
    struct expr f = parsed("exp(x) / exp(x)", 0, NULL);
    struct expr_env v = env_of(&f);
    ((float *)x.data)[0] = 90;
    ck_assert(isinf(expr_real(&f, &r, &v).slack));
    ((float *)x.data)[0] = 1;
    ck_assert(!isinf(expr_real(&f, &r, &v).slack));
    r.approximate = true;
    ck_assert(isinf(expr_real(&f, &r, &v).slack));
    ((float *)x.data)[0] = NAN;
    ck_assert(isnan(expr_real(&f, &f32_rules, &v).value));
    ck_assert(expr_real(&f, &f32_rules, &v).slack == 0);
    expr_env_release(&v);
    expr_release(&f);
}
END_TEST

START_TEST(formula_refusals)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"x[i]", "no index"},           {"sum(i, x[i,i])", "more indices"},
        {"sum(i, w[i])", "fewer"},      {"sum(i, sum(i, x[i]))", "in use"},
        {"x % y", "whole numbers"},     {"z + 1", "'z'"},
        {"sum(x, 1)", "'sum'"},         {"pow(x, 2)", "'pow'"},
        {"x[", "a name is wanted"},     {"sum(i, x[i]", "')' is missing"},
        {"1e9999", "too large"},
    };
    const struct expr_names names = {
        .n_tensor = 3, .tensor = tensor_names, .rank = ranks, .n_value = 1, .value = real_names};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct expr f;
        ck_assert_msg(expr_parse(rows[i].text, true, &names, &f, &e), "%s", rows[i].text);
        ck_assert_msg(strstr(e.text, rows[i].says), "%s: %s", rows[i].text, e.text);
    }
    int64_t range[EXPR_INDEX_MAX] = {-1, -1, -1, -1, -1, -1, -1, -1};
    struct expr f = parsed("sum(k, x[k] * w[i,k])", 1, (const char *const[]){"i"});
    ck_assert(expr_ranges(&f, tensors, tensor_names, range, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "runs to"));
    expr_release(&f);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("expr");
    TCase *c = tcase_create("expr");
    suite_add_tcase(s, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, whole_numbers);
    tcase_add_test(c, whole_refusals);
    tcase_add_test(c, f32_stays_inside);
    tcase_add_test(c, bounds_are_reached);
    tcase_add_test(c, sums_over_indices);
    tcase_add_test(c, sums_in_any_order);
    tcase_add_test(c, unknown_is_infinite);
    tcase_add_test(c, formula_refusals);
    return suite_run(s);
}
