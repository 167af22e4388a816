/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASE_H
#define GPUPARITY_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "cause.h"
#include "dtype.h"
#include "err.h"
#include "fill.h"
#include "tensor.h"

/* All that a family in cases/ may know. A family is `const` data and pure functions: it never
 * sees a device, a file or another family.
 *
 *   family   a computation with one mathematical definition: gemm
 *   variant  one implementation of it as a kernel: naive, tiled
 *   case     family/variant plus a value for every parameter; its printed id is all there is to it */

/* Outputs are judged in windows of this many elements, so that memory does not grow with them;
 * those of one window at most are looked at as a whole. A choice: about 50 MB. */
enum { CASE_WINDOW = 1 << 18, ORACLE_NOTES = 16 };

enum { CASE_PARAM_MAX = 24, CASE_TENSOR_MAX = 12, CASE_LAUNCH_MAX = 16, CASE_ARG_MAX = 48 };

/* --- parameters ------------------------------------------------------------------------------ */

enum param_kind { PARAM_INT, PARAM_REAL, PARAM_WORD };

/* One row of a family's parameter table, which ends with a row whose name is NULL. Parsing,
 * printing, `list`, help and error texts all read this table. The rows `dist`, `seed` and `mode`
 * are common to all families and come last (case_common_params in case.c); a family lists only
 * its own. */
struct param {
    const char *name, *summary;
    enum param_kind kind;
    double minimum, maximum;  /* INT and REAL: inclusive range */
    const char *const *words; /* WORD: NULL-ended; the value is the index */
    const char *standard;     /* value when the id does not say, as text */
    bool quiet;               /* printed in an id only when it is not the standard value */
};

union param_value {
    int64_t i; /* INT, and WORD as an index */
    double r;  /* REAL */
};

/* Floating-point rules by meaning; a backend maps them to its compiler's options. */
struct case_mode {
    bool contract;    /* a*b+c may become one fused operation */
    bool flush;       /* subnormal f32 inputs and results become zero */
    bool exact_div;   /* division correctly rounded */
    bool exact_sqrt;  /* square root correctly rounded */
    bool approximate; /* library functions may be replaced by the hardware's approximations */
};

struct casefile;
struct family;
struct variant;

/* A parsed id. Plain data: copy freely, nothing to release. */
struct case_id {
    const struct family *family;
    const struct variant *variant;
    union param_value value[CASE_PARAM_MAX]; /* by row of the family's table */
    enum dist dist;
    uint64_t seed;
    struct case_mode mode;
};

/* --- what a case asks of a device ------------------------------------------------------------ */

/* |a - b| <= ulp * spacing + abs + rel * size, spacing and size at the larger of the two. */
struct case_limit {
    double ulp, abs, rel;
    const char *reason;
};

enum tensor_role { TENSOR_IN, TENSOR_OUT, TENSOR_INOUT };

struct case_tensor {
    char name[TENSOR_NAME_MAX]; /* "a", "c": the dataset's name in a record */
    enum tensor_role role;
    enum dtype dtype;
    int rank;
    int64_t dim[TENSOR_RANK_MAX];
    enum dist dist; /* IN and INOUT: how it is filled; OUT starts as poison */
    int axis;       /* the contracted dimension, see fill_tensor */
    bool zeroed;    /* OUT that the computation adds into: starts as zeros instead of poison */
    bool sequence;  /* dimension 0 is one step after the other, of one computation */
    bool drifts;    /* from step to step, by quantization: from the second on oracle.drop is how far
                       the element is from a run without it */
    bool reference; /* OUT that is the wide answer to another one: recorded, not judged itself */
    bool open;      /* OUT without a reference */
    bool whole;     /* made at once, not in spans: an input, or an OUT's reference, all of whose
                       elements come from one walk */
    const struct case_limit *limit; /* OUT without a reference: how far apart two sides may be */
};

enum case_arg_kind { CASE_ARG_TENSOR, CASE_ARG_I32, CASE_ARG_I64, CASE_ARG_F32, CASE_ARG_BITS };

struct case_arg {
    enum case_arg_kind kind;
    int tensor; /* CASE_ARG_TENSOR: index into case_plan.tensor */
    int64_t i;
    float f;
    uint64_t bits; /* CASE_ARG_BITS: `bytes` of them, little-endian */
    int bytes;
};

struct case_launch {
    char entry[256]; /* the extern "C" name of the kernel */
    uint32_t grid[3], block[3];
    uint32_t shared; /* dynamic shared memory in bytes */
    int n_arg;
    struct case_arg arg[CASE_ARG_MAX];
};

