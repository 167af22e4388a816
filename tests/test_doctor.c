/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "harness/doctor.h"
#include "suite.h"

static char *report(void)
{
    struct errinfo e = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ck_assert_msg(!doctor_report(out, &e), "%s", e.text);
    fclose(out);
    return text;
}

/* Folds hanging lines and runs of blanks, so that a search does not depend on the layout. */
static void unwrap(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        bool hanging = *from == '\n' && !strncmp(from + 1, "     ", 5);
        if (!hanging && *from != ' ')
            *to++ = *from;
        else if (to > text && to[-1] != ' ' && to[-1] != '\n')
            *to++ = ' ';
    }
    *to = 0;
}

static void has(const char *text, const char *words)
{
    ck_assert_msg(strstr(text, words) != NULL, "'%s' is not in:\n%s", words, text);
}

/* A path on a line of its own is as long as it is. */
static bool is_one_word(const char *line)
{
    line += strspn(line, " ");
    return line[strcspn(line, " \n")] != ' ';
}

START_TEST(says_what_is_here)
{
    fake_use(NULL);
    setenv("GPUPARITY_NVRTC", "none", 1);
    setenv("CUDA_VISIBLE_DEVICES", "3", 1);
    char *text = report();
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        ck_assert_msg(strcspn(line, "\n") < 80 || is_one_word(line), "%.*s",
                      (int)strcspn(line, "\n"), line);
    unwrap(text);
    has(text, "\ncuda (NVIDIA)\n");
    has(text, "\nhip (AMD)\n");
    has(text, "simulator Fake card 70, sm_89, 3.0 GiB, warp 32, CUDA 12.34");
    has(text, "compiler none: NVRTC is switched off by GPUPARITY_NVRTC=none");
    has(text, "environment CUDA_VISIBLE_DEVICES=3");
    /* The fake is only one vendor's. */
    has(text, "simulator none: ");
    has(text, "libgpuparity-hip-sim.so");
    free(text);
}
END_TEST

START_TEST(says_what_would_be_used)
{
    fake_use(NULL);
    setenv("GPUPARITY_NVRTC", "none", 1);
    setenv("GPUPARITY_GOLDEN", "/nowhere", 1);
    char *text = report();
    unwrap(text);
    has(text, "check uses nothing: no compiler and no kept code");
    has(text, "0 of ");
    has(text, " missing, 0 damaged in /nowhere/code; `gpuparity golden code` makes them again");
    free(text);
}
END_TEST

START_TEST(survives_a_bad_library)
{
    static const struct {
        const char *how, *words;
    } row[] = {{"init-crash", "killed by signal 11"},
               {"init-abort", "killed by signal 6"},
               {"context-exit", "cannot be opened: ended with exit status 0"}};
    fake_use(row[_i].how);
    char *text = report();
    unwrap(text);
    has(text, row[_i].words);
    has(text, "\nhip (AMD)\n");
    free(text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("doctor");
    TCase *t = tcase_create("doctor");
    tcase_add_test(t, says_what_is_here);
    tcase_add_test(t, says_what_would_be_used);
    tcase_add_loop_test(t, survives_a_bad_library, 0, 3);
    suite_add_tcase(s, t);
    return suite_run(s);
}
