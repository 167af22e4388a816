/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "divergetext.h"
#include "explainplace.h"
#include "suite.h"

/* explain: cases of which it is known by construction what makes the two simulated sides
 * differ. */

/* --- on the simulated devices ----------------------------------------------------------------
 */

static const struct {
    const char *id, *variable; /* the variable acts on CUDA's side only */
    enum explain_end end;
    const char *where, *change;
} known[] = {
    {"gemm/naive:dtype=f32,m=9,n=8,k=33", "", EXPLAIN_SAME, NULL, NULL},
    /* AMD's compiler fuses the update, and the simulated assembler of NVIDIA cannot. */
    {"optim8bit/lion32:dtype=f32,n=1100,beta2=0.99,wd=0.03", "", EXPLAIN_EQUAL, "hip-sim",
     "contract=off"},
    /* These are equal unless NVIDIA's assembler is told not to join them. */
    {"optim8bit/momentum8:dtype=f32,n=1100", "", EXPLAIN_SAME, NULL, NULL},
    {"optim8bit/momentum8:dtype=f32,n=1100", "GPUPARITY_SIM_FUSE", EXPLAIN_EQUAL, "hip-sim",
     "contract=off"},
    /* A planted fault in one kernel of the family; the plain kernel is right. */
    {"gemm/fault_scale:dtype=f32,m=16,n=16,k=16", "", EXPLAIN_EQUAL, "hip-sim",
     "variant=naive"},
    /* One side's atomics flush, which no switch of the other can undo. */
    {"gemm/splitk:dtype=f32,m=48,n=40,k=96,dist=subnormal", "", EXPLAIN_VERDICT, "cuda-sim",
     "variant=naive"},
    /* Different matrix units. */
    {"gemm/mma:dtype=f16,m=64,n=64,k=64", "", EXPLAIN_NOTHING, NULL, NULL},
};

static void open_sides(struct explain *x, struct case_id *id, struct device_choice device[2],
                       const char *text)
{
    struct errinfo e;
    int n;
    ck_assert_int_eq(caseid_parse(text, id, &e), 0);
    ck_assert_int_eq(device_parse_list("cuda-sim,hip-sim", 2, device, &n, &e), 0);
    memset(x, 0, sizeof *x);
    x->id = id;
    x->device = device;
    x->threads = 1;
    x->trial = (struct trial){.code = RUN_CODE_GOLDEN, .timeout = 60};
}

START_TEST(known_differences_are_explained)
{
    struct errinfo e;
    static struct explain x;
    struct case_id id;
    struct device_choice device[2];
    open_sides(&x, &id, device, known[_i].id);
    if (known[_i].variable[0])
        setenv(known[_i].variable, "0", 1);
    ck_assert_msg(explain_search(&x, &e) == 0, "%s", e.text);
    ck_assert_msg(x.end == known[_i].end, "%s: %d", known[_i].id, (int)x.end);
    if (known[_i].where) {
        const struct explain_trial *t = &x.trial_of[x.best];
        char change[200];
        lowering_print(x.side[t->side].list, x.side[t->side].n, t->set, change, sizeof change);
        ck_assert_str_eq(x.side[t->side].name, known[_i].where);
        ck_assert_str_eq(change, known[_i].change);
    } else {
        ck_assert_int_lt(x.best, 0);
    }
    unsetenv("GPUPARITY_SIM_FUSE");
    explain_release(&x);
}
END_TEST

/* What cannot be tried here says so, and does not count as tried. */
START_TEST(missing_compilers_are_said)
{
    struct errinfo e;
    static struct explain x;
    struct case_id id;
    struct device_choice device[2];
    int untried = 0;
    open_sides(&x, &id, device, "gemm/fault_scale:dtype=f32,m=16,n=16,k=16");
    ck_assert_msg(explain_search(&x, &e) == 0, "%s", e.text);
    for (int i = 0; i < x.n_trial; i++)
        if (x.trial_of[i].status) {
            untried++;
            ck_assert_ptr_nonnull(strstr(x.trial_of[i].reason, "only default and strict"));
        }
    ck_assert_int_eq(untried, 8); /* flush, fastdiv, fastsqrt, approx on either side */
    explain_release(&x);
}
END_TEST

