/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/wait.h>

#include "balance.h"
#include "recordsample.h"
#include "suite.h"

/* Splits whose loads are known by hand, and their use by the program. */

static const double seconds[] = {4, 8, 6, 7, 5, -1}; /* -1: not in the record */
enum { CASES = sizeof seconds / sizeof *seconds };

static struct caselist list;
static struct record *times;

static void times_write(void)
{
    struct record_run head = sample_run("cuda-sim");
    int run;
    OK(record_create("t.h5", false, true, &times, &sample_error));
    OK(record_add_run(times, &head, &run, &sample_error));
    for (int i = 0; i < CASES; i++) {
        struct record_case c = sample_case(i);
        caseid_print(&list.id[i], c.id);
        c.seconds = seconds[i];
        if (c.seconds > 0)
            OK(record_put_case(times, run, i, &c, 0, NULL, NULL, &sample_error));
    }
    OK(record_finish(times, &sample_error));
    record_close(times);
    OK(record_open("t.h5", &times, &sample_error));
}

static void setup(void)
{
    const char *const words[] = {"gemm/naive:m={1|2|3|4|5|6},n=4,k=4"};
    sample_enter();
    OK(caselist_select(&list, 1, words, NULL, &sample_error));
    ck_assert_int_eq(list.count, CASES);
    times_write();
}

static void teardown(void)
{
    record_close(times);
    caselist_release(&list);
    sample_leave();
}

/* 8 | 7, 6 to the second, the unknown one (6, the mean, behind the known 6) to the first, then
 * 5 to the second (13 before 14), 4 to the first: 18 | 18. */
START_TEST(test_longest_first)
{
    static const int wanted[] = {1, 1, 2, 2, 2, 1};
    int part[CASES];
    char digest[BALANCE_DIGEST_MAX], again[BALANCE_DIGEST_MAX];
    OK(balance_make(&list, times, "cuda-sim", 2, part, digest, &sample_error));
    for (int i = 0; i < CASES; i++)
        ck_assert_int_eq(part[i], wanted[i]);
    ck_assert_uint_eq(strspn(digest, "0123456789abcdef"), 8);
    /* another device's times are better than none */
    OK(balance_make(&list, times, "hip:0", 2, part, again, &sample_error));
    ck_assert_str_eq(digest, again);
    OK(balance_make(&list, times, "cuda-sim", 3, part, again, &sample_error));
    ck_assert_str_ne(digest, again);
}
END_TEST

START_TEST(test_more_parts_than_cases)
{
    int part[CASES], seen[40] = {0};
    char digest[BALANCE_DIGEST_MAX];
    OK(balance_make(&list, times, "cuda-sim", 40, part, digest, &sample_error));
    for (int i = 0; i < CASES; i++)
        ck_assert_int_eq(seen[part[i] - 1]++, 0);
}
END_TEST

START_TEST(test_nothing_known)
{
    const char *const words[] = {"gemm/tiled:m=1,n=1,k=1"};
    struct caselist other = {0};
    int part[1];
    char digest[BALANCE_DIGEST_MAX];
    struct errinfo e;
    OK(caselist_select(&other, 1, words, NULL, &sample_error));
    ck_assert_int_eq(balance_make(&other, times, "cuda-sim", 2, part, digest, &e), ERR_USAGE);
    ck_assert_msg(strstr(e.text, "none of the 1 cases") != NULL, "%s", e.text);
    caselist_release(&other);
}
END_TEST

/* Parts of one split make the whole again; parts of two do not. */
START_TEST(test_run_and_merge)
{
    char line[2048];
    snprintf(
        line, sizeof line,
        "PATH=%s:$PATH; set -e; c='gemm/naive:m={4|5|9},n=4,k=4 gemm/tiled:m={4|7},n=5,k=4'; "
        "gpuparity run $c --on hip-sim -o all.h5; "
        "for i in 1 2; do gpuparity run $c --on hip-sim --shard $i/2 --times all.h5 -o s$i.h5; "
        "done; gpuparity merge s2.h5 s1.h5 -o merged.h5 | grep '5 cases of 2 shards'; "
        "gpuparity compare all.h5 merged.h5 | grep '5 cases: 5 SAME'; "
        "gpuparity run $c --on hip-sim --shard 2/2 -o o.h5; "
        "! gpuparity merge s1.h5 o.h5 -o m.h5 2>said; grep -q 'different splits' said; "
        "! gpuparity run $c --on hip-sim --times all.h5 -o x.h5 2>said; "
        "grep -q -- '--shard I/N' said; "
        "! gpuparity run $c --on hip-sim --shard 1/2 --times no.h5 -o x.h5 2>said; "
        "grep -q 'times no.h5' said",
        getenv("GPUPARITY_SIM_DIR"));
    int status = system(line);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%d", status);
}
END_TEST

/* In Slurm's words: an array 3-9 by 2, and one that cannot be told apart. */
START_TEST(test_slurm_array)
{
    char line[2048];
    snprintf(
        line, sizeof line,
        "PATH=%s:$PATH; set -e; export SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=3 "
        "SLURM_ARRAY_TASK_STEP=2; for i in 3 5 7 9; do SLURM_ARRAY_TASK_ID=$i gpuparity run "
        "'gemm/naive:m={1|2|3|4},n=2,k=2' --on hip-sim -o $i.h5; done; gpuparity merge 3.h5 "
        "5.h5 7.h5 "
        "9.h5 -o whole.h5 | grep '4 cases of 4 shards'; for i in 4 11 1; do "
        "! SLURM_ARRAY_TASK_ID=$i gpuparity run gemm/naive --on hip-sim -o x.h5 2>said; "
        "grep -q 'names no part' said; done",
        getenv("GPUPARITY_SIM_DIR"));
    int status = system(line);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%d", status);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("balance");
    TCase *c = tcase_create("balance");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_longest_first);
    tcase_add_test(c, test_more_parts_than_cases);
    tcase_add_test(c, test_nothing_known);
    tcase_add_test(c, test_run_and_merge);
    tcase_add_test(c, test_slurm_array);
    suite_add_tcase(s, c);
    return suite_run(s);
}
