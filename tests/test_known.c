/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "knownsample.h"
#include "suite.h"

/* A finding made by hand: four f32 elements of which the one at [1,0] is wrong on B. */

static char folder[] = "/tmp/gpuparity-known-XXXXXX";
static struct tensor a, b;
static struct finding_sides sides;
static struct finding f;
static struct finding_out out;

static bool look_bits(void *context, int64_t index, uint64_t *ret_a, uint64_t *ret_b)
{
    (void)context;
    *ret_a = tensor_bits(&a, index);
    *ret_b = tensor_bits(&b, index);
    return true;
}

static const struct known_look look = {look_bits, NULL};

static void setup(void)
{
    static const uint32_t bits[] = {0x3f800000, 0x40000000, 0x40400000, 0x40800000};
    ck_assert_ptr_nonnull(mkdtemp(folder));
    for (int side = 0; side < 2; side++) {
        struct tensor *t = side ? &b : &a;
        ck_assert_int_eq(tensor_init(t, DTYPE_F32, 2, (int64_t[]){2, 2}, NULL), 0);
        for (int i = 0; i < 4; i++)
            tensor_set_bits(t, i, bits[i]);
    }
    tensor_set_bits(&b, 2, 0x40c00000);
    strcpy(sides.a.device, "cuda-sim");
    strcpy(sides.b.device, "hip-sim");
    strcpy(f.id, ID);
    strcpy(out.name, "c");
    out.rank = 2;
    out.dim[0] = out.dim[1] = 2;
    out.verdict = VERDICT_B_WRONG;
    strcpy(out.reason, "B is off.");
    out.stats.a.count = out.stats.b.count = 4;
    out.stats.a.worst_bound = 0.25;
    out.stats.b.worst_bound = 1000;
    out.stats.b.over_bound = 1;
    out.n_claim = 1;
    out.claim[0].cause = CAUSE_SCALE;
    out.worst = (struct finding_element){
        .index = 2, .coordinate = {1, 0}, .a = 0x40400000, .b = 0x40c00000, .shown = true};
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
    tensor_release(&a);
    tensor_release(&b);
}

/* --- verdicts --- */

static enum verdict judge(const char *text, const char *today)
{
    struct known k;
    struct errinfo e;
    ck_assert_msg(!known_parse("k.yaml", text, strlen(text), today, &k, &e), "%s", e.text);
    known_output(&k, &sides, &f, &look, &out);
    known_release(&k);
    return out.verdict;
}

static const struct {
    const char *text;
    enum verdict verdict;
    const char *says;
} rows[] = {
    {HEAD TAIL BITS, VERDICT_KNOWN, "known until 2026-12-31 (k.yaml:1): r. B is off."},
    {HEAD TAIL BITS "  issue: '#7'\n  verdict: B_WRONG\n", VERDICT_KNOWN, "k.yaml:1, #7"},
    {HEAD TAIL "  limit: 1000\n", VERDICT_KNOWN, "known"},
    {HEAD TAIL BITS "  limit: 1e3\n  wrong: 1\n", VERDICT_KNOWN, "known"},
    {"# c\n\n- {case: 'gemm/naive:*k=3*', output: c, devices: 'cuda*,hip*', limit: 2e3, cause: "
     "scale/absmax, reason: r, date: 2026-01-01, expires: 2026-06-01}\n",
     VERDICT_KNOWN, "k.yaml:3"},
    {HEAD TAIL "  limit: 999\n", VERDICT_B_WRONG, "by a factor of 1000, over 999"},
    {HEAD TAIL "  limit: 1e9\n  wrong: 2\n", VERDICT_B_WRONG, "1 elements are wrong, not 2"},
    {HEAD TAIL BITS "  verdict: A_WRONG\n", VERDICT_B_WRONG, "not A_WRONG"},
    {HEAD TAIL "  element: 1,0\n  a: 0x40400000\n  b: 0x40c00001\n", VERDICT_B_WRONG,
     "B's bits there are 0x40c00000, not 0x40c00001"},
    {HEAD TAIL "  element: 1,0\n  a: 0x40400001\n  b: 0x40c00000\n", VERDICT_B_WRONG,
     "A's bits"},
    {HEAD TAIL "  element: 1,2\n  a: 0x0\n  b: 0x0\n", VERDICT_B_WRONG, "shape"},
    {HEAD TAIL "  element: 1\n  a: 0x0\n  b: 0x0\n", VERDICT_B_WRONG, "shape"},
    /* another case, output, devices, or the other way round: not about this one */
    {"- {case: 'gemm/tiled:*', output: c, devices: 'cuda*,hip*', limit: 2e3, cause: "
     "scale/absmax, reason: r, date: 2026-01-01, expires: 2026-06-01}\n"
     "- {case: '*', output: d, devices: 'cuda*,hip*', limit: 2e3, cause: "
     "scale/absmax, reason: r, date: 2026-01-01, expires: 2026-06-01}\n"
     "- {case: '*', output: c, devices: 'hip*,cuda*', limit: 2e3, cause: "
     "scale/absmax, reason: r, date: 2026-01-01, expires: 2026-06-01}\n"
     "- {case: '*', output: c, devices: 'cuda*', limit: 2e3, cause: "
     "scale/absmax, reason: r, date: 2026-01-01, expires: 2026-06-01}\n",
     VERDICT_B_WRONG, "B is off."},
};

