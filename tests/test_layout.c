/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config.h"
#include "suite.h"

/* The rules of the tree: who may include whom, where vendor names may stand, a licence line in
 * every file. They are read from the sources, so a new file is held to them at once. */

enum { LINE = 4096, PATH = 1024 };

static int complaints;

static void complain(const char *path, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", path, line, what);
    complaints++;
}

typedef void visit_fn(const char *path, FILE *f);

static bool has_ending(const char *path, const char *endings)
{
    const char *dot = strrchr(path, '.');
    char want[32];
    if (!dot)
        return false;
    snprintf(want, sizeof want, " %s ", dot + 1);
    return strstr(endings, want) != NULL;
}

/* Calls `visit` for every file below `folder` (relative to the source tree) of these endings. */
static void walk(const char *folder, const char *endings, visit_fn *visit)
{
    char full[PATH];
    snprintf(full, sizeof full, "%s/%s", GPUPARITY_SOURCE_DIR, folder);
    DIR *d = opendir(full);
    ck_assert_msg(d != NULL, "%s", full);
    for (struct dirent *x; (x = readdir(d));) {
        if (x->d_name[0] == '.')
            continue;
        char path[PATH];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", folder, x->d_name);
        snprintf(full, sizeof full, "%s/%s", GPUPARITY_SOURCE_DIR, path);
        ck_assert_int_eq(stat(full, &st), 0);
        if (S_ISDIR(st.st_mode)) {
            walk(path, endings, visit);
        } else if (has_ending(path, endings)) {
            FILE *f = fopen(full, "r");
            ck_assert_ptr_nonnull(f);
            visit(path, f);
            fclose(f);
        }
    }
    closedir(d);
}

/* The name between quotes of an #include "..." line, or false. */
static bool included(const char *line, char *ret_name)
{
    return sscanf(line, " # include \"%255[^\"]\"", ret_name) == 1;
}

