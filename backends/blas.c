/* SPDX-License-Identifier: Apache-2.0 */
#include "blas.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_words[] = {"f32", "f16", "bf16", "i8", "tf32"};
static const char *const math_words[] = {"default", "pedantic", "tf32"};

int blas_say(const struct blas_gemm *g, int code, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(g->words, BLAS_WORDS, format, ap);
    va_end(ap);
    return code;
}

void *blas_function(const struct library *l, const struct blas_gemm *g, const char *name)
{
    void *f = dlsym(l->handle, name);
    if (!f)
        blas_say(g, 0, "%.150s has no function %s", l->path, name);
    return f;
}

const void *blas_scalar(enum blas_type t, int value)
{
    static const float real[] = {0, 1};
    static const int32_t whole[] = {0, 1};
    return t == BLAS_I8 ? (const void *)&whole[value] : (const void *)&real[value];
}

/* --- lt --------------------------------------------------------------------------------------
 *
 * The two vendors' functions have the same arguments. Enumerators that both have alike: */

enum { PREFERENCE_WORKSPACE = 1, CONFIG_ID = 0, OFFERS_MAX = 64, OFFER_SIZE_MAX = 128 };

struct lt {
    const struct library *l;
    const struct blas_vendor *v;
    const struct blas_gemm *g;
    void *handle, *what, *preference, *layout[3]; /* of a, b and c as they are column-major */
    int code;
};

typedef void any_fn(void);

static any_fn *lt_function(struct lt *t, const char *name)
{
    char whole[80];
    union {
        void *object;
        any_fn *function;
    } f;
    snprintf(whole, sizeof whole, "%s%s", t->v->lt, name);
    f.object = blas_function(t->l, t->g, whole);
    if (!f.object)
        t->code = BLAS_UNTESTED;
    return f.function;
}

/* Calls on while nothing has failed. */
#define LT(t, name, type, ...)                                                                 \
    do {                                                                                       \
        any_fn *f_ = (t)->code ? NULL : lt_function(t, name);                                  \
        if (f_ && ((t)->code = ((int(*) type)f_)(__VA_ARGS__)))                                \
            blas_say((t)->g, 0, "%s%s returned %d", (t)->v->lt, name, (t)->code);              \
    } while (0)

static void lt_open(struct lt *t)
{
    const struct blas_gemm *g = t->g;
    const struct blas_vendor *v = t->v;
    uint64_t rows[] = {(uint64_t)g->n, (uint64_t)g->k, (uint64_t)g->n};
    uint64_t columns[] = {(uint64_t)g->k, (uint64_t)g->m, (uint64_t)g->m};
    bool cut = g->type == BLAS_F32 && !strcmp(g->math, "tf32");
    int compute = v->compute[cut ? BLAS_TF32 : g->type] + !strcmp(g->math, "pedantic");
    if (compute < 0)
        t->code = blas_say(g, BLAS_UNTESTED, "%s has no tf32", v->name[BLAS_LT]);
    LT(t, "Create", (void **), &t->handle);
    LT(t, "MatmulDescCreate", (void **, int, int), &t->what, compute,
       g->type == BLAS_I8 ? v->result[BLAS_I8] : v->type[BLAS_F32]);
    for (int i = 0; i < 3; i++)
        LT(t, "MatrixLayoutCreate", (void **, int, uint64_t, uint64_t, int64_t), &t->layout[i],
           i == 2 ? v->result[g->type] : v->type[g->type], rows[i], columns[i],
           (int64_t)rows[i]);
    LT(t, "MatmulPreferenceCreate", (void **), &t->preference);
    LT(t, "MatmulPreferenceSetAttribute", (void *, int, const void *, size_t), t->preference,
       PREFERENCE_WORKSPACE, &g->bytes, sizeof g->bytes);
}

static void lt_close(struct lt *t)
{
    int code = t->code;
    static const char *const names[] = {"MatmulPreferenceDestroy", "MatrixLayoutDestroy",
                                        "MatrixLayoutDestroy",     "MatrixLayoutDestroy",
                                        "MatmulDescDestroy",       "Destroy"};
    void *const held[] = {t->preference, t->layout[0], t->layout[1],
                          t->layout[2],  t->what,      t->handle};
    t->code = 0;
    for (int i = 0; i < 6; i++)
        if (held[i])
            LT(t, names[i], (void *), held[i]);
    t->code = code ? code : t->code;
}

