/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "findingsample.h"
#include "report.h"

/* bench_report COUNT FILE [single|rough]: writes a report of so many made-up cases and prints
 * how long it took. Mostly agreeing, as a nightly run is; `rough`: every verdict equally often.
 */

static enum verdict verdict_pick(int64_t i, const char *how)
{
    if (how && !strcmp(how, "rough"))
        return (enum verdict)(i % VERDICT_COUNT_);
    if (how && !strcmp(how, "clean"))
        return i % 3 ? VERDICT_SAME : VERDICT_EQUIVALENT;
    if (i % 50 < VERDICT_COUNT_)
        return (enum verdict)(i % 50);
    return i % 3 ? VERDICT_SAME : VERDICT_EQUIVALENT;
}

static enum err bench_write(struct report *r, int64_t count, const char *how,
                            double *ret_seconds, struct errinfo *e)
{
    struct finding_tally t = {.seconds = 42.5};
    for (int64_t i = 0; i < count; i++) {
        struct finding f;
        sample_finding(&f, i, verdict_pick(i, how));
        f.one_sided = how && !strcmp(how, "single");
        sample_tally(&t, &f);
        clock_t start = clock();
        enum err err = report_finding(r, &f, e);
        *ret_seconds += (double)(clock() - start) / CLOCKS_PER_SEC;
        finding_release(&f);
        if (err)
            return err;
    }
    clock_t start = clock();
    enum err err = report_finish(r, &t, e);
    *ret_seconds += (double)(clock() - start) / CLOCKS_PER_SEC;
    return err;
}

int main(int argc, char **argv)
{
    if (argc < 3 || !reporter_find_extension(argv[2]))
        return fprintf(stderr, "bench_report COUNT FILE.html|.json|... [single|rough|clean]\n"),
               2;
    const char *how = argc > 3 ? argv[3] : NULL;
    const char *tags[] = {"branch=main", "job=night"};
    struct report_options o = {.program = "gpuparity", .details = 5, .n_tag = 2, .tag = tags};
    struct finding_sides sides;
    sample_sides(&sides, how && !strcmp(how, "single"));
    struct report *r = NULL;
    struct errinfo e = {0};
    double seconds = 0;
    enum err err = report_open(reporter_find_extension(argv[2]), argv[2], &o, &sides, &r, &e);
    if (!err)
        err = bench_write(r, atoll(argv[1]), how, &seconds, &e);
    report_close(r);
    printf("%s: %s, %.2f s\n", argv[2], err ? e.text : "written", seconds);
    return err != ERR_OK;
}
