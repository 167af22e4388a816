/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/include.h"
#include "harness/includeprint.h"
#include "harness/kerneltext.h"
#include "suite.h"

/* The headers of a source, against what the C compiler says of the same files. */

static struct errinfo e;
static char folder[64], options[256];

static void folder_make(void)
{
    strcpy(folder, "/tmp/gpuparity-include-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    ck_assert(!mkdir("sub", 0700) && !mkdir("dir", 0700) && !mkdir("dir/deep", 0700));
    snprintf(options, sizeof options, "-DX=1 -I%s/dir --std=c++17", folder);
}

static void folder_remove(void)
{
    char text[100];
    snprintf(text, sizeof text, "rm -rf %s", folder);
    ck_assert_int_eq(system(text), 0);
}

static void file_write(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    ck_assert_int_eq(fclose(f), 0);
}

static struct include_set gathered(void)
{
    struct include_set s;
    ck_assert_msg(!include_disk("sub/k.cu", options, &s, &e), "%s", e.text);
    return s;
}

static void digest(char *ret_hex)
{
    struct include_set s = gathered();
    ck_assert_int_eq(include_digest(&s, ret_hex, &e), 0);
    include_release(&s);
}

static bool has(const struct include_set *s, const char *ending)
{
    for (int i = 0; i < s->count; i++) {
        size_t n = strlen(s->file[i].path), k = strlen(ending);
        if (n >= k && !strcmp(s->file[i].path + n - k, ending))
            return true;
    }
    return false;
}

/* What a shell command prints. */
static void said(const char *command, char *ret_text, size_t size)
{
    FILE *p = popen(command, "r");
    ck_assert_ptr_nonnull(p);
    size_t n = fread(ret_text, 1, size - 1, p);
    ret_text[n] = 0;
    ck_assert_msg(pclose(p) == 0, "%s: %s", command, ret_text);
}

static void tree_write(void)
{
    file_write("sub/k.cu", "#include \"near.h\"\n  # include <far.h>\n#include \"../sub/near.h\"\n"
                           "int k = NEAR + FAR + DEEP;\n");
    file_write("sub/near.h", "#pragma once\n#include \"deep/deep.h\"\n#define NEAR 1\n");
    file_write("dir/far.h", "#ifndef FAR\n#define FAR 2\n#include \"deep/deep.h\"\n#endif\n");
    file_write("dir/near.h", "#error the wrong one\n");
    file_write("dir/deep/deep.h", "#pragma once\n#include \"beside.h\"\n#define DEEP 3\n");
    file_write("dir/deep/beside.h", "#ifndef B\n#define B\n#include \"../far.h\"\n#endif\n");
}

/* As many files as the compiler opens, and the same ones. */
START_TEST(headers_are_those_the_compiler_reads)
{
    char text[2000];
    tree_write();
    struct include_set s = gathered();
    said("cc -MM -x c -Idir sub/k.cu | tr ' ' '\n' | grep / | xargs realpath | sort -u", text,
         sizeof text);
    int count = 0;
    for (char *word = strtok(text, "\n"); word; word = strtok(NULL, "\n"), count++)
        ck_assert_msg(has(&s, strrchr(word, '/')), "%s is missing", word);
    ck_assert_int_eq(count, 5);
    ck_assert_int_eq(s.count, count);
    ck_assert_str_eq(s.file[0].path, "sub/k.cu");
    include_release(&s);
}
END_TEST

START_TEST(every_header_counts_in_the_digest)
{
    static const char *const files[] = {"sub/near.h", "dir/far.h", "dir/deep/deep.h",
                                        "dir/deep/beside.h"};
    char before[33], after[33];
    tree_write();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        digest(before);
        FILE *f = fopen(files[i], "a");
        fputs("\n", f);
        fclose(f);
        digest(after);
        ck_assert_msg(strcmp(before, after) != 0, "%s", files[i]);
        strcpy(before, after);
    }
    file_write("dir/near.h", "another wrong one"); /* which is not included */
    digest(after);
    ck_assert_str_eq(before, after);
}
END_TEST

