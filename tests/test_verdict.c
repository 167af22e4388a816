/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "verdict.h"

/* A clean comparison of 1000 elements: every case below spoils one thing of it. */
static void clean(struct finding *f, struct finding_out *o)
{
    memset(f, 0, sizeof *f);
    memset(o, 0, sizeof *o);
    f->out = o;
    f->n_out = 1;
    strcpy(o->name, "c");
    o->stats.has_reference = true;
    o->stats.power = 1;
    struct side_stats *side[] = {&o->stats.a, &o->stats.b};
    for (int i = 0; i < 2; i++) {
        side[i]->count = 1000;
        side[i]->correctly_rounded = 900;
        side[i]->worst_bound = 0.1;
        side[i]->worst_index = side[i]->first_wrong = -1;
        side[i]->ulp.count = 1000;
        side[i]->ulp.rms = 0.3;
    }
    o->stats.pair.count = 1000;
    o->stats.pair.bits_equal = 1000;
    o->stats.pair.ks_p = 1;
    o->stats.pair.worst_index = o->stats.pair.first_index = -1;
}

static void differ(struct finding_out *o)
{
    o->stats.pair.bits_equal = 990;
    o->stats.pair.worst_ulp = 1;
}

static enum verdict judge(struct finding *f, struct finding_out *o)
{
    verdict_output(f, o);
    verdict_case(f);
    ck_assert_int_eq(f->verdict, o->verdict);
    ck_assert_str_ne(f->reason, "");
    return f->verdict;
}

START_TEST(same_and_equivalent)
{
    struct finding f;
    struct finding_out o;
    clean(&f, &o);
    ck_assert_int_eq(judge(&f, &o), VERDICT_SAME);
    differ(&o);
    ck_assert_int_eq(judge(&f, &o), VERDICT_EQUIVALENT);
}
END_TEST

/* Each kind of wrongness, on either side and on both. */
START_TEST(wrong)
{
    for (int kind = 0; kind < 4; kind++) {
        for (int sides = 1; sides < 4; sides++) {
            struct finding f;
            struct finding_out o;
            clean(&f, &o);
            differ(&o);
            for (int i = 0; i < 2; i++) {
                struct side_stats *s = i ? &o.stats.b : &o.stats.a;
                int64_t *field[] = {&s->nan_wrong, &s->inf_wrong, &s->over_bound, &s->unwritten};
                *field[kind] = sides >> i & 1;
            }
            static const enum verdict want[] = {0, VERDICT_A_WRONG, VERDICT_B_WRONG,
                                                VERDICT_BOTH_WRONG};
            ck_assert_int_eq(judge(&f, &o), want[sides]);
        }
    }
}
END_TEST

START_TEST(guard_bytes_are_wrong)
{
    struct finding f;
    struct finding_out o;
    clean(&f, &o);
    f.b.guard_after = 4;
    strcpy(f.b.guard_tensor, "c");
    ck_assert_int_eq(judge(&f, &o), VERDICT_B_WRONG);
    strcpy(f.b.guard_tensor, "other");
    ck_assert_int_eq(judge(&f, &o), VERDICT_SAME);
}
END_TEST

START_TEST(without_power_nothing_is_trusted)
{
    struct finding f;
    struct finding_out o;
    clean(&f, &o);
    o.stats.power = 0;
    ck_assert_int_eq(judge(&f, &o), VERDICT_MISTRUSTED);
    o.stats.b.over_bound = 1; /* proof of a fault counts all the same */
    ck_assert_int_eq(judge(&f, &o), VERDICT_B_WRONG);
    clean(&f, &o);
    o.stats.a.unjudged = 1000;
    ck_assert_int_eq(judge(&f, &o), VERDICT_MISTRUSTED);
    clean(&f, &o);
    o.stats.a.count = o.stats.b.count = o.stats.pair.count = o.stats.pair.bits_equal = 0;
    ck_assert_int_eq(judge(&f, &o), VERDICT_MISTRUSTED);
}
END_TEST

/* Significance alone is not enough, and neither is effect alone. */
START_TEST(distinguishable_needs_effect_and_significance)
{
    struct finding f;
    struct finding_out o;
    clean(&f, &o);
    differ(&o);
    o.stats.pair.ks = 0.3;
    o.stats.pair.ks_p = 1e-20;
    ck_assert_int_eq(judge(&f, &o), VERDICT_DISTINGUISHABLE);
    o.stats.pair.ks = 0.01;
    ck_assert_int_eq(judge(&f, &o), VERDICT_EQUIVALENT);
    o.stats.pair.ks = 0.3;
    o.stats.pair.ks_p = 1e-3;
    ck_assert_int_eq(judge(&f, &o), VERDICT_EQUIVALENT);
    o.stats.pair.ks_p = 1;
    o.stats.a.ulp.mean = -0.2; /* a bias of two thirds of the spread */
    ck_assert_int_eq(judge(&f, &o), VERDICT_DISTINGUISHABLE);
    o.stats.a.ulp.count = o.stats.b.ulp.count = 10;
    ck_assert_int_eq(judge(&f, &o), VERDICT_EQUIVALENT);
}
END_TEST

