/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "plantrun.h"
#include "suite.h"

/* The self-test of the instrument is only worth something if it can fail. */

static struct device_choice device[2];

static void open_run(struct plantrun *r)
{
    struct errinfo e;
    int n;
    memset(r, 0, sizeof *r);
    ck_assert_int_eq(device_parse_list("cuda-sim,hip-sim", 2, device, &n, &e), 0);
    r->device = device;
    r->threads = 1;
    r->trial = (struct trial){.code = RUN_CODE_GOLDEN, .timeout = 60};
}

static struct plant_seen run(const struct plant *p)
{
    static struct plantrun r;
    struct plant_seen s;
    struct errinfo e;
    open_run(&r);
    ck_assert_msg(plantrun_one(&r, p, &s, &e) == 0, "%s: %s", p->id, e.text);
    plantrun_release(&r);
    return s;
}

START_TEST(three_of_every_class)
{
    int count[CAUSE_COUNT_] = {0};
    for (int i = 0; i < plant_count; i++) {
        count[plants[i].cause]++;
        if (plants[i].kind == PLANT_TENSOR)
            ck_assert_msg(plant_mutation_find(plants[i].what) != NULL, "%s", plants[i].what);
    }
    for (int c = 0; c < CAUSE_COUNT_; c++)
        ck_assert_msg(count[c] >= (c == CAUSE_UNEXPLAINED ? 0 : 3), "%s: %d",
                      cause_name((enum cause)c), count[c]);
}
END_TEST

/* No fault at all is a missed one, and so is one too weak to matter. */
START_TEST(what_is_not_there_is_missed)
{
    static const struct plant none[] = {
        {PLANT_KERNEL, CAUSE_SCALE, "gemm/naive:m=9,n=8,k=7", "", 0},
        {PLANT_KERNEL, CAUSE_RACE, "gemm/tiled:m=9,n=8,k=7", "", 4},
        /* There is no subnormal among these to flush. */
        {PLANT_TENSOR, CAUSE_FLUSH, "gemm/naive:m=9,n=8,k=7", "flush", 3},
        /* A race that one run does not show. */
        {PLANT_KERNEL, CAUSE_RACE, "gemm/fault_race:m=33,n=20,k=30", "", 0},
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct plant_seen s = run(&none[i]);
        ck_assert_msg(s.ran && !s.caught, "%s: %s", none[i].id, s.reason);
    }
}
END_TEST

/* A report without its plant would be a claim nobody checks. */
START_TEST(every_report_is_planted)
{
    for (int r = 0; r < plant_report_count; r++) {
        int found = 0;
        for (int i = 0; i < plant_count; i++)
            found += plant_reported_as(&plants[i]) == plant_reports[r].report;
        ck_assert_msg(found == 1, "%s: %d", plant_reports[r].report, found);
    }
}
END_TEST

START_TEST(a_fault_is_not_clean)
{
    static const struct {
        const char *id;
        bool accused;
    } pairs[] = {{"gemm/naive:m=9,n=8,k=7", false}, {"gemm/fault_scale:m=9,n=8,k=7", true}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        static struct plantrun r;
        struct plant_seen s;
        struct errinfo e;
        bool accused = !pairs[i].accused;
        open_run(&r);
        ck_assert_int_eq(plantrun_clean(&r, pairs[i].id, 3, &accused, &s, &e), 0);
        plantrun_release(&r);
        ck_assert_msg(accused == pairs[i].accused, "%s: %s", pairs[i].id, s.reason);
    }
}
END_TEST

/* A wrong expectation shows as a wrong name. */
START_TEST(a_wrong_name_is_seen)
{
    static const struct plant p = {PLANT_KERNEL, CAUSE_MASK, "gemm/fault_scale:m=33,n=18,k=20",
                                   "", 0};
    struct plant_seen s = run(&p);
    ck_assert(s.caught && s.named == CAUSE_SCALE);
}
END_TEST

/* The smallest factor: of an f32 sum of k products whose bound allows k + 1 units of 2^-24 of
 * its magnitude, 1 + 2^-n hides when 2^-n is below all elements' bounds; 2^-10 never does,
 * 2^-23 (one unit) does in most sums of 96 terms and in all of a correctly rounded product. */
START_TEST(the_smallest_is_between)
{
    static const struct plant sum = {PLANT_TENSOR, CAUSE_SCALE, "gemm/naive:m=48,n=40,k=96",
                                     "scaled", 23},
                              product = {PLANT_TENSOR, CAUSE_SCALE, "gemm/naive:m=48,n=40,k=1",
                                         "scaled", 30};
    struct plant_seen s = run(&sum);
    int exponent = 0;
    ck_assert_int_eq(sscanf(s.smallest, "factor 1 + 2^-%d", &exponent), 1);
    ck_assert_int_ge(exponent, 15);
    ck_assert_int_le(exponent, 24);
    s = run(&product);
    ck_assert_int_eq(sscanf(s.smallest, "factor 1 + 2^-%d", &exponent), 1);
    ck_assert_int_ge(exponent, 22);
    ck_assert_int_le(exponent, 25);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("plant");
    TCase *c = tcase_create("plant");
    suite_add_tcase(s, c);
    tcase_add_test(c, three_of_every_class);
    tcase_add_test(c, what_is_not_there_is_missed);
    tcase_add_test(c, every_report_is_planted);
    tcase_add_test(c, a_fault_is_not_clean);
    tcase_add_test(c, a_wrong_name_is_seen);
    tcase_add_test(c, the_smallest_is_between);
    return suite_run(s);
}
