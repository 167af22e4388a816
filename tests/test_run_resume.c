/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "runsample.h"

START_TEST(code_absent_stale_damaged)
{
    struct case_id id;
    struct codefile f;
    char file[4096];
    struct caselist l = {.count = 1, .id = &id};
    static const struct {
        const char *id, *words;
        enum record_status status;
    } rows[] = {{"gemm/splitk", "no code is kept for gemm/splitk.cu", RECORD_SKIPPED},
                {"gemm/naive:mode=fast", "no code is kept for mode", RECORD_SKIPPED},
                {"gemm/naive:m=3", "is stale", RECORD_BUILD_FAILED},
                {"gemm/tiled:m=3", "not a kept kernel", RECORD_BUILD_FAILED}};
    fake_use(NULL);
    ck_assert_int_eq(caseid_parse("gemm/naive", &id, &e), 0);
    codestore_path(backends[0]->arch, id.family, id.variant, &id.mode, file, sizeof file);
    ck_assert_int_eq(codefile_read(file, &f, &e), 0);
    f.source[0] ^= 1;
    ck_assert_int_eq(codefile_write(file, &f, &e), 0);
    codefile_release(&f);
    ck_assert_int_eq(caseid_parse("gemm/tiled", &id, &e), 0);
    codestore_path(backends[0]->arch, id.family, id.variant, &id.mode, file, sizeof file);
    FILE *out = fopen(file, "w");
    fputs("rubbish", out);
    fclose(out);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(caseid_parse(rows[i].id, &id, &e), 0);
        struct record *r = run_all(&l, (struct run_options){0});
        struct record_case c = case_at(r, 0);
        ck_assert_msg(c.status == rows[i].status, "%s: %s", rows[i].id, c.reason);
        ck_assert_msg(strstr(c.reason, rows[i].words) != NULL, "%s", c.reason);
        record_close(r);
        unlink(path);
    }
}
END_TEST

static void check_same(struct record *a, struct record *b)
{
    int64_t count = record_case_count(a, 0);
    ck_assert_int_eq(count, record_case_count(b, 0));
    for (int64_t i = 0; i < count; i++) {
        struct record_case x = case_at(a, i), y = case_at(b, i);
        struct record_out u[RECORD_OUT_MAX], v[RECORD_OUT_MAX];
        int n, m;
        ck_assert_str_eq(x.id, y.id);
        ck_assert_int_eq(x.status, y.status);
        ck_assert_str_eq(x.reason, y.reason);
        ck_assert_str_eq(x.input_digest, y.input_digest);
        ck_assert_int_eq(record_read_outs(a, 0, i, &n, u, &e), 0);
        ck_assert_int_eq(record_read_outs(b, 0, i, &m, v, &e), 0);
        ck_assert_int_eq(n, m);
        for (int k = 0; k < n; k++) {
            char p[33], q[33];
            tensor_digest(&u[k].tensor, p);
            tensor_digest(&v[k].tensor, q);
            ck_assert_str_eq(p, q);
            tensor_release(&u[k].tensor);
            tensor_release(&v[k].tensor);
        }
    }
}

static struct record *reference(const struct caselist *l)
{
    char whole[100];
    struct record *r = run_all(l, (struct run_options){0});
    record_close(r);
    snprintf(whole, sizeof whole, "%s/whole.h5", folder);
    ck_assert_int_eq(rename(path, whole), 0);
    ck_assert_int_eq(record_open(whole, &r, &e), 0);
    return r;
}

START_TEST(jobs_change_nothing)
{
    struct caselist l = parsed(SOME);
    fake_use("launch-crash:naive_f16");
    struct record *one = reference(&l);
    struct record *many = run_all(&l, (struct run_options){.jobs = _i});
    check_same(one, many);
    record_close(one);
    record_close(many);
    caselist_release(&l);
}
END_TEST

