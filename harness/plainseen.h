/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_PLAINSEEN_H
#define GPUPARITY_PLAINSEEN_H

#include "finding.h"
#include "gap.h"
#include "gap_sample.h"

/* The elements by which causes are judged where there is no reference: those that differ, all
 * of them if they are few or the tensor is small, else those of a sample, in whole blocks.
 * Indices are row-major. */

enum { PLAINSEEN_MAX = 1 << 17, PLAINSEEN_BLOCK = 1024 };

struct plainseen_element {
    int64_t index;
    uint64_t bits[2]; /* of A and of B */
    double value[2];
    int near; /* see plainseen_split */
};

struct plainseen {
    enum dtype d;
    bool is_float;
    int rank;
    int64_t dim[TENSOR_RANK_MAX], stride[TENSOR_RANK_MAX], count;
    bool turned; /* the pass saw both sides in Fortran order */
    const struct gap *g;
    const struct gap_sample *sample;
    int64_t differing;           /* in the tensor */
    struct plainseen_element *x; /* owned; ascending */
    int64_t n;
    int64_t parts;   /* one block of so many was looked at */
    bool all;        /* x is every element that differs, or every large one after a split */
    int64_t n_small; /* differences of rounding size that plainseen_split took out */
    double rms[2];   /* of the finite elements looked at, equal ones too */
    struct finding_out *o; /* where claims go */
};

/* `o` has format and shape; `sample` was filled by the pass that filled `g`. ERR_NOMEM. */
enum err plainseen_init(struct plainseen *s, const struct gap *g,
                        const struct gap_sample *sample, bool turned, struct finding_out *o,
                        struct errinfo *e);
void plainseen_release(struct plainseen *s);

/* Where a few elements are far apart and the others no more than rounding is, keeps the former:
 * the two have two causes. False, and nothing is changed, when the sizes are of one kind. */
bool plainseen_split(struct plainseen *s);

/* Both kinds together again. */
void plainseen_join(struct plainseen *s);

/* Equal but for rounding; integers and codes: equal. */
bool plainseen_alike(const struct plainseen *s, double x, double y);

/* The share of x that is more than rounding apart. */
double plainseen_far(const struct plainseen *s);

/* |b - a| in units of the format's spacing at the largest of |a|, |b| and the tensor's root
 * mean square; codes and integers: |b - a|. INFINITY when a class differs. */
double plainseen_size(const struct plainseen *s, const struct plainseen_element *x);

/* The index of an index of the pass. */
int64_t plainseen_index(const struct plainseen *s, int64_t in_pass);

/* The place in the sample of an element; -1: not there, or in a block that was left out. */
int64_t plainseen_slot(const struct plainseen *s, int64_t index);
uint64_t plainseen_bits(const struct plainseen *s, int side, int64_t slot);
/* Was the whole tensor kept and every block looked at? */
bool plainseen_whole(const struct plainseen *s);

int64_t plainseen_at(const struct plainseen *s, int64_t index, int axis); /* coordinate */

/* How many different values a side has in x, at most PLAINSEEN_KINDS. */
enum { PLAINSEEN_KINDS = 16 };
int plainseen_kinds(const struct plainseen *s, int side);

/* The share of the elements looked at. */
double plainseen_share(const struct plainseen *s, int64_t part);

/* "12 differing elements", "120000 differing elements looked at". */
const char *plainseen_words(const struct plainseen *s, char ret_text[96]);

/* Do both sides hold a number here? */
bool plainseen_numbers(const struct plainseen *s, const struct plainseen_element *x);

#endif
