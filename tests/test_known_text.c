/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "knownsample.h"
#include "suite.h"

/* What is no good list of known differences: one line with the place. */

static const struct {
    const char *text, *says;
} bad[] = {
    {"- case: '" ID "'\n  output: c\n  devices: x\n  limit: 2\n  cause: unexplained\n  date: "
     "2026-01-01\n  expires: 2026-12-31\n",
     "k.yaml:1:3: the entry has no 'reason'"},
    {HEAD "  limit: 2\n  reason: ''\n", "k.yaml:6:11: reason: is empty"},
    {HEAD TAIL, "k.yaml:1:3: the entry needs 'element'"},
    {HEAD TAIL "  element: 1\n  a: 0x1\n", "belong together"},
    {HEAD TAIL "  limit: 2\n  b: 0x1\n", "belong together"},
    {HEAD TAIL "  limit: -2\n", "k.yaml:8:10: limit: '-2' is no number"},
    {HEAD TAIL "  limit: nan\n", "limit"},
    {HEAD TAIL "  limit: inf\n", "limit"},
    {HEAD TAIL "  limit: 1\n  limit: 1\n", "k.yaml:9:3: this key is here already"},
    {HEAD TAIL "  wrong: -1\n", "no count"},
    {HEAD TAIL "  wrong: 99999999999999999999\n", "no count"},
    {HEAD TAIL "  element: 1,\n", "no list of coordinates"},
    {HEAD TAIL "  element: 1,1,1,1,1,1,1,1,1,1,1,1\n", "no list of coordinates"},
    {HEAD TAIL "  a: 0x\n", "no bit pattern"},
    {HEAD TAIL "  a: 0x11112222333344445\n", "no bit pattern"},
    {HEAD TAIL "  a: 17\n", "no bit pattern"},
    {HEAD TAIL "  limt: 1\n", "k.yaml:8:3: unknown key 'limt'; did you mean 'limit'?"},
    {HEAD TAIL "  verdict: SAME\n", "'SAME' is no verdict"},
    {"- case: gemm/nosuch\n", "k.yaml:1:9: case: "},
    {"- case: ' '\n", "k.yaml:1:9: case: "},
    {"- case: a?\n  cause: scale\n", "'scale' is no cause"},
    {"- devices: a,b,c\n", "not one device or two"},
    {"- devices: ','\n", "not one device or two"},
    {"- date: 2026-02-29\n", "no day of the calendar"},
    {"- date: 2026-1-1\n", "no day of the calendar"},
    {"- date: 2026-00-10\n", "no day of the calendar"},
    {"- {case: '*', output: c, devices: d, limit: 2, cause: unexplained, reason: r, date: "
     "2026-02-02, expires: 2026-02-01}\n",
     "expires before its date"},
    {"- reason: [a, b]\n", "k.yaml:1:11: reason must be a plain value"},
    {"- reason: &x a\n  issue: *x\n", "k.yaml:2:10: issue must be a plain value"},
    {"- ? [a]\n  : b\n", "a key must be a word"},
    {"- reason: \"a\\0b\"\n", "control characters"},
    {"- reason: \"\\e[31m\"\n", "control characters"},
    {"- \"\\u202e\\e\": x\n", "control characters"},
    {"- a\n", "an entry must be keys"},
    {"a: b\n", "k.yaml:1:1: the file must be a list"},
    {"text\n", "the file must be a list"},
    {"--- []\n--- []\n", "one document"},
    {"- case: 'a\n", "k.yaml:2:1: "},
    {"- \t- x: [\n", "k.yaml:"},
    {"- reason: \xff\xfe\n", "k.yaml: "},
    {"\x01", "k.yaml: "},
    {"%YAML 9.9\n---\n[]\n", "k.yaml:1:"},
    {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "k.yaml:1:2: "},
};

static void expect_clear(const struct errinfo *e)
{
    ck_assert(e->text[0] && !strchr(e->text, '\n') && !strchr(e->text, '\x1b'));
    ck_assert_msg(!strncmp(e->text, "k.yaml:", 7), "%s", e->text);
}

START_TEST(one_clear_line)
{
    struct known k;
    struct errinfo e = {0};
    ck_assert_int_eq(
        known_parse("k.yaml", bad[_i].text, strlen(bad[_i].text), "2026-06-01", &k, &e),
        ERR_FORMAT);
    ck_assert_msg(strstr(e.text, bad[_i].says) != NULL, "no '%s' in: %s", bad[_i].says, e.text);
    expect_clear(&e);
}
END_TEST

START_TEST(empty_files)
{
    static const char *const empty[] = {"", "# nothing\n", "---\n", "[]\n",
                                        "\xef\xbb\xbf# c\n"};
    struct known k;
    struct errinfo e;
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        ck_assert_msg(!known_parse("k.yaml", empty[i], strlen(empty[i]), "2026-06-01", &k, &e),
                      "%s", e.text);
        ck_assert_int_eq(k.count, 0);
        known_release(&k);
    }
}
END_TEST

/* Spoilt bytes of a good file: read, or one clear line. */
START_TEST(spoilt)
{
    static const char good[] = HEAD TAIL BITS "  limit: 1e3\n" HEAD TAIL BITS;
    static const char marks[] = "-:[]{}&*!|>'\"%@`#?,\n\t \0\xff\xc3\\";
    uint64_t state = 1;
    int failed = 0;
    for (int round = 0; round < 4000; round++) {
        char text[sizeof good];
        memcpy(text, good, sizeof good);
        for (int i = 0; i < 1 + round % 4; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            text[(state >> 33) % (sizeof good - 1)] =
                round & 4 ? (char)(state >> 56) : marks[(state >> 50) % (sizeof marks - 1)];
        }
        struct known k = {0};
        struct errinfo e = {0};
        size_t size = round & 8 ? (state >> 40) % sizeof good : sizeof good - 1;
        if (known_parse("k.yaml", text, size, "2026-06-01", &k, &e)) {
            expect_clear(&e);
            failed++;
        }
        known_release(&k);
    }
    ck_assert_int_gt(failed, 1000);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("known_text");
    TCase *c = tcase_create("known_text");
    tcase_add_loop_test(c, one_clear_line, 0, sizeof bad / sizeof *bad);
    tcase_add_test(c, empty_files);
    tcase_add_test(c, spoilt);
    suite_add_tcase(s, c);
    return suite_run(s);
}
