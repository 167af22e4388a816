/* SPDX-License-Identifier: Apache-2.0 */
#include "compareexplain.h"

#include "diagnose.h"
#include "excerpt.h"

/* The elements that the excerpt must have: of a wrong side its own, else those of the pair. */
static void excerpt_ask(const struct output_stats *s, bool two_sided,
                        int64_t ret_asked[EXCERPT_ASKED])
{
    bool wrong_a = s->a.first_wrong >= 0, wrong_b = two_sided && s->b.first_wrong >= 0;
    ret_asked[0] = wrong_a ? s->a.first_wrong : two_sided ? s->pair.first_index : -1;
    ret_asked[1] = wrong_a ? s->a.worst_index : two_sided ? s->pair.worst_index : -1;
    ret_asked[2] = wrong_b ? s->b.first_wrong : -1;
    ret_asked[3] = wrong_b ? s->b.worst_index : -1;
}

static enum err explain_excerpt(struct answers *x, const struct comparepass *pass,
                                struct diagnose_input *d, struct finding_out *o,
                                struct errinfo *e)
{
    int64_t asked[EXCERPT_ASKED];
    struct excerpt p;
    excerpt_ask(&o->stats, answers_b(x) != NULL, asked);
    TRY(excerpt_make(x, asked, &p, e));
    d->input = p.beside;
    d->a = &p.a;
    d->b = answers_b(x) ? &p.b : NULL;
    d->oracle = &p.right;
    d->place = p.place;
    d->all = x->part[0].input;
    d->places[0] = &pass->places[0];
    d->places[1] = &pass->places[1];
    enum err err = diagnose_output(d, o, e);
    excerpt_release(&p);
    return err;
}

enum err compareexplain_output(struct answers *x, const struct comparepass *pass,
                               const struct finding *f, struct finding_out *o, struct errinfo *e)
{
    struct case_span all = {0, answers_a(x)->count};
    struct diagnose_input d = {.id = x->id,
                               .plan = x->plan,
                               .input = x->part[0].input,
                               .which = x->which,
                               .a = answers_a(x),
                               .b = answers_b(x),
                               .oracle = &x->right,
                               .finding = f};
    if (diagnose_wanted(o) && all.to > CASE_WINDOW)
        return explain_excerpt(x, pass, &d, o, e);
    if (diagnose_wanted(o)) {
        TRY(answers_load(x, all, e));
        TRY(answers_inputs(x, 1, &all, e));
    }
    return diagnose_output(&d, o, e);
}
