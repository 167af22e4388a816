/* SPDX-License-Identifier: Apache-2.0 */
#include "trials.h"

#include <algorithm>

/* Ways through memory: transposes, structures, local arrays, generic pointers, buffers. Exact. */
using std::vector;

enum { W = 50, H = 37 };
static int transpose(void (*kernel)(const int *, int *))
{
    Array<int> a(W * H), out(W * H);
    integers(a, 0, 1 << 30);
    kernel<<<dim3(4, 3), dim3(16, 16)>>>(a.up(), out.up());
    out.down();
    vector<int> want(W * H);
    for (int i = 0; i < W * H; i++)
        want[i % W * H + i / W] = a[i];
    return differ(out.host, want);
}
__global__ void k_transpose(const int *a, int *out)
{
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < W && y < H)
        out[x * H + y] = a[y * W + x];
}
static int transpose_naive() { return transpose(k_transpose); }
__global__ void k_transpose_tile(const int *a, int *out)
{
    __shared__ int s[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < W && y < H)
        s[threadIdx.y][threadIdx.x] = a[y * W + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x;
    y = blockIdx.x * 16 + threadIdx.y;
    if (x < H && y < W)
        out[y * H + x] = s[threadIdx.x][threadIdx.y];
}
static int transpose_tile() { return transpose(k_transpose_tile); }

struct Particle {
    char tag;
    short kind;
    int id;
    double mass;
    float v[3];
};
__global__ void k_structures(Particle *p, int n)
{
    if (TID >= n)
        return;
    Particle q = p[TID];
    q.id += q.kind;
    for (int k = 0; k < 3; k++)
        q.v[k] *= (float)(k + q.tag);
    q.mass = q.mass / 2 + q.v[q.id % 3 < 0 ? 0 : q.id % 3];
    p[TID] = q;
}
static int structures()
{
    Array<Particle> p(200);
    vector<double> got, want;
    for (int i = 0; i < 200; i++)
        p[i] = {(char)(i % 11), (short)(i * 7), i * 3, i * 2.0, {1.0f * i, 2.0f * i, 3.0f * i}};
    for (Particle q : p.host) {
        q.id += q.kind;
        for (int k = 0; k < 3; k++)
            q.v[k] *= (float)(k + q.tag);
        want.insert(want.end(), {q.mass / 2 + q.v[q.id % 3], (double)q.id, (double)q.v[2]});
    }
    k_structures<<<BLOCKS(200)>>>(p.up(), 200);
    p.down();
    for (const Particle &q : p.host)
        got.insert(got.end(), {q.mass, (double)q.id, (double)q.v[2]});
    return differ(got, want);
}

/* A local array with an index the compiler does not know. */
__global__ void k_local(const int *a, int *out, int n)
{
    int count[16], order[16];
    if (TID >= n)
        return;
    for (int k = 0; k < 16; k++)
        count[k] = 0;
    for (int k = 0; k < 40; k++)
        count[a[(TID + k) % n] & 15]++;
    for (int k = 0; k < 16; k++)
        order[k] = k;
    for (int k = 1; k < 16; k++)
        for (int m = k; m && count[order[m - 1]] < count[order[m]]; m--) {
            const int x = order[m];
            order[m] = order[m - 1];
            order[m - 1] = x;
        }
    out[TID] = order[0] * 1000 + count[order[0]] * 10 + order[15] % 10;
}
static int local_arrays()
{
    enum { N = 300 };
    Array<int> a(N), out(N);
    integers(a, 0, 10000);
    k_local<<<BLOCKS(N)>>>(a.up(), out.up(), N);
    out.down();
    vector<int> want;
    for (int i = 0; i < N; i++) {
        int count[16] = {}, order[16];
        for (int k = 0; k < 40; k++)
            count[a[(i + k) % N] & 15]++;
        for (int k = 0; k < 16; k++)
            order[k] = k;
        std::stable_sort(order, order + 16, [&](int p, int q) { return count[p] > count[q]; });
        want.push_back(order[0] * 1000 + count[order[0]] * 10 + order[15] % 10);
    }
    return differ(out.host, want);
}

__device__ __attribute__((noinline)) int through(int *p, int n)
{
    int sum = 0;
    for (int k = 0; k < n; k++)
        sum += p[k]++;
    return sum;
}
__global__ void k_generic(int *a, int *out)
{
    __shared__ int s[64 * 4];
    int own[4];
    for (int k = 0; k < 4; k++) {
        s[threadIdx.x * 4 + k] = threadIdx.x + k;
        own[k] = 2 * threadIdx.x + k;
    }
    int *p = threadIdx.x % 3 == 0 ? a + threadIdx.x * 4 : threadIdx.x % 3 == 1 ? s + threadIdx.x * 4 : own;
    out[threadIdx.x] = through(p, 4) * 1000 + through(p, 3);
}
static int generic_pointers()
{
    Array<int> a(256), out(64);
    integers(a, 0, 20);
    vector<int> want, first = a.host;
    k_generic<<<1, 64>>>(a.up(), out.up());
    out.down();
    for (int t = 0; t < 64; t++) {
        int v[4], sum = 0;
        for (int k = 0; k < 4; k++)
            sum += v[k] = t % 3 == 0 ? first[t * 4 + k] : t % 3 == 1 ? t + k : 2 * t + k;
        want.push_back(sum * 1000 + v[0] + v[1] + v[2] + 3);
    }
    return differ(out.host, want);
}

__global__ void k_bytes(const unsigned char *a, unsigned char *out, short *sums, int n)
{
    if (4 * TID >= n)
        return;
    const uchar4 v = ((const uchar4 *)a)[TID];
    uchar4 r;
    r.x = v.w, r.y = (unsigned char)(v.x + v.y), r.z = (unsigned char)(v.z << 2), r.w = (unsigned char)(v.y > v.z ? v.y : v.z);
    ((uchar4 *)out)[TID] = r;
    sums[TID] = (short)(v.x * v.y - v.z * v.w);
}
static int bytes()
{
    enum { N = 1024 };
    Array<unsigned char> a(N), out(N);
    Array<short> sums(N / 4);
    integers(a, 0, 255);
    k_bytes<<<BLOCKS(N / 4)>>>(a.up(), out.up(), sums.up(), N);
    out.down();
    sums.down();
    vector<unsigned char> want;
    vector<short> want_sums;
    for (int i = 0; i < N; i += 4) {
        const unsigned char *v = &a.host[i];
        want.insert(want.end(), {v[3], (unsigned char)(v[0] + v[1]), (unsigned char)(v[2] << 2), std::max(v[1], v[2])});
        want_sums.push_back((short)(v[0] * v[1] - v[2] * v[3]));
    }
    return differ(out.host, want) + differ(sums.host, want_sums);
}

extern __shared__ int dynamic[];
__global__ void k_dynamic(const int *a, int *out, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        dynamic[n - 1 - i] = a[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = dynamic[i] + dynamic[(i + 1) % n];
}
static int dynamic_shared()
{
    enum { N = 1000 };
    Array<int> a(N), out(N);
    integers(a, 0, 10000);
    k_dynamic<<<1, 96, N * sizeof(int)>>>(a.up(), out.up(), N);
    out.down();
    vector<int> want;
    for (int i = 0; i < N; i++)
        want.push_back(a[N - 1 - i] + a[N - 1 - (i + 1) % N]);
    return differ(out.host, want);
}

__device__ int counter;
__device__ int table[64];
__global__ void k_variables(int *out)
{
    atomicAdd(&counter, 1);
    out[threadIdx.x] = table[63 - threadIdx.x];
}
static int variables()
{
    Array<int> out(64);
    int host[64], zero = 0, count = 0;
    vector<int> want;
    for (int k = 0; k < 64; k++)
        host[k] = k * k;
    for (int k = 0; k < 64; k++)
        want.push_back(host[63 - k]);
    Array<int>::check(hipMemcpyToSymbol(HIP_SYMBOL(table), host, sizeof host));
    Array<int>::check(hipMemcpyToSymbol(HIP_SYMBOL(counter), &zero, sizeof zero));
    k_variables<<<3, 64>>>(out.up());
    out.down();
    Array<int>::check(hipMemcpyFromSymbol(&count, HIP_SYMBOL(counter), sizeof count));
    return differ(out.host, want) + (count != 192);
}

/* A matrix as linear system, by one block, in place. */
__global__ void k_gauss(double *a, int n)
{
    for (int k = 0; k < n; k++) {
        __syncthreads();
        for (int i = k + 1 + threadIdx.x; i < n; i += blockDim.x) {
            const double f = a[i * n + k] / a[k * n + k];
            for (int j = k; j < n; j++)
                a[i * n + j] -= f * a[k * n + j];
        }
    }
}
static int gauss()
{
    enum { N = 24 };
    Array<double> a(N * N);
    integers(a, -9, 9);
    for (int i = 0; i < N; i++)
        a[i * N + i] = 64;
    vector<double> want = a.host;
    k_gauss<<<1, 32>>>(a.up(), N);
    a.down();
    for (int k = 0; k < N; k++)
        for (int i = k + 1; i < N; i++) {
            const double f = want[i * N + k] / want[k * N + k];
            for (int j = k; j < N; j++)
                want[i * N + j] -= f * want[k * N + j];
        }
    return far_off(a.host, want, 1e-12);
}

/* A raw buffer of n elements; what lies outside reads as 0 and is not written. */
typedef int int4v __attribute__((ext_vector_type(4)));
__device__ int buffer_read(int4v resource, int offset, int scalar, int flags) __asm("llvm.amdgcn.raw.buffer.load.i32");
__device__ void buffer_write(int value, int4v resource, int offset, int scalar, int flags) __asm("llvm.amdgcn.raw.buffer.store.i32");
__device__ int4v buffer_of(const void *p, int bytes)
{
    const unsigned long long u = (unsigned long long)p;
    return int4v{(int)u, (int)(u >> 32), bytes, 0x31004000};
}
__global__ void k_buffers(const int *a, int *out, int n)
{
    const int x = buffer_read(buffer_of(a, n * 4), (TID + 20) * 4, 0, 0);
    buffer_write(x + 1, buffer_of(out, n * 4), TID * 4, 0, 0);
}
static int buffers()
{
    enum { N = 300 };
    Array<int> a(N), out(N + 40, -5);
    integers(a, 0, 10000);
    k_buffers<<<2, 170>>>(a.up(), out.up(), N);
    out.down();
    vector<int> want(N + 40, -5);
    for (int i = 0; i < N; i++)
        want[i] = (i + 20 < N ? a[i + 20] : 0) + 1;
    return differ(out.host, want);
}

const vector<Trial> &memory_trials()
{
    static const vector<Trial> list = {
        {"transpose_naive", transpose_naive}, {"transpose_tile", transpose_tile}, {"structures", structures},
        {"local_arrays", local_arrays}, {"generic_pointers", generic_pointers}, {"bytes", bytes},
        {"dynamic_shared", dynamic_shared}, {"variables", variables}, {"gauss", gauss}, {"buffers", buffers}};
    return list;
}
