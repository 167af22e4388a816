/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

/* What a user types wrong, or has lying there damaged: exit status, exactly one line on
 * standard error that names the thing and the way out, nothing on standard output. */

static char folder[] = "/tmp/gpuparity-cli-XXXXXX";

static int shell(const char *command)
{
    char line[4096];
    snprintf(line, sizeof line, "cd %s && PATH=%s:$PATH && %s", folder,
             getenv("GPUPARITY_SIM_DIR"), command);
    int status = system(line);
    ck_assert_msg(WIFEXITED(status), "%s died by a signal", command);
    return WEXITSTATUS(status);
}

/* Records to be spoilt: two small runs of one case, another case, a file of text. */
static void setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(
        shell("c='gemm/naive:dtype=f32,m=4,n=4,k=4'; gpuparity run $c --on cuda-sim -o a.h5 "
              ">log && "
              "gpuparity run $c --on hip-sim -o b.h5 >log && "
              "gpuparity run gemm/naive:m=5,n=4,k=4 --on hip-sim -o other.h5 >log && "
              "head -c 900 a.h5 >short.h5 && echo no record >text.h5 && : >empty.h5 && "
              "cp a.h5 flipped.h5 && printf '\\377\\377\\377' | dd of=flipped.h5 bs=1 seek=30 "
              "conv=notrunc 2>log && mkdir folder && "
              "npy() { printf '\\223NUMPY\\001\\000\\101\\000%-64s\\n%s' \"$1\" \"$2\"; } && "
              "npy \"{'descr':'|u1','fortran_order':False,'shape':(2,)}\" ab >x.npy && "
              "npy \"{'descr':'|u1','fortran_order':False,'shape':(1,2)}\" ab >y.npy && "
              "npy \"{'descr':'|u1','fortran_order':False,'shape':(2,)}\" a >short.npy"),
        0);
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static const struct {
    const char *command;
    int status;
    const char *says; /* in the one line on standard error */
} rows[] = {
    {"gpuparity chekc gemm", 2, "did you mean 'check'?"},
    {"gpuparity xyzzy", 2, "--help"},
    {"gpuparity check gemmm", 2, "gemm"},
    {"gpuparity check gemm/tild", 2, "tiled"},
    {"gpuparity check gemm/tiled:dtyp=f32", 2, "dtype"},
    {"gpuparity check gemm/tiled:dtype=bf61", 2, "bf16"},
    {"gpuparity check gemm/tiled:m=0x", 2, "m"},
    {"gpuparity check gemm/tiled:m=-3", 2, "m"},
    {"gpuparity check gemm/tiled:m=99999999999999999999", 2, "m"},
    {"gpuparity check gemm/tiled:m=1000000,n=1000000,k=1000000", 2, "m"},
    {"gpuparity check gemm/tiled:m=3,m=4", 2, "m"},
    {"gpuparity check gemm/tiled:dist=norml", 2, "normal"},
    {"gpuparity check gemm/tiled:mode=strcit", 2, "strict"},
    {"gpuparity check 'gemm/*:-*'", 2, "selects none"},
    {"gpuparity check gemm --tags quik", 2, "quick"},
    {"gpuparity check gemm --on cuda", 2, "--on cuda,hip"},
    {"gpuparity check gemm --on cuda-sim,cuda-sim", 2, "two different"},
    {"gpuparity check gemm --on cuda,hpi", 2, "hip"},
    {"gpuparity check gemm --on cuda,hip,cuda", 2, "more than 2"},
    {"gpuparity check gemm --on hip:0,cuda-sim", 77, "hip"},
    {"gpuparity check gemm --on cuda:7,hip", 77, "cuda"},
    {"gpuparity check gemm --jbos 2", 2, "--jobs"},
    {"gpuparity check gemm --jobs 0", 2, "--jobs"},
    {"gpuparity check gemm --jobs many", 2, "--jobs"},
    {"gpuparity check gemm --timeout -1", 2, "--timeout"},
    {"gpuparity check gemm --shard 3/2", 2, "--shard"},
    {"gpuparity check gemm --shard 0/2", 2, "--shard"},
    {"gpuparity check gemm --code silver", 2, "golden"},
    {"gpuparity check gemm/naive:m=4,n=4,k=4 --tag novalue -q", 2, "KEY=VALUE"},
    {"gpuparity check gemm --output", 2, "--output"},
    {"gpuparity check gemm --strict=yes", 2, "takes no value"},
    {"gpuparity check gemm/naive:m=4,n=4,k=4 --report x.pdf", 2, ".html"},
    {"gpuparity run gemm --on cuda", 2, "--output"},
    {"gpuparity run gemm/naive:m=4,n=4,k=4 -o nowhere/x.h5 --on cuda-sim", 2, "nowhere"},
    {"gpuparity run gemm/naive:m=4,n=4,k=4 -o a.h5 --on cuda-sim", 2, "--replace"},
    {"gpuparity run gemm/naive:m=4,n=4,k=4 -o folder --on cuda-sim", 2, "folder"},
    {"gpuparity compare a.h5", 2, "two records"},
    {"gpuparity compare a.h5 missing.h5", 2, "missing.h5"},
    {"gpuparity compare a.h5 text.h5", 2, "text.h5"},
    {"gpuparity compare a.h5 empty.h5", 2, "empty.h5"},
    {"gpuparity compare a.h5 short.h5", 2, "short.h5"},
    {"gpuparity compare a.h5 flipped.h5", 2, "flipped.h5"},
    {"gpuparity compare a.h5 folder", 2, "folder"},
    {"gpuparity compare a.h5 other.h5", 2, "--common"},
    {"gpuparity compare a.h5 b.h5 --case norm", 2, "takes none of the cases"},
    {"gpuparity compare a.h5 b.h5 --limit upl:4", 2, "did you mean ulp?"},
    {"gpuparity compare a.h5 b.h5 --limit ulp", 2, "ulp:4"},
    {"gpuparity compare a.h5 b.h5 --limit share:1,ulp:4", 2, "stands alone"},
    {"gpuparity compare a.h5 b.h5 --map c=d", 2, "by their ids"},
    {"gpuparity compare x.npy y.npy", 2, "x is u8[2] in x.npy but u8[1,2] in y.npy"},
    {"gpuparity compare x.npy x.npy --limit bound:1", 2, "ulp, abs, rel, share, mean"},
    {"gpuparity compare x.npy x.npy --map x=", 2, "--map wants"},
    {"gpuparity compare x.npy x.npy --map a=b", 2, "no such tensor"},
    {"gpuparity compare x.npy x.npy --case nothing", 2, "takes none of the 1 tensors"},
    {"gpuparity compare x.npy a.h5", 2, "gpuparity compare: "},
    {"gpuparity compare x.npy missing.npy", 2, "missing.npy"},
    {"gpuparity compare x.npy short.npy", 2, "truncated"},
    {"gpuparity verify short.h5", 2, "short.h5"},
    {"gpuparity report a.h5 --format xlsx", 2, "html"},
    {"gpuparity report a.h5 --format json -o /dev/full", 2, "/dev/full"},
    {"gpuparity report a.h5 --format json -o nowhere/r.json", 2, "nowhere"},
    {"gpuparity help chekc", 2, "did you mean 'check'?"},
    {"gpuparity probe none.h5", 2, "cannot open none.h5"},
    {"gpuparity probe a.h5", 2, "gpuparity probe --on DEVICE -o REC.h5"},
    {"gpuparity probe a.h5 a.h5 a.h5", 2, "one or two records"},
    {"gpuparity probe a.h5 --on cuda-sim", 2, "probe wants a device"},
    {"gpuparity probe gemm --on cuda-sim", 2, "gemm says nothing about a device"},
    {"gpuparity probe --tree gemm/naive:k=1", 2, "2 to 512 terms"},
    {"gpuparity probe --tree math/expf", 2, "that of gemm, reduce can"},
    {"gpuparity probe probe/f16 --tree gemm/naive", 2, "takes one case"},
    {"gpuparity merge", 2, "gpuparity merge S1.h5"},
    {"gpuparity merge a.h5 b.h5", 2, "-o REC.h5"},
    {"gpuparity merge a.h5 b.h5 -o m.h5", 2, "a.h5 is a whole record"},
    {"gpuparity merge flipped.h5 -o m.h5", 2, "flipped.h5"},
    {"gpuparity merge none.h5 -o m.h5", 2, "cannot open none.h5"},
    {"gpuparity merge a.h5 --shard 1/2 -o m.h5", 2, "--shard"},
    {"gpuparity show", 2, "REC.h5"},
    {"gpuparity show a.h5 /no/such", 2, "/no/such"},
    {"gpuparity list gemm --format yaml", 2, "json"},
    {"gpuparity golden silver", 2, "check"},
    {"gpuparity golden check --backend xpu", 2, "cuda"},
    {"gpuparity doctor now", 2, "now"},
    {"GPUPARITY_SIM_DIR=/nowhere gpuparity run gemm/naive:m=4,n=4,k=4 --on hip-sim -o z.h5", 77,
     "/nowhere"},
};
enum { ROWS = sizeof rows / sizeof *rows };

