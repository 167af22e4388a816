/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "poison.h"
#include "ulp.h"

/* Evidence in which values are there at all: codes that stand for other codes, right values in
 * another order, memory nobody wrote. */

/* --- one code became another -----------------------------------------------------------------
 */

enum { CODES = 256 };

struct code_map {
    int64_t pairs[CODES][CODES]; /* right code, code that is there */
    int64_t count;
};

static void map_fill(struct code_map *m, const struct suspect *s)
{
    for (int64_t i = 0; i < s->count; i++) {
        double right = s->in->oracle->value[i];
        if (!(right >= 0 && right < CODES && right == floor(right)))
            continue;
        m->pairs[(int)right][tensor_bits(s->t, i) & (CODES - 1)]++;
        m->count++;
    }
}

/* Elements that hold what their right code mostly became; which codes moved; what the bits of
 * those have in common. */
static int64_t map_follow(const struct code_map *m, int *ret_moved, int *ret_from, int *ret_to)
{
    int64_t follow = 0;
    *ret_moved = 0;
    for (int right = 0; right < CODES; right++) {
        int most = 0;
        for (int got = 1; got < CODES; got++)
            most = m->pairs[right][got] > m->pairs[right][most] ? got : most;
        follow += m->pairs[right][most];
        if (most == right || m->pairs[right][most] < 2)
            continue;
        *ret_from = right;
        *ret_to = most;
        ++*ret_moved;
    }
    return follow;
}

/* A table read with other eyes: wherever one code is right, there is one other code. */
void diagnose_codes(struct suspect *s)
{
    int moved, from = 0, to = 0;
    if (dtype_info(s->t->dtype)->bytes != 1 ||
        dtype_info(s->t->dtype)->kind == DTYPE_KIND_FLOAT || s->n_bad < 64)
        return;
    struct code_map *m = calloc(1, sizeof *m);
    if (!m)
        return;
    map_fill(m, s);
    int64_t follow = map_follow(m, &moved, &from, &to);
    free(m);
    /* Neighbours are what rounding gives, not another table. */
    if (moved < 8 || follow * 20 < s->count * 19 || abs(from - to) == 1)
        return;
    claim_add(
        s->o, CAUSE_CODEBOOK, s->side, 0.96 * (double)follow / (double)s->count,
        "wherever one code is right there is one other code: %d codes have moved, 0x%02x to "
        "0x%02x for instance, in %.1f %% of all elements",
        moved, (unsigned)from, (unsigned)to, 100.0 * (double)follow / (double)s->count);
}

/* --- the right values in another order -------------------------------------------------------
 */

struct ranked {
    double value, bound;
};

static int by_rank(const void *x, const void *y)
{
    double a = ((const struct ranked *)x)->value, b = ((const struct ranked *)y)->value;
    return (a > b) - (a < b);
}

/* Is what lies in [from, from + n) the right values of there in another order? Half of them
 * must be apart by more than their bounds, or else anything would fit. */
static bool reordered(const struct suspect *s, int64_t from, int64_t n, struct ranked *work)
{
    struct ranked *right = work, *got = work + n;
    int64_t apart = 0;
    for (int64_t i = 0; i < n; i++) {
        const struct oracle *o = s->in->oracle;
        right[i] = (struct ranked){o->value[from + i], o->bound[from + i]};
        got[i] = (struct ranked){tensor_value(s->t, from + i), 0};
        if (!isfinite(right[i].value) || !isfinite(right[i].bound) || !isfinite(got[i].value))
            return false;
    }
    qsort(right, (size_t)n, sizeof *right, by_rank);
    qsort(got, (size_t)n, sizeof *got, by_rank);
    for (int64_t i = 0; i < n; i++) {
        if (fabs(got[i].value - right[i].value) > 2 * right[i].bound)
            return false;
        apart += i > 0 && right[i].value - right[i - 1].value >
                              2 * (right[i].bound + right[i - 1].bound);
    }
    return apart * 2 >= n;
}

/* Results close to what belongs there are in order. */
static bool far_off(const struct suspect *s)
{
    int64_t far = 0;
    for (int64_t i = s->first; i <= s->last; i++)
        far += s->bad[i] && fabs(tensor_value(s->t, i) - s->in->oracle->value[i]) >
                                16 * s->in->oracle->bound[i];
    return far * 4 >= s->n_bad * 3;
}

