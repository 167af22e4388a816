/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_OPTIM8BIT_OPTIM8BIT_H
#define GPUPARITY_CASES_OPTIM8BIT_OPTIM8BIT_H

#include "../../harness/case.h"
#include "../plan.h"
#include "book.h"

/* Private to the family:
 *
 *   optim8bit.c   parameters, variants, suites; who does what
 *   book.c        code books and the boundary-witness rule
 *   judge.c       references of codes and of values rounded to a format
 *   quantize.c    blockwise quantization: plan, inputs, reference
 *   step.c        one optimizer step of one element
 *   walk.c        8-bit steps of whole cases, block by block
 *   clip.c        the norm of updates, and its limit
 *   trail.c       inputs of optimizers, states on their way among them
 *   optimizer.c   optimizer kernels: plan, reference
 *   int8.c        LLM.int8: plan, reference; gemv4.c: the 4-bit products
 *   model.c       other ways of quantizing, for diagnose; stepmodel.c: of stepping */

/* Rows of the parameter table. */
enum {
    P_DTYPE,
    P_BOOK,
    P_N,
    P_BLOCK,
    P_STEP,
    P_STEPS,
    P_LR,
    P_BETA1,
    P_BETA2,
    P_BETA3,
    P_ALPHA,
    P_EPS,
    P_WD,
    P_GNORM,
    P_MAX_UNORM,
    P_PNORM,
    P_M,
    P_K,
    P_THRESHOLD,
    P_COUNT
};

/* What kind of kernel a variant is, and of these which. */
enum group {
    GROUP_QUANTIZE,
    GROUP_DEQUANTIZE,
    GROUP_STEP8,
    GROUP_RUN8,
    GROUP_STEP32,
    GROUP_CLIP32, /* STEP32 with the norm of the update limited */
    GROUP_INT8,
    GROUP_GEMV4,
    GROUP_GEMM4
};
enum rule {
    RULE_NONE,
    RULE_ADAM,
    RULE_MOMENTUM,
    RULE_RMSPROP,
    RULE_ADAGRAD,
    RULE_LION,
    RULE_ADEMAMIX
};

struct trait {
    enum group group;
    enum rule rule;
};
const struct trait *trait_of(const struct case_id *id);

enum dtype dtype_of(const struct case_id *id);
enum book_kind book_of(const struct case_id *id);

/* --- judge.c ---------------------------------------------------------------------------------
 */

/* What a mode leaves open. In a mode with correctly rounded division codes have no freedom at
 * all; else a code may be its neighbour where the exact quotient lies within `ulps` f32 ulps of
 * the boundary between the two (and `flushed` of one at 0). */
struct freedom {
    bool flush; /* subnormal f32 become zero */
    bool exact; /* division and square root are */
    double ulps, flushed;
};
struct freedom freedom_of(const struct case_mode *mode);

/* One element's code: the right place, and the other one that is right too or -1. */
struct code_pair {
    int place, other;
};

/* Sets element i of the reference of codes (8-bit: `low` NULL) or of bytes of two 4-bit codes.
 * A single code is judged exactly. Of a byte with a witnessed code everything between the two
 * bytes is taken as right: the output `y` judges every 4-bit code on its own. */
void judge_code(struct oracle *o, int64_t i, const struct book *b, const struct code_pair *high,
                const struct code_pair *low);

/* Element i must be exactly `value`; +0 and -0 are the same. `lost` is how far a lost term
 * moves it. */
void judge_exact(struct oracle *o, int64_t i, double value, double lost);

/* Element i may be anything from a to b, a the more likely. */
void judge_between(struct oracle *o, int64_t i, double a, double b, double lost);

void judge_nothing(struct oracle *o, int64_t i, double value);

/* x as the mode's f32 arithmetic takes it in. */
float flushed(const struct freedom *f, float x);

/* --- quantize.c ------------------------------------------------------------------------------
 */
enum err quantize_plan(const struct case_id *id, struct case_plan *p, struct errinfo *e);
enum err quantize_oracle(const struct case_id *id, const struct case_plan *plan,
                         const struct tensor *const *input, int which,
                         struct case_span span, struct oracle *o,
                         struct errinfo *e);
bool quantize_needs(const struct case_id *id, const struct case_plan *plan, int which, int i,
               struct case_span span, struct case_span *ret_need);
bool quantize_fill(const struct case_id *id, const struct case_plan *plan, int i,
                  struct case_span span, struct tensor *t);

/* --- optimizer.c -----------------------------------------------------------------------------
 */
enum err optimizer_plan(const struct case_id *id, struct case_plan *p, struct errinfo *e);
enum err optimizer_oracle(const struct case_id *id, const struct case_plan *plan,
                          const struct tensor *const *input, int which,
                         struct case_span span, struct oracle *o,
                          struct errinfo *e);
bool optimizer_needs(const struct case_id *id, const struct case_plan *plan, int which, int i,
               struct case_span span, struct case_span *ret_need);
bool optimizer_fill(const struct case_id *id, const struct case_plan *plan, int i,
                  struct case_span span, struct tensor *t);

/* --- int8.c, gemv4.c -------------------------------------------------------------------------
 */
enum err int8_plan(const struct case_id *id, struct case_plan *p, struct errinfo *e);
enum err int8_oracle(const struct case_id *id, const struct case_plan *plan,
                     const struct tensor *const *input, int which,
                         struct case_span span, struct oracle *o,
                     struct errinfo *e);

bool int8_fill(const struct case_id *id, const struct case_plan *plan, int i,
                  struct case_span span, struct tensor *t);

enum err gemv4_plan(const struct case_id *id, struct case_plan *p, struct errinfo *e);
enum err gemv4_oracle(const struct case_id *id, const struct case_plan *plan,
                      const struct tensor *const *input, int which,
                         struct case_span span, struct oracle *o,
                      struct errinfo *e);
bool gemv4_fill(const struct case_id *id, const struct case_plan *plan, int i,
                  struct case_span span, struct tensor *t);

#endif
