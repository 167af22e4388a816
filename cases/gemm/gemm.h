/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_GEMM_H
#define GPUPARITY_CASES_GEMM_H

#include "../../harness/case.h"

/* Private to the family: what a case says, and the three stages of the reference.
 *
 *   dot.c     sums of products for a block of rows: value, tail, sum of magnitudes
 *   bound.c   from those to the reference of one element and how far a device may be from it
 *   oracle.c  packs operands, spreads rows over threads, joins the two */

/* How a variant sums; bound.c derives from it how far it may be off. */
enum gemm_sums {
    GEMM_CHAIN,  /* f32 operations, in order */
    GEMM_ATOMIC, /* `split` ranges of k, their f32 sums meet through atomics */
    GEMM_NARROW, /* `split` ranges, their sums rounded to the output's format before they meet
                  */
    GEMM_MATRIX, /* the device's matrix unit */
};

/* A case, decoded. C = alpha op(A) op(B) + beta C, op(A) of m x k, op(B) of k x n. */
struct gemm {
    enum dtype in, out, acc; /* acc: what sums are kept in */
    int64_t m, n, k;
    int64_t batch;     /* so many independent products, one after the other in memory */
    int64_t pad;       /* unused elements at the end of each stored row of A and B */
    bool ta, tb;       /* A stored k x m; B stored n x k */
    float alpha, beta; /* as the kernel gets them */
    enum gemm_sums sums;
    int64_t split;
    bool flush, reorder; /* the mode lets compilers reorder sums */
};

/* Places of element (i, l) of op(A) and (l, j) of op(B), matrix z of the batch, in their
 * tensors. C has no gaps: (z * m + i) * n + j. */
static inline int64_t gemm_at_a(const struct gemm *g, int64_t z, int64_t i, int64_t l)
{
    return g->ta ? (z * g->k + l) * (g->m + g->pad) + i : (z * g->m + i) * (g->k + g->pad) + l;
}

static inline int64_t gemm_at_b(const struct gemm *g, int64_t z, int64_t l, int64_t j)
{
    return g->tb ? (z * g->n + j) * (g->k + g->pad) + l : (z * g->k + l) * (g->n + g->pad) + j;
}

void gemm_decode(const struct case_id *id, struct gemm *ret_gemm);

/* Places of the tensors in the plan. GEMM_SUM exists for split-K with an epilogue of its own:
 * the f32 sums ("sum", as C), or the narrow partial sums ("part", a C for each range). */
enum { GEMM_A, GEMM_B, GEMM_C, GEMM_SUM };

/* --- dot.c -----------------------------------------------------------------------------------
 */

/* Operands as floats, which hold every input format exactly. `a` is m x k, row-major. `b` lies
 * in panels of GEMM_PANEL columns, each k x GEMM_PANEL, the last one filled up with zeros. */
enum { GEMM_PANEL = 16 };

struct gemm_operands {
    int64_t m, n, k;
    float *a, *b; /* owned */
};

/* Four matrices like C, borrowed. */
struct gemm_dots {
    double *value, *tail; /* value + tail is sum a*b but for (k 2^-53)^2 * magnitude */
    double *magnitude;    /* sum |a*b|, within k 2^-53 of itself */
    double *walk; /* |sum of the first l products| over l = 1..k, within k^2 2^-53 magnitude */
};

/* Rows [first, last) of the exact product. Operands must be finite for the promises to hold;
 * others give unspecified numbers. The result does not depend on how rows are grouped nor on
 * the processor. */
void gemm_dot(const struct gemm_operands *o, int64_t first, int64_t last,
              const struct gemm_dots *ret_dots);

/* --- bound.c ---------------------------------------------------------------------------------
 */

/* What is known of one row of op(A) or one column of op(B). */
struct gemm_line {
    bool special;   /* holds NaN or Inf */
    bool subnormal; /* holds a number that is subnormal as f32 */
    double sum;     /* of magnitudes of the finite elements */
    double largest; /* of those */
};

/* One element's sum before the epilogue. */
struct gemm_sum {
    double value, tail, magnitude; /* value may be NaN or Inf: so is a device's */
    double last;                   /* magnitude of the last product; 0 if k == 0 */
    double lost;                   /* by flushing subnormal inputs: at most */
    double peak;                   /* no product of the row and the column is larger */
    double walk;                   /* as in struct gemm_dots */
    double steps;                  /* f16 sums: the same over every second l only */
    bool unsure;                   /* special values whose outcome depends on order or mode */
};

/* One element of the reference, as in struct oracle. */
struct gemm_element {
    double value, tail, error, bound, drop, scale;
};

/* `c` is the old element of C, used only if beta != 0. */
struct gemm_element gemm_reference(const struct gemm *g, const struct gemm_sum *s, double c);

/* A sum kept in the variant's narrowest format overflows from here on. */
double gemm_sum_limit(const struct gemm *g);

/* --- oracle.c --------------------------------------------------------------------------------
 */

/* family.oracle */
enum err gemm_oracle(const struct case_id *id, const struct case_plan *plan,
                     const struct tensor *const *input, int which, struct case_span span,
                     int threads, struct oracle *o, struct errinfo *e);

#endif
