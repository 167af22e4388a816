/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_LOWERING_H
#define GPUPARITY_LOWERING_H

#include "caseid.h"
#include "delta.h"
#include "trial.h"

/* Switches of one side: compiler modes, a case file's own options, the simulators' own, and
 * other kernels: of the same family, or the other side's of a case file. Each is a word:
 * "contract=off", "options=off", "fuse=off", "variant=splitk", "source=other". */

enum lowering_kind { LOWERING_MODE, LOWERING_SIMULATED, LOWERING_VARIANT };

struct lowering {
    enum lowering_kind kind;
    char word[64];
    const char *what; /* "contraction (...)": what the difference then comes from */
    int row;          /* of lowering.def, by kind */
    const struct variant *variant;
};

/* The switches that could make a difference for this case on this device: every mode turned
 * round unless its code cannot be compiled otherwise, a case file's options, those of simulated
 * devices if it is one, and, with `variants`, the other kernels that compute the same outputs.
 * At most DELTA_SWITCHES_MAX. */
int lowering_list(const struct case_id *id, const struct device_choice *device, bool variants,
                  struct lowering ret_list[DELTA_SWITCHES_MAX]);

/* Why compilers cannot be asked for this side: "a binary" or "a library"; NULL where they can. */
const char *lowering_fixed(const struct case_id *id, const struct backend *b);

/* Throws the switches of `set`: changes the id to run and the worker's environment. False when
 * two of them contradict each other. */
bool lowering_apply(const struct lowering *list, int n, uint32_t set, struct case_id *id,
                    struct trial *t);

/* "contract=off+fuse=off"; `ret_text` takes `size` bytes. */
void lowering_print(const struct lowering *list, int n, uint32_t set, char *ret_text,
                    size_t size);

/* The set that such a text names. ERR_USAGE with the valid words. */
enum err lowering_parse(const struct lowering *list, int n, const char *text, uint32_t *ret_set,
                        struct errinfo *e);

#endif
