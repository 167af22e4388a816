/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caseid.h"
#include "suite.h"

static struct case_id parsed(const char *text)
{
    struct case_id id;
    struct errinfo e = {0};
    ck_assert_msg(!caseid_parse(text, &id, &e), "%s: %s", text, e.text);
    return id;
}

static void ck_canonical(const char *text, const char *want)
{
    char got[CASEID_TEXT_MAX];
    struct case_id id = parsed(text);
    caseid_print(&id, got);
    ck_assert_str_eq(got, want);
    struct case_id again = parsed(got);
    ck_assert_msg(!memcmp(&id, &again, sizeof id), "%s does not read back as itself", got);
}

START_TEST(prints_canonical_form)
{
    ck_canonical("gemm/tiled", "gemm/tiled:dtype=f32,m=64,n=64,k=64,dist=normal,seed=1");
    ck_canonical("gemm/tiled:", "gemm/tiled:dtype=f32,m=64,n=64,k=64,dist=normal,seed=1");
    ck_canonical("gemm/naive:k=3,seed=18446744073709551615,m=1,dtype=i8,dist=ties",
                 "gemm/naive:dtype=i8,m=1,n=64,k=3,dist=ties,seed=18446744073709551615");
    ck_canonical("gemm/naive:tb=1,ta=0,beta=-0,alpha=1.0",
                 "gemm/naive:dtype=f32,m=64,n=64,k=64,tb=1,dist=normal,seed=1");
    ck_canonical("gemm/naive:alpha=0.1,beta=1e-40",
                 "gemm/naive:dtype=f32,m=64,n=64,k=64,alpha=0.1,beta=1e-40,dist=normal,seed=1");
    ck_canonical(
        "gemm/naive:alpha=0.333333333333333314829616256247",
        "gemm/naive:dtype=f32,m=64,n=64,k=64,alpha=0.3333333333333333,dist=normal,seed=1");
    ck_canonical("gemm/tiled:dtype=bf16,acc=f32,m=128,n=128,k=256,dist=normal,seed=1",
                 "gemm/tiled:dtype=bf16,m=128,n=128,k=256,dist=normal,seed=1");
    ck_canonical("gemm/fault_drop:mode=strict",
                 "gemm/fault_drop:dtype=f32,m=64,n=64,k=64,dist=normal,seed=1,mode=strict");
}
END_TEST

