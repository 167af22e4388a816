/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_OPTIM8BIT_BOOK_H
#define GPUPARITY_CASES_OPTIM8BIT_BOOK_H

#include <stdbool.h>

/* Code books: what a code means, and which code a number gets. Values are within [-1,1]; a
 * block of numbers is divided by its largest magnitude first.
 *
 * The 8-bit books hold 256 ascending values; a number gets the nearest one, a tie the even
 * index. nf4 and fp4 hold 16 values and decide by published thresholds, which are not all exact
 * midpoints; a tie gets the smaller code (fp4: the smaller magnitude). */

enum book_kind {
    BOOK_DYNAMIC,  /* signed: seven decades, the larger the finer; zero is code 127 */
    BOOK_UDYNAMIC, /* the same without signs; zero is code 0 */
    BOOK_LINEAR,   /* 255 steps from -1 to 1; zero twice, codes 127 and 128 */
    BOOK_ULINEAR,  /* 256 steps from 0 to 1 */
    BOOK_NF4,      /* quantiles of a normal distribution */
    BOOK_FP4,      /* sign, 2 bits exponent, 1 bit fraction, divided by 12; 8 is -0 */
    BOOK_COUNT_
};

/* `edge[k]` lies between the values of place k and place k + 1, ascending. Places are codes in
 * the order of their values: they differ from codes in fp4 only. */
struct book {
    enum book_kind kind;
    int count, bits;
    float value[256]; /* by code */
    float edge[255];
};

void book_make(enum book_kind kind, struct book *ret_book);

/* What the device gets: count values; 4-bit books are followed by their thresholds (nf4: 15;
 * fp4: 7, of magnitudes). Returns how many floats; `ret_float` takes 256, or is NULL. */
int book_table(const struct book *b, float *ret_float);

/* The place of y by the rule above. NaN: the place of code 0. */
int book_place(const struct book *b, float y);
/* The same by the rule of bitsandbytes' library for processors, for 8-bit books: y is rounded to one
 * of 65536 numbers, spaced evenly from -1 to 1, and that one's place is taken, a tie the lower. */
int book_table_place(const struct book *b, float y);
int book_code(const struct book *b, int place);
float book_value(const struct book *b, int place);

/* The boundary-witness rule: the other place that a device may give instead of `place`, or -1.
 * `y` is the exact quotient; it has to lie within `ulps` f32 ulps of the edge between them, or
 * within `flushed` of an edge at 0. */
int book_other(const struct book *b, int place, double y, double ulps, double flushed);

#endif
