/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_GAP_STRIP_H
#define GPUPARITY_GAP_STRIP_H

#include <stdbool.h>
#include <stdint.h>

#include "dtype.h"

/* The fast half of gap.h: what a short run of elements comes to without looking at them one by
 * one, in loops that the compiler makes vectors of. Everything here is exact. */

enum { GAP_STRIP = 1024 };

/* What the loops need of a format. */
struct gap_shape {
    enum dtype d;
    bool is_float, fnuz;
    int width, unused, shift;
    uint64_t mask, limit, sign, flip; /* float: codes below limit are finite */
    uint64_t normal;                  /* float: the smallest normal number */
    double scale; /* float: value = code in the place of a double's, times this */
};

/* Counts of differing elements, see struct gap. */
struct gap_marks {
    int64_t smaller[2], flushed[2], zero_sign;
};

/* One strip, all of it finite. */
struct gap_strip {
    int equal;
    double absolute; /* the largest |b - a| */
    struct gap_marks marks;
    uint32_t values[2];
    int64_t low, high; /* distances */
    uint64_t far;      /* the largest magnitude */
    bool near;         /* the distances are in near, else in far */
};

union gap_distances {
    int32_t near[GAP_STRIP];
    int64_t far[GAP_STRIP];
};

struct gap_shape gap_shape_make(enum dtype d);

/* Adds the bits that are set somewhere; is any element not finite? */
bool gap_strip_special(const struct gap_shape *f, const void *data, int n, uint64_t *bits);

/* False when a distance leaves 64 bits; then nothing of `s` holds. `s` is zeroed before. */
bool gap_strip_scan(const struct gap_shape *f, const void *a, const void *b, int n,
                    union gap_distances *d, struct gap_strip *s);

/* Parts of it, for strips that are not all finite. */
void gap_strip_marks(const struct gap_shape *f, uint64_t a, uint64_t b, struct gap_marks *m);
void gap_strip_values(const struct gap_shape *f, const void *data, int n, uint32_t *sum);

/* How many elements differ. */
int gap_strip_count(const struct gap_shape *f, const void *a, const void *b, int n);

/* The first element that differs from `from` on; n if none. */
int gap_strip_unequal(const struct gap_shape *f, const void *a, const void *b, int from, int n);

#endif