static uint64_t offer_number(const unsigned char *at, size_t size)
{
    uint64_t v = 0;
    memcpy(&v, at, size);
    return v;
}

static void lt_multiply(struct lt *t, const unsigned char *offer, int which, int count)
{
    const struct blas_gemm *g = t->g;
    uint64_t space = offer_number(offer + t->v->offer_bytes, 8);
    LT(t, "Matmul",
       (void *, void *, const void *, const void *, void *, const void *, void *, const void *,
        const void *, void *, void *, void *, const void *, void *, size_t, void *),
       t->handle, t->what, blas_scalar(g->type, 1), g->b, t->layout[0], g->a, t->layout[1],
       blas_scalar(g->type, 0), g->c, t->layout[2], g->c, t->layout[2], offer, g->scratch,
       (size_t)g->bytes, NULL);
    if (!t->code)
        blas_say(g, 0,
                 "%s: algorithm %d (offer %d of %d), math %s, workspace %llu of %lld bytes",
                 t->v->name[BLAS_LT], (int)offer_number(offer, 4), which, count, g->math,
                 (unsigned long long)space, (long long)g->bytes);
}

static int lt_gemm(const struct library *l, const struct blas_vendor *v,
                   const struct blas_gemm *g)
{
    struct lt t = {.l = l, .v = v, .g = g};
    unsigned char *offers = calloc(OFFERS_MAX, OFFER_SIZE_MAX);
    int count = 0, which = g->algo < 0 ? 0 : g->algo;
    if (!offers)
        return blas_say(g, BLAS_UNTESTED, "out of memory");
    lt_open(&t);
    LT(&t, "MatmulAlgoGetHeuristic",
       (void *, void *, void *, void *, void *, void *, void *, int, void *, int *), t.handle,
       t.what, t.layout[0], t.layout[1], t.layout[2], t.layout[2], t.preference, OFFERS_MAX,
       offers, &count);
    if (!t.code && which >= count)
        t.code =
            blas_say(g, BLAS_UNTESTED, "the library offers %d algorithms for this, not algo=%d",
                     count, which);
    else if (!t.code)
        lt_multiply(&t, offers + (size_t)which * (size_t)v->offer_size, which, count);
    lt_close(&t);
    free(offers);
    return t.code;
}

/* --- the function ----------------------------------------------------------------------------
 */

static int word_of(const char *word, const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        if (words[i] && !strcmp(word, words[i]))
            return i;
    return -1;
}

static int dispatch(int api, const struct blas_gemm *g)
{
    const struct blas_vendor *v = &blas_vendor;
    struct backend_error e = {0};
    struct library l;
    if (v->compute[g->type] < 0 && api != BLAS_OTHER)
        return blas_say(g, BLAS_UNTESTED, "%s has no %s", v->name[api], type_words[g->type]);
    if (library_open(&v->library[api], &l, &e))
        return blas_say(g, BLAS_UNTESTED, "%.250s", e.text);
    return api == BLAS_LT      ? lt_gemm(&l, v, g)
           : api == BLAS_PLAIN ? v->plain(&l, v, g)
                               : v->other(&l, v, g);
}

int gpuparity_gemm(const char *api, const char *type, const char *math, int algo, void *scratch,
                   int64_t bytes, int m, int n, int k, const void *a, const void *b, void *c,
                   char *words)
{
    struct blas_gemm g = {.math = math,
                          .algo = algo,
                          .scratch = scratch,
                          .bytes = bytes,
                          .m = m,
                          .n = n,
                          .k = k,
                          .a = a,
                          .b = b,
                          .c = c,
                          .words = words};
    int t = word_of(type, type_words, BLAS_TYPES);
    int which = word_of(api, blas_vendor.name, BLAS_APIS);
    if (t < 0 || word_of(math, math_words, 3) < 0)
        return blas_say(&g, BLAS_WRONG, "no format %.30s, or no math %.30s", type, math);
    if (which < 0)
        return blas_say(&g, BLAS_UNTESTED, "this vendor has no %.30s", api);
    g.type = (enum blas_type)t;
    return dispatch(which, &g);
}
