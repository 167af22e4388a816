/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compare.h"
#include "largerecord.h"
#include "suite.h"

/* Outputs of more than a window: what is said of them, and how much memory that takes. */

enum { ROWS = 320, COLUMNS = 1024, LIMIT = 1 << 18 };
static const char ID[] = "fp8/dequantize:rows=320,d=1024,dtype=f32";

static char path[] = "/tmp/gpuparity-large-XXXXXX";

static void setup(void)
{
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    unlink(path);
}

static void teardown(void)
{
    unlink(path);
    strcpy(path, "/tmp/gpuparity-large-XXXXXX");
}

/* --- what B is -------------------------------------------------------------------------------
 */

static uint64_t scaled(double factor, uint64_t bits)
{
    return dtype_round(DTYPE_F32, factor * dtype_value(DTYPE_F32, bits));
}

static uint64_t lost_end(const struct tensor *a, int64_t i, uint64_t bits)
{
    (void)a;
    return i >= LIMIT && bits << 1 ? scaled(1.5 + (double)(i * 77 % 13), bits) : bits;
}

static uint64_t all_scaled(const struct tensor *a, int64_t i, uint64_t bits)
{
    (void)a, (void)i;
    return scaled(1.015625, bits);
}

static uint64_t column_wrong(const struct tensor *a, int64_t i, uint64_t bits)
{
    (void)a;
    return i % COLUMNS % 16 == 5 ? scaled(1 + (double)(1 + i * 31 % 7), bits) + (bits << 1 == 0)
                                 : bits;
}

static uint64_t one_wrong(const struct tensor *a, int64_t i, uint64_t bits)
{
    (void)a;
    return i == LIMIT + 12345 ? dtype_round(DTYPE_F32, 1e30) : bits;
}

/* --- comparing -------------------------------------------------------------------------------
 */

struct seen {
    struct finding f;
    struct finding_out out;
};

static enum err keep(void *context, const struct finding *f, struct errinfo *e)
{
    struct seen *to = context;
    (void)e;
    to->f = *f;
    to->out = f->out[0];
    return ERR_OK;
}

static void compare_it(int threads, bool charts, struct seen *s)
{
    struct errinfo e = {0};
    struct record *r;
    struct finding_tally tally;
    ck_assert_msg(!record_open(path, &r, &e), "%s", e.text);
    struct compare_run a = {r, 0, path}, b = {r, 1, path};
    struct compare_options o = {.threads = threads, .charts = charts};
    ck_assert_msg(!compare_runs(&a, &b, &o, keep, s, &tally, &e), "%s", e.text);
    record_close(r);
}

static const struct {
    alter_fn *alter;
    enum verdict verdict;
    enum cause cause;
    const char *says;
} rows[] = {
    {NULL, VERDICT_SAME, CAUSE_UNEXPLAINED, NULL},
    {lost_end, VERDICT_B_WRONG, CAUSE_OVERFLOW, "right up to element 262144 = 2^18"},
    {all_scaled, VERDICT_B_WRONG, CAUSE_SCALE, "of 327680 elements)"},
    {column_wrong, VERDICT_B_WRONG, CAUSE_LOCALISED,
     "wrong elements lie in columns 5, 21, 37, ...: every 16th"},
    {one_wrong, VERDICT_B_WRONG, CAUSE_LOCALISED, "1 of 327680 elements are wrong"},
};

/* Any number of threads says the same. */
START_TEST(causes)
{
    struct errinfo e = {0};
    struct seen s = {0}, again = {0};
    ck_assert_msg(!large_record(path, ID, rows[_i].alter, &e), "%s", e.text);
    compare_it(1, false, &s);
    ck_assert_msg(s.f.verdict == rows[_i].verdict, "%s: %s", verdict_name(s.f.verdict),
                  s.f.reason);
    if (rows[_i].says) {
        ck_assert_int_gt(s.out.n_claim, 0);
        ck_assert_msg(s.out.claim[0].cause == rows[_i].cause &&
                          strstr(s.out.claim[0].evidence, rows[_i].says),
                      "%s: %s", cause_name(s.out.claim[0].cause), s.out.claim[0].evidence);
    }
    compare_it(3, false, &again);
    ck_assert_mem_eq(&s.out, &again.out, sizeof s.out);
}
END_TEST

