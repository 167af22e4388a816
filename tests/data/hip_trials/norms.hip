/* SPDX-License-Identifier: Apache-2.0 */
#include "trials.h"

#include <hip/hip_fp16.h>

/* Norms, functions, 16-bit formats: small integers where the answer is to be exact in every order;
 * else against double with a limit that fast maths keeps too. */
using std::vector;
enum { N = 2000 };

static inline double unit() { return (double)(rnd() % 20001) / 10000 - 1; }
template <typename T> void units(Array<T> &a, double scale = 1)
{
    for (auto &x : a.host)
        x = (T)(unit() * scale);
}

/* --- norms and functions */

__global__ void k_softmax(const float *a, float *out, int columns)
{
    const float *row = a + blockIdx.x * columns;
    float high = -1e30f, sum = 0;
    for (int i = threadIdx.x; i < columns; i += 32)
        high = fmaxf(high, row[i]);
    for (int o = 16; o; o /= 2)
        high = fmaxf(high, __shfl_xor(high, o));
    for (int i = threadIdx.x; i < columns; i += 32)
        sum += expf(row[i] - high);
    for (int o = 16; o; o /= 2)
        sum += __shfl_xor(sum, o);
    for (int i = threadIdx.x; i < columns; i += 32)
        out[blockIdx.x * columns + i] = expf(row[i] - high) / sum;
}
static int softmax()
{
    enum { R = 20, C = 77 };
    Array<float> a(R * C), out(R * C);
    units(a, 5);
    k_softmax<<<R, 32>>>(a.up(), out.up(), C);
    out.down();
    vector<float> want(R * C);
    for (int r = 0; r < R; r++) {
        double sum = 0;
        for (int c = 0; c < C; c++)
            sum += std::exp((double)a[r * C + c]);
        for (int c = 0; c < C; c++)
            want[r * C + c] = (float)(std::exp((double)a[r * C + c]) / sum);
    }
    return far_off(out.host, want, 1e-6);
}

__global__ void k_layernorm(const float *a, float *out, int columns)
{
    __shared__ float s[2];
    const float *row = a + blockIdx.x * columns;
    if (threadIdx.x < 2)
        s[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += 64) {
        atomicAdd(&s[0], row[i]);
        atomicAdd(&s[1], row[i] * row[i]);
    }
    __syncthreads();
    const float mean = s[0] / columns, scale = rsqrtf(s[1] / columns - mean * mean + 1e-5f);
    for (int i = threadIdx.x; i < columns; i += 64)
        out[blockIdx.x * columns + i] = (row[i] - mean) * scale;
}
static int layernorm()
{
    enum { R = 10, C = 150 };
    Array<float> a(R * C), out(R * C);
    units(a, 3);
    k_layernorm<<<R, 64>>>(a.up(), out.up(), C);
    out.down();
    vector<float> want(R * C);
    for (int r = 0; r < R; r++) {
        double sum = 0, squares = 0;
        for (int c = 0; c < C; c++)
            sum += a[r * C + c], squares += (double)a[r * C + c] * a[r * C + c];
        const double mean = sum / C, scale = 1 / std::sqrt(squares / C - mean * mean + 1e-5);
        for (int c = 0; c < C; c++)
            want[r * C + c] = (float)((a[r * C + c] - mean) * scale);
    }
    return far_off(out.host, want, 1e-4);
}

__global__ void k_functions(const float *a, float *out, int n)
{
    if (TID >= n)
        return;
    const float x = a[TID];
    out[TID] = sinf(x) + cosf(x) * 2 + expf(x) + logf(x + 5) + tanhf(x) + sqrtf(x + 4) + powf(x + 4, 1.5f) +
               atan2f(x, 2) + erff(x) + fmodf(x, 0.75f) + cbrtf(x) + log1pf(x + 3) + floorf(x) + copysignf(3, x);
}
static int functions()
{
    Array<float> a(N), out(N);
    units(a, 3);
    k_functions<<<BLOCKS(N)>>>(a.up(), out.up(), N);
    out.down();
    vector<float> want;
    for (double x : a.host)
        want.push_back((float)(std::sin(x) + std::cos(x) * 2 + std::exp(x) + std::log(x + 5) + std::tanh(x) + std::sqrt(x + 4) +
                               std::pow(x + 4, 1.5) + std::atan2(x, 2) + std::erf(x) + std::fmod(x, 0.75) + std::cbrt(x) +
                               std::log1p(x + 3) + std::floor(x) + std::copysign(3, x)));
    return far_off(out.host, want, 2e-6);
}

