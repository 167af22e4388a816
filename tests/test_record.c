/* SPDX-License-Identifier: Apache-2.0 */
#include <hdf5.h>
#include <math.h>

#include "recordsample.h"
#include "suite.h"

static struct record *make(const char *path, int *ret_run)
{
    struct record *r;
    struct record_run run = sample_run("cuda-sim");
    OK(record_create(path, false, false, &r, &sample_error));
    OK(record_add_run(r, &run, ret_run, &sample_error));
    return r;
}

static struct record *finish_and_open(struct record *r, const char *path)
{
    OK(record_finish(r, &sample_error));
    record_close(r);
    ck_assert(!sample_exists("r.h5.partial"));
    OK(record_open(path, &r, &sample_error));
    return r;
}

START_TEST(test_round_trip)
{
    sample_write("r.h5", 2, 12);
    ck_assert(!sample_exists("r.h5.partial"));
    sample_check("r.h5", 2, 12);
}
END_TEST

/* A value of its own in every field, the longest texts among them. */
static void fill_fields(const struct record_field *fields, void *owner)
{
    int n = 1;
    for (const struct record_field *f = fields; f->name; f++, n++) {
        char *at = (char *)owner + f->offset;
        switch (f->kind) {
        case RECORD_FIELD_TEXT:
            memset(at, 'a' + n, f->size - 1);
            memcpy(at, "\xe2\x82\xac", 3);
            break;
        case RECORD_FIELD_BOOL:
            *(bool *)at = true;
            break;
        case RECORD_FIELD_INT:
            *(int *)at = INT_MIN + n;
            break;
        case RECORD_FIELD_LONG:
            *(int64_t *)at = INT64_MIN + n;
            break;
        case RECORD_FIELD_COUNT:
            *(uint64_t *)at = UINT64_MAX - (uint64_t)n;
            break;
        case RECORD_FIELD_REAL:
            *(double *)at = 0x1.123456789abcdp-30 * n;
            break;
        case RECORD_FIELD_STATUS:
            *(enum record_status *)at = RECORD_TIMED_OUT;
            break;
        }
    }
}

static void compare_fields(const struct record_field *fields, const void *a, const void *b)
{
    for (const struct record_field *f = fields; f->name; f++) {
        const char *x = (const char *)a + f->offset, *y = (const char *)b + f->offset;
        ck_assert_msg(!memcmp(x, y, f->size), "%s came back changed", f->name);
    }
}

START_TEST(test_every_field)
{
    int index;
    struct record *r;
    struct record_case c = {.repeats = 0}, back;
    struct record_run run = {.n_env = RECORD_ENV_MAX};
    fill_fields(record_case_fields, &c);
    fill_fields(record_run_fields, &run);
    for (int i = 0; i < RECORD_ENV_MAX; i++) {
        snprintf(run.env[i].name, sizeof run.env[i].name, "V%02d", i);
        memset(run.env[i].value, 'v', (size_t)i * 3);
    }
    OK(record_create("r.h5", false, false, &r, &sample_error));
    OK(record_add_run(r, &run, &index, &sample_error));
    OK(record_put_case(r, index, 7, &c, 0, NULL, NULL, &sample_error));
    r = finish_and_open(r, "r.h5");
    OK(record_read_case(r, 0, 0, &back, &sample_error));
    compare_fields(record_case_fields, &c, &back);
    compare_fields(record_run_fields, &run, record_run_at(r, 0));
    ck_assert_int_eq(record_run_at(r, 0)->n_env, RECORD_ENV_MAX);
    ck_assert(!memcmp(run.env, record_run_at(r, 0)->env, sizeof run.env));
    record_close(r);
}
END_TEST

