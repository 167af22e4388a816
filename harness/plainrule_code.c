/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose.h"
#include "plainrule.h"

/* --- bytes --- */

static bool swapped(struct plainseen *s)
{
    char words[96];
    int bytes = dtype_info(s->d)->bytes;
    int64_t n = 0;
    for (int64_t i = 0; i < s->n && bytes > 1; i++)
        n += __builtin_bswap64(s->x[i].bits[0]) >> (64 - 8 * bytes) == s->x[i].bits[1];
    if (n < RULE_FEW || plainseen_share(s, n) < RULE_NEARLY)
        return false;
    claim_add(s->o, CAUSE_CODEBOOK, '=', plainseen_share(s, n),
              "the bytes of %.4g %% of %s stand in reverse: another byte order",
              100 * plainseen_share(s, n), plainseen_words(s, words));
    return true;
}

/* --- tables of codes --- */

enum { CODES = 256 };

struct table {
    int64_t n[CODES][CODES];
};

struct map {
    int to[CODES]; /* -1: not seen */
    int64_t fit, of;
    int kinds, moved;
    bool one_to_one;
};

/* Which code each became most often, over all elements that were looked at. */
static struct map map_of(const struct table *t, int codes)
{
    struct map m = {.one_to_one = true};
    bool taken[CODES] = {false};
    for (int a = 0; a < codes; a++) {
        int best = -1;
        for (int b = 0; b < codes; b++) {
            m.of += t->n[a][b];
            if (t->n[a][b] && (best < 0 || t->n[a][b] > t->n[a][best]))
                best = b;
        }
        m.to[a] = best;
        if (best < 0)
            continue;
        m.fit += t->n[a][best];
        m.kinds++;
        m.moved += best != a;
        m.one_to_one = m.one_to_one && !taken[best];
        taken[best] = true;
    }
    return m;
}

static void count_codes(const struct plainseen *s, struct table *byte, struct table *nibble)
{
    const struct gap_sample *m = s->sample;
    for (int64_t i = 0; i < m->window * m->windows; i++) {
        int a = (int)gap_sample_bits(m, 0, i), b = (int)gap_sample_bits(m, 1, i);
        byte->n[a][b]++;
        nibble->n[a >> 4][b >> 4]++;
        nibble->n[a & 15][b & 15]++;
    }
}

static bool is_map(const struct map *m, int (*f)(int a, int by), int by)
{
    for (int a = 0; a < CODES; a++)
        if (m->to[a] >= 0 && m->to[a] != (f(a, by) & 255))
            return false;
    return true;
}

static int f_nibbles(int a, int by)
{
    return by + (a >> 4 | a << 4);
}

static int f_flip(int a, int by)
{
    return a ^ by;
}

static int f_add(int a, int by)
{
    return a + by;
}

static int f_sign(int a, int by)
{
    return by - a;
}

static void name_map(const struct map *m, char *text, size_t size)
{
    snprintf(text, size, "another table of codes");
    if (is_map(m, f_nibbles, 0))
        snprintf(text, size,
                 "the two halves of each byte change places: the order of 4-bit codes");
    else if (is_map(m, f_flip, 128))
        snprintf(text, size,
                 "the top bit is turned: signed codes read as unsigned, an offset of 128");
    else if (is_map(m, f_flip, 255))
        snprintf(text, size, "all bits are turned");
    else if (is_map(m, f_sign, 0))
        snprintf(text, size, "each code is negated");
    for (int by = -8; by <= 8; by++)
        if (by && is_map(m, f_add, by))
            snprintf(text, size, "each code is %+d: codes counted from another one", by);
}

static bool claim_map(struct plainseen *s, const struct map *m, const char *what)
{
    char name[96], words[96];
    if (m->kinds < 4 || 2 * m->moved < m->kinds || (s->is_float && !m->one_to_one) ||
        m->fit < RULE_NEARLY * (double)m->of)
        return false;
    name_map(m, name, sizeof name);
    claim_add(s->o, CAUSE_CODEBOOK, '=', (double)m->fit / (double)m->of,
              "each of %d %s of A always becomes the same one of B (%.4g %% of them; %s): %s%s",
              m->kinds, what, 100 * (double)m->fit / (double)m->of, plainseen_words(s, words),
              name, m->one_to_one ? "" : "; several become one");
    return true;
}