START_TEST(shards_make_up_the_whole)
{
    struct caselist l = parsed(SOME);
    bool seen[SOME] = {false};
    fake_use(NULL);
    for (int shard = 1; shard <= 3; shard++) {
        struct record *r = NULL;
        struct run_options o = {.shard = shard, .shards = 3};
        ck_assert_int_eq(run_some(&l, o, false, &r), 0);
        ck_assert_int_eq(record_finish(r, &e), 0);
        record_close(r);
        ck_assert_int_eq(record_open(path, &r, &e), 0);
        ck_assert_int_eq(record_run_at(r, 0)->shard[0], '0' + shard);
        for (int64_t i = 0; i < record_case_count(r, 0); i++) {
            struct record_case c = case_at(r, i);
            for (int k = 0; k < SOME; k++) {
                char text[CASEID_TEXT_MAX];
                caseid_print(&l.id[k], text);
                ck_assert(strcmp(text, c.id) || !seen[k]);
                seen[k] |= !strcmp(text, c.id);
            }
        }
        record_close(r);
        unlink(path);
    }
    for (int k = 0; k < SOME; k++)
        ck_assert(seen[k]);
    caselist_release(&l);
}
END_TEST

/* --- going on --------------------------------------------------------------------------------
 */

struct seen {
    int calls;
    int64_t done, total;
    int signal_at; /* raise SIGINT at this call */
};

static void progress(void *context, int64_t done, int64_t total, const struct record_case *c)
{
    struct seen *s = context;
    ck_assert_ptr_nonnull(c);
    s->done = done;
    s->total = total;
    if (++s->calls == s->signal_at)
        raise(SIGINT);
}

START_TEST(interrupted_and_resumed)
{
    struct caselist l = parsed(SOME);
    struct seen s = {.signal_at = 3};
    struct record *r = NULL;
    sigset_t mask;
    fake_use("launch-crash:naive_f16");
    struct record *whole = reference(&l);
    struct run_options o = {.progress = progress, .context = &s};
    ck_assert_int_eq(run_some(&l, o, false, &r), ERR_IO);
    ck_assert_msg(strstr(e.text, "--resume") != NULL, "%s", e.text);
    ck_assert_msg(strstr(e.text, "of 7 cases") != NULL, "%s", e.text);
    record_close(r);
    ck_assert(s.calls >= 3 && s.calls < SOME);
    sigprocmask(SIG_BLOCK, NULL, &mask);
    ck_assert(!sigismember(&mask, SIGINT));
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);

    int before = s.calls;
    s = (struct seen){0};
    ck_assert_msg(!run_some(&l, o, true, &r), "%s", e.text);
    ck_assert_int_eq(s.calls, SOME - before);
    ck_assert_int_eq(s.done, SOME);
    ck_assert_int_eq(s.total, SOME);
    ck_assert_int_eq(record_finish(r, &e), 0);
    record_close(r);
    ck_assert_int_eq(record_open(path, &r, &e), 0);
    check_same(whole, r);
    record_close(whole);
    record_close(r);
    caselist_release(&l);
}
END_TEST

/* kill -9 of the whole program: no worker survives it. Orphans come to this process. */
START_TEST(killed_leaves_no_worker)
{
    struct caselist l = parsed(SOME);
    int status = 0;
    fake_use("launch-hang:naive_f16");
    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    pid_t program = fork();
    if (program == 0) {
        struct record *r = NULL;
        (void)run_some(&l, (struct run_options){.timeout = 60}, false, &r);
        _exit(0);
    }
    usleep(300000);
    kill(program, SIGKILL);
    ck_assert_int_eq(waitpid(program, &status, 0), program);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_gt(waitpid(-1, &status, 0), 0);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    ck_assert_int_eq(waitpid(-1, &status, 0), -1);

    struct record *r = NULL;
    setenv("FAKE", "", 1);
    ck_assert_msg(!run_some(&l, (struct run_options){0}, true, &r), "%s", e.text);
    ck_assert_msg(!record_finish(r, &e), "%s", e.text);
    record_close(r);
    caselist_release(&l);
}
END_TEST

int main(void)
{
    device_simulator_folder(simulators, sizeof simulators);
    TCase *t = tcase_create("run_resume");
    tcase_add_test(t, code_absent_stale_damaged);
    tcase_add_loop_test(t, jobs_change_nothing, 2, 5);
    tcase_add_test(t, shards_make_up_the_whole);
    tcase_add_test(t, interrupted_and_resumed);
    tcase_add_test(t, killed_leaves_no_worker);
    return run_suite("run_resume", t);
}
