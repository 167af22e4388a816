/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "recordsample.h"
#include "suite.h"

enum { CASES = 12 };

/* Writes what is missing of the sample record; every finished case goes into the pipe. */
static void writer(int report_fd)
{
    struct record *r;
    OK(record_create("r.h5", true, false, &r, &sample_error));
    for (int i = 0; i < 2; i++) {
        int run;
        struct record_run head = sample_run(i ? "hip-sim" : "cuda-sim");
        OK(record_add_run(r, &head, &run, &sample_error));
        for (int64_t n = 0; n < CASES; n++) {
            struct record_case c = sample_case(n);
            if (record_has_case(r, run, &c))
                continue;
            OK(sample_put(r, run, n));
            unsigned char done[2] = {(unsigned char)i, (unsigned char)n};
            ck_assert(write(report_fd, done, 2) == 2);
        }
    }
    OK(record_finish(r, &sample_error));
    record_close(r);
}

/* Starts a writer, kills it after `microseconds`; true when it had finished before. */
static bool write_and_kill(unsigned microseconds, bool done[2][CASES])
{
    int fd[2], status;
    ck_assert(pipe(fd) == 0);
    pid_t child = fork();
    if (child == 0) {
        close(fd[0]);
        writer(fd[1]);
        _exit(0);
    }
    close(fd[1]);
    usleep(microseconds);
    kill(child, SIGKILL);
    ck_assert(waitpid(child, &status, 0) == child);
    for (unsigned char said[2]; read(fd[0], said, 2) == 2;)
        done[said[0]][said[1]] = true;
    close(fd[0]);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void check_nothing_lost(bool done[2][CASES])
{
    struct record *r;
    OK(record_create("r.h5", true, false, &r, &sample_error));
    for (int i = 0; i < 2; i++) {
        int run;
        struct record_run head = sample_run(i ? "hip-sim" : "cuda-sim");
        OK(record_add_run(r, &head, &run, &sample_error));
        for (int64_t n = 0; n < CASES; n++) {
            struct record_case c = sample_case(n);
            ck_assert(!done[i][n] || record_has_case(r, run, &c));
        }
    }
    record_close(r);
}

START_TEST(test_kill)
{
    unsigned seed = (unsigned)_i * 7919u + 1, window = 20000;
    bool done[2][CASES] = {{false}};
    /* Longer and longer, as a busy machine may need. */
    while (!write_and_kill((unsigned)rand_r(&seed) % window, done)) {
        check_nothing_lost(done);
        window += window / 8;
        ck_assert_int_lt(window, 20000000);
    }
    sample_check("r.h5", 2, CASES);
    ck_assert(!sample_exists("r.h5.partial"));
}
END_TEST

/* A writer killed between the last rename and the removal of the folder. */
START_TEST(test_both_there)
{
    struct record *r;
    int run;
    struct record_run head = sample_run("cuda-sim");
    sample_write("r.h5", 1, 3);
    OK(record_create("s.h5", false, false, &r, &sample_error));
    OK(record_add_run(r, &head, &run, &sample_error));
    for (int64_t n = 1; n < 5; n++)
        OK(sample_put(r, run, n));
    record_close(r);
    ck_assert(rename("s.h5.partial", "r.h5.partial") == 0);
    FAILS(ERR_USAGE, "exists", record_create("r.h5", false, false, &r, &sample_error));
    FAILS(ERR_USAGE, "--resume", record_create("r.h5", false, true, &r, &sample_error));
    OK(record_create("r.h5", true, false, &r, &sample_error));
    OK(record_finish(r, &sample_error));
    record_close(r);
    sample_check("r.h5", 1, 5);
}
END_TEST

static struct record *start(const char *path, int64_t n_case, int *ret_run)
{
    struct record *r;
    struct record_run head = sample_run("cuda-sim");
    OK(record_create(path, false, false, &r, &sample_error));
    OK(record_add_run(r, &head, ret_run, &sample_error));
    for (int64_t n = 0; n < n_case; n++)
        OK(sample_put(r, *ret_run, n));
    return r;
}

START_TEST(test_resume_refuses_other_run)
{
    int run;
    struct record *r = start("r.h5", 2, &run);
    struct record_run head = sample_run("cuda-sim");
    record_close(r);
    OK(record_create("r.h5", true, false, &r, &sample_error));
    snprintf(head.arch, sizeof head.arch, "sm_90");
    FAILS(ERR_USAGE, "arch was 'sm_86', now it is 'sm_90'",
          record_add_run(r, &head, &run, &sample_error));
    head = sample_run("cuda-sim");
    snprintf(head.env[0].value, sizeof head.env[0].value, "0");
    FAILS(ERR_USAGE, "CUDA_FORCE_PTX_JIT was '1', now it is '0'",
          record_add_run(r, &head, &run, &sample_error));
    head = sample_run("cuda-sim");
    snprintf(head.env[head.n_env++].name, 64, "NEW");
    FAILS(ERR_USAGE, "NEW was '(not set)'", record_add_run(r, &head, &run, &sample_error));
    head = sample_run("cuda-sim");
    snprintf(head.host, sizeof head.host, "another");
    OK(record_add_run(r, &head, &run, &sample_error));
    ck_assert_int_eq(run, 0);
    ck_assert_str_eq(record_run_at(r, 0)->host, "box");
    record_close(r);
}
END_TEST

/* The file of case `n`. */
static void part_path(int64_t n, char *ret_path, size_t size)
{
    char prefix[32];
    snprintf(prefix, sizeof prefix, "0-%" PRId64 "-", n);
    DIR *d = opendir("r.h5.partial");
    for (struct dirent *entry; (entry = readdir(d));)
        if (!strncmp(entry->d_name, prefix, strlen(prefix)))
            snprintf(ret_path, size, "r.h5.partial/%s", entry->d_name);
    closedir(d);
}

START_TEST(test_damaged_part)
{
    int run;
    char path[512] = "";
    struct record *r = start("r.h5", 4, &run);
    record_close(r);
    part_path(1, path, sizeof path);
    ck_assert(truncate(path, 700) == 0);
    part_path(3, path, sizeof path);
    int fd = open(path, O_RDWR);
    off_t end = lseek(fd, 0, SEEK_END);
    for (off_t at = 0; at + 4 < end; at++) {
        uint32_t word, first = 2654435761u * 300u; /* the tensor's first element */
        ck_assert(pread(fd, &word, 4, at) == 4);
        if (word == first)
            ck_assert(pwrite(fd, "X", 1, at) == 1);
    }
    close(fd);
    fd = open("r.h5.partial/new-1", O_WRONLY | O_CREAT, 0666);
    close(fd);

    OK(record_create("r.h5", true, false, &r, &sample_error));
    struct record_run head = sample_run("cuda-sim");
    OK(record_add_run(r, &head, &run, &sample_error));
    for (int64_t n = 0; n < 4; n++) {
        struct record_case c = sample_case(n);
        ck_assert_int_eq(record_has_case(r, run, &c), n != 1 && n != 3);
    }
    ck_assert(!sample_exists("r.h5.partial/new-1") && !sample_exists(path));
    OK(sample_put(r, run, 1));
    OK(sample_put(r, run, 3));
    OK(record_finish(r, &sample_error));
    record_close(r);
    sample_check("r.h5", 1, 4);
}
END_TEST

START_TEST(test_damaged_base)
{
    struct record *r;
    sample_write("r.h5", 1, 2);
    ck_assert(truncate("r.h5", 1000) == 0);
    FAILS(ERR_FORMAT, "delete it", record_create("r.h5", true, false, &r, &sample_error));
    ck_assert(!sample_exists("r.h5.partial") && sample_exists("r.h5"));
}
END_TEST

/* Somebody else's file of that name, made meanwhile, stays. */
START_TEST(test_path_appears)
{
    int run;
    struct record *r = start("r.h5", 2, &run);
    close(open("r.h5", O_WRONLY | O_CREAT, 0666));
    FAILS(ERR_IO, "File exists", record_finish(r, &sample_error));
    ck_assert(unlink("r.h5") == 0);
    OK(record_finish(r, &sample_error));
    record_close(r);
    sample_check("r.h5", 1, 2);
}
END_TEST

START_TEST(test_foreign_file)
{
    int run;
    struct record *r = start("r.h5", 1, &run);
    record_close(r);
    close(open("r.h5.partial/thesis.tex", O_WRONLY | O_CREAT, 0666));
    FAILS(ERR_USAGE, "thesis.tex", record_create("r.h5", true, false, &r, &sample_error));
    ck_assert(unlink("r.h5.partial/thesis.tex") == 0);
    OK(record_create("r.h5", true, false, &r, &sample_error));
    record_close(r);
}
END_TEST

START_TEST(test_empty_folder_goes)
{
    int run;
    record_close(start("r.h5", 0, &run));
    ck_assert(!sample_exists("r.h5.partial") && !sample_exists("r.h5"));
    ck_assert(mkdir("r.h5.partial", 0777) == 0);
    struct record *r = start("r.h5", 1, &run);
    OK(record_finish(r, &sample_error));
    record_close(r);
    sample_check("r.h5", 1, 1);
}
END_TEST

START_TEST(test_lock)
{
    int fd[2], status, run;
    char byte, wanted[64];
    ck_assert(pipe(fd) == 0);
    pid_t child = fork();
    if (child == 0) {
        start("r.h5", 1, &run);
        ck_assert(write(fd[1], "x", 1) == 1);
        pause();
        _exit(0);
    }
    struct record *r;
    ck_assert(read(fd[0], &byte, 1) == 1);
    snprintf(wanted, sizeof wanted, "is being written by process %d;", (int)child);
    FAILS(ERR_USAGE, wanted, record_create("r.h5", true, false, &r, &sample_error));
    FAILS(ERR_USAGE, wanted, record_create("r.h5", false, true, &r, &sample_error));
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    OK(record_create("r.h5", true, false, &r, &sample_error));
    record_close(r);
}
END_TEST

START_TEST(test_unwritable)
{
    struct record *r;
    char name[300];
    FAILS(ERR_IO, "No such file", record_create("no/r.h5", false, false, &r, &sample_error));
    FAILS(ERR_IO, "/proc/r.h5.partial",
          record_create("/proc/r.h5", false, false, &r, &sample_error));
    FAILS(ERR_IO, "Not a directory",
          record_create("/dev/full/r.h5", false, false, &r, &sample_error));
    FAILS(ERR_USAGE, "not a file", record_create("/dev/full", false, true, &r, &sample_error));
    FAILS(ERR_USAGE, "not a file", record_create("/tmp", false, true, &r, &sample_error));
    FAILS(ERR_USAGE, "file name", record_create("/tmp/", false, true, &r, &sample_error));
    FAILS(ERR_USAGE, "empty", record_create("", false, true, &r, &sample_error));
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = 0;
    FAILS(ERR_IO, "too long", record_create(name, false, false, &r, &sample_error));
    close(open("t.h5.partial", O_WRONLY | O_CREAT, 0666));
    FAILS(ERR_IO, "t.h5.partial", record_create("t.h5", false, false, &r, &sample_error));
}
END_TEST

/* Cases until one does not fit: that one is a clean error, the others stay, and with room again
 * the record is completed. */
static int64_t fill_up(struct record *r, int run)
{
    for (int64_t n = 0; n < 400; n++) {
        struct record_case c = sample_case(n);
        struct record_out o = {.name = "big", .role = "out"};
        OK(tensor_init(&o.tensor, DTYPE_F32, 1, (int64_t[]){5000 * (n + 1)}, &sample_error));
        enum err err = record_put_case(r, run, n, &c, 1, &o, NULL, &sample_error);
        tensor_release(&o.tensor);
        if (err) {
            ck_assert_int_eq(err, ERR_IO);
            return n;
        }
    }
    ck_abort_msg("nothing was ever full");
    return 0;
}

static void check_after_full(const char *path, int64_t stored)
{
    struct record *r;
    OK(record_open(path, &r, &sample_error));
    ck_assert_int_eq(record_case_count(r, 0), stored);
    for (int64_t i = 0; i < stored; i++) {
        int n;
        struct record_out out[RECORD_OUT_MAX];
        OK(record_read_outs(r, 0, i, &n, out, &sample_error));
        ck_assert_int_eq(out[0].tensor.count, 5000 * (i + 1));
        tensor_release(&out[0].tensor);
    }
    record_close(r);
}

START_TEST(test_file_size_limit)
{
    int run;
    struct rlimit old;
    struct record *r = start("r.h5", 0, &run);
    getrlimit(RLIMIT_FSIZE, &old);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){200000, old.rlim_max});
    int64_t stored = fill_up(r, run);
    ck_assert_msg(strstr(sample_error.text, "File too large"), "%s", sample_error.text);
    ck_assert_int_ge(stored, 5);
    FAILS(ERR_IO, "every case is still in r.h5.partial", record_finish(r, &sample_error));
    ck_assert(!sample_exists("r.h5"));
    setrlimit(RLIMIT_FSIZE, &old);
    OK(record_finish(r, &sample_error));
    record_close(r);
    check_after_full("r.h5", stored);
}
END_TEST

