/* SPDX-License-Identifier: Apache-2.0 */
#include "../blas.h"

#include <dlfcn.h>
#include <string.h>

/* hipBLAS, hipBLASLt and rocBLAS. */

typedef int create_fn(void **handle);
typedef int destroy_fn(void *handle);
typedef int set_workspace_fn(void *handle, void *space, size_t size);
typedef int gemm_fn(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
                    const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                    const void *beta, void *c, int c_type, int ldc, int compute, int algo);
typedef int rocblas_fn(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
                       const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                       const void *beta, const void *c, int c_type, int ldc, void *d,
                       int d_type, int ldd, int compute, int algo, int32_t solution,
                       uint32_t flags);

struct hipblas {
    create_fn *create;
    destroy_fn *destroy;
    gemm_fn *gemm, *gemm_v2;
};

/* Until hipBLAS 3 the function with today's enumerators has a name of its own. */
static const struct library_symbol symbols[] = {
    {"hipblasCreate", offsetof(struct hipblas, create), false},
    {"hipblasDestroy", offsetof(struct hipblas, destroy), false},
    {"hipblasGemmEx", offsetof(struct hipblas, gemm), false},
    {"hipblasGemmEx_v2", offsetof(struct hipblas, gemm_v2), true},
};

struct rocblas {
    create_fn *create;
    destroy_fn *destroy;
    set_workspace_fn *set_workspace;
    rocblas_fn *gemm;
};

static const struct library_symbol rocblas_symbols[] = {
    {"rocblas_create_handle", offsetof(struct rocblas, create), false},
    {"rocblas_destroy_handle", offsetof(struct rocblas, destroy), false},
    {"rocblas_set_workspace", offsetof(struct rocblas, set_workspace), false},
    {"rocblas_gemm_ex", offsetof(struct rocblas, gemm), false},
};

enum { HIPBLAS_DEFAULT = 160, ROCBLAS_STANDARD = 0, ROCBLAS_SOLUTION = 1 };

static int plain(const struct library *l, const struct blas_vendor *v,
                 const struct blas_gemm *g)
{
    struct hipblas f = {0};
    struct backend_error e = {0};
    void *handle = NULL;
    bool pedantic = !strcmp(g->math, "pedantic");
    if (library_resolve(l, symbols, sizeof symbols / sizeof *symbols, &f, &e))
        return blas_say(g, BLAS_UNTESTED, "%.250s", e.text);
    if (!f.gemm_v2 && strstr(l->path, ".so.2"))
        return blas_say(g, BLAS_UNTESTED, "%.150s is older than ROCm 6", l->path);
    if (g->algo >= 0 || g->bytes)
        return blas_say(g, BLAS_UNTESTED,
                        "hipBLAS chooses algorithm and workspace itself: algo=-1, "
                        "workspace=0, or api=lt, api=rocblas");
    int code = f.create(&handle);
    if (code)
        return blas_say(g, code, "hipblasCreate returned %d", code);
    code = (f.gemm_v2 ? f.gemm_v2 : f.gemm)(
        handle, v->transposed_not, v->transposed_not, g->n, g->m, g->k, blas_scalar(g->type, 1),
        g->b, v->type[g->type], g->n, g->a, v->type[g->type], g->k, blas_scalar(g->type, 0),
        g->c, v->result[g->type], g->n, v->compute[g->type] + pedantic, HIPBLAS_DEFAULT);
    f.destroy(handle);
    if (code)
        return blas_say(g, code, "hipblasGemmEx returned %d", code);
    return blas_say(g, 0,
                    "hipBLAS: its choice of algorithm, math %s, compute %d, its own workspace",
                    g->math, v->compute[g->type] + pedantic);
}

static int rocblas_multiply(const struct rocblas *f, void *handle, const struct blas_gemm *g)
{
    static const int types[] = {151, 150, 168, 160, -1}, results[] = {151, 150, 168, 162, -1};
    static const int computes[] = {151, 151, 151, 162, -1};
    int type = types[g->type], result = results[g->type], none = blas_vendor.transposed_not;
    int code = g->bytes ? f->set_workspace(handle, g->scratch, (size_t)g->bytes) : 0;
    if (!code)
        code = f->gemm(handle, none, none, g->n, g->m, g->k, blas_scalar(g->type, 1), g->b,
                       type, g->n, g->a, type, g->k, blas_scalar(g->type, 0), g->c, result,
                       g->n, g->c, result, g->n, computes[g->type],
                       g->algo < 0 ? ROCBLAS_STANDARD : ROCBLAS_SOLUTION,
                       g->algo < 0 ? 0 : g->algo, 0);
    if (code)
        return blas_say(g, code, "rocblas_gemm_ex returned %d", code);
    return blas_say(g, 0, "rocBLAS: solution %d, math %s, workspace %lld bytes%s", g->algo,
                    g->math, (long long)g->bytes, g->bytes ? "" : " (its own)");
}

static int other(const struct library *l, const struct blas_vendor *v,
                 const struct blas_gemm *g)
{
    struct rocblas f = {0};
    struct backend_error e = {0};
    void *handle = NULL;
    (void)v;
    if (g->type == BLAS_TF32 || strcmp(g->math, "default"))
        return blas_say(g, BLAS_UNTESTED, "rocBLAS has no such mode on this card");
    if (library_resolve(l, rocblas_symbols, sizeof rocblas_symbols / sizeof *rocblas_symbols,
                        &f, &e))
        return blas_say(g, BLAS_UNTESTED, "%.250s", e.text);
    int code = f.create(&handle);
    if (code)
        return blas_say(g, code, "rocblas_create_handle returned %d", code);
    code = rocblas_multiply(&f, handle, g);
    f.destroy(handle);
    return code;
}

static const char *const plain_names[] = {"libhipblas.so.3", "libhipblas.so.2", NULL};
static const char *const lt_names[] = {"libhipblaslt.so.1", "libhipblaslt.so.0", NULL};
static const char *const rocblas_names[] = {"librocblas.so.5", "librocblas.so.4", NULL};

const struct blas_vendor blas_vendor = {
    .name = {"blas", "lt", "rocblas"},
    .library = {{"hipBLAS", "GPUPARITY_HIPBLAS", plain_names, "hipblas (ROCm)", NULL},
                {"hipBLASLt", "GPUPARITY_HIPBLASLT", lt_names, "hipblaslt (ROCm)", NULL},
                {"rocBLAS", "GPUPARITY_ROCBLAS", rocblas_names, "rocblas (ROCm)", NULL}},
    .lt = "hipblasLt",
    .type = {0, 2, 14, 3, 0},
    .result = {0, 2, 14, 10, 0},
    .compute = {2, 2, 2, 9, -1},
    .transposed_not = 111,
    .offer_bytes = 24,
    .offer_size = 56,
    .plain = plain,
    .other = other,
};
