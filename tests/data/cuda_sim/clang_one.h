/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of clang.cu compute for one thread, in C: clang makes PTX of it, the test's own
 * compiler makes host code, and both must give the same integers (floats hold small integers, so
 * every order and every contraction gives the same). */

#ifndef DEVICE
#define DEVICE static
#endif

struct argument {
    int a[8];
    double d;
    short s;
};

DEVICE double one_params(struct argument b, int i)
{
    return b.a[i & 7] * b.d + b.s;
}

DEVICE __attribute__((noinline)) int one_recurse(int n)
{
    return n < 2 ? n : one_recurse(n - 1) + one_recurse(n - 2);
}

DEVICE int one_switch(int v)
{
    switch (v & 15) {
    case 0:
        return v * 3;
    case 1:
        return v + 7;
    case 2:
        return v ^ 0x55;
    case 3:
        return -v;
    case 4:
        return v << 3;
    case 5:
        return v >> 2;
    case 6:
        return ~v;
    case 7:
        return v % 13;
    case 8:
        return v / 7;
    case 9:
        return v & 255;
    default:
        return 0;
    }
}

/* The k-th smallest of sixteen, by a sort in local memory. */
DEVICE int one_sort(const int *x, int t)
{
    int a[16];
    for (int i = 0; i < 16; i++)
        a[i] = x[(t + i) & 127];
    for (int i = 0; i < 16; i++)
        for (int j = 0; j + 1 < 16 - i; j++)
            if (a[j] > a[j + 1]) {
                int k = a[j];
                a[j] = a[j + 1];
                a[j + 1] = k;
            }
    return a[t & 15];
}

DEVICE unsigned char one_bytes(signed char c)
{
    int v = c;
    return (unsigned char)((v * v >> 3) + __builtin_popcount((unsigned)v) +
                           __builtin_clz((unsigned)v | 1));
}

DEVICE unsigned long long one_wide(unsigned long long a)
{
    unsigned __int128 square = (unsigned __int128)a * a;
    return (unsigned long long)(square >> 64) + a / 7 + a % 11 + __builtin_bswap64(a);
}

DEVICE double one_double(double a)
{
    return __builtin_sqrt(a) / (a + 1.0) + (double)(long long)a;
}

DEVICE int one_inc(int a)
{
    return a + 1;
}

DEVICE int one_five(int a)
{
    return a * 5;
}
