/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "caseid.h"
#include "fill.h"
#include "rng.h"
#include "session.h"
#include "suite.h"
#include "summation.h"
#include "treetext.h"

enum { TERMS_MAX = 128, PAIRS_MAX = TERMS_MAX * (TERMS_MAX - 1) / 2 };

/* --- trees of orders that the test computes itself -------------------------------------------
 */

typedef float order_fn(const float *x, int n);

static float serial(const float *x, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

static float backward(const float *x, int n)
{
    float sum = x[n - 1];
    for (int i = n - 2; i >= 0; i--)
        sum += x[i];
    return sum;
}

static float pairwise(const float *x, int n)
{
    return n == 1 ? x[0] : pairwise(x, n / 2) + pairwise(x + n / 2, n - n / 2);
}

/* 8 strided sums, joined by halves as GPUs do. */
static float strided(const float *x, int n)
{
    float part[8] = {0};
    for (int i = 0; i < n; i++)
        part[i % 8] += x[i];
    for (int half = 4; half; half /= 2)
        for (int l = 0; l < half; l++)
            part[l] += part[l + half];
    return part[0];
}

static float split_k(const float *x, int n)
{
    float sum = 0;
    for (int first = 0; first < n; first += 16)
        sum += serial(x + first, 16);
    return sum;
}

/* Tiles of 8, each summed in a register of two lanes, added to the total. */
static float tiled(const float *x, int n)
{
    float sum = 0;
    for (int first = 0; first < n; first += 8) {
        float even = 0, odd = 0;
        for (int i = 0; i < 8; i += 2) {
            even += x[first + i];
            odd += x[first + i + 1];
        }
        sum += even + odd;
    }
    return sum;
}

/* Groups of `size` and the sum so far, cut to 24 bits below the largest, added exactly. */
static float cut_groups(const float *x, int n, int size)
{
    float sum = 0;
    for (int first = 0; first < n; first += size) {
        int top = -200, e;
        double exact = 0;
        for (int i = -1; i < size; i++) {
            frexp((double)(i < 0 ? sum : x[first + i]), &e);
            top = (i < 0 ? sum : x[first + i]) != 0 && e > top ? e : top;
        }
        for (int i = -1; i < size; i++)
            exact += trunc(ldexp((double)(i < 0 ? sum : x[first + i]), 25 - top));
        sum = (float)ldexp(exact, top - 25);
    }
    return sum;
}

static float groups_of_8(const float *x, int n)
{
    return cut_groups(x, n, 8);
}

static float groups_of_4(const float *x, int n)
{
    return cut_groups(x, n, 4);
}

/* As pairs that lose one unit of the last place whenever they cancel. */
static float leaky(const float *x, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i += 2) {
        float big = fmaxf(fabsf(x[i]), fabsf(sum));
        float unit = big > 1 ? big * 0x1p-24f : 0, before = sum;
        sum = cut_groups((const float[]){sum, x[i], x[i + 1], 0}, 4, 4);
        if (fabsf(sum) < big / 2 && fabsf(before) <= big)
            sum -= unit;
    }
    return sum;
}

static const struct {
    order_fn *sum;
    int n;
    const char *text;
    int additions, fused, depth;
} known[] = {
    {serial, 2, "pair +1 of 0", 1, 0, 1},
    {serial, 17, "chain 17 x +1 of 0", 16, 0, 16},
    {backward, 9, "chain pair +1 of 7 then 7 x -1 of 6", 8, 0, 8},
    {pairwise, 16, "pair +8,+4,+2,+1 of 0", 15, 0, 4},
    {pairwise, 5, "(pair +1 of 0 + (2 + pair +1 of 3))", 4, 0, 3},
    {strided, 40, "pair +1,+2,+4 of chain 5 x +8 of 0", 39, 0, 7},
    {strided, 9, "(((pair +8 of 0 + 4) + pair +4 of 2) + pair +2,+4 of 1)", 8, 0, 4},
    {split_k, 64, "chain 4 x +16 of chain 16 x +1 of 0", 63, 0, 18},
    {tiled, 40, "chain 5 x +8 of pair +1 of chain 4 x +2 of 0", 39, 0, 8},
    {groups_of_8, 32, "chain 4 x +8 of {8 x +1 of 0}", 4, 4, 4},
    {groups_of_4, 8, "chain 2 x +4 of {4 x +1 of 0}", 2, 2, 2},
    {groups_of_8, 8, "{8 x +1 of 0}", 1, 1, 1},
    {leaky, 16, "chain 8 x +2 of {2 x +1 of 0}", 8, 7, 8},
};

static void masked(float *x, int n, int64_t pair)
{
    for (int i = 0; i < n; i++)
        x[i] = (float)dtype_value(
            DTYPE_F32, fill_bits(rng_key_make(1, "a"), DIST_MASK, DTYPE_F32, n, pair * n + i));
}