bool plainrule_codes(struct plainseen *s)
{
    if (swapped(s))
        return true;
    if (dtype_info(s->d)->bytes != 1 || s->n < RULE_MANY)
        return false;
    struct table *t = calloc(2, sizeof *t);
    if (!t)
        return false;
    count_codes(s, &t[0], &t[1]);
    struct map byte = map_of(&t[0], CODES), nibble = map_of(&t[1], 16);
    int64_t looked = s->sample->window * s->sample->windows;
    bool found = false;
    for (int a = 16; a < CODES; a++)
        nibble.to[a] = -1;
    if (!s->is_float && nibble.fit >= RULE_NEARLY * (double)nibble.of &&
        2 * nibble.moved >= nibble.kinds)
        found = claim_map(s, &nibble, "4-bit codes");
    else if (looked >= 8 * byte.kinds || is_map(&byte, f_nibbles, 0))
        found = claim_map(s, &byte, "codes");
    free(t);
    return found;
}

/* --- bits of one format read as another --- */

static const enum dtype readings[][2] = {
    {DTYPE_BF16, DTYPE_F16},      {DTYPE_F16, DTYPE_BF16},      {DTYPE_E4M3, DTYPE_E5M2},
    {DTYPE_E5M2, DTYPE_E4M3},     {DTYPE_E4M3, DTYPE_E4M3FNUZ}, {DTYPE_E4M3FNUZ, DTYPE_E4M3},
    {DTYPE_E5M2, DTYPE_E5M2FNUZ}, {DTYPE_E5M2FNUZ, DTYPE_E5M2}};

static int64_t count_reading(const struct plainseen *s, enum dtype of, enum dtype as)
{
    int64_t n = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const double *v = s->x[i].value;
        uint64_t code = dtype_round(of, v[0]);
        if (dtype_value(of, code) != v[0])
            return 0;
        double other = dtype_value(as, code);
        n += isfinite(other) && other != 0 && other != v[0] &&
             dtype_value(s->d, dtype_round(s->d, other)) == v[1];
    }
    return n;
}

bool plainrule_format(struct plainseen *s)
{
    char words[96];
    if (!s->is_float || s->n < RULE_MANY)
        return false;
    for (size_t i = 0; i < sizeof readings / sizeof *readings; i++) {
        if (dtype_info(readings[i][0])->bytes >= dtype_info(s->d)->bytes)
            continue;
        int64_t n = count_reading(s, readings[i][0], readings[i][1]);
        if (plainseen_share(s, n) < 0.9)
            continue;
        claim_add(
            s->o, CAUSE_CODEBOOK, '=', plainseen_share(s, n),
            "A's values are %s numbers, and B's are the same bits read as %s, in %.4g %% of %s",
            dtype_info(readings[i][0])->name, dtype_info(readings[i][1])->name,
            100 * plainseen_share(s, n), plainseen_words(s, words));
        return true;
    }
    return false;
}

/* --- a value always becomes the same other value --- */

static int by_first(const void *a, const void *b)
{
    const struct plainseen_element *x = a, *y = b;
    return x->bits[0] != y->bits[0]   ? (x->bits[0] > y->bits[0]) - (x->bits[0] < y->bits[0])
           : x->bits[1] != y->bits[1] ? (x->bits[1] > y->bits[1]) - (x->bits[1] < y->bits[1])
                                      : 0;
}

/* Tables of numbers leave few values that come again and again. Differences of rounding size
 * are a function's. */
bool plainrule_values(struct plainseen *s)
{
    char words[96];
    int64_t kinds = 0, repeated = 0, same = 0, far = 0;
    struct plainseen_element *x =
        s->n >= 64 && 2 * s->differing > s->count ? malloc((size_t)s->n * sizeof *x) : NULL;
    if (!x)
        return false;
    memcpy(x, s->x, (size_t)s->n * sizeof *x);
    qsort(x, (size_t)s->n, sizeof *x, by_first);
    for (int64_t i = 0; i < s->n; i++) {
        bool again = i && x[i].bits[0] == x[i - 1].bits[0];
        kinds += !again;
        repeated += again;
        same += again && x[i].bits[1] == x[i - 1].bits[1];
        far += fabs(x[i].value[1] - x[i].value[0]) > 0x1p-5 * fabs(x[i].value[0]);
    }
    free(x);
    if (kinds < 4 || 4 * kinds > s->n || same < RULE_NEARLY * (double)repeated ||
        2 * far < s->n)
        return false;
    claim_add(s->o, CAUSE_CODEBOOK, '=', (double)same / (double)repeated,
              "A has only %" PRId64
              " values in %s, and each becomes the same value of B (%.4g %% "
              "of those that come again): codes read with another table",
              kinds, plainseen_words(s, words), 100 * (double)same / (double)repeated);
    return true;
}
