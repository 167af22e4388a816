/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_DIAGNOSE_H
#define GPUPARITY_DIAGNOSE_H

#include "finding.h"
#include "places.h"

/* Names the causes of a disagreement from evidence in the tensors: which places are wrong, what
 * the wrong values are, and which candidate way of computing (struct family's models) explains
 * them. It looks at nothing but numbers: no names, seeds or shapes.
 *
 * Two questions are told apart. A side that is *wrong* is compared with the reference; two
 * sides that are both right but differ are compared with each other. */

struct diagnose_input {
    const struct case_id *id;
    const struct case_plan *plan;
    const struct tensor *const *input; /* by plan tensor; NULL for OUT */
    int which;                         /* the output, index into the plan */
    const struct tensor *a, *b;        /* b NULL: one-sided */
    const struct oracle *oracle;
    const struct finding *finding; /* the case's records, of repeats; NULL: unknown */

    /* Of a large output a, b, oracle and input are an excerpt (excerpt.h): */
    const int64_t *place; /* of each element, its index in the output; NULL: this is all of it.
                             Else nobody asks the reference: inputs are not all here */
    const struct tensor *const *all;       /* inputs for models, by plan tensor */
    const struct places *places[2];        /* where in all of the output A and B are wrong; without a
                                              reference [1]: where they differ */
};

/* Fills o->claim and o->n_claim, the primary cause first; needs o->stats and o->verdict. SAME
 * and MISTRUSTED need no cause and get none. When nothing fits there is one claim, UNEXPLAINED.
 * Without a reference (oracle->value NULL) B is compared with A, and what fits nothing has no
 * claim. */
enum err diagnose_output(const struct diagnose_input *in, struct finding_out *o,
                         struct errinfo *e);

/* Would diagnose_output look at the elements? */
bool diagnose_wanted(const struct finding_out *o);

/* --- private to diagnose_*.c -----------------------------------------------------------------
 */

/* One side under suspicion. `bad` marks the elements to be explained: outside the bound or of
 * the wrong class. */
struct suspect {
    const struct diagnose_input *in;
    const struct tensor *t;
    char side;                /* '=': no reference; what A holds counts as right */
    const char *words[2];     /* bad and other elements: "wrong" and "right" */
    int64_t count, n_bad, first, last; /* first and last bad element */
    uint8_t *bad;                      /* owned, one byte an element */
    struct finding_out *o;             /* where claims go */
    bool fitted;                       /* the next three are known: diagnose_models' best fit */
    int model;
    double equal, variance;
};

