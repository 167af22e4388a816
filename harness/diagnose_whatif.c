/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What if the inputs had been read in another way? The case's own reference is asked for inputs
 * changed so: where it is right, within its bounds, in the wrong elements, that is what the device
 * did. No order of summation enters. */

/* A case of its own: a copy of the suspect's, to be changed. */
struct world {
    struct suspect *s;
    struct case_id id;
    struct case_plan plan;
    const struct tensor *input[CASE_TENSOR_MAX];
    struct tensor changed[CASE_TENSOR_MAX]; /* owned; zeroed: as it is */
    bool widens; /* the change may widen the bound itself */
    double explained; /* world_explains: share of the wrong elements */
};

static void world_init(struct world *w, struct suspect *s)
{
    *w = (struct world){.s = s, .id = *s->in->id, .plan = *s->in->plan};
    memcpy(w->input, s->in->input, sizeof(*w->input) * (size_t)s->in->plan->n_tensor);
}

static void world_release(struct world *w)
{
    for (int i = 0; i < CASE_TENSOR_MAX; i++)
        tensor_release(&w->changed[i]);
}

/* A copy of input i that may be changed. */
static struct tensor *world_input(struct world *w, int i)
{
    if (!w->changed[i].data && tensor_copy(&w->changed[i], w->s->in->input[i], NULL))
        return NULL;
    w->input[i] = &w->changed[i];
    return &w->changed[i];
}

/* Is the reference of this world right where the device is wrong by ours, and where it is right? A
 * wider bound would explain anything. */
static bool world_explains(struct world *w)
{
    struct suspect *s = w->s;
    const struct oracle *ours = s->in->oracle;
    struct oracle o = {0};
    int64_t fits = 0, refuted = 0;
    if (case_oracle(&w->id, &w->plan, w->input, s->in->which, 1, &o, NULL) ||
        o.count != s->count) {
        oracle_release(&o);
        return false;
    }
    for (int64_t i = 0; i < s->count; i++) {
        bool right = element_right_bits(&o, s->t->dtype, tensor_bits(s->t, i), i);
        bool wide = isinf(o.bound[i]) || (!w->widens && o.bound[i] > 4 * ours->bound[i] &&
                                          o.bound[i] > 0.25 * fabs(o.value[i] - ours->value[i]));
        fits += s->bad[i] && right && !wide;
        refuted += !s->bad[i] && !right;
    }
    oracle_release(&o);
    w->explained = (double)fits / (double)s->n_bad;
    return w->explained >= 0.9 && refuted * 10 <= s->count - s->n_bad;
}

/* --- subnormal numbers taken as zero ---------------------------------------------------------
 */

static int64_t flush_input(struct world *w, int i)
{
    int64_t n = 0;
    const struct tensor *t = w->s->in->input[i];
    if (!t || dtype_info(t->dtype)->kind != DTYPE_KIND_FLOAT)
        return 0;
    for (int64_t k = 0; k < t->count; k++) {
        if (!dtype_is_subnormal(t->dtype, tensor_bits(t, k)))
            continue;
        struct tensor *changed = world_input(w, i);
        if (!changed)
            return 0;
        tensor_set_bits(changed, k, dtype_round(t->dtype, 0));
        n++;
    }
    return n;
}

static void flushed_inputs(struct suspect *s)
{
    struct world w;
    world_init(&w, s);
    int64_t n = 0;
    for (int i = 0; i < s->in->plan->n_tensor; i++)
        n += flush_input(&w, i);
    if (n && world_explains(&w))
        claim_add(s->o, CAUSE_FLUSH, s->side, w.explained,
                  "with the %lld subnormal inputs taken as zero the reference explains %.1f %% of "
                  "the wrong elements",
                  (long long)n, 100 * w.explained);
    world_release(&w);
}

/* Before "nothing was computed": zeros may be what the mode `flush` allows. */
void diagnose_flushed(struct suspect *s)
{
    struct world w;
    if (!suspect_askable(s) || s->n_bad < 4 || s->in->id->mode.flush ||
        dtype_info(s->t->dtype)->kind != DTYPE_KIND_FLOAT)
        return;
    world_init(&w, s);
    w.id.mode.flush = true;
    w.widens = true;
    if (world_explains(&w))
        claim_add(s->o, CAUSE_FLUSH, s->side, w.explained,
                  "%.1f %% of the wrong elements are right by the bounds of mode=flush, where "
                  "subnormal numbers count as zero",
                  100 * w.explained);
    else
        flushed_inputs(s);
    world_release(&w);
}

/* --- bits with another meaning ---------------------------------------------------------------
 */

static bool may_be_read_as(enum dtype d, enum dtype other)
{
    const struct dtype_info *x = dtype_info(d), *y = dtype_info(other);
    return d != other && x->bytes == y->bytes && x->bytes <= 2 && x->kind != DTYPE_KIND_CODE &&
           y->kind != DTYPE_KIND_CODE &&
           (x->kind == DTYPE_KIND_FLOAT) == (y->kind == DTYPE_KIND_FLOAT);
}

