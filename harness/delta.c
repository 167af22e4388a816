/* SPDX-License-Identifier: Apache-2.0 */
#include "delta.h"

static int64_t binomial(int n, int k)
{
    int64_t c = 1;
    for (int i = 1; i <= k; i++)
        c = c * (n - k + i) / i;
    return c;
}

/* The next larger number with as many bits set. */
static uint32_t next_of_size(uint32_t set)
{
    uint32_t low = set & -set, up = set + low;
    return up | (((set ^ up) >> 2) / low);
}

static enum err try_size(int n, int size, delta_test *test, void *context, uint32_t *ret_set,
                         struct errinfo *e)
{
    uint32_t end = UINT32_C(1) << n;
    for (uint32_t set = (UINT32_C(1) << size) - 1; set < end; set = next_of_size(set)) {
        enum delta_answer answer = DELTA_NO;
        TRY(test(context, set, &answer, e));
        if (answer == DELTA_YES) {
            *ret_set = set;
            return ERR_OK;
        }
    }
    return ERR_OK;
}

/* Leaves out one switch after the other for as long as the effect stays. */
static enum err reduce(int n, uint32_t set, delta_test *test, void *context, uint32_t *ret_set,
                       struct errinfo *e)
{
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < n; i++) {
            uint32_t less = set & ~(UINT32_C(1) << i);
            enum delta_answer answer = DELTA_NO;
            if (less == set || !less)
                continue;
            TRY(test(context, less, &answer, e));
            if (answer == DELTA_YES) {
                set = less;
                again = true;
            }
        }
    }
    *ret_set = set;
    return ERR_OK;
}

enum err delta_smallest(int n, int limit, delta_test *test, void *context, uint32_t *ret_set,
                        struct errinfo *e)
{
    int64_t spent = 0;
    int size = 1;
    *ret_set = 0;
    for (; size <= n && (size == 1 || spent + binomial(n, size) <= limit); size++) {
        TRY(try_size(n, size, test, context, ret_set, e));
        if (*ret_set)
            return ERR_OK;
        spent += binomial(n, size);
    }
    if (size > n)
        return ERR_OK;
    uint32_t all = n ? (uint32_t)((UINT64_C(1) << n) - 1) : 0;
    enum delta_answer answer = DELTA_NO;
    TRY(test(context, all, &answer, e));
    return answer == DELTA_YES ? reduce(n, all, test, context, ret_set, e) : ERR_OK;
}
