/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "caseid.h"
#include "fingerprint.h"
#include "planted.h"
#include "suite.h"

/* --- what both devices must answer -----------------------------------------------------------
 *
 * Derived by hand from the vendors' documents and from captures of silicon, as
 * docs/simulators.md and the rules.c of both simulators cite them; NULL: as on NVIDIA. A word
 * ending in '*' is a beginning. */

struct expected {
    const char *topic, *name, *cuda, *hip;
};

static const struct expected expected[] = {
#define ONCE "contracted: rounded once"
#define NEAREST "to nearest, ties to even"
#define QUIET "itself, made quiet"
#define ANY(bits) bits ", whatever it was"
    {"probe/scalar", "the operations are what they are called", "yes", NULL},
    {"probe/scalar", "functions of exact arguments", "exact", NULL},
    /* nvcc's front end joins within an expression, ptxas where all uses are sums; clang
     * everywhere */
    {"probe/scalar", "a * b + c", ONCE, NULL},
    {"probe/scalar", "a * b + c, a * b used elsewhere too", "rounded twice", ONCE},
    {"probe/scalar", "a * b + c beside a * b - c", ONCE, NULL},
    {"probe/scalar", "fmaf(a, b, c)", "rounded once", NULL},
    {"probe/scalar", "rounding of a + b", NEAREST, NULL},
    {"probe/scalar", "rounding of a * b", NEAREST, NULL},
    {"probe/scalar", "subnormals, a + b", "kept", NULL},
    {"probe/scalar", "subnormals, a * b", "kept", NULL},
    {"probe/scalar", "subnormals, fmaf", "kept", NULL},
    {"probe/scalar", "subnormals, a / b", "kept", NULL},
    {"probe/scalar", "subnormal operand, sqrtf", "kept", NULL},
    {"probe/scalar", "subnormal result, exp2f", "kept", NULL},
    {"probe/scalar", "subnormal operand, log2f", "kept", NULL},
    {"probe/scalar", "subnormals, fmaxf", "kept", NULL},
    {"probe/scalar", "subnormals, f32 to f16 and back", "kept", NULL},
    {"probe/scalar", "f32 to f16: ties, overflow", "to nearest even, Inf", NULL},
    {"probe/scalar", "f32 to bf16: ties, overflow", "to nearest even, Inf", NULL},
    {"probe/scalar", "f32 to i32: NaN, 3e9, -3e9, -1.75", "0, saturates, toward zero", NULL},
    {"probe/scalar", "NaN of Inf - Inf and 0 * Inf", "0x7fffffff", "0xffc00000"},
    {"probe/scalar", "NaN of 0 / 0 and sqrtf(-1)", "0x7fffffff", "0xffc00000"},
    {"probe/scalar", "NaN operand of a + b and fmaf", ANY("0x7fffffff"), QUIET},
    {"probe/scalar", "NaN to f16 and to bf16", ANY("0x7fff"), "itself, cut and made quiet"},
    {"probe/scalar", "NaN from f16", ANY("0x7fffffff"), QUIET},
    /* HIP makes signalling NaNs quiet before v_max */
    {"probe/scalar", "fmaxf of a number and a NaN (signalling)", "the number", NULL},
    {"probe/scalar", "fmaxf and fminf of zeros", "+0 is above -0", NULL},
    {"probe/scalar", "sign of -0 + 0, 1 - 1, -0 * 1, sqrtf(-0)", "+ + - - (IEEE)", NULL},
    {"probe/scalar", "lanes that run together", "32", NULL},
    {"probe/scalar", "3 / b", "correctly rounded, 128 of 128", NULL},
    {"probe/scalar", "1 / a", "correctly rounded, 128 of 128", NULL},
    {"probe/scalar", "sqrtf", "correctly rounded, 128 of 128", NULL},
    /* modelled as the nearest number on NVIDIA; v_rsq and v_exp as captured */
    {"probe/scalar", "rsqrtf", "correctly rounded, 128 of 128", "not always*"},
    {"probe/scalar", "expf", "not always*", NULL},
    {"probe/scalar", "exp2f", "correctly rounded, 128 of 128", "not always*"},
    {"probe/scalar", "logf", "not always*", NULL},
    {"probe/scalar", "log2f", "not always*", NULL},
    {"probe/atomic", "sum of 1 and 2", "3", NULL},
    {"probe/atomic", "subnormals, atomic add in global memory", "operands and results flushed",
     "kept"},
    {"probe/atomic", "subnormals, atomic add in shared memory", "kept", NULL},
    {"probe/atomic", "rounding, atomic add in global memory", NEAREST, NULL},
    {"probe/f16", "matrix unit", "there is one", NULL},
    {"probe/f16", "products per addition", "8, in ascending order", "2, in ascending order"},
    {"probe/f16", "bits kept below the largest term", "24", NULL},
    {"probe/f16", "1 - 1", "0", "a unit of 2^-24 below 0"},
    {"probe/f16", "1 - 1 + C with C = 1", "1", "a unit below 1"},
    {"probe/f16", "rounding of C + a * b", "toward zero", NEAREST},
    {"probe/f16", "subnormal operands", "kept", NULL},
    {"probe/f16", "subnormal C", "kept", "taken as zero"},
    {"probe/f16", "NaN of a NaN operand", "0x7fffffff", "0xffc00a3d"},
    {"probe/f16", "NaN of Inf * 0", "0x7fffffff", "0xffc00000"},
    {"probe/f16", "NaN as C", ANY("0x7fffffff"), QUIET},
    {"probe/f16_f16", "products per addition", "8, in ascending order",
     "2, in ascending order"},
    {"probe/f16_f16", "rounding of C + a * b", NEAREST, NULL},
    {"probe/f16_f16", "subnormal C", "kept", NULL},
    {"probe/f16_f16", "NaN of Inf * 0", "0x7fff", "0xfe00"},
    {"probe/bf16", "products per addition", "8, in ascending order", "2, in ascending order"},
    {"probe/bf16", "bits kept below the largest term", "24", NULL},
    {"probe/bf16", "rounding of C + a * b", "toward zero", NEAREST},
    {"probe/bf16", "subnormal operands", "kept", "taken as zero"},
    {"probe/bf16", "subnormal C", "kept", "taken as zero"},
    {"probe/bf16", "subnormal results", "kept", "flushed"},
    {"probe/bf16", "2^130 - 2^130 + 1", "0: products have room, 1 is cut",
     "a unit of 2^106 below 0: products have room"},
    {"probe/tf32", "matrix unit", "there is one", "there is none: f32 multiply-adds instead"},
    {"probe/tf32", "products per addition", "4, in ascending order", "1, in ascending order"},
    {"probe/tf32", "low 13 bits of operands", "cut off", "used: operands are f32"},
    {"probe/tf32", "rounding of C + a * b", "toward zero", NEAREST},
};
enum { EXPECTED = sizeof expected / sizeof *expected };

