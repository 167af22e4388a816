/* SPDX-License-Identifier: Apache-2.0 */
#include "change.h"
#include "model.h"

#include <math.h>
#include <stdlib.h>

const struct case_model attention_models[] = {
#define MODEL(name, cause, right, change) {name, CAUSE_##cause, right, false},
#include "model.def"
#undef MODEL
    {NULL, CAUSE_UNEXPLAINED, false, false},
};

/* One query under way. Numbers are doubles that hold f32 values, but for WIDE. */
struct play {
    struct attention all, a; /* as changed; as it is for the query's sequence */
    enum change change;
    const struct tensor *const *input;
    struct query q;
    int64_t row, from, n;
    double *t, *v, *dot; /* owned; of the visible keys: scores, one column of V, unscaled scores */
};

static double rounded(const struct play *p, double x)
{
    return p->change == CHANGE_WIDE ? x : (double)(float)x;
}

static double round_to(enum dtype d, double x)
{
    return isfinite(x) ? dtype_value(d, dtype_round(d, x)) : x;
}

/* acc + x y. */
static double add(const struct play *p, double acc, double x, double y)
{
    if (p->change == CHANGE_WIDE)
        return acc + x * y;
    if (p->change == CHANGE_ROUNDED)
        return (double)((float)acc + (float)(x * y));
    return (double)fmaf((float)x, (float)y, (float)acc);
}

static double input_value(const struct play *p, int which, int64_t at)
{
    double x = tensor_value(p->input[which], at);
    if (p->change == CHANGE_INPUT_FLUSH)
        return fabs(x) < 0x1p-126 ? 0 : x;
    return p->change == CHANGE_INPUT_TF32   ? round_to(DTYPE_TF32, x)
           : p->change == CHANGE_INPUT_BF16 ? round_to(DTYPE_BF16, x)
                                            : x;
}

static int64_t keys_left(const struct play *p)
{
    int64_t n = p->a.keys;
    return p->change == CHANGE_TAIL_16    ? n - n % 16
           : p->change == CHANGE_TAIL_32  ? n - n % 32
           : p->change == CHANGE_LAST_KEY ? n - 1
                                          : n;
}

/* Where the query's key `key` lies in K and V. */
static int64_t key_row(const struct play *p, int64_t key)
{
    const struct attention *a = &p->a;
    int64_t h = p->q.head;
    int64_t head =
        p->change == CHANGE_HEAD_TURNS ? h % a->kv_heads : h / (a->heads / a->kv_heads);
    if (p->change == CHANGE_NEXT_PAGE)
        key = (key / a->page + 1) % a->pages * a->page + key % a->page;
    if (p->change == CHANGE_EARLY && p->q.b)
        key--;
    return attention_key_row(a, p->input, p->q.b, head, key);
}

/* --- a row -----------------------------------------------------------------------------------
 */

static double score(const struct play *p, double dot, int64_t distance)
{
    const struct attention *a = &p->a;
    double c = (double)a->softcap;
    double t = p->change == CHANGE_NO_SCALE ? dot : rounded(p, dot * (double)a->scale);
    if (c != 0 && p->change != CHANGE_NO_CAP)
        t = rounded(p, c * rounded(p, tanh(rounded(p, t / c))));
    if (a->alibi && p->change != CHANGE_NO_BIAS) {
        double slope = tensor_value(p->input[attention_slopes(a)], p->q.head);
        t = add(p, t, -slope, (double)(distance < 0 ? -distance : distance));
    }
    return t;
}