static void each_include(const char *path, FILE *f,
                         void (*rule)(const char *path, int line, const char *name))
{
    char text[LINE], name[256];
    for (int line = 1; fgets(text, sizeof text, f); line++)
        if (included(text, name))
            rule(path, line, name);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool exists(const char *folder, const char *name)
{
    char full[PATH];
    struct stat st;
    snprintf(full, sizeof full, "%s/%s/%s", GPUPARITY_SOURCE_DIR, folder, name);
    return stat(full, &st) == 0;
}

static bool generated(const char *name)
{
    return !strcmp(name, "config.h") || !strcmp(name, "families.def") ||
           !strcmp(name, "backends.def") || has_ending(name, " inc ");
}

/* --- backends/ includes only backends/ --------------------------------------------------------- */

static void backend_rule(const char *path, int line, const char *name)
{
    static const char *const folders[] = {"backends",     "backends/sim",     "backends/cuda",
                                          "backends/hip", "backends/host", "backends/cuda/sim", "backends/hip/sim"};
    if (generated(name))
        return;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (exists(folders[i], name))
            return;
    char own[PATH];
    snprintf(own, sizeof own, "%.*s", (int)(base_name(path) - path), path);
    if (!strstr(name, "harness") && exists(own, name))
        return;
    complain(path, line, "backends/ includes only what is in backends/");
}

static void backend_visit(const char *path, FILE *f)
{
    each_include(path, f, backend_rule);
}

START_TEST(backends_stand_alone)
{
    walk("backends", " c h def ", backend_visit);
    ck_assert_int_eq(complaints, 0);
}
END_TEST

/* --- cases/ includes case.h and what that includes -------------------------------------------- */

static void case_rule(const char *path, int line, const char *name)
{
    static const char allowed[] = " case.h cause.h dtype.h err.h fill.h rng.h tensor.h tasks.h ";
    char own[PATH], word[300];
    snprintf(own, sizeof own, "%.*s", (int)(base_name(path) - path), path);
    snprintf(word, sizeof word, " %s ", base_name(name));
    if (strstr(name, "backends"))
        complain(path, line, "cases/ knows no backend");
    else if (!strstr(allowed, word) && !exists(own, name) && !exists("cases", name) &&
             !generated(name))
        complain(path, line, "cases/ includes only harness/case.h and what that includes");
}

static void case_visit(const char *path, FILE *f)
{
    each_include(path, f, case_rule);
}

START_TEST(cases_know_only_the_case)
{
    walk("cases", " c h ", case_visit);
    ck_assert_int_eq(complaints, 0);
}
END_TEST

/* --- harness/: only nouns above, and backend.h ------------------------------------------------ */

static char nouns[256][64];
static int n_nouns;

static void read_nouns(void)
{
    char text[LINE];
    FILE *f = fopen(GPUPARITY_SOURCE_DIR "/harness/meson.build", "r");
    ck_assert_ptr_nonnull(f);
    bool inside = false;
    while (fgets(text, sizeof text, f)) {
        if (strstr(text, "harness_nouns = ["))
            inside = true;
        else if (inside && strchr(text, ']'))
            break;
        for (char *p = inside ? strchr(text, '\'') : NULL; p; p = strchr(p, '\'')) {
            char *end = strchr(p + 1, '\'');
            snprintf(nouns[n_nouns++], sizeof *nouns, "%.*s", (int)(end - p - 1), p + 1);
            p = end + 1;
        }
    }
    fclose(f);
    ck_assert_int_gt(n_nouns, 20);
}

static int rank_of(const char *file)
{
    char noun[256];
    snprintf(noun, sizeof noun, "%.*s", (int)strcspn(base_name(file), "."), base_name(file));
    for (int i = 0; i < n_nouns; i++)
        if (!strcmp(nouns[i], noun))
            return i;
    return -1;
}

/* worker and workerlink are parts of one noun and may know each other. */
static bool same_stem(const char *a, const char *b)
{
    size_t n = strlen(a) < strlen(b) ? strlen(a) : strlen(b);
    return !strncmp(a, b, n);
}

static void harness_rule(const char *path, int line, const char *name)
{
    const char *base = base_name(name);
    if (strstr(name, "backends/") && strcmp(base, "backend.h")) {
        complain(path, line, "harness/ includes of backends only backend.h");
        return;
    }
    if (!strcmp(base, "backend.h") || generated(base) || has_ending(base, " def "))
        return;
    /* main.c and the commands stand above everything. */
    if (!strncmp(base_name(path), "cmd_", 4) || !strcmp(base_name(path), "main.c"))
        return;
    int mine = rank_of(path), theirs = rank_of(base);
    if (mine < 0)
        complain(path, line, "not in the list of nouns in harness/meson.build");
    else if (theirs < 0)
        complain(path, line, "includes a noun that is not in the list of harness/meson.build");
    else if (theirs > mine && !same_stem(nouns[mine], nouns[theirs]))
        complain(path, line, "includes a noun that stands below its own in harness/meson.build");
}

static void harness_visit(const char *path, FILE *f)
{
    each_include(path, f, harness_rule);
}

START_TEST(harness_flows_one_way)
{
    read_nouns();
    walk("harness", " c h ", harness_visit);
    ck_assert_int_eq(complaints, 0);
}
END_TEST

/* --- vendor functions only in the vendors' folders -------------------------------------------- */

/* Does a call of a vendor function start here: cuInit(, hipMalloc(, nvrtc...( */
static bool vendor_call(const char *p)
{
    static const char *const heads[] = {"cu", "hip", "nvrtc", "hiprtc"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        size_t n = strlen(heads[i]);
        if (strncmp(p, heads[i], n) || !isupper((unsigned char)p[n]))
            continue;
        while (isalnum((unsigned char)p[n]) || p[n] == '_')
            n++;
        if (p[n] == '(')
            return true;
    }
    return false;
}

static void vendor_visit(const char *path, FILE *f)
{
    char text[LINE];
    if (strstr(path, "backends/cuda/") || strstr(path, "backends/hip/"))
        return;
    for (int line = 1; fgets(text, sizeof text, f); line++)
        for (char *p = text; *p; p++)
            if ((p == text || (!isalnum((unsigned char)p[-1]) && p[-1] != '_')) && vendor_call(p))
                complain(path, line, "a vendor's function outside backends/cuda and backends/hip");
}

START_TEST(vendor_names_stay_at_home)
{
    walk("harness", " c h ", vendor_visit);
    walk("cases", " c h cu cuh ", vendor_visit);
    walk("backends", " c h ", vendor_visit);
    ck_assert_int_eq(complaints, 0);
}
END_TEST

/* --- every file says its licence --------------------------------------------------------------- */

static void licence_visit(const char *path, FILE *f)
{
    char text[LINE] = "";
    bool found = false;
    for (int line = 1; line <= 3 && fgets(text, sizeof text, f); line++)
        found = found || strstr(text, "SPDX-License-Identifier: Apache-2.0");
    if (!found)
        complain(path, 1, "no SPDX line");
}

START_TEST(every_file_says_its_licence)
{
    static const char endings[] = " c h def cu cuh build py sh css js yaml yml ";
    walk("harness", endings, licence_visit);
    walk("backends", endings, licence_visit);
    walk("cases", endings, licence_visit);
    walk("tests", endings, licence_visit);
    walk("golden", endings, licence_visit);
    walk("docs", " py sh c ", licence_visit);
    ck_assert_int_eq(complaints, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("layout");
    TCase *c = tcase_create("layout");
    suite_add_tcase(s, c);
    tcase_add_test(c, backends_stand_alone);
    tcase_add_test(c, cases_know_only_the_case);
    tcase_add_test(c, harness_flows_one_way);
    tcase_add_test(c, vendor_names_stay_at_home);
    tcase_add_test(c, every_file_says_its_licence);
    return suite_run(s);
}