START_TEST(known_orders_are_recovered)
{
    int32_t met[PAIRS_MAX];
    float x[TERMS_MAX];
    struct errinfo e = {0};
    struct tree t;
    int n = known[_i].n;
    struct case_sum s = {.leaves = n, .stride = 1, .factor = 1};
    for (int64_t p = 0; p < (int64_t)n * (n - 1) / 2; p++) {
        masked(x, n, p);
        met[p] = summation_met(&s, (double)known[_i].sum(x, n), fill_mask(DTYPE_F32, n).one);
    }
    ck_assert_msg(!tree_make(n, met, &t, &e), "%d: %s", _i, e.text);
    char *text = treetext(&t);
    ck_assert_str_eq(text, known[_i].text);
    ck_assert_int_eq(tree_additions(&t), known[_i].additions);
    ck_assert_int_eq(tree_fused(&t), known[_i].fused);
    ck_assert_int_eq(tree_depth(&t), known[_i].depth);
    free(text);
    tree_release(&t);
}
END_TEST

/* --- random trees ----------------------------------------------------------------------------
 */

/* parent[x] > x; leaves are 0 .. n-1; returns the root. */
static int random_tree(struct rng_key key, int n, int *parent)
{
    int open[2 * TERMS_MAX], count = n, next = n;
    for (int i = 0; i < n; i++)
        open[i] = i;
    while (count > 1) {
        int take = 2 + (int)(rng_bits(key, (uint64_t)next, 1) % 3);
        take = take > count ? count : take;
        for (int k = 0; k < take; k++) {
            int at = (int)(rng_bits(key, (uint64_t)next, 2 + (uint64_t)k) % (uint64_t)count);
            parent[open[at]] = next;
            open[at] = open[--count];
        }
        open[count++] = next++;
    }
    parent[open[0]] = -1;
    return open[0];
}

static bool under(const int *parent, int x, int node)
{
    while (x >= 0 && x != node)
        x = parent[x];
    return x == node;
}

static int met_by_walking(const int *parent, int n, int i, int j)
{
    int node = i, leaves = 0;
    while (!under(parent, j, node))
        node = parent[node];
    for (int x = 0; x < n; x++)
        leaves += under(parent, x, node);
    return leaves;
}

/* From a tree of the library to parents. */
static void parents_of(const struct tree *t, int node, int above, int *parent, int *name)
{
    int me = t->node[node].leaf >= 0 ? t->node[node].leaf : (*name)++;
    parent[me] = above;
    for (int c = t->node[node].first; c >= 0; c = t->node[c].next)
        parents_of(t, c, me, parent, name);
}

START_TEST(random_trees_come_back)
{
    int parent[2 * TERMS_MAX], again[2 * TERMS_MAX];
    int32_t met[PAIRS_MAX];
    for (int x = 0; x < 100; x++) {
        struct rng_key key = rng_key_make((uint64_t)x, "tree");
        struct errinfo e = {0};
        struct tree t;
        int n = 2 + (int)(rng_bits(key, 0, 0) % 23), name = n;
        random_tree(key, n, parent);
        for (int j = 1; j < n; j++)
            for (int i = 0; i < j; i++)
                met[j * (j - 1) / 2 + i] = met_by_walking(parent, n, i, j);
        ck_assert_msg(!tree_make(n, met, &t, &e), "%d: %s", x, e.text);
        parents_of(&t, t.root, -1, again, &name);
        for (int j = 1; j < n; j++)
            for (int i = 0; i < j; i++)
                ck_assert_int_eq(met[j * (j - 1) / 2 + i], met_by_walking(again, n, i, j));
        tree_release(&t);
    }
}
END_TEST

START_TEST(what_is_no_tree_is_refused)
{
    struct tree t;
    struct errinfo e = {0};
    /* ((0+1)+2)+3 with one wrong pair, and all meeting below the whole */
    int32_t met[] = {2, 3, 3, 4, 4, 3}, low[] = {2, 2, 2}, high[] = {3, 3, 4};
    ck_assert_int_eq(tree_make(4, met, &t, &e), ERR_FORMAT);
    ck_assert_msg(strstr(e.text, "terms ") != NULL, "%s", e.text);
    ck_assert_int_eq(tree_make(3, low, &t, &e), ERR_FORMAT);
    ck_assert_int_eq(tree_make(3, high, &t, &e), ERR_FORMAT);
}
END_TEST

/* --- masks -----------------------------------------------------------------------------------
 */

