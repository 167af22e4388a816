/* SPDX-License-Identifier: Apache-2.0 */
#include "replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void replay_close(struct replay *r)
{
    if (r->record[1] != r->record[0])
        record_close(r->record[1]);
    record_close(r->record[0]);
    memset(r, 0, sizeof *r);
}

/* --- which case ------------------------------------------------------------------------------
 */

static enum err open_records(const struct options *o, struct replay *r, struct errinfo *e)
{
    for (int s = 0; s < o->n_word; s++) {
        r->path[s] = o->word[s];
        TRY(record_open(o->word[s], &r->record[s], e));
    }
    if (o->n_word == 1) {
        r->record[1] = r->record[0];
        r->path[1] = r->path[0];
        r->run[1] = 1;
    }
    for (int s = 0; s < 2; s++)
        if (record_run_count(r->record[s]) != (o->n_word == 1 ? 2 : 1))
            return err_set(e, ERR_USAGE,
                           "%.200s has %d run%s; explain wants two records with one each, or one "
                           "with two, as check --output writes it",
                           r->path[s], record_run_count(r->record[s]),
                           record_run_count(r->record[s]) == 1 ? "" : "s");
    return ERR_OK;
}

/* The only case that both have. */
static enum err only_case(struct replay *r, struct errinfo *e)
{
    int64_t both = 0;
    for (int64_t i = 0; i < record_case_count(r->record[0], r->run[0]); i++) {
        struct record_case c;
        TRY(record_read_case(r->record[0], r->run[0], i, &c, e));
        if (record_find_case(r->record[1], r->run[1], c.id) < 0)
            continue;
        both++;
        snprintf(r->id, sizeof r->id, "%s", c.id);
    }
    if (both == 1)
        return ERR_OK;
    return err_set(e, ERR_USAGE,
                   "%.150s and %.150s have %" PRId64 " cases in common; explain wants one: "
                   "--case ID, as gpuparity compare prints it",
                   r->path[0], r->path[1], both);
}

/* The id as records have it: with every parameter. What is no id of a built-in case is left as it
 * is. */
static void whole_id(const char *text, struct replay *r)
{
    struct case_id id;
    if (caseid_parse(text, &id, NULL))
        snprintf(r->id, sizeof r->id, "%s", text);
    else
        caseid_print(&id, r->id);
}

static enum err find_case(const struct options *o, struct replay *r, struct errinfo *e)
{
    if (o->select)
        whole_id(o->select, r);
    else
        TRY(only_case(r, e));
    for (int s = 0; s < 2; s++) {
        r->at[s] = record_find_case(r->record[s], r->run[s], r->id);
        if (r->at[s] < 0)
            return err_set(e, ERR_USAGE, "%.200s has no case %.200s; gpuparity show prints its ids",
                           r->path[s], r->id);
    }
    return ERR_OK;
}

/* The vendor's device, real or simulated as this machine has it; a simulated one stays one. */
static void choose_device(const struct record_run *run, char *ret_text, size_t size)
{
    size_t vendor = strcspn(run->device, ":-");
    snprintf(ret_text, size, "%.*s%s", (int)vendor, run->device,
             run->simulated && strcmp(run->device, "host") ? "-sim" : "");
}

enum err replay_open(const struct options *o, struct replay *ret_replay, struct errinfo *e)
{
    struct replay r = {0};
    char on[2][36];
    enum err err = open_records(o, &r, e);
    if (!err)
        err = find_case(o, &r, e);
    for (int s = 0; s < 2 && !err; s++)
        choose_device(record_run_at(r.record[s], r.run[s]), on[s], sizeof on[s]);
    if (!err && !o->on && !strcmp(on[0], on[1]))
        err = err_set(e, ERR_USAGE,
                      "both sides were recorded on %s: --on A,B says on which two devices to run "
                      "them again",
                      on[0]);
    if (err) {
        replay_close(&r);
        return err;
    }
    snprintf(r.on, sizeof r.on, "%s,%s", on[0], on[1]);
    *ret_replay = r;
    return ERR_OK;
}

/* --- what was recorded -----------------------------------------------------------------------
 */

static int64_t count_differing(const struct tensor *x, const struct tensor *y)
{
    int64_t n = 0;
    if (x->dtype != y->dtype || x->count != y->count)
        return x->count;
    for (int64_t i = 0; i < x->count; i++) {
        uint64_t a = tensor_bits(x, i), b = tensor_bits(y, i);
        n += a != b && !(dtype_is_nan(x->dtype, a) && dtype_is_nan(y->dtype, b));
    }
    return n;
}

static enum err compare_outputs(const struct replay *r, int s, const struct worker_result *now,
                                int64_t *ret_differing, int64_t *ret_count, struct errinfo *e)
{
    struct record_out out[RECORD_OUT_MAX];
    int n = 0;
    int64_t differing = 0, count = 0;
    TRY(record_read_outs(r->record[s], r->run[s], r->at[s], &n, out, e));
    for (int i = 0; i < n; i++) {
        const struct tensor *x = &out[i].tensor;
        count += x->count;
        int same = 0;
        while (same < now->n_out && strcmp(now->out[same].name, out[i].name))
            same++;
        differing += same < now->n_out ? count_differing(x, &now->out[same].tensor) : x->count;
        tensor_release(&out[i].tensor);
    }
    *ret_differing = differing;
    *ret_count = count;
    return ERR_OK;
}

enum err replay_say(const struct replay *r, int s, const char *name, bool simulated,
                    const struct worker_result *now, char *ret_text, size_t size,
                    struct errinfo *e)
{
    const struct record_run *run = record_run_at(r->record[s], r->run[s]);
    struct record_case c;
    int64_t differing = 0, count = 0;
    TRY(record_read_case(r->record[s], r->run[s], r->at[s], &c, e));
    size_t used = (size_t)snprintf(
        ret_text, size, "%c was recorded on %s (%s) and runs again on %s%s: ", 'A' + s, run->device,
        run->simulated ? "simulated" : run->name, name, simulated ? " (simulated)" : "");
    char *rest = ret_text + used;
    size_t room = size - used;
    if (c.status || now->c.status) {
        snprintf(rest, room, "recorded %s, now %s.", record_status_name(c.status),
                 record_status_name(now->c.status));
        return ERR_OK;
    }
    TRY(compare_outputs(r, s, now, &differing, &count, e));
    bool other = strcmp(c.source_digest, now->c.source_digest) != 0;
    if (!differing)
        snprintf(rest, room, "all %" PRId64 " elements are the recorded bits.", count);
    else
        snprintf(rest, room,
                 "%" PRId64 " of %" PRId64 " elements are other bits than recorded%s; what follows "
                 "is about the run here.",
                 differing, count, other ? " (and the kernel's source is another version)" : "");
    return ERR_OK;
}