static bool claim_read_as(struct suspect *s, int i, enum dtype other)
{
    struct world w;
    world_init(&w, s);
    struct tensor *t = world_input(&w, i);
    if (t)
        t->dtype = other;
    bool fits = t && world_explains(&w);
    if (fits)
        claim_add(s->o, CAUSE_CODEBOOK, s->side, w.explained,
                  "%s read as %s instead of %s explains %.1f %% of the wrong elements",
                  s->in->plan->tensor[i].name, dtype_info(other)->name,
                  dtype_info(s->in->input[i]->dtype)->name, 100 * w.explained);
    world_release(&w);
    return fits;
}

static bool claim_nibbles(struct suspect *s, int i)
{
    struct world w;
    world_init(&w, s);
    struct tensor *t = world_input(&w, i);
    for (int64_t k = 0; t && k < t->count; k++) {
        uint64_t bits = tensor_bits(t, k);
        tensor_set_bits(t, k, (bits >> 4 & 15) | (bits & 15) << 4);
    }
    bool fits = t && world_explains(&w);
    if (fits)
        claim_add(s->o, CAUSE_CODEBOOK, s->side, w.explained,
                  "%s with the two codes of each byte exchanged explains %.1f %% of the wrong "
                  "elements",
                  s->in->plan->tensor[i].name, 100 * w.explained);
    world_release(&w);
    return fits;
}

/* Another zero point: all of it `shift` more. */
static bool claim_shifted(struct suspect *s, int i, int shift)
{
    const struct tensor *from = s->in->input[i];
    struct world w;
    world_init(&w, s);
    if (tensor_init(&w.changed[i], DTYPE_I16, from->rank, from->dim, NULL))
        return false;
    for (int64_t k = 0; k < from->count; k++)
        tensor_set_bits(&w.changed[i], k, dtype_round(DTYPE_I16, tensor_value(from, k) + shift));
    w.input[i] = &w.changed[i];
    bool fits = world_explains(&w);
    if (fits)
        claim_add(s->o, CAUSE_CODEBOOK, s->side, w.explained,
                  "%s with all codes %d %s explains %.1f %% of the wrong elements: another zero "
                  "point",
                  s->in->plan->tensor[i].name, abs(shift), shift > 0 ? "more" : "less",
                  100 * w.explained);
    world_release(&w);
    return fits;
}

static bool claim_zero_point(struct suspect *s, int i)
{
    static const int shifts[] = {1, -1, 128, -128};
    enum dtype d = s->in->input[i]->dtype;
    for (int k = 0; k < 4 && (d == DTYPE_I8 || d == DTYPE_U8); k++)
        if (claim_shifted(s, i, shifts[k]))
            return true;
    return false;
}

static bool claim_meaning(struct suspect *s, int i)
{
    enum dtype d = s->in->input[i]->dtype;
    if (claim_zero_point(s, i))
        return true;
    for (int other = 0; other < DTYPE_COUNT_; other++)
        if (may_be_read_as(d, (enum dtype)other) && claim_read_as(s, i, (enum dtype)other))
            return true;
    return (d == DTYPE_NF4X2 || d == DTYPE_FP4X2) && claim_nibbles(s, i);
}

/* --- scales of another block -----------------------------------------------------------------
 */

enum take { TAKE_NEXT, TAKE_PREVIOUS, TAKE_HALF, TAKE_DOUBLE, TAKE_COUNT };

static int64_t taken(enum take take, int64_t k, int64_t n)
{
    switch (take) {
    case TAKE_NEXT:
        return (k + 1) % n;
    case TAKE_PREVIOUS:
        return (k + n - 1) % n;
    case TAKE_HALF:
        return k / 2;
    default:
        return 2 * k < n ? 2 * k : n - 1;
    }
}

/* Does each of its elements belong to so many codes of another input? */
static bool scales_codes(const struct suspect *s, int i)
{
    int64_t n = s->in->input[i]->count;
    for (int k = 0; k < s->in->plan->n_tensor; k++) {
        const struct tensor *t = s->in->input[k];
        if (t && dtype_info(t->dtype)->bytes == 1 && t->count >= 8 * n && t->count % n == 0)
            return true;
    }
    return false;
}

/* Twice the first element: are the outputs that change a stretch, or all twice as large? */
static bool is_scale(struct suspect *s, int i)
{
    struct world w;
    struct oracle o = {0};
    int64_t first = -1, last = -1, n = 0, twice = 0;
    world_init(&w, s);
    struct tensor *t = world_input(&w, i);
    if (t)
        tensor_set_bits(t, 0, dtype_round(t->dtype, 2 * tensor_value(t, 0)));
    if (t && !case_oracle(&w.id, &w.plan, w.input, s->in->which, 1, &o, NULL))
        for (int64_t k = 0; k < s->count; k++)
            if (o.value[k] != s->in->oracle->value[k]) {
                last = k;
                first = n++ ? first : k;
                twice += fabs(o.value[k] - 2 * s->in->oracle->value[k]) <= 2 * o.bound[k];
            }
    oracle_release(&o);
    world_release(&w);
    return n > 0 && ((last - first + 1) <= 2 * n || twice == n || scales_codes(s, i));
}

