/* SPDX-License-Identifier: Apache-2.0 */
/* A case with everything that belongs to it, for tests of a family's reference. */
#ifndef GPUPARITY_TESTS_WHOLE_H
#define GPUPARITY_TESTS_WHOLE_H

#include <check.h>
#include <string.h>

#include "caseid.h"

struct whole {
    struct case_id id;
    struct case_plan plan;
    struct tensor input[CASE_TENSOR_MAX];
    const struct tensor *at[CASE_TENSOR_MAX]; /* NULL for OUT, as the oracle takes them */
};

static inline void whole_init(struct whole *w, const char *text)
{
    struct errinfo e = {0};
    memset(w, 0, sizeof *w);
    ck_assert_msg(!caseid_parse(text, &w->id, &e), "%s", e.text);
    ck_assert_msg(!w->id.family->plan(&w->id, &w->plan, &e), "%s: %s", text, e.text);
    for (int i = 0; i < w->plan.n_tensor; i++) {
        if (w->plan.tensor[i].role == TENSOR_OUT)
            continue;
        ck_assert_msg(!case_input(&w->id, &w->plan, i, &w->input[i], &e), "%s", e.text);
        w->at[i] = &w->input[i];
    }
}

static inline void whole_release(struct whole *w)
{
    for (int i = 0; i < w->plan.n_tensor; i++)
        tensor_release(&w->input[i]);
}

static inline int whole_find(const struct whole *w, const char *name)
{
    for (int i = 0; i < w->plan.n_tensor; i++)
        if (!strcmp(w->plan.tensor[i].name, name))
            return i;
    ck_abort_msg("no tensor %s", name);
    return -1;
}

static inline const struct tensor *whole_in(const struct whole *w, const char *name)
{
    return w->at[whole_find(w, name)];
}

/* The reference of an output by its number, which the caller releases. */
static inline struct oracle whole_oracle_at(const struct whole *w, int which, int threads)
{
    struct oracle o;
    struct errinfo e = {0};
    ck_assert_msg(!w->id.family->oracle(&w->id, &w->plan, w->at, which, threads, &o, &e), "%s",
                  e.text);
    return o;
}

/* The same by its name. */
static inline struct oracle whole_oracle(const struct whole *w, const char *name)
{
    return whole_oracle_at(w, whole_find(w, name), 1);
}

#endif
