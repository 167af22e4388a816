/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_GAP_STRIP_H
#define GPUPARITY_GAP_STRIP_H

#include <stdbool.h>
#include <stdint.h>

#include "dtype.h"

/* The fast half of gap.h: what a short run of elements comes to without looking at them one by
 * one, in loops that the compiler makes vectors of, for AVX2 as well where the processor has
 * it. Everything here is exact, so all processors find the same. */

enum {
    GAP_STRIP = 1024,
    GAP_MASK = GAP_STRIP / 64, /* words of a mask: bit i % 64 of word i / 64 is element i */
    GAP_NEAR = 128, /* distances below have a cell of their own; above, 64 a binade */
    GAP_BINADE = 64,
    GAP_CELLS_32 = 2 * (GAP_NEAR + (32 - 7) * GAP_BINADE) /* cells of magnitudes of 32 bits */
};

/* What the loops need of a format. */
struct gap_shape {
    enum dtype d;
    bool is_float, fnuz;
    int width, unused, shift;
    uint64_t mask, limit, sign, flip; /* float: codes below limit are finite */
    uint64_t nan, normal; /* float: the least NaN, if not fnuz; least normal number */
    double scale;         /* float: value = code in the place of a double's, times this */
    double step;          /* float: the spacing of numbers from 1 on */
};

struct gap_shape gap_shape_make(enum dtype d);

/* A first look at a strip. */
struct gap_look {
    uint64_t seen[2]; /* bits that are set somewhere */
    bool odd;         /* some element is not finite */
    int differ;       /* finite elements whose bits differ */
    int nan_same;     /* elements with the same NaN; only where some are odd */
    /* Valid where something differs or is odd: elements whose bits differ, and those that are
     * not finite. */
    uint64_t unequal[GAP_MASK], strange[GAP_MASK];
};
void gap_strip_look(const struct gap_shape *f, const void *a, const void *b, int n,
                    struct gap_look *ret_look);

/* Puts the elements of a mask of a strip side by side, and says which they were; returns how
 * many. */
int gap_strip_gather(const struct gap_shape *f, const void *a, const void *b,
                     const uint64_t *mask, int n, void *to_a, void *to_b, int *index);

/* Counts of differing elements, see struct gap. */
struct gap_marks {
    int64_t smaller[2], flushed[2], zero_sign;
};

/* One strip, all of it finite. */
struct gap_strip {
    double absolute; /* the largest |b - a|, or 0 where it is not above what is `known` */
    struct gap_marks marks;
    uint32_t values[2];
    uint64_t up, down,
        far;   /* the largest distance, the lowest negative one, the larger of them */
    bool near; /* the magnitudes fit 32 bits */
};

/* Near ones are modulo 2^32; of others the magnitudes, as unsigned, are in far. Either way
 * `below` is -1 for a negative one and 0 for others, unless all are below GAP_NEAR. */
struct gap_distances {
    int32_t near[GAP_STRIP], below[GAP_STRIP];
    int64_t far[GAP_STRIP];
};

/* `known`: an absolute distance that is no news; -1: all are. */
void gap_strip_scan(const struct gap_shape *f, const void *a, const void *b, int n,
                    double known, struct gap_distances *d, struct gap_strip *s);

/* Near distances into cells from 0 to GAP_CELLS_32 - 1, and their sums. */
struct gap_cells {
    uint16_t cell[GAP_STRIP];
    int64_t sum;
    unsigned __int128 square;
};
void gap_strip_cells(const struct gap_distances *d, int n, struct gap_cells *ret_cells);

/* Adds to gap_strip.values, for elements that no scan has seen. */
void gap_strip_values(const struct gap_shape *f, const void *data, int n, uint32_t *sum);

#endif