/* --change: the verdict of that change alone. */
START_TEST(one_change_is_judged_alone)
{
    struct errinfo e;
    static struct explain x;
    struct case_id id;
    struct device_choice device[2];
    struct finding f;
    uint32_t set;
    open_sides(&x, &id, device, "gemm/naive:dtype=f32,m=20,n=12,k=33");
    explain_sides(&x);
    ck_assert_int_eq(lowering_parse(x.side[1].list, x.side[1].n, "contract=off", &set, &e), 0);
    ck_assert_int_eq(explain_change(&x, 1, set, &f, &e), 0);
    ck_assert_int_eq(f.verdict, VERDICT_EQUIVALENT);
    finding_release(&f);
    ck_assert_int_eq(explain_change(&x, 2, set, &f, &e), 0);
    ck_assert_int_eq(f.verdict, VERDICT_SAME);
    finding_release(&f);
    ck_assert_int_ne(lowering_parse(x.side[1].list, x.side[1].n, "contract=maybe", &set, &e),
                     0);
    ck_assert_ptr_nonnull(strstr(e.text, "contract=off"));
    ck_assert_int_eq(
        lowering_parse(x.side[0].list, x.side[0].n, "unit=low+unit=high", &set, &e), 0);
    ck_assert_int_eq(explain_change(&x, 0, set, &f, &e), ERR_USAGE);
    explain_release(&x);
}
END_TEST

/* --- the operation ---------------------------------------------------------------------------
 */

static struct optrace trace_of(const char *text)
{
    struct optrace t;
    char path[] = "/tmp/gpuparity-optrace-XXXXXX";
    FILE *f = fdopen(mkstemp(path), "w+");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    rewind(f);
    ck_assert(optrace_read(f, 0, &t));
    fclose(f);
    unlink(path);
    return t;
}

#define STORE(v) "store 0 0 0 5 32 " v "\n"
#define HEAD "launch k\nload 32 40000000 @l1\nload 32 40400000 @l2\nload 32 3f800001 @l3\n"

static const struct {
    const char *a, *b;
    enum diverge_kind kind;
    int64_t steps;
} parts[] = {
    {HEAD STORE("1"), HEAD STORE("1"), DIVERGE_NOWHERE, 0},
    /* 2 * 3 + x, once with the product apart; AMD's operands are in another order. */
    {HEAD "op fma_f32 32 11 40000000 40400000 3f800001 @p\n" STORE("11"),
     HEAD "op v_mul_f32 32 40c00000 40400000 40000000 - @p\n"
          "op v_add_f32 32 12 3f800001 40c00000 - @q\n" STORE("12"),
     DIVERGE_CONTRACTION, 1},
    /* The same, two sums later. */
    {HEAD "op fma_f32 32 11 40000000 40400000 3f800001 @p\n"
          "op add_f32 32 21 11 40000000 - @r\nop sub_f32 32 31 21 40400000 - @s\n" STORE("31"),
     HEAD "op v_mul_f32 32 40c00000 40400000 40000000 - @p\n"
          "op v_add_f32 32 12 3f800001 40c00000 - @q\n"
          "op v_add_f32 32 22 40000000 12 - @r\nop v_subrev_f32 32 32 40400000 22 - @s\n" STORE(
              "32"),
     DIVERGE_CONTRACTION, 3},
    /* Another result of the same square root; a product by one in between. */
    {HEAD "op sqrt_rn_f32 32 11 40000000 - - @p\n" STORE("11"),
     HEAD
     "op v_sqrt_f32 32 12 40000000 - - @p\nop v_mul_f32 32 12 3f800000 12 - @q\n" STORE("12"),
     DIVERGE_UNIT, 1},
    /* The same with a scaling that scales by nothing. */
    {HEAD "op ex2_approx_f32 32 11 40000000 - - @p\n" STORE("11"),
     HEAD "op v_exp_f32 32 12 40000000 - - @p\nop v_ldexp_f32 32 12 12 0 - @q\n" STORE("12"),
     DIVERGE_UNIT, 1},
    /* Terms in another order. */
    {HEAD
     "op add_f32 32 7 40000000 40400000 - @p\nop add_f32 32 11 7 3f800001 - @q\n" STORE("11"),
     HEAD
     "op add_f32 32 8 40400000 3f800001 - @p\nop add_f32 32 12 8 40000000 - @q\n" STORE("12"),
     DIVERGE_OPERANDS, 2},
    {HEAD "op mma 32 11 - - - @p\n" STORE("11"),
     HEAD "op v_wmma_f32_16x16x16_f16 32 12 - - - @p\n" STORE("12"), DIVERGE_MATRIX, 1},
    {HEAD STORE("40000000"), HEAD STORE("40400000"), DIVERGE_MEMORY, 1},
    /* B has A's sum and adds another term to it; then A. */
    {HEAD "op add_f32 32 3f812345 40000000 40400000 - @p\n" STORE("3f812345"),
     HEAD "op v_add_f32 32 3f812345 40000000 40400000 - @p\n"
          "op v_add_f32 32 13 3f812345 3f800001 - @q\n" STORE("13"),
     DIVERGE_MORE, 1},
    {HEAD "op add_f32 32 3f812345 40000000 40400000 - @p\n"
          "op fma_f32 32 13 40400000 3f800001 3f812345 @q\n" STORE("13"),
     HEAD "op v_add_f32 32 3f812345 40000000 40400000 - @p\n" STORE("3f812345"), DIVERGE_MORE, 1},
    /* That both go on from one is no sign of that. */
    {HEAD "op mul_f32 32 3f800000 40000000 3f000000 - @p\n" STORE("3f800000"),
     HEAD "op v_sqrt_f32 32 13 3f800000 - - @q\n" STORE("13"), DIVERGE_OPERATION, 1},
    /* Thread 9 has made what thread 5 stores: the same sum, flushed by one side. */
    {"launch k\nthread 9\nop add_f32 32 11 80000123 00000234 - @p\nthread 5\n"
     "load 32 11 @l\n" STORE("11"),
     "launch k\nthread 9\nop v_add_f32 32 0 80000123 00000234 - @p\nthread 5\n"
     "load 32 0 @l\n" STORE("0"),
     DIVERGE_UNIT, 1},
    /* Both terms of a sum differ, and behind the first the units do. */
    {HEAD "op sqrt_rn_f32 32 11 40000000 - - @p\nop sqrt_rn_f32 32 21 40400000 - - @p\n"
          "op add_f32 32 31 11 21 - @q\n" STORE("31"),
     HEAD "op v_sqrt_f32 32 12 40000000 - - @p\nop v_sqrt_f32 32 22 40400000 - - @p\n"
          "op v_add_f32 32 32 12 22 - @q\n" STORE("32"),
     DIVERGE_UNIT, 2},
    /* Or other numbers went in: then the sum is the place. */
    {HEAD "op add_f32 32 11 40000000 1 - @p\nop add_f32 32 21 40400000 2 - @p\n"
          "op add_f32 32 31 11 21 - @q\n" STORE("31"),
     HEAD "op v_add_f32 32 12 40000000 3 - @p\nop v_add_f32 32 22 40400000 4 - @p\n"
          "op v_add_f32 32 32 12 22 - @q\n" STORE("32"),
     DIVERGE_OPERANDS, 1},
    {HEAD STORE("77"), HEAD STORE("78"), DIVERGE_UNKNOWN, 1},
};