static void row_scores(struct play *p, int64_t row)
{
    const struct attention *a = &p->a;
    p->q = attention_query(&p->all, p->input, row, &p->a);
    int64_t to, keys = keys_left(p);
    attention_visible(a, p->q.i, &p->from, &to);
    to = to < keys ? to : keys;
    p->row = row;
    p->n = to > p->from ? to - p->from : 0;
    for (int64_t j = 0; j < p->n; j++) {
        int64_t q = row * a->d, k = key_row(p, p->from + j) * a->d;
        double dot = 0;
        for (int64_t l = 0; l < a->d; l++)
            dot = add(p, dot, input_value(p, ATTENTION_Q, q + l),
                      input_value(p, ATTENTION_K, k + l));
        p->dot[j] = dot;
        p->t[j] = score(p, dot, p->q.i + a->diagonal - (p->from + j));
    }
}

static void row_column(struct play *p, int64_t c)
{
    const struct attention *a = &p->a;
    for (int64_t j = 0; j < p->n; j++)
        p->v[j] = input_value(p, ATTENTION_V, key_row(p, p->from + j) * a->d + c);
}

static double weight(const struct play *p, double w)
{
    switch (p->change) {
    case CHANGE_WIDE:
    case CHANGE_WEIGHT_F32:
        return w;
    case CHANGE_WEIGHT_BF16:
        return round_to(DTYPE_BF16, w);
    case CHANGE_WEIGHT_F16:
        return round_to(DTYPE_F16, w);
    default:
        return attention_tiled(&p->a) ? round_to(p->a.dtype, w) : w;
    }
}

static double add_value(const struct play *p, double acc, double w, double v)
{
    double sum = add(p, acc, w, v);
    return p->change == CHANGE_SUM_BF16  ? round_to(DTYPE_BF16, sum)
           : p->change == CHANGE_SUM_F16 ? round_to(DTYPE_F16, sum)
                                         : sum;
}

/* Running sums: the largest score, the weights' sum, the values'. */
struct sums {
    double most, weights, values;
};

/* exp of the distance from the largest score. */
static double power(const struct play *p, int64_t j, double most)
{
    double away = p->change == CHANGE_DIFFERENCE
                      ? (double)fmaf((float)p->dot[j], p->a.scale, -(float)most)
                      : rounded(p, p->t[j] - most);
    return rounded(p, exp(away));
}

/* Keys [first, last) joined to the sums, all weights relative to the new maximum. */
static void sums_join(const struct play *p, int64_t first, int64_t last, struct sums *s)
{
    double most = s->most, part = 0;
    for (int64_t j = first; j < last; j++)
        most = p->t[j] > most ? p->t[j] : most;
    double rescale = first ? rounded(p, exp(rounded(p, s->most - most))) : 0;
    double values =
        p->change == CHANGE_NO_RESCALE ? s->values : rounded(p, s->values * rescale);
    for (int64_t j = first; j < last; j++) {
        double w = power(p, j, most);
        part = rounded(p, part + w);
        values = add_value(p, values, weight(p, w), p->v[j]);
    }
    s->weights = rounded(p, rounded(p, s->weights * rescale) + part);
    s->most = most;
    s->values = values;
}

static struct sums row_flash(const struct play *p)
{
    struct sums s = {-INFINITY, 0, 0};
    int64_t first = p->from / ATTENTION_TILE * ATTENTION_TILE - p->from;
    for (; first < p->n; first += ATTENTION_TILE) {
        int64_t last = first + ATTENTION_TILE < p->n ? first + ATTENTION_TILE : p->n;
        sums_join(p, first > 0 ? first : 0, last, &s);
    }
    if (p->change != CHANGE_NO_QUOTIENT)
        s.values = rounded(p, s.values / s.weights);
    return s;
}

static struct sums row_steps(const struct play *p)
{
    struct sums s = {-INFINITY, 0, 0};
    sums_join(p, 0, p->n, &s);
    s.values = 0;
    bool drops = p->a.kind == ATTENTION_DROPOUT;
    for (int64_t j = 0; j < p->n; j++) {
        if (drops && !dropout_keeps(&p->a, p->row * p->a.keys + p->from + j))
            continue;
        double w = power(p, j, s.most);
        w = p->change == CHANGE_NO_QUOTIENT ? w : rounded(p, w / s.weights);
        s.values = add_value(p, s.values, weight(p, w), p->v[j]);
    }
    if (drops)
        s.values = rounded(p, s.values * (double)dropout_factor(&p->a));
    return s;
}