__global__ void k_doubles(const double *a, double *out, int n)
{
    if (TID >= n)
        return;
    const double x = a[TID];
    out[TID] = sin(x) + exp(x) / (x * x + 1) + sqrt(x + 4) * log(x + 4) + pow(x + 4, 0.3) + 1 / (x - 9) + fma(x, x, 0.1);
}
static int doubles()
{
    Array<double> a(N), out(N);
    units(a, 3);
    k_doubles<<<BLOCKS(N)>>>(a.up(), out.up(), N);
    out.down();
    vector<double> want;
    for (double x : a.host)
        want.push_back(std::sin(x) + std::exp(x) / (x * x + 1) + std::sqrt(x + 4) * std::log(x + 4) + std::pow(x + 4, 0.3) +
                       1 / (x - 9) + (x * x + 0.1));
    return far_off(out.host, want, 1e-13);
}

/* --- 16 bits */

__global__ void k_halves(const __half *a, const __half *b, __half *out, int n)
{
    if (TID < n)
        out[TID] = __hfma(a[TID], b[TID], __hadd(a[TID], __hmul(b[TID], __float2half(2))));
}
static int halves()
{
    Array<__half> a(N), b(N), out(N);
    vector<float> got, want;
    for (int i = 0; i < N; i++) {
        a[i] = __float2half((float)((int)(rnd() % 41) - 20));
        b[i] = __float2half((float)((int)(rnd() % 41) - 20));
    }
    k_halves<<<BLOCKS(N)>>>(a.up(), b.up(), out.up(), N);
    out.down();
    for (int i = 0; i < N; i++) {
        const float x = __half2float(a[i]), y = __half2float(b[i]);
        want.push_back(x * y + x + 2 * y + 0.0f);
        got.push_back(__half2float(out[i]) + 0.0f);
    }
    return differ(got, want);
}

__global__ void k_half_pairs(const __half2 *a, const __half2 *b, __half2 *out, int n)
{
    if (TID < n)
        out[TID] = __hadd2(__hmul2(a[TID], b[TID]), __lowhigh2highlow(a[TID]));
}
static int half_pairs()
{
    Array<__half2> a(N), b(N), out(N);
    vector<float> got, want;
    for (int i = 0; i < N; i++) {
        a[i] = __floats2half2_rn((float)(rnd() % 21), (float)(rnd() % 21) - 10);
        b[i] = __floats2half2_rn((float)(rnd() % 21), (float)(rnd() % 21) - 10);
    }
    k_half_pairs<<<BLOCKS(N)>>>(a.up(), b.up(), out.up(), N);
    out.down();
    for (int i = 0; i < N; i++) {
        const float2 p = __half22float2(a[i]), q = __half22float2(b[i]), r = __half22float2(out[i]);
        want.insert(want.end(), {p.x * q.x + p.y + 0.0f, p.y * q.y + p.x + 0.0f});
        got.insert(got.end(), {r.x + 0.0f, r.y + 0.0f});
    }
    return differ(got, want);
}

