/* SPDX-License-Identifier: Apache-2.0 */
#include "attention.h"

/* Which weights dropout keeps: FlashAttention's rule, a byte of Philox a weight, kept if at
 * most floor(255 keep). */

struct pair {
    uint32_t high, low;
};

static struct pair multiply(uint32_t x, uint32_t y)
{
    uint64_t p = (uint64_t)x * y;
    return (struct pair){(uint32_t)(p >> 32), (uint32_t)p};
}

uint8_t dropout_byte(uint64_t counter, uint64_t key, int rounds, int b)
{
    uint32_t x[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0};
    for (int r = 0; r < rounds; r++) {
        struct pair even = multiply(UINT32_C(0xd2511f53), x[0]);
        struct pair odd = multiply(UINT32_C(0xcd9e8d57), x[2]);
        uint32_t low = (uint32_t)key + (uint32_t)r * UINT32_C(0x9e3779b9);
        uint32_t high = (uint32_t)(key >> 32) + (uint32_t)r * UINT32_C(0xbb67ae85);
        x[0] = odd.high ^ x[1] ^ low;
        x[2] = even.high ^ x[3] ^ high;
        x[1] = odd.low;
        x[3] = even.low;
    }
    return (uint8_t)(x[b / 4] >> b % 4 * 8);
}

int dropout_limit(const struct attention *a)
{
    return (int)((double)a->keep * 255);
}

float dropout_factor(const struct attention *a)
{
    return 1 / a->keep;
}

bool dropout_keeps(const struct attention *a, int64_t n)
{
    return dropout_byte((uint64_t)n / 16, a->seed, a->rounds, (int)(n % 16)) <=
           dropout_limit(a);
}
