/* SPDX-License-Identifier: Apache-2.0 */
#include "roundoff.h"

#include <math.h>

double roundoff_gamma(double n)
{
    return n * ROUNDOFF_U / (1 - n * ROUNDOFF_U);
}

double roundoff_least(const struct case_mode *m)
{
    return m->flush || m->approximate ? 0x1p-125 : 0x1p-149;
}

double roundoff_division(const struct case_mode *m)
{
    return (m->exact_div && !m->approximate ? 1 : 5) * ROUNDOFF_U;
}

static double ulps(double n, double y)
{
    return (n + 0.5) * 2 * ROUNDOFF_U * fabs(y);
}

double roundoff_exp(const struct case_mode *m, double t)
{
    return ulps(m->approximate ? fmax(6, 2 + 1.173 * fabs(t)) : 2, 1);
}

double roundoff_log(const struct case_mode *m, double y)
{
    return m->approximate ? ulps(3, y) + 0x1p-21 : ulps(2, y);
}

double roundoff_tanh(const struct case_mode *m, double y)
{
    return m->approximate ? 0x1p-11 * fabs(y) : ulps(2, y);
}

double roundoff_erf(double y)
{
    return ulps(4, y);
}

double roundoff_turn(double y)
{
    return ulps(2, y) + 0x1p-147;
}

double roundoff_store(enum dtype d, double x)
{
    if (d == DTYPE_F32)
        return 0;
    int e, lowest = d == DTYPE_F16 ? -14 : -126;
    frexp(x, &e);
    return ldexp(1, (e - 1 > lowest ? e - 1 : lowest) - dtype_info(d)->fraction - 1);
}

/* --- exact sums ------------------------------------------------------------------------------
 */

void grid_add(struct grid *g, double x)
{
    int e;
    if (x == 0)
        return;
    uint64_t bits = (uint64_t)ldexp(frexp(fabs(x), &e), 53);
    int lowest = e - 53 + __builtin_ctzll(bits);
    g->least = g->some && g->least < lowest ? g->least : lowest;
    g->some = true;
    g->size += fabs(x);
}

bool grid_exact(const struct grid *g)
{
    return !g->some || (g->least >= -126 && g->size <= ldexp(1, g->least + 24));
}

/* --- elements --------------------------------------------------------------------------------
 */

void element_put(struct oracle *o, int64_t at, const struct element *x)
{
    o->value[at] = x->value;
    o->tail[at] = x->tail;
    o->error[at] = x->error;
    o->bound[at] = x->bound;
    o->drop[at] = x->drop;
    o->scale[at] = x->scale;
}

struct element element_exact(double value)
{
    return (struct element){.value = value};
}

struct element element_open(double value)
{
    return (struct element){.value = value, .bound = INFINITY};
}

struct element element_make(enum dtype d, double value, double tail, double error, double off)
{
    struct element x = {.value = value, .tail = tail, .error = error, .scale = fabs(value)};
    x.bound = (off + roundoff_store(d, fabs(value) + off) + error) * (1 + 0x1p-16);
    if (!(fabs(value) + 2 * x.bound < dtype_max(d)))
        return element_open(value);
    return x;
}
