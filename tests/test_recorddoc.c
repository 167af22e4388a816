/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"
#include "recordsample.h"
#include "suite.h"

/* docs/record.md says what the code does: its tables are record.def and dtype.def, and its
 * examples run. */

static char *doc;

static void enter(void)
{
    size_t size;
    unsigned char *bytes = sample_load(GPUPARITY_SOURCE_DIR "/docs/record.md", &size);
    doc = calloc(1, size + 1);
    memcpy(doc, bytes, size);
    free(bytes);
    sample_enter();
    sample_write("r.h5", 2, 3);
}

static void leave(void)
{
    sample_leave();
    free(doc);
}

static int rows_between(const char *start, const char *end)
{
    const char *at = strstr(doc, start), *stop = strstr(doc, end);
    int rows = 0;
    ck_assert_msg(at && stop, "no section %s", start);
    for (; at && at < stop; at = strstr(at + 1, "\n| `"))
        rows++;
    return rows - 1;
}

static int check_rows(const struct record_field *fields)
{
    static const char *const kinds[] = {
        [RECORD_FIELD_TEXT] = "text",   [RECORD_FIELD_BOOL] = "0 or 1",
        [RECORD_FIELD_INT] = "integer", [RECORD_FIELD_LONG] = "integer",
        [RECORD_FIELD_COUNT] = "count", [RECORD_FIELD_REAL] = "real",
        [RECORD_FIELD_STATUS] = "word",
    };
    int count = 0;
    for (const struct record_field *f = fields; f->name; f++, count++) {
        char row[256];
        snprintf(row, sizeof row, "\n| `%s` | %s | %s |\n", f->name, kinds[f->kind],
                 f->summary);
        ck_assert_msg(strstr(doc, row), "docs/record.md lacks: %s", row + 1);
    }
    return count;
}

START_TEST(test_attributes)
{
    int runs = check_rows(record_run_fields), cases = check_rows(record_case_fields);
    ck_assert_int_eq(rows_between("### Attributes of a run", "### Attributes of a case"), runs);
    ck_assert_int_eq(rows_between("### Attributes of a case", "### Formats"), cases);
}
END_TEST

START_TEST(test_words)
{
    char word[32];
    for (int d = 0; d < DTYPE_COUNT_; d++) {
        snprintf(word, sizeof word, "`%s`", dtype_info((enum dtype)d)->name);
        ck_assert_msg(strstr(doc, word), "docs/record.md lacks %s", word);
    }
    for (int s = 0; s < RECORD_STATUS_COUNT_; s++)
        ck_assert(strstr(doc, record_status_name((enum record_status)s)));
    snprintf(word, sizeof word, "schema (%d)", RECORD_SCHEMA);
    ck_assert(strstr(doc, word));
}
END_TEST

static void extract(const char *fence, const char *path)
{
    const char *start = strstr(doc, fence);
    ck_assert_msg(start, "no example %s", fence);
    start += strlen(fence);
    const char *end = strstr(start, "\n```");
    ck_assert(end != NULL);
    sample_store(path, start, (size_t)(end - start) + 1);
}

static bool works(const char *command, const char *what)
{
    char line[512];
    snprintf(line, sizeof line, "(%s) >/dev/null 2>&1", command);
    if (system(line) == 0)
        return true;
    printf("skipped: %s is not here\n", what);
    return false;
}

static void expect(const char *command, const char *wanted)
{
    static char output[1 << 14];
    FILE *p = popen(command, "r");
    output[fread(output, 1, sizeof output - 1, p)] = 0;
    ck_assert_msg(pclose(p) == 0, "%s: %s", command, output);
    ck_assert_msg(strstr(output, wanted), "no '%s' in: %s", wanted, output);
}

START_TEST(test_python)
{
    const char *python = getenv("GPUPARITY_PYTHON") ? getenv("GPUPARITY_PYTHON") : "python3";
    char command[512];
    snprintf(command, sizeof command, "%s -c 'import h5py'", python);
    if (!works(command, "python3 with h5py (GPUPARITY_PYTHON names another python)"))
        return;
    extract("```python\n", "example.py");
    snprintf(command, sizeof command, "%s example.py", python);
    expect(command, "hip-sim simulated\ngemm/tiled:dtype=f32,m=0,seed=1 ok\nc f32 (0, 3) []\n"
                    "gemm/tiled:dtype=f32,m=1,seed=1 ok\nc f32 (1, 3) [-3.5973645e+08");
}
END_TEST

START_TEST(test_c)
{
    if (!works("cc --version && pkg-config --exists hdf5", "cc or pkg-config with hdf5"))
        return;
    extract("```c\n", "read.c");
    expect("cc read.c -o read $(pkg-config --cflags --libs hdf5) && ./read", "-359736448\n");
}
END_TEST

