/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "findingsample.h"
#include "report.h"
#include "suite.h"

/* The HTML report in a real browser: report_page.py looks at it wide and narrow, light and
 * dark, and leaves pictures in tests/pictures/ of the build folder. Skipped where there is no
 * browser. */

enum { CASES = 60, SKIP = 77 };

static void page_write(const char *path)
{
    struct report_options o = {.program = "gpuparity"};
    struct finding_sides sides;
    struct finding_tally t = {.seconds = 42.5};
    struct report *r = NULL;
    struct errinfo e = {0};
    sample_sides(&sides, false);
    ck_assert_msg(!report_open(&reporter_html, path, &o, &sides, &r, &e), "%s", e.text);
    for (int i = 0; i < CASES; i++) {
        struct finding f;
        bool odd = i % 30 < VERDICT_COUNT_;
        sample_finding(&f, i, odd ? (enum verdict)(i % 30) : (enum verdict)(i % 2));
        if (i == 38)
            sample_hostile(&f);
        sample_tally(&t, &f);
        ck_assert_msg(!report_finding(r, &f, &e), "%s", e.text);
        finding_release(&f);
    }
    ck_assert_msg(!report_finish(r, &t, &e), "%s", e.text);
    report_close(r);
}

START_TEST(test_in_a_browser)
{
    char folder[512], command[2048];
    snprintf(folder, sizeof folder, "%s/tests/pictures", GPUPARITY_BUILD_DIR);
    snprintf(command, sizeof command, "mkdir -p '%s'", folder);
    ck_assert_int_eq(system(command), 0);
    snprintf(command, sizeof command, "%s/report.html", folder);
    page_write(command);
    snprintf(command, sizeof command,
             "/usr/bin/python3 '%s/tests/script/report_page.py' '%s/report.html' '%s'",
             GPUPARITY_SOURCE_DIR, folder, folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

static bool browser_missing(void)
{
    return access("/usr/bin/python3", X_OK) ||
           system("[ -n \"$(command -v chromium chromium-browser google-chrome)\" ]") != 0;
}

int main(void)
{
    if (browser_missing()) {
        printf("skipped: no python3 or no Chromium (apt install chromium)\n");
        return SKIP;
    }
    Suite *s = suite_create("report_page");
    TCase *c = tcase_create("report_page");
    tcase_set_timeout(c, 280);
    tcase_add_test(c, test_in_a_browser);
    suite_add_tcase(s, c);
    return suite_run(s);
}
