/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/child.h"
#include "suite.h"

struct sum {
    int a, b, result;
};

static void add(void *context, void *result)
{
    struct sum *s = result;
    s->result = s->a + s->b + *(int *)context;
}

static void die(void *context, void *result)
{
    (void)result;
    printf("first line\n\x1b[1mabout to die %d\n\n", *(int *)context);
    fflush(stdout);
    switch (*(int *)context) {
    case 0:
        abort();
    case 1:
        exit(0);
    case 2:
        _exit(7);
    case 3:
        kill(getpid(), SIGKILL);
    }
    for (;;)
        pause();
}

/* Leaves a process of its own behind and prints without end. */
static int babble_on(void *context)
{
    (void)context;
    if (fork() == 0)
        for (;;)
            pause();
    while (puts("................................................................") >= 0)
        ;
    return 0;
}

static void babble(void *context, void *result)
{
    (void)result;
    babble_on(context);
}

START_TEST(result_comes_back)
{
    char reason[300] = "untouched";
    struct sum s = {.a = 2, .b = 40};
    int more = 100;
    ck_assert(child_call(add, &more, &s, sizeof s, 10, reason, sizeof reason));
    ck_assert_int_eq(s.result, 142);
    ck_assert_str_eq(reason, "untouched");
}
END_TEST

START_TEST(death_is_explained)
{
    static const char *const words[] = {"killed by signal 6 (Aborted)",
                                        "ended with exit status 0", "ended with exit status 7",
                                        "killed by signal 9 (Killed)"};
    char reason[300];
    struct sum s = {.result = 5};
    ck_assert(!child_call(die, &_i, &s, sizeof s, 10, reason, sizeof reason));
    ck_assert_msg(strstr(reason, words[_i]) == reason, "%s", reason);
    /* The last line that is not empty, without control characters. */
    ck_assert_msg(strstr(reason, "; its last words: \" [1mabout to die") != NULL, "%s", reason);
    ck_assert_int_eq(s.result, 5);
    ck_assert_int_eq(waitpid(-1, NULL, 0), -1);
}
END_TEST

START_TEST(time_is_limited)
{
    char reason[300];
    int how = 4;
    double start = child_clock();
    ck_assert(!child_call(die, &how, &how, sizeof how, 0.3, reason, sizeof reason));
    ck_assert_str_eq(reason, "no answer within 0.3 s");
    ck_assert(!child_call(babble, &how, &how, sizeof how, 0.3, reason, sizeof reason));
    ck_assert_str_eq(reason, "no answer within 0.3 s");
    double took = child_clock() - start;
    ck_assert_msg(took > 0.59 && took < 5, "%g", took);
}
END_TEST

static int print_much(void *context)
{
    for (int i = 0; i < *(int *)context; i++)
        printf("line %d\n", i);
    fflush(stdout);
    return 3;
}

START_TEST(the_end_of_the_output_is_kept)
{
    struct child c;
    struct errinfo e;
    int lines = 20000, status = 0;
    char text[300];
    ck_assert_int_eq(child_start(&c, print_much, &lines, &e), 0);
    while (!child_ended(&c, &status))
        child_listen(&c);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    ck_assert_ptr_nonnull(strstr(c.tail, "line 19999\n"));
    ck_assert_ptr_null(strstr(c.tail, "line 1\n"));
    child_explain(&c, status, text, sizeof text);
    ck_assert_str_eq(text, "ended with exit status 3; its last words: \"line 19999\"");
    child_kill(&c);
    child_kill(&(struct child){0});
}
END_TEST

/* All that a child started dies with it. */
START_TEST(group_is_killed)
{
    struct child c;
    struct errinfo e;
    int fd[2];
    char byte;
    ck_assert_int_eq(pipe(fd), 0);
    int how = 0;
    ck_assert_int_eq(child_start(&c, babble_on, &how, &e), 0);
    close(fd[1]);
    usleep(100000);
    child_kill(&c);
    /* The pipe's other end was open in both: it is at its end when both are gone. */
    ck_assert_int_eq(read(fd[0], &byte, 1), 0);
    close(fd[0]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("child");
    TCase *t = tcase_create("child");
    tcase_add_test(t, result_comes_back);
    tcase_add_loop_test(t, death_is_explained, 0, 4);
    tcase_add_test(t, time_is_limited);
    tcase_add_test(t, the_end_of_the_output_is_kept);
    tcase_add_test(t, group_is_killed);
    suite_add_tcase(s, t);
    return suite_run(s);
}