START_TEST(where_two_traces_part)
{
    struct optrace a = trace_of(parts[_i].a), b = trace_of(parts[_i].b);
    struct diverge d;
    diverge_find(&a, &b, &d);
    ck_assert_msg(d.kind == parts[_i].kind && d.steps == parts[_i].steps, "%d: %d after %d", _i,
                  (int)d.kind, (int)d.steps);
    ck_assert_uint_eq(a.thread, 5);
    optrace_release(&a);
    optrace_release(&b);
}
END_TEST

static const struct {
    const char *a, *b, *words;
} sentences[] = {
    {HEAD "op div_f32 32 11 40a00000 40400000 - @p\n" STORE("11"),
     HEAD "op v_rcp_f32 32 3eaaaaab 40400000 - - @p\n"
          "op v_mul_f32 32 12 40a00000 3eaaaaab - @q\n" STORE("12"),
     "A's comes from a division, B's from a product with a reciprocal"},
    {HEAD "op ex2_approx_f32 32 40100001 3f900000 - - @p\n"
          "op mul_f32 32 3f100001 40100001 3e800000 - @q\n" STORE("3f100001"),
     HEAD "op v_sqrt_f32 32 12 40000000 - - @p\n" STORE("12"),
     "A's comes from the exp2 unit, scaled by a power of two, B's from a square root"},
    {HEAD "op add_f32 32 3f812345 40000000 40400000 - @p\n" STORE("3f812345"),
     HEAD "op v_mul_f32 32 13 3f812345 3f800001 - @q\n" STORE("13"),
     "B does one operation more: a product on the value that A has already"},
};

START_TEST(two_operations_are_told_in_words)
{
    struct optrace a = trace_of(sentences[_i].a), b = trace_of(sentences[_i].b);
    struct diverge d;
    char text[400];
    diverge_find(&a, &b, &d);
    divergetext_meaning(&a, &b, &d, text, sizeof text);
    ck_assert_msg(strstr(text, sentences[_i].words) != NULL, "%s", text);
    optrace_release(&a);
    optrace_release(&b);
}
END_TEST