void diagnose_reordered(struct suspect *s)
{
    int64_t columns = s->t->rank ? s->t->dim[s->t->rank - 1] : 1, rows = s->count / columns;
    if (s->n_bad * 4 < s->count || s->count < 32 || s->count > INT64_C(1) << 24 || !far_off(s))
        return;
    struct ranked *work = calloc(2 * (size_t)s->count, sizeof *work);
    if (!work)
        return;
    int64_t fit = 0;
    for (int64_t r = 0; columns >= 16 && r < rows; r++)
        fit += reordered(s, r * columns, columns, work);
    bool in_rows = columns >= 16 && fit * 10 >= rows * 9;
    if (in_rows || reordered(s, 0, s->count, work))
        claim_add(s->o, CAUSE_MASK, s->side, 0.97,
                  "the right values are all there, in another order within %s",
                  in_rows ? "their rows" : "the tensor");
    free(work);
}

/* --- memory as a simulated device has it at first --------------------------------------------
 */

/* Registers and shared memory of a simulated device, and outputs of integers, before anyone writes
 * them. */
enum { FRESH_BYTE = 0xcd, FRESH_MOST = 64 };

static uint64_t repeated(int byte, int bytes)
{
    return UINT64_C(0x0101010101010101) * (uint64_t)byte >> (64 - 8 * bytes);
}

/* Is the element the right one plus a few times what the memory held? */
static bool has_added(const struct suspect *s, int64_t i, uint64_t held)
{
    enum dtype d = s->t->dtype;
    double right = s->in->oracle->value[i], got = tensor_value(s->t, i);
    int width = 8 * dtype_info(d)->bytes;
    if (!isfinite(right) || !isfinite(got))
        return false;
    if (dtype_info(d)->kind == DTYPE_KIND_FLOAT) {
        double times = (got - right) / dtype_value(d, held), whole = rint(times);
        double room = (s->in->oracle->bound[i] + 8 * ulp_size(d, got)) / fabs(dtype_value(d, held));
        return fabs(whole) >= 1 && fabs(whole) <= FRESH_MOST && fabs(times - whole) <= room &&
               room < 1e-3;
    }
    uint64_t off = tensor_bits(s->t, i) - dtype_round(d, right), sum = 0;
    for (int k = 1; k <= FRESH_MOST; k++) {
        sum += held;
        if (!((off ^ sum) << (64 - width)))
            return true;
    }
    return false;
}

static bool claim_added(struct suspect *s, int byte)
{
    uint64_t held = repeated(byte, dtype_info(s->t->dtype)->bytes);
    int64_t n = 0;
    for (int64_t i = s->first; i <= s->last; i++)
        n += s->bad[i] && has_added(s, i, held);
    if (n < 2 || n * 10 < s->n_bad * 9)
        return false;
    claim_add(s->o, CAUSE_UNINITIALISED, s->side, (double)n / (double)s->n_bad,
              "%lld of %lld wrong elements are the right one plus 0x%llx, once or several times, "
              "which memory holds there before anyone writes it",
              (long long)n, (long long)s->n_bad, (unsigned long long)held);
    return true;
}

void diagnose_fresh_memory(struct suspect *s)
{
    int bytes = dtype_info(s->t->dtype)->bytes;
    uint64_t fresh = repeated(FRESH_BYTE, bytes);
    int64_t n = 0;
    if (bytes < 4)
        return;
    for (int64_t i = s->first; i <= s->last; i++)
        n += s->bad[i] && tensor_bits(s->t, i) == fresh;
    bool number = dtype_info(s->t->dtype)->kind == DTYPE_KIND_FLOAT;
    if (n * 2 > s->n_bad)
        claim_add(
            s->o, CAUSE_UNINITIALISED, s->side, (double)n / (double)s->n_bad,
            "%lld of %lld wrong elements hold 0x%llx, which registers and shared memory of a "
            "simulated device hold before anyone writes them",
            (long long)n, (long long)s->n_bad, (unsigned long long)fresh);
    else if (!claim_added(s, FRESH_BYTE) && !number)
        claim_added(s, POISON_BYTE);
}
