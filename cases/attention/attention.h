/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_ATTENTION_ATTENTION_H
#define GPUPARITY_CASES_ATTENTION_ATTENTION_H

#include "../../harness/case.h"
#include "../wide.h"

/* Private to the family:
 *
 *   attention.c  parameters, variants, who does what
 *   plan.c       tensors and launches
 *   packed.c     where queries and keys lie
 *   inputs.c     inputs that no distribution makes
 *   dropout.c    which weights are kept
 *   row.c        one query's scores, weights and their errors
 *   bound.c      from a row to the references of its outputs
 *   merge.c      references of results joined from ranges
 *   oracle.c     rows of an output
 *   gradient.c   references of the gradients
 *   model.c      candidates of how a device may really compute */

/* How a variant goes about it. */
enum attention_kind {
    ATTENTION_STEPS, /* scores, softmax and values, with scores and weights in memory */
    ATTENTION_FLASH, /* online softmax over tiles, weights rounded to V's format before they
                        meet it */
    ATTENTION_MMA,    /* flash on the matrix units */
    ATTENTION_VARLEN, /* flash over sequences of any length, one behind the other */
    ATTENTION_SPLIT, /* flash over ranges of keys, whose results are joined by their weights */
    ATTENTION_BACKWARD, /* gradients, by way of all weights */
    ATTENTION_DROPOUT,  /* O with dropped weights, by way of all weights */
    ATTENTION_DROPBACK  /* BACKWARD of DROPOUT */
};

/* A case, decoded. */
struct attention {
    enum dtype dtype;
    int64_t batch, heads, kv_heads, queries, keys, d;
    int64_t first, last;  /* row i sees the keys max(0, i + first) to min(keys, i + last) - 1 */
    int64_t diagonal;     /* keys - queries */
    bool bottom;          /* VARLEN: first and last count from each sequence's diagonal */
    bool longest;         /* a model: the longest sequence's diagonal is everyone's */
    float scale, softcap; /* softcap 0: none */
    bool alibi;
    enum dtype out; /* of O: dtype; of parts: f32 */
    enum attention_kind kind;
    int64_t split, chunk; /* SPLIT: ranges, keys of each */
    int64_t page, pages;  /* keys a page, or 0; pages a sequence */
    int64_t low, high;    /* only these keys count: [low, high) */
    float keep;           /* DROPOUT: share of weights kept, by Philox with these rounds */
    int rounds;
    uint64_t seed;
    struct case_mode mode;
};

enum { ATTENTION_TILE = 16, ATTENTION_OPEN = 1 << 28 };

/* Places of the tensors in the plan. STEPS has scores and weights, SPLIT the ranges' O and
 * log-sum-exp. BACKWARD takes dO in O's place, and dP stands in that of the scores, as does
 * DROPOUT's mask; DROPBACK's is the last. VARLEN has the sequences' starts, [batch + 1] with the end. The table (page)
 * and the slopes (alibi) come last. */
enum {
    ATTENTION_Q,
    ATTENTION_K,
    ATTENTION_V,
    ATTENTION_O,
    ATTENTION_LSE,
    ATTENTION_S,
    ATTENTION_P,
    ATTENTION_STARTS_Q = ATTENTION_LSE + 1,
    ATTENTION_STARTS_K,
    ATTENTION_PART = ATTENTION_S,
    ATTENTION_PART_LSE,
    ATTENTION_DO = ATTENTION_O,
    ATTENTION_DP = ATTENTION_S,
    ATTENTION_KEEP = ATTENTION_S,
    ATTENTION_DS = ATTENTION_P + 1,
    ATTENTION_DQ,
    ATTENTION_DK,
    ATTENTION_DV,
    ATTENTION_DROPBACK_KEEP
};
void attention_decode(const struct case_id *id, struct attention *ret_attention);

/* The visible keys of query i that count: [*ret_from, *ret_to), empty when to <= from. */
void attention_visible(const struct attention *a, int64_t i, int64_t *ret_from,
                       int64_t *ret_to);

static inline bool attention_tiled(const struct attention *a)
{
    return a->kind >= ATTENTION_FLASH && a->kind <= ATTENTION_SPLIT;
}

static inline bool attention_drops(const struct attention *a)
{
    return a->kind == ATTENTION_DROPOUT || a->kind == ATTENTION_DROPBACK;
}

static inline bool attention_has_gradients(const struct attention *a)
{
    return a->kind == ATTENTION_BACKWARD || a->kind == ATTENTION_DROPBACK;
}

/* --- packed.c --------------------------------------------------------------------------------
 */

/* Queries or keys of sequence b, and of those before it. VARLEN: sequence 0 has the longest of
 * both, 1 no keys, 2 no queries, the others any number. */
int64_t attention_length(const struct attention *a, bool keys, int64_t b);
int64_t attention_start(const struct attention *a, bool keys, int64_t b);

int attention_table(const struct attention *a);
int attention_slopes(const struct attention *a);

/* The row of K and V where key `key` of kv head `head` of sequence `b` lies. */
int64_t attention_key_row(const struct attention *a, const struct tensor *const *input,
                          int64_t b, int64_t head, int64_t key);

