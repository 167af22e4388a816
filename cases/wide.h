/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_WIDE_H
#define GPUPARITY_CASES_WIDE_H

/* Arithmetic of about 100 bits for the references of families: a number is the unevaluated sum
 * hi + lo of two doubles, |lo| <= ulp(hi) / 2. Round to nearest is assumed, contraction by the
 * compiler must be off. u = 2^-53.
 *
 * Errors are relative to the exact result of the operands given, as long as that and everything
 * on the way lies between 2^-900 and 2^1000 in magnitude or is 0. NaN and Inf propagate as in
 * double, in hi. */
struct wide {
    double hi, lo;
};

struct wide wide_of(double x);                /* exact */
struct wide wide_product(double x, double y); /* exact */
struct wide wide_sum(double x, double y);     /* exact */
struct wide wide_negate(struct wide x);       /* exact */
struct wide wide_scale(struct wide x, int e); /* x 2^e, exact */

struct wide wide_add(struct wide x, struct wide y); /* 3.1 u^2 */
struct wide wide_sub(struct wide x, struct wide y); /* 3.1 u^2 */
struct wide wide_mul(struct wide x, struct wide y); /* 5.1 u^2 */
struct wide wide_div(struct wide x, struct wide y); /* 10 u^2 */
double wide_value(struct wide x);                   /* rounded to double */
int wide_compare(struct wide x, struct wide y);     /* sign of x - y */

/* WIDE_EXP bounds the relative error of exp. Results below e^-650 have an absolute error of
 * 2^-930 instead, and may be 0; above e^690 they are Inf.
 *
 * WIDE_LOG bounds the error of log, relative to 1 + |log x|; x > 0. 0 gives -Inf.
 *
 * WIDE_TANH bounds the absolute error of tanh.
 *
 * WIDE_ERF bounds the relative error of erf.
 *
 * The reasoning stands in wide.c and widemore.c; test_wide holds all against MPFR. */
#define WIDE_EXP 0x1p-94
#define WIDE_LOG 0x1p-90
#define WIDE_TANH 0x1p-90
#define WIDE_ERF 0x1p-90
struct wide wide_exp(struct wide x);
struct wide wide_log(struct wide x);
struct wide wide_tanh(struct wide x);
struct wide wide_erf(struct wide x);

/* sin x, or (quarters = 1) cos x, to within *ret_error; NaN of Inf and NaN. Beyond WIDE_TURN_MAX:
 * what the C library says, with an infinite error. */
#define WIDE_TURN_MAX 0x1p24
struct wide wide_turn(double x, int quarters, double *ret_error);

#endif
