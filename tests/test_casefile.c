/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "casefilesample.h"
#include "suite.h"

/* Case files: what they say is what is planned; what is wrong with them is one line with its
 * place. */

static struct errinfo e;

static enum err open_text(struct casefiles *l, const char *text, const char *id,
                          struct case_id *ret_id)
{
    char whole[400];
    text_set("t.case.yaml", text);
    snprintf(whole, sizeof whole, "%s/t.case.yaml%s", folder, id);
    enum err err = casefiles_parse_id(l, whole, ret_id, &e);
    struct case_plan *p = calloc(1, sizeof *p);
    if (!err)
        err = ret_id->family->plan(ret_id, p, &e);
    free(p);
    return err;
}

#define HEAD                                                                                   \
    "source: k.cu\n"                                                                           \
    "parameters: {n: 10, a: 0.5, t: [f32, f16]}\n"
#define TENSORS                                                                                \
    "tensors:\n"                                                                               \
    "  x: {role: in, dtype: t, shape: [n]}\n"                                                  \
    "  y: {role: out, dtype: f32, shape: [n, 2]}\n"
#define KERNELS                                                                                \
    "kernels:\n"                                                                               \
    "  - {name: \"k_{t}\", arguments: [x, y, i32 n, f32 a], grid: n, block: 32}\n"
#define GOOD HEAD TENSORS KERNELS

/* --- what is wrong, and where ----------------------------------------------------------------
 */