/* Every format, with every byte value in it; ranks 0 to 6; empty. */
START_TEST(test_tensors)
{
    static const int64_t shapes[][TENSOR_RANK_MAX] = {
        {0}, {256}, {2, 128}, {4, 0, 9}, {4, 2, 8, 4}, {2, 2, 2, 2, 16}, {2, 2, 2, 2, 2, 8},
        {0}};
    static const int ranks[] = {0, 1, 2, 3, 4, 5, 6, 1};
    enum { SHAPES = sizeof ranks / sizeof *ranks };
    int run, n_out;
    struct record *r = make("r.h5", &run);
    struct record_out in[SHAPES], out[RECORD_OUT_MAX];
    struct record_case c = sample_case(_i);
    for (int s = 0; s < SHAPES; s++) {
        in[s] = (struct record_out){.role = "inout"};
        snprintf(in[s].name, sizeof in[s].name, "t%d", s);
        OK(tensor_init(&in[s].tensor, (enum dtype)_i, ranks[s], shapes[s], &sample_error));
        for (size_t b = 0; b < tensor_bytes(&in[s].tensor); b++)
            ((unsigned char *)in[s].tensor.data)[b] = (unsigned char)(b * 167 + 13);
    }
    OK(record_put_case(r, run, 0, &c, SHAPES, in, NULL, &sample_error));
    r = finish_and_open(r, "r.h5");
    OK(record_read_outs(r, 0, 0, &n_out, out, &sample_error));
    ck_assert_int_eq(n_out, SHAPES);
    for (int s = 0; s < SHAPES; s++) {
        struct tensor *a = &in[s].tensor, *b = &out[s].tensor;
        ck_assert_str_eq(out[s].name, in[s].name);
        ck_assert_str_eq(out[s].role, "inout");
        ck_assert(b->dtype == a->dtype && b->rank == a->rank && b->count == a->count);
        ck_assert(!memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim));
        ck_assert(!memcmp(a->data, b->data, tensor_bytes(a)));
        tensor_release(a);
        tensor_release(b);
    }
    record_close(r);
}
END_TEST

START_TEST(test_code)
{
    int run;
    size_t size;
    void *bytes;
    char *log, *long_log = malloc(200001);
    struct record *r = make("r.h5", &run);
    struct record_case c = sample_case(0);
    memset(long_log, 'x', 200000);
    memcpy(long_log, "\xff\xc0\x80 bad \x1b[31m", 13);
    long_log[200000] = 0;
    struct record_code code = {"\0\1\2\3", 4, long_log};
    OK(record_put_case(r, run, 0, &c, 0, NULL, &code, &sample_error));
    c = sample_case(1);
    OK(record_put_case(r, run, 1, &c, 0, NULL, NULL, &sample_error));
    r = finish_and_open(r, "r.h5");
    OK(record_read_code(r, 0, 0, &bytes, &size, &log, &sample_error));
    ck_assert(size == 4 && !memcmp(bytes, "\0\1\2\3", 4));
    ck_assert_uint_eq(strlen(log), 200000);
    ck_assert(!memcmp(log, "??? bad ?[31mx", 14));
    free(bytes);
    free(log);
    OK(record_read_code(r, 0, 1, &bytes, &size, &log, &sample_error));
    ck_assert(size == 0 && !*log);
    free(bytes);
    free(log);
    free(long_log);
    record_close(r);
}
END_TEST

/* Order is the ordinals', not that of arrival; a case put twice is there once. */
START_TEST(test_order)
{
    int run;
    static const int64_t order[] = {5, 3, 11, 0, 1, 2, 10, 3, 4};
    static const int64_t sorted[] = {0, 1, 2, 3, 4, 5, 10, 11};
    struct record *r = make("r.h5", &run);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        OK(sample_put(r, run, order[i]));
    struct record_case c = sample_case(5);
    ck_assert(record_has_case(r, run, &c));
    strcpy(c.source_digest, "another");
    ck_assert(record_has_id(r, run, c.id) && !record_has_case(r, run, &c));
    ck_assert(!record_has_id(r, run, "gemm/none:m=1"));
    r = finish_and_open(r, "r.h5");
    ck_assert_int_eq(record_case_count(r, 0), 8);
    for (int64_t i = 0; i < 8; i++)
        sample_check_case(r, 0, i, sorted[i]);
    ck_assert_int_eq(record_find_case(r, 0, c.id), 5);
    ck_assert_int_eq(record_find_case(r, 0, "gemm/none:m=1"), -1);
    record_close(r);
}
END_TEST

