/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digests.h"
#include "session.h"
#include "suite.h"

/* Accepted outputs: the file, and records against it; what changed is counted a second time
 * from the tensors themselves. */

static char path[] = "/tmp/gpuparity-digests-XXXXXX";

static void setup(void)
{
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

static void teardown(void)
{
    unlink(path);
    strcpy(path, "/tmp/gpuparity-digests-XXXXXX");
}

static void write_file(const char *text)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

#define A "0123456789abcdef 00112233 "
#define N4 "gemm/naive:dtype=f32,m=4,n=4,k=4,dist=normal,seed=1\n"
#define N5 "gemm/naive:dtype=f32,m=5,n=4,k=4,dist=normal,seed=1\n"

static const struct {
    const char *text, *words;
} bad[] = {
    {A N4, ":1: a case before any device"},
    {"device x\n" A N4, ":2: a case before any device"},
    {"device x\ncompiler y\n0123456789ABCDEF 00112233 " N4, ":3: wants 16 hex digits"},
    {"device x\ncompiler y\n0123\n", ":3: wants 16 hex digits"},
    {"device x\ncompiler y\n" A N4 "# word\n" A N4, ":5: the same case a second time"},
    {"device x\ncompiler y\n" A "gemm/naive:m=4\n", ":3: the case's id is not canonical"},
    {"device \ncompiler y\n", ":1: a name is missing"},
    {"device x\001\n", ":1: a control character"},
    {"device x\ncompiler yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\n",
     ":2: a name is missing or too long"},
};

START_TEST(bad_files_are_refused)
{
    struct errinfo e;
    struct digests d;
    write_file(bad[_i].text);
    ck_assert_int_eq(digests_load(path, false, &d, &e), ERR_FORMAT);
    ck_assert_msg(strstr(e.text, bad[_i].words) != NULL, "%s", e.text);
}
END_TEST

START_TEST(files_go_round)
{
    struct errinfo e;
    struct digests d;
    /* Unknown cases are kept; the order of the file does not matter, that of what is written
     * does. */
    write_file("device x\ncompiler y\n" A N5 "fedcba9876543210 00112233 " N4 A
               "nosuch/family:m=1\ndevice a\ncompiler z\n" A N4);
    ck_assert_msg(!digests_load(path, false, &d, &e), "%s", e.text);
    ck_assert_int_eq(d.count, 4);
    ck_assert_int_eq(digests_save(&d, path, &e), 0);
    char text[2048] = "";
    FILE *f = fopen(path, "r");
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    ck_assert_ptr_nonnull(strstr(text,
                                 "device a\ncompiler z\n" A N4 "device x\ncompiler y\n"
                                 "fedcba9876543210 00112233 " N4 A N5 A "nosuch/family:m=1\n"));
    digests_release(&d);
    ck_assert_int_eq(digests_load("/nonexistent/x", true, &d, &e), 0);
    ck_assert_int_eq(d.count, 0);
    ck_assert_int_eq(digests_load("/nonexistent/x", false, &d, &e), ERR_IO);
}
END_TEST

/* --- records ---------------------------------------------------------------------------------
 */

static void run(struct session *s, const char *device)
{
    static struct options o;
    struct errinfo e;
    memset(&o, 0, sizeof o);
    o.n_word = 2;
    o.word[0] = "gemm/naive";
    o.word[1] = "norm/rms";
    o.on = device;
    o.code = "golden";
    o.quiet = true;
    ck_assert_msg(!session_run(s, &o, 1, device, true, &e), "%s", e.text);
}

/* Cases whose outputs are not the same, element by element. */
static int64_t count_changed(struct session *x, struct session *y)
{
    int64_t changed = 0;
    for (int64_t i = 0; i < record_case_count(x->record, 0); i++) {
        struct record_out a[RECORD_OUT_MAX], b[RECORD_OUT_MAX];
        struct errinfo e;
        int n, m;
        bool differ = false;
        ck_assert_int_eq(record_read_outs(x->record, 0, i, &n, a, &e), 0);
        ck_assert_int_eq(record_read_outs(y->record, 0, i, &m, b, &e), 0);
        for (int o = 0; o < n; o++) {
            differ |=
                memcmp(a[o].tensor.data, b[o].tensor.data, tensor_bytes(&a[o].tensor)) != 0;
            tensor_release(&a[o].tensor);
            tensor_release(&b[o].tensor);
        }
        changed += differ;
    }
    return changed;
}

START_TEST(a_change_is_seen)
{
    struct errinfo e;
    struct session before, after;
    struct digests d = {0};
    struct digests_tally t = {0};
    FILE *none = fopen("/dev/null", "w");
    int64_t taken;
    run(&before, "cuda-sim");
    setenv("GPUPARITY_SIM_APPROX", "high", 1);
    run(&after, "cuda-sim");
    unsetenv("GPUPARITY_SIM_APPROX");
    int64_t all = record_case_count(before.record, 0);
    int64_t changed = count_changed(&before, &after);
    ck_assert(changed > 0 && changed < all);

    ck_assert_int_eq(digests_accept(&d, before.record, 0, &taken, &e), 0);
    ck_assert_int_eq(taken, all);
    ck_assert_int_eq(digests_check(&d, before.record, 0, 3, none, &t, &e), 0);
    ck_assert(t.same == all && !t.changed && !t.unknown && !t.skipped);
    memset(&t, 0, sizeof t);
    ck_assert_int_eq(digests_check(&d, after.record, 0, 3, none, &t, &e), 0);
    ck_assert(t.changed == changed && t.same == all - changed);

    /* As if another compiler had been accepted. */
    for (int64_t i = 0; i < d.count; i++)
        strcpy(d.entry[i].compiler, "NVRTC 11.8");
    memset(&t, 0, sizeof t);
    ck_assert_int_eq(digests_check(&d, after.record, 0, 3, none, &t, &e), 0);
    ck_assert(t.compiled == changed && t.moved == all - changed && !t.changed);

    /* Another device is another matter. */
    for (int64_t i = 0; i < d.count; i++)
        strcpy(d.entry[i].device, "cuda-other");
    memset(&t, 0, sizeof t);
    ck_assert_int_eq(digests_check(&d, after.record, 0, 3, none, &t, &e), 0);
    ck_assert(t.unknown == all);
    fclose(none);
    digests_release(&d);
    session_release(&before);
    session_release(&after);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("digests");
    TCase *c = tcase_create("digests");
    suite_add_tcase(s, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, bad_files_are_refused, 0, (int)(sizeof bad / sizeof *bad));
    tcase_add_test(c, files_go_round);
    tcase_add_test(c, a_change_is_seen);
    return suite_run(s);
}
