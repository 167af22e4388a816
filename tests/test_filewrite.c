/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filewrite.h"
#include "suite.h"

static char folder[64];
static struct errinfo e;

static void set_up(void)
{
    strcpy(folder, "/tmp/gpuparity-filewrite-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    e = (struct errinfo){0};
}

static void tear_down(void)
{
    char text[100];
    snprintf(text, sizeof text, "rm -rf %s", folder);
    ck_assert_int_eq(system(text), 0);
}

static void check_content(const char *path, const char *want)
{
    char text[64] = "";
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    ck_assert_str_eq(text, want);
}

static int files(void)
{
    FILE *f = popen("ls -A | wc -l", "r");
    int n = -1;
    ck_assert_int_eq(fscanf(f, "%d", &n), 1);
    pclose(f);
    return n;
}

START_TEST(replaces_and_keeps_permissions)
{
    struct stat s;
    ck_assert_int_eq(filewrite_replace("a", "one", 3, &e), ERR_OK);
    ck_assert_int_eq(chmod("a", 0600), 0);
    ck_assert_int_eq(filewrite_replace("a", "second", 6, &e), ERR_OK);
    check_content("a", "second");
    ck_assert_int_eq(stat("a", &s), 0);
    ck_assert_int_eq(s.st_mode & 0777, 0600);
    ck_assert_int_eq(filewrite_replace("a", "", 0, &e), ERR_OK);
    check_content("a", "");
    ck_assert_int_eq(files(), 1);
}
END_TEST

START_TEST(links_are_followed)
{
    struct stat s;
    ck_assert_int_eq(filewrite_replace("a", "one", 3, &e), ERR_OK);
    ck_assert_int_eq(symlink("a", "link"), 0);
    ck_assert_int_eq(filewrite_replace("link", "two", 3, &e), ERR_OK);
    check_content("a", "two");
    ck_assert_int_eq(lstat("link", &s), 0);
    ck_assert(S_ISLNK(s.st_mode));
}
END_TEST

/* As root a rename would replace a device, and /dev/full would be a file from then on. */
START_TEST(what_is_no_file_stays)
{
    struct stat s;
    ck_assert_int_eq(mkfifo("pipe", 0600), 0);
    ck_assert_int_eq(mkdir("sub", 0700), 0);
    for (int i = 0; i < 2; i++) {
        const char *path = i ? "sub" : "pipe";
        ck_assert_int_eq(filewrite_check(path, &e), ERR_USAGE);
        ck_assert_int_eq(filewrite_replace(path, "x", 1, &e), ERR_USAGE);
        ck_assert_ptr_nonnull(strstr(e.text, path));
        ck_assert_int_eq(stat(path, &s), 0);
        ck_assert(!S_ISREG(s.st_mode));
    }
    ck_assert_int_eq(files(), 2);
}
END_TEST

START_TEST(what_cannot_be_written_leaves_nothing)
{
    ck_assert_int_eq(filewrite_check("no/a", &e), ERR_OK);
    ck_assert_int_eq(filewrite_replace("no/a", "x", 1, &e), ERR_IO);
    ck_assert_ptr_nonnull(strstr(e.text, "no/a"));
    ck_assert_int_eq(files(), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("filewrite");
    TCase *t = tcase_create("filewrite");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, replaces_and_keeps_permissions);
    tcase_add_test(t, links_are_followed);
    tcase_add_test(t, what_is_no_file_stays);
    tcase_add_test(t, what_cannot_be_written_leaves_nothing);
    suite_add_tcase(s, t);
    return suite_run(s);
}
