/* SPDX-License-Identifier: Apache-2.0 */
#include <hdf5.h>
#include <sys/wait.h>

#include "merge.h"
#include "recordsample.h"
#include "suite.h"

/* Shards are made of the sample record's cases by the rule of run --shard, written apart here;
 * merged, they must be the sample record again. */

enum { CASES = 11, SHARDS = 3 };

static char folder[] = "/tmp/gpuparity-merge-XXXXXX";

/* What a shard says that it should not; zero: nothing. */
struct oddity {
    const char *device; /* a further run, on it */
    int only;           /* runs written of two, 0: both */
    const char *driver, *env, *digest;
    int64_t cases; /* of the selection, 0: CASES */
    int64_t again; /* one more case, by number, 0: none */
    int64_t first; /* as `cases`, of shard 1 */
};

static void put_run(struct record *r, const char *device, int place, int total,
                    const struct oddity *o)
{
    struct record_run head = sample_run(device);
    int run;
    snprintf(head.shard, sizeof head.shard, "%d/%d", place, total);
    snprintf(head.host, sizeof head.host, "node%d", place % 2);
    snprintf(head.created, sizeof head.created, "2026-11-30T10:00:%02dZ", 40 - place);
    if (o->driver)
        snprintf(head.driver, sizeof head.driver, "%s", o->driver);
    if (o->env)
        snprintf(head.env[1].value, sizeof head.env[1].value, "%s", o->env);
    OK(record_add_run(r, &head, &run, &sample_error));
    for (int64_t n = place - 1; n < (o->cases ? o->cases : CASES); n += total)
        OK(sample_put(r, run, n));
    if (o->again)
        OK(sample_put(r, run, o->again));
    if (o->digest) {
        struct record_case c = sample_case(1000);
        snprintf(c.source_digest, sizeof c.source_digest, "%s", o->digest);
        snprintf(c.id, sizeof c.id, "gemm/mma:m=%d", place);
        OK(record_put_case(r, run, 1000, &c, 0, NULL, NULL, &sample_error));
    }
}

static void shard_write(const char *path, int place, int total, const struct oddity *o)
{
    struct record *r;
    OK(record_create(path, false, true, &r, &sample_error));
    put_run(r, "cuda-sim", place, total, o);
    if (o->only != 1)
        put_run(r, "hip-sim", place, total, o);
    if (o->device)
        put_run(r, o->device, place, total, o);
    OK(record_finish(r, &sample_error));
    record_close(r);
}

static const char *const paths[] = {"2.h5", "3.h5", "1.h5"}; /* any order */

static void shards_write(void)
{
    for (int i = 1; i <= SHARDS; i++) {
        char path[16];
        snprintf(path, sizeof path, "%d.h5", i);
        shard_write(path, i, SHARDS, &(struct oddity){0});
    }
}

static void setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    shards_write();
}

static void teardown(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert(chdir("/") == 0 && system(command) == 0);
}

START_TEST(shards_become_the_whole)
{
    int64_t cases = 0;
    struct record *r;
    OK(merge_records(SHARDS, paths, "whole.h5", false, &cases, &sample_error));
    ck_assert_int_eq(cases, 2 * CASES);
    sample_check("whole.h5", 2, CASES);

    OK(record_open("whole.h5", &r, &sample_error));
    for (int run = 0; run < 2; run++) {
        const struct record_run *head = record_run_at(r, run);
        ck_assert_str_eq(head->device, run ? "hip-sim" : "cuda-sim");
        ck_assert_str_eq(head->shard, "1/1");
        ck_assert_str_eq(head->host, "node1, node0");
        ck_assert_str_eq(head->created, "2026-11-30T10:00:37Z");
        ck_assert_int_eq(head->n_env, 2);
        for (int64_t i = 0; i < CASES; i++) {
            void *code;
            size_t size;
            char *log;
            OK(record_read_code(r, run, i, &code, &size, &log, &sample_error));
            ck_assert_uint_eq(size, i % 2 ? 9 : 0);
            ck_assert_str_eq(log, i % 2 ? "log: \xe2\x9c\x93\n" : "");
            free(code);
            free(log);
        }
    }
    record_close(r);
    ck_assert_int_ne(access("whole.h5.partial", F_OK), 0);
}
END_TEST