START_TEST(exactly_as_it_says)
{
    enum verdict v = judge(rows[_i].text, "2026-06-01");
    ck_assert_msg(v == rows[_i].verdict && strstr(out.reason, rows[_i].says), "%s: %s",
                  verdict_name(v), out.reason);
}
END_TEST

START_TEST(another_cause)
{
    out.claim[0].cause = CAUSE_ROUNDING;
    ck_assert_int_eq(judge(HEAD TAIL BITS, "2026-06-01"), VERDICT_B_WRONG);
    ck_assert_ptr_nonnull(strstr(out.reason, "rounding mode, not scale/absmax"));
}
END_TEST

/* A new fault elsewhere is not hidden by an old one. */
START_TEST(more_is_wrong)
{
    out.stats.b.over_bound = 2;
    ck_assert_int_eq(judge(HEAD TAIL BITS, "2026-06-01"), VERDICT_B_WRONG);
    out.stats.b.over_bound = 1;
    out.stats.b.nan_wrong = 1;
    ck_assert_int_eq(judge(HEAD TAIL "  limit: 1e9\n", "2026-06-01"), VERDICT_B_WRONG);
    ck_assert_ptr_nonnull(strstr(out.reason, "a limit does not cover"));
    out.stats.b.nan_wrong = 0;
    out.stats.b.worst_bound = NAN;
    ck_assert_int_eq(judge(HEAD TAIL "  limit: 1e9\n", "2026-06-01"), VERDICT_B_WRONG);
    out.stats.b.worst_bound = 1000;
    f.b.guard_after = 4;
    strcpy(f.b.guard_tensor, "c");
    ck_assert_int_eq(judge(HEAD TAIL BITS, "2026-06-01"), VERDICT_B_WRONG);
    ck_assert_ptr_nonnull(strstr(out.reason, "never known"));
}
END_TEST

START_TEST(stale)
{
    ck_assert_int_eq(judge(HEAD TAIL BITS, "2026-12-31"), VERDICT_KNOWN);
    out.verdict = VERDICT_B_WRONG;
    ck_assert_int_eq(judge(HEAD TAIL BITS, "2027-01-01"), VERDICT_STALE);
    ck_assert_ptr_nonnull(strstr(out.reason, "k.yaml:1 expired on 2026-12-31"));
    out.verdict = VERDICT_SAME;
    ck_assert_int_eq(judge(HEAD TAIL BITS, "2026-06-01"), VERDICT_STALE);
    ck_assert_ptr_nonnull(strstr(out.reason, "it does not; remove the entry"));
    out.verdict = VERDICT_EQUIVALENT;
    ck_assert_int_eq(judge(HEAD TAIL BITS, "2026-06-01"), VERDICT_STALE);
    out.verdict = VERDICT_MISTRUSTED; /* nothing can be said */
    ck_assert_int_eq(judge(HEAD TAIL BITS, "2026-06-01"), VERDICT_MISTRUSTED);
    out.verdict = VERDICT_B_WRONG; /* a new difference is worse than an expired entry */
    ck_assert_int_eq(judge(HEAD TAIL "  limit: 5\n", "2027-01-01"), VERDICT_B_WRONG);
    /* a valid entry counts, whatever stands before it */
    out.verdict = VERDICT_B_WRONG;
    ck_assert_int_eq(judge(HEAD TAIL "  limit: 5\n" HEAD TAIL BITS, "2026-06-01"),
                     VERDICT_KNOWN);
}
END_TEST