/* Ranges one by one, then their results by their log-sum-exps. */
static struct sums row_split(const struct play *p)
{
    struct sums all = {-INFINITY, 0, 0}, part[64];
    double lse[64];
    int64_t n = 0;
    for (int64_t r = 0; r < p->a.split; r++) {
        int64_t low = r * p->a.chunk - p->from, high = low + p->a.chunk;
        struct play range = *p;
        low = low > 0 ? low : 0;
        high = high < p->n ? high : p->n;
        if (high <= low)
            continue;
        range.from += low;
        range.n = high - low;
        range.t += low;
        range.v += low;
        range.dot += low;
        part[n] = row_flash(&range);
        lse[n] = rounded(p, part[n].most + rounded(p, log(part[n].weights)));
        all.most = lse[n] > all.most ? lse[n] : all.most;
        n++;
    }
    for (int64_t r = 0; r < n; r++) {
        double w =
            p->change == CHANGE_AVERAGE ? 1 : rounded(p, exp(rounded(p, lse[r] - all.most)));
        all.weights = rounded(p, all.weights + w);
        all.values = add(p, all.values, w, part[r].values);
    }
    all.values = rounded(p, all.values / all.weights);
    return all;
}

static double row_result(const struct play *p, int which)
{
    if (!p->n)
        return which == ATTENTION_O ? 0 : -INFINITY;
    struct sums s = p->a.kind == ATTENTION_SPLIT   ? row_split(p)
                    : attention_tiled(&p->a)          ? row_flash(p)
                                                   : row_steps(p);
    if (which == ATTENTION_O)
        return s.values;
    double lse = rounded(p, s.most + rounded(p, log(s.weights)));
    return p->change == CHANGE_BASE_2 ? rounded(p, lse * 1.4426950408889634) : lse;
}

/* Dropout's mask: only the generator can be another. */
static bool mask_model(const struct case_id *id, enum change change, int64_t n,
                       const int64_t *index, uint64_t *ret_bits)
{
    struct attention a;
    attention_decode(id, &a);
    if ((change != CHANGE_ROUNDS_7 && change != CHANGE_ROUNDS_10) || !attention_change(&a, change))
        return false;
    for (int64_t x = 0; x < n; x++)
        ret_bits[x] = dropout_keeps(&a, index[x]);
    return true;
}

bool attention_model(const struct case_id *id, const struct case_plan *plan,
                     const struct tensor *const *input, int which, int model, int64_t n,
                     const int64_t *index, uint64_t *ret_bits)
{
    if (plan->tensor[which].dtype == DTYPE_U8)
        return mask_model(id, (enum change)model, n, index, ret_bits);
    struct play p = {.change = (enum change)model, .input = input, .row = -1};
    attention_decode(id, &p.all);
    p.a = p.all;
    bool lse = which == ATTENTION_LSE;
    if ((which != ATTENTION_O && !lse) || (!lse && p.change == CHANGE_BASE_2) ||
        !attention_change(&p.all, p.change))
        return false;
    p.t = calloc((size_t)p.a.keys * 3 + 3, sizeof *p.t);
    if (!p.t)
        return false;
    p.v = p.t + p.a.keys + 1;
    p.dot = p.v + p.a.keys + 1;
    int64_t columns = lse ? 1 : p.a.d;
    for (int64_t x = 0; x < n; x++) {
        if (p.row != index[x] / columns)
            row_scores(&p, index[x] / columns);
        if (!lse)
            row_column(&p, index[x] % columns);
        ret_bits[x] = dtype_round(plan->tensor[which].dtype, row_result(&p, which));
    }
    free(p.t);
    return true;
}
