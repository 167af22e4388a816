/* SPDX-License-Identifier: Apache-2.0 */
#include "plantrun.h"

#include <inttypes.h>
#include <string.h>

#include "caseid.h"
#include "lowering.h"

void plantrun_release(struct plantrun *r)
{
    trial_codes_release(&r->codes);
    memset(r, 0, sizeof *r);
}

/* --- what gave it away -----------------------------------------------------------------------
 */

static void metric_wrong(const struct side_stats *s, char *text, size_t size)
{
    if (s->unwritten)
        snprintf(text, size, "poison left in %" PRId64, s->unwritten);
    else if (s->nan_wrong || s->inf_wrong)
        snprintf(text, size, "class of %" PRId64, s->nan_wrong + s->inf_wrong);
    else
        snprintf(text, size, "bound x %.2g in %" PRId64, s->worst_bound, s->over_bound);
}

static void metric_of(const struct finding *f, char *text, size_t size)
{
    const struct finding_out *worst = NULL;
    for (int i = 0; i < f->n_out; i++)
        if (!worst || f->out[i].verdict > worst->verdict)
            worst = &f->out[i];
    text[0] = 0;
    if (!worst)
        return;
    const struct side_stats *b = &worst->stats.b;
    const struct pair_stats *pair = &worst->stats.pair;
    bool wrong = b->unwritten || b->nan_wrong || b->inf_wrong || b->over_bound;
    if (f->b.unstable)
        snprintf(text, size, "%" PRId64 " differ in repeats", f->b.unstable);
    else if (f->b.stale)
        snprintf(text, size, "%" PRId64 " follow old memory", f->b.stale);
    else if (wrong)
        metric_wrong(b, text, size);
    else if (f->b.guard_before || f->b.guard_after)
        snprintf(text, size, "%" PRId64 " guard bytes", f->b.guard_before + f->b.guard_after);
    else if (worst->verdict == VERDICT_DISTINGUISHABLE)
        snprintf(text, size, "KS %.2f, bias %+.2g ULP", pair->ks,
                 b->ulp.mean - worst->stats.a.ulp.mean);
    else
        snprintf(text, size, "%" PRId64 " bits, %" PRIu64 " ULP",
                 pair->count - pair->bits_equal, pair->worst_ulp);
}

/* A defect has to fail the run; of what is expected or policy, any sign is enough. */
static bool is_caught(const struct plant *p, const struct finding *f)
{
    if (f->verdict == VERDICT_UNTESTED || f->verdict == VERDICT_SAME)
        return false;
    bool defect = p->cause != CAUSE_FLUSH && p->cause != CAUSE_NANINF &&
                  p->cause != CAUSE_RNG && cause_tier(p->cause) == CAUSE_TIER_DEFECT;
    return !defect || verdict_fails(f->verdict, true);
}

/* --- one plant -------------------------------------------------------------------------------
 */

struct pair {
    struct case_id id;
    struct worker_result a, b; /* owned */
};

static void pair_release(struct pair *p)
{
    worker_result_release(&p->a);
    worker_result_release(&p->b);
}

static enum err pair_judge(const struct plantrun *r, const struct pair *p,
                           struct finding *ret_finding, struct errinfo *e)
{
    char name[2][32];
    device_print(&r->device[0], name[0]);
    device_print(&r->device[1], name[1]);
    struct compare_side a = {name[0], &p->a.c, p->a.n_out, p->a.out};
    struct compare_side b = {name[1], &p->b.c, p->b.n_out, p->b.out};
    return compare_memory(&p->id, &a, &b, NULL, r->threads, ret_finding, e);
}

static enum err pair_run(struct plantrun *r, const struct plant *p, struct pair *ret_pair,
                         struct errinfo *e)
{
    struct lowering list[DELTA_SWITCHES_MAX];
    uint32_t set = 0;
    struct trial a = r->trial, b;
    TRY(caseid_parse(p->id, &ret_pair->id, e));
    struct case_id id_b = ret_pair->id;
    a.codes = &r->codes;
    a.repeats = p->kind == PLANT_KERNEL ? p->number : 0;
    b = a;
    a.device = &r->device[0];
    b.device = &r->device[1];
    if (p->kind == PLANT_CHANGED) {
        int n = lowering_list(&ret_pair->id, b.device, true, list);
        TRY(lowering_parse(list, n, p->what, &set, e));
        lowering_apply(list, n, set, &id_b, &b);
    }
    TRY(trial_run(&a, &ret_pair->id, &ret_pair->a, e));
    return trial_run(&b, &id_b, &ret_pair->b, e);
}

