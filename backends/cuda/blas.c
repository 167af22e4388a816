/* SPDX-License-Identifier: Apache-2.0 */
#include "../blas.h"

#include <dlfcn.h>
#include <string.h>

/* cuBLAS and cuBLASLt. */

typedef int create_fn(void **handle);
typedef int set_math_fn(void *handle, int mode);
typedef int set_workspace_fn(void *handle, void *space, size_t size);
typedef int destroy_fn(void *handle);
typedef int gemm_fn(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
                    const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                    const void *beta, void *c, int c_type, int ldc, int compute, int algo);

struct cublas {
    create_fn *create;
    set_math_fn *set_math;
    set_workspace_fn *set_workspace;
    destroy_fn *destroy;
    gemm_fn *gemm;
};

static const struct library_symbol symbols[] = {
    {"cublasCreate_v2", offsetof(struct cublas, create), false},
    {"cublasSetMathMode", offsetof(struct cublas, set_math), false},
    {"cublasSetWorkspace_v2", offsetof(struct cublas, set_workspace), true},
    {"cublasDestroy_v2", offsetof(struct cublas, destroy), false},
    {"cublasGemmEx", offsetof(struct cublas, gemm), false},
};

enum { MATH_DEFAULT = 0, MATH_PEDANTIC = 2, MATH_TF32 = 3 };

static int multiply(const struct cublas *f, void *handle, const struct blas_vendor *v,
                    const struct blas_gemm *g)
{
    bool pedantic = !strcmp(g->math, "pedantic");
    int mode = pedantic ? MATH_PEDANTIC : !strcmp(g->math, "tf32") ? MATH_TF32 : MATH_DEFAULT;
    int code = f->set_math(handle, mode);
    if (!code && g->bytes && f->set_workspace)
        code = f->set_workspace(handle, g->scratch, (size_t)g->bytes);
    if (code)
        return blas_say(g, code, "setting mode or workspace returned %d", code);
    code = f->gemm(handle, v->transposed_not, v->transposed_not, g->n, g->m, g->k,
                   blas_scalar(g->type, 1), g->b, v->type[g->type], g->n, g->a,
                   v->type[g->type], g->k, blas_scalar(g->type, 0), g->c, v->result[g->type],
                   g->n, v->compute[g->type] + pedantic, g->algo);
    if (code)
        return blas_say(g, code, "cublasGemmEx returned %d", code);
    return blas_say(g, 0,
                    "cuBLAS: algorithm %d, math %s (%d), compute %d, workspace %lld bytes%s",
                    g->algo, g->math, mode, v->compute[g->type] + pedantic, (long long)g->bytes,
                    g->bytes ? "" : " (its own)");
}

static int plain(const struct library *l, const struct blas_vendor *v,
                 const struct blas_gemm *g)
{
    struct cublas f = {0};
    struct backend_error e = {0};
    void *handle = NULL;
    if (library_resolve(l, symbols, sizeof symbols / sizeof *symbols, &f, &e))
        return blas_say(g, BLAS_UNTESTED, "%.250s", e.text);
    int code = f.create(&handle);
    if (code)
        return blas_say(g, code, "cublasCreate returned %d", code);
    code = multiply(&f, handle, v, g);
    f.destroy(handle);
    return code;
}

static const char *const plain_names[] = {"libcublas.so.13", "libcublas.so.12",
                                          "libcublas.so.11", NULL};
static const char *const lt_names[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                       "libcublasLt.so.11", NULL};

const struct blas_vendor blas_vendor = {
    .name = {"blas", "lt", NULL},
    .library = {{"cuBLAS", "GPUPARITY_CUBLAS", plain_names, "libcublas (CUDA)", NULL},
                {"cuBLASLt", "GPUPARITY_CUBLASLT", lt_names, "libcublas (CUDA)", NULL}},
    .lt = "cublasLt",
    .type = {0, 2, 14, 3, 0},
    .result = {0, 2, 14, 10, 0},
    .compute = {68, 68, 68, 72, 77},
    .transposed_not = 0,
    .offer_bytes = 64,
    .offer_size = 96,
    .plain = plain,
};
