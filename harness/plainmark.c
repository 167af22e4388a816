/* SPDX-License-Identifier: Apache-2.0 */
#include "plainmark.h"

#include <inttypes.h>
#include <stdio.h>

#include "diagnose.h"
#include "plaincharts.h"
#include "plainrule.h"

/* Asked in turn until one is right. What is told from the bits exactly stands above fits, fits
 * above places, and places above statistics. `where`: the place is worth saying beside it. */
static const struct {
    bool (*rule)(struct plainseen *s);
    bool where;
} rules[] = {
    {plainrule_overflow, false}, {plainrule_format, false},    {plainrule_pattern, true},
    {plainrule_garbage, true},   {plainrule_moved, true},      {plainrule_negated, true},
    {plainrule_narrow, true},    {plainrule_flush, false},     {plainrule_step, true},
    {plainrule_mask, false},     {plainrule_classes, true},    {plainrule_dropout, false},
    {plainrule_factor, true},    {plainrule_place, false},     {plainrule_offset, false},
    {plainrule_zeros, false},    {plainrule_ratios, false},    {plainrule_values, false},
    {plainrule_random, false},   {plainrule_scattered, false},
};

static bool ask_all(struct plainseen *s)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules && s->n; i++) {
        if (!rules[i].rule(s))
            continue;
        if (rules[i].where)
            plainrule_place(s);
        return true;
    }
    return false;
}

void plainmark_claims(struct plainseen *s)
{
    if (plainrule_codes(s)) /* of all codes, also those that moved by one */
        return;
    bool split = plainseen_split(s);
    if (split && ask_all(s))
        return;
    if (split)
        plainseen_join(s);
    if (ask_all(s) || (!split && plainrule_noise(s)))
        return;
    claim_add(
        s->o, CAUSE_UNEXPLAINED, '=', 0,
        "none of the marks that a cause leaves in values or places was found; two dumps of "
        "each side would tell noise from the rest");
}

struct box {
    int64_t from[TENSOR_RANK_MAX], to[TENSOR_RANK_MAX], volume;
};

static struct box box_of(const struct plainseen *s)
{
    struct box box = {.volume = 1};
    for (int i = 0; i < s->rank; i++)
        box.from[i] = INT64_MAX;
    for (int64_t k = 0; k < s->n; k++)
        for (int i = 0; i < s->rank; i++) {
            int64_t at = plainseen_at(s, s->x[k].index, i);
            box.from[i] = at < box.from[i] ? at : box.from[i];
            box.to[i] = at > box.to[i] ? at : box.to[i];
        }
    for (int i = 0; i < s->rank; i++)
        box.volume *= box.to[i] - box.from[i] + 1;
    return box;
}

/* "[3..5,0..127]" */
static void box_text(int rank, const struct box *b, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "[");
    for (int i = 0; i < rank && used < size; i++) {
        used +=
            (size_t)snprintf(text + used, size - used, "%s%" PRId64, i ? "," : "", b->from[i]);
        if (b->to[i] != b->from[i] && used < size)
            used += (size_t)snprintf(text + used, size - used, "..%" PRId64, b->to[i]);
    }
    if (used < size)
        snprintf(text + used, size - used, "]");
}

void plainmark_where(const struct plainseen *s, char *ret_text, size_t size)
{
    char text[160];
    *ret_text = 0;
    if (!s->all) {
        if (!s->turned)
            snprintf(ret_text, size, ", between elements %" PRId64 " and %" PRId64,
                     s->g->first.index, s->g->last);
    } else if (s->n > 1 && s->rank) {
        struct box box = box_of(s);
        box_text(s->rank, &box, text, sizeof text);
        if (box.volume < s->count)
            snprintf(ret_text, size, ", all in %s", text);
    }
}

static void add_tensors(const struct tensor *a, const struct tensor *b, struct gap *g)
{
    int width = dtype_info(a->dtype)->bytes;
    for (int64_t from = 0; from < a->count; from += GAP_PIECE) {
        int64_t n = a->count - from < GAP_PIECE ? a->count - from : GAP_PIECE;
        const struct gap_where where = {n, &from};
        gap_add(g, a->dtype, (const char *)a->data + from * width,
                (const char *)b->data + from * width, n, &where, NULL);
    }
}

enum err plainmark_tensors(const struct tensor *a, const struct tensor *b, bool charts,
                           struct finding_out *o, struct errinfo *e)
{
    struct gap_sample sample;
    struct gap g;
    struct plainseen seen = {0};
    TRY(gap_sample_init(&sample, a->dtype, a->count, e));
    enum err err = gap_init(&g, e);
    if (!err) {
        g.sample = &sample;
        add_tensors(a, b, &g);
        err = plainseen_init(&seen, &g, &sample, false, o, e);
    }
    if (!err && charts)
        err = plaincharts_make(&seen, e);
    if (!err)
        plainmark_claims(&seen);
    plainseen_release(&seen);
    gap_release(&g);
    gap_sample_release(&sample);
    return err;
}