START_TEST(test_tools)
{
    if (!works("h5ls --version && h5dump --version && h5repack --version", "hdf5-tools"))
        return;
    expect("h5ls -r r.h5", "/run/1/case/2/out/c      Dataset {2, 3}");
    expect("h5dump -d /run/0/case/1/out/c r.h5", "-3.59736e+08, 5.48879e+26, 7.43825e-33");
    /* The other way round: a compressed copy is refused, and made a record again. h5repack
     * cannot compress empty tensors. */
    struct record *r;
    int run;
    struct record_run head = sample_run("cuda-sim");
    OK(record_create("s.h5", false, false, &r, &sample_error));
    OK(record_add_run(r, &head, &run, &sample_error));
    for (int64_t n = 2; n < 5; n += 2)
        OK(sample_put(r, run, n));
    OK(record_finish(r, &sample_error));
    record_close(r);
    ck_assert(
        system("h5repack -f GZIP=3 s.h5 z.h5 && h5repack -f NONE -l CONTI z.h5 back.h5") == 0);
    FAILS(ERR_FORMAT, "compressed or filtered", record_open("z.h5", &r, &sample_error));
    OK(record_open("back.h5", &r, &sample_error));
    sample_check_case(r, 0, 0, 2);
    sample_check_case(r, 0, 1, 4);
    record_close(r);
}
END_TEST

enum { PATTERNS = 8 };

static uint64_t pattern(enum dtype d, int k)
{
    int width = 8 * dtype_info(d)->bytes;
    uint64_t all = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1,
             bits = all / 7 * (uint64_t)k;
    return d == DTYPE_TF32 ? bits & ~UINT64_C(0x1fff) : bits;
}

/* A case a format, its elements spread over all bit patterns; expected: a line an element. */
static void write_formats(void)
{
    struct record *r;
    struct record_run head = sample_run("cuda-sim");
    int run;
    FILE *lines = fopen("expected", "w");
    OK(record_create("all.h5", false, true, &r, &sample_error));
    OK(record_add_run(r, &head, &run, &sample_error));
    for (int d = 0; d < DTYPE_COUNT_; d++) {
        struct record_out o = {.name = "c", .role = "out"};
        struct record_case c = sample_case(d);
        OK(tensor_init(&o.tensor, (enum dtype)d, 1, (int64_t[]){PATTERNS}, &sample_error));
        for (int k = 0; k < PATTERNS; k++) {
            tensor_set_bits(&o.tensor, k, pattern((enum dtype)d, k));
            fprintf(lines, "%d %s %" PRIu64 " %a\n", d, dtype_info((enum dtype)d)->name,
                    pattern((enum dtype)d, k),
                    dtype_value((enum dtype)d, pattern((enum dtype)d, k)));
        }
        OK(record_put_case(r, run, d, &c, 1, &o, NULL, &sample_error));
        tensor_release(&o.tensor);
    }
    OK(record_finish(r, &sample_error));
    record_close(r);
    ck_assert_int_eq(fclose(lines), 0);
}

/* Numbers are numbers and codes are bits, of every format there is. */
START_TEST(test_h5py_formats)
{
    const char *python = getenv("GPUPARITY_PYTHON") ? getenv("GPUPARITY_PYTHON") : "python3";
    char command[2048], probe[256];
    snprintf(probe, sizeof probe, "%s -c 'import h5py'", python);
    if (!works(probe, "python3 with h5py (GPUPARITY_PYTHON names another python)"))
        return;
    write_formats();
    snprintf(command, sizeof command,
             "%s -c \"\n"
             "import h5py\n"
             "f, n = h5py.File('all.h5'), 0\n"
             "for i, line in enumerate(open('expected')):\n"
             "    case, name, bits, value = line.split()\n"
             "    d = f['run/0/case/%%s/out/c' %% case]\n"
             "    assert d.attrs['dtype'].decode() == name, name\n"
             "    x, value = d[i %% 8], float.fromhex(value)\n"
             "    raw = name in ('tf32', 'e4m3', 'e4m3fnuz', 'e5m2fnuz', 'code8', 'nf4x2', "
             "'fp4x2')\n"
             "    whole = name[0] in 'iu'\n"
             "    if raw: good = int(x) == int(bits)\n"
             "    elif whole: good = int(x) %% 2**(8 * d.dtype.itemsize) == int(bits)\n"
             "    else: good = float(x) == value or (x != x and value != value)\n"
             "    assert good, (name, bits, x, value)\n"
             "    n += 1\n"
             "print(n, 'elements')\n"
             "\"",
             python);
    char count[32];
    snprintf(count, sizeof count, "%d elements", DTYPE_COUNT_ * PATTERNS);
    expect(command, count);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("recorddoc");
    TCase *t = tcase_create("recorddoc");
    tcase_add_checked_fixture(t, enter, leave);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_attributes);
    tcase_add_test(t, test_words);
    tcase_add_test(t, test_python);
    tcase_add_test(t, test_c);
    tcase_add_test(t, test_tools);
    tcase_add_test(t, test_h5py_formats);
    suite_add_tcase(s, t);
    return suite_run(s);
}
