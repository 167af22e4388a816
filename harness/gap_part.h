/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_GAP_PART_H
#define GPUPARITY_GAP_PART_H

#include "gap.h"
#include "gap_strip.h"

/* The middle of gap.h: a piece while it is being added, and what parts of it come to. */

enum {
    GAP_TABLES = 4
}; /* neighbours count in different ones, so that none waits for another */

struct gap_piece {
    struct gap *g;
    struct gap_shape f;
    const struct gap_where *where;
    const struct limits *limits; /* NULL: none for elements */
    uint32_t near[GAP_TABLES][2 * GAP_NEAR];
    bool has_cells; /* then these are zeroed */
    uint32_t cell[GAP_TABLES / 2][GAP_CELLS_32];
    struct gap_distances d;
    struct gap_cells cells;

    /* Differing elements that were few in their strips and wait for more. */
    int waiting, place[GAP_STRIP];
    uint64_t wait[2][GAP_STRIP];
};

/* Elements side by side, GAP_STRIP at most. */
struct gap_part {
    const void *a, *b;
    int n, differ;
    const uint64_t *mask; /* those that differ; NULL: all */
    int64_t at;           /* of the first in the piece */
    const int *place;     /* of each in the piece; NULL: one after the other */
};

void gap_piece_init(struct gap_piece *p, struct gap *g, enum dtype d,
                    const struct gap_where *where, const struct limits *l);

/* A part of which all is finite. */
void gap_part_add(struct gap_piece *p, const struct gap_part *t);

/* An element whose bits differ and that is not finite on some side; `at` is its place in the
 * piece. */
void gap_strange_add(struct gap_piece *p, uint64_t a, uint64_t b, int64_t at);

/* To be called when all parts are added. */
void gap_piece_end(struct gap_piece *p);

static inline uint64_t gap_bits_at(const struct gap_shape *f, const void *data, int64_t i)
{
    switch (f->width) {
    case 8:
        return ((const uint8_t *)data)[i];
    case 16:
        return ((const uint16_t *)data)[i];
    case 32:
        return ((const uint32_t *)data)[i];
    default:
        return ((const uint64_t *)data)[i];
    }
}

#endif