/* `word` is a case or a family. */
static struct fingerprint probed(const char *word, const char *device, const char *code)
{
    struct errinfo e = {0};
    struct session s;
    struct fingerprint f;
    struct options *o = calloc(1, sizeof *o);
    o->n_word = 1;
    o->word[0] = word;
    o->on = device;
    o->code = code;
    o->quiet = true;
    ck_assert_msg(!session_run(&s, o, 1, device, true, &e), "%s", e.text);
    ck_assert_msg(!fingerprint_read(s.record, s.run[0], "it", &f, &e), "%s", e.text);
    session_release(&s);
    free(o);
    return f;
}

static const struct fingerprint_row *row_of(const struct fingerprint *f, const char *topic,
                                            const char *name)
{
    for (int i = 0; i < f->count; i++)
        if (!strcmp(f->row[i].topic, topic) && !strcmp(f->row[i].r.name, name))
            return &f->row[i];
    ck_abort_msg("no line %s: %s", topic, name);
}

static void answers_check(const char *device, bool hip)
{
    struct fingerprint f = probed("probe", device, "golden");
    for (int i = 0; i < EXPECTED; i++) {
        const struct expected *x = &expected[i];
        const struct fingerprint_row *row = row_of(&f, x->topic, x->name);
        const char *want = hip && x->hip ? x->hip : x->cuda, *star = strchr(want, '*');
        size_t length = star ? (size_t)(star - want) : strlen(want) + 1;
        ck_assert_msg(!strncmp(row->r.words, want, length), "%s %s %s: '%s', not '%s'; %s",
                      device, x->topic, x->name, row->r.words, want, row->r.proof);
        ck_assert_msg(strchr(row->r.proof, '=') != NULL, "%s has no proof", x->name);
    }
    fingerprint_release(&f);
}

START_TEST(devices_answer_as_documented)
{
    answers_check("cuda-sim", false);
    answers_check("hip-sim", true);
}
END_TEST

/* --- switches change their lines and no other ------------------------------------------------
 */

struct change {
    const char *variable, *value, *word, *device;
    const char *lines[16]; /* exactly these */
};

