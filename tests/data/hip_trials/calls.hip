/* SPDX-License-Identifier: Apache-2.0 */
#include "trials.h"

#include <algorithm>
#include <numeric>

/* Atomics, device functions, wide integers: exact. */
using std::vector;
enum { N = 3000 };

/* --- histograms and atomics */

__global__ void k_histogram(const unsigned char *a, int *out, int n)
{
    __shared__ int s[256];
    s[threadIdx.x] = 0;
    __syncthreads();
    for (int i = TID; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&s[a[i]], 1);
    __syncthreads();
    atomicAdd(&out[threadIdx.x], s[threadIdx.x]);
}
static int histogram()
{
    Array<unsigned char> a(N);
    Array<int> out(256);
    integers(a, 0, 255);
    k_histogram<<<3, 256>>>(a.up(), out.up(), N);
    out.down();
    vector<int> want(256);
    for (int x : a.host)
        want[x]++;
    return differ(out.host, want);
}

__global__ void k_atomics(const int *a, int *out, unsigned long long *wide, int n)
{
    if (TID >= n)
        return;
    const int x = a[TID];
    atomicAdd(&out[0], x);
    atomicMin(&out[1], x);
    atomicMax(&out[2], x);
    atomicAnd(&out[3], x | 7);
    atomicOr(&out[4], x & 0xff0);
    atomicXor(&out[5], x);
    atomicInc((unsigned *)&out[6], 96);
    atomicSub(&out[7], 3);
    atomicAdd(wide, (unsigned long long)x << 20);
    int old = out[8], seen;
    do {
        seen = old;
        old = atomicCAS(&out[8], seen, seen * 1 + x % 5);
    } while (old != seen);
}
static int atomics()
{
    Array<int> a(N), out(9);
    Array<unsigned long long> wide(1);
    integers(a, 0, 100000);
    out[1] = 1 << 30, out[3] = -1;
    vector<int> want = out.host;
    vector<unsigned long long> want_wide(1);
    k_atomics<<<BLOCKS(N)>>>(a.up(), out.up(), wide.up(), N);
    out.down();
    wide.down();
    for (int x : a.host) {
        want[0] += x, want[1] = std::min(want[1], x), want[2] = std::max(want[2], x);
        want[3] &= x | 7, want[4] |= x & 0xff0, want[5] ^= x;
        want[6] = want[6] >= 96 ? 0 : want[6] + 1;
        want[7] -= 3, want[8] += x % 5;
        want_wide[0] += (unsigned long long)x << 20;
    }
    return differ(out.host, want) + differ(wide.host, want_wide);
}

/* --- device functions */

__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ int ackermann(int m, int n)
{
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
__global__ void k_recursion(const int *a, int *out, int n)
{
    if (TID < n)
        out[TID] = fibonacci(a[TID] % 9) * 100 + ackermann(a[TID] % 3, a[TID] % 4);
}
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static int ack(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1)); }
static int recursion()
{
    Array<int> a(300), out(300);
    integers(a, 0, 1000);
    k_recursion<<<BLOCKS(300)>>>(a.up(), out.up(), 300);
    out.down();
    vector<int> want;
    for (int x : a.host)
        want.push_back(fib(x % 9) * 100 + ack(x % 3, x % 4));
    return differ(out.host, want);
}

__device__ int square(int x) { return x * x; }
__device__ int twice(int x) { return 2 * x; }
__device__ int minus(int x) { return -x; }
__device__ __attribute__((noinline)) int apply(int (*f)(int), int x) { return f(x) + 1; }
__global__ void k_pointers(const int *a, int *out, int n)
{
    int (*const table[3])(int) = {square, twice, minus};
    if (TID < n)
        out[TID] = apply(table[a[TID] % 3], a[TID]);
}
static int function_pointers()
{
    Array<int> a(500), out(500);
    integers(a, 0, 1000);
    k_pointers<<<BLOCKS(500)>>>(a.up(), out.up(), 500);
    out.down();
    vector<int> want;
    for (int x : a.host)
        want.push_back((x % 3 == 0 ? x * x : x % 3 == 1 ? 2 * x : -x) + 1);
    return differ(out.host, want);
}