/* 500 of 1000 codes 0 became code 1: V = 1/sqrt(3) by hand, chi-square 666.7 with one degree of
 * freedom. Without significance, or without a size, right sides stay equivalent. */
START_TEST(codes_used_otherwise)
{
    struct finding f;
    struct finding_out o;
    struct codes c;
    struct errinfo e;
    ck_assert_int_eq(codes_init(&c, DTYPE_CODE8, &e), 0);
    for (int i = 0; i < 1000; i++)
        codes_add(&c, 0, i % 2);
    clean(&f, &o);
    differ(&o);
    codes_finish(&c, &o.codes);
    ck_assert(fabs(o.codes.cramer - sqrt(1.0 / 3)) < 1e-12);
    ck_assert(fabs(o.codes.chi2 - 2000.0 / 3) < 1e-9);
    ck_assert_int_eq(judge(&f, &o), VERDICT_DISTINGUISHABLE);
    ck_assert_ptr_nonnull(strstr(o.reason, "500 of 1000"));
    o.codes.chi2_p = 1e-3;
    ck_assert_int_eq(judge(&f, &o), VERDICT_EQUIVALENT);
    codes_finish(&c, &o.codes);
    o.codes.cramer = 0.05;
    ck_assert_int_eq(judge(&f, &o), VERDICT_EQUIVALENT);
    codes_release(&c);
}
END_TEST

START_TEST(status_decides_before_numbers)
{
    struct finding f;
    struct finding_out o;
    clean(&f, &o);
    f.b.status = RECORD_SKIPPED;
    strcpy(f.b.reason, "no compiler");
    verdict_case(&f);
    ck_assert_int_eq(f.verdict, VERDICT_UNTESTED);
    ck_assert_ptr_nonnull(strstr(f.reason, "no compiler"));
    f.a.status = RECORD_CRASHED;
    verdict_case(&f);
    ck_assert_int_eq(f.verdict, VERDICT_BROKEN);
    f.one_sided = true;
    f.a.status = RECORD_OK;
    verdict_output(&f, &o);
    verdict_case(&f);
    ck_assert_int_eq(f.verdict, VERDICT_EQUIVALENT);
}
END_TEST

START_TEST(one_side_wrong_in_one_output_and_the_other_in_another)
{
    struct finding f;
    struct finding_out o[2];
    clean(&f, &o[1]);
    clean(&f, &o[0]);
    f.n_out = 2;
    o[0].verdict = VERDICT_A_WRONG;
    o[1].verdict = VERDICT_B_WRONG;
    verdict_case(&f);
    ck_assert_int_eq(f.verdict, VERDICT_BOTH_WRONG);
    o[0].verdict = VERDICT_SAME;
    verdict_case(&f);
    ck_assert_int_eq(f.verdict, VERDICT_B_WRONG);
}
END_TEST

START_TEST(what_fails_a_run)
{
    ck_assert(!verdict_fails(VERDICT_SAME, true));
    ck_assert(!verdict_fails(VERDICT_EQUIVALENT, true));
    ck_assert(!verdict_fails(VERDICT_UNTESTED, true));
    ck_assert(!verdict_fails(VERDICT_DISTINGUISHABLE, false));
    ck_assert(verdict_fails(VERDICT_DISTINGUISHABLE, true));
    ck_assert(verdict_fails(VERDICT_MISTRUSTED, false));
    ck_assert(verdict_fails(VERDICT_B_WRONG, false));
    ck_assert(verdict_fails(VERDICT_BROKEN, false));
    ck_assert(verdict_fails(VERDICT_STALE, false));
    ck_assert(!verdict_fails(VERDICT_KNOWN, false));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("verdict");
    TCase *c = tcase_create("verdict");
    suite_add_tcase(s, c);
    tcase_add_test(c, same_and_equivalent);
    tcase_add_test(c, wrong);
    tcase_add_test(c, guard_bytes_are_wrong);
    tcase_add_test(c, without_power_nothing_is_trusted);
    tcase_add_test(c, distinguishable_needs_effect_and_significance);
    tcase_add_test(c, codes_used_otherwise);
    tcase_add_test(c, status_decides_before_numbers);
    tcase_add_test(c, one_side_wrong_in_one_output_and_the_other_in_another);
    tcase_add_test(c, what_fails_a_run);
    return suite_run(s);
}