/* A block of {0,0,0}: what the binary says (case files). */
/* Everything needed to run a case, derived from its id alone. Launches run in order. */
struct case_plan {
    int n_tensor, n_launch;
    struct case_tensor tensor[CASE_TENSOR_MAX];
    struct case_launch launch[CASE_LAUNCH_MAX];
};

/* --- the right answer ------------------------------------------------------------------------ */

/* One output's wide reference, element by element. The exact result lies within
 * value + tail +- error. A device result is right when it lies within `bound` of value + tail,
 * `bound` including the rounding to the output's format and `error`.
 *
 * `bound` is derived from the computation (inputs' magnitudes, K, formats, what the variant says
 * of its accumulation), with the reasoning beside the code. INFINITY in `bound` means that this
 * element is not judged (for instance an expected overflow); NaN or Inf in `value` means that a
 * device must give NaN, or that Inf. `drop` is how far the result moves when one typical term is
 * lost: the smallest planted fault the case wants to catch; a case in which no `drop` exceeds
 * 2 * bound is MISTRUSTED. `scale` is the natural magnitude of the sum (gemm: |alpha||A||B| +
 * |beta||C|), for statistics relative to it. */
struct oracle {
    int64_t count;
    double *value, *tail, *error, *bound, *drop, *scale; /* owned, `count` each */
    bool reserved; /* the columns are address space */

    /* A family's notes: what it found out from all inputs, or on its way to element `noted`, for
     * the next call on the same oracle. Zero at first. */
    int64_t noted;
    double note[ORACLE_NOTES];
};

/* All zero. More than CASE_WINDOW elements are address space only, which takes memory where
 * something is written; oracle_drop gives that of from <= i < to back, and makes these zero (and
 * what shares a page with them). ERR_NOMEM. */
enum err oracle_init(struct oracle *o, int64_t count, struct errinfo *e);
void oracle_drop(struct oracle *o, int64_t from, int64_t to);
void oracle_release(struct oracle *o); /* accepts a zeroed struct */

/* Elements from <= i < to of a tensor. */
struct case_span {
    int64_t from, to;
};

/* Of row `row` of `width` elements, the columns in the span; may be none. */
static inline struct case_span case_row(struct case_span span, int64_t row, int64_t width)
{
    struct case_span in = {span.from - row * width, span.to - row * width};
    in.from = in.from > 0 ? in.from : 0;
    in.to = in.to < width ? in.to : width;
    return in;
}

/* --- a case as an experiment on the order of its sum ------------------------------------------ */

/* With dist=mask (fill.h) each row of an input brings another pair of large terms into the sum,
 * and each sum is an output element of its own. */
struct case_sum {
    struct case_id id;     /* what to run: dist=mask, a row for each pair of terms */
    int64_t leaves;        /* terms of a sum, 2 at least */
    int output;            /* index into the plan: element `pair` * stride has that pair's sum */
    int64_t stride;
    double factor;         /* what the sum was divided by: 1, or the number of terms */
};
enum { CASE_SUM_LEAVES_MAX = 512 };

/* --- descriptions ---------------------------------------------------------------------------- */

struct variant {
    const char *name, *summary;
    const char *source; /* kernel file in the family's folder, "tiled.cu" */
    bool hidden;        /* not listed nor selected by globs: planted faults */
    bool unordered;     /* adds with atomics: results may differ from run to run */
};

/* A suite: ids that a tag selects. */
struct suite_row {
    const char *tag; /* "quick", "full", "stress" */
    const char *id;  /* text after "family/", may expand {a|b|c}: "naive:dtype={f32|bf16},m=64" */
};

/* A candidate of how a device may really compute: diagnose looks which one explains the errors it
 * sees. Elements are computed one by one, as bits of the output's format. */
struct case_model {
    const char *name;  /* "TF32 inputs, truncated" */
    enum cause cause;  /* what it means when this model fits */
    bool right;        /* a way of computing that the declared precision allows */
    bool far;          /* looks at more inputs than family.needs says */
};

/* One thing that a case's output says about the device, for families whose outputs are answers. */
struct case_reading {
    char name[64];   /* the question: "a * b + c" */
    char words[128]; /* the answer: "contracted: rounded once" */
    char proof[384]; /* operations, operands and results as bits that show it */
    enum cause cause; /* what it is called when two devices differ here */
};
enum { CASE_READINGS_MAX = 64 };

struct family {
    const char *name, *summary;
    const char *path; /* of a case file: stands in ids for family/variant; NULL: built in */
    const struct casefile *file; /* with `path` */
    const struct param *params;
    const struct variant *variants;  /* ends with a NULL name */
    const struct suite_row *suites;  /* ends with a NULL tag */
    bool functions; /* results go through exp, log, ... which each vendor computes in its own way */

