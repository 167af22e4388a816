/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "divergetext.h"
#include "lowering.h"
#include "minimize.h"
#include "repro.h"
#include "session.h"
#include "wrap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WIDTH = 79 };

static void say(const char *text)
{
    wrap_print(stdout, text, 0, 2, WIDTH);
}

/* The file, tried before the search so that its end is not lost. A regular one is made under
 * another name and renamed; what is no regular file is written directly and never removed. */
struct output {
    const char *path;
    char made[4200]; /* "": written directly */
    FILE *file;
};

static enum err output_open(struct output *out, const struct options *o, struct errinfo *e)
{
    struct stat st;
    *out = (struct output){.path = o->output};
    if (!o->output)
        return ERR_OK;
    bool there = !stat(o->output, &st);
    if (there && !o->replace)
        return err_set(e, ERR_USAGE, "%.400s is there already; --replace overwrites it",
                       o->output);
    if (there && S_ISDIR(st.st_mode))
        return err_set(e, ERR_USAGE, "%.400s is a folder", o->output);
    if (!there || S_ISREG(st.st_mode))
        snprintf(out->made, sizeof out->made, "%.4000s.%ld", o->output, (long)getpid());
    out->file = fopen(out->made[0] ? out->made : o->output, "w");
    if (!out->file)
        return err_set(e, ERR_IO, "cannot write %.400s: %s", o->output, strerror(errno));
    if (!out->made[0])
        return ERR_OK;
    /* It can be written. While the search runs nothing is there: it may be ended. */
    fclose(out->file);
    unlink(out->made);
    out->file = NULL;
    return ERR_OK;
}

/* What can be written at the end of a search. */
static enum err output_again(struct output *out, struct errinfo *e)
{
    if (out->path && !out->file)
        out->file = fopen(out->made, "w");
    return !out->path || out->file
               ? ERR_OK
               : err_set(e, ERR_IO, "cannot write %.400s: %s", out->path, strerror(errno));
}

static enum err output_end(struct output *out, bool good, struct errinfo *e)
{
    enum err err = ERR_OK;
    if (!out->file)
        return ERR_OK;
    bool bad = fflush(out->file) || ferror(out->file);
    bad |= fclose(out->file) != 0;
    if (good && !bad && out->made[0])
        bad = rename(out->made, out->path) != 0;
    if (good && bad)
        err = err_set(e, ERR_IO, "cannot write %.400s: %s", out->path, strerror(errno));
    if ((!good || bad) && out->made[0])
        unlink(out->made);
    out->file = NULL;
    return err;
}

static enum err write_repro(const struct minimize *m, FILE *out, struct errinfo *e)
{
    char note[300] = "";
    struct repro r = {.id = &m->id,
                      .plan = &m->plan,
                      .input = m->input,
                      .finding = &m->finding,
                      .note = m->keep == MINIMIZE_FINDING ? NULL : note};
    if (m->keep == MINIMIZE_OPERATION)
        divergetext_kind(m->operation, note, sizeof note);
    for (int s = 0; s < 2; s++) {
        r.name[s] = m->name[s];
        r.n_out[s] = m->result[s].n_out;
        r.out[s] = m->result[s].out;
    }
    return repro_write(out, &r, e);
}

static bool is_unbuilt(const struct minimize *m)
{
    return m->finding.a.status == RECORD_BUILD_FAILED || m->finding.b.status == RECORD_BUILD_FAILED;
}

/* The side whose kernels have no source here, or NULL. */
static const char *fixed_side(const struct case_id *id)
{
    const char *fixed = NULL;
    for (int i = 0; backends[i] && !fixed; i++)
        fixed = lowering_fixed(id, backends[i]);
    return fixed;
}

/* A verdict about many elements, and what is kept of it in few. */
static void print_many(const struct minimize *m)
{
    char text[1400], meaning[300];
    if (m->keep == MINIMIZE_FINDING)
        return;
    printf("%s  A = %s, B = %s\n", m->many.id, m->name[0], m->name[1]);
    snprintf(text, sizeof text, "%s: %s", verdict_name(m->many.verdict), m->many.reason);
    say(text);
    if (m->many.cause[0]) {
        snprintf(text, sizeof text, "cause: %.399s", m->many.cause);
        say(text);
    }
    say("That is said of many elements, and no smaller shape shows it.");
    divergetext_kind(m->operation, meaning, sizeof meaning);
    if (m->keep == MINIMIZE_OPERATION)
        snprintf(text, sizeof text, "In few elements both sides are right and part in the same "
                                    "operation (%s):", meaning);
    else
        snprintf(text, sizeof text, "In few elements both sides are right, and bits differ:");
    putchar('\n');
    say(text);
}

