/* SPDX-License-Identifier: Apache-2.0 */
#include "gap_sample.h"

#include <stdlib.h>
#include <string.h>

enum err gap_sample_init(struct gap_sample *s, enum dtype d, int64_t count, struct errinfo *e)
{
    int width = dtype_info(d)->bytes;
    bool whole = count <= GAP_SAMPLE_BYTES / width;
    *s = (struct gap_sample){.width = width,
                             .count = count,
                             .windows = whole ? 1 : GAP_SAMPLE_WINDOWS,
                             .window =
                                 whole ? count : GAP_SAMPLE_BYTES / GAP_SAMPLE_WINDOWS / width};
    s->step = whole ? count + 1 : (count - s->window) / (s->windows - 1);
    for (int64_t k = 1; k < s->windows; k++)
        s->start[k] = k * (count - s->window) / (s->windows - 1);
    for (int side = 0; side < 2; side++)
        s->side[side] = malloc((size_t)(s->window * s->windows * width) + 1);
    if (s->side[0] && s->side[1])
        return ERR_OK;
    gap_sample_release(s);
    return err_set(e, ERR_NOMEM, "no memory for a comparison");
}

void gap_sample_release(struct gap_sample *s)
{
    for (int side = 0; side < 2; side++) {
        free(s->side[side]);
        s->side[side] = NULL;
    }
}

int64_t gap_sample_start(const struct gap_sample *s, int64_t k)
{
    return s->start[k];
}

/* The last window that begins at or before an index. */
static int64_t window_of(const struct gap_sample *s, int64_t index)
{
    if (s->windows == 1)
        return 0;
    int64_t k = index / s->step;
    k = k < s->windows ? k : s->windows - 1;
    while (k > 0 && gap_sample_start(s, k) > index)
        k--;
    return k;
}

int64_t gap_sample_slot(const struct gap_sample *s, int64_t index)
{
    if (index < 0 || index >= s->count)
        return -1;
    int64_t k = window_of(s, index), in = index - gap_sample_start(s, k);
    return in < s->window ? k * s->window + in : -1;
}

/* Elements from..from+n of a piece, whose first has this index. */
static void take_run(struct gap_sample *s, const unsigned char *const data[2], int64_t from,
                     int64_t n, int64_t index)
{
    for (int64_t k = window_of(s, index); k < s->windows; k++) {
        int64_t start = gap_sample_start(s, k), end = start + s->window;
        if (start >= index + n)
            return;
        int64_t low = start > index ? start : index, high = end < index + n ? end : index + n;
        if (low >= high)
            continue;
        for (int side = 0; side < 2; side++)
            memcpy(s->side[side] + (k * s->window + low - start) * s->width,
                   data[side] + (from + low - index) * s->width,
                   (size_t)((high - low) * s->width));
    }
}

void gap_sample_take(struct gap_sample *s, const struct gap_where *where, const void *a,
                     const void *b, int64_t n)
{
    const unsigned char *const data[2] = {a, b};
    for (int64_t from = 0, i = 0; from < n; from += where->run, i++)
        take_run(s, data, from, n - from < where->run ? n - from : where->run, where->start[i]);
}
