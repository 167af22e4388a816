/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled by vendor_check.sh against a vendor's real headers: every prototype and value of
 * api.def must be theirs. Where versions of the headers differ in a const only, either form is
 * right (HIP_CONST): a first pass notes whether the one fits, a second asks for one of the two.
 */
#define VENDOR_SDK
#if VENDOR_CHECK_CUDA
#include <cuda.h>
#ifdef HAVE_COMPILER
#include <nvrtc.h>
#endif
#else
#define __HIP_PLATFORM_AMD__
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>
#endif

#define FITS(symbol, ret, args) __builtin_types_compatible_p(__typeof__(&symbol), ret(*) args)

#define HIP_CONST
enum {
#define API(name, symbol, ret, args, need) fits_##symbol = FITS(symbol, ret, args),
#ifdef HAVE_COMPILER
#define COMPILER(name, symbol, ret, args, need) fits_##symbol = FITS(symbol, ret, args),
#endif
#include VENDOR_API
};
#undef HIP_CONST

#define HIP_CONST const
#define API(name, symbol, ret, args, need)                                                     \
    _Static_assert(fits_##symbol || FITS(symbol, ret, args), "prototype of " #symbol);
#ifdef HAVE_COMPILER
#define COMPILER(name, symbol, ret, args, need)                                                \
    _Static_assert(fits_##symbol || FITS(symbol, ret, args), "prototype of " #symbol);
#endif
#define CONSTANT(name, vendor_name, value)                                                     \
    _Static_assert((int)vendor_name == (value), "value of " #vendor_name);
#define FAULT(vendor_name, value)                                                              \
    _Static_assert((int)vendor_name == (value), "value of " #vendor_name);
#define HINT(vendor_name, value, text)                                                         \
    _Static_assert((int)vendor_name == (value), "value of " #vendor_name);
#include VENDOR_API