static void print_end(const struct minimize *m, const char *output)
{
    char text[1400];
    const struct cause_claim *c = finding_cause(&m->finding);
    print_many(m);
    printf("%s  A = %s, B = %s\n", m->finding.id, m->name[0], m->name[1]);
    snprintf(text, sizeof text, "%s: %s", verdict_name(m->finding.verdict), m->finding.reason);
    say(text);
    if (c && m->keep == MINIMIZE_FINDING) {
        snprintf(text, sizeof text, "cause: %s: %s", cause_name(c->cause), c->evidence);
        say(text);
    }
    snprintf(text, sizeof text,
             "From %" PRId64 " to %" PRId64
             " elements of inputs and outputs in %d runs%s; %" PRId64
             " elements of the inputs are not zero%s.",
             m->start_elements, m->elements, m->runs,
             m->runs >= m->limit ? ", which is where it stops" : "", m->nonzero,
             m->changed_values ? ", and no id stands for these values" : "");
    say(text);
    if (output)
        printf("%s: the same as one program for nvcc and hipcc\n", output);
    else if (!fixed_side(&m->id))
        say("next: -o FILE.cu writes the same as one program for nvcc and hipcc");
}

static enum err minimize(struct minimize *m, struct output *out, const struct options *o,
                         int *ret_exit, struct errinfo *e)
{
    TRY(minimize_search(m, e));
    if (m->finding.verdict == VERDICT_SAME) {
        printf("%s: the sides are bit-equal, there is nothing to make smaller\n",
               m->finding.id);
        return output_end(out, false, e);
    }
    if (m->finding.verdict == VERDICT_UNTESTED)
        return err_set(e, ERR_MISSING, "%.480s", m->finding.reason);
    if (is_unbuilt(m)) {
        printf("%s  A = %s, B = %s\n", m->finding.id, m->name[0], m->name[1]);
        say(m->finding.reason);
        say("What does not build is not made smaller.");
        *ret_exit = COMMAND_FAILS;
        return ERR_OK;
    }
    TRY(output_again(out, e));
    if (out->file)
        TRY(write_repro(m, out->file, e));
    TRY(output_end(out, true, e));
    print_end(m, o->output);
    enum verdict v = m->keep == MINIMIZE_FINDING ? m->finding.verdict : m->many.verdict;
    if (verdict_fails(v, o->strict))
        *ret_exit = COMMAND_FAILS;
    return ERR_OK;
}

enum err cmd_minimize(const struct options *o, int *ret_exit, struct errinfo *e)
{
    struct session s = {0};
    struct run_options r;
    struct output out = {0};
    enum err err = session_plan(&s, o, &r, 2, "cuda,hip", e);
    if (!err && s.cases.count != 1)
        err = err_set(e, ERR_USAGE,
                      "minimize wants exactly one case, this selects %" PRId64
                      "; gpuparity list prints ids",
                      s.cases.count);
    if (!err && o->output && fixed_side(&s.cases.id[0]))
        err = err_set(e, ERR_USAGE,
                      "-o: %.300s names %s: there is no source to write; without -o the smallest "
                      "case is printed",
                      s.cases.id[0].family->path, fixed_side(&s.cases.id[0]));
    if (!err)
        err = output_open(&out, o, e);
    struct minimize *m = err ? NULL : calloc(1, sizeof *m);
    if (!err && !m)
        err = err_set(e, ERR_NOMEM, "out of memory");
    if (!err) {
        m->id = s.cases.id[0];
        m->device = s.device;
        m->trial = (struct trial){.code = r.code, .timeout = r.timeout};
        m->threads = o->threads ? o->threads : 1;
        err = minimize(m, &out, o, ret_exit, e);
        minimize_release(m);
    }
    free(m);
    output_end(&out, false, e); /* after a failure only: nothing is left of it */
    session_release(&s);
    return err;
}
