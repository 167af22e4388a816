/* SPDX-License-Identifier: Apache-2.0 */
#include "trials.h"

#include <algorithm>
#include <numeric>

/* Reductions and scans: exact. */
using std::vector;
enum { N = 3000 };

/* --- reductions */

__global__ void k_sum_tree(const int *a, int *out, int n)
{
    __shared__ int s[256];
    const int t = threadIdx.x;
    s[t] = TID < n ? a[TID] : 0;
    __syncthreads();
    for (int o = 128; o > 0; o >>= 1) {
        if (t < o)
            s[t] += s[t + o];
        __syncthreads();
    }
    if (t == 0)
        atomicAdd(out, s[0]);
}
static int sum_tree()
{
    Array<int> a(N), out(1);
    integers(a, -1000, 1000);
    k_sum_tree<<<BLOCKS(N)>>>(a.up(), out.up(), N);
    out.down();
    return differ(out.host, {std::accumulate(a.host.begin(), a.host.end(), 0)});
}

__device__ int wave_max(int v)
{
    for (int o = 16; o; o >>= 1)
        v = max(v, __shfl_xor(v, o));
    return v;
}
__global__ void k_max_shuffle(const int *a, int *out, int n)
{
    __shared__ int s[8];
    int v = -2147483647 - 1;
    for (int i = TID; i < n; i += gridDim.x * blockDim.x)
        v = max(v, a[i]);
    v = wave_max(v);
    if (threadIdx.x % 32 == 0)
        s[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = wave_max(threadIdx.x < 8 ? s[threadIdx.x] : -2147483647 - 1);
        if (threadIdx.x == 0)
            atomicMax(out, v);
    }
}
static int max_shuffle()
{
    Array<int> a(N), out(1, -2147483647 - 1);
    integers(a, -100000, 100000);
    k_max_shuffle<<<2, 256>>>(a.up(), out.up(), N);
    out.down();
    return differ(out.host, {*std::max_element(a.host.begin(), a.host.end())});
}

