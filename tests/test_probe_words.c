/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

#include "../cases/probe/probe.h"
#include "caseid.h"
#include "suite.h"

/* --- words from outputs that the test makes --------------------------------------------------
 */

static struct case_id id_of(const char *text)
{
    struct case_id id;
    struct errinfo e = {0};
    ck_assert_msg(!caseid_parse(text, &id, &e), "%s", e.text);
    return id;
}

/* The answer to `name` when its tries give `out`; the others give nonsense. */
static struct case_reading answer(const char *case_text, const char *name, const uint32_t *out)
{
    struct case_id id = id_of(case_text);
    struct probe_table *t = probe_table_make(probe_unit_of(&id));
    struct case_reading *r = calloc(CASE_READINGS_MAX, sizeof *r), found = {.name = ""};
    struct tensor x;
    const int64_t dim = t->tries;
    ck_assert(!tensor_init(&x, DTYPE_U32, 1, &dim, NULL));
    for (int i = 0; i < t->tries; i++)
        tensor_set_bits(&x, i, 0xdeadbeef);
    for (int l = 0; l < t->lines; l++)
        for (int k = 0; k < t->line[l].count && !strcmp(t->line[l].name, name); k++)
            tensor_set_bits(&x, t->line[l].first + k, out[k]);
    int count = probe_readings(&id, &x, CASE_READINGS_MAX, r);
    ck_assert_int_eq(count, t->lines);
    for (int i = 0; i < count; i++)
        if (!strcmp(r[i].name, name))
            found = r[i];
    x.count = t->tries - 1;
    ck_assert_int_eq(probe_readings(&id, &x, CASE_READINGS_MAX, r), 0);
    tensor_release(&x);
    free(r);
    free(t);
    return found;
}

START_TEST(words_follow_the_bits)
{
    static const struct {
        const char *id, *name;
        uint32_t out[4];
        const char *words;
    } made[] = {
        {"probe/scalar",
         "rounding of a + b",
         {0x3f800001, 0xbf800001, 0x3f800000},
         "toward zero"},
        {"probe/scalar", "rounding of a + b", {0x3f800001, 0xbf800002, 0x3f800000}, "downward"},
        {"probe/scalar", "rounding of a + b", {1, 2, 0xabc}, "0x1, 0x2, 0xabc"},
        {"probe/scalar", "subnormals, a * b", {0x27000000, 0}, "results flushed"},
        {"probe/scalar", "subnormals, a * b", {0, 0x00080000}, "operands taken as zero"},
        {"probe/scalar", "lanes that run together", {64}, "64"},
        {"probe/tf32",
         "low 13 bits of operands",
         {0x3f800000, 0x3f802000},
         "rounded to nearest even"},
    };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        struct case_reading r = answer(made[i].id, made[i].name, made[i].out);
        ck_assert_str_eq(r.words, made[i].words);
    }
}
END_TEST

/* The masks of a unit summed by the test: `size` products at a time with the sum so far, `unit`
 * of the largest term lost when large terms cancel. */
static double group_sum(const struct probe_try *try, int size, bool backward)
{
    double sum = 0;
    for (int first = 0; first < PROBE_DEPTH; first += size) {
        double exact = sum, top = fabs(sum);
        for (int k = first; k < first + size; k++) {
            int at = backward ? PROBE_DEPTH - 1 - k : k;
            double a = dtype_value(DTYPE_F16, try->a[at]);
            exact += a;
            top = fmax(top, fabs(a));
        }
        sum = top >= 0x1p14 ? trunc(exact * 0x1p-8) * 0x1p8 : exact;
    }
    return sum;
}