/* Query i of head `head` of sequence b, which lies in row `row` of Q and O. */
struct query {
    int64_t row, b, head, i;
};

/* Who lies in that row; and the case as it is for that sequence, its lengths and mask. */
struct query attention_query(const struct attention *a, const struct tensor *const *input,
                             int64_t row, struct attention *ret_sequence);

/* --- plan.c ----------------------------------------------------------------------------------
 */
void attention_plan_make(const struct case_id *id, const struct attention *a,
                         struct case_plan *p);

/* --- inputs.c --------------------------------------------------------------------------------
 */

/* family.fill */
bool attention_fill(const struct case_id *id, const struct case_plan *plan, int i,
                  struct case_span span, struct tensor *t);

/* --- row.c -----------------------------------------------------------------------------------
 */

/* u: half an ulp of f32 at 1. */
#define ATTENTION_U 0x1p-24

/* What a row holds besides numbers; of several the first that applies. */
enum row_kind {
    ROW_EMPTY,  /* no visible key */
    ROW_UNSURE, /* depends on order or mode: not judged */
    ROW_NAN,    /* a score is NaN or +Inf: so is the sum NaN */
    ROW_NUMBER  /* numbers, and -Inf for keys that get no weight */
};

/* One query. Arrays count visible keys from `from`. */
struct row {
    enum row_kind kind;
    int64_t from, n;
    struct wide *t; /* owned; exact scores but for `t_error`; hi may be NaN or Inf */
    double *t_error;
    double *t_bound;   /* owned; how far a device's score may be off */
    double *last;      /* owned; the last product of the score, times scale */
    struct wide *w;    /* owned; exp(t - most) */
    struct wide sum;   /* of w */
    struct wide most;  /* the largest score */
    double most_bound; /* the largest of t_bound */
    double wide_error; /* relative, of w and of sum */
    double *theta;     /* owned; a device's weight is w (1 + x) e^c, |x| <= theta, c common */
    double *log_theta; /* owned; log(1 + theta) */
    double spread;     /* sum of w theta over sum of w */
};

/* Room for `keys` scores. */
enum err row_init(struct row *r, int64_t keys, struct errinfo *e);
void row_release(struct row *r);
/* Into `ret_sum` the exact x . y of d elements each, into `ret_bound` how far a device's f32
 * sum may be off, into `ret_last` the last product's magnitude. Finite inputs. */
void row_dot(const struct attention *a, const struct tensor *x, int64_t x_at,
             const struct tensor *y, int64_t y_at, struct wide *ret_sum, double *ret_error,
             double *ret_bound, double *ret_last);
/* The query in row `at` of Q. */
void row_make(const struct attention *a, const struct tensor *const *input, int64_t at,
              struct row *r);

/* --- bound.c ---------------------------------------------------------------------------------
 */

/* One element of a reference, as in struct oracle. */
struct element {
    double value, tail, error, bound, drop, scale;
};

/* Column c of O; `v` holds the column's values of the row's keys. */
struct element attention_output(const struct attention *a, const struct row *r,
                                const double *v);
struct element attention_lse(const struct attention *a, const struct row *r);
/* Score and weight of key j, visible or not. */
struct element attention_score(const struct attention *a, const struct row *r, int64_t j);
struct element attention_weight(const struct attention *a, const struct row *r, int64_t j);

/* --- merge.c ---------------------------------------------------------------------------------
 */

/* O and log-sum-exp joined from ranges: `whole` as if there were none, `part` those of the
 * ranges that see keys. */
struct element attention_merged(const struct attention *a, const struct element *whole,
                                int64_t n, const struct element *part_lse,
                                const struct element *part_o);
struct element attention_merged_lse(const struct attention *a, const struct element *whole,
                                    int64_t n, const struct element *part_lse);

/* --- oracle.c --------------------------------------------------------------------------------
 */

/* As family.oracle, for all but gradients. */
enum err attention_oracle(const struct case_id *id, const struct case_plan *plan,
                          const struct tensor *const *input, int which,
                          struct case_span span, int threads, struct oracle *o,
                          struct errinfo *e);

/* --- dropout.c -------------------------------------------------------------------------------
 */

/* Is weight `n`, counted over batch, heads, queries and keys, kept? */
bool dropout_keeps(const struct attention *a, int64_t n);

/* Byte `b` (of 16) of Philox4x32 with that many rounds; the counter's high words are 0. */
uint8_t dropout_byte(uint64_t counter, uint64_t key, int rounds, int b);

/* A byte above this drops its weight; and what makes up for those dropped. */
int dropout_limit(const struct attention *a);
float dropout_factor(const struct attention *a);

/* --- gradient.c ------------------------------------------------------------------------------
 */

/* As family.oracle, for DP, DS, DQ, DK and DV. */
enum err attention_gradient_oracle(const struct case_id *id, const struct case_plan *plan,
                                   const struct tensor *const *input, int which,
                                   struct case_span span, int threads, struct oracle *o,
                                   struct errinfo *e);

#endif
