/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_PLANT_H
#define GPUPARITY_PLANT_H

#include "case.h"

/* Faults to plant into recorded results. They know formats, shapes and the reference, never
 * which case it is. */

struct plant_mutation {
    const char *name;
    /* How strong it is at a step, for people: "factor 1 + 2^-10". `ret_text` takes 64 bytes. */
    void (*size)(const struct tensor *t, int step, char *ret_text);
    /* Alters the results; a step more is a weaker fault. Returns how many elements were
     * changed. */
    int64_t (*apply)(struct tensor *t, const struct oracle *o, int step);
};

/* NULL if there is none of that name. */
const struct plant_mutation *plant_mutation_find(const char *name);

enum plant_kind { PLANT_KERNEL, PLANT_CHANGED, PLANT_TENSOR };

struct plant {
    enum plant_kind kind;
    enum cause cause;
    const char *id;
    const char *what; /* the change or the mutation; "" for a kernel */
    int number;       /* repeats, or the last step */
};
extern const struct plant plants[];
extern const int plant_count;

/* Public reports of silently wrong numbers, "owner/repository#number", and the plant that does as
 * each says. */
struct plant_report {
    const char *report, *id;
};
extern const struct plant_report plant_reports[];
extern const int plant_report_count;

/* The report that a plant follows; NULL: none. */
const char *plant_reported_as(const struct plant *p);

/* Cases without a fault: with seeds 1 to `seeds` nobody may be accused. */
struct plant_clean {
    const char *id;
    int seeds;
};
extern const struct plant_clean plant_cleans[];
extern const int plant_clean_count;

#endif