__device__ __attribute__((noinline)) unsigned collatz(unsigned x, int *longest)
{
    unsigned steps = 0;
    for (; x != 1; steps++) {
        x = x & 1 ? 3 * x + 1 : x / 2;
        if ((int)x > *longest)
            *longest = (int)x;
        if (steps > 500)
            break;
    }
    return steps;
}
__global__ void k_collatz(int *out, int n)
{
    int high = 0;
    if (TID < n) {
        const unsigned steps = collatz(TID + 1, &high);
        out[TID] = (int)steps * 7 + high;
    }
}
static int collatz_steps()
{
    Array<int> out(700);
    k_collatz<<<BLOCKS(700)>>>(out.up(), 700);
    out.down();
    vector<int> want;
    for (unsigned i = 1; i <= 700; i++) {
        unsigned x = i, steps = 0, high = 0;
        for (; x != 1; steps++) {
            x = x & 1 ? 3 * x + 1 : x / 2;
            high = std::max(high, x);
        }
        want.push_back((int)(steps * 7 + high));
    }
    return differ(out.host, want);
}

__global__ void k_gcd(const int *a, const int *b, int *out, int n)
{
    if (TID >= n)
        return;
    int x = a[TID], y = b[TID];
    while (y) {
        const int r = x % y;
        x = y;
        y = r;
    }
    switch (x % 6) {
    case 0: out[TID] = x; break;
    case 1: out[TID] = x + 100; break;
    case 3: out[TID] = x * 3; break;
    case 4: out[TID] = ~x; break;
    default: out[TID] = -x;
    }
}
static int gcd_switch()
{
    Array<int> a(N), b(N), out(N);
    integers(a, 1, 100000);
    integers(b, 1, 100000);
    k_gcd<<<BLOCKS(N)>>>(a.up(), b.up(), out.up(), N);
    out.down();
    vector<int> want;
    for (int i = 0; i < N; i++) {
        const int x = std::gcd(a[i], b[i]);
        want.push_back(x % 6 == 0 ? x : x % 6 == 1 ? x + 100 : x % 6 == 3 ? x * 3 : x % 6 == 4 ? ~x : -x);
    }
    return differ(out.host, want);
}

__global__ void k_wide(const long long *a, const long long *b, long long *out, int n)
{
    if (TID >= n)
        return;
    const long long x = a[TID], y = b[TID];
    out[TID] = x / y + (x % y) * 3 + (x * y >> 7) + __clzll(x) + __mul64hi(x, y) + ((unsigned long long)x >> (y & 63));
}
static int wide_integers()
{
    Array<long long> a(N), b(N), out(N);
    for (int i = 0; i < N; i++) {
        a[i] = (long long)((unsigned long long)rnd() << 32 ^ (unsigned long long)rnd() << 10);
        b[i] = (long long)(rnd() >> rnd() % 30) + 1;
    }
    k_wide<<<BLOCKS(N)>>>(a.up(), b.up(), out.up(), N);
    out.down();
    vector<long long> want;
    for (int i = 0; i < N; i++) {
        const long long x = a[i], y = b[i];
        want.push_back((long long)((unsigned long long)(x / y) + (unsigned long long)(x % y) * 3 +
                                   (unsigned long long)((long long)((unsigned long long)x * (unsigned long long)y) >> 7) +
                                   (x ? (unsigned long long)__builtin_clzll((unsigned long long)x) : 64) +
                                   (unsigned long long)(long long)((__int128)x * y >> 64) + ((unsigned long long)x >> (y & 63))));
    }
    return differ(out.host, want);
}

__global__ void k_life(const unsigned char *a, unsigned char *out, int w, int h)
{
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= w || y >= h)
        return;
    int alive = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx || dy)
                alive += a[(y + dy + h) % h * w + (x + dx + w) % w];
    out[y * w + x] = alive == 3 || (alive == 2 && a[y * w + x]);
}
static int life()
{
    enum { W = 37, H = 29 };
    Array<unsigned char> a(W * H), out(W * H);
    integers(a, 0, 1);
    k_life<<<dim3(3, 2), dim3(16, 16)>>>(a.up(), out.up(), W, H);
    out.down();
    vector<unsigned char> want(W * H);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int alive = -a[y * W + x];
            for (int k = 0; k < 9; k++)
                alive += a[(y + k / 3 - 1 + H) % H * W + (x + k % 3 - 1 + W) % W];
            want[y * W + x] = alive == 3 || (alive == 2 && a[y * W + x]);
        }
    return differ(out.host, want);
}

const vector<Trial> &call_trials()
{
    static const vector<Trial> list = {
        {"histogram", histogram},
        {"atomics", atomics},
        {"recursion", recursion},
        {"function_pointers", function_pointers},
        {"collatz_steps", collatz_steps},
        {"gcd_switch", gcd_switch},
        {"wide_integers", wide_integers},
        {"life", life},
    };
    return list;
}