START_TEST(test_refusals)
{
    int run;
    struct record *r = make("r.h5", &run);
    struct record_case c = sample_case(0);
    struct record_out o[2] = {sample_out(1), sample_out(1)};
    FAILS(ERR_USAGE, "two outputs", record_put_case(r, run, 0, &c, 2, o, NULL, &sample_error));
    FAILS(ERR_USAGE, "no run 4", record_put_case(r, 4, 0, &c, 0, o, NULL, &sample_error));
    snprintf(o[0].name, sizeof o[0].name, "a/b");
    FAILS(ERR_USAGE, "name", record_put_case(r, run, 0, &c, 1, o, NULL, &sample_error));
    snprintf(o[1].role, sizeof o[1].role, "in");
    FAILS(ERR_USAGE, "role", record_put_case(r, run, 0, &c, 1, o + 1, NULL, &sample_error));
    FAILS(ERR_USAGE, "ordinal", record_put_case(r, run, -1, &c, 0, o, NULL, &sample_error));
    *c.id = 0;
    FAILS(ERR_USAGE, "id", record_put_case(r, run, 0, &c, 0, o, NULL, &sample_error));
    tensor_release(&o[0].tensor);
    tensor_release(&o[1].tensor);
    OK(record_finish(r, &sample_error));
    FAILS(ERR_USAGE, "not being written", record_finish(r, &sample_error));
    record_close(r);
    FAILS(ERR_USAGE, "--replace", record_create("r.h5", false, false, &r, &sample_error));
    OK(record_open("r.h5", &r, &sample_error));
    FAILS(ERR_USAGE, "no case 0 in run 0", record_read_case(r, 0, 0, &c, &sample_error));
    FAILS(ERR_USAGE, "not being written", record_finish(r, &sample_error));
    record_close(r);
}
END_TEST

/* HDF5's own conversion to double is the second opinion on what the types mean. */
static void check_values(const char *name, const double *wanted, int n)
{
    double got[8];
    char path[64];
    hid_t file = H5Fopen("r.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    snprintf(path, sizeof path, "run/0/case/0/out/%s", name);
    hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
    ck_assert(dataset >= 0);
    ck_assert(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) >= 0);
    for (int i = 0; i < n; i++)
        ck_assert_msg(got[i] == wanted[i], "%s[%d] is %a, not %a", name, i, got[i], wanted[i]);
    H5Dclose(dataset);
    H5Fclose(file);
}

static struct record_out short_out(const char *name, enum dtype d, const uint64_t *bits)
{
    struct record_out o = {.role = "out"};
    snprintf(o.name, sizeof o.name, "%s", name);
    OK(tensor_init(&o.tensor, d, 1, (int64_t[]){6}, &sample_error));
    for (int i = 0; i < 6; i++)
        tensor_set_bits(&o.tensor, i, bits[i]);
    return o;
}

/* 1, the smallest subnormal, the smallest normal, the largest, -2 and -Inf of each format. */
static void write_floats(void)
{
    int run;
    struct record *r = make("r.h5", &run);
    struct record_case c = sample_case(0);
    struct record_out o[] = {
        short_out("f16", DTYPE_F16, (uint64_t[]){0x3c00, 1, 0x400, 0x7bff, 0xc000, 0xfc00}),
        short_out("bf16", DTYPE_BF16, (uint64_t[]){0x3f80, 1, 0x80, 0x7f7f, 0xc000, 0xff80}),
        short_out("e5m2", DTYPE_E5M2, (uint64_t[]){0x3c, 1, 4, 0x7b, 0xc0, 0xfc}),
        short_out("i8", DTYPE_I8, (uint64_t[]){1, 127, 128, 255, 0, 254}),
        short_out("e4m3", DTYPE_E4M3, (uint64_t[]){0x38, 1, 8, 0x7e, 0xc0, 0xff}),
    };
    OK(record_put_case(r, run, 0, &c, 5, o, NULL, &sample_error));
    for (int i = 0; i < 5; i++)
        tensor_release(&o[i].tensor);
    OK(record_finish(r, &sample_error));
    record_close(r);
}

START_TEST(test_types)
{
    write_floats();
    check_values("f16", (double[]){1, 0x1p-24, 0x1p-14, 65504, -2, -INFINITY}, 6);
    check_values("bf16", (double[]){1, 0x1p-133, 0x1p-126, 0x1.fep127, -2, -INFINITY}, 6);
    check_values("e5m2", (double[]){1, 0x1p-16, 0x1p-14, 57344, -2, -INFINITY}, 6);
    check_values("i8", (double[]){1, 127, -128, -1, 0, -2}, 6);
    check_values("e4m3", (double[]){0x38, 1, 8, 0x7e, 0xc0, 0xff}, 6);
}
END_TEST