START_TEST(an_empty_shard_is_one)
{
    int64_t cases = 0;
    const char *const four[] = {"a.h5", "b.h5", "c.h5"};
    for (int i = 0; i < 3; i++)
        shard_write(four[i], i + 1, 3, &(struct oddity){.cases = 2});
    OK(merge_records(3, four, "small.h5", false, &cases, &sample_error));
    sample_check("small.h5", 2, 2);
}
END_TEST

static void refused(int n, const char *const *path, const char *says)
{
    struct errinfo e = {0};
    int64_t cases = -1;
    ck_assert_int_eq(merge_records(n, path, "no.h5", false, &cases, &e), ERR_USAGE);
    ck_assert_msg(strstr(e.text, says) != NULL, "'%s' says not '%s'", e.text, says);
    ck_assert(!strchr(e.text, '\n') && cases == -1);
    ck_assert(access("no.h5", F_OK) != 0 && access("no.h5.partial", F_OK) != 0);
}

static const struct {
    struct oddity o; /* of shard 2 */
    int place, total;
    const char *says;
} rows[] = {
    {{0}, 1, 3, "1.h5 and x.h5 are both shard 1/3"},
    {{0}, 2, 4, "x.h5 is 2/4: they are not parts of one selection"},
    {{0}, 1, 1, "x.h5 is a whole record"},
    {{.only = 1}, 2, 3, "has a run on hip-sim, x.h5 has none"},
    {{.device = "cuda:0"}, 2, 3, "x.h5 has a run on cuda:0, 1.h5 has none"},
    {{.driver = "12.9"}, 2, 3, "driver is '13.0' and '12.9'"},
    {{.env = "0"}, 2, 3, "NVIDIA_TF32_OVERRIDE is '' and '0'"},
    {{.cases = 16}, 2, 3, "x.h5: 5 cases on cuda-sim, but 4 in 1.h5"},
    {{.cases = 4}, 2, 3, "3.h5: 3 cases on cuda-sim, but 1 in x.h5"},
    {{.first = 17}, 2, 3, "3.h5: 3 cases on cuda-sim, but 6 in f.h5"},
    {{.cases = 8, .again = 3}, 2, 3, "1.h5 and x.h5 both have gemm/tiled:dtype=f32,m=3,"},
};

START_TEST(what_does_not_belong_together_is_refused)
{
    const char *const three[] = {rows[_i].o.first ? "f.h5" : "1.h5", "x.h5", "3.h5"};
    if (rows[_i].o.first)
        shard_write("f.h5", 1, 3, &(struct oddity){.cases = rows[_i].o.first});
    shard_write("x.h5", rows[_i].place, rows[_i].total, &rows[_i].o);
    refused(3, three, rows[_i].says);
}
END_TEST

START_TEST(a_missing_shard_is_named)
{
    const char *const two[] = {"1.h5", "3.h5"};
    refused(2, two, "shard 2/3 is missing, 2 of 3 are here");
    refused(1, two, "shard 2/3 is missing, 1 of 3 are here");
    refused(1, two + 1, "shard 1/3 is missing");
    refused(0, two, "no records");
}
END_TEST

START_TEST(other_sources_are_refused)
{
    const char *const two[] = {"a.h5", "b.h5"};
    int64_t cases;
    shard_write("a.h5", 1, 2,
                &(struct oddity){.digest = "00112233445566778899aabbccddeeff", .cases = 6});
    shard_write("b.h5", 2, 2,
                &(struct oddity){.digest = "00112233445566778899aabbccddeefe", .cases = 6});
    refused(2, two, "a.h5 and b.h5 ran different sources of gemm/mma");
    shard_write("b.h5", 2, 2,
                &(struct oddity){.digest = "00112233445566778899aabbccddeeff", .cases = 6});
    OK(merge_records(2, two, "ok.h5", false, &cases, &sample_error));
    ck_assert_int_eq(cases, 16);
}
END_TEST