static bool claim_taken(struct suspect *s, int i, enum take take)
{
    static const char *const words[] = {"the next", "the one before", "half the", "twice the"};
    const struct tensor *from = s->in->input[i];
    struct world w;
    world_init(&w, s);
    struct tensor *t = world_input(&w, i);
    for (int64_t k = 0; t && k < t->count; k++)
        tensor_set_bits(t, k, tensor_bits(from, taken(take, k, t->count)));
    bool fits = t && world_explains(&w);
    if (fits)
        claim_add(s->o, is_scale(s, i) ? CAUSE_SCALE : CAUSE_MASK, s->side, w.explained,
                  "%s taken from %s%s explains %.1f %% of the wrong elements",
                  s->in->plan->tensor[i].name, words[take], take < TAKE_HALF ? " place" : " index",
                  100 * w.explained);
    world_release(&w);
    return fits;
}

static bool claim_places(struct suspect *s, int i)
{
    const struct tensor *t = s->in->input[i];
    int64_t most = s->count;
    for (int k = 0; k < s->in->plan->n_tensor; k++)
        if (s->in->input[k] && s->in->input[k]->count > most)
            most = s->in->input[k]->count;
    if (dtype_info(t->dtype)->kind != DTYPE_KIND_FLOAT || t->count < 2 || t->count * 4 > most)
        return false;
    for (int take = 0; take < TAKE_COUNT; take++)
        if (claim_taken(s, i, (enum take)take))
            return true;
    return false;
}

/* --- another word of the case's id -----------------------------------------------------------
 */

static bool same_shape(const struct case_tensor *x, const struct case_tensor *y)
{
    bool same = x->rank == y->rank && dtype_info(x->dtype)->bytes == dtype_info(y->dtype)->bytes;
    for (int d = 0; same && d < x->rank; d++)
        same = x->dim[d] == y->dim[d];
    return same;
}

/* Inputs of the same size keep their bits; another table is the other word's own. */
static bool world_word(struct world *w, int param, int word, bool *ret_codes)
{
    const struct case_plan *ours = w->s->in->plan;
    int which = w->s->in->which;
    w->id.value[param].i = word;
    if (w->id.family->plan(&w->id, &w->plan, NULL) || w->plan.n_tensor != ours->n_tensor ||
        !same_shape(&w->plan.tensor[which], &ours->tensor[which]) ||
        (w->plan.tensor[which].dtype != ours->tensor[which].dtype &&
         dtype_info(ours->tensor[which].dtype)->kind != DTYPE_KIND_CODE))
        return false;
    *ret_codes = false;
    for (int i = 0; i < ours->n_tensor; i++) {
        enum dtype d = w->plan.tensor[i].dtype;
        *ret_codes |= d != ours->tensor[i].dtype || dtype_info(d)->kind == DTYPE_KIND_CODE;
        if (!w->s->in->input[i])
            continue;
        if (same_shape(&w->plan.tensor[i], &ours->tensor[i])) {
            if (!world_input(w, i))
                return false;
            w->changed[i].dtype = d;
        } else if (d != ours->tensor[i].dtype || ours->tensor[i].rank != 1 ||
                   case_input(&w->id, &w->plan, i, &w->changed[i], NULL)) {
            return false;
        }
        w->input[i] = &w->changed[i];
    }
    return true;
}

static bool claim_word(struct suspect *s, int param, int word)
{
    const struct param *p = &s->in->id->family->params[param];
    struct world w;
    bool codes;
    world_init(&w, s);
    bool fits = world_word(&w, param, word, &codes) && world_explains(&w);
    if (fits)
        claim_add(s->o, codes ? CAUSE_CODEBOOK : CAUSE_MASK, s->side, w.explained,
                  "%.1f %% of the wrong elements are right for %s=%s", 100 * w.explained, p->name,
                  p->words[word]);
    world_release(&w);
    return fits;
}

static bool claim_words(struct suspect *s)
{
    const struct param *p = s->in->id->family->params;
    for (int i = 0; p && p[i].name; i++)
        for (int word = 0; p[i].kind == PARAM_WORD && p[i].words[word]; word++)
            if (word != s->in->id->value[i].i && claim_word(s, i, word))
                return true;
    return false;
}

void diagnose_whatif(struct suspect *s)
{
    if (!suspect_askable(s) || s->n_bad < 4)
        return;
    for (int i = 0; i < s->in->plan->n_tensor; i++)
        if (s->in->input[i] && (claim_meaning(s, i) || claim_places(s, i)))
            return;
    claim_words(s);
}
