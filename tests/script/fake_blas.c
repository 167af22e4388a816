/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Both vendors' libraries of matrix products, as far as backends/blas.c goes, for f32 and i8 on
 * the simulated cards' memory: tests/script/blas.sh. They check what they are told against the
 * vendors' enumerators, written here a second time; m = 13 fails. */

#define API __attribute__((visibility("default")))
enum { FAILS = 13, STATUS_INVALID = 7 };

/* --- the device's memory ---------------------------------------------------------------------
 */

static void *simulator(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/libgpuparity-%s-sim.so", getenv("GPUPARITY_SIM_DIR"), name);
    return dlopen(path, RTLD_NOW | RTLD_NOLOAD);
}

static int copy(void *to, const void *from, size_t size, int to_device)
{
    void *cuda = simulator("cuda"), *hip = simulator("hip");
    if (cuda && to_device)
        return ((int (*)(uint64_t, const void *, size_t))dlsym(cuda, "cuMemcpyHtoD_v2"))(
            (uintptr_t)to, from, size);
    if (cuda)
        return ((int (*)(void *, uint64_t, size_t))dlsym(cuda, "cuMemcpyDtoH_v2"))(
            to, (uintptr_t)from, size);
    return ((int (*)(void *, const void *, size_t, int))dlsym(hip, "hipMemcpy"))(
        to, from, size, to_device ? 1 : 2);
}

static void *fetch(const void *at, size_t size)
{
    void *p = malloc(size);
    return copy(p, at, size, 0) ? NULL : p;
}

/* Column-major C = A B; a is m x k. */
static int product(int bytes, int m, int n, int k, const void *a, int lda, const void *b,
                   int ldb, void *c, int ldc)
{
    if (m == FAILS || n == FAILS)
        return STATUS_INVALID;
    char *x = fetch(a, (size_t)lda * (size_t)k * (size_t)bytes),
         *y = fetch(b, (size_t)ldb * (size_t)n * (size_t)bytes);
    char *z = fetch(c, (size_t)ldc * (size_t)n * 4);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            float real = 0;
            int32_t whole = 0;
            for (int l = 0; l < k; l++)
                if (bytes == 4)
                    real += ((float *)x)[i + l * lda] * ((float *)y)[l + j * ldb];
                else
                    whole += ((int8_t *)x)[i + l * lda] * ((int8_t *)y)[l + j * ldb];
            memcpy(z + 4 * (i + j * ldc), bytes == 4 ? (void *)&real : (void *)&whole, 4);
        }
    int code = copy(c, z, (size_t)ldc * (size_t)n * 4, 1);
    free(x);
    free(y);
    free(z);
    return code;
}

/* --- plain -----------------------------------------------------------------------------------
 */

struct handle {
    int mode;
    size_t space;
};

API int cublasCreate_v2(struct handle **h);
API int cublasCreate_v2(struct handle **h)
{
    *h = calloc(1, sizeof **h);
    return 0;
}

API int cublasDestroy_v2(struct handle *h);
API int cublasDestroy_v2(struct handle *h)
{
    free(h);
    return 0;
}

API int cublasSetMathMode(struct handle *h, int mode);
API int cublasSetMathMode(struct handle *h, int mode)
{
    h->mode = mode;
    return 0;
}

API int cublasSetWorkspace_v2(struct handle *h, void *at, size_t size);
API int cublasSetWorkspace_v2(struct handle *h, void *at, size_t size)
{
    h->space = at ? size : 0;
    return 0;
}

API int cublasGemmEx(struct handle *h, int ta, int tb, int m, int n, int k, const void *alpha,
                     const void *a, int at, int lda, const void *b, int bt, int ldb,
                     const void *beta, void *c, int ct, int ldc, int compute, int algo);
API int cublasGemmEx(struct handle *h, int ta, int tb, int m, int n, int k, const void *alpha,
                     const void *a, int at, int lda, const void *b, int bt, int ldb,
                     const void *beta, void *c, int ct, int ldc, int compute, int algo)
{
    /* CUDA_R_32F 0, CUDA_R_8I 3, CUDA_R_32I 10; CUBLAS_COMPUTE_32F 68 (PEDANTIC 69), 32I 72;
     * CUBLAS_PEDANTIC_MATH 2, CUBLAS_TF32_TENSOR_OP_MATH 3 */
    int f32 = at == 0 && bt == 0 && ct == 0 && compute == 68 + (h->mode == 2) &&
              *(const float *)alpha == 1;
    int i8 = at == 3 && bt == 3 && ct == 10 && compute == 72 && *(const int32_t *)alpha == 1;
    if (ta || tb || (!f32 && !i8) || *(const uint32_t *)beta || algo < -1 || algo > 23 ||
        h->space == 1)
        return STATUS_INVALID;
    return product(f32 ? 4 : 1, m, n, k, a, lda, b, ldb, c, ldc);
}

