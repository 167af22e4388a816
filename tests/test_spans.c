/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"
#include "suite.h"

/* References in spans: every family's, computed in pieces of any size and order, is bit for bit the
 * one computed at once; also when the inputs that it says it does not need are something else, and
 * so are its models. Inputs made in spans are those made at once. The cases are small ones of the
 * suites. */

enum { LEAST = 50, LARGEST = 8000, PIECES = 5 };

static void columns_of(const struct oracle *o, const double *ret_column[6])
{
    const double *const column[] = {o->value, o->tail, o->error, o->bound, o->drop, o->scale};
    memcpy(ret_column, column, sizeof column);
}

static bool alike(const struct oracle *x, const struct oracle *y, struct case_span s)
{
    const double *a[6], *b[6];
    columns_of(x, a);
    columns_of(y, b);
    for (int k = 0; k < 6; k++)
        if (memcmp(a[k] + s.from, b[k] + s.from, (size_t)(s.to - s.from) * sizeof(double)))
            return false;
    return true;
}

static bool has_reference_inputs(const struct scene *w)
{
    for (int i = 0; i < w->plan.n_tensor; i++)
        if (w->plan.tensor[i].reference)
            return true;
    return false;
}

/* The inputs with other bits wherever the family says that it does not look. */
struct needed {
    struct tensor t[CASE_TENSOR_MAX];
    const struct tensor *at[CASE_TENSOR_MAX];
};

static void needed_make(const struct scene *w, int which, struct case_span span, struct needed *n)
{
    memset(n, 0, sizeof *n);
    for (int i = 0; i < w->plan.n_tensor; i++) {
        struct case_span need;
        if (!w->at[i])
            continue;
        ck_assert(!tensor_copy(&n->t[i], w->at[i], NULL));
        n->at[i] = &n->t[i];
        if (w->plan.tensor[i].whole || !w->id.family->needs ||
            !w->id.family->needs(&w->id, &w->plan, which, i, span, &need))
            continue;
        for (int64_t k = 0; k < n->t[i].count; k++)
            if (k < need.from || k >= need.to)
                tensor_set_bits(&n->t[i], k, tensor_bits(&n->t[i], k) ^ 0x15);
    }
}

static void needed_release(struct needed *n)
{
    for (int i = 0; i < CASE_TENSOR_MAX; i++)
        tensor_release(&n->t[i]);
}

/* Every model's bits at the ends of the span. */
static void check_models(const struct scene *w, const struct needed *n, const char *id, int which,
                         struct case_span s)
{
    const struct family *f = w->id.family;
    const int64_t index[2] = {s.from, s.to - 1};
    for (int m = 0; f->models && f->models[m].name; m++) {
        if (f->models[m].far)
            continue;
        uint64_t x[2] = {0}, y[2] = {0};
        bool one = f->model(&w->id, &w->plan, w->at, which, m, 2, index, x);
        ck_assert(f->model(&w->id, &w->plan, n->at, which, m, 2, index, y) == one);
        ck_assert_msg(!memcmp(x, y, sizeof x), "%s: %s, '%s' at %d or %d", id,
                      w->plan.tensor[which].name, f->models[m].name, (int)s.from, (int)s.to - 1);
    }
}

static void check_fill(const struct scene *w, const char *id, int i)
{
    const struct case_tensor *t = &w->plan.tensor[i];
    int64_t n = case_tensor_count(t);
    struct case_span s = {n / 3, n / 2};
    struct tensor part;
    if (t->whole || !w->id.family->fill || s.from == s.to)
        return;
    ck_assert(!tensor_init(&part, t->dtype, t->rank, t->dim, NULL));
    if (w->id.family->fill(&w->id, &w->plan, i, s, &part))
        for (int64_t k = s.from; k < s.to; k++)
            ck_assert_msg(tensor_bits(&part, k) == tensor_bits(w->at[i], k), "%s: %s[%d]", id,
                          t->name, (int)k);
    tensor_release(&part);
}

/* In order with one oracle, as a comparison does; then single elements with one that knows nothing. */
static void check_output(const struct scene *w, const char *id, int which)
{
    if (case_tensor_count(&w->plan.tensor[which]) < 4)
        return;
    struct errinfo e = {0};
    struct oracle all = scene_oracle_at(w, which, 1), part;
    int64_t n = all.count;
    const int64_t cut[PIECES + 1] = {0, 1, n / 3, n / 3 + 7, n - 2, n};
    ck_assert(!oracle_init(&part, n, &e));
    for (int i = 0; i < PIECES; i++) {
        struct case_span s = {cut[i], cut[i + 1] < n ? cut[i + 1] : n};
        if (s.from >= s.to)
            continue;
        struct needed needed;
        needed_make(w, which, s, &needed);
        ck_assert(!w->id.family->oracle(&w->id, &w->plan, needed.at, which, s, 2, &part, &e));
        check_models(w, &needed, id, which, s);
        needed_release(&needed);
        ck_assert_msg(alike(&all, &part, s), "%s: %s, elements %d to %d", id,
                      w->plan.tensor[which].name, (int)s.from, (int)s.to);
        oracle_drop(&part, 0, n);
    }
    oracle_release(&part);
    for (int64_t i = n - 1; i > 0; i = i * 2 / 3) {
        struct case_span s = {i, i + 1};
        ck_assert(!oracle_init(&part, n, &e));
        ck_assert(!w->id.family->oracle(&w->id, &w->plan, w->at, which, s, 1, &part, &e));
        ck_assert_msg(alike(&all, &part, s), "%s: %s, element %d", id, w->plan.tensor[which].name,
                      (int)i);
        oracle_release(&part);
    }
    oracle_release(&all);
}

static bool is_small(const struct case_id *id)
{
    struct case_plan p;
    int64_t size = 0;
    ck_assert(!id->family->plan(id, &p, NULL));
    for (int i = 0; i < p.n_tensor; i++)
        size += case_tensor_count(&p.tensor[i]);
    return size > LEAST && size < LARGEST;
}

/* One case of each variant. */
START_TEST(pieces_are_the_whole)
{
    struct caselist l = {0};
    struct errinfo e = {0};
    const struct family *f = case_families[_i];
    const struct variant *last = NULL;
    const char *const pattern[] = {f->name};
    int checked = 0;
    ck_assert_msg(!caselist_select(&l, 1, pattern, "quick,full", &e), "%s", e.text);
    for (int64_t k = 0; k < l.count; k++) {
        char text[512];
        struct scene w;
        if (l.id[k].variant == last || !is_small(&l.id[k]))
            continue;
        last = l.id[k].variant;
        caseid_print(&l.id[k], text);
        scene_open(&w, text);
        for (int i = 0; i < w.plan.n_tensor; i++)
            if (w.plan.tensor[i].role != TENSOR_OUT)
                check_fill(&w, text, i);
        for (int i = 0; i < w.plan.n_tensor && !has_reference_inputs(&w); i++)
            if (w.plan.tensor[i].role != TENSOR_IN && !w.plan.tensor[i].whole) {
                check_output(&w, text, i);
                checked++;
            }
        scene_release(&w);
    }
    caselist_release(&l);
    ck_assert_int_gt(checked, 0);
}
END_TEST

int main(void)
{
    int families = 0;
    while (case_families[families])
        families++;
    Suite *s = suite_create("spans");
    TCase *t = tcase_create("spans");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, pieces_are_the_whole, 0, families);
    suite_add_tcase(s, t);
    return suite_run(s);
}