static void seen_take(struct plant_seen *s, const struct finding *f)
{
    const struct cause_claim *c = finding_cause(f);
    s->verdict = f->verdict;
    s->named = c ? c->cause : CAUSE_COUNT_;
    s->ran = f->verdict != VERDICT_UNTESTED;
    s->caught = s->plant && is_caught(s->plant, f);
    snprintf(s->reason, sizeof s->reason, "%.500s%s%.250s", f->reason, c ? "; " : "",
             c ? c->evidence : "");
    metric_of(f, s->metric, sizeof s->metric);
}

/* The oracle of the one output that is altered: the first. */
static enum err oracle_make(const struct case_id *id, int threads, struct oracle *ret_oracle,
                            struct errinfo *e)
{
    struct case_plan plan;
    struct tensor made[CASE_TENSOR_MAX] = {0};
    const struct tensor *input[CASE_TENSOR_MAX] = {NULL};
    int which = -1;
    TRY(id->family->plan(id, &plan, e));
    enum err err = ERR_OK;
    for (int i = 0; i < plan.n_tensor && !err; i++) {
        if (plan.tensor[i].role != TENSOR_IN && which < 0)
            which = i;
        if (plan.tensor[i].role == TENSOR_OUT)
            continue;
        err = case_input(id, &plan, i, &made[i], e);
        input[i] = &made[i];
    }
    if (!err)
        err = case_oracle(id, &plan, input, which, threads, ret_oracle, e);
    for (int i = 0; i < plan.n_tensor; i++)
        tensor_release(&made[i]);
    return err;
}

/* B's first output becomes A's, altered. */
static enum err mutate(struct plantrun *r, struct pair *p, const struct plant_mutation *m,
                       const struct oracle *o, int step, struct plant_seen *s,
                       struct errinfo *e)
{
    struct tensor *t = &p->b.out[0].tensor;
    struct finding f;
    memcpy(t->data, p->a.out[0].tensor.data, tensor_bytes(t));
    if (!m->apply(t, o, step)) {
        s->caught = false; /* nothing left to catch */
        return ERR_OK;
    }
    TRY(pair_judge(r, p, &f, e));
    seen_take(s, &f);
    finding_release(&f);
    return ERR_OK;
}

static enum err run_mutations(struct plantrun *r, struct pair *p, struct plant_seen *s,
                              struct errinfo *e)
{
    const struct plant_mutation *m = plant_mutation_find(s->plant->what);
    struct oracle o = {0};
    if (!m)
        return err_set(e, ERR_USAGE, "no mutation %s", s->plant->what);
    TRY(oracle_make(&p->id, r->threads, &o, e));
    enum err err = mutate(r, p, m, &o, 0, s, e);
    struct plant_seen weaker = *s;
    for (int step = 0; !err && weaker.caught && step <= s->plant->number; step++) {
        if (step)
            err = mutate(r, p, m, &o, step, &weaker, e);
        if (!err && weaker.caught)
            m->size(&p->b.out[0].tensor, step, s->smallest);
    }
    oracle_release(&o);
    return err;
}

static enum err judge_plant(struct plantrun *r, struct pair *p, struct plant_seen *s,
                            struct errinfo *e)
{
    struct finding f;
    TRY(pair_judge(r, p, &f, e));
    seen_take(s, &f);
    finding_release(&f);
    if (s->plant->kind != PLANT_TENSOR || p->a.c.status || p->b.c.status)
        return ERR_OK;
    return run_mutations(r, p, s, e);
}

enum err plantrun_one(struct plantrun *r, const struct plant *p, struct plant_seen *ret_seen,
                      struct errinfo *e)
{
    struct pair pair = {0};
    *ret_seen = (struct plant_seen){.plant = p, .named = CAUSE_COUNT_};
    enum err err = pair_run(r, p, &pair, e);
    if (!err)
        err = judge_plant(r, &pair, ret_seen, e);
    pair_release(&pair);
    return err;
}

/* --- what is printed -------------------------------------------------------------------------
 */

