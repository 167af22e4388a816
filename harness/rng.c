/* SPDX-License-Identifier: Apache-2.0 */
#include "rng.h"

#include <math.h>
#include <string.h>

#include <xxhash.h>

#include "doublebits.h"

enum { PHILOX_ROUNDS = 10 };

struct rng_key rng_key_make(uint64_t seed, const char *name)
{
    uint64_t h = XXH3_64bits_withSeed(name, strlen(name), seed);
    return (struct rng_key){{(uint32_t)h, (uint32_t)(h >> 32)}};
}

void rng_block(struct rng_key key, uint64_t counter, uint64_t lane, uint32_t ret_words[4])
{
    uint32_t c0 = (uint32_t)counter, c1 = (uint32_t)(counter >> 32);
    uint32_t c2 = (uint32_t)lane, c3 = (uint32_t)(lane >> 32);
    uint32_t k0 = key.k[0], k1 = key.k[1];
    for (int i = 0; i < PHILOX_ROUNDS; i++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    ret_words[0] = c0;
    ret_words[1] = c1;
    ret_words[2] = c2;
    ret_words[3] = c3;
}

uint64_t rng_bits(struct rng_key key, uint64_t index, uint64_t lane)
{
    uint32_t w[4];
    rng_block(key, index, lane, w);
    return (uint64_t)w[1] << 32 | w[0];
}

double rng_unit(struct rng_key key, uint64_t index, uint64_t lane)
{
    uint64_t i = rng_bits(key, index, lane) >> 12;
    return (double)(2 * i + 1) * 0x1p-53;
}

/* Natural logarithm of a positive normal number: exponent, and 2 atanh(s) as a series in
 * s = (m-1)/(m+1), |s| < 0.172. Good to about 2^-51; what matters is that it is the same
 * everywhere. */
static double plain_log(double x)
{
    uint64_t bits = double_bits(x);
    int e = (int)(bits >> 52) - 1023;
    bits = (bits & ((1ULL << 52) - 1)) | 1023ULL << 52;
    double m = double_from_bits(bits);
    if (m > 0x1.6a09e667f3bcdp+0) {
        m *= 0.5;
        e++;
    }

    double s = (m - 1) / (m + 1), s2 = s * s, sum = 0;
    for (int k = 23; k >= 3; k -= 2)
        sum = (sum + 1.0 / k) * s2;
    return e * 0x1.62e42fefa39efp-1 + 2 * (s + s * sum);
}

static double ratio(const double num[8], const double den[8], double x)
{
    double n = num[7], d = den[7];
    for (int i = 6; i >= 0; i--) {
        n = n * x + num[i];
        d = d * x + den[i];
    }
    return n / d;
}

/* The normal quantile of M. J. Wichura, "Algorithm AS 241: The percentage points of the normal
 * distribution", Applied Statistics 37 (1988), routine PPND16: relative error about 1e-16. */
static double normal_quantile(double p)
{
    static const double centre_num[8] = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                                         1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                         4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                         3.3430575583588128105e+4, 2.5090809287301226727e+3};
    static const double centre_den[8] = {1.0,
                                         4.2313330701600911252e+1,
                                         6.8718700749205790830e+2,
                                         5.3941960214247511077e+3,
                                         2.1213794301586595867e+4,
                                         3.9307895800092710610e+4,
                                         2.8729085735721942674e+4,
                                         5.2264952788528545610e+3};
    static const double middle_num[8] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                         5.76949722146069140550e0,  3.64784832476320460504e0,
                                         1.27045825245236838258e0,  2.41780725177450611770e-1,
                                         2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double middle_den[8] = {1.0,
                                         2.05319162663775882187e0,
                                         1.67638483018380384940e0,
                                         6.89767334985100004550e-1,
                                         1.48103976427480074590e-1,
                                         1.51986665636164571966e-2,
                                         5.47593808499534494600e-4,
                                         1.05075007164441684324e-9};
    static const double far_num[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                      1.78482653991729133580e0,  2.96560571828504891230e-1,
                                      2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                      2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static const double far_den[8] = {1.0,
                                      5.99832206555887937690e-1,
                                      1.36929880922735805310e-1,
                                      1.48753612908506148525e-2,
                                      7.86869131145613259100e-4,
                                      1.84631831751005468180e-5,
                                      1.42151175831644588870e-7,
                                      2.04426310338993978564e-15};

    double q = p - 0.5;
    if (fabs(q) <= 0.425)
        return q * ratio(centre_num, centre_den, 0.180625 - q * q);
    double r = sqrt(-plain_log(q < 0 ? p : 1 - p));
    double x = r <= 5 ? ratio(middle_num, middle_den, r - 1.6) : ratio(far_num, far_den, r - 5);
    return q < 0 ? -x : x;
}

double rng_normal(struct rng_key key, uint64_t index, uint64_t lane)
{
    return normal_quantile(rng_unit(key, index, lane));
}
