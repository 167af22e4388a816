/* SPDX-License-Identifier: Apache-2.0 */
#include "plainview.h"

/* Choices: elements of a unit of one dimension, at least; bytes of a plain chunk that are a
 * unit, so that threads share large chunks. */
enum { UNIT = 1 << 18, PART = 1 << 20 };

/* How a chunked tensor is cut: as its chunks, or smaller where there are no filters. */
static void cut(const struct tensorfile_tensor *t, int64_t ret_unit[TENSOR_RANK_MAX])
{
    int64_t bytes = (int64_t)tensorchunk_bytes(t);
    for (int i = 0; i < t->rank; i++)
        ret_unit[i] = t->chunk[i];
    for (int i = 0; i < t->rank && !t->n_filter && bytes > PART; i++) {
        int64_t inner = bytes / ret_unit[i];
        ret_unit[i] = inner >= PART ? 1 : PART / inner;
        bytes = inner * ret_unit[i];
    }
}

static bool is_range(const struct tensorfile_tensor *t)
{
    int64_t unit[TENSOR_RANK_MAX];
    if (t->form != TENSORFILE_CHUNKED)
        return true;
    cut(t, unit);
    for (int i = tensorblock_level(t, unit) - 1; i >= 0; i--)
        if (unit[i] != 1)
            return false;
    return true;
}

/* Packed chunks are worth more than plain ones, and boxes more than ranges. */
static int weight(const struct tensorfile_tensor *t)
{
    return t->form != TENSORFILE_CHUNKED ? 0 : 1 + (t->n_filter > 0) + 2 * !is_range(t);
}

static struct plainview view_flat(int64_t count, const struct tensorfile_tensor *anchor)
{
    int64_t run = 1;
    if (weight(anchor)) {
        int64_t part[TENSOR_RANK_MAX];
        cut(anchor, part);
        for (int i = 0; i < anchor->rank; i++)
            run *= part[i];
    }
    int64_t unit = run >= UNIT ? run : UNIT / run * run;
    return (struct plainview){.rank = 1,
                              .dim = {count},
                              .unit = {unit},
                              .grid = {(count + unit - 1) / unit},
                              .units = (count + unit - 1) / unit};
}

struct plainview plainview_make(const struct tensorfile_tensor *a,
                                const struct tensorfile_tensor *b, bool flat)
{
    const struct tensorfile_tensor *anchor = weight(b) > weight(a) ? b : a;
    if (is_range(anchor) || flat)
        return view_flat(a->count, is_range(anchor) ? anchor : a);
    struct plainview v = {.rank = anchor->rank, .units = 1};
    cut(anchor, v.unit);
    for (int i = 0; i < v.rank; i++) {
        v.dim[i] = anchor->dim[i];
        v.grid[i] = (v.dim[i] + v.unit[i] - 1) / v.unit[i];
        v.units *= v.grid[i];
    }
    return v;
}

struct plainview_box plainview_box(const struct plainview *v, int64_t unit)
{
    struct plainview_box b = {.level = v->rank - 1, .run = 1, .runs = 1};
    for (int i = v->rank - 1; i >= 0; i--) {
        b.start[i] = unit % v->grid[i] * v->unit[i];
        unit /= v->grid[i];
        int64_t left = v->dim[i] - b.start[i];
        b.size[i] = left < v->unit[i] ? left : v->unit[i];
    }
    while (b.level > 0 && b.size[b.level] == v->dim[b.level])
        b.level--;
    for (int i = 0; i < v->rank; i++)
        *(i < b.level ? &b.runs : &b.run) *= b.size[i];
    return b;
}

int64_t plainview_start(const struct plainview *v, const struct plainview_box *b, int64_t i)
{
    int64_t at[TENSOR_RANK_MAX], index = 0;
    for (int k = v->rank - 1; k >= 0; k--) {
        at[k] = b->start[k];
        if (k < b->level) {
            at[k] += i % b->size[k];
            i /= b->size[k];
        }
    }
    for (int k = 0; k < v->rank; k++)
        index = index * v->dim[k] + at[k];
    return index;
}