START_TEST(another_version_is_refused)
{
    const char *const three[] = {"1.h5", "2.h5", "v.h5"};
    shard_write("v.h5", 3, 3, &(struct oddity){0});
    hid_t file = H5Fopen("v.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t attribute = H5Aopen(file, "version", H5P_DEFAULT), type = H5Aget_type(attribute);
    char text[64] = "9.9";
    ck_assert(file >= 0 && attribute >= 0 && H5Tget_size(type) <= sizeof text);
    ck_assert(H5Awrite(attribute, type, text) >= 0);
    H5Tclose(type);
    H5Aclose(attribute);
    ck_assert(H5Fclose(file) >= 0);
    refused(SHARDS, three, "v.h5 was made by gpuparity 9.9");
}
END_TEST

START_TEST(files_stay_what_they_are)
{
    struct errinfo e = {0};
    int64_t cases;
    sample_store("taken.h5", "mine", 4);
    ck_assert_int_eq(merge_records(SHARDS, paths, "taken.h5", false, &cases, &e), ERR_USAGE);
    ck_assert(strstr(e.text, "taken.h5 exists") && strstr(e.text, "--replace"));
    size_t size;
    unsigned char *bytes = sample_load("taken.h5", &size);
    ck_assert(size == 4 && !memcmp(bytes, "mine", 4));
    free(bytes);
    OK(merge_records(SHARDS, paths, "taken.h5", true, &cases, &sample_error));
    sample_check("taken.h5", 2, CASES);

    const char *const damaged[] = {"1.h5", "d.h5"};
    sample_store("d.h5", "no record", 9);
    ck_assert_int_eq(merge_records(2, damaged, "no.h5", false, &cases, &e), ERR_FORMAT);
    ck_assert_msg(strstr(e.text, "d.h5") != NULL, "%s", e.text);
    unlink("d.h5");
    ck_assert_int_eq(merge_records(2, damaged, "no.h5", false, &cases, &e), ERR_IO);
    ck_assert_msg(strstr(e.text, "d.h5") != NULL, "%s", e.text);
}
END_TEST

START_TEST(run_shard_then_merge)
{
    char line[2048];
    snprintf(line, sizeof line,
             "PATH=%s:$PATH; set -e; c='gemm/naive:m=4,n=4,k=4 gemm/naive:m=5,n=4,k=4 "
             "gemm/tiled:m=4,n=5,k=4 gemm/tiled:m=3,n=3,k=3 gemm/splitk:m=4,n=4,k=9'; "
             "for i in 1 2 3; do gpuparity run $c --on cuda-sim --shard $i/3 -o s$i.h5; done; "
             "gpuparity run $c --on cuda-sim -o all.h5; "
             "gpuparity merge s3.h5 s1.h5 s2.h5 -o merged.h5 | grep '5 cases of 3 shards'; "
             "gpuparity compare all.h5 merged.h5 | grep '5 cases: 5 SAME'; "
             "! gpuparity merge s1.h5 s2.h5 -o m.h5 2>said; grep -q '3/3 is missing' said; "
             "! gpuparity merge s1.h5 2>said; grep -q 'gpuparity merge S1' said",
             getenv("GPUPARITY_SIM_DIR"));
    int status = system(line);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%d", status);

    struct record *a, *b;
    struct record_case x, y;
    OK(record_open("all.h5", &a, &sample_error));
    OK(record_open("merged.h5", &b, &sample_error));
    ck_assert_int_eq(record_case_count(b, 0), 5);
    for (int i = 0; i < 5; i++) {
        OK(record_read_case(a, 0, i, &x, &sample_error));
        OK(record_read_case(b, 0, i, &y, &sample_error));
        ck_assert_str_eq(x.id, y.id);
        ck_assert_str_eq(x.code_digest, y.code_digest);
        ck_assert_uint_eq(x.instructions, y.instructions);
    }
    record_close(a);
    record_close(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("merge");
    TCase *c = tcase_create("merge");
    suite_add_tcase(s, c);
    tcase_add_unchecked_fixture(c, setup, teardown);
    tcase_add_test(c, shards_become_the_whole);
    tcase_add_test(c, an_empty_shard_is_one);
    tcase_add_loop_test(c, what_does_not_belong_together_is_refused, 0,
                        sizeof rows / sizeof *rows);
    tcase_add_test(c, a_missing_shard_is_named);
    tcase_add_test(c, other_sources_are_refused);
    tcase_add_test(c, another_version_is_refused);
    tcase_add_test(c, files_stay_what_they_are);
    tcase_add_test(c, run_shard_then_merge);
    return suite_run(s);
}
