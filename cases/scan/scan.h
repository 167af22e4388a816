/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_SCAN_H
#define GPUPARITY_CASES_SCAN_H

#include "../../harness/case.h"
#include "../roundoff.h"
#include "../wide.h"

/* Private to the family: scan.c has parameters, plan and oracle, model.c the ways in which a device
 * may really compute. */

/* A case, decoded. */
struct scan {
    bool tiles;
    enum dtype dtype;
    int64_t rows, d;
    struct case_mode mode;
};

void scan_decode(const struct case_id *id, struct scan *ret_scan);

enum { SCAN_X, SCAN_Y, SCAN_THREADS = 256 };

extern const struct case_model scan_models[]; /* ends with a NULL name */

bool scan_model(const struct case_id *id, const struct case_plan *plan,
                const struct tensor *const *input, int which, int model, int64_t n,
                const int64_t *index, uint64_t *ret_bits);

#endif
