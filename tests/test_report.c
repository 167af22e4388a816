/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "findingsample.h"
#include "report.h"
#include "report_html_plot.h"
#include "suite.h"

/* Every reporter writes the same made-up findings, hostile ones among them; report_check.py
 * reads them back with the parsers that users have (json, jsonschema, xml, csv, yaml, html). */

enum { CASES = 5 * VERDICT_COUNT_ + 1 };

static char folder[] = "/tmp/gpuparity-report-XXXXXX";
static const char *const tags[] = {"branch=a=b", "who \"we\"=<&>,\n"};

static void setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static struct report_options options_make(bool strict)
{
    return (struct report_options){
        .program = "gpuparity", .details = 5, .strict = strict, .n_tag = 2, .tag = tags};
}

static void put_hex(FILE *out, const char *s)
{
    for (; *s; s++)
        fprintf(out, "%02x", (unsigned char)*s);
}

static void expect_case(FILE *out, const struct finding *f, bool strict)
{
    fprintf(out, "%s\t%d\t%d\t%a\t", verdict_name(f->verdict),
            verdict_fails(f->verdict, strict), f->n_out,
            f->n_out ? f->out[0].stats.a.ulp.mean : 0);
    put_hex(out, f->id);
    fputc('\t', out);
    put_hex(out, f->reason);
    fputc('\n', out);
}

/* Writes CASES findings of every verdict, most of them hostile, and what to expect. */
static void report_make(const struct reporter *reporter, const char *to, bool one_sided,
                        bool strict)
{
    char path[300];
    snprintf(path, sizeof path, "%s", to);
    struct report_options o = options_make(strict);
    struct finding_sides sides;
    struct finding_tally t = {.strict = strict, .seconds = 1.5};
    struct report *r = NULL;
    struct errinfo e = {0};
    FILE *expected = fopen(path_of("expected"), "w");
    sample_sides(&sides, one_sided);
    ck_assert_msg(!report_open(reporter, path, &o, &sides, &r, &e), "%s", e.text);
    for (int i = 0; i < CASES; i++) {
        struct finding f;
        sample_finding(&f, i, (enum verdict)(i % VERDICT_COUNT_));
        f.one_sided = one_sided;
        if (i >= 2 * VERDICT_COUNT_)
            sample_hostile(&f);
        sample_tally(&t, &f);
        expect_case(expected, &f, strict);
        ck_assert_msg(!report_finding(r, &f, &e), "%s", e.text);
        finding_release(&f);
    }
    ck_assert_msg(!report_finish(r, &t, &e), "%s", e.text);
    report_close(r);
    fclose(expected);
}

enum { KINDS = 6 };
static const char *const kinds[KINDS] = {"json", "jsonl", "junit", "csv", "tap", "html"};

/* The exit status of report_check.py on the reports folder/KIND from `first` to `last`;
 * `errors`: where its complaints go. */
static int python_run(int first, int last, const char *errors)
{
    char command[4096];
    int n = snprintf(command, sizeof command,
                     "/usr/bin/python3 %s/tests/script/report_check.py %s/expected "
                     "%s/docs/report.schema.json",
                     GPUPARITY_SOURCE_DIR, folder, GPUPARITY_SOURCE_DIR);
    for (int k = first; k <= last; k++)
        n += snprintf(command + n, sizeof command - (size_t)n, " %s=%s/%s", kinds[k], folder,
                      kinds[k]);
    snprintf(command + n, sizeof command - (size_t)n, " %s", errors);
    return system(command);
}

static bool python_missing(void)
{
    bool missing = access("/usr/bin/python3", X_OK) != 0;
    if (missing)
        printf("skipped: no /usr/bin/python3\n");
    return missing;
}

START_TEST(test_parsers_read_it)
{
    if (python_missing())
        return;
    for (int k = 0; k < KINDS; k++)
        report_make(reporter_find(kinds[k]), path_of(kinds[k]), _i == 1, _i == 2);
    ck_assert_int_eq(python_run(0, KINDS - 1, ""), 0);
}
END_TEST

/* The checker itself must notice: the same report against other expectations. */
START_TEST(test_checker_notices)
{
    char command[400];
    if (python_missing())
        return;
    report_make(reporter_find(kinds[_i]), path_of(kinds[_i]), false, false);
    if (!strcmp(kinds[_i], "tap") && system("/usr/bin/python3 -c 'import yaml' 2>/dev/null")) {
        printf("skipped: YAML of TAP (apt install python3-yaml)\n");
        return;
    }
    snprintf(command, sizeof command, "sed -i 's/^A_WRONG/B_WRONG/' %s/expected", folder);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_ne(python_run(_i, _i, "2>/dev/null"), 0);
}
END_TEST