struct Best {
    int value, index;
};
__device__ Best better(Best p, Best q)
{
    return q.value > p.value || (q.value == p.value && q.index < p.index) ? q : p;
}
__global__ void k_argmax(const int *a, int *out, int n)
{
    __shared__ Best s[256];
    Best b = {-2147483647, n};
    for (int i = threadIdx.x; i < n; i += 256)
        b = better(b, Best{a[i], i});
    s[threadIdx.x] = b;
    __syncthreads();
    for (int o = 128; o; o /= 2) {
        if ((int)threadIdx.x < o)
            s[threadIdx.x] = better(s[threadIdx.x], s[threadIdx.x + o]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[0] = s[0].index;
}
static int argmax()
{
    Array<int> a(N), out(1);
    integers(a, 0, 500);
    k_argmax<<<1, 256>>>(a.up(), out.up(), N);
    out.down();
    return differ(out.host, {(int)(std::max_element(a.host.begin(), a.host.end()) - a.host.begin())});
}

__global__ void k_segment_sums(const int *a, const int *start, int *out, int segments)
{
    const int s = TID / 32, lane = TID % 32;
    if (s >= segments)
        return;
    int v = 0;
    for (int i = start[s] + lane; i < start[s + 1]; i += 32)
        v += a[i];
    for (int o = 16; o; o >>= 1)
        v += __shfl_down(v, o);
    if (lane == 0)
        out[s] = v;
}
static int segment_sums()
{
    enum { S = 40 };
    Array<int> a(N), start(S + 1), out(S);
    integers(a, -50, 50);
    for (int s = 1; s <= S; s++)
        start[s] = std::min<int>(N, start[s - 1] + (int)(rnd() % 150));
    k_segment_sums<<<BLOCKS(S * 32)>>>(a.up(), start.up(), out.up(), S);
    out.down();
    vector<int> want(S);
    for (int s = 0; s < S; s++)
        want[s] = std::accumulate(a.host.begin() + start[s], a.host.begin() + start[s + 1], 0);
    return differ(out.host, want);
}

__global__ void k_count_ballot(const int *a, int *out, int n)
{
    const bool odd = TID < n && (a[TID] & 1);
    const unsigned long long vote = __ballot(odd);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, __popcll(vote));
}
static int count_ballot()
{
    Array<int> a(N), out(1);
    integers(a, 0, 1 << 20);
    k_count_ballot<<<BLOCKS(N)>>>(a.up(), out.up(), N);
    out.down();
    return differ(out.host, {(int)std::count_if(a.host.begin(), a.host.end(), [](int x) { return x & 1; })});
}

/* --- scans */

__global__ void k_scan_hillis(const int *a, int *out, int n)
{
    __shared__ int s[2][256];
    int p = 0;
    const int t = threadIdx.x;
    s[0][t] = TID < n ? a[TID] : 0;
    for (int o = 1; o < 256; o *= 2) {
        __syncthreads();
        s[!p][t] = t >= o ? s[p][t] + s[p][t - o] : s[p][t];
        p = !p;
    }
    if (TID < n)
        out[TID] = s[p][t];
}
static int block_scan(void (*kernel)(const int *, int *, int), bool exclusive)
{
    Array<int> a(N), out(N);
    integers(a, -9, 9);
    kernel<<<BLOCKS(N)>>>(a.up(), out.up(), N);
    out.down();
    vector<int> want(N);
    for (int i = 0, sum = 0; i < N; i++) {
        sum = i % 256 ? sum : 0;
        want[i] = exclusive ? sum : sum + a[i];
        sum += a[i];
    }
    return differ(out.host, want);
}
static int scan_hillis() { return block_scan(k_scan_hillis, false); }

__global__ void k_scan_blelloch(const int *a, int *out, int n)
{
    __shared__ int s[256];
    const int t = threadIdx.x;
    s[t] = TID < n ? a[TID] : 0;
    for (int o = 1; o < 256; o *= 2) {
        __syncthreads();
        const int i = (t + 1) * 2 * o - 1;
        if (i < 256)
            s[i] += s[i - o];
    }
    __syncthreads();
    if (t == 0)
        s[255] = 0;
    for (int o = 128; o; o /= 2) {
        __syncthreads();
        const int i = (t + 1) * 2 * o - 1;
        if (i < 256) {
            const int left = s[i - o];
            s[i - o] = s[i];
            s[i] += left;
        }
    }
    __syncthreads();
    if (TID < n)
        out[TID] = s[t];
}
static int scan_blelloch() { return block_scan(k_scan_blelloch, true); }

__global__ void k_scan_waves(const int *a, int *out, int n)
{
    __shared__ int sums[8];
    const int lane = threadIdx.x % 32, wave = threadIdx.x / 32;
    int v = TID < n ? a[TID] : 0;
    for (int o = 1; o < 32; o *= 2) {
        const int u = __shfl_up(v, o);
        v += lane >= o ? u : 0;
    }
    if (lane == 31)
        sums[wave] = v;
    __syncthreads();
    for (int w = 0; w < wave; w++)
        v += sums[w];
    if (TID < n)
        out[TID] = v;
}
static int scan_waves() { return block_scan(k_scan_waves, false); }

/* Chained through memory: each block waits for the one before. */
__global__ void k_scan_lookback(const int *a, int *out, int *state, int n)
{
    __shared__ int base, last;
    __shared__ int s[256];
    const int t = threadIdx.x;
    s[t] = TID < n ? a[TID] : 0;
    __syncthreads();
    if (t == 0) {
        int sum = 0;
        for (int i = 0; i < 256; i++)
            sum = s[i] += sum;
        last = sum;
        int before = 0;
        if (blockIdx.x) {
            while (!__hip_atomic_load(&state[2 * (blockIdx.x - 1)], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT))
                ;
            before = state[2 * (blockIdx.x - 1) + 1];
        }
        base = before;
        state[2 * blockIdx.x + 1] = before + last;
        __hip_atomic_store(&state[2 * blockIdx.x], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    }
    __syncthreads();
    if (TID < n)
        out[TID] = s[t] + base;
}
static int scan_lookback()
{
    Array<int> a(N), out(N), state(64);
    integers(a, -9, 9);
    k_scan_lookback<<<BLOCKS(N)>>>(a.up(), out.up(), state.up(), N);
    out.down();
    vector<int> want(N);
    std::partial_sum(a.host.begin(), a.host.end(), want.begin());
    return differ(out.host, want);
}

__global__ void k_compact(const int *a, int *out, int *count, int n)
{
    const bool keep = TID < n && a[TID] % 3 == 0;
    const unsigned vote = (unsigned)__ballot(keep);
    const int lane = threadIdx.x % 32;
    int base = 0;
    if (lane == 0)
        base = atomicAdd(count, __popc(vote));
    base = __shfl(base, 0);
    if (keep)
        out[base + __popc(vote & ((1u << lane) - 1))] = a[TID];
}
static int compact()
{
    Array<int> a(N), out(N), count(1);
    integers(a, 0, 99999);
    k_compact<<<BLOCKS(N)>>>(a.up(), out.up(), count.up(), N);
    out.down();
    count.down();
    vector<int> want;
    for (int x : a.host)
        if (x % 3 == 0)
            want.push_back(x);
    if (count[0] != (int)want.size())
        return 1;
    out.host.resize(want.size());
    std::sort(out.host.begin(), out.host.end());
    std::sort(want.begin(), want.end());
    return differ(out.host, want);
}

const vector<Trial> &integer_trials()
{
    static const vector<Trial> list = {
        {"sum_tree", sum_tree},
        {"max_shuffle", max_shuffle},
        {"argmax", argmax},
        {"segment_sums", segment_sums},
        {"count_ballot", count_ballot},
        {"scan_hillis", scan_hillis},
        {"scan_blelloch", scan_blelloch},
        {"scan_waves", scan_waves},
        {"scan_lookback", scan_lookback},
        {"compact", compact},
    };
    return list;
}