static void read_file(const char *name, char *ret_text, size_t size)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    size_t n = fread(ret_text, 1, size - 1, f);
    ret_text[n] = 0;
    fclose(f);
}

START_TEST(one_clear_line)
{
    char command[1024], out[4096], err[8192];
    snprintf(command, sizeof command, "{ %s; } >out 2>err </dev/null", rows[_i].command);
    int status = shell(command);
    read_file("out", out, sizeof out);
    read_file("err", err, sizeof err);
    const char *end = strchr(err, '\n');
    ck_assert_msg(status == rows[_i].status, "%s: exit %d: %s", rows[_i].command, status, err);
    ck_assert_msg(end && !end[1], "%s: not one line: %s", rows[_i].command, err);
    ck_assert_msg(!strncmp(err, "gpuparity", 9), "%s: %s", rows[_i].command, err);
    ck_assert_msg(strstr(err, rows[_i].says) != NULL, "%s: no '%s' in: %s", rows[_i].command,
                  rows[_i].says, err);
    ck_assert_msg(!out[0], "%s: on standard output: %s", rows[_i].command, out);
}
END_TEST

/* Trouble leaves nothing behind: no half-written record or report. */
START_TEST(probe_compares_two_devices)
{
    static const char *const commands[] = {
        "gpuparity probe --tree reduce/warp:n=8 --on cuda-sim,hip-sim >log && "
        "grep -q 'add in the same order' log",
        "gpuparity probe --tree gemm/mma:dtype=f16,k=8 --on cuda-sim,hip-sim >log && "
        "grep -q 'add in different orders' log",
        "gpuparity probe probe/atomic --on cuda-sim,hip-sim -o both.h5 >log && "
        "grep -q '1 answers differ, 3 are the same' log && gpuparity probe both.h5 | cmp - log",
    };
    ck_assert_int_eq(shell(commands[_i]), 0);
}
END_TEST