API int hipblasCreate(struct handle **h);
API int hipblasCreate(struct handle **h)
{
    return cublasCreate_v2(h);
}

API int hipblasDestroy(struct handle *h);
API int hipblasDestroy(struct handle *h)
{
    return cublasDestroy_v2(h);
}

API int hipblasGemmEx(struct handle *h, int ta, int tb, int m, int n, int k, const void *alpha,
                      const void *a, int at, int lda, const void *b, int bt, int ldb,
                      const void *beta, void *c, int ct, int ldc, int compute, int algo);
API int hipblasGemmEx(struct handle *h, int ta, int tb, int m, int n, int k, const void *alpha,
                      const void *a, int at, int lda, const void *b, int bt, int ldb,
                      const void *beta, void *c, int ct, int ldc, int compute, int algo)
{
    /* HIPBLAS_OP_N 111; HIP_R_32F 0, HIP_R_8I 3, HIP_R_32I 10; HIPBLAS_COMPUTE_32F 2, 32I 9;
     * HIPBLAS_GEMM_DEFAULT 160 */
    int f32 = at == 0 && bt == 0 && ct == 0 && compute == 2 && *(const float *)alpha == 1;
    int i8 = at == 3 && bt == 3 && ct == 10 && compute == 9 && *(const int32_t *)alpha == 1;
    if (!h || ta != 111 || tb != 111 || (!f32 && !i8) || *(const uint32_t *)beta || algo != 160)
        return STATUS_INVALID;
    return product(f32 ? 4 : 1, m, n, k, a, lda, b, ldb, c, ldc);
}

API int rocblas_create_handle(struct handle **h);
API int rocblas_create_handle(struct handle **h)
{
    return cublasCreate_v2(h);
}

API int rocblas_destroy_handle(struct handle *h);
API int rocblas_destroy_handle(struct handle *h)
{
    return cublasDestroy_v2(h);
}

API int rocblas_set_workspace(struct handle *h, void *at, size_t size);
API int rocblas_set_workspace(struct handle *h, void *at, size_t size)
{
    return cublasSetWorkspace_v2(h, at, size);
}

API int rocblas_gemm_ex(struct handle *h, int ta, int tb, int m, int n, int k,
                        const void *alpha, const void *a, int at, int lda, const void *b,
                        int bt, int ldb, const void *beta, const void *c, int ct, int ldc,
                        void *d, int dt, int ldd, int compute, int algo, int32_t solution,
                        uint32_t flags);
API int rocblas_gemm_ex(struct handle *h, int ta, int tb, int m, int n, int k,
                        const void *alpha, const void *a, int at, int lda, const void *b,
                        int bt, int ldb, const void *beta, const void *c, int ct, int ldc,
                        void *d, int dt, int ldd, int compute, int algo, int32_t solution,
                        uint32_t flags)
{
    /* rocblas_operation_none 111; f32_r 151, i8_r 160, i32_r 162; algorithms standard 0,
     * solution_index 1 */
    int f32 = at == 151 && bt == 151 && ct == 151 && dt == 151 && compute == 151;
    int i8 = at == 160 && bt == 160 && ct == 162 && dt == 162 && compute == 162;
    (void)h, (void)alpha;
    if (ta != 111 || tb != 111 || (!f32 && !i8) || *(const uint32_t *)beta || c != d ||
        ldc != ldd || flags || algo != (solution > 0))
        return STATUS_INVALID;
    return product(f32 ? 4 : 1, m, n, k, a, lda, b, ldb, d, ldd);
}

/* --- lt: the same for both, but for the offers
 * ------------------------------------------------ */

struct layout {
    int type;
    uint64_t rows, columns;
    int64_t stride;
};
struct cuda_offer {
    uint64_t algo[8];
    size_t space;
    int state;
    float waves;
    int reserved[4];
};
struct hip_offer {
    unsigned char data[16];
    size_t most;
    size_t space;
    int state;
    float waves;
    int reserved[4];
};