    /* Derives the plan. ERR_USAGE for parameters that do not go together, naming both and what
     * would be valid. */
    enum err (*plan)(const struct case_id *id, struct case_plan *ret_plan, struct errinfo *e);

    /* Computes the reference of output tensor `which` (index into plan->tensor), elements `span`,
     * from the input bits: `input[i]` belongs to plan->tensor[i], NULL for OUT; for an OUT that is
     * `reference`, what the device made of it. `o` is for all elements; those of the span are zero;
     * others may be written too, and mean nothing. `threads` >= 1. The result depends neither on `threads` nor on
     * how an output is cut into spans. Not called for an output that is `open`; for one that is
     * `whole` with all of it. */
    enum err (*oracle)(const struct case_id *id, const struct case_plan *plan,
                       const struct tensor *const *input, int which, struct case_span span,
                       int threads, struct oracle *o, struct errinfo *e);

    /* Optional: candidates for output `which`, ending with a NULL name, and their results at the
     * `n` elements of `index`. A model that does not apply to this case (TF32 of an integer)
     * returns false and writes nothing. */
    const struct case_model *models;
    bool (*model)(const struct case_id *id, const struct case_plan *plan,
                  const struct tensor *const *input, int which, int model, int64_t n,
                  const int64_t *index, uint64_t *ret_bits);

    /* Optional: of input `i`, the elements that the reference and the models of elements `span` of
     * output `which` look at, so that inputs need not be there whole. False: any. Not asked of
     * inputs that are `whole` or have at most CASE_WINDOW elements. */
    bool (*needs)(const struct case_id *id, const struct case_plan *plan, int which, int i,
                  struct case_span span, struct case_span *ret_need);

    /* Optional: makes input `i` where a distribution cannot (a code book, an optimizer's state
     * on its way): writes the elements `span` of `t` at least, which has its shape and is zero
     * there, and returns true; false leaves it to the plan's distribution. The span is all of
     * an input that is `whole` or has at most CASE_WINDOW elements. As case_input says, a function of
     * seed, dist and shape; never of variant or mode. */
    bool (*fill)(const struct case_id *id, const struct case_plan *plan, int i,
                 struct case_span span, struct tensor *t);

    /* Optional: what the plan's first output says; at most `room` readings, the same questions in
     * the same order whatever the answers. Returns how many. */
    int (*readings)(const struct case_id *id, const struct tensor *out, int room,
                    struct case_reading *ret_reading);

    /* Optional: how to find the order in which this case adds; sizes other than the number of
     * terms may be changed. ERR_USAGE where there is nothing to find (integers, one term, more
     * than CASE_SUM_LEAVES_MAX), saying what would be possible. */
    enum err (*summation)(const struct case_id *id, struct case_sum *ret_sum,
                          struct errinfo *e);
};

/* NULL-ended; generated from the list in cases/meson.build. */
extern const struct family *const case_families[];

const struct family *family_find(const char *name);
const struct variant *variant_find(const struct family *f, const char *name);

/* The number of rows of a family's own table, and the row of that name (or -1). */
int family_param_count(const struct family *f);
int family_param_find(const struct family *f, const char *name);

/* Inputs of a case: tensor i of the plan, filled. Same bits on every machine, forever: a function
 * of (seed, family, tensor name, dist, format, shape); the variant and the mode do not matter. */
enum err case_input(const struct case_id *id, const struct case_plan *plan, int i,
                    struct tensor *ret_tensor, struct errinfo *e);

/* The reference of all of output `which`, initialised here; zeroed for one that is open. ERR_MISSING
 * where the family has none (an operator of a capture). */
enum err case_oracle(const struct case_id *id, const struct case_plan *plan,
                     const struct tensor *const *input, int which, int threads,
                     struct oracle *ret_oracle, struct errinfo *e);

/* The number of elements of a tensor of a plan. */
int64_t case_tensor_count(const struct case_tensor *t);

/* Elements `span` of input i into their places of `t`, which has its shape and is zero there. With
 * case_needs in spans; anything else is made whole. */
void case_input_part(const struct case_id *id, const struct case_plan *plan, int i,
                     struct case_span span, struct tensor *t);

/* family.needs, and all elements where that does not say. */
struct case_span case_needs(const struct case_id *id, const struct case_plan *plan, int which,
                            int i, struct case_span span);

/* Of a matrix of rows of `width` elements, those that belong to the rows of `of` elements in which
 * the span lies. */
static inline struct case_span case_rows(struct case_span span, int64_t of, int64_t width)
{
    return (struct case_span){span.from / of * width, ((span.to - 1) / of + 1) * width};
}

/* XXH3-128 over the digests of all inputs, in plan order; 33 bytes. */
enum err case_input_digest(const struct case_id *id, const struct case_plan *plan, char *ret_hex,
                           struct errinfo *e);

#endif