/* Adds a claim behind those there; nothing when there is no room. */
void claim_add(struct finding_out *o, enum cause cause, char side, double share,
               const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Each looks for its kind of evidence and adds at most one claim. They are asked in the order
 * of diagnose.c's table; the first that claims at least half of the bad elements is primary. */
void diagnose_unwritten(struct suspect *s);
void diagnose_classes(struct suspect *s);
void diagnose_flush(struct suspect *s);
void diagnose_zeros(struct suspect *s);
void diagnose_inputs(struct suspect *s); /* inputs or factors that lost low bits */
void diagnose_rows(struct suspect *s); /* a value per row that lost bits */
void diagnose_factor(struct suspect *s);
void diagnose_models_bits(struct suspect *s);   /* a model that gives the very bits */
void diagnose_models_errors(struct suspect *s); /* a model that explains the errors' variance */
void diagnose_smooth(struct suspect *s); /* the error is a smooth function of the result */
void diagnose_slope(struct suspect *s);
void diagnose_rounding(struct suspect *s);   /* every result rounded in one direction */
void diagnose_bracket(struct suspect *s);    /* the neighbour of the exact value that is farther */
void diagnose_limits(struct suspect *s);     /* wrong at the ends of an integer's range only */
void diagnose_neighbours(struct suspect *s); /* of results that are defined to the bit */
void diagnose_origin(struct suspect *s);     /* wrong from special or subnormal inputs only */
void diagnose_readings(struct suspect *s);   /* bits of another format, bytes in another order */
void diagnose_bytes(struct suspect *s);      /* signed for unsigned */
void diagnose_packing(struct suspect *s);    /* bits too many in a byte of codes */
void diagnose_exchanged(struct suspect *s);  /* pairs of elements exchanged */
void diagnose_table(struct suspect *s);      /* an input's codes stand for other values */
void diagnose_blocks(struct suspect *s);     /* one factor a block */
void diagnose_flushed(struct suspect *s);    /* right where subnormal numbers count as zero */
void diagnose_whatif(struct suspect *s);     /* right for inputs read in another way */
void diagnose_entry(struct suspect *s);      /* one entry of a table of 16 */
void diagnose_coarse(struct suspect *s);     /* one factor of codes of few bits */
void diagnose_reciprocal(struct suspect *s);
void diagnose_affine(struct suspect *s);     /* one factor, beside a constant a line */
void diagnose_noise(struct suspect *s); /* errors over everything alike */
void diagnose_low_bits(struct suspect *s);
void diagnose_moved(struct suspect *s);
void diagnose_places(struct suspect *s);
void diagnose_codes(struct suspect *s);
void diagnose_reordered(struct suspect *s);
void diagnose_fresh_memory(struct suspect *s);
void diagnose_dropped(struct suspect *s); /* zeros at random, by other random numbers */
void diagnose_formula(struct suspect *s); /* case files: operands read elsewhere, terms lost */
void diagnose_carry(struct suspect *s);   /* running sums: one constant from a place on */
void diagnose_streams(struct suspect *s); /* two sides without a reference: random numbers */

/* Of two right sides: results rounded at random. True if it made a claim. */
bool diagnose_random_rounding(const struct diagnose_input *in, struct finding_out *o);

/* Finds the model that fits best, once; false if there is none. Fills model, equal, variance.
 */
bool suspect_fit(struct suspect *s);

/* May the case's reference be asked for other inputs, a few dozen times? Not of an excerpt, whose
 * inputs are not all here; not where kernels made the reference, which does not come from the
 * inputs; nor beyond 2^19 elements, where nobody would wait (a choice). */
bool suspect_askable(const struct suspect *s);

/* Are all wrong elements a neighbour, in the format's ordered list, of the right one? */
bool suspect_neighbours(const struct suspect *s);

/* Are wrong elements those that come from the largest inputs? `ret_least`: from which size on. */
bool suspect_above(const struct suspect *s, double *ret_least);
/* Was the bad element i never written? */
bool suspect_unwritten(const struct suspect *s, int64_t i);

/* Elements that ways of computing are tried on. */
enum { MODEL_SAMPLE = 512 };
struct picked {
    int64_t n, index[MODEL_SAMPLE];
    uint64_t bits[MODEL_SAMPLE]; /* of the model at hand */
};

/* Takes at most `room` of the marked elements, evenly. */
void picked_add(struct picked *s, const uint8_t *marked, int64_t count, int64_t n_marked,
                int64_t room);

/* How well a model fits one tensor on a sample. */
struct model_fit {
    int model;       /* -1: none */
    double equal;    /* share of equal bits */
    double variance; /* share of the error's variance explained, in units of the bound */
};

/* The best fitting wrong model; a right one that fits as well wins against it. Of models that fit
 * `s` alike the one that fits the whole tensor better, for which there is room in `work`; NULL:
 * the first. `want_right`: among right ones only. */
struct model_fit best_fit(const struct diagnose_input *in, const struct tensor *t, struct picked *s,
                    struct picked *work, bool want_right);

/* The model's results at the elements of `s`; false if it does not apply. */
bool model_bits(const struct diagnose_input *in, struct picked *s, int model);

/* Equal, or both NaN. */
bool same_bits(enum dtype d, uint64_t x, uint64_t y);
/* Did something come from an exact zero, in one of a hundred wrong elements or more? No factor does
 * that. */
bool suspect_from_zero(const struct suspect *s);

/* The pair of right sides: which two ways of computing explain the elements that differ. */
void diagnose_pair(const struct diagnose_input *in, struct finding_out *o);

/* Is element i of side `t` right? Would these bits be? Same rule as stats. */
bool element_right_bits(const struct oracle *oracle, enum dtype d, uint64_t bits, int64_t i);
bool element_right(const struct oracle *oracle, const struct tensor *t, int64_t i);

#endif
