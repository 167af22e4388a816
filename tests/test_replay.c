/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay.h"
#include "suite.h"
#include "trial.h"

/* explain on records: what is recorded is a run of the simulated devices, in B with some bits
 * flipped here; so it is known how many elements a run again finds different. */

static const char id[] = "gemm/naive:dtype=f32,m=5,n=4,k=3,dist=normal,seed=1";
static char folder[64], path[2][96];

static void run_one(int side, struct worker_result *ret)
{
    struct errinfo e;
    struct case_id c;
    struct device_choice device[2];
    int n;
    ck_assert_int_eq(device_parse_list("cuda-sim,hip-sim", 2, device, &n, &e), 0);
    ck_assert_int_eq(caseid_parse(id, &c, &e), 0);
    struct trial t = {.device = &device[side], .code = RUN_CODE_GOLDEN, .timeout = 60};
    ck_assert_msg(trial_run(&t, &c, ret, &e) == 0, "%s", e.text);
    ck_assert_msg(ret->c.status == RECORD_OK, "%s", ret->c.reason);
}

/* What `r` gave as if it came from `device`, with `flipped` elements changed. */
static void write_record(const char *to, const char *device, bool simulated,
                         struct worker_result *r, int flipped)
{
    struct errinfo e;
    struct record *file;
    struct record_run run = {.simulated = simulated, .warp = 32, .shard = "1/1"};
    int which;
    snprintf(run.device, sizeof run.device, "%s", device);
    snprintf(run.name, sizeof run.name, "a card");
    struct tensor *t = &r->out[0].tensor;
    for (int i = 0; i < flipped; i++)
        tensor_set_bits(t, 3 * i, tensor_bits(t, 3 * i) ^ 1);
    ck_assert_msg(record_create(to, false, true, &file, &e) == 0, "%s", e.text);
    ck_assert_msg(record_add_run(file, &run, &which, &e) == 0, "%s", e.text);
    ck_assert_msg(record_put_case(file, which, 0, &r->c, r->n_out, r->out, NULL, &e) == 0, "%s",
                  e.text);
    ck_assert_msg(record_finish(file, &e) == 0, "%s", e.text);
    record_close(file);
    for (int i = 0; i < flipped; i++)
        tensor_set_bits(t, 3 * i, tensor_bits(t, 3 * i) ^ 1);
}

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/gpuparity-replay-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path[0], sizeof path[0], "%s/a.h5", folder);
    snprintf(path[1], sizeof path[1], "%s/b.h5", folder);
}

static void remove_folder(void)
{
    unlink(path[0]);
    unlink(path[1]);
    rmdir(folder);
}

static enum err open_pair(const char *select, struct replay *r, struct errinfo *e)
{
    static struct options o;
    memset(&o, 0, sizeof o);
    o.n_word = 2;
    o.word[0] = path[0];
    o.word[1] = path[1];
    o.select = select;
    return replay_open(&o, r, e);
}

START_TEST(recorded_bits_are_found_again)
{
    static const char *const asked[] = {NULL, id, "gemm/naive:k=3,n=4,m=5"};
    struct worker_result a, b;
    struct replay r;
    struct errinfo e;
    char text[700];
    run_one(0, &a);
    run_one(1, &b);
    write_record(path[0], "cuda-sim", true, &a, 0);
    write_record(path[1], "hip:0", false, &b, 3);
    ck_assert_msg(open_pair(asked[_i], &r, &e) == 0, "%s", e.text);
    ck_assert_str_eq(r.id, id);
    ck_assert_str_eq(r.on, "cuda-sim,hip");
    ck_assert_int_eq(replay_say(&r, 0, "cuda-sim", true, &a, text, sizeof text, &e), 0);
    ck_assert_ptr_nonnull(strstr(text, "all 20 elements are the recorded bits"));
    ck_assert_int_eq(replay_say(&r, 1, "hip-sim", true, &b, text, sizeof text, &e), 0);
    ck_assert_ptr_nonnull(strstr(text, "hip:0 (a card) and runs again on hip-sim (simulated)"));
    ck_assert_ptr_nonnull(strstr(text, "3 of 20 elements are other bits than recorded; what"));
    b.c.source_digest[0] ^= 1;
    ck_assert_int_eq(replay_say(&r, 1, "hip-sim", true, &b, text, sizeof text, &e), 0);
    ck_assert_ptr_nonnull(strstr(text, "another version"));
    b.c.status = RECORD_TIMED_OUT;
    ck_assert_int_eq(replay_say(&r, 1, "hip-sim", true, &b, text, sizeof text, &e), 0);
    ck_assert_ptr_nonnull(strstr(text, record_status_name(RECORD_TIMED_OUT)));
    replay_close(&r);
    worker_result_release(&a);
    worker_result_release(&b);
}
END_TEST

START_TEST(what_cannot_run_again)
{
    struct worker_result a;
    struct replay r = {0};
    struct errinfo e;
    run_one(0, &a);
    write_record(path[0], "cuda:0", false, &a, 0);
    write_record(path[1], "cuda:1", false, &a, 0);
    ck_assert_int_eq(open_pair(NULL, &r, &e), ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(e.text, "both sides were recorded on cuda"));
    ck_assert_int_eq(open_pair("gemm/naive", &r, &e), ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(e.text, "has no case gemm/naive"));
    unlink(path[1]);
    ck_assert_int_ne(open_pair(NULL, &r, &e), ERR_OK);
    replay_close(&r);
    worker_result_release(&a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("replay");
    TCase *c = tcase_create("replay");
    suite_add_tcase(s, c);
    tcase_add_checked_fixture(c, make_folder, remove_folder);
    tcase_add_loop_test(c, recorded_bits_are_found_again, 0, 3);
    tcase_add_test(c, what_cannot_run_again);
    return suite_run(s);
}
