/* SPDX-License-Identifier: Apache-2.0 */
#include "recordsample.h"

#include "show.h"
#include "suite.h"

static char text[1 << 16];

static enum err show(const char *path, const char *inner)
{
    FILE *f = fmemopen(text, sizeof text, "w");
    enum err err = show_record(f, path, inner, &sample_error);
    fclose(f);
    return err;
}

static void expect(const char *word)
{
    ck_assert_msg(strstr(text, word), "no '%s' in: %s", word, text);
}

START_TEST(test_tree)
{
    sample_write("r.h5", 2, 3);
    OK(show("r.h5", NULL));
    expect("r.h5: a gpuparity record, schema 1, 2 runs\n");
    expect("/run/0  cuda-sim (simulated), 3 cases\n");
    expect("    env            CUDA_FORCE_PTX_JIT=1\n");
    expect("  /run/1/case/2  ok            gemm/tiled:dtype=f32,m=2,seed=1\n");
    OK(show("r.h5", "/run/1"));
    expect("hip-sim");
    ck_assert(!strstr(text, "cuda-sim"));
}
END_TEST

START_TEST(test_case)
{
    sample_write("r.h5", 2, 3);
    const char *ways[] = {"/run/1/case/1", "run/1/case/1/", "gemm/tiled:dtype=f32,m=1,seed=1"};
    for (int i = 0; i < 3; i++) {
        OK(show("r.h5", ways[i]));
        expect("    repeats        3\n");
        expect("    out            c: f32 [1 x 3]  digest ");
        /* 2654435761 * 100 modulo 2^32 */
        expect("      [0,0]  0xcdab8924  -359736448");
        expect("    code           9 bytes\n");
        expect("    code_log       log: \xe2\x9c\x93");
    }
    expect("/run/0/case/1");
    OK(show("r.h5", "/run/0/case/2/out/c"));
    expect("[1,2]");
    ck_assert(!strstr(text, "repeats"));
}
END_TEST

START_TEST(test_missing)
{
    sample_write("r.h5", 1, 2);
    FAILS(ERR_USAGE, "no run 1", show("r.h5", "/run/1"));
    FAILS(ERR_USAGE, "no case 2", show("r.h5", "/run/0/case/2"));
    FAILS(ERR_USAGE, "no output 'd'", show("r.h5", "/run/0/case/1/out/d"));
    FAILS(ERR_USAGE, "has no 'gemm/x'", show("r.h5", "gemm/x"));
    FAILS(ERR_USAGE, "has no '/run/0/caze'", show("r.h5", "/run/0/caze"));
    FAILS(ERR_IO, "cannot open none.h5", show("none.h5", NULL));
    FILE *full = fopen("/dev/full", "w");
    FAILS(ERR_IO, "No space", show_record(full, "r.h5", NULL, &sample_error));
    fclose(full);
}
END_TEST

/* Texts of a record cannot move the reader's cursor. */
START_TEST(test_hostile_text)
{
    struct record *r;
    int run;
    struct record_run head = sample_run("cuda-sim");
    struct record_case c = sample_case(0);
    snprintf(c.reason, sizeof c.reason, "one\ntwo\x1b[2J\xc2\x9b");
    OK(record_create("r.h5", false, false, &r, &sample_error));
    OK(record_add_run(r, &head, &run, &sample_error));
    OK(record_put_case(r, run, 0, &c, 0, NULL, NULL, &sample_error));
    OK(record_finish(r, &sample_error));
    record_close(r);
    OK(show("r.h5", NULL));
    expect("(one two?[2J?"
           "?)");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("show");
    TCase *t = tcase_create("show");
    tcase_add_checked_fixture(t, sample_enter, sample_leave);
    tcase_add_test(t, test_tree);
    tcase_add_test(t, test_case);
    tcase_add_test(t, test_missing);
    tcase_add_test(t, test_hostile_text);
    suite_add_tcase(s, t);
    return suite_run(s);
}
