/* SPDX-License-Identifier: Apache-2.0 */
#include "book.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const float nf4_value[16] = {-1.0f,        -0.69619280f, -0.52507305f,  -0.39491749f,
                                    -0.28444138f, -0.18477343f, -0.091050036f, 0.0f,
                                    0.079580300f, 0.16093020f,  0.24611230f,   0.33791524f,
                                    0.44070983f,  0.56261700f,  0.72295684f,   1.0f};

static const float nf4_edge[15] = {-0.84809637f, -0.61063290f, -0.45999527f,  -0.33967942f,
                                   -0.23460740f, -0.13791174f, -0.045525018f, 0.039790150f,
                                   0.12025525f,  0.20352125f,  0.29201376f,   0.38931253f,
                                   0.50166345f,  0.64278692f,  0.86147845f};

/* Magnitudes by the 3-bit code, thresholds of magnitudes, codes in the order of magnitudes. */
static const float fp4_value[8] = {0.0f,        0.0052083333f, 0.66666669f, 1.0f,
                                   0.33333334f, 0.5f,          0.16666667f, 0.25f};
static const float fp4_edge[7] = {0.00260417f, 0.0859375f,  0.20833333f, 0.29166666f,
                                  0.41666669f, 0.58333302f, 0.83333331f};
static const int fp4_code[8] = {0, 1, 6, 7, 4, 5, 2, 3};

static int ascending(const void *x, const void *y)
{
    float a = *(const float *)x, b = *(const float *)y;
    return (a > b) - (a < b);
}

/* For each decade the middles of 2^i (unsigned: 2^(i+1)) equal parts of [0.1,1], and 0 and 1.
 */
static void make_dynamic(struct book *b, bool is_signed)
{
    static const double decade[7] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1};
    int n = 0;
    for (int i = 0; i < 7; i++) {
        int parts = is_signed ? 1 << i : 2 << i;
        double step = (1 - 0.1) / parts;
        for (int j = 0; j < parts; j++) {
            double low = j * step + 0.1, high = j + 1 < parts ? (j + 1) * step + 0.1 : 1;
            double middle = (low + high) / 2 * decade[i];
            b->value[n++] = (float)middle;
            if (is_signed)
                b->value[n++] = (float)-middle;
        }
    }
    b->value[n++] = 0;
    b->value[n] = 1;
    qsort(b->value, 256, sizeof *b->value, ascending);
}

static void make_linear(struct book *b, bool is_signed)
{
    for (int i = 0; i < 256; i++) {
        int k = i > 127 ? i - 1 : i;
        b->value[i] = is_signed ? (float)(k * (2.0 / 254) - 1) : (float)(i * (1.0 / 255));
    }
    b->value[255] = 1;
    if (is_signed)
        b->value[127] = b->value[128] = 0;
}

static void make_fp4(struct book *b)
{
    for (int code = 0; code < 8; code++) {
        b->value[code] = fp4_value[code];
        b->value[code + 8] = -fp4_value[code];
    }
    for (int i = 0; i < 7; i++) {
        b->edge[8 + i] = fp4_edge[i];
        b->edge[6 - i] = -fp4_edge[i];
    }
    b->edge[7] = 0;
}

void book_make(enum book_kind kind, struct book *ret_book)
{
    struct book b = {.kind = kind, .count = 256, .bits = 8};
    if (kind == BOOK_NF4 || kind == BOOK_FP4) {
        b.count = 16;
        b.bits = 4;
    }
    if (kind == BOOK_DYNAMIC || kind == BOOK_UDYNAMIC)
        make_dynamic(&b, kind == BOOK_DYNAMIC);
    else if (kind == BOOK_LINEAR || kind == BOOK_ULINEAR)
        make_linear(&b, kind == BOOK_LINEAR);
    else if (kind == BOOK_FP4)
        make_fp4(&b);
    else {
        memcpy(b.value, nf4_value, sizeof nf4_value);
        memcpy(b.edge, nf4_edge, sizeof nf4_edge);
    }
    for (int k = 0; b.bits == 8 && k < 255; k++)
        b.edge[k] = (b.value[k] + b.value[k + 1]) * 0.5f;
    *ret_book = b;
}

int book_table(const struct book *b, float *ret_float)
{
    int edges = b->bits == 8 ? 0 : b->kind == BOOK_NF4 ? 15 : 7;
    if (ret_float) {
        memcpy(ret_float, b->value, (size_t)b->count * sizeof *ret_float);
        memcpy(ret_float + b->count, b->kind == BOOK_NF4 ? nf4_edge : fp4_edge,
               (size_t)edges * sizeof *ret_float);
    }
    return b->count + edges;
}

int book_table_place(const struct book *b, float y)
{
    volatile float above = y + 1, scaled = above * 32767.5f, shifted = scaled + 0.5f;
    double at = floor((double)shifted);
    if (isnan(y))
        return 0;
    at = at < 0 ? 0 : at > 65535 ? 65535 : at;
    double number = at * 2 / 65535 - 1;
    int low = 0, high = b->count - 1; /* how many boundaries lie below it */
    while (low < high) {
        int middle = (low + high) / 2;
        if ((double)b->edge[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int book_code(const struct book *b, int place)
{
    if (b->kind != BOOK_FP4)
        return place;
    return place < 8 ? 8 + fp4_code[7 - place] : fp4_code[place - 8];
}

float book_value(const struct book *b, int place)
{
    return b->value[book_code(b, place)];
}

/* How many of the ascending numbers at x[0], x[stride], ... are below y. */
static int count_below(const float *x, int count, int stride, float y)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (x[middle * stride] < y)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The even index whose odd neighbours enclose y; then one of these, if y is beyond the middle.
 */
static int place_8bit(const struct book *b, float y)
{
    int even = 2 * count_below(b->value + 1, 127, 2, y);
    if (y > b->value[even])
        return y > b->edge[even] ? even + 1 : even;
    return even && y < b->edge[even - 1] ? even - 1 : even;
}

int book_place(const struct book *b, float y)
{
    if (isnan(y))
        return b->kind == BOOK_FP4 ? 8 : 0;
    if (b->bits == 8)
        return place_8bit(b, y);
    if (b->kind == BOOK_NF4)
        return count_below(b->edge, 15, 1, y);
    int magnitude = count_below(fp4_edge, 7, 1, fabsf(y));
    return y < 0 ? 7 - magnitude : 8 + magnitude;
}

static bool is_near(float edge, double y, double ulps, double flushed)
{
    int e;
    if (edge == 0)
        return fabs(y) < flushed;
    frexpf(edge, &e);
    return fabs(y - (double)edge) <= ulps * ldexp(1, e - 24);
}

int book_other(const struct book *b, int place, double y, double ulps, double flushed)
{
    if (place > 0 && is_near(b->edge[place - 1], y, ulps, flushed))
        return place - 1;
    if (place + 1 < b->count && is_near(b->edge[place], y, ulps, flushed))
        return place + 1;
    return -1;
}