START_TEST(test_full_disk)
{
    int run;
    ck_assert(mkdir("disk", 0777) == 0);
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", "disk", "tmpfs", 0, "size=1m")) {
        printf("skipped: cannot mount a small disk here: %s\n", strerror(errno));
        return;
    }
    struct record *r = start("disk/r.h5", 0, &run);
    int64_t stored = fill_up(r, run);
    ck_assert_msg(strstr(sample_error.text, "No space left"), "%s", sample_error.text);
    FAILS(ERR_IO, "No space left", record_finish(r, &sample_error));
    record_close(r);
    ck_assert(mount("none", "disk", "tmpfs", MS_REMOUNT, "size=8m") == 0);
    OK(record_create("disk/r.h5", true, false, &r, &sample_error));
    OK(record_finish(r, &sample_error));
    record_close(r);
    check_after_full("disk/r.h5", stored);
    ck_assert(umount("disk") == 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("recordcrash");
    TCase *t = tcase_create("recordcrash");
    tcase_add_checked_fixture(t, sample_enter, sample_leave);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, test_kill, 0, 3);
    tcase_add_test(t, test_both_there);
    tcase_add_test(t, test_resume_refuses_other_run);
    tcase_add_test(t, test_damaged_part);
    tcase_add_test(t, test_damaged_base);
    tcase_add_test(t, test_path_appears);
    tcase_add_test(t, test_foreign_file);
    tcase_add_test(t, test_empty_folder_goes);
    tcase_add_test(t, test_lock);
    tcase_add_test(t, test_unwritable);
    tcase_add_test(t, test_file_size_limit);
    tcase_add_test(t, test_full_disk);
    suite_add_tcase(s, t);
    return suite_run(s);
}
