/* SPDX-License-Identifier: Apache-2.0 */
#include "plantalter.h"

#include <stdio.h>
#include <string.h>

const struct plant plants[] = {
#define KERNEL(cause, id, repeats) {PLANT_KERNEL, CAUSE_##cause, id, "", repeats},
#define CHANGED(cause, id, change) {PLANT_CHANGED, CAUSE_##cause, id, change, 0},
#define TENSOR(cause, id, mutation, smallest)                                                  \
    {PLANT_TENSOR, CAUSE_##cause, id, #mutation, smallest},
#define REPORTED(report, id)
#define CLEAN(id, seeds)
#include "plant.def"
#undef KERNEL
#undef CHANGED
#undef TENSOR
#undef REPORTED
#undef CLEAN
};
const int plant_count = sizeof plants / sizeof *plants;

#define KERNEL(cause, id, repeats)
#define CHANGED(cause, id, change)
#define TENSOR(cause, id, mutation, smallest)

const struct plant_report plant_reports[] = {
#define REPORTED(report, id) {report, id},
#define CLEAN(id, seeds)
#include "plant.def"
#undef REPORTED
#undef CLEAN
};
const int plant_report_count = sizeof plant_reports / sizeof *plant_reports;

const struct plant_clean plant_cleans[] = {
#define REPORTED(report, id)
#define CLEAN(id, seeds) {id, seeds},
#include "plant.def"
#undef REPORTED
#undef CLEAN
};
const int plant_clean_count = sizeof plant_cleans / sizeof *plant_cleans;

#undef KERNEL
#undef CHANGED
#undef TENSOR

const char *plant_reported_as(const struct plant *p)
{
    for (int i = 0; i < plant_report_count; i++)
        if (p->kind != PLANT_TENSOR && !strcmp(plant_reports[i].id, p->id))
            return plant_reports[i].report;
    return NULL;
}

/* --- sizes in words --------------------------------------------------------------------------
 */

enum { SIZE_TEXT = 64 };

static void size_factor(const struct tensor *t, int step, char *ret)
{
    (void)t;
    snprintf(ret, SIZE_TEXT, "factor 1 + 2^-%d", step + 1);
}

static void size_off(const struct tensor *t, int step, char *ret)
{
    (void)t;
    snprintf(ret, SIZE_TEXT, "off by 2^-%d of itself", step);
}

static void size_rows(const struct tensor *t, int step, char *ret)
{
    (void)t;
    snprintf(ret, SIZE_TEXT, "factors within 2^-%d of 1", 8 + step);
}

static void size_wave(const struct tensor *t, int step, char *ret)
{
    (void)t;
    snprintf(ret, SIZE_TEXT, "off by 2^-%d", 10 + step);
}

static void size_bits(const struct tensor *t, int step, char *ret)
{
    (void)t;
    snprintf(ret, SIZE_TEXT, "%d bits lost", 14 - step);
}

static void size_share(const struct tensor *t, int step, char *ret)
{
    (void)t;
    snprintf(ret, SIZE_TEXT, step ? "one of %d such elements" : "all", 1 << step);
}

static void size_tile(const struct tensor *t, int step, char *ret)
{
    (void)t;
    snprintf(ret, SIZE_TEXT, "%d x %d elements", 16 >> step, 16 >> step);
}

static void size_whole(const struct tensor *t, int step, char *ret)
{
    (void)t, (void)step;
    snprintf(ret, SIZE_TEXT, "all");
}

static const struct plant_mutation mutations[] = {
    {"scaled", size_factor, plant_scaled},
    {"rows_scaled", size_factor, plant_rows_scaled},
    {"rows_off", size_rows, plant_rows_off},
    {"wave", size_wave, plant_wave},
    {"low_bits", size_bits, plant_low_bits},
    {"flush", size_share, plant_flush},
    {"nan_lost", size_share, plant_nan_lost},
    {"inf_nan", size_share, plant_inf_nan},
    {"inf_largest", size_share, plant_inf_largest},
    {"minus_zero", size_share, plant_minus_zero},
    {"nan", size_share, plant_nan},
    {"poison", size_share, plant_poison},
    {"units", size_share, plant_units},
    {"exact", size_whole, plant_exact},
    {"toward_zero", size_share, plant_toward_zero},
    {"upward", size_share, plant_upward},
    {"bias", size_whole, plant_bias},
    {"sign_bit", size_whole, plant_sign_bit},
    {"tile", size_tile, plant_tile},
    {"column", size_off, plant_column},
    {"one", size_off, plant_one},
    {"unwritten", size_share, plant_unwritten},
    {"from_power", size_whole, plant_from_power},
    {"unwritten_from_power", size_whole, plant_unwritten_from_power},
    {"wrapped", size_whole, plant_wrapped},
    {"count_lost", size_whole, plant_count_lost},
    {"carry_lost", size_whole, plant_carry_lost},
    {"memory_added", size_whole, plant_memory_added},
    {"transposed", size_whole, plant_transposed},
    {"next_row", size_whole, plant_next_row},
    {"interleaved", size_whole, plant_interleaved},
    {"reversed", size_whole, plant_reversed},
};

const struct plant_mutation *plant_mutation_find(const char *name)
{
    for (size_t i = 0; i < sizeof mutations / sizeof *mutations; i++)
        if (!strcmp(mutations[i].name, name))
            return &mutations[i];
    return NULL;
}
