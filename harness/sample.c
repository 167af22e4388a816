/* SPDX-License-Identifier: Apache-2.0 */
#include "sample.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "doublebits.h"

enum { DIGIT_BITS = 9, DIGITS = 4, BUCKETS = 1 << DIGIT_BITS };
enum { LOW_BITS = 64 - DIGIT_BITS * DIGITS, SHORT_RUN = 48 };

static const uint64_t top_bit = 1ULL << 63;

/* Unsigned order of keys = order of values; -0 and +0 get neighbouring keys. */
static uint64_t key_of(double x)
{
    uint64_t bits = double_bits(x);
    return bits & top_bit ? ~bits : bits | top_bit;
}

static double key_value(uint64_t key)
{
    return double_from_bits(key & top_bit ? key & ~top_bit : ~key);
}

void sample_release(struct sample *s)
{
    free(s->x);
    free(s->upto);
    *s = (struct sample){0};
}

/* Turns values into keys, in place, and counts all their digits at once. */
static void keys_make(double *x, int64_t n, int64_t (*count)[BUCKETS])
{
    uint64_t *key = (uint64_t *)x;
    for (int64_t i = 0; i < n; i++) {
        uint64_t k = key_of(x[i]);
        for (int d = 0; d < DIGITS; d++)
            count[d][k >> (LOW_BITS + d * DIGIT_BITS) & (BUCKETS - 1)]++;
        key[i] = k;
    }
}

/* One pass of the radix sort; false if all keys share the digit: then nothing moves. */
static bool digit_pass(const uint64_t *from, uint64_t *to, int64_t n, int64_t *count, int shift)
{
    if (count[from[0] >> shift & (BUCKETS - 1)] == n)
        return false;
    int64_t start = 0;
    for (int i = 0; i < BUCKETS; i++) {
        int64_t size = count[i];
        count[i] = start;
        start += size;
    }
    for (int64_t i = 0; i < n; i++)
        to[count[from[i] >> shift & (BUCKETS - 1)]++] = from[i];
    return true;
}

int sample_ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void insertion_sort(uint64_t *key, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        uint64_t k = key[i];
        int64_t j = i;
        for (; j > 0 && key[j - 1] > k; j--)
            key[j] = key[j - 1];
        key[j] = k;
    }
}

/* Keys are in order but for their low bits: puts each run of equal high bits in order. */
static void runs_sort(uint64_t *key, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        if (key[i - 1] <= key[i])
            continue;
        int64_t from = i - 1, to = i + 1;
        while (from > 0 && key[from - 1] >> LOW_BITS == key[i] >> LOW_BITS)
            from--;
        while (to < n && key[to] >> LOW_BITS == key[i] >> LOW_BITS)
            to++;
        if (to - from <= SHORT_RUN)
            insertion_sort(key + from, to - from);
        else
            qsort(key + from, (size_t)(to - from), sizeof *key, compare_keys);
        i = to - 1;
    }
}

/* The result is in *x or in *spare, and the two pointers are exchanged if it is in the latter.
 */
static void values_sort(double **x, double **spare, int64_t n, int64_t (*count)[BUCKETS])
{
    keys_make(*x, n, count);
    for (int d = 0; d < DIGITS; d++)
        if (digit_pass((uint64_t *)*x, (uint64_t *)*spare, n, count[d],
                       LOW_BITS + d * DIGIT_BITS)) {
            double *swap = *x;
            *x = *spare;
            *spare = swap;
        }
    uint64_t *key = (uint64_t *)*x;
    runs_sort(key, n);
    for (int64_t i = 0; i < n; i++)
        (*x)[i] = key_value(key[i]);
}

enum err sample_from_values(double *x, int64_t n, struct sample *ret_sample, struct errinfo *e)
{
    enum err code = ERR_OK;
    double *spare = malloc((size_t)n * sizeof *spare + 1);
    int64_t(*count)[BUCKETS] = calloc(DIGITS, sizeof *count);
    if (!spare || !count) {
        code = err_set(e, ERR_NOMEM, "no memory to sort %lld values", (long long)n);
        free(x);
    } else {
        if (n > 1)
            values_sort(&x, &spare, n, count);
        *ret_sample = (struct sample){.x = x, .n = n, .total = n};
    }
    free(spare);
    free(count);
    return code;
}

