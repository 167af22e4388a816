/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "casefile.h"
#include "config.h"

/* Case files: what they say is what is planned; what is wrong with them is one line with its
 * place; and the whole pipeline on the binaries of docs/kernels, which needs no compiler. */

static char folder[] = "/tmp/gpuparity-casefile-XXXXXX";
static struct errinfo e;

static void file_set(const char *name, const void *bytes, size_t size)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, size, f), size);
    ck_assert_int_eq(fclose(f), 0);
}

static void text_set(const char *name, const char *text)
{
    file_set(name, text, strlen(text));
}

static void setup(void)
{
    char command[1024];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(command, sizeof command, "cp %s/docs/kernels/saxpy.* %s", GPUPARITY_SOURCE_DIR, folder);
    ck_assert_int_eq(system(command), 0);
    snprintf(command, sizeof command,
             "sed 's/^source:.*/binary: {cuda: saxpy.ptx, hip: saxpy.hsaco}/' %s/saxpy.case.yaml "
             "> %s/bin.case.yaml",
             folder, folder);
    ck_assert_int_eq(system(command), 0);
    text_set("k.cu", "");
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

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

/* --- the pipeline ----------------------------------------------------------------------------
 */

static int shell(const char *command)
{
    char line[4096];
    snprintf(line, sizeof line, "cd %s && PATH=%s:$PATH && %s", folder,
             getenv("GPUPARITY_SIM_DIR"), command);
    int status = system(line);
    ck_assert_msg(WIFEXITED(status), "%s died by a signal", command);
    return WEXITSTATUS(status);
}

/* Runs the command; its whole output must hold the words, which "|" separates. */
static void expect(const char *command, int status, const char *words)
{
    char line[2048], text[65536], word[200];
    snprintf(line, sizeof line, "(%s) >out 2>&1", command);
    int got = shell(line);
    snprintf(line, sizeof line, "%s/out", folder);
    FILE *f = fopen(line, "r");
    ck_assert_ptr_nonnull(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    ck_assert_msg(got == status, "%s: exit status %d\n%s", command, got, text);
    for (const char *at = words; *at; at += strcspn(at, "|") + (at[strcspn(at, "|")] == '|')) {
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, "|"), at);
        ck_assert_msg(strstr(text, word), "%s: no '%s' in\n%s", command, word, text);
    }
}

START_TEST(two_kernels_on_both_sides)
{
    expect("gpuparity list bin.case.yaml", 0, "bin.case.yaml:n=1,alpha=0.7,dist=normal,seed=1|n=1000");
    expect("gpuparity check ./bin.case.yaml -o both.h5 -q", 0, "3 SAME");
    expect("gpuparity report both.h5 --format csv", 0, "bin.case.yaml:n=255");
    expect("gpuparity verify bin.case.yaml:n=77,alpha=3 --on hip-sim", 0, "1 case");
    expect("gpuparity check 'bin.case.yaml:n={3|4}' -q", 0, "2 SAME");
    expect("gpuparity check 'bin.case.yaml:-*n=1,*' -q", 0, "2 SAME");
    expect("gpuparity explain bin.case.yaml:n=5", 0, "nothing to explain");
    expect("gpuparity check bin.case.yaml,n=3", 2, "comes ':'");
    expect("gpuparity check bin.yaml", 2, "ends in .case.yaml");
    expect("gpuparity check 'b*.case.yaml'", 2, "cannot hold '*'");
}
END_TEST

/* Two halves of the work, put together; and two machines. */
START_TEST(shards_records_and_versions)
{
    expect("gpuparity run bin.case.yaml --on cuda-sim -o a1.h5 --shard 1/2 && "
           "gpuparity run bin.case.yaml --on cuda-sim -o a2.h5 --shard 2/2 && "
           "gpuparity merge a1.h5 a2.h5 -o a.h5 && gpuparity run bin.case.yaml --on hip-sim -o b.h5",
           0, "3 ok");
    expect("gpuparity compare a.h5 b.h5", 0, "3 SAME");
    expect("cd / && gpuparity compare $OLDPWD/a.h5 $OLDPWD/b.h5", 2, "must be where this command runs");
    /* Another version of the file: refused, and run again on resume. */
    expect("cp bin.case.yaml kept && echo '# changed' >>bin.case.yaml; gpuparity compare a.h5 b.h5",
           2, "has changed since");
    expect("gpuparity run bin.case.yaml --on hip-sim -o b.h5 --resume", 0, "3 ok");
    expect("gpuparity compare a.h5 b.h5", 2, "different versions of bin.case.yaml");
    expect("mv kept bin.case.yaml; gpuparity run bin.case.yaml --on hip-sim -o b.h5 --resume && "
           "gpuparity compare a.h5 b.h5", 0, "3 SAME");
}
END_TEST