#define LT(vendor, offer, f32_compute, i8_compute)                                             \
    API int vendor##LtCreate(void **h);                                                        \
    API int vendor##LtCreate(void **h)                                                         \
    {                                                                                          \
        *h = calloc(1, 8);                                                                     \
        return 0;                                                                              \
    }                                                                                          \
    API int vendor##LtMatmulDescCreate(int **d, int compute, int scale);                       \
    API int vendor##LtMatmulDescCreate(int **d, int compute, int scale)                        \
    {                                                                                          \
        *d = malloc(sizeof **d);                                                               \
        **d = compute;                                                                         \
        return (compute == f32_compute && scale == 0) ||                                       \
                       (compute == i8_compute && scale == 10)                                  \
                   ? 0                                                                         \
                   : STATUS_INVALID;                                                           \
    }                                                                                          \
    API int vendor##LtMatrixLayoutCreate(struct layout **l, int type, uint64_t rows,           \
                                         uint64_t columns, int64_t stride);                    \
    API int vendor##LtMatrixLayoutCreate(struct layout **l, int type, uint64_t rows,           \
                                         uint64_t columns, int64_t stride)                     \
    {                                                                                          \
        *l = malloc(sizeof **l);                                                               \
        **l = (struct layout){type, rows, columns, stride};                                    \
        return 0;                                                                              \
    }                                                                                          \
    API int vendor##LtMatmulPreferenceCreate(uint64_t **p);                                    \
    API int vendor##LtMatmulPreferenceCreate(uint64_t **p)                                     \
    {                                                                                          \
        *p = calloc(1, sizeof **p);                                                            \
        return 0;                                                                              \
    }                                                                                          \
    API int vendor##LtMatmulPreferenceSetAttribute(uint64_t *p, int what,                      \
                                                   const uint64_t *bytes, size_t size);        \
    API int vendor##LtMatmulPreferenceSetAttribute(uint64_t *p, int what,                      \
                                                   const uint64_t *bytes, size_t size)         \
    {                                                                                          \
        *p = *bytes;                                                                           \
        return what == 1 && size == 8 ? 0 : STATUS_INVALID;                                    \
    }                                                                                          \
    API int vendor##LtMatmulAlgoGetHeuristic(                                                  \
        void *h, int *d, struct layout *a, struct layout *b, struct layout *c,                 \
        struct layout *e, uint64_t *p, int wanted, struct offer *o, int *count);               \
    API int vendor##LtMatmulAlgoGetHeuristic(                                                  \
        void *h, int *d, struct layout *a, struct layout *b, struct layout *c,                 \
        struct layout *e, uint64_t *p, int wanted, struct offer *o, int *count)                \
    {                                                                                          \
        (void)h, (void)d, (void)a, (void)b, (void)c, (void)e;                                  \
        *count = *p >= 4096 && wanted > 1 ? 2 : 1;                                             \
        for (int i = 0; i < *count; i++) {                                                     \
            int id = 11 + i;                                                                   \
            memset(&o[i], 0, sizeof o[i]);                                                     \
            memcpy(&o[i], &id, sizeof id);                                                     \
            o[i].space = i ? 4096 : 0;                                                         \
        }                                                                                      \
        return 0;                                                                              \
    }                                                                                          \
    API int vendor##LtMatmul(                                                                  \
        void *h, int *d, const void *alpha, const void *a, struct layout *al, const void *b,   \
        struct layout *bl, const void *beta, const void *c, struct layout *cl, void *e,        \
        struct layout *el, const struct offer *o, void *space, size_t size, void *stream);     \
    API int vendor##LtMatmul(                                                                  \
        void *h, int *d, const void *alpha, const void *a, struct layout *al, const void *b,   \
        struct layout *bl, const void *beta, const void *c, struct layout *cl, void *e,        \
        struct layout *el, const struct offer *o, void *space, size_t size, void *stream)      \
    {                                                                                          \
        int id;                                                                                \
        (void)h, (void)alpha, (void)beta, (void)stream, (void)el;                              \
        memcpy(&id, o, sizeof id);                                                             \
        if ((id == 12) != (o->space == 4096) || size < o->space || (o->space && !space) ||     \
            c != e || (*d == i8_compute) != (al->type == 3) ||                                 \
            cl->type != (al->type ? 10 : 0) || al->columns != bl->rows)                        \
            return STATUS_INVALID;                                                             \
        return product(al->type ? 1 : 4, (int)al->rows, (int)bl->columns, (int)al->columns, a, \
                       (int)al->stride, b, (int)bl->stride, e, (int)cl->stride);               \
    }                                                                                          \
    API int vendor##LtDestroy(void *p);                                                        \
    API int vendor##LtDestroy(void *p)                                                         \
    {                                                                                          \
        free(p);                                                                               \
        return 0;                                                                              \
    }                                                                                          \
    API int vendor##LtMatmulDescDestroy(void *p);                                              \
    API int vendor##LtMatmulDescDestroy(void *p)                                               \
    {                                                                                          \
        return vendor##LtDestroy(p);                                                           \
    }                                                                                          \
    API int vendor##LtMatrixLayoutDestroy(void *p);                                            \
    API int vendor##LtMatrixLayoutDestroy(void *p)                                             \
    {                                                                                          \
        return vendor##LtDestroy(p);                                                           \
    }                                                                                          \
    API int vendor##LtMatmulPreferenceDestroy(void *p);                                        \
    API int vendor##LtMatmulPreferenceDestroy(void *p)                                         \
    {                                                                                          \
        return vendor##LtDestroy(p);                                                           \
    }

LT(cublas, cuda_offer, 68, 72)
LT(hipblas, hip_offer, 2, 9)
