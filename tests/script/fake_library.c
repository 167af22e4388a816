/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A user's library with all that libraries do: tests/script/library.sh. */

#define API __attribute__((visibility("default")))

API void scale(float a, const float *x, float *y, long long n);
API void scale(float a, const float *x, float *y, long long n)
{
    for (long long i = 0; i < n; i++)
        y[i] = a * x[i];
}

/* Every kind of argument; 7 when one did not arrive. */
API signed char kinds(int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, uint32_t f,
                      int64_t g, uint64_t h, float i, double j, const void *k,
                      const uint16_t *half, const double *wide, const float *x, float *y,
                      long long n);
API signed char kinds(int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, uint32_t f,
                      int64_t g, uint64_t h, float i, double j, const void *k,
                      const uint16_t *half, const double *wide, const float *x, float *y,
                      long long n)
{
    scale(1, x, y, n);
    bool good = a == -128 && b == 255 && c == -32768 && d == 65535 && e == INT32_MIN &&
                f == UINT32_MAX && g == INT64_MIN && h == 1 && i == 0.1f && j == 0.1 && !k &&
                *half == 0x3e00 && *wide == 0.3;
    return good ? 0 : 7;
}

/* Handles: from the result, through a pointer; made once or for every case. */
struct context {
    unsigned magic;
    int uses;
};
static int contexts;

API void *context_get(void);
API void *context_get(void)
{
    struct context *c = calloc(1, sizeof *c);
    c->magic = 0xc0ffee;
    contexts++;
    return c;
}

API int context_open(struct context **ret_context);
API int context_open(struct context **ret_context)
{
    *ret_context = context_get();
    return 0;
}

API int context_scale(struct context *c, int most, float a, const float *x, float *y, int n);
API int context_scale(struct context *c, int most, float a, const float *x, float *y, int n)
{
    if (!c || c->magic != 0xc0ffee)
        return 13;
    if (contexts > most)
        return 14;
    scale(a, x, y, n);
    return 0;
}

API void *nothing(void);
API void *nothing(void)
{
    return NULL;
}

API int answer(int value, const float *x, float *y, int n);
API int answer(int value, const float *x, float *y, int n)
{
    scale(2, x, y, n);
    return value;
}

/* --- misbehaviour ----------------------------------------------------------------------------
 */

API void ends(int how, const float *x, float *y, int n);
API void ends(int how, const float *x, float *y, int n)
{
    (void)x;
    (void)y;
    fprintf(stderr, "Error invalid argument at line %d\n", n);
    if (how == 1)
        exit(1);
    if (how == 2)
        abort();
    if (how == 3)
        *(volatile int *)(uintptr_t)(unsigned)(how - 3) = 1;
    if (how == 4)
        pause();
}

/* Does nothing for sizes it was not made for, and says nothing. */
API void silent(const float *x, float *y, int block, int n);
API void silent(const float *x, float *y, int block, int n)
{
    if (block == 64 || block == 256)
        scale(2, x, y, n);
}

/* Reads as far as the end of a tile; what is there does, or does not, come into the result. */
API void tile(const float *x, float *y, int uses, int n);
API void tile(const float *x, float *y, int uses, int n)
{
    volatile float sum = 0;
    for (int i = 0; i < (n + 511) / 512 * 512; i++)
        sum = sum + x[i];
    scale(2, x, y, n);
    if (uses)
        y[0] = y[0] + (x[n] > 0 ? x[n] : -x[n]);
}

API void writes(float *x, float *y, int where, int n);
API void writes(float *x, float *y, int where, int n)
{
    scale(2, x, y, n);
    if (where == 0)
        x[0] = -1;
    else
        y[n] = 3;
}