/* The code says what it is; a case file that says otherwise is refused before anything runs. */
START_TEST(code_is_checked_against_the_case)
{
    static const struct {
        const char *change, *says;
    } rows[] = {
        {"s/saxpy.ptx/saxpy.hsaco/", "no cubin"},
        {"s/saxpy.hsaco/saxpy.ptx/", "neither"},
        {"s/saxpy.ptx/none.ptx/", "cannot read none.ptx"},
        {"s/saxpy.hsaco/empty/", "is empty"},
        {"s/, hip: saxpy.hsaco//", "nothing for hip"},
        {"s/^binary.*/source: none.cu/", "cannot read none.cu"},
        {"s/^binary.*/source: \\/etc/", "no regular file"},
        {"s/i32 n, f32 alpha/i32 n/", "takes 4 arguments, the case file gives 3"},
        {"s/i32 n, f32/i64 n, f32/", "argument 1 of saxpy has 4 bytes, 'i64 n' of the case file has 8"},
        {"s/f32 alpha, x, y/x, f32 alpha, y/", "argument 2 of saxpy has 4 bytes, 'x'"},
        {"s/name: square/name: sqare/", "it has: saxpy, square"},
        {"s/block: 256/block: 2048/", "must be 1 to 1024"},
        {"s/saxpy.ptx/sm_90.ptx/", "the code is for sm_90, this device is sm_86"},
        {"s/saxpy.hsaco/gfx90a.hsaco/", "the code is for gfx90a, this device is gfx1100"},
    };
    char command[512];
    ck_assert_int_eq(shell(": >empty; sed 's/target sm_86/target sm_90/' saxpy.ptx >sm_90.ptx; "
                           "cp saxpy.hsaco gfx90a.hsaco; printf '\\077' | "
                           "dd of=gfx90a.hsaco bs=1 seek=48 conv=notrunc 2>dd"), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(command, sizeof command,
                 "sed '%s' bin.case.yaml >c.case.yaml; gpuparity check c.case.yaml", rows[i].change);
        expect(command, 2, rows[i].says);
    }
}
END_TEST

/* A sign that the compiler of one side got wrong, planted into the PTX. */
START_TEST(planted_fault_is_named)
{
    expect("sed 's/mul.f32/add.f32/' saxpy.ptx >bad.ptx && ! cmp -s bad.ptx saxpy.ptx && "
           "sed 's/saxpy.ptx/bad.ptx/' bin.case.yaml >c.case.yaml && "
           "gpuparity check c.case.yaml:n=1000", 1, "1 A_WRONG|of z are outside the bound");
    /* Nobody judges: the sides differ, and no one is accused. Then within limits, too. */
    expect("sed '/^reference/,/^suites/{/^suites/!d}' c.case.yaml >d.case.yaml; "
           "gpuparity check d.case.yaml:n=1000", 1, "1 DIFFERENT|elements of z differ");
    expect("echo 'limits: {z: {abs: 100, reason: test}}' >>d.case.yaml; "
           "gpuparity check d.case.yaml:n=1000", 0, "1 WITHIN_LIMITS");
    expect("sed -i 's/abs: 100/abs: 1e-6/' d.case.yaml; gpuparity check d.case.yaml:n=1000", 1,
           "1 DIFFERENT|beyond the limits");
    expect("gpuparity verify d.case.yaml:n=1000 --on hip-sim", 1, "has no reference");
}
END_TEST

/* Another kernel as the judge: here y of the same module, which z must be the square of. */
START_TEST(kernel_and_file_as_judges)
{
    static const char head[] =
        "binary: {cuda: saxpy.ptx, hip: saxpy.hsaco}\n"
        "parameters: {n: 100}\n"
        "tensors:\n"
        "  y: {role: in, dtype: f32, shape: [n]%s}\n"
        "  z: {role: out, dtype: f32, shape: [n]}\n";
    static const char kernel[] =
        "kernels:\n"
        "  - {name: square, arguments: [i32 n, y, z], grid: 1, block: 128}\n"
        "limits: {z: {ulp: 0.5, reason: one product rounded once}}\n";
    char text[2048];
    snprintf(text, sizeof text, head, "");
    strcat(text, "  w: {role: reference, dtype: f32, shape: [n], of: z}\n"
                 "reference: {kernels: [{name: square, arguments: [i32 n, y, w], grid: 1, block: 128}]}\n");
    strcat(text, kernel);
    text_set("j.case.yaml", text);
    expect("gpuparity check j.case.yaml", 0, "1 SAME");
    /* A judge that leaves something out is none. */
    expect("sed -i 's/\\[i32 n, y, w\\]/[i32 n - 1, y, w]/' j.case.yaml; gpuparity check j.case.yaml", 2,
           "never wrote 1 of 100 elements of w");
    float y[100], z[100];
    for (int i = 0; i < 100; i++) {
        y[i] = (float)i / 7;
        z[i] = y[i] * y[i];
    }
    file_set("y.raw", y, sizeof y);
    file_set("z.raw", z, sizeof z);
    snprintf(text, sizeof text, head, ", file: y.raw");
    strcat(text, "reference: {files: {z: z.raw}}\n");
    strcat(text, kernel);
    text_set("f.case.yaml", text);
    expect("gpuparity check f.case.yaml", 0, "1 SAME");
    z[50] *= 1.001f;
    file_set("z.raw", z, sizeof z);
    expect("gpuparity check f.case.yaml", 1, "1 BOTH_WRONG|z[50]");
    expect("gpuparity check f.case.yaml:n=99", 2, "has 400 bytes, y needs 396");
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
    tcase_add_test(c, two_kernels_on_both_sides);
    tcase_add_test(c, shards_records_and_versions);
    tcase_add_test(c, code_is_checked_against_the_case);
    tcase_add_test(c, planted_fault_is_named);
    tcase_add_test(c, kernel_and_file_as_judges);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