static const struct {
    const char *text, *where, *says;
} bad[] = {
    {"", ":1:1: ", "a case file is a map"},
    {"- a", ":1:1: ", "a case file is a map"},
    {"a: [", ":2:1: ", "no YAML"},
    {"source: \xff", ":1:1: ", "UTF-8"},
    {"a: &x 1", ":1:4: ", "anchors"},
    {"a: *x", ":1:4: ", "aliases"},
    {"a: !!int 1", ":1:4: ", "tags"},
    {"source: a\nsource: b", ":2:1: ", "twice"},
    {"--- \n{}\n---\n{}", ":3:1: ", "one document"},
    {"[[[[[[[[[[[[[[[[[[[[", ":1:17: ", "nested"},
    {"name: 9a\n" GOOD, ":1:7: ", "no name"},
    {"sauce: k.cu", ":1:1: ", "did you mean 'source'?"},
    {"summary: x", ":1:1: ", "nothing to run"},
    {"source: k.cu", ":1:1: ", "no kernels"},
    {"source: {cuda: k.cu, rocm: k.cu}\nkernels: []", ":1:22: ", "no side 'rocm'"},
    {"source: {}\nkernels: []", ":1:9: ", "no side is named"},
    {"source: k.cu\nparameters: {n: x}", ":2:17: ", "no number"},
    {"source: k.cu\nparameters: {n: {range: [1, 2]}}", ":2:17: ", "standard"},
    {"source: k.cu\nparameters: {n: {standard: 3, range: [1, 2]}}", ":2:28: ", "outside"},
    {"source: k.cu\nparameters: {n: {standard: 3, range: [5, 2]}}", ":2:38: ", "smaller end"},
    {"source: k.cu\nparameters: {n: {standard: 3, rnage: [5, 2]}}", ":2:31: ", "'range'"},
    {"source: k.cu\nparameters: {n: {standard: 3, range: [1.5, 2]}}", ":2:39: ", "whole"},
    {"source: k.cu\nparameters: {seed: 3}", ":2:14: ", "already"},
    {"source: k.cu\nparameters: {t: [f32, \"f 16\"]}", ":2:23: ", "cannot be a value"},
    {"source: k.cu\nparameters: {t: {words: [f32], standard: f16}}", ":2:42: ", "not one of"},
    {HEAD "tensors: {x: 1}", ":3:14: ", "must be a map"},
    {HEAD "tensors: {x: {role: in}}", ":3:14: ", "dtype: f32"},
    {HEAD "tensors: {x: {role: in, dtype: f31, shape: n}}", ":3:32: ", "did you mean 'f32'?"},
    {HEAD "tensors: {x: {role: in, dtype: n, shape: n}}", ":3:32: ", "no format"},
    {HEAD "tensors: {x: {role: into, dtype: f32, shape: n}}", ":3:21: ", "no role"},
    {HEAD "tensors: {x: {role: in, dtype: f32}}", ":3:14: ", "no shape"},
    {HEAD "tensors: {x: {role: in, dtype: f32, shape: [m]}}", ":3:45: ", "'m'"},
    {HEAD "tensors: {x: {role: in, dtype: f32, shape: [a]}}", ":3:45: ", "'a'"},
    {HEAD "tensors: {x: {role: in, dtype: f32, shape: [n,n,n,n,n,n,n,n,n]}}", ":3:44: ",
     "dimensions"},
    {HEAD "tensors: {x: {role: in, dtype: f32, shape: [ceildiv(n, 2)]}}", ":3:45: ", "quotes"},
    {HEAD "tensors: {n: {role: in, dtype: f32, shape: [n]}}", ":3:11: ", "parameter's name"},
    {HEAD "tensors: {x: {role: in, dtype: f32, shape: [n], fill: norml}}", ":3:55: ", "'normal'"},
    {HEAD "tensors: {x: {role: in, dtype: f32, shape: [n], file: no.npy}}", ":3:55: ",
     "cannot read"},
    {HEAD "tensors: {x: {role: in, dtype: f32, shape: [n], file: bad.npy}}", ":3:55: ", "bad.npy"},
    {HEAD "tensors: {x: {role: out, dtype: f32, shape: [n], fill: normal}}", ":3:56: ",
     "fill: zero"},
    {HEAD "tensors: {x: {role: in, dtype: f32, shape: [n], axis: 1}}", ":3:55: ", "axis"},
    {HEAD "tensors: {x: {role: reference, dtype: f64, shape: [n], of: y}}", ":3:60: ",
     "no output"},
    {HEAD TENSORS "kernels: []", ":6:10: ", "without a kernel"},
    {HEAD TENSORS "kernels: [{name: k}]", ":6:11: ", "no arguments"},
    {HEAD TENSORS "kernels: [{name: k, arguments: [x, z], grid: 1, block: 1}]", ":6:36: ",
     "no tensor"},
    {HEAD TENSORS "kernels: [{name: k, arguments: [x, i33 n], grid: 1, block: 1}]", ":6:36: ",
     "did you mean 'i32'?"},
    {HEAD TENSORS "kernels: [{name: k, arguments: [x, y, i32 a], grid: 1, block: 1}]", ":6:39: ",
     "'a'"},
    {HEAD TENSORS "kernels: [{name: k, arguments: [x, y], block: 1}]", ":6:11: ", "no grid"},
    {HEAD TENSORS "kernels: [{name: k, arguments: [x, y], grid: 1}]", ":6:11: ", "no block"},
    {HEAD TENSORS "kernels: [{name: k, arguments: [x, y], grid: [1,1,1,1], block: 1}]", ":6:46: ",
     "one to three"},
    {HEAD TENSORS "kernels: [{name: k, arguments: [x], grid: 1, block: 1}]", ":5:6: ",
     "no kernel has the argument y"},
    {HEAD TENSORS "kernels: [{name: k, arguments: [x, y], grid: \"n - 10\", block: 1}]",
     ":6:46: ", "must be 1 to"},
    {HEAD TENSORS "kernels: [{name: k, arguments: [x, y], grid: 1, block: [32, 33]}]", ":6:56: ",
     "at most 1024"},
    {HEAD TENSORS "kernels: [{name: k, arguments: [x, y, u8 n * 100], grid: 1, block: 1}]",
     ":6:39: ", "0 to 255"},
    {HEAD TENSORS "kernels: [{name: \"{q}\", arguments: [x, y], grid: 1, block: 1}]", ":6:11: ",
     "no parameter"},
    {GOOD "modes: [stric]", ":8:9: ", "did you mean 'strict'?"},
    {GOOD "suites: {quick: []}", ":8:9: ", "without a row"},
    {GOOD "suites: {quik: [a]}", ":8:10: ", "did you mean 'quick'?"},
    {GOOD "reference: {formula: {z: x}}", ":8:23: ", "no output"},
    {GOOD "reference: {formula: {y: xx}}", ":8:26: ", "'xx'"},
    {GOOD "reference:\n  formula:\n    y[i]: x[i]", ":10:11: ", "2 dimensions"},
    {GOOD "reference: {compute: f33}", ":8:22: ", "compute"},
    {GOOD "reference: {matrix: yes}", ":8:21: ", "true"},
    {GOOD "reference: {files: {y: good.raw}}", ":5:6: ", "limits:"},
    {GOOD "limits: {y: {ulp: 2}}", ":8:13: ", "reason"},
    {GOOD "limits: {y: {reason: so}}", ":8:13: ", "how much"},
    {GOOD "limits: {y: {ulp: -1, reason: so}}", ":8:19: ", "0 or more"},
    {GOOD "limits: {x: {ulp: 1, reason: so}}", ":8:10: ", "no output"},
    {GOOD "options: {cuda: [\"a b\"]}", ":8:18: ", "without blanks"},
    {GOOD "defines: {T: \"a b\"}", ":8:14: ", "without blanks"},
};

