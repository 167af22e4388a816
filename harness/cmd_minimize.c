/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
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

/* The file, opened before the search so that its end is not lost. A regular one is made under
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
    return out->file
               ? ERR_OK
               : err_set(e, ERR_IO, "cannot write %.400s: %s", o->output, strerror(errno));
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
    struct repro r = {
        .id = &m->id, .plan = &m->plan, .input = m->input, .finding = &m->finding};
    for (int s = 0; s < 2; s++) {
        r.name[s] = m->name[s];
        r.n_out[s] = m->result[s].n_out;
        r.out[s] = m->result[s].out;
    }
    return repro_write(out, &r, e);
}

static void print_end(const struct minimize *m, const char *output)
{
    char text[1400];
    const struct cause_claim *c = finding_cause(&m->finding);
    printf("%s  A = %s, B = %s\n", m->finding.id, m->name[0], m->name[1]);
    snprintf(text, sizeof text, "%s: %s", verdict_name(m->finding.verdict), m->finding.reason);
    say(text);
    if (c) {
        snprintf(text, sizeof text, "cause: %s: %s", cause_name(c->cause), c->evidence);
        say(text);
    }
    snprintf(text, sizeof text,
             "From %" PRId64 " to %" PRId64
             " elements of inputs and outputs in %d runs; %" PRId64
             " elements of the inputs are not zero%s.",
             m->start_elements, m->elements, m->runs, m->nonzero,
             m->changed_values ? ", and no id stands for these values" : "");
    say(text);
    if (output)
        printf("%s: the same as one program for nvcc and hipcc\n", output);
    else
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
    if (out->file)
        TRY(write_repro(m, out->file, e));
    TRY(output_end(out, true, e));
    print_end(m, o->output);
    if (verdict_fails(m->finding.verdict, o->strict))
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