/* True when `command` works here; else a reason is printed and the test ends as passed. */
static bool tool_works(const char *command, const char *what)
{
    char line[256];
    snprintf(line, sizeof line, "%s >/dev/null 2>&1", command);
    if (system(line) == 0)
        return true;
    printf("skipped: %s is not here\n", what);
    return false;
}

static void run_and_expect(const char *command, const char *const *words)
{
    static char output[1 << 16];
    FILE *p = popen(command, "r");
    size_t n = fread(output, 1, sizeof output - 1, p);
    output[n] = 0;
    ck_assert_msg(pclose(p) == 0, "%s failed: %s", command, output);
    for (; *words; words++)
        ck_assert_msg(strstr(output, *words), "no '%s' in: %s", *words, output);
}

START_TEST(test_h5dump)
{
    if (!tool_works("h5dump --version", "h5dump"))
        return;
    write_floats();
    run_and_expect("h5dump -d /run/0/case/0/out/f16 r.h5",
                   (const char *const[]){"5.96046e-08", "65504, -2, -inf", "\"f16\"", NULL});
    /* h5dump of HDF5 1.14.4 and later puts every 16-bit float through half precision, so the
     * largest bf16 comes out as inf there. */
    run_and_expect("h5dump -d /run/0/case/0/out/bf16 r.h5",
                   (const char *const[]){"(0): 1, ", ", -2, -inf", "\"bf16\"", NULL});
    run_and_expect("h5dump -d /run/0/case/0/out/e5m2 r.h5",
                   (const char *const[]){"57344, -2, -inf", NULL});
    run_and_expect("h5dump -a /run/0/case/0/id r.h5",
                   (const char *const[]){"gemm/tiled:dtype=f32,m=0,seed=1", NULL});
}
END_TEST

START_TEST(test_h5py)
{
    const char *python = getenv("GPUPARITY_PYTHON") ? getenv("GPUPARITY_PYTHON") : "python3";
    char command[1024], probe[256];
    snprintf(probe, sizeof probe, "%s -c 'import h5py'", python);
    if (!tool_works(probe, "python3 with h5py (GPUPARITY_PYTHON names another python)"))
        return;
    write_floats();
    snprintf(command, sizeof command,
             "%s -c \"\n"
             "import h5py\n"
             "c = h5py.File('r.h5')['run/0/case/0']\n"
             "print(c.attrs['id'].decode(), c.attrs['repeats'])\n"
             "for n in 'f16', 'bf16', 'e5m2', 'e4m3':\n"
             "    d = c['out'][n]\n"
             "    print(n, d.dtype, [float(x) for x in d], d.attrs['dtype'].decode())\n"
             "\"",
             python);
    run_and_expect(command,
                   (const char *const[]){
                       "gemm/tiled:dtype=f32,m=0,seed=1 3",
                       "f16 float16 [1.0, 5.960464477539063e-08, 6.103515625e-05, 65504.0, "
                       "-2.0, -inf] f16",
                       "1.1754943508222875e-38, 3.3895313892515355e+38, -2.0, -inf] bf16",
                       "[1.0, 1.52587890625e-05, 6.103515625e-05, 57344.0, -2.0, -inf] e5m2",
                       "e4m3 uint8 [56.0, 1.0, 8.0, 126.0, 192.0, 255.0] e4m3", NULL});
}
END_TEST

int main(void)
{
    Suite *s = suite_create("record");
    TCase *t = tcase_create("record");
    tcase_add_checked_fixture(t, sample_enter, sample_leave);
    tcase_add_test(t, test_round_trip);
    tcase_add_test(t, test_every_field);
    tcase_add_loop_test(t, test_tensors, 0, DTYPE_COUNT_);
    tcase_add_test(t, test_code);
    tcase_add_test(t, test_order);
    tcase_add_test(t, test_refusals);
    tcase_add_test(t, test_types);
    tcase_add_test(t, test_h5dump);
    tcase_add_test(t, test_h5py);
    suite_add_tcase(s, t);
    return suite_run(s);
}
