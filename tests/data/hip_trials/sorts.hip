/* SPDX-License-Identifier: Apache-2.0 */
#include "trials.h"

#include <algorithm>

/* Sorts, merges: exact. */
using std::vector;

/* --- sorts */

__global__ void k_bitonic(int *a)
{
    __shared__ int s[512];
    for (int i = threadIdx.x; i < 512; i += 256)
        s[i] = a[blockIdx.x * 512 + i];
    for (int size = 2; size <= 512; size *= 2)
        for (int o = size / 2; o; o /= 2) {
            __syncthreads();
            const int i = 2 * threadIdx.x - (threadIdx.x & (o - 1));
            const bool up = !(i & size);
            if ((s[i] > s[i + o]) == up) {
                const int x = s[i];
                s[i] = s[i + o];
                s[i + o] = x;
            }
        }
    __syncthreads();
    for (int i = threadIdx.x; i < 512; i += 256)
        a[blockIdx.x * 512 + i] = s[i];
}
static int bitonic()
{
    Array<int> a(2048);
    integers(a, -100000, 100000);
    vector<int> want = a.host;
    k_bitonic<<<4, 256>>>(a.up());
    a.down();
    for (int b = 0; b < 4; b++)
        std::sort(want.begin() + 512 * b, want.begin() + 512 * (b + 1));
    return differ(a.host, want);
}

__global__ void k_odd_even(int *a, int n)
{
    for (int round = 0; round < n; round++) {
        for (int i = 2 * threadIdx.x + (round & 1); i + 1 < n; i += 2 * blockDim.x)
            if (a[i] > a[i + 1]) {
                const int x = a[i];
                a[i] = a[i + 1];
                a[i + 1] = x;
            }
        __syncthreads();
    }
}
static int odd_even()
{
    Array<int> a(150);
    integers(a, -99, 99);
    vector<int> want = a.host;
    k_odd_even<<<1, 64>>>(a.up(), 150);
    a.down();
    std::sort(want.begin(), want.end());
    return differ(a.host, want);
}

__global__ void k_radix(unsigned *a, unsigned *b, int n)
{
    __shared__ int zeros[256];
    const int t = threadIdx.x;
    for (int bit = 0; bit < 16; bit++) {
        const unsigned x = a[t];
        zeros[t] = !(x >> bit & 1);
        for (int o = 1; o < n; o *= 2) {
            __syncthreads();
            const int left = t >= o ? zeros[t - o] : 0;
            __syncthreads();
            zeros[t] += left;
        }
        __syncthreads();
        const int total = zeros[n - 1], before = zeros[t] - !(x >> bit & 1);
        b[x >> bit & 1 ? total + t - before : before] = x;
        __syncthreads();
        unsigned *swap = a;
        a = b;
        b = swap;
    }
}
static int radix()
{
    Array<unsigned> a(256), b(256);
    integers(a, 0, 65535);
    vector<unsigned> want = a.host;
    k_radix<<<1, 256>>>(a.up(), b.up(), 256);
    a.down();
    std::sort(want.begin(), want.end());
    return differ(a.host, want);
}

__global__ void k_rank_sort(const int *a, int *out, int n)
{
    if (TID >= n)
        return;
    int rank = 0;
    for (int i = 0; i < n; i++)
        rank += a[i] < a[TID] || (a[i] == a[TID] && i < TID);
    out[rank] = a[TID];
}
static int rank_sort()
{
    Array<int> a(600), out(600);
    integers(a, 0, 300);
    vector<int> want = a.host;
    k_rank_sort<<<BLOCKS(600)>>>(a.up(), out.up(), 600);
    out.down();
    std::sort(want.begin(), want.end());
    return differ(out.host, want);
}

__device__ int lower(const int *a, int n, int x)
{
    int low = 0, high = n;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (a[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
__global__ void k_merge(const int *a, const int *b, int *out, int n, int m)
{
    if (TID < n)
        out[TID + lower(b, m, a[TID])] = a[TID];
    if (TID < m)
        out[TID + lower(a, n, b[TID] + 1)] = b[TID];
}
static int merge_sorted()
{
    Array<int> a(700), b(500), out(1200);
    integers(a, 0, 5000);
    integers(b, 0, 5000);
    std::sort(a.host.begin(), a.host.end());
    std::sort(b.host.begin(), b.host.end());
    k_merge<<<BLOCKS(700)>>>(a.up(), b.up(), out.up(), 700, 500);
    out.down();
    vector<int> want(1200);
    std::merge(a.host.begin(), a.host.end(), b.host.begin(), b.host.end(), want.begin());
    return differ(out.host, want);
}

const vector<Trial> &sort_trials()
{
    static const vector<Trial> list = {
        {"bitonic", bitonic},
        {"odd_even", odd_even},
        {"radix", radix},
        {"rank_sort", rank_sort},
        {"merge_sorted", merge_sorted},
    };
    return list;
}