START_TEST(nothing_is_lost_or_left)
{
    ck_assert_int_eq(shell("gpuparity run gemm/naive:m=4,n=4,k=4 -o a.h5 --on cuda-sim 2>log; "
                           "gpuparity verify a.h5 -q >log"),
                     0);
    ck_assert_int_eq(shell("gpuparity report a.h5 --format html -o nowhere/r.html 2>log; "
                           "ls | grep -c 'partial\\|tmp' >log"),
                     1);
}
END_TEST

START_TEST(statuses)
{
    ck_assert_int_eq(shell("gpuparity --help >log && gpuparity check --help >log && "
                           "gpuparity --version >log"),
                     0);
    ck_assert_int_eq(shell("gpuparity compare a.h5 b.h5 >log"), 0);
    ck_assert_int_eq(shell("gpuparity check gemm/fault_drop:m=4,n=4,k=4 -q >log"), 1);
    ck_assert_int_eq(shell("gpuparity check gemm/naive:m=4,n=4,k=4,dist=zero -q >log"), 1);
    ck_assert_int_eq(shell("gpuparity check gemm/naive:m=4,n=4,k=4 -q >/dev/full 2>log"), 2);
    ck_assert_int_eq(
        shell("gpuparity check gemm/naive:m=4,n=4,k=4,mode=flush --code golden -q >log"), 77);
}
END_TEST

/* Text reports keep within 80 columns, but for ids and the lines to copy. */
START_TEST(tables_fit_a_terminal)
{
    ck_assert_int_eq(
        shell("gpuparity check gemm/fault_drop:m=4,n=4,k=4 gemm/naive:m=40,n=40,k=40 "
              ">log; grep -v 'gemm/' log | grep -v '^  [A-Zc]' | awk 'length > 80' | "
              "grep . && exit 1; exit 0"),
        0);
}
END_TEST

/* On a terminal long work says how far it is, with rate and time left, in one line of at most
 * 80 columns; --quiet, and standard error that is a file, say nothing. */
START_TEST(progress_is_for_terminals)
{
    static const char *const run =
        "gpuparity run 'gemm/naive:m={3|4|5|6},n=4,k=4' --on cuda-sim "
        "--replace -o p.h5";
    char command[512];
    if (shell("script -qec true /dev/null >log 2>&1")) {
        printf("skipped: no script (apt install bsdutils)\n");
        return;
    }
    snprintf(command, sizeof command, "script -qec \"%s >/dev/null\" tty >log 2>&1", run);
    ck_assert_int_eq(shell(command), 0);
    ck_assert_int_eq(
        shell("tr '\\r' '\\n' <tty | sed 's/\\x1b.K//' >lines; "
              "grep -Eq '^cuda-sim 2/4, [0-9.e+]+/s, [0-9]+ s left  gemm/naive:' lines && "
              "! grep -v '^Script' lines | awk 'length > 80' | grep -q ."),
        0);
    ck_assert_int_eq(shell("script -qec 'gpuparity compare a.h5 b.h5 >said' tty >log 2>&1; "
                           "grep -q 'judged 1/' tty && ! grep -q judged said"),
                     0);
    snprintf(command, sizeof command,
             "script -qec \"%s -q >/dev/null\" tty >log 2>&1; %s >/dev/null 2>err; "
             "! grep -q '/s,' tty err",
             run, run);
    ck_assert_int_eq(shell(command), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cli");
    TCase *c = tcase_create("cli");
    suite_add_tcase(s, c);
    tcase_add_unchecked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, probe_compares_two_devices, 0, 3);
    tcase_add_loop_test(c, one_clear_line, 0, ROWS);
    tcase_add_test(c, nothing_is_lost_or_left);
    tcase_add_test(c, statuses);
    tcase_add_test(c, tables_fit_a_terminal);
    tcase_add_test(c, progress_is_for_terminals);
    return suite_run(s);
}
