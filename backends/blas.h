/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_BACKENDS_BLAS_H
#define GPUPARITY_BACKENDS_BLAS_H

#include <stdint.h>

#include "library.h"

/* Matrix products of the vendors' libraries behind one C function, for case files
 * (docs/libraries.md). blas.c is compiled once per vendor, with that vendor's names. */

enum blas_type { BLAS_F32, BLAS_F16, BLAS_BF16, BLAS_I8, BLAS_TF32, BLAS_TYPES };
enum blas_api { BLAS_PLAIN, BLAS_LT, BLAS_OTHER, BLAS_APIS };
enum { BLAS_WORDS = 256, BLAS_UNTESTED = 100, BLAS_WRONG = 101 };

/* One product: row-major c = a b, a is m x k, b k x n; c is f32 of f32 and tf32, i32 of i8. All
 * pointers are the device's. */
struct blas_gemm {
    enum blas_type type;
    const char *math; /* "default", "pedantic", "tf32": what the library may make of f32 */
    int algo; /* -1: the library's choice; else its number (plain), or which of the offers (lt)
               */
    void *scratch; /* workspace, or NULL: the library's own */
    int64_t bytes;
    int m, n, k;
    const void *a, *b;
    void *c;
    char *words; /* BLAS_WORDS: what ran, or why not */
};

/* A vendor's codes; functions are found by name. */
struct blas_vendor {
    const char *name[BLAS_APIS]; /* as a case says it: "blas", "lt", "rocblas"; NULL: none */
    struct library_search library[BLAS_APIS];
    const char *lt;                           /* what names of lt's functions begin with */
    int type[BLAS_TYPES], result[BLAS_TYPES]; /* of a and b; of c */
    int compute[BLAS_TYPES];                  /* one more is the pedantic one; -1: none */
    int transposed_not;
    int offer_bytes,
        offer_size; /* struct of lt's heuristic: where the workspace's size is, its own size */
    int (*plain)(const struct library *l, const struct blas_vendor *v,
                 const struct blas_gemm *g);
    int (*other)(const struct library *l, const struct blas_vendor *v,
                 const struct blas_gemm *g);
};
extern const struct blas_vendor blas_vendor;

/* Writes the words; returns `code`. */
int blas_say(const struct blas_gemm *g, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The function, or NULL with the words said. */
void *blas_function(const struct library *l, const struct blas_gemm *g, const char *name);

/* alpha or beta in the format that sums are kept in. */
const void *blas_scalar(enum blas_type t, int value);

/* The function of the case files. 0: done; BLAS_UNTESTED: nothing here can do this; else the
 * library's own code, or BLAS_WRONG for arguments that are none. */
__attribute__((visibility("default"))) int gpuparity_gemm(const char *api, const char *type,
                                                          const char *math, int algo,
                                                          void *scratch, int64_t bytes, int m,
                                                          int n, int k, const void *a,
                                                          const void *b, void *c, char *words);

#endif