START_TEST(what_is_wrong_is_said_with_its_place)
{
    static const char npy[] = "\x93NUMPY\x01\x00\x10\x00{'descr': '<f4'}";
    float zeros[20] = {0};
    char where[64];
    file_set("bad.npy", npy, sizeof npy - 1);
    file_set("good.raw", zeros, sizeof zeros);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct casefiles l = {0};
        struct case_id id;
        e.text[0] = 0;
        ck_assert_msg(open_text(&l, bad[i].text, "", &id), "taken: %s", bad[i].text);
        snprintf(where, sizeof where, "t.case.yaml%s", bad[i].where);
        ck_assert_msg(strstr(e.text, where) && strstr(e.text, bad[i].says),
                      "%s\n  gives: %s\n  wanted: %s %s", bad[i].text, e.text, where,
                      bad[i].says);
        ck_assert(!strchr(e.text, '\n'));
        casefiles_release(&l);
    }
}
END_TEST

/* Sizes that no memory holds are refused before anything is made. */
START_TEST(absurd_sizes)
{
    static const struct {
        const char *shape, *id, *says;
    } rows[] = {
        {"[n, n, n, n]", ":n=2000000000", "more than"},
        {"[n * n * n]", ":n=2147483647", "64 bits"},
        {"[n * n]", ":n=2147483647", "must be 0 to"},
        {"[n - 11]", "", "must be 0 to"},
        {"[n]", ":n=0", "outside"},
        {"[n]", ":n=5,m=4", "m"},
        {"[n]", ":a=1e40", "outside"},
        {"[n]", ":t=f64", "f16"},
        {"[n]", ":mode=fast,dist=normale", "normal"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct casefiles l = {0};
        struct case_id id;
        char text[1024];
        snprintf(text, sizeof text,
                 HEAD "tensors: {y: {role: out, dtype: f32, shape: %s}}\n"
                      "kernels: [{name: k, arguments: [y], grid: 1, block: 1}]\n",
                 rows[i].shape);
        ck_assert_msg(open_text(&l, text, rows[i].id, &id) == ERR_USAGE, "%s%s", rows[i].shape,
                      rows[i].id);
        ck_assert_msg(strstr(e.text, rows[i].says), "%s%s: %s", rows[i].shape, rows[i].id,
                      e.text);
        casefiles_release(&l);
    }
}
END_TEST

/* --- what is right ---------------------------------------------------------------------------
 */

START_TEST(plan_is_what_the_file_says)
{
    struct casefiles l = {0};
    struct case_id id, again;
    struct case_plan p;
    char text[CASEID_TEXT_MAX];
    ck_assert_msg(!open_text(&l, GOOD "modes: [default, strict]\nlimits: {y: {abs: 1, reason: r}}\n",
                             ":n=7,t=f16,a=0.1,seed=3,mode=strict", &id), "%s", e.text);
    ck_assert(!id.family->plan(&id, &p, &e));
    ck_assert_int_eq(p.n_tensor, 2);
    ck_assert_str_eq(p.tensor[0].name, "x");
    ck_assert(p.tensor[0].role == TENSOR_IN && p.tensor[1].role == TENSOR_OUT);
    ck_assert(p.tensor[0].dtype == DTYPE_F16 && p.tensor[1].dtype == DTYPE_F32);
    ck_assert(p.tensor[1].rank == 2 && p.tensor[1].dim[0] == 7 && p.tensor[1].dim[1] == 2);
    ck_assert(p.tensor[1].limit && p.tensor[1].limit->abs == 1);
    ck_assert_int_eq(p.n_launch, 1);
    const struct case_launch *k = &p.launch[0];
    ck_assert_str_eq(k->entry, "k_f16");
    ck_assert(k->grid[0] == 7 && k->grid[1] == 1 && k->block[0] == 32 && k->n_arg == 4);
    ck_assert(k->arg[0].kind == CASE_ARG_TENSOR && k->arg[1].tensor == 1);
    ck_assert(k->arg[2].kind == CASE_ARG_BITS && k->arg[2].bytes == 4 && k->arg[2].bits == 7);
    ck_assert_uint_eq(k->arg[3].bits, 0x3dcccccd); /* 0.1f */
    caseid_print(&id, text);
    ck_assert_ptr_nonnull(strstr(text, "t.case.yaml:n=7,a=0.1,t=f16,dist=normal,seed=3,mode=strict"));
    ck_assert(!casefiles_parse_id(&l, text, &again, &e));
    ck_assert(!memcmp(&id, &again, sizeof id));
    ck_assert(open_text(&l, GOOD, ":mode=fast", &id) == ERR_USAGE); /* read once: modes hold */
    casefiles_release(&l);
}
END_TEST

/* Input bits depend on the name, not on where the file lies; a file's numbers come as they are. */
START_TEST(inputs)
{
    static const char npy[] = "\x93NUMPY\x01\x00\x46\x00{'descr': '<f4', 'fortran_order': False, "
                              "'shape': (2,), }            \n";
    float x[] = {1.5f, -2};
    char bytes[256];
    memcpy(bytes, npy, sizeof npy - 1);
    memcpy(bytes + sizeof npy - 1, x, sizeof x);
    file_set("x.npy", bytes, sizeof npy - 1 + sizeof x);
    struct casefiles l = {0};
    struct case_id id;
    struct case_plan p;
    struct tensor t;
    ck_assert_msg(!open_text(&l,
                             "source: k.cu\ntensors:\n"
                             "  x: {role: in, dtype: f32, shape: [2], file: x.npy}\n"
                             "  y: {role: out, dtype: f32, shape: [2]}\n"
                             "kernels: [{name: k, arguments: [x, y], grid: 1, block: 1}]\n",
                             "", &id), "%s", e.text);
    ck_assert(!id.family->plan(&id, &p, &e));
    ck_assert(!case_input(&id, &p, 0, &t, &e));
    ck_assert(!memcmp(t.data, x, sizeof x));
    tensor_release(&t);
    casefiles_release(&l);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("casefile");
    TCase *c = tcase_create("casefile");
    suite_add_tcase(s, c);
    tcase_add_unchecked_fixture(c, setup, teardown);
    tcase_add_test(c, what_is_wrong_is_said_with_its_place);
    tcase_add_test(c, absurd_sizes);
    tcase_add_test(c, plan_is_what_the_file_says);
    tcase_add_test(c, inputs);
    return suite_run(s);
}
