/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_H
#define GPUPARITY_H

#include <stddef.h>
#include <stdint.h>

/* libgpuparity: the comparison engine of gpuparity as a library. ULP distances and errors, the
 * distributions of two results' errors against a reference, and a verdict on two buffers.
 *
 *     cc yours.c $(pkg-config --cflags --libs gpuparity)
 *
 * No state, no output, no exit; every function may be called from any thread. Numbers of enum
 * constants and the members of structs stay what they are as long as GPUPARITY_ABI does; it is
 * also the number in the library's name. docs/library.md has an example. */

#define GPUPARITY_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) && !defined(GPUPARITY_STATIC)
#define GPUPARITY_API __attribute__((visibility("default")))
#else
#define GPUPARITY_API
#endif

/* "0.1.0" */
GPUPARITY_API const char *gpuparity_version(void);

/* --- formats --- */

/* The number of a format by its name, or -1: f64 f32 tf32 f16 bf16 e4m3 e5m2 e4m3fnuz e5m2fnuz
 * i64 i32 i16 i8 u64 u32 u16 u8 code8 nf4x2 fp4x2. (tf32 takes 32 bits an element; code8 is an
 * index into a code book; nf4x2 and fp4x2 are two 4-bit codes a byte.) Everywhere below
 * `format` is such a number, and `bits` an element of it, right-aligned. */
GPUPARITY_API int gpuparity_format(const char *name);
/* Bytes an element, 0 for a number that is no format. */
GPUPARITY_API size_t gpuparity_format_size(int format);

/* The number behind the bits, exact except for 64-bit integers; NaN and Inf as such. */
GPUPARITY_API double gpuparity_value(int format, uint64_t bits);
/* The bits nearest to a number, ties to even. */
GPUPARITY_API uint64_t gpuparity_round(int format, double value);

/* How many steps of the format lie between: the difference of places in the ordered list of its
 * finite values, so +0 and -0 are 0 apart. UINT64_MAX unless both are finite. */
GPUPARITY_API uint64_t gpuparity_ulp_distance(int format, uint64_t a, uint64_t b);
/* Signed error against the unrounded reference value + tail, in units of the format's spacing
 * there. NaN unless both are finite. */
GPUPARITY_API double gpuparity_ulp_error(int format, uint64_t bits, double value, double tail);

/* --- two buffers --- */

/* Zero is a meaning everywhere: make the struct with a designated initialiser. Arrays hold
 * `count` elements, are borrowed and only read. */
struct gpuparity_job {
    int format;
    int threads; /* 0: one */
    int64_t count;
    const void *a;
    const void *b; /* NULL: a alone against the reference */

    /* The right answer of each element: value + tail, and how far a right result may be from
     * it. A bound of INFINITY is not judged; NaN or Inf in value must be met by the results. */
    const double *value; /* NULL: no reference; nobody can say which side is right */
    const double *tail;  /* NULL: zeros */
    const double *bound; /* NULL: half a step of the format at the value: correctly rounded */
    /* How far a typical fault would move the element; where none moves beyond two bounds the
     * verdict is MISTRUSTED. NULL: not asked. */
    const double *drop;
};

enum gpuparity_verdict {
    GPUPARITY_SAME,            /* bit for bit; one side alone: correctly rounded */
    GPUPARITY_EQUIVALENT,      /* right within the bounds, errors distributed alike */
    GPUPARITY_DISTINGUISHABLE, /* right within the bounds, but they err differently */
    GPUPARITY_A_WRONG,
    GPUPARITY_B_WRONG,
    GPUPARITY_BOTH_WRONG,
    GPUPARITY_MISTRUSTED, /* this comparison could not have shown a fault */
    GPUPARITY_DIFFERENT   /* bits differ, and there is no reference */
};

/* One side against the reference; zeros without one. Indices are -1 where there is none. */
struct gpuparity_side {
    int64_t count; /* finite elements against finite references: those of the errors */
    double mean, median, rms; /* of the signed error in ULP */
    double minimum, maximum;
    double quantile[5];           /* 50, 90, 99, 99.9 and 100 % of its magnitude */
    int64_t nan_wrong, inf_wrong; /* of another class than is right */
    int64_t over_bound;           /* finite and outside the bound */
    int64_t correctly_rounded;    /* equal to the reference rounded once */
    double worst_bound;           /* largest |error| / bound */
    int64_t worst_index, first_wrong;
    /* By magnitude in ULP: [0] exactly zero, [k] 2^(k-34) <= |error| < 2^(k-33), the ends take
     * the rest; and those of them that are negative. */
    uint64_t histogram[64], histogram_negative[64];
};

/* The sides against each other. */
struct gpuparity_pair {
    int64_t bits_equal;               /* NaN equals NaN; +0 and -0 are different bits */
    int64_t nan_differs, inf_differs; /* on one side only */
    uint64_t worst_ulp;
    double worst_absolute;
    int64_t worst_index, first_index; /* of the elements that differ; -1 */
    double ks, ks_p;    /* Kolmogorov-Smirnov distance of the sides' ULP errors, its p-value */
    double wasserstein; /* distance of the two distributions, in ULP */
};

struct gpuparity_result {
    enum gpuparity_verdict verdict;
    char reason[512]; /* one sentence: what, whose, where */
    struct gpuparity_side a, b;
    struct gpuparity_pair pair;
};

/* Judges. 0, or -1 with one line in `error` (NULL or `size` bytes): no such format, a count
 * below 0, a reference that makes no sense (a negative bound, an infinite tail), no memory.
 * Then the result is untouched. */
GPUPARITY_API int gpuparity_compare(const struct gpuparity_job *job,
                                    struct gpuparity_result *ret_result, char *error,
                                    size_t size);

/* "B_WRONG" */
GPUPARITY_API const char *gpuparity_verdict_name(enum gpuparity_verdict verdict);

#ifdef __cplusplus
}
#endif

#endif