static float as_float(uint64_t bits)
{
    uint32_t u = (uint32_t)bits;
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static void place_of(struct explain *x, const char *text, struct explain_place *p)
{
    struct errinfo e;
    static struct case_id id;
    static struct device_choice device[2];
    open_sides(x, &id, device, text);
    ck_assert_msg(explain_search(x, &e) == 0, "%s", e.text);
    ck_assert_msg(explain_place(x, p, &e) == 0, "%s", e.text);
    ck_assert_msg(p->found, "%s: %s", text, p->reason);
}

/* The operations that are named give, done here, the bits that each side has. */
START_TEST(the_operation_is_the_one)
{
    static struct explain x;
    struct explain_place p;
    place_of(&x, "optim8bit/lion32:dtype=f32,n=1100,beta2=0.99,wd=0.03", &p);
    const struct diverge *d = &p.diverge;
    ck_assert_int_eq(d->kind, DIVERGE_CONTRACTION);
    ck_assert(d->product_on_a && d->product && !strcmp(d->b->name, "fma"));
    volatile float product =
        as_float(d->product->operand[0]) * as_float(d->product->operand[1]);
    ck_assert(product == as_float(d->product->result));
    float fused = fmaf(as_float(d->b->operand[0]), as_float(d->b->operand[1]),
                       as_float(d->b->operand[2]));
    ck_assert(fused == as_float(d->b->result));
    volatile float twice = product + as_float(d->b->operand[2]);
    ck_assert(twice == as_float(d->a->result) && twice != fused);
    ck_assert_uint_eq(d->value_a, d->a->result);
    ck_assert_ptr_nonnull(strstr(d->a->place, "PTX line"));
    ck_assert_ptr_nonnull(strstr(d->b->place, "code + 0x"));
    explain_place_release(&p);
    explain_release(&x);
}
END_TEST

static const struct {
    const char *id, *operation;
    enum diverge_kind kind;
} places[] = {
    {"norm/rms:dtype=f32,rows=9,d=77,dist=special", "rsqrt", DIVERGE_UNIT},
    {"gemm/mma:dtype=f16,m=64,n=64,k=64", "mma", DIVERGE_MATRIX},
    /* One side leaves the last term out: the other does one fma more. */
    {"gemm/fault_drop:dtype=f32,m=33,n=18,k=20", "fma", DIVERGE_MORE},
    /* Shared memory: the last addition of the block's tree, by another thread or this one. */
    {"reduce/fault_flush:dtype=f32,rows=9,n=301,dist=subnormal", "add", DIVERGE_OPERANDS},
    {"gemm/fault_transpose:dtype=f32,m=16,n=16,k=16", "fma", DIVERGE_OPERANDS},
    /* Cut inputs: the first product of the sum is another one already. */
    {"gemm/fault_downcast:dtype=f32,m=16,n=16,k=16", "fma", DIVERGE_OPERANDS},
};

START_TEST(planted_operations_are_found)
{
    static struct explain x;
    struct explain_place p;
    place_of(&x, places[_i].id, &p);
    ck_assert_msg(p.diverge.kind == places[_i].kind, "%s: %d", places[_i].id,
                  (int)p.diverge.kind);
    ck_assert(p.diverge.a && !strcmp(p.diverge.a->name, places[_i].operation));
    if (strstr(places[_i].id, "downcast")) /* AMD's operand is NVIDIA's without 13 bits */
        ck_assert_uint_eq(p.diverge.b->operand[0], p.diverge.a->operand[0] & ~UINT64_C(0x1fff));
    explain_place_release(&p);
    explain_release(&x);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("explain");
    TCase *c = tcase_create("explain");
    suite_add_tcase(s, c);
    tcase_add_loop_test(c, known_differences_are_explained, 0,
                        (int)(sizeof known / sizeof *known));
    tcase_add_test(c, missing_compilers_are_said);
    tcase_add_test(c, one_change_is_judged_alone);
    tcase_add_loop_test(c, where_two_traces_part, 0, (int)(sizeof parts / sizeof *parts));
    tcase_add_loop_test(c, two_operations_are_told_in_words, 0,
                        (int)(sizeof sentences / sizeof *sentences));
    tcase_add_test(c, the_operation_is_the_one);
    tcase_add_loop_test(c, planted_operations_are_found, 0,
                        (int)(sizeof places / sizeof *places));
    return suite_run(s);
}