__host__ __device__ inline float bf16_value(unsigned short u)
{
    union {
        unsigned u;
        float f;
    } v = {(unsigned)u << 16};
    return v.f;
}
__host__ __device__ inline unsigned short bf16_of(float f)
{
    union {
        float f;
        unsigned u;
    } v = {f};
    return (unsigned short)((v.u + 0x7fff + (v.u >> 16 & 1)) >> 16);
}
__global__ void k_bf16(const unsigned short *a, const unsigned short *b, unsigned short *out, int n)
{
    for (int i = TID; i < n; i += 128)
        out[i] = bf16_of(bf16_value(a[i]) * 3 + bf16_value(b[i]));
}
static int bf16()
{
    Array<unsigned short> a(N), b(N), out(N);
    vector<unsigned short> want;
    for (int i = 0; i < N; i++) {
        a[i] = bf16_of((float)(rnd() % 200) - 100);
        b[i] = bf16_of((float)(rnd() % 200) - 100);
        want.push_back(bf16_of(bf16_value(a[i]) * 3 + bf16_value(b[i])));
    }
    k_bf16<<<1, 128>>>(a.up(), b.up(), out.up(), N);
    out.down();
    return differ(out.host, want);
}

__global__ void k_quantize(const float *a, signed char *out, float *scale, int n)
{
    __shared__ float s[64];
    float high = 0;
    for (int i = threadIdx.x; i < 256; i += 64)
        high = fmaxf(high, fabsf(a[blockIdx.x * 256 + i]));
    s[threadIdx.x] = high;
    for (int o = 32; o; o /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < o)
            s[threadIdx.x] = fmaxf(s[threadIdx.x], s[threadIdx.x + o]);
    }
    __syncthreads();
    if (threadIdx.x == 0)
        scale[blockIdx.x] = s[0];
    for (int i = threadIdx.x; i < 256; i += 64)
        out[blockIdx.x * 256 + i] = (signed char)rintf(a[blockIdx.x * 256 + i] * 64 / s[0]);
    (void)n;
}
static int quantize() /* scales are powers of two, so nothing is rounded but the code */
{
    Array<float> a(1024), scale(4);
    Array<signed char> out(1024);
    integers(a, -4000, 4000);
    for (int b = 0; b < 4; b++)
        a[256 * b + (int)(rnd() % 256)] = 4096;
    k_quantize<<<4, 64>>>(a.up(), out.up(), scale.up(), 1024);
    out.down();
    scale.down();
    vector<signed char> want;
    for (float x : a.host)
        want.push_back((signed char)std::nearbyint(x * 64 / 4096));
    return differ(out.host, want) + differ(scale.host, {4096, 4096, 4096, 4096});
}

__global__ void k_nbody(const float4 *p, float4 *out, int n)
{
    __shared__ float4 s[64];
    float x = 0, y = 0, z = 0;
    const float4 me = p[TID];
    for (int t = 0; t < n; t += 64) {
        s[threadIdx.x] = p[t + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 64; k++) {
            const float dx = s[k].x - me.x, dy = s[k].y - me.y, dz = s[k].z - me.z;
            const float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), f = s[k].w * r * r * r;
            x += dx * f, y += dy * f, z += dz * f;
        }
        __syncthreads();
    }
    out[TID] = make_float4(x, y, z, 0);
}
static int nbody()
{
    enum { P = 128 };
    Array<float4> p(P), out(P);
    vector<float> got, want;
    for (auto &b : p.host)
        b = make_float4((float)unit(), (float)unit(), (float)unit(), (float)(unit() + 1));
    k_nbody<<<P / 64, 64>>>(p.up(), out.up(), P);
    out.down();
    for (int i = 0; i < P; i++) {
        double f[3] = {};
        for (int k = 0; k < P; k++) {
            const double d[3] = {(double)p[k].x - p[i].x, (double)p[k].y - p[i].y, (double)p[k].z - p[i].z};
            const double r = std::sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.01);
            for (int c = 0; c < 3; c++)
                f[c] += d[c] * p[k].w / (r * r * r);
        }
        want.insert(want.end(), {(float)f[0], (float)f[1], (float)f[2]});
        got.insert(got.end(), {out[i].x, out[i].y, out[i].z});
    }
    return far_off(got, want, 2e-4);
}

const vector<Trial> &norm_trials()
{
    static const vector<Trial> list = {
        {"softmax", softmax},
        {"layernorm", layernorm},
        {"functions", functions},
        {"doubles", doubles},
        {"halves", halves},
        {"half_pairs", half_pairs},
        {"bf16", bf16},
        {"quantize", quantize},
        {"nbody", nbody},
    };
    return list;
}
