/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_GAP_SAMPLE_H
#define GPUPARITY_GAP_SAMPLE_H

#include "gap.h"

/* Elements of both sides that are kept while a pass goes by, for questions that only come up
 * afterwards: all of a tensor of at most GAP_SAMPLE_BYTES, else windows of it, evenly spread,
 * among them its beginning and its end. Lanes may take at the same time: each element has its
 * own place. The choice of 4 MiB and 64 windows keeps a comparison below its 64 MiB. */
enum { GAP_SAMPLE_BYTES = 4 << 20, GAP_SAMPLE_WINDOWS = 64 };

struct gap_sample {
    int width; /* bytes an element */
    int64_t count, window, windows, step;
    int64_t start[GAP_SAMPLE_WINDOWS]; /* of each window */
    unsigned char *side[2]; /* owned; windows one after the other */
};

enum err gap_sample_init(struct gap_sample *s, enum dtype d, int64_t count,
                         struct errinfo *e);   /* ERR_NOMEM */
void gap_sample_release(struct gap_sample *s); /* accepts a zeroed struct */

/* Keeps what of a piece lies in windows; as for gap_add. */
void gap_sample_take(struct gap_sample *s, const struct gap_where *where, const void *a,
                     const void *b, int64_t n);

/* Window k begins at this index. */
int64_t gap_sample_start(const struct gap_sample *s, int64_t k);

/* Where in `side` an element is kept, in elements; -1: it is not. */
int64_t gap_sample_slot(const struct gap_sample *s, int64_t index);

/* Bits of the element in a slot, right-aligned. */
static inline uint64_t gap_sample_bits(const struct gap_sample *s, int side, int64_t slot)
{
    const void *data = s->side[side];
    switch (s->width) {
    case 1:
        return ((const uint8_t *)data)[slot];
    case 2:
        return ((const uint16_t *)data)[slot];
    case 4:
        return ((const uint32_t *)data)[slot];
    default:
        return ((const uint64_t *)data)[slot];
    }
}

#endif