START_TEST(masks_meet_every_pair_once)
{
    static const enum dtype formats[] = {DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_TF32};
    enum { N = 33 };
    int seen[N][N] = {{0}};
    for (int64_t p = 0; p < N * (N - 1) / 2; p++) {
        int64_t i, j;
        fill_mask_pair(N, p, &i, &j);
        ck_assert(0 <= i && i < j && j < N && p == j * (j - 1) / 2 + i);
        seen[i][j]++;
        for (int f = 0; f < 4; f++) {
            double sum = 0;
            for (int k = 0; k < N; k++)
                sum += dtype_value(formats[f], fill_bits(rng_key_make(3, "x"), DIST_MASK,
                                                         formats[f], N, p * N + k));
            ck_assert(sum == (N - 2) * fill_mask(formats[f], N).one);
        }
    }
    for (int j = 0; j < N; j++)
        for (int i = 0; i < j; i++)
            ck_assert_int_eq(seen[i][j], 1);
    int64_t i, j;
    fill_mask_pair(512, 512 * 511 / 2 - 1, &i, &j);
    ck_assert(i == 510 && j == 511);
}
END_TEST

/* --- on simulated devices --------------------------------------------------------------------
 */

static const struct {
    const char *id, *cuda, *hip;
} cases[] = {
    {"gemm/tiled:dtype=bf16,k=40", "chain 40 x +1 of 0", "chain 40 x +1 of 0"},
    {"gemm/splitk16:dtype=f16,k=24,split=3", "chain 3 x +8 of chain 8 x +1 of 0",
     "chain 3 x +8 of chain 8 x +1 of 0"},
    {"gemm/mma:dtype=f16,k=32", "chain 4 x +8 of {8 x +1 of 0}",
     "chain 16 x +2 of {2 x +1 of 0}"},
    {"gemm/mma:dtype=bf16,k=16,tb=1", "chain 2 x +8 of {8 x +1 of 0}",
     "chain 8 x +2 of {2 x +1 of 0}"},
    {"gemm/mma:dtype=f16,acc=f16,k=16", "chain 2 x +8 of {8 x +1 of 0}",
     "chain 8 x +2 of {2 x +1 of 0}"},
    {"gemm/mma:dtype=tf32,k=16", "chain 4 x +4 of {4 x +1 of 0}", "chain 16 x +1 of 0"},
    {"reduce/warp:n=64,op=mean", "pair +1,+2,+4,+8,+16,+32 of 0",
     "pair +1,+2,+4,+8,+16,+32 of 0"},
    {"reduce/ring:dtype=bf16,n=5,carry=hop", "(0 + chain 4 x +1 of 1)",
     "(0 + chain 4 x +1 of 1)"},
};

static void tree_check(const char *id_text, const char *device, const char *text)
{
    struct errinfo e = {0};
    struct case_id id;
    struct case_sum sum;
    struct session s;
    struct tree t;
    char run[CASEID_TEXT_MAX];
    struct options *o = calloc(1, sizeof *o);
    ck_assert_msg(!caseid_parse(id_text, &id, &e) && !summation_plan(&id, &sum, &e), "%s",
                  e.text);
    caseid_print(&sum.id, run);
    o->n_word = 1;
    o->word[0] = run;
    o->on = device;
    o->code = "golden";
    o->quiet = true;
    ck_assert_msg(!session_run(&s, o, 1, device, true, &e), "%s", e.text);
    ck_assert_msg(!summation_tree(s.record, s.run[0], &sum, &t, &e), "%s: %s", run, e.text);
    char *got = treetext(&t);
    ck_assert_str_eq(got, text);
    free(got);
    free(o);
    tree_release(&t);
    session_release(&s);
}

START_TEST(devices_add_as_documented)
{
    tree_check(cases[_i].id, "cuda-sim", cases[_i].cuda);
    tree_check(cases[_i].id, "hip-sim", cases[_i].hip);
}
END_TEST

static const struct {
    const char *id, *says;
} refused[] = {
    {"gemm/mma:dtype=i8", "exact in any order"},
    {"gemm/naive:k=1", "2 to 512 terms"},
    {"reduce/tree:op=norm", "no sign"},
    {"reduce/serial:n=513", "2 to 512 terms"},
    {"reduce/serial:dtype=bf16,n=257", "bf16 counts to 256"},
    {"math/expf", "gemm, reduce"},
};

START_TEST(refusals_say_what_is_possible)
{
    struct errinfo e = {0};
    struct case_id id;
    struct case_sum sum;
    ck_assert(!caseid_parse(refused[_i].id, &id, &e));
    ck_assert_int_eq(summation_plan(&id, &sum, &e), ERR_USAGE);
    ck_assert_msg(strstr(e.text, refused[_i].says) != NULL, "%s", e.text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("tree");
    TCase *c = tcase_create("tree");
    tcase_add_loop_test(c, known_orders_are_recovered, 0, sizeof known / sizeof *known);
    tcase_add_test(c, random_trees_come_back);
    tcase_add_test(c, what_is_no_tree_is_refused);
    tcase_add_test(c, masks_meet_every_pair_once);
    tcase_add_loop_test(c, devices_add_as_documented, 0, sizeof cases / sizeof *cases);
    tcase_add_loop_test(c, refusals_say_what_is_possible, 0, sizeof refused / sizeof *refused);
    suite_add_tcase(s, c);
    return suite_run(s);
}