static const struct change changes[] = {
    {"GPUPARITY_SIM_FUSE", "0", "probe", "cuda-sim", {"a * b + c beside a * b - c"}},
    {"GPUPARITY_SIM_APPROX", "high", "probe", "cuda-sim", {"rsqrtf", "expf", "exp2f"}},
    {"GPUPARITY_SIM_ORDER", "reverse", "probe", "cuda-sim", {NULL}},
    {NULL,
     NULL,
     "probe/scalar:mode=strict",
     "cuda-sim",
     {"a * b + c", "a * b + c beside a * b - c"}},
    {NULL,
     NULL,
     "probe/scalar:mode=strict",
     "hip-sim",
     {"a * b + c", "a * b + c, a * b used elsewhere too", "a * b + c beside a * b - c",
      "logf"}}, /* AMD's library is compiled with the kernel */
    {NULL,
     NULL,
     "probe/scalar:mode=flush",
     "cuda-sim",
     {"subnormals, a + b", "subnormals, a * b", "subnormals, fmaf", "subnormals, a / b",
      "subnormal operand, sqrtf", "subnormal result, exp2f", "subnormal operand, log2f",
      "subnormals, fmaxf"}},
};

static int listed(const struct change *c, const char *name)
{
    for (int i = 0; i < 16 && c->lines[i]; i++)
        if (!strcmp(c->lines[i], name))
            return 1;
    return 0;
}

static const char *same_topic(const struct fingerprint_row *row)
{
    static char topic[96];
    snprintf(topic, sizeof topic, "%s", row->topic);
    topic[strcspn(topic, ":")] = 0;
    return topic;
}

START_TEST(switches_change_their_lines_only)
{
    const struct change *c = &changes[_i];
    bool flush = strstr(c->word, "flush") != NULL;
    struct fingerprint plain = probed("probe", c->device, "golden");
    if (c->variable)
        setenv(c->variable, c->value, 1);
    struct fingerprint f = probed(c->word, c->device, flush ? "auto" : "golden");
    if (c->variable)
        unsetenv(c->variable);
    if (flush && !f.row[0].ran)
        printf("skipped: mode=flush of cuda-sim: it needs NVRTC (pip install "
               "nvidia-cuda-nvrtc-cu12, or its file in GPUPARITY_NVRTC)\n");
    for (int i = 0; i < f.count && f.row[i].ran; i++) {
        const struct fingerprint_row *was =
            row_of(&plain, same_topic(&f.row[i]), f.row[i].r.name);
        int differs = strcmp(was->r.words, f.row[i].r.words) != 0;
        ck_assert_msg(differs == listed(c, f.row[i].r.name), "%s: %s, then %s", was->r.name,
                      was->r.words, f.row[i].r.words);
    }
    fingerprint_release(&plain);
    fingerprint_release(&f);
}
END_TEST

/* --- two devices -----------------------------------------------------------------------------
 */

static void claims_sink_check(const char *id, enum cause cause, const char *says)
{
    struct seen s = checked(id);
    ck_assert_msg(s.verdict == VERDICT_EQUIVALENT && s.cause == cause, "%s: %s %s", id,
                  verdict_name(s.verdict), s.reason);
    ck_assert_msg(strstr(s.reason, says) != NULL, "%s", s.reason);
}

START_TEST(what_differs_is_named)
{
    claims_sink_check("probe/scalar", CAUSE_CONTRACTION, "a * b + c, a * b used elsewhere too");
    claims_sink_check("probe/bf16", CAUSE_ORDER, "A 8, in ascending order");
    claims_sink_check("probe/atomic", CAUSE_FLUSH, "B kept");
    claims_sink_check("probe/f16", CAUSE_ORDER, "A 8, in ascending order");
    claims_sink_check("probe/tf32", CAUSE_UPCAST, "B there is none");
}
END_TEST

START_TEST(comparison_counts)
{
    int same, alone;
    char *text;
    size_t size;
    struct fingerprint a = probed("probe", "cuda-sim", "golden");
    struct fingerprint b = probed("probe/atomic", "hip-sim", "golden");
    FILE *out = open_memstream(&text, &size);
    ck_assert_int_eq(fingerprint_compare(out, &a, &b, &same, &alone), 1);
    fclose(out);
    ck_assert(same == 3 && alone == a.count - 4);
    ck_assert(strstr(text, "denormal flush") && strstr(text, "B: add of 00000001, 00800000"));
    free(text);
    fingerprint_release(&a);
    fingerprint_release(&b);
}
END_TEST

START_TEST(questions_are_fixed)
{
    struct case_plan plan;
    struct errinfo e = {0};
    struct case_id id;
    ck_assert(!caseid_parse("probe/f16:seed=2", &id, &e));
    ck_assert_int_eq(id.family->plan(&id, &plan, &e), ERR_USAGE);
    ck_assert_msg(strstr(e.text, "leave dist and seed out") != NULL, "%s", e.text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("probe");
    TCase *c = tcase_create("probe");
    tcase_add_test(c, devices_answer_as_documented);
    tcase_add_loop_test(c, switches_change_their_lines_only, 0,
                        sizeof changes / sizeof *changes);
    tcase_add_test(c, what_differs_is_named);
    tcase_add_test(c, comparison_counts);
    tcase_add_test(c, questions_are_fixed);
    suite_add_tcase(s, c);
    return suite_run(s);
}