START_TEST(test_found_by_name_and_ending)
{
    ck_assert_ptr_eq(reporter_find("html"), &reporter_html);
    ck_assert_ptr_null(reporter_find("pdf"));
    ck_assert_ptr_eq(reporter_find_extension("a/b.HTML"), &reporter_html);
    ck_assert_ptr_eq(reporter_find_extension("x.jsonl"), &reporter_jsonl);
    ck_assert_ptr_eq(reporter_find_extension("x.xml"), &reporter_junit);
    ck_assert_ptr_null(reporter_find_extension(".json"));
    ck_assert_ptr_null(reporter_find_extension("json"));
    for (int i = 0; reporters[i]; i++)
        ck_assert_ptr_eq(reporter_find(reporters[i]->name), reporters[i]);
}
END_TEST

/* Small reports sit in stdio's buffer: the error shows at the end; large ones earlier. */
static enum err full_write(const struct reporter *reporter, const char *path, int cases,
                           struct errinfo *e)
{
    struct report_options o = options_make(false);
    struct finding_sides sides;
    struct finding_tally t = {0};
    struct report *r = NULL;
    sample_sides(&sides, false);
    enum err err = report_open(reporter, path, &o, &sides, &r, e);
    for (int i = 0; i < cases && !err; i++) {
        struct finding f;
        sample_finding(&f, i, VERDICT_B_WRONG);
        sample_tally(&t, &f);
        err = report_finding(r, &f, e);
        finding_release(&f);
    }
    if (!err)
        err = report_finish(r, &t, e);
    report_close(r);
    return err;
}

START_TEST(test_full_disk)
{
    struct errinfo e = {0};
    ck_assert_int_eq(full_write(reporters[_i / 2], "/dev/full", _i % 2 ? 40 : 1, &e), ERR_IO);
    ck_assert_ptr_nonnull(strstr(e.text, "/dev/full"));
    ck_assert_ptr_nonnull(strstr(e.text, "No space left"));
}
END_TEST

static int files_count(void)
{
    char command[128];
    snprintf(command, sizeof command, "ls -A %s | wc -l", folder);
    FILE *p = popen(command, "r");
    int n = -1;
    ck_assert_int_eq(fscanf(p, "%d", &n), 1);
    pclose(p);
    return n;
}

/* A limit on the size of files does what a disk does that fills up half way. */
START_TEST(test_disk_fills_up)
{
    const struct reporter *r = reporters[_i];
    char path[300];
    struct errinfo e = {0};
    struct rlimit limit = {20000, 20000};
    snprintf(path, sizeof path, "%s/x", folder);
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(full_write(r, path, 200, &e), ERR_IO);
    ck_assert_ptr_nonnull(strstr(e.text, path));
    ck_assert_int_eq(files_count(), r->stream ? 1 : 0);
}
END_TEST

START_TEST(test_unfinished_leaves_nothing)
{
    const struct reporter *reporter = reporters[_i];
    struct report_options o = options_make(false);
    struct finding_sides sides;
    struct report *r = NULL;
    struct finding f;
    sample_sides(&sides, false);
    ck_assert_int_eq(report_open(reporter, path_of("x"), &o, &sides, &r, NULL), ERR_OK);
    sample_finding(&f, 0, VERDICT_A_WRONG);
    ck_assert_int_eq(report_finding(r, &f, NULL), ERR_OK);
    report_close(r);
    finding_release(&f);
    ck_assert_int_eq(files_count(), reporter->stream ? 1 : 0);
}
END_TEST

/* A finished report replaces the one before; until then the old one stays. */
START_TEST(test_old_report_stays)
{
    struct report_options o = options_make(false);
    struct finding_sides sides;
    struct finding_tally t = {0};
    struct report *r = NULL;
    struct stat st;
    char path[300], link[300];
    sample_sides(&sides, false);
    snprintf(path, sizeof path, "%s/x.json", folder);
    snprintf(link, sizeof link, "%s/link.json", folder);
    FILE *old = fopen(path, "w");
    fputs("old", old);
    fclose(old);
    ck_assert_int_eq(symlink(path, link), 0);
    ck_assert_int_eq(report_open(&reporter_json, link, &o, &sides, &r, NULL), ERR_OK);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_size, 3);
    ck_assert_int_eq(report_finish(r, &t, NULL), ERR_OK);
    report_close(r);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_gt(st.st_size, 3);
    ck_assert_int_eq(lstat(link, &st), 0);
    ck_assert(S_ISLNK(st.st_mode));
    ck_assert_int_eq(files_count(), 2);
}
END_TEST