START_TEST(element_is_shown)
{
    struct errinfo e = {0};
    struct seen s = {0};
    ck_assert_msg(!large_record(path, ID, one_wrong, &e), "%s", e.text);
    compare_it(2, false, &s);
    ck_assert_int_eq(s.out.stats.b.over_bound, 1);
    ck_assert_int_eq(s.out.first.index, LIMIT + 12345);
    ck_assert_int_eq(s.out.worst.coordinate[0], (LIMIT + 12345) / COLUMNS);
    ck_assert_int_eq(s.out.worst.coordinate[1], (LIMIT + 12345) % COLUMNS);
    ck_assert_uint_eq(s.out.worst.b, dtype_round(DTYPE_F32, 1e30));
    ck_assert(s.out.worst.value_a == dtype_value(DTYPE_F32, s.out.worst.a));
}
END_TEST

/* Other bytes than were recorded are found after they were read. */
START_TEST(damage_is_found)
{
    struct errinfo e = {0};
    struct record *r;
    struct finding_tally tally;
    struct seen s;
    ck_assert_msg(!large_record(path, ID, NULL, &e), "%s", e.text);
    FILE *f = fopen(path, "r+b");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fseek(f, ROWS * COLUMNS * 3, SEEK_SET), 0);
    ck_assert_int_eq(fputs("damaged", f) >= 0, 1);
    fclose(f);
    ck_assert_msg(!record_open(path, &r, &e), "%s", e.text);
    struct compare_run a = {r, 0, path}, b = {r, 1, path};
    struct compare_options o = {.threads = 2};
    ck_assert_int_eq(compare_runs(&a, &b, &o, keep, &s, &tally, &e), ERR_FORMAT);
    ck_assert_msg(strstr(e.text, "its bytes are damaged") && strstr(e.text, "out/y"), "%s",
                  e.text);
    record_close(r);
}
END_TEST

/* --- memory ----------------------------------------------------------------------------------
 */

/* What comparing takes at most, in KiB, in a process of its own. */
static long peak_of(bool charts)
{
    int pipe_of[2];
    long kib = -1;
    ck_assert_int_eq(pipe(pipe_of), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (!child) {
        struct seen s;
        large_reset_peak();
        long before = large_status("VmRSS");
        compare_it(2, charts, &s);
        kib = large_status("VmHWM") - before;
        _exit(write(pipe_of[1], &kib, sizeof kib) != sizeof kib);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(read(pipe_of[0], &kib, sizeof kib), (int)sizeof kib);
    close(pipe_of[0]);
    close(pipe_of[1]);
    return kib;
}

/* The reference alone would be 48 MiB, the statistics one by one 40, inputs and outputs 9. Sanitizers keep what is freed. */
START_TEST(memory_is_bounded)
{
    struct errinfo e = {0};
    ck_assert_msg(!large_record(path, "fp8/dequantize:rows=1024,d=1024,dtype=f32",
                                _i ? all_scaled : NULL, &e),
                  "%s", e.text);
    long kib = peak_of(_i);

#ifndef __SANITIZE_ADDRESS__
    ck_assert_msg(kib > 0 && kib < 64 << 10, "%ld KiB", kib);
#else
    ck_assert_int_gt(kib, 0);
#endif
}
END_TEST

int main(void)
{
    Suite *s = suite_create("comparelarge");
    TCase *t = tcase_create("comparelarge");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, causes, 0, sizeof rows / sizeof *rows);
    tcase_add_test(t, element_is_shown);
    tcase_add_test(t, damage_is_found);
    tcase_add_loop_test(t, memory_is_bounded, 0, 2);
    suite_add_tcase(s, t);
    return suite_run(s);
}