/* A text moved from one file to the next gives another digest. */
START_TEST(texts_do_not_run_together)
{
    char a[33], b[33];
    file_write("sub/k.cu", "#include \"x.h\"\n");
    file_write("sub/x.h", "#include \"y.h\"\nint x;\n");
    file_write("sub/y.h", "int y;\n");
    digest(a);
    file_write("sub/x.h", "#include \"y.h\"\n");
    file_write("sub/y.h", "int x;\nint y;\n");
    digest(b);
    ck_assert_str_ne(a, b);
}
END_TEST

START_TEST(what_is_no_include)
{
    file_write("sub/x.h", "x\n");
    file_write("sub/k.cu", "/* #include \"x.h\"\n#include \"x.h\" */\n// #include \"x.h\"\n"
                           "const char *s = \"/*\"; char c = '\"';\n#include MACRO\n"
                           "#include \"nowhere.h\"\n#include <cuda_runtime.h>\n#include \"x.h\n"
                           "#includes \"x.h\"\n#include \"\"\n#include \"dir\"\n#include \"/dev/null\"");
    struct include_set s = gathered();
    ck_assert_int_eq(s.count, 1);
    include_release(&s);
    file_write("sub/k.cu", "const char *s = \"/*\";\n\t#\tinclude\t\"x.h\" // the one\n");
    s = gathered();
    ck_assert_int_eq(s.count, 2);
    include_release(&s);
}
END_TEST

/* This program's headers stand behind everything on disk. */
START_TEST(own_headers_come_last)
{
    struct source_file header[BUILD_HEADERS_MAX];
    file_write("sub/k.cu", "#include \"device_matrix.h\"\n#include \"device.h\"\n");
    struct include_set s = gathered();
    int n = include_headers(&s, header);
    ck_assert_int_eq(n, s.count - 1);
    ck_assert_int_ge(n, 4); /* matrix, warp, language, device, format */
    for (int i = 0; i < n; i++)
        ck_assert_ptr_eq(header[i].text, kernel_text_find(header[i].name));
    include_release(&s);
    file_write("dir/device.h", "#define MINE\n");
    s = gathered();
    ck_assert(has(&s, "/dir/device.h"));
    for (int i = include_headers(&s, header) - 1; i >= 0; i--)
        ck_assert_str_ne(header[i].name, "device.h");
    include_release(&s);
    /* Other kernels are nobody's headers. */
    file_write("sub/k.cu", "#include \"gemm/naive.cu\"\n#include <naive.cu>\n");
    s = gathered();
    ck_assert_int_eq(s.count, 1);
    include_release(&s);
}
END_TEST

START_TEST(families_have_headers_of_their_own)
{
    struct source_file header[BUILD_HEADERS_MAX];
    struct include_set s;
    ck_assert_int_eq(include_inside("attention/steps.cu", &s, &e), 0);
    int n = include_headers(&s, header);
    ck_assert_str_eq(header[0].name, "attention.cuh");
    ck_assert_ptr_eq(header[0].text, kernel_text_find("attention/attention.cuh"));
    ck_assert_int_eq(n, s.count - 1);
    include_release(&s);
    ck_assert_int_eq(include_inside("attention/none.cu", &s, &e), ERR_MISSING);
}
END_TEST

START_TEST(unusable)
{
    struct include_set s;
    char text[128];
    ck_assert_int_eq(include_disk("sub/none.cu", options, &s, &e), ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(e.text, "sub/none.cu"));
    ck_assert_int_eq(include_disk("sub", options, &s, &e), ERR_USAGE);
    FILE *f = fopen("sub/k.cu", "w");
    for (int i = 0; i < 4100; i++) {
        snprintf(text, sizeof text, "dir/%d.h", i);
        file_write(text, "");
        fprintf(f, "#include <%d.h>\n", i);
    }
    fclose(f);
    ck_assert_int_eq(include_disk("sub/k.cu", options, &s, &e), ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(e.text, "4096 headers"));
}
END_TEST

/* --- one text that stands alone --------------------------------------------------------------
 */

