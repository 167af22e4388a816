/* SPDX-License-Identifier: Apache-2.0 */
#include "gap.h"

#include <string.h>

#include "gap_part.h"
#include "gap_sample.h"
#include "gap_sum.h"

static void equal_add(struct gap *g, int64_t n)
{
    g->finite += n;
    g->bits_equal += n;
    g->cell[GAP_SIDE] += (uint64_t)n;
}

static void waiting_add(struct gap_piece *p)
{
    if (p->waiting)
        gap_part_add(p, &(struct gap_part){.a = p->wait[0],
                                           .b = p->wait[1],
                                           .n = p->waiting,
                                           .differ = p->waiting,
                                           .place = p->place});
    p->waiting = 0;
}

/* The elements of the mask, finite ones, wait until there is a strip of them. */
static void let_wait(struct gap_piece *p, const char *a, const char *b, int64_t at, int n,
                     const struct gap_look *k)
{
    if (p->waiting + k->differ > GAP_STRIP)
        waiting_add(p);
    size_t behind = (size_t)p->waiting * (size_t)p->f.width / 8;
    int *place = p->place + p->waiting;
    gap_strip_gather(&p->f, a, b, k->unequal, n, (char *)p->wait[0] + behind,
                     (char *)p->wait[1] + behind, place);
    for (int i = 0; i < k->differ; i++)
        place[i] += (int)at;
    p->waiting += k->differ;
}

/* Takes the elements that are not finite out of the strip; returns how many there are. */
static int strange_add(struct gap_piece *p, const char *a, const char *b, int64_t at, int n,
                       struct gap_look *k)
{
    int count = 0, same = 0;
    for (int from = 0, w = 0; from < n; from += 64, w++) {
        count += __builtin_popcountll(k->strange[w]);
        same += __builtin_popcountll(k->strange[w] & ~k->unequal[w]);
        for (uint64_t m = k->strange[w] & k->unequal[w]; m; m &= m - 1) {
            int i = from + __builtin_ctzll(m);
            gap_strange_add(p, gap_bits_at(&p->f, a, i), gap_bits_at(&p->f, b, i), at + i);
        }
        k->unequal[w] &= ~k->strange[w];
    }
    p->g->bits_equal += same;
    p->g->nan_both += k->nan_same;
    return count;
}

/* Where most elements differ the strip is a part as it is. */
static void strip_add(struct gap_piece *p, const char *a, const char *b, int64_t at, int n)
{
    struct gap *g = p->g;
    struct gap_look k;
    gap_strip_look(&p->f, a, b, n, &k);
    g->bits[0] |= k.seen[0];
    g->bits[1] |= k.seen[1];
    if (!k.odd && 2 * k.differ > n) {
        gap_part_add(
            p, &(struct gap_part){
                   .a = a, .b = b, .n = n, .differ = k.differ, .mask = k.unequal, .at = at});
        return;
    }
    int strange = k.odd ? strange_add(p, a, b, at, n, &k) : 0;
    if (k.differ)
        let_wait(p, a, b, at, n, &k);
    equal_add(g, n - strange - k.differ);
}

void gap_add(struct gap *g, enum dtype d, const void *a, const void *b, int64_t n,
             const struct gap_where *where, const struct limits *l)
{
    struct gap_piece p;
    gap_piece_init(&p, g, d, where, l);
    size_t size = (size_t)p.f.width / 8;
    for (int64_t at = 0; at < n; at += GAP_STRIP)
        strip_add(&p, (const char *)a + (size_t)at * size, (const char *)b + (size_t)at * size,
                  at, n - at < GAP_STRIP ? (int)(n - at) : GAP_STRIP);
    waiting_add(&p);
    gap_piece_end(&p);
    g->count += n;
    if (g->sample)
        gap_sample_take(g->sample, where, a, b, n);
}