START_TEST(orders_are_read_from_masks)
{
    static const struct {
        int size;
        bool backward;
        const char *words;
    } made[] = {{8, false, "8, in ascending order"},
                {4, false, "4, in ascending order"},
                {16, false, "16, in ascending order"},
                {2, false, "2, in ascending order"},
                {1, false, "1, in ascending order"},
                {4, true, "in another than ascending order; probe --tree shows it"}};
    struct probe_table *t = probe_table_make(PROBE_F16);
    uint32_t out[2 * PROBE_DEPTH];
    const struct probe_line *order = t->line;
    while (order->kind != PROBE_ORDER)
        order++;
    for (int k = 0; k < order->count; k++) {
        double sum = group_sum(&t->try[order->first + k], made[_i].size, made[_i].backward);
        out[k] = (uint32_t)dtype_round(DTYPE_F32, sum);
    }
    struct case_reading r = answer("probe/f16", order->name, out);
    ck_assert_str_eq(r.words, made[_i].words);
    free(t);
}
END_TEST

/* --- the tables ------------------------------------------------------------------------------
 */

static void mpfr_function(const char *name, mpfr_t y, const uint32_t *in)
{
    mpfr_set_flt(y, (float)dtype_value(DTYPE_F32, in[0]), MPFR_RNDN);
    if (!strcmp(name, "b / a"))
        mpfr_d_div(y, dtype_value(DTYPE_F32, in[1]), y, MPFR_RNDN);
    if (!strcmp(name, "1 / a"))
        mpfr_ui_div(y, 1, y, MPFR_RNDN);
    if (!strcmp(name, "sqrtf"))
        mpfr_sqrt(y, y, MPFR_RNDN);
    if (!strcmp(name, "rsqrtf"))
        mpfr_rec_sqrt(y, y, MPFR_RNDN);
    if (!strcmp(name, "expf"))
        mpfr_exp(y, y, MPFR_RNDN);
    if (!strcmp(name, "exp2f"))
        mpfr_exp2(y, y, MPFR_RNDN);
    if (!strcmp(name, "logf"))
        mpfr_log(y, y, MPFR_RNDN);
    if (!strcmp(name, "log2f"))
        mpfr_log2(y, y, MPFR_RNDN);
}

START_TEST(sweeps_know_the_nearest_number)
{
    struct probe_table *t = probe_table_make(PROBE_SCALAR);
    mpfr_t y;
    int sweeps = 0;
    mpfr_init2(y, 200);
    for (int l = 0; l < t->lines; l++)
        for (int k = 0; k < t->line[l].count && t->line[l].kind == PROBE_SWEEP; k++, sweeps++) {
            const struct probe_try *x = &t->try[t->line[l].first + k];
            mpfr_function(probe_op_name(x->op), y, x->in);
            float nearest = mpfr_get_flt(y, MPFR_RNDN);
            ck_assert_uint_eq(probe_op_exact(x->op, x->in),
                              dtype_round(DTYPE_F32, (double)nearest));
        }
    ck_assert_int_eq(sweeps, 8 * 128);
    mpfr_clear(y);
    free(t);
}
END_TEST

static float float_of(uint32_t bits)
{
    return (float)dtype_value(DTYPE_F32, bits);
}

START_TEST(sure_answers_are_ieee)
{
    struct probe_table *t = probe_table_make(PROBE_SCALAR);
    int seen = 0;
    for (int i = 0; i < t->tries; i++) {
        const struct probe_try *x = &t->try[i];
        float a = float_of(x->in[0]), b = float_of(x->in[1]), c = float_of(x->in[2]), y;
        const char *name = probe_op_name(x->op);
        if (!x->sure)
            continue;
        if (!strcmp(name, "a + b"))
            y = a + b;
        else if (!strcmp(name, "a * b"))
            y = a * b;
        else if (!strcmp(name, "fmaf"))
            y = fmaf(a, b, c);
        else
            continue;
        ck_assert_uint_eq(dtype_round(DTYPE_F32, (double)y), x->want);
        seen++;
    }
    ck_assert_int_eq(seen, 9);
    free(t);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("probe_words");
    TCase *c = tcase_create("words");
    tcase_add_test(c, words_follow_the_bits);
    tcase_add_loop_test(c, orders_are_read_from_masks, 0, 6);
    tcase_add_test(c, sweeps_know_the_nearest_number);
    tcase_add_test(c, sure_answers_are_ieee);
    suite_add_tcase(s, c);
    return suite_run(s);
}