static const struct {
    const char *name, *source, *x, *y;
} texts[] = {
    {"guarded", "#include \"x.h\"\n#include \"y.h\"\nint k = X + Y;\n",
     "#ifndef H_X\n#define H_X\n#include \"y.h\"\n#define X 1\nint x;\n#endif\n",
     "#ifndef H_Y\n#define H_Y\n#define Y 2\nint y;\n#endif\n"},
    {"once", "#include \"x.h\"\n#include \"x.h\"\n#include \"y.h\"\nint k = X;\n",
     "#pragma once\n#include \"y.h\"\n#define X 1\nint x;\n", "#pragma once\nint y;\n"},
    {"list", "#define ROW(a) int a;\n#include \"x.h\"\n#undef ROW\n#define ROW(a) a = 1,\nenum {\n"
             "#include \"x.h\"\n};\n", "ROW(p)\nROW(q)\n", ""},
    {"under a condition", "#ifdef NO\n#include \"x.h\"\n#endif\n#include \"x.h\"\n#ifdef NO\n#include "
                          "\"y.h\"\n#else\n#include \"y.h\"\n#endif\nint k;\n",
     "#pragma once\nint x;\n#include \"y.h\"\n", "#ifndef Y\n#define Y\nint y;\n#endif\n"},
    {"once under a condition", "#ifndef NO\n#include \"x.h\"\n#endif\n#include \"x.h\"\nint k;\n",
     "#pragma once\nint x;\n", ""},
    {"circle", "#include \"x.h\"\n#include \"y.h\"\nint k;\n",
     "#ifndef X\n#define X\n#include \"y.h\"\nint x;\n#endif\n",
     "#ifndef Y\n#define Y\n#include \"x.h\"\nint y;\n#endif\n"},
    {"no newline at the end", "#include \"x.h\"\nint k;", "int x;", ""},
    {"directives in comments", "/*\n#if 0\n*/\n#include \"x.h\"\n#include \"x.h\"\nint k;\n",
     "// #ifndef A\n#ifndef X\n#define X\nint x;\n#endif\n", ""},
};

/* The same after preprocessing, and nothing of the folder is needed any more. */
START_TEST(printed_text_means_the_same)
{
    char want[4000], got[4000];
    file_write("sub/k.cu", texts[_i].source);
    file_write("sub/x.h", texts[_i].x);
    file_write("sub/y.h", texts[_i].y);
    struct include_set s = gathered();
    FILE *out = fopen("alone.cu", "w");
    ck_assert_msg(!include_print(out, &s, &e), "%s", e.text);
    fclose(out);
    include_release(&s);
    said("cc -E -P -x c -Idir sub/k.cu | grep '[^ ]'", want, sizeof want);
    ck_assert_int_eq(system("rm -r sub dir"), 0);
    said("cc -E -P -x c alone.cu | grep '[^ ]'", got, sizeof got);
    ck_assert_msg(!strcmp(want, got), "%s: %s\nis not %s", texts[_i].name, got, want);
    said("if grep '^#pragma once' alone.cu; then echo bad; fi", got, sizeof got);
    ck_assert_str_eq(got, "");
}
END_TEST

/* Headers that include the next one twice would double with each. */
START_TEST(no_end_of_doubling)
{
    char path[64], text[128];
    file_write("sub/k.cu", "#include \"0.h\"\n");
    for (int i = 0; i < 40; i++) {
        snprintf(path, sizeof path, "sub/%d.h", i);
        snprintf(text, sizeof text, "#include \"%d.h\"\n#include \"%d.h\"\n", i + 1, i + 1);
        file_write(path, text);
    }
    struct include_set s = gathered();
    FILE *out = fopen("/dev/null", "w");
    ck_assert_int_eq(include_print(out, &s, &e), ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(e.text, "sub/k.cu"));
    fclose(out);
    include_release(&s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("include");
    TCase *t = tcase_create("include");
    tcase_add_checked_fixture(t, folder_make, folder_remove);
    tcase_add_test(t, headers_are_those_the_compiler_reads);
    tcase_add_test(t, every_header_counts_in_the_digest);
    tcase_add_test(t, texts_do_not_run_together);
    tcase_add_test(t, what_is_no_include);
    tcase_add_test(t, own_headers_come_last);
    tcase_add_test(t, families_have_headers_of_their_own);
    tcase_add_test(t, unusable);
    tcase_add_loop_test(t, printed_text_means_the_same, 0, (int)(sizeof texts / sizeof *texts));
    tcase_add_test(t, no_end_of_doubling);
    suite_add_tcase(s, t);
    return suite_run(s);
}
