/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose.h"

#include <math.h>
#include <stdlib.h>

#include "ulp.h"

/* Right bits that were written or read in another way: another format, another order of bytes,
 * signed for unsigned, codes of a byte mixed up. */

/* --- another format, another order -----------------------------------------------------------
 */

enum order { ORDER_PLAIN, ORDER_BYTES, ORDER_HALVES };

struct reading {
    enum dtype dtype;
    enum order order;
};

static uint64_t reordered_bits(uint64_t bits, int bytes, enum order order)
{
    uint64_t swapped = __builtin_bswap64(bits) >> (64 - 8 * bytes);
    int half = 4 * bytes;
    if (order == ORDER_BYTES)
        return swapped;
    return order == ORDER_HALVES ? (bits >> half | bits << half) & (~UINT64_C(0) >> (64 - 8 * bytes))
                                 : bits;
}

/* Wrong elements that are right when read so, floats within a unit of the format; those that are
 * zero say nothing, nor do bits that mean the same number either way. */
static int64_t reading_fits(const struct suspect *s, struct reading r, int64_t *ret_seen)
{
    int64_t fits = 0;
    int bytes = dtype_info(s->t->dtype)->bytes;
    *ret_seen = 0;
    for (int64_t i = 0; i < s->count; i++) {
        double right = s->in->oracle->value[i];
        if (!s->bad[i] || !isfinite(right) || right == 0)
            continue;
        uint64_t bits = reordered_bits(tensor_bits(s->t, i), bytes, r.order);
        double value = dtype_value(r.dtype, bits), off = s->in->oracle->bound[i];
        if (dtype_info(r.dtype)->kind == DTYPE_KIND_FLOAT)
            off += ulp_size(r.dtype, right);
        ++*ret_seen;
        fits += dtype_is_finite(r.dtype, bits) && value != tensor_value(s->t, i) &&
                fabs(value - right) <= off;
    }
    return fits;
}

static bool claim_reading(struct suspect *s, struct reading r)
{
    static const char *const words[] = {"", " with their bytes in the other order",
                                        " with their halves exchanged"};
    int64_t seen, fits = reading_fits(s, r, &seen);
    if (seen < 8 || fits * 20 < seen * 19 || seen * 2 < s->n_bad)
        return false;
    claim_add(s->o, CAUSE_CODEBOOK, s->side, 0.98,
              "the bits are those of %s%s: read so, %lld of %lld wrong elements are right",
              dtype_info(r.dtype)->name, words[r.order], (long long)fits, (long long)seen);
    return true;
}

void diagnose_readings(struct suspect *s)
{
    const struct dtype_info *own = dtype_info(s->t->dtype);
    if (own->kind == DTYPE_KIND_CODE)
        return;
    for (int d = 0; d < DTYPE_COUNT_; d++) {
        const struct dtype_info *other = dtype_info((enum dtype)d);
        if (other->bytes != own->bytes || other->kind == DTYPE_KIND_CODE || d == DTYPE_TF32)
            continue;
        for (int order = 0; order < (own->bytes > 1 ? 3 : 1); order++)
            if ((d != (int)s->t->dtype || order) && !(own->bytes == 2 && order == ORDER_HALVES) &&
                claim_reading(s, (struct reading){(enum dtype)d, (enum order)order}))
                return;
    }
}

/* --- signed and unsigned bytes ---------------------------------------------------------------
 */

void diagnose_bytes(struct suspect *s)
{
    const struct dtype_info *info = dtype_info(s->t->dtype);
    int64_t odd_right = 0, by_word = 0, n = 0;
    if (info->kind == DTYPE_KIND_FLOAT || info->bytes < 2 || s->n_bad < 8)
        return;
    for (int64_t i = 0; i < s->count; i++) {
        double right = s->in->oracle->value[i], error = tensor_value(s->t, i) - right;
        odd_right += fmod(right, 256) != 0;
        if (!s->bad[i])
            continue;
        if (fmod(error, 256) != 0)
            return;
        by_word += fmod(error, 65536) == 0;
        n++;
    }
    if (by_word * 2 < n && odd_right * 2 > s->count)
        claim_add(s->o, CAUSE_CODEBOOK, s->side, 0.97,
                  "all %lld errors are multiples of 256, which is what a byte changes by when "
                  "signed is taken for unsigned or the reverse",
                  (long long)n);
}

/* --- codes of one byte -----------------------------------------------------------------------
 */

/* Wrong bytes have bits too many (or too few), and no other change. */
void diagnose_packing(struct suspect *s)
{
    int64_t more = 0, fewer = 0, plain = 0;
    if (dtype_info(s->t->dtype)->bytes != 1 ||
        dtype_info(s->t->dtype)->kind == DTYPE_KIND_FLOAT || s->n_bad < 8 || suspect_neighbours(s))
        return;
    for (int64_t i = 0; i < s->count; i++) {
        if (!s->bad[i])
            continue;
        uint64_t got = tensor_bits(s->t, i) & 255,
                 right = dtype_round(s->t->dtype, s->in->oracle->value[i]) & 255;
        more += (got & right) == right;
        fewer += (got | right) == right;
        plain += got == 0 || got == 255;
    }
    if ((more != s->n_bad && fewer != s->n_bad) || plain * 2 > s->n_bad)
        return;
    claim_add(s->o, CAUSE_CODEBOOK, s->side, 0.97,
              "all %lld wrong bytes have bits too %s and no other change: %s",
              (long long)s->n_bad, more == s->n_bad ? "many" : "few",
              more == s->n_bad ? "they were put together with what was there before"
                               : "a part of them was left out");
}

/* Are two codes of a byte among the case's tensors, as many as this one has elements? */
static bool is_packed(const struct suspect *s)
{
    for (int k = 0; k < s->in->plan->n_tensor; k++) {
        const struct case_tensor *t = &s->in->plan->tensor[k];
        int64_t count = 1;
        for (int d = 0; d < t->rank; d++)
            count *= t->dim[d];
        if (dtype_info(t->dtype)->bytes == 1 && count == (s->count + 1) / 2)
            return true;
    }
    return false;
}

void diagnose_exchanged(struct suspect *s)
{
    const struct oracle *o = s->in->oracle;
    int64_t fits = 0, apart = 0;
    for (int64_t i = 0; i < s->count; i++) {
        int64_t other = i ^ 1;
        if (!s->bad[i] || other >= s->count)
            continue;
        double bound = fmax(o->bound[i], o->bound[other]);
        fits += fabs(tensor_value(s->t, i) - o->value[other]) <= bound;
        apart += fabs(o->value[i] - o->value[other]) > 4 * bound;
    }
    if (s->n_bad < 16 || fits * 20 < s->n_bad * 19 || apart * 4 < s->n_bad * 3)
        return;
    bool packed = is_packed(s);
    claim_add(s->o, packed ? CAUSE_CODEBOOK : CAUSE_MASK, s->side, (double)fits / (double)s->n_bad,
              "%lld of %lld wrong elements are what their neighbour 2 k or 2 k + 1 should hold%s",
              (long long)fits, (long long)s->n_bad,
              packed ? ": the two codes of a byte are exchanged" : "");
}
