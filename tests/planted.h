/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TESTS_PLANTED_H
#define GPUPARITY_TESTS_PLANTED_H

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "compare.h"
#include "session.h"

/* For tests of planted faults: one case, compiled by both vendors' compilers, run on both
 * simulated devices and judged. */

struct seen {
    enum verdict verdict;
    enum cause cause; /* CAUSE_COUNT_: none was named */
    char reason[768]; /* with the evidence */
};

static inline void seen_keep(struct seen *s, const struct finding *f)
{
    const struct cause_claim *c = finding_cause(f);
    s->verdict = f->verdict;
    s->cause = c ? c->cause : CAUSE_COUNT_;
    snprintf(s->reason, sizeof s->reason, "%s%s%s", f->reason, c ? "; " : "",
             c ? c->evidence : "");
}

static inline enum err seen_sink(void *context, const struct finding *f, struct errinfo *e)
{
    (void)e;
    seen_keep(context, f);
    return ERR_OK;
}

/* Runs the case `repeats` times (0: once) and hands its finding to `sink`. */
static inline void planted_repeat(const char *id, int repeats, compare_sink *sink,
                                  void *context)
{
    struct errinfo e;
    struct session s;
    struct options o;
    struct finding_tally tally;
    struct compare_options compare = {.threads = 1};
    memset(&o, 0, sizeof o);
    o.n_word = 1;
    o.word[0] = id;
    o.on = "cuda-sim,hip-sim";
    o.code = "golden";
    o.quiet = true;
    o.timeout = 60;
    o.repeat = repeats;
    ck_assert_msg(!session_run(&s, &o, 2, o.on, true, &e), "%s: %s", id, e.text);
    struct compare_run a = {s.record, s.run[0], ""}, b = {s.record, s.run[1], ""};
    ck_assert_msg(!compare_runs(&a, &b, &compare, sink, context, &tally, &e), "%s: %s", id,
                  e.text);
    session_release(&s);
}

static inline void planted_run(const char *id, compare_sink *sink, void *context)
{
    planted_repeat(id, 0, sink, context);
}

static inline struct seen checked(const char *id)
{
    struct seen seen = {.verdict = VERDICT_COUNT_};
    planted_run(id, seen_sink, &seen);
    return seen;
}

/* A planted fault must be found on AMD's side and, unless `cause` is CAUSE_COUNT_, named so. */
static inline void planted_expect(const char *id, enum cause cause)
{
    struct seen s = checked(id);
    ck_assert_msg(s.verdict == VERDICT_B_WRONG, "%s is %s: %s", id, verdict_name(s.verdict),
                  s.reason);
    if (cause != CAUSE_COUNT_)
        ck_assert_msg(s.cause == cause, "%s is '%s', not '%s': %s", id,
                      s.cause < CAUSE_COUNT_ ? cause_name(s.cause) : "none", cause_name(cause),
                      s.reason);
}

/* A kernel without a fault is right on both sides. */
static inline void planted_right(const char *id, const struct seen *s)
{
    ck_assert_msg(s->verdict == VERDICT_SAME || s->verdict == VERDICT_EQUIVALENT ||
                      s->verdict == VERDICT_DISTINGUISHABLE,
                  "%s is %s: %s", id, verdict_name(s->verdict), s->reason);
    /* Who errs alike has no defect. */
    bool accused = s->cause < CAUSE_COUNT_ && cause_tier(s->cause) == CAUSE_TIER_DEFECT;
    ck_assert_msg(s->verdict == VERDICT_DISTINGUISHABLE || !accused, "%s: %s", id, s->reason);
}

#endif