/* How many values the first `i` entries hold. */
static int64_t count_before(const struct sample *s, int64_t i)
{
    return i == 0 ? 0 : s->upto ? s->upto[i - 1] : i;
}

/* The number of entries < x (or <= x). */
static int64_t entries_below(const struct sample *s, double x, bool or_equal)
{
    int64_t low = 0, high = s->n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (s->x[middle] < x || (or_equal && s->x[middle] == x))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The product is corrected for q's own rounding: 0.9 * 10 is 9, not just above 9. */
int64_t sample_rank(int64_t total, double q)
{
    double r = ceil(q * (double)total * (1 - 0x1p-50));
    return r < 1 ? 1 : r > (double)total ? total : (int64_t)r;
}

double sample_quantile(const struct sample *s, double q)
{
    if (s->total == 0)
        return 0;
    int64_t rank = sample_rank(s->total, q), low = 0, high = s->n - 1;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (count_before(s, middle + 1) >= rank)
            high = middle;
        else
            low = middle + 1;
    }
    return s->x[low];
}

int64_t sample_count(const struct sample *s, double x, bool or_equal)
{
    return count_before(s, entries_below(s, x, or_equal));
}

/* How many values lie in [-y, y]. */
static int64_t count_within(const struct sample *s, double y)
{
    return sample_count(s, y, true) - sample_count(s, -y, false);
}

double sample_quantile_abs(const struct sample *s, double q)
{
    if (s->total == 0)
        return 0;
    int64_t rank = sample_rank(s->total, q), split = entries_below(s, 0, false);
    int64_t low = split, high = s->n; /* first entry >= 0 that is large enough */
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (count_within(s, s->x[middle]) >= rank)
            high = middle;
        else
            low = middle + 1;
    }
    double best = low < s->n ? s->x[low] : INFINITY;
    low = -1, high = split - 1; /* last entry < 0 that is large enough */
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (count_within(s, -s->x[middle]) >= rank)
            low = middle;
        else
            high = middle - 1;
    }
    return low >= 0 && -s->x[low] < best ? -s->x[low] : best;
}

void sample_distance(const struct sample *a, const struct sample *b, double *ret_ks,
                     double *ret_wasserstein)
{
    double ks = 0, area = 0, gap = 0, last = 0;
    double na = (double)a->total, nb = (double)b->total;
    if (na > 0 && nb > 0)
        last = a->x[0] < b->x[0] ? a->x[0] : b->x[0];
    for (int64_t i = 0, j = 0; na > 0 && nb > 0 && (i < a->n || j < b->n);) {
        double x = i < a->n ? a->x[i] : INFINITY, y = j < b->n ? b->x[j] : INFINITY;
        int64_t from_a = x <= y; /* arithmetic: a branch here would be a coin's toss */
        i += from_a;
        j += 1 - from_a;
        x = x < y ? x : y;
        area += gap * (x - last);
        if (gap > ks && x != last)
            ks = gap;
        last = x;
        gap = fabs((double)count_before(a, i) * nb - (double)count_before(b, j) * na);
    }
    *ret_ks = ks > 0 ? ks / na / nb : 0;
    *ret_wasserstein = area > 0 ? area / na / nb : 0;
}

double sample_ks_p(double ks, int64_t na, int64_t nb)
{
    if (na <= 0 || nb <= 0 || ks <= 0)
        return 1;
    double n = sqrt((double)na / (double)(na + nb) * (double)nb);
    double x = (n + 0.12 + 0.11 / n) * ks, sum = 0, sign = 1;
    if (x < 0.2)
        return 1; /* the series needs many terms there; the value is 1 - 1e-12 or nearer */
    for (int j = 1; j <= 100; j++, sign = -sign)
        sum += sign * exp(-2.0 * j * j * x * x);
    return sum > 0.5 ? 1 : sum < 0 ? 0 : 2 * sum;
}
