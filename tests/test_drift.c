/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drift.h"
#include "suite.h"

/* Three steps of two elements, with sums that are known by hand. */

static const double a_of[] = {9, 9, 1, 2, 3, 4}, b_of[] = {7, 7, 1, 5, 3, 8};
static const double effects[] = {100, 100, 3, 4, 0, 5};

static void tensor_of(struct tensor *t, const double *x)
{
    const int64_t dim[] = {3, 2};
    struct errinfo e;
    ck_assert(!tensor_init(t, DTYPE_F32, 2, dim, &e));
    for (int i = 0; i < 6; i++)
        tensor_set_bits(t, i, dtype_round(DTYPE_F32, x[i]));
}

/* 3^2 + 4^2 apart against 3^2 + 4^2 + 5^2; in the last step 4 against 5. */
START_TEST(distances_are_in_units_of_the_effect)
{
    struct tensor a, b;
    struct oracle o;
    struct errinfo e;
    tensor_of(&a, a_of);
    tensor_of(&b, b_of);
    ck_assert(!oracle_init(&o, 6, &e));
    memcpy(o.drop, effects, sizeof effects);
    memcpy(o.value, b_of, sizeof b_of);
    for (int sides = 1; sides <= 2; sides++) {
        struct drift d = drift_make(&a, sides == 2 ? &b : NULL, &o);
        ck_assert(d.known);
        ck_assert_double_eq_tol(d.all, sqrt(0.5), 1e-15);
        ck_assert_double_eq_tol(d.last, 0.8, 1e-15);
    }
    /* A NaN is no distance. */
    tensor_set_bits(&b, 5, 0x7fc00000);
    struct drift d = drift_make(&a, &b, &o);
    ck_assert_double_eq_tol(d.all, 0.6, 1e-15);
    ck_assert(d.last == 0);
    memset(o.drop, 0, sizeof effects);
    ck_assert(!drift_make(&a, &b, &o).known);
    oracle_release(&o);
    tensor_release(&a);
    tensor_release(&b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("drift");
    TCase *c = tcase_create("drift");
    tcase_add_test(c, distances_are_in_units_of_the_effect);
    suite_add_tcase(s, c);
    return suite_run(s);
}