/* What a killed run leaves of a stream is whole lines. */
START_TEST(test_stream_is_flushed)
{
    struct report_options o = options_make(false);
    struct finding_sides sides;
    struct report *r = NULL;
    struct finding f;
    sample_sides(&sides, false);
    ck_assert_int_eq(report_open(&reporter_jsonl, path_of("x"), &o, &sides, &r, NULL), ERR_OK);
    for (int i = 0; i < 3; i++) {
        sample_finding(&f, i, VERDICT_SAME);
        ck_assert_int_eq(report_finding(r, &f, NULL), ERR_OK);
        finding_release(&f);
        char command[200];
        snprintf(command, sizeof command, "test $(wc -l <%s/x) = %d", folder, i + 2);
        ck_assert_int_eq(system(command), 0);
    }
    report_close(r);
}
END_TEST

START_TEST(test_bad_requests)
{
    static const char *const bad[][2] = {{"branch", NULL}, {"=x", NULL}, {"a=1", "a=2"}};
    struct report_options o = options_make(false);
    struct finding_sides sides;
    struct report *r = NULL;
    struct errinfo e = {0};
    sample_sides(&sides, false);
    for (int i = 0; i < 3; i++) {
        o.tag = bad[i];
        o.n_tag = bad[i][1] ? 2 : 1;
        ck_assert_int_eq(report_open(&reporter_csv, path_of("x"), &o, &sides, &r, &e),
                         ERR_USAGE);
        ck_assert_ptr_nonnull(strstr(e.text, "tag"));
    }
    o.n_tag = 0;
    ck_assert_int_eq(report_open(&reporter_csv, "/nowhere/x.csv", &o, &sides, &r, &e), ERR_IO);
    ck_assert_ptr_nonnull(strstr(e.text, "/nowhere/x.csv"));
    ck_assert_int_eq(report_open(&reporter_csv, folder, &o, &sides, &r, &e), ERR_IO);
    ck_assert_ptr_nonnull(strstr(e.text, "directory"));
    ck_assert_ptr_null(r);
    report_close(NULL);
    ck_assert_int_eq(files_count(), 0);
}
END_TEST

START_TEST(test_strict_must_agree)
{
    struct report_options o = options_make(true);
    struct finding_sides sides;
    struct finding_tally t = {0};
    struct report *r = NULL;
    sample_sides(&sides, false);
    ck_assert_int_eq(report_open(&reporter_tap, path_of("x"), &o, &sides, &r, NULL), ERR_OK);
    ck_assert_int_eq(report_finish(r, &t, NULL), ERR_USAGE);
    report_close(r);
    ck_assert_int_eq(files_count(), 0);
}
END_TEST

/* Worked by hand. One value in (-4, -2], one zero, two in [1, 2): slots of 396 / 9 = 44 from 40
 * on, for magnitudes 2 1 1/2 1/4, 0, 1/4 1/2 1 2; the largest share, 1/2, is 110 high. */
START_TEST(test_plot_by_hand)
{
    struct distribution d = {.count = 4, .minimum = -3, .maximum = 1.5};
    d.hist[35] = d.hist_negative[35] = 1;
    d.hist[0] = 1;
    d.hist[34] = 2;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    plot_errors(out, &d, NULL);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "<path class=\"a\" d=\"M40 120H40.0V65.0H84.0V120.0"
                                       "H216.0V65.0H260.0V120.0H348.0V10.0H392.0V120.0"
                                       "H436V120\"/>"));
    ck_assert_ptr_nonnull(strstr(text, "<path class=\"a c\" d=\"M40 206L84.0 188.5"));
    ck_assert_ptr_nonnull(strstr(text, "L260.0 171.0"));
    ck_assert_ptr_nonnull(strstr(text, "L392.0 136.0L436.0 136.0\"/>"));
    ck_assert_ptr_nonnull(strstr(text, ">50%</text>"));
    free(text);
}
END_TEST

int main(void)
{
    int n = 0;
    while (reporters[n])
        n++;
    Suite *s = suite_create("report");
    TCase *c = tcase_create("report");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_parsers_read_it, 0, 3);
    tcase_add_loop_test(c, test_checker_notices, 0, KINDS);
    tcase_add_test(c, test_found_by_name_and_ending);
    tcase_add_loop_test(c, test_full_disk, 0, 2 * n);
    tcase_add_loop_test(c, test_disk_fills_up, 0, n);
    tcase_add_loop_test(c, test_unfinished_leaves_nothing, 0, n);
    tcase_add_test(c, test_old_report_stays);
    tcase_add_test(c, test_stream_is_flushed);
    tcase_add_test(c, test_bad_requests);
    tcase_add_test(c, test_strict_must_agree);
    tcase_add_test(c, test_plot_by_hand);
    suite_add_tcase(s, c);
    return suite_run(s);
}
