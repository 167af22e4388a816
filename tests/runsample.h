/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of run share: cases that run on fake_vendor.c, whose results are known and which
 * dies on request, into a record in a folder of the test's own. */
#ifndef TESTS_RUNSAMPLE_H
#define TESTS_RUNSAMPLE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"
#include "harness/codestore.h"
#include "harness/run.h"
#include "suite.h"

static struct errinfo e;
static char folder[64], path[96], simulators[4096];

static const char *const some_cases[] = {"gemm/naive:dtype=f32,m=5,n=7,k=3",
                                         "gemm/naive:dtype=f16,m=5,n=7,k=3",
                                         "gemm/naive:dtype=bf16,m=1,n=1,k=0",
                                         "gemm/naive:dtype=i8,m=9,n=2,k=33",
                                         "gemm/tiled:dtype=f32,m=16,n=1,k=20",
                                         "gemm/tiled:dtype=f32,m=4,n=4,k=4,beta=2",
                                         "gemm/tiled:dtype=f16,m=2,n=3,k=4,mode=strict"};
enum { SOME = sizeof some_cases / sizeof *some_cases, BAD = 1 /* naive_f16 */ };

static inline struct caselist parsed(int count)
{
    struct caselist l = {.count = count, .id = calloc((size_t)count, sizeof *l.id)};
    for (int i = 0; i < count; i++)
        ck_assert_msg(!caseid_parse(some_cases[i], &l.id[i], &e), "%s", e.text);
    return l;
}

/* "Code": the fake has the kernels whose names stand in it. */
static inline void keep(const char *id_text)
{
    static const char text[] = "naive_f32 naive_f16 naive_bf16 naive_i8 tiled_f32 tiled_f16";
    struct case_id id;
    char options[512];
    ck_assert_int_eq(caseid_parse(id_text, &id, &e), 0);
    struct fp_mode m = {id.mode.contract, id.mode.flush, id.mode.exact_div, id.mode.exact_sqrt,
                        id.mode.approximate};
    backends[0]->toolchain->options(backends[0]->arch, &m, options, sizeof options);
    struct code c = {.bytes = (void *)(uintptr_t)text,
                     .size = sizeof text,
                     .options = options,
                     .version = "Fake 1"};
    ck_assert_msg(!codestore_save(backends[0], id.family, id.variant, &id.mode, &c, &e), "%s",
                  e.text);
}

static inline void set_up(void)
{
    strcpy(folder, "/tmp/gpuparity-run-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/record.h5", folder);
    setenv("GPUPARITY_GOLDEN", folder, 1);
    keep("gemm/naive");
    keep("gemm/tiled");
    keep("gemm/tiled:mode=strict");
}

static inline void tear_down(void)
{
    char text[100];
    snprintf(text, sizeof text, "rm -rf %s", folder);
    ck_assert_int_eq(system(text), 0);
}

static inline struct device_choice fake_device(void)
{
    return (struct device_choice){.backend = backends[0], .kind = DEVICE_CHOICE_SIMULATED};
}

/* Runs into `path`, which stays open for writing. */
static inline enum err run_some(const struct caselist *l, struct run_options o, bool resume,
                         struct record **ret_record)
{
    int run = -1;
    struct device_choice d = fake_device();
    o.code = RUN_CODE_GOLDEN;
    memset(&e, 0, sizeof e);
    ck_assert_msg(!record_create(path, resume, false, ret_record, &e), "%s", e.text);
    enum err err = run_cases(l, &d, &o, *ret_record, &run, &e);
    ck_assert_int_eq(run, err ? -1 : 0);
    return err;
}

/* The same to the end: the finished record, open for reading. */
static inline struct record *run_all(const struct caselist *l, struct run_options o)
{
    struct record *r = NULL;
    ck_assert_msg(!run_some(l, o, false, &r), "%s", e.text);
    ck_assert_msg(!record_finish(r, &e), "%s", e.text);
    record_close(r);
    ck_assert_msg(!record_open(path, &r, &e), "%s", e.text);
    ck_assert_int_eq(record_case_count(r, 0), l->count);
    return r;
}

static inline struct record_case case_at(struct record *r, int64_t i)
{
    struct record_case c;
    ck_assert_msg(!record_read_case(r, 0, i, &c, &e), "%s", e.text);
    return c;
}

/* Runs the tests of t between set_up and tear_down: the program's exit status. */
static inline int run_suite(const char *name, TCase *t)
{
    Suite *s = suite_create(name);
    tcase_add_checked_fixture(t, set_up, tear_down);
    suite_add_tcase(s, t);
    return suite_run(s);
}

#endif
