/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_ROUNDOFF_H
#define GPUPARITY_CASES_ROUNDOFF_H

#include "../harness/case.h"

/* What the bounds of several families share. Every f32 operation of a device gives
 * x (1 + e) + f, |e| <= u, |f| <= f0.
 *
 * Functions: the larger of what the two vendors document, in ulp from the correctly rounded
 * result, plus the half ulp of rounding; an ulp is at most 2 u of the result. NVIDIA, CUDA C++
 * Programming Guide, appendix "Mathematical Functions", f32 tables of standard and intrinsic
 * functions; AMD, HIP documentation, "HIP math API". */

#define ROUNDOFF_U 0x1p-24

/* n roundings in a row: n u / (1 - n u). */
double roundoff_gamma(double n);

/* f0: 2^-149, or 2^-125 where subnormal operands and results are flushed. */
double roundoff_least(const struct case_mode *m);

/* Relative error of a division: u, or 5 u where it may be inexact (2 ulp of a quotient, or a
 * reciprocal and a product). */
double roundoff_division(const struct case_mode *m);

/* Relative error of expf(t): 2 ulp (approximate: 2 + 1.173 |t|, or 6), see roundoff_least for
 * what is lost where the result is subnormal. */
double roundoff_exp(const struct case_mode *m, double t);

/* Absolute error of logf, tanhf, erff with the result y: 2, 2 and 4 ulp; approximate: logf 3
 * ulp and 2^-21.4, tanhf 2^-11. */
double roundoff_log(const struct case_mode *m, double y);
double roundoff_tanh(const struct case_mode *m, double y);
double roundoff_erf(double y);

/* Absolute error of sinf and cosf with the result y: 2 ulp. */
double roundoff_turn(double y);

/* Half the spacing of the format at x: what storing a result may add. f32 results are not
 * rounded again: 0. */
double roundoff_store(enum dtype d, double x);

/* Terms of a sum. While all are multiples of one power of two, normal in f32, and their magnitudes
 * add up to at most 2^24 times it, every order of summation is exact in f32. Starts zeroed. */
struct grid {
    bool some;
    int least; /* exponent of the lowest bit of any */
    double size;
};

void grid_add(struct grid *g, double x); /* x finite */
bool grid_exact(const struct grid *g);

/* One element of an oracle (case.h). */
struct element {
    double value, tail, error, bound, drop, scale;
};

void element_put(struct oracle *o, int64_t at, const struct element *x);

/* A device must give exactly this number, NaN or Inf. */
struct element element_exact(double value);

/* Not judged. */
struct element element_open(double value);

/* From the exact result value + tail, known to `error`, and `off`, how far a device's f32
 * result may be from it: adds the rounding to the format; an element that may or may not
 * overflow there is not judged. */
struct element element_make(enum dtype d, double value, double tail, double error, double off);

#endif
