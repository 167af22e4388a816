/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_PROBE_H
#define GPUPARITY_CASES_PROBE_H

#include "../../harness/case.h"

/* Private to the family.
 *
 *   probe.c    parameters, plan, inputs, reference
 *   scalar.c   the questions to f32 arithmetic and atomics, from scalar.def
 *   matrix.c   the questions to matrix units
 *   reading.c  from outputs to words
 *
 * A question (a line of the fingerprint) is a few tries: inputs chosen so that the bits of the
 * results tell one kind of arithmetic from another. Everything said comes from these bits. */

enum { PROBE_TRIES_MAX = 2048, PROBE_LINES_MAX = 64, PROBE_WORDS_MAX = 8, PROBE_OUTS = 4 };
enum { PROBE_DEPTH = 16 }; /* products of one try of a matrix unit */

enum probe_unit {
    PROBE_SCALAR,
    PROBE_ATOMIC,
    PROBE_F16,
    PROBE_F16_F16, /* sums in f16 */
    PROBE_BF16,
    PROBE_TF32
};

struct probe_try {
    uint32_t op, in[3];                         /* scalar, atomic */
    uint32_t a[PROBE_DEPTH], b[PROBE_DEPTH], c; /* matrix: bits of the operands' formats */
    bool sure;     /* the answer is the same on every right device: */
    uint32_t want; /* this */
};

/* How results become words. */
enum probe_kind {
    PROBE_WORDS, /* the words whose bits they are */
    PROBE_SWEEP, /* share of correctly rounded results of a function */
    PROBE_BITS,  /* the last try j whose result still depends on 2^-j */
    PROBE_ORDER  /* how many products enter an addition, from masks */
};

struct probe_word {
    const char *text;
    uint32_t out[PROBE_OUTS];
};

struct probe_line {
    const char *name;
    enum cause cause; /* what it is called when two devices differ here */
    enum probe_kind kind;
    int first, count; /* tries; WORDS: at most PROBE_OUTS */
    int words;
    struct probe_word word[PROBE_WORDS_MAX];
};

struct probe_table {
    enum probe_unit unit;
    int tries, lines;
    struct probe_try try[PROBE_TRIES_MAX];
    struct probe_line line[PROBE_LINES_MAX];
};

enum probe_unit probe_unit_of(const struct case_id *id);

/* The questions to a unit; the caller frees. NULL if there is no memory. */
struct probe_table *probe_table_make(enum probe_unit unit);
void probe_scalar_fill(struct probe_table *t); /* also atomic */
void probe_matrix_fill(struct probe_table *t);

/* Formats of a matrix unit's operands (tf32: f32, so that the bits it ignores can be set) and
 * of its sums. */
enum dtype probe_operand(enum probe_unit unit);
enum dtype probe_sum(enum probe_unit unit);
static inline bool probe_is_matrix(enum probe_unit unit)
{
    return unit >= PROBE_F16;
}

/* For building: begins a line; adds a try to it; adds words to it. */
struct probe_line *probe_line_add(struct probe_table *t, const char *name, enum cause cause,
                                  enum probe_kind kind);
struct probe_try *probe_try_add(struct probe_table *t);
void probe_word_add(struct probe_table *t, const char *text, const uint32_t *out);

/* "a + b", the operation as people write it; for SWEEP the correctly rounded result. */
const char *probe_op_name(uint32_t op);
int probe_op_arity(uint32_t op);
uint32_t probe_op_exact(uint32_t op, const uint32_t *in);
/* What scalar.cu stores beside the result. */
uint32_t probe_stored(const struct probe_try *x);

int probe_readings(const struct case_id *id, const struct tensor *out, int room,
                   struct case_reading *ret_reading);

#endif
