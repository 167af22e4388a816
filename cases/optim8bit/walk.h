/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_OPTIM8BIT_WALK_H
#define GPUPARITY_CASES_OPTIM8BIT_WALK_H

#include "step.h"

/* 8-bit optimizer steps of whole cases, block by block. */

enum { WALK_SIZE = 256 };

/* The numbers of a state. m and slow are the planes of code1 with the signed book, v is code2
 * with the unsigned one. */
enum { WALK_M, WALK_SLOW, WALK_V, WALK_NUMBERS };
bool walk_has(enum rule r, int number);
bool walk_is_square(enum rule r, int number); /* never negative */

/* Codes and scales of a block, by number of the state. */
struct block {
    uint8_t code[WALK_NUMBERS][WALK_SIZE];
    float most[WALK_NUMBERS];
};

/* What became of it, element by element. */
struct block_result {
    struct block next;
    float old[WALK_NUMBERS][WALK_SIZE];    /* before the step */
    float number[WALK_NUMBERS][WALK_SIZE]; /* after it, before quantization */
    float second[WALK_NUMBERS];            /* largest magnitude but one */
    struct range p[WALK_SIZE];
    double effect[WALK_SIZE]; /* of quantization: |p - that of a run with f32 states|; in the
                                 first step, where there is none, the size of the update */
};

struct books {
    struct book of[WALK_NUMBERS];
};
struct books books_make(void);

/* Calls `take` for every block in `block` and every row in `row`, in order: rows of a block one
 * after the other. Rows that are one run must all be walked. */
struct walk {
    const struct case_id *id;
    const struct case_plan *plan;
    const struct tensor *p, *g;
    const struct tensor *code1, *absmax1, *code2, *absmax2; /* NULL: the state is carried on */
    struct step s;
    struct books b;
    int64_t n, rows, blocks, planes;
    struct case_span row, block; /* what is walked: all, as walk_make leaves it */
    void (*take)(struct walk *w, int64_t row, int64_t block, int count,
                 const struct block_result *r);
    void *context;
};

/* p, g, the state's tensors, take and context are left to the caller. */
struct walk walk_make(const struct case_id *id, const struct case_plan *plan);
enum err walk_all(struct walk *w, struct errinfo *e);

/* Places of element i, or of a block's scale, of number k in the tensors of codes and scales.
 */
int64_t walk_code_at(const struct walk *w, int64_t row, int k, int64_t i);
int64_t walk_scale_at(const struct walk *w, int64_t row, int k, int64_t block);

/* The sign rule of m and slow: the code moves towards x where their signs differ. */
uint8_t walk_code_signed(const struct book *b, int place, float x, bool has_sign);

/* --- clip.c ----------------------------------------------------------------------------------
 */

/* Inputs of an f32 step; `v` NULL where the rule has none. */
struct walk_tensors {
    const struct tensor *p, *g, *m, *v;
};

/* The sum of squared updates, how far a device's may be off; the factor of the update and its
 * relative error. Beyond: too large for f32, nothing is judged. */
struct clip {
    double sum, bound, relative, factor, factor_relative;
    bool beyond;
};
struct clip clip_make(const struct step *s, const struct walk_tensors *t, int64_t n);

/* The plan's tensor of that name, or -1. */
int walk_find(const struct case_plan *p, const char *name);

#endif
