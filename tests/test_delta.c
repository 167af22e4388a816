/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "delta.h"
#include "suite.h"

/* The search for the smallest set, against trying all sets. */

enum { SWITCHES = 7 };

/* The effect appears when one of `need` is contained in the set and nothing of `spoil` is. */
struct puzzle {
    uint32_t need[2], spoil, impossible;
    int tests;
};

static enum delta_answer answer_of(const struct puzzle *p, uint32_t set)
{
    if (set & p->impossible)
        return DELTA_UNKNOWN;
    bool yes = !(set & p->spoil) &&
               ((set & p->need[0]) == p->need[0] || (set & p->need[1]) == p->need[1]);
    return yes ? DELTA_YES : DELTA_NO;
}

static enum err test_puzzle(void *context, uint32_t set, enum delta_answer *ret_answer,
                            struct errinfo *e)
{
    struct puzzle *p = context;
    (void)e;
    p->tests++;
    *ret_answer = answer_of(p, set);
    return ERR_OK;
}

static int smallest_by_trying_all(const struct puzzle *p)
{
    int best = 0;
    for (uint32_t set = 1; set < 1u << SWITCHES; set++)
        if (answer_of(p, set) == DELTA_YES && (!best || __builtin_popcount(set) < best))
            best = __builtin_popcount(set);
    return best;
}

START_TEST(finds_the_smallest_set)
{
    struct errinfo e;
    uint32_t random = 12345, set;
    for (int i = 0; i < 500; i++) {
        struct puzzle p = {.tests = 0};
        uint32_t *const field[] = {&p.need[0], &p.need[1], &p.spoil, &p.impossible};
        for (int f = 0; f < 4; f++) {
            random = random * 1664525 + 1013904223;
            *field[f] = random >> 13 & random >> 20 & ((1u << SWITCHES) - 1);
        }
        p.need[0] |= 1u << (i % SWITCHES);
        p.need[1] |= 1u << (i / SWITCHES % SWITCHES);
        ck_assert_int_eq(delta_smallest(SWITCHES, 1 << SWITCHES, test_puzzle, &p, &set, &e), 0);
        int want = smallest_by_trying_all(&p);
        ck_assert_int_eq(__builtin_popcount(set), want);
        ck_assert(!set || answer_of(&p, set) == DELTA_YES);
    }
}
END_TEST

/* With few tests allowed: a set from which nothing can be left out. */
START_TEST(reduces_the_whole_set)
{
    struct errinfo e;
    uint32_t set;
    struct puzzle p = {.need = {0x2a, 0x2a}};
    ck_assert_int_eq(delta_smallest(SWITCHES, 8, test_puzzle, &p, &set, &e), 0);
    ck_assert_uint_eq(set, 0x2a);
    ck_assert_int_le(p.tests, 7 + 1 + 2 * 7);
    struct puzzle none = {.need = {1, 1}, .spoil = 1};
    ck_assert_int_eq(delta_smallest(SWITCHES, 8, test_puzzle, &none, &set, &e), 0);
    ck_assert_uint_eq(set, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("delta");
    TCase *c = tcase_create("delta");
    tcase_add_test(c, finds_the_smallest_set);
    tcase_add_test(c, reduces_the_whole_set);
    suite_add_tcase(s, c);
    return suite_run(s);
}