START_TEST(modes_read_and_print)
{
    static const struct {
        const char *text, *want;
        struct case_mode mode;
    } rows[] = {
        {"default", "default", {true, false, true, true, false}},
        {"strict", "strict", {false, false, true, true, false}},
        {"flush", "flush", {true, true, true, true, false}},
        {"fastdiv", "fastdiv", {true, false, false, true, false}},
        {"fastsqrt", "fastsqrt", {true, false, true, false, false}},
        {"approx", "approx", {true, false, true, true, true}},
        {"fast", "fast", {true, true, false, false, true}},
        {"fast+strict", "strict+fast", {false, true, false, false, true}},
        {"approx+flush+fastsqrt+fastdiv", "fast", {true, true, false, false, true}},
        {"flush+approx", "flush+approx", {true, true, true, true, true}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct case_mode m;
        char text[64];
        ck_assert(!caseid_parse_mode(rows[i].text, &m, NULL));
        ck_assert(!memcmp(&m, &rows[i].mode, sizeof m));
        caseid_print_mode(&m, text);
        ck_assert_str_eq(text, rows[i].want);
    }
}
END_TEST

/* What is wrong must be told with words a person can act on. */
static const struct {
    const char *text, *says[3];
} refused[] = {
    {"", {"a family's name is missing"}},
    {"gem/tiled", {"no family 'gem'", "did you mean 'gemm'?", "column 1"}},
    {"gemm", {"names no variant", "gemm/naive"}},
    {"gemm/", {"a variant's name is missing", "column 6"}},
    {"gemm/tield", {"no variant 'tield'", "did you mean 'tiled'?", "naive, tiled, regtile"}},
    {"gemm/zzzzzz", {"no variant 'zzzzzz'", "there are: naive"}},
    {"gemm/tiled,m=3", {"':' must stand before", "column 11"}},
    {"gemm/tiled:mm=3", {"no parameter 'mm'", "did you mean 'm'?", "dist, seed, mode"}},
    {"gemm/tiled:m", {"m has no value"}},
    {"gemm/tiled:m=", {"a value is missing"}},
    {"gemm/tiled:=3", {"a parameter's name is missing"}},
    {"gemm/tiled:m=3,", {"a parameter's name is missing"}},
    {"gemm/tiled:m=3,m=3", {"m is given twice", "column 16"}},
    {"gemm/tiled:m=0", {"m=0 (column 14) is outside 1..1048560"}},
    {"gemm/tiled:m=-5", {"outside 1.."}},
    {"gemm/tiled:k=99999999999999999999", {"k=99999999999999999999 (column 14) is outside"}},
    {"gemm/tiled:m=3x", {"m=3x (column 14) is not a whole number"}},
    {"gemm/tiled:m= 3", {"not a whole number"}},
    {"gemm/tiled:m=3.5", {"not a whole number"}},
    {"gemm/tiled:alpha=nan", {"alpha=nan (column 18) is not a number"}},
    {"gemm/tiled:alpha=1e39", {"alpha=1e39 (column 18) is outside -3.4e+38..3.4e+38"}},
    {"gemm/tiled:dtype=fp16",
     {"no value of dtype 'fp16'", "did you mean 'f16'?", "f32, f16, bf16, i8, tf32"}},
    {"gemm/tiled:dist=norml", {"no dist 'norml'", "did you mean 'normal'?"}},
    {"gemm/tiled:seed=-1", {"seed=-1 (column 17) is not a whole number from 0 to"}},
    {"gemm/tiled:seed=18446744073709551616", {"is not a whole number from 0 to"}},
    {"gemm/tiled:mode=strickt", {"no mode 'strickt'", "did you mean 'strict'?", "column 17"}},
    {"gemm/tiled:mode=strict+", {"no mode ''"}},
    {"gemm/tiled:mode=+", {"no mode ''"}},
};

START_TEST(bad_ids_are_explained)
{
    struct case_id id;
    struct errinfo e = {0};
    ck_assert_int_eq(caseid_parse(refused[_i].text, &id, &e), ERR_USAGE);
    for (int i = 0; i < 3 && refused[_i].says[i]; i++)
        ck_assert_msg(strstr(e.text, refused[_i].says[i]), "'%s' gives '%s' without '%s'",
                      refused[_i].text, e.text, refused[_i].says[i]);
    ck_assert_ptr_null(strchr(e.text, '\n'));
}
END_TEST

START_TEST(long_text_is_refused)
{
    char text[4096];
    struct case_id id;
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = 0;
    ck_assert_int_eq(caseid_parse(text, &id, NULL), ERR_USAGE);
    memcpy(text, "gemm/", 5);
    text[400] = 0;
    ck_assert_int_eq(caseid_parse(text, &id, NULL), ERR_USAGE);
    memcpy(text, "gemm/tiled:m=", 13);
    ck_assert_int_eq(caseid_parse(text, &id, NULL), ERR_USAGE);
}
END_TEST

/* Any bytes: an answer, never a crash; what is accepted reads back as itself. */
START_TEST(garbage_is_harmless)
{
    static const char pieces[][12] = {
        "gemm", "/", "tiled", ":",    "m",    "=",  "3",    ",",    "{", "}",  "|",    "*",
        "seed", "-", "dtype", "bf16", "mode", "\n", "\xff", "fast", "+", "1e", "beta", "%s"};
    uint64_t state = 1;
    for (int i = 0; i < 50000; i++) {
        char text[256] = "", again[CASEID_TEXT_MAX];
        strcpy(text, i % 2 ? "gemm/tiled:" : "");
        for (int n = 0; n < 12; n++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            strcat(text, pieces[(state >> 33) % 24]);
        }
        struct case_id id;
        struct errinfo e;
        if (!caseid_parse(text, &id, &e)) {
            caseid_print(&id, again);
            struct case_id back = parsed(again);
            ck_assert(!memcmp(&back, &id, sizeof id));
        }
    }
}
END_TEST

START_TEST(nearest_finds_typing_errors)
{
    static const char *const names[] = {"attention", "gemm", "optim8bit", "norm"};
    ck_assert_str_eq(nearest_name("gmem", names, 4), "gemm");
    ck_assert_str_eq(nearest_name("attn", names, 4) ? nearest_name("attn", names, 4) : "-",
                     "-");
    ck_assert_str_eq(nearest_name("att", names, 4), "attention");
    ck_assert_str_eq(nearest_name("optim8bits", names, 4), "optim8bit");
    ck_assert_ptr_null(nearest_name("zebra", names, 4));
    ck_assert_ptr_null(nearest_name("zebra", names, 0));
}
END_TEST

/* --- lists -----------------------------------------------------------------------------------
 */

static struct caselist selected(const char *pattern, const char *tags)
{
    struct caselist l;
    struct errinfo e = {0};
    ck_assert_msg(!caselist_select(&l, pattern ? 1 : 0, &pattern, tags, &e), "%s: %s",
                  pattern ? pattern : "(none)", e.text);
    ck_assert_int_gt(l.count, 0);
    return l;
}

static int64_t count_of(const char *pattern, const char *tags)
{
    struct caselist l = selected(pattern, tags);
    int64_t n = l.count;
    caselist_release(&l);
    return n;
}

START_TEST(lists_have_no_duplicates_and_no_hidden)
{
    struct caselist l = selected(NULL, "quick,full,stress");
    for (int64_t i = 0; i < l.count; i++) {
        ck_assert(!l.id[i].variant->hidden);
        bool seen = false; /* ck_assert writes to a file each time */
        for (int64_t j = 0; j < i; j++)
            seen |= !memcmp(&l.id[i], &l.id[j], sizeof l.id[i]);
        ck_assert(!seen);
    }
    caselist_release(&l);
}
END_TEST

START_TEST(patterns_partition_a_suite)
{
    int64_t all = count_of("gemm", NULL);
    ck_assert_int_eq(count_of("gemm/*", NULL), all);
    ck_assert_int_eq(count_of("gemm/tiled", NULL) + count_of("gemm/*:-gemm/tiled:*", NULL),
                     all);
    ck_assert_int_eq(count_of("gemm/*dtype=f32*", NULL) + count_of("gemm:-*dtype=f32*", NULL),
                     all);
    ck_assert_int_eq(count_of("gemm/{naive|tiled}", NULL),
                     count_of("gemm/naive", NULL) + count_of("gemm/tiled", NULL));
    ck_assert_int_lt(count_of("gemm/splitk:-*f16*", NULL), count_of("gemm/splitk", NULL));
    ck_assert_int_gt(count_of("gemm", "full"), all);
}
END_TEST

START_TEST(exact_ids_expand_and_deduplicate)
{
    ck_assert_int_eq(count_of("gemm/{naive|tiled}:dtype={f32|bf16},m={1|2|1}", NULL), 8);
    ck_assert_int_eq(count_of("gemm/naive:{m={1|2},n=3|k={4|5|6}|seed=7}", NULL), 6);
    ck_assert_int_eq(count_of("gemm/fault_drop", NULL), 1);
    ck_assert_int_eq(count_of("gemm/fault_{drop|zero}:m=3", "stress"), 2);

    static const char *const both[] = {"gemm/tiled:m=5", "gemm/tiled:seed=1,m=5"};
    struct caselist l;
    ck_assert(!caselist_select(&l, 2, both, NULL, NULL));
    ck_assert_int_eq(l.count, 1);
    ck_assert_int_eq(l.id[0].value[family_param_find(l.id[0].family, "m")].i, 5);
    caselist_release(&l);
}
END_TEST

static const struct {
    const char *pattern, *tags, *says[2];
} unselectable[] = {
    {"gemm/x*", NULL, {"selects none of the", "quick"}},
    {"gemm:-*", NULL, {"selects none of the"}},
    {"gmm", NULL, {"no family 'gmm'", "did you mean 'gemm'?"}},
    {"gemm/tild", NULL, {"did you mean 'tiled'?"}},
    {"gemm", "quik", {"no suite 'quik'", "did you mean 'quick'?"}},
    {"gemm", "", {"no suite ''", "quick, full, stress"}},
    {"gemm", "quick,,full", {"no suite ''"}},
    {"gemm/tiled:m={1|2", NULL, {"do not pair up"}},
    {"gemm/tiled:m=1}", NULL, {"do not pair up"}},
    {"gemm/tiled:m=}1{", NULL, {"do not pair up"}},
    {"gemm/tiled:{m={1|2}", NULL, {"do not pair up"}},
    {"gemm/tiled:m={1|2}}", NULL, {"do not pair up"}},
    {"gemm/naive:split=2", NULL, {"split=2 with gemm/naive", "only gemm/splitk and"}},
    {"gemm/naive:dtype=i8,alpha=2", NULL, {"integers take only alpha=1,beta=0"}},
    {"gemm/naive:dtype=i8,k=131072", NULL, {"may not fit in i32", "at most 131071"}},
    {"gemm/naive:m=1000000,n=1000000", NULL, {"more than 2^33 elements"}},
    {"gemm/mma:dtype=f32", NULL, {"gemm/mma has no dtype=f32", "it takes f16, bf16, i8, tf32"}},
    {"gemm/tiled:dtype=tf32", NULL, {"gemm/tiled has no dtype=tf32"}},
    {"gemm/tiled:dtype=f16,acc=f16", NULL, {"only gemm/mma,dtype=f16"}},
    {"gemm/mma:dtype=f16,acc=f16,k=4096", NULL, {"acc=f16 with k=4096", "at most 2048"}},
    {"gemm/*:-", NULL, {"nothing after ':-'"}},
};

START_TEST(empty_selections_are_explained)
{
    struct caselist l = {0};
    struct errinfo e = {0};
    const char *pattern = unselectable[_i].pattern;
    ck_assert_int_eq(caselist_select(&l, 1, &pattern, unselectable[_i].tags, &e), ERR_USAGE);
    ck_assert_ptr_null(l.id);
    for (int i = 0; i < 2 && unselectable[_i].says[i]; i++)
        ck_assert_msg(strstr(e.text, unselectable[_i].says[i]), "'%s' gives '%s' without '%s'",
                      pattern, e.text, unselectable[_i].says[i]);
}
END_TEST

START_TEST(explosive_patterns_are_refused)
{
    struct caselist l;
    const char *pattern = "gemm/tiled:m={1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16|17},"
                          "n={1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16|17},"
                          "k={1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16|17},"
                          "seed={1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16|17}";
    struct errinfo e = {0};
    ck_assert_int_eq(caselist_select(&l, 1, &pattern, NULL, &e), ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(e.text, "more than"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("caseid");
    TCase *ids = tcase_create("ids");
    tcase_add_test(ids, prints_canonical_form);
    tcase_add_test(ids, modes_read_and_print);
    tcase_add_loop_test(ids, bad_ids_are_explained, 0, sizeof refused / sizeof refused[0]);
    tcase_add_test(ids, long_text_is_refused);
    tcase_add_test(ids, garbage_is_harmless);
    tcase_add_test(ids, nearest_finds_typing_errors);
    suite_add_tcase(s, ids);

    TCase *lists = tcase_create("lists");
    tcase_add_test(lists, lists_have_no_duplicates_and_no_hidden);
    tcase_add_test(lists, patterns_partition_a_suite);
    tcase_add_test(lists, exact_ids_expand_and_deduplicate);
    tcase_add_loop_test(lists, empty_selections_are_explained, 0,
                        sizeof unselectable / sizeof unselectable[0]);
    tcase_add_test(lists, explosive_patterns_are_refused);
    suite_add_tcase(s, lists);

    return suite_run(s);
}
