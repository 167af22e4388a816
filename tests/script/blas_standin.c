/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What bitsandbytes' ROCm library wants of rocBLAS, hipBLAS and hipBLASLt, in their place: the
 * one product it makes, C = A^T B of bytes with sums in 32 bits, column-major, on the simulated
 * card's memory. Everything else is refused as the libraries do. tests/script/bitsandbytes.sh. */

int hipMemcpy(void *to, const void *from, size_t size, int kind);
enum { TO_HOST = 2, TO_DEVICE = 1, INVALID = 3, UNSUPPORTED = 7 };

struct layout {
    uint64_t rows, columns;
    int64_t stride;
};

int rocblas_create_handle(void **ret_handle);
int rocblas_create_handle(void **ret_handle)
{
    static char handle;
    *ret_handle = &handle;
    return 0;
}

int hipblasLtMatrixLayoutCreate(struct layout **ret_layout, int type, uint64_t rows,
                                uint64_t columns, int64_t stride);
int hipblasLtMatrixLayoutCreate(struct layout **ret_layout, int type, uint64_t rows,
                                uint64_t columns, int64_t stride)
{
    (void)type;
    *ret_layout = malloc(sizeof **ret_layout);
    **ret_layout = (struct layout){rows, columns, stride};
    return 0;
}

int hipblasLtMatrixLayoutDestroy(struct layout *l);
int hipblasLtMatrixLayoutDestroy(struct layout *l)
{
    free(l);
    return 0;
}

static void *fetch(const void *at, size_t size)
{
    void *p = malloc(size);
    return hipMemcpy(p, at, size, TO_HOST) ? NULL : p;
}

int hipblasLtMatmul(void *handle, void *what, const void *alpha, const void *a,
                    const struct layout *al, const void *b, const struct layout *bl,
                    const void *beta, const void *c, const struct layout *cl, void *d,
                    const struct layout *dl, const void *algorithm, void *space, size_t size,
                    void *stream);
int hipblasLtMatmul(void *handle, void *what, const void *alpha, const void *a,
                    const struct layout *al, const void *b, const struct layout *bl,
                    const void *beta, const void *c, const struct layout *cl, void *d,
                    const struct layout *dl, const void *algorithm, void *space, size_t size,
                    void *stream)
{
    (void)handle, (void)what, (void)alpha, (void)beta, (void)c, (void)dl, (void)algorithm;
    (void)space, (void)size, (void)stream;
    size_t m = al->columns, n = bl->columns, k = al->rows;
    if (bl->rows != k || cl->rows != m || cl->columns != n)
        return INVALID;
    int8_t *left = fetch(a, (size_t)al->stride * m), *right = fetch(b, (size_t)bl->stride * n);
    int32_t *out = fetch(d, (size_t)cl->stride * n * sizeof *out);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < m; i++) {
            int32_t sum = 0;
            for (size_t l = 0; l < k; l++)
                sum += left[i * (size_t)al->stride + l] * right[j * (size_t)bl->stride + l];
            out[j * (size_t)cl->stride + i] = sum;
        }
    int code = hipMemcpy(d, out, (size_t)cl->stride * n * sizeof *out, TO_DEVICE);
    free(left);
    free(right);
    free(out);
    return code;
}

int hipblasLtMatmulAlgoGetHeuristic(void *handle, void *what, void *a, void *b, void *c,
                                    void *d, void *preference, int wanted, void *results,
                                    int *ret_count);
int hipblasLtMatmulAlgoGetHeuristic(void *handle, void *what, void *a, void *b, void *c,
                                    void *d, void *preference, int wanted, void *results,
                                    int *ret_count)
{
    (void)handle, (void)what, (void)a, (void)b, (void)c, (void)d, (void)preference,
        (void)results;
    *ret_count = getenv("BLAS_STANDIN_NONE") ? 0 : wanted > 0;
    return 0;
}

/* Without arguments that matter here. */
#define FINE(name)                                                                             \
    int name(void);                                                                            \
    int name(void)                                                                             \
    {                                                                                          \
        return 0;                                                                              \
    }
#define REFUSED(name)                                                                          \
    int name(void);                                                                            \
    int name(void)                                                                             \
    {                                                                                          \
        return UNSUPPORTED;                                                                    \
    }
FINE(hipblasLtMatmulDescCreate)
FINE(hipblasLtMatmulDescDestroy)
FINE(hipblasLtMatmulDescSetAttribute)
FINE(hipblasLtMatmulPreferenceCreate)
FINE(hipblasLtMatmulPreferenceSetAttribute)
REFUSED(hipblasGemmEx)
REFUSED(hipblasGemmStridedBatchedEx)
