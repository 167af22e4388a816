/* SPDX-License-Identifier: Apache-2.0 */
#include "fingerprint.h"

#include <stdlib.h>
#include <string.h>

#include "caseid.h"
#include "wrap.h"

enum { NAME_WIDTH = 41, WIDTH = 96 };

/* --- reading ---------------------------------------------------------------------------------
 */

static struct fingerprint_row *row_add(struct fingerprint *f, const struct case_id *id)
{
    struct fingerprint_row *row = realloc(f->row, ((size_t)f->count + 1) * sizeof *row);
    if (!row)
        return NULL;
    f->row = row;
    row = &f->row[f->count++];
    memset(row, 0, sizeof *row);
    char mode[64];
    caseid_print_mode(&id->mode, mode);
    bool plain = !strcmp(mode, "default");
    snprintf(row->topic, sizeof row->topic, "%s/%s%s%s", id->family->name, id->variant->name,
             plain ? "" : ":mode=", plain ? "" : mode);
    return row;
}

static enum err answers_add(struct fingerprint *f, const struct case_id *id,
                            const struct tensor *out, struct errinfo *e)
{
    struct case_reading *r = calloc(CASE_READINGS_MAX, sizeof *r);
    int count = r ? id->family->readings(id, out, CASE_READINGS_MAX, r) : 0;
    for (int i = 0; i < count; i++) {
        struct fingerprint_row *row = row_add(f, id);
        if (row) {
            row->ran = true;
            row->r = r[i];
        }
    }
    free(r);
    return count ? ERR_OK
                 : err_set(e, ERR_FORMAT, "%s/%s: the output is shorter than its questions",
                           id->family->name, id->variant->name);
}

static const struct tensor *first_output(const struct case_id *id,
                                         const struct record_out *outs, int n_out)
{
    struct case_plan plan;
    if (id->family->plan(id, &plan, NULL))
        return NULL;
    for (int t = 0; t < plan.n_tensor; t++)
        for (int i = 0; i < n_out && plan.tensor[t].role != TENSOR_IN; i++)
            if (!strcmp(outs[i].name, plan.tensor[t].name) &&
                outs[i].tensor.dtype == plan.tensor[t].dtype)
                return &outs[i].tensor;
    return NULL;
}

static enum err case_add(struct fingerprint *f, struct record *r, int run, int64_t at,
                         const struct case_id *id, const struct record_case *c,
                         struct errinfo *e)
{
    struct record_out outs[RECORD_OUT_MAX];
    int n_out = 0;
    if (c->status) {
        struct fingerprint_row *row = row_add(f, id);
        if (!row)
            return err_set(e, ERR_NOMEM, "out of memory");
        snprintf(row->r.words, sizeof row->r.words, "%s", record_status_name(c->status));
        snprintf(row->r.proof, sizeof row->r.proof, "%.380s", c->reason);
        return ERR_OK;
    }
    TRY(record_read_outs(r, run, at, &n_out, outs, e));
    const struct tensor *out = first_output(id, outs, n_out);
    enum err err =
        out ? answers_add(f, id, out, e) : err_set(e, ERR_FORMAT, "%s lacks its output", c->id);
    for (int i = 0; i < n_out; i++)
        tensor_release(&outs[i].tensor);
    return err;
}

enum err fingerprint_read(struct record *r, int run, const char *path,
                          struct fingerprint *ret_print, struct errinfo *e)
{
    const struct record_run *info = record_run_at(r, run);
    struct fingerprint f = {.count = 0};
    enum err err = ERR_OK;
    snprintf(f.device, sizeof f.device, "%s%s", info->device,
             info->simulated ? " (simulated)" : "");
    for (int64_t i = 0; i < record_case_count(r, run) && !err; i++) {
        struct record_case c;
        struct case_id id;
        err = record_read_case(r, run, i, &c, e);
        if (!err && !caseid_parse(c.id, &id, NULL) && id.family->readings)
            err = case_add(&f, r, run, i, &id, &c, e);
    }
    if (!err && !f.count)
        err = err_set(e, ERR_FORMAT,
                      "%s has no answers about a device: gpuparity probe --on DEVICE -o REC.h5 "
                      "makes such a record",
                      path);
    if (err)
        fingerprint_release(&f);
    else
        *ret_print = f;
    return err;
}

void fingerprint_release(struct fingerprint *f)
{
    free(f->row);
    memset(f, 0, sizeof *f);
}

/* --- printing --------------------------------------------------------------------------------
 */

static void topic_print(FILE *out, const struct fingerprint_row *row, char *last, size_t size)
{
    if (!strcmp(last, row->topic))
        return;
    snprintf(last, size, "%s", row->topic);
    fprintf(out, "\n%s\n", row->topic);
}

static void answer_print(FILE *out, const char *name, const char *words)
{
    fprintf(out, "  %-*s ", NAME_WIDTH, name);
    wrap_print(out, words, NAME_WIDTH + 3, NAME_WIDTH + 3, WIDTH);
}

static void proof_print(FILE *out, const char *who, const char *proof)
{
    fprintf(out, "    %s", who);
    wrap_print(out, proof, 4 + (int)strlen(who), 6, WIDTH);
}

void fingerprint_print(FILE *out, const struct fingerprint *f, bool proofs)
{
    char last[sizeof f->row->topic] = "";
    fprintf(out, "%s\n", f->device);
    for (int i = 0; i < f->count; i++) {
        const struct fingerprint_row *row = &f->row[i];
        topic_print(out, row, last, sizeof last);
        answer_print(out, row->r.name, row->r.words);
        if (proofs || !row->ran)
            proof_print(out, "", row->r.proof);
    }
}

static const struct fingerprint_row *twin(const struct fingerprint *f,
                                          const struct fingerprint_row *row)
{
    for (int i = 0; i < f->count && row->ran; i++)
        if (f->row[i].ran && !strcmp(f->row[i].topic, row->topic) &&
            !strcmp(f->row[i].r.name, row->r.name))
            return &f->row[i];
    return NULL;
}

int fingerprint_compare(FILE *out, const struct fingerprint *a, const struct fingerprint *b,
                        int *ret_same, int *ret_alone)
{
    char last[sizeof a->row->topic] = "";
    int differ = 0, same = 0, alone = 0;
    fprintf(out, "A %s, B %s\n", a->device, b->device);
    for (int i = 0; i < b->count; i++)
        alone += !twin(a, &b->row[i]);
    for (int i = 0; i < a->count; i++) {
        const struct fingerprint_row *x = &a->row[i], *y = twin(b, x);
        if (!y || !strcmp(x->r.words, y->r.words)) {
            alone += !y;
            same += !!y;
            continue;
        }
        differ++;
        topic_print(out, x, last, sizeof last);
        fprintf(out, "  %s: %s\n", x->r.name, cause_name(x->r.cause));
        answer_print(out, "  A", x->r.words);
        answer_print(out, "  B", y->r.words);
        proof_print(out, "A: ", x->r.proof);
        proof_print(out, "B: ", y->r.proof);
    }
    *ret_same = same;
    *ret_alone = alone;
    return differ;
}
