/* SPDX-License-Identifier: Apache-2.0 */
#include "casefile.h"
#include "command.h"
#include "explainplace.h"
#include "explaintext.h"
#include "replay.h"
#include "session.h"
#include "tensorfile.h"
#include "wrap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum err show_place(struct explain *x, struct errinfo *e)
{
    struct explain_place p = {0};
    if (x->end < EXPLAIN_EQUAL || x->device[0].kind != DEVICE_CHOICE_SIMULATED ||
        x->device[1].kind != DEVICE_CHOICE_SIMULATED)
        return ERR_OK;
    TRY(explain_place(x, &p, e));
    explaintext_place(x, &p);
    explain_place_release(&p);
    return ERR_OK;
}

/* --- one change alone ------------------------------------------------------------------------
 */

static enum err change_parse(const struct explain *x, const char *text, int *ret_side,
                             uint32_t *ret_set, struct errinfo *e)
{
    const char *colon = strrchr(text, ':');
    *ret_side = -1;
    for (int s = 0; colon && s < EXPLAIN_SIDES; s++)
        if (strlen(x->side[s].name) == (size_t)(colon - text) &&
            !memcmp(text, x->side[s].name, (size_t)(colon - text)))
            *ret_side = s;
    if (colon && !strncmp(text, "both:", 5))
        *ret_side = EXPLAIN_SIDES;
    if (*ret_side < 0)
        return err_set(e, ERR_USAGE,
                       "--change wants DEVICE:CHANGE, for instance %s:contract=off, or "
                       "both:CHANGE, not '%.80s'",
                       x->side[1].name, text);
    int list = *ret_side == EXPLAIN_SIDES ? 0 : *ret_side;
    return lowering_parse(x->side[list].list, x->side[list].n, colon + 1, ret_set, e);
}

static enum err show_change(struct explain *x, const char *text, int *ret_exit,
                            struct errinfo *e)
{
    int side;
    uint32_t set;
    explain_sides(x);
    TRY(change_parse(x, text, &side, &set, e));
    TRY(explain_change(x, side, set, &x->finding, e));
    explaintext_head(x);
    printf("with %s\n", text);
    if (verdict_fails(x->finding.verdict, false))
        *ret_exit = COMMAND_FAILS;
    else if (x->finding.verdict == VERDICT_UNTESTED)
        *ret_exit = COMMAND_NOTHING;
    return ERR_OK;
}

/* --- the command -----------------------------------------------------------------------------
 */

static int exit_of(const struct explain *x)
{
    switch (x->end) {
    case EXPLAIN_SAME:
    case EXPLAIN_EQUAL:
    case EXPLAIN_BOTH:
    case EXPLAIN_VERDICT:
        return COMMAND_GOOD;
    case EXPLAIN_BROKEN:
        return x->finding.verdict == VERDICT_UNTESTED ? COMMAND_NOTHING : COMMAND_FAILS;
    default:
        return COMMAND_FAILS;
    }
}

/* Two records: what was recorded, against what runs here. */
static enum err say_replay(const struct explain *x, const struct replay *r, struct errinfo *e)
{
    for (int s = 0; s < EXPLAIN_SIDES; s++) {
        char text[700];
        TRY(replay_say(r, s, x->side[s].name, x->device[s].kind == DEVICE_CHOICE_SIMULATED,
                       &x->side[s].base, text, sizeof text, e));
        wrap_print(stdout, text, 0, 2, 79);
    }
    putchar('\n');
    return ERR_OK;
}

static enum err explain(struct explain *x, const struct options *o, const struct replay *r,
                        int *ret_exit, struct errinfo *e)
{
    if (o->change)
        return show_change(x, o->change, ret_exit, e);
    TRY(explain_search(x, e));
    if (r->record[0])
        TRY(say_replay(x, r, e));
    explaintext_print(x, o->code, o->verbose);
    TRY(show_place(x, e));
    *ret_exit = exit_of(x);
    return ERR_OK;
}

static enum err explain_case(const struct options *o, const struct replay *replay, int *ret_exit,
                             struct errinfo *e)
{
    struct session s = {0};
    struct run_options r;
    enum err err = session_plan(&s, o, &r, 2, "cuda,hip", e);
    if (!err && s.cases.count != 1)
        err = err_set(e, ERR_USAGE,
                      "explain wants exactly one case, this selects %" PRId64
                      "; gpuparity list prints ids",
                      s.cases.count);
    struct explain *x = err ? NULL : calloc(1, sizeof *x);
    if (!err && !x)
        err = err_set(e, ERR_NOMEM, "out of memory");
    if (!err) {
        x->id = &s.cases.id[0];
        x->device = s.device;
        x->trial = (struct trial){.code = r.code, .timeout = r.timeout};
        x->threads = o->threads ? o->threads : 1;
        err = explain(x, o, replay, ret_exit, e);
        explain_release(x);
    }
    free(x);
    session_release(&s);
    return err;
}

/* A file of numbers, by its ending or because it is there. */
static bool names_file(const char *word)
{
    size_t n = strlen(word);
    return !casefile_path_length(word) &&
           ((n > 3 && !strcmp(word + n - 3, ".h5")) || !access(word, F_OK));
}

enum err cmd_explain(const struct options *o, int *ret_exit, struct errinfo *e)
{
    struct replay r = {0};
    int files = 0, records = 0;
    for (int i = 0; i < o->n_word; i++) {
        if (names_file(o->word[i]) && access(o->word[i], R_OK))
            return err_set(e, ERR_IO, "cannot read %.400s: %s", o->word[i], strerror(errno));
        bool record = tensorfile_is_record(o->word[i]);
        records += record;
        files += record || names_file(o->word[i]);
    }
    if (!files && o->select)
        return err_set(e, ERR_USAGE, "--case is for records: explain A.h5 B.h5 --case ID");
    if (!files)
        return explain_case(o, &r, ret_exit, e);
    if (o->n_word > 2 || records < o->n_word)
        return err_set(e, ERR_USAGE,
                       "explain runs a case again, so it wants a case, one record with both sides or "
                       "two records of gpuparity; what differs in files of tensors and in captured "
                       "steps says gpuparity compare");
    TRY(replay_open(o, &r, e));
    struct options here = *o;
    here.n_word = 1;
    here.word[0] = r.id;
    here.on = o->on ? o->on : r.on;
    enum err err = explain_case(&here, &r, ret_exit, e);
    replay_close(&r);
    return err;
}