/* Longest texts: no overrun, and the reason stays a text. */
START_TEST(long_texts)
{
    char text[2048], reason[256];
    memset(reason, 'x', 255);
    reason[255] = 0;
    memset(out.reason, 'y', sizeof out.reason - 1);
    snprintf(text, sizeof text,
             HEAD BITS "  reason: %s\n  issue: %s\n  date: 2026-01-01\n  expires: 2026-12-31\n",
             reason, reason);
    ck_assert_int_eq(judge(text, "2026-06-01"), VERDICT_KNOWN);
    ck_assert_uint_eq(strlen(out.reason), sizeof out.reason - 1);
    out.verdict = VERDICT_B_WRONG;
    ck_assert_int_eq(judge(HEAD TAIL "  limit: 5\n", "2026-06-01"), VERDICT_B_WRONG);
}
END_TEST

/* --- files --- */

static const char *in_folder(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(unreadable)
{
    struct known k;
    struct errinfo e;
    ck_assert_int_eq(known_load(in_folder("no"), false, "2026-06-01", &k, &e), ERR_IO);
    ck_assert_int_eq(known_load(in_folder("no"), true, "2026-06-01", &k, &e), ERR_OK);
    ck_assert_int_eq(known_load(folder, true, "2026-06-01", &k, &e), ERR_IO);
    ck_assert_int_eq(mkfifo(in_folder("pipe"), 0600), 0);
    ck_assert_int_eq(known_load(in_folder("pipe"), true, "2026-06-01", &k, &e), ERR_IO);
    put("huge", "");
    ck_assert_int_eq(truncate(in_folder("huge"), KNOWN_FILE_MAX + 1), 0);
    ck_assert_int_eq(known_load(in_folder("huge"), true, "2026-06-01", &k, &e), ERR_IO);
}
END_TEST

static void describe(struct known_entry *x)
{
    struct errinfo e;
    ck_assert_msg(!known_describe(&sides, &f, &out, x, &e), "%s", e.text);
    strcpy(x->reason, "it's: a 'reason' # with {marks}");
    strcpy(x->issue, "#7");
    strcpy(x->date, "2026-05-01");
    strcpy(x->expires, "2026-07-01");
}

/* What is written describes the finding it was made from. */
START_TEST(appended)
{
    static const char *const before[] = {"# kept", "# kept\n",
                                         "# kept\n" HEAD TAIL "  limit: 5\n"};
    struct known_entry x;
    struct known k;
    struct errinfo e;
    put("k.yaml", before[_i]);
    describe(&x);
    ck_assert_msg(!known_append(in_folder("k.yaml"), "2026-06-01", 1, &x, &e) == (_i < 2), "%s",
                  e.text);
    if (_i == 2) {
        ck_assert_msg(strstr(e.text, ":2 is an entry for this already") != NULL, "%s", e.text);
        return;
    }
    ck_assert_int_eq(known_load(in_folder("k.yaml"), false, "2026-06-01", &k, &e), 0);
    ck_assert_int_eq(k.count, 1);
    ck_assert_str_eq(k.entry[0].reason, x.reason);
    known_output(&k, &sides, &f, &look, &out);
    ck_assert_msg(out.verdict == VERDICT_KNOWN, "%s", out.reason);
    known_release(&k);
    ck_assert_int_eq(known_append(in_folder("k.yaml"), "2026-06-01", 1, &x, &e), ERR_USAGE);
}
END_TEST

START_TEST(verify_has_one_side)
{
    struct known_entry x;
    struct known k;
    struct errinfo e;
    f.one_sided = true;
    out.verdict = VERDICT_A_WRONG;
    out.stats.a = out.stats.b;
    describe(&x);
    ck_assert_msg(!known_append(in_folder("k.yaml"), "2026-06-01", 1, &x, &e), "%s", e.text);
    ck_assert_int_eq(known_load(in_folder("k.yaml"), false, "2026-06-01", &k, &e), 0);
    known_output(&k, &sides, &f, &look, &out);
    ck_assert_msg(out.verdict == VERDICT_KNOWN, "%s", out.reason);
    known_release(&k);
}
END_TEST

START_TEST(cannot_append)
{
    struct known_entry x;
    struct errinfo e;
    describe(&x);
    put("flow.yaml", "[]\n");
    ck_assert_int_eq(known_append(in_folder("flow.yaml"), "2026-06-01", 1, &x, &e), ERR_FORMAT);
    ck_assert_int_eq(known_append(in_folder("no/k.yaml"), "2026-06-01", 1, &x, &e), ERR_IO);
    out.verdict = VERDICT_SAME;
    ck_assert_int_eq(known_describe(&sides, &f, &out, &x, &e), ERR_USAGE);
}
END_TEST

/* --- the program --- */

static int shell(const char *command)
{
    char line[2048];
    snprintf(line, sizeof line, "cd %s && PATH=%s:$PATH && { %s; } >log 2>&1", folder,
             getenv("GPUPARITY_SIM_DIR"), command);
    int status = system(line);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#define CASE "gemm/fault_tail:m=20,n=20,k=20"
#define ADD "gpuparity golden add r.h5 " CASE " --known k.yaml --reason \"it's known\" "

START_TEST(the_whole_way)
{
    ck_assert_int_eq(shell("gpuparity check " CASE " -o r.h5"), 1);
    ck_assert_int_eq(shell(ADD "--issue '#1' --expires 2999-01-01"), 0);
    ck_assert_int_eq(shell("gpuparity compare r.h5 --known k.yaml"), 2); /* wants two files */
    ck_assert_int_eq(shell("gpuparity check " CASE " --known k.yaml"), 0);
    ck_assert_int_eq(
        shell("gpuparity check " CASE " --known k.yaml | grep -q '^KNOWN\\|1 KNOWN'"), 0);
    ck_assert_int_eq(shell("gpuparity check " CASE " --known none"), 1);
    ck_assert_int_eq(shell("sed -i 's/^  date.*/  date: 2001-01-01/; s/2999/2002/' k.yaml; "
                           "gpuparity check " CASE " --known k.yaml >o; test $? = 1 && "
                           "grep -q STALE o"),
                     0);
    ck_assert_int_eq(shell("sed -i 's/2002/2999/; s/fault_tail/naive/' k.yaml; gpuparity check "
                           "gemm/naive:m=20,n=20,k=20 --known k.yaml >o; test $? = 1 && "
                           "grep -q STALE o"),
                     0);
}
END_TEST

START_TEST(refusals)
{
    static const char *const commands[] = {
        ADD "--expires 2001-01-01",
        ADD "--expires soon",
        ADD,
        "gpuparity golden add r.h5 " CASE " --known k.yaml --expires 2999-01-01",
        "gpuparity golden add r.h5 " CASE " --reason ' ' --expires 2999-01-01",
        ADD "--known none --expires 2999-01-01",
        "gpuparity golden add r.h5 gemm/naive:m=4,n=4,k=4 --known k.yaml --reason r --expires "
        "2999-01-01",
        "gpuparity golden add no.h5 " CASE " --known k.yaml --reason r --expires 2999-01-01",
        "gpuparity golden add r.h5 --reason r --expires 2999-01-01",
        "gpuparity check " CASE " --known no.yaml",
        "gpuparity check " CASE " --known bad.yaml",
    };
    put("bad.yaml", "- case: 1\n");
    ck_assert_int_eq(shell("gpuparity check " CASE " -o r.h5"), 1);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        ck_assert_msg(shell(commands[i]) == 2, "%s", commands[i]);
        int lines = 0, c;
        FILE *log = fopen(in_folder("log"), "r");
        ck_assert_ptr_nonnull(log);
        while ((c = fgetc(log)) != EOF)
            lines += c == '\n';
        fclose(log);
        ck_assert_msg(lines == 1, "%s: %d lines", commands[i], lines);
    }
    ck_assert_int_ne(access(in_folder("k.yaml"), F_OK), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("known");
    TCase *c = tcase_create("known");
    suite_add_tcase(s, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, exactly_as_it_says, 0, sizeof rows / sizeof *rows);
    tcase_add_test(c, another_cause);
    tcase_add_test(c, more_is_wrong);
    tcase_add_test(c, stale);
    tcase_add_test(c, long_texts);
    tcase_add_test(c, unreadable);
    tcase_add_loop_test(c, appended, 0, 3);
    tcase_add_test(c, verify_has_one_side);
    tcase_add_test(c, cannot_append);
    tcase_add_test(c, the_whole_way);
    tcase_add_test(c, refusals);
    return suite_run(s);
}