static void print_seen(FILE *out, const struct plant_seen *s)
{
    const struct plant *p = s->plant;
    char fault[100];
    snprintf(fault, sizeof fault, "%.52s%s%.20s", p->id, p->what[0] ? " " : "", p->what);
    fprintf(out, "%-29s %s\n", cause_name(p->cause), fault);
    if (plant_reported_as(p))
        fprintf(out, "    as in %s\n", plant_reported_as(p));
    if (!s->ran) {
        fprintf(out, "    UNTESTED: %.200s\n", s->reason);
        return;
    }
    fprintf(out, "    %-15s %s%s%s\n", s->caught ? verdict_name(s->verdict) : "MISSED",
            s->metric, s->smallest[0] ? "; smallest: " : "", s->smallest);
    if (s->named != p->cause)
        fprintf(out, "    named %s: %.300s\n",
                s->named == CAUSE_COUNT_ ? "nothing" : cause_name(s->named), s->reason);
}

static void print_matrix(const struct plantrun *r)
{
    fprintf(r->out, "\nplanted (rows) and named (columns, in the order of the rows)\n%31s", "");
    for (int c = 0; c <= CAUSE_COUNT_; c++)
        fprintf(r->out, c == CAUSE_COUNT_ ? "  -\n" : " %2d", c + 1);
    for (int p = 0; p < CAUSE_COUNT_; p++) {
        if (p == CAUSE_UNEXPLAINED)
            continue;
        fprintf(r->out, "%2d %-28s", p + 1, cause_name((enum cause)p));
        for (int c = 0; c <= CAUSE_COUNT_; c++)
            if (r->named_as[p][c])
                fprintf(r->out, " %2d", r->named_as[p][c]);
            else
                fputs("  .", r->out);
        fputc('\n', r->out);
    }
}

/* --- no fault --------------------------------------------------------------------------------
 */

static bool is_accused(const struct finding *f)
{
    bool accused = verdict_fails(f->verdict, false);
    for (int i = 0; i < f->n_out; i++)
        for (int c = 0; c < f->out[i].n_claim; c++)
            accused |= cause_tier(f->out[i].claim[c].cause) == CAUSE_TIER_DEFECT;
    return accused;
}

enum err plantrun_clean(struct plantrun *r, const char *id, int seed, bool *ret_accused,
                        struct plant_seen *ret_seen, struct errinfo *e)
{
    char text[256];
    struct pair pair = {0};
    struct finding f;
    snprintf(text, sizeof text, "%s,seed=%d", id, seed);
    const struct plant p = {PLANT_KERNEL, CAUSE_UNEXPLAINED, text, "", 0};
    *ret_seen = (struct plant_seen){.named = CAUSE_COUNT_};
    enum err err = pair_run(r, &p, &pair, e);
    if (!err)
        err = pair_judge(r, &pair, &f, e);
    if (!err) {
        seen_take(ret_seen, &f);
        *ret_accused = is_accused(&f);
        finding_release(&f);
    }
    pair_release(&pair);
    return err;
}

static enum err run_clean(struct plantrun *r, const struct plant_clean *c, struct errinfo *e)
{
    int ran = 0, accused = 0;
    for (int seed = 1; seed <= c->seeds; seed++) {
        struct plant_seen s;
        bool is = false;
        TRY(plantrun_clean(r, c->id, seed, &is, &s, e));
        ran += s.ran;
        accused += is;
        if (is && r->out)
            fprintf(r->out, "%s,seed=%d\n    %s: %.400s\n", c->id, seed, verdict_name(s.verdict),
                    s.reason);
    }
    if (r->out)
        fprintf(r->out, "%-55s %d of %d accused\n", c->id, accused, ran);
    r->clean += ran;
    r->accused += accused;
    return ERR_OK;
}

static enum err run_cleans(struct plantrun *r, struct errinfo *e)
{
    if (r->out)
        fprintf(r->out, "\nno fault at all\n");
    for (int i = 0; i < plant_clean_count; i++)
        TRY(run_clean(r, &plant_cleans[i], e));
    return ERR_OK;
}

/* --- all of them -----------------------------------------------------------------------------
 */

enum err plantrun_all(struct plantrun *r, struct errinfo *e)
{
    for (int i = 0; i < plant_count; i++) {
        struct plant_seen s;
        TRY(plantrun_one(r, &plants[i], &s, e));
        if (r->out)
            print_seen(r->out, &s);
        r->planted += s.ran;
        r->reported += s.ran && plant_reported_as(s.plant);
        r->untested += !s.ran;
        r->missed += s.ran && !s.caught;
        r->misnamed += s.ran && s.named != s.plant->cause;
        if (s.ran)
            r->named_as[s.plant->cause][s.named]++;
    }
    if (r->out)
        print_matrix(r);
    return run_cleans(r, e);
}
