/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "compare.h"
#include "largerecord.h"

/* bench_record PATH [CASE]: comparing the two sides of a record of one large output, made at PATH
 * and removed, beside reading the file and making the inputs, and what memory it takes. */

static uint64_t off_by_one(const struct tensor *a, int64_t i, uint64_t bits)
{
    return i % 3 || bits << 1 == 0 || !dtype_is_finite(a->dtype, bits + 1) ? bits : bits ^ 1;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double read_all(const char *path)
{
    static char buffer[1 << 20];
    double start = now();
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && read(fd, buffer, sizeof buffer) > 0)
        ;
    close(fd);
    return now() - start;
}

static double make_inputs(const char *text)
{
    struct case_id id;
    struct case_plan plan;
    char digest[33];
    double start = now();
    if (caseid_parse(text, &id, NULL) || id.family->plan(&id, &plan, NULL) ||
        case_input_digest(&id, &plan, digest, NULL))
        exit(1);
    return now() - start;
}

static enum err show(void *context, const struct finding *f, struct errinfo *e)
{
    (void)context, (void)e;
    printf("%s: %s\n", verdict_name(f->verdict), f->reason);
    for (int i = 0; i < f->n_out && f->out[i].n_claim; i++)
        printf("  %s: %s\n", cause_name(f->out[i].claim[0].cause), f->out[i].claim[0].evidence);
    return ERR_OK;
}

static void compare(const char *path, int threads, double plain)
{
    struct errinfo e = {0};
    struct record *r;
    struct finding_tally tally;
    if (record_open(path, &r, &e)) {
        fprintf(stderr, "%s\n", e.text);
        exit(1);
    }
    large_reset_peak();
    long before = large_status("VmRSS");
    double start = now();
    struct compare_run a = {r, 0, path}, b = {r, 1, path};
    struct compare_options o = {.threads = threads};
    if (compare_runs(&a, &b, &o, show, NULL, &tally, &e))
        fprintf(stderr, "%s\n", e.text);
    double seconds = now() - start;
    printf("%d threads: %.2f s, %.0f times reading; %.1f MiB beyond the %.1f before\n", threads,
           seconds, seconds / plain, (double)(large_status("VmHWM") - before) / 1024,
           (double)before / 1024);
    record_close(r);
}

int main(int argc, char **argv)
{
    const char *text = argc > 2 ? argv[2] : "fp8/dequantize:rows=4096,d=1024,dtype=f32";
    struct errinfo e = {0};
    for (int same = 1; same >= 0; same--) {
        if (argc < 2 || large_record(argv[1], text, same ? NULL : off_by_one, &e)) {
            fprintf(stderr, "%s\n", argc < 2 ? "bench_record PATH [CASE]" : e.text);
            return 1;
        }
        read_all(argv[1]);
        double plain = read_all(argv[1]);
        printf("%s, %s: reading %.3f s, inputs %.2f s\n", text,
               same ? "equal sides" : "a third off by a bit", plain, make_inputs(text));
        compare(argv[1], 1, plain);
        compare(argv[1], 2, plain);
        unlink(argv[1]);
    }
    return 0;
}
