/* SPDX-License-Identifier: Apache-2.0 */
#include "order.h"

#include <stdlib.h>
#include <string.h>

enum { TURN_SHUFFLED_MAX = 8 };

static uint8_t fill_environment(void)
{
    const char *text = getenv("GPUPARITY_SIM_FILL");
    char *end;
    unsigned long fill = text ? strtoul(text, &end, 0) : SIM_FILL;
    return text && (!*text || *end || fill > 255) ? SIM_FILL : (uint8_t)fill;
}

struct sim_order sim_order_environment(void)
{
    const char *text = getenv("GPUPARITY_SIM_ORDER");
    struct sim_order o = {SIM_ORDER_LINEAR, 0, fill_environment()};
    char *end;
    if (!text || !strcmp(text, "linear"))
        return o;
    if (!strcmp(text, "reverse")) {
        o.kind = SIM_ORDER_REVERSE;
        return o;
    }
    unsigned long long seed = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end)
        o = (struct sim_order){SIM_ORDER_SHUFFLED, seed, o.fill};
    return o;
}

/* splitmix64's finish. */
static uint64_t mixed(uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

uint64_t sim_order_place(const struct sim_order *o, uint64_t salt, uint64_t i, uint64_t n)
{
    if (o->kind == SIM_ORDER_LINEAR || n < 2)
        return i;
    if (o->kind == SIM_ORDER_REVERSE)
        return n - 1 - i;
    /* i -> step * i + start modulo n, with a step that shares no factor with n. */
    uint64_t h = mixed(o->seed ^ mixed(salt)), step = h % n, start = mixed(h) % n;
    while (common_divisor(step, n) != 1)
        step++;
    return (uint64_t)(((unsigned __int128)step * i + start) % n);
}

uint32_t sim_order_turn(const struct sim_order *o, uint64_t salt, uint32_t standard)
{
    if (o->kind != SIM_ORDER_SHUFFLED)
        return standard;
    return 1 + (uint32_t)(mixed(o->seed + mixed(salt + 1)) % TURN_SHUFFLED_MAX);
}
