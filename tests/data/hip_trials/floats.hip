/* SPDX-License-Identifier: Apache-2.0 */
#include "trials.h"

/* Matrices and convolutions of small integers: exact in every order. */
using std::vector;
enum { N = 2000 };

/* --- matrices */

enum { M = 33, NN = 41, K = 29 };
template <typename F> int product(F launch)
{
    Array<float> a(M * K), b(K * NN), c(M * NN);
    integers(a, -8, 8);
    integers(b, -8, 8);
    launch(a.up(), b.up(), c.up());
    c.down();
    vector<float> want(M * NN);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < NN; j++)
            for (int k = 0; k < K; k++)
                want[i * NN + j] += a[i * K + k] * b[k * NN + j];
    return differ(c.host, want);
}

__global__ void k_gemm(const float *a, const float *b, float *c)
{
    const int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; i < M && j < NN && k < K; k++)
        sum += a[i * K + k] * b[k * NN + j];
    if (i < M && j < NN)
        c[i * NN + j] = sum;
}
static int gemm_naive()
{
    return product([](float *a, float *b, float *c) { k_gemm<<<dim3(3, 3), dim3(16, 16)>>>(a, b, c); });
}

__global__ void k_gemm_tiled(const float *a, const float *b, float *c)
{
    __shared__ float s[16][17], t[16][17];
    const int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * 16 + y, j = blockIdx.x * 16 + x;
    float sum = 0;
    for (int k = 0; k < K; k += 16) {
        s[y][x] = i < M && k + x < K ? a[i * K + k + x] : 0;
        t[y][x] = j < NN && k + y < K ? b[(k + y) * NN + j] : 0;
        __syncthreads();
        for (int q = 0; q < 16; q++)
            sum = fmaf(s[y][q], t[q][x], sum);
        __syncthreads();
    }
    if (i < M && j < NN)
        c[i * NN + j] = sum;
}
static int gemm_tiled()
{
    return product([](float *a, float *b, float *c) { k_gemm_tiled<<<dim3(3, 3), dim3(16, 16)>>>(a, b, c); });
}

__global__ void k_gemm_registers(const float *a, const float *b, float *c)
{
    float sum[4][4] = {};
    const int i0 = TID / 16 * 4, j0 = TID % 16 * 4;
    for (int k = 0; k < K; k++) {
        float p[4], q[4];
        for (int n = 0; n < 4; n++) {
            p[n] = i0 + n < M ? a[(i0 + n) * K + k] : 0;
            q[n] = j0 + n < NN ? b[k * NN + j0 + n] : 0;
        }
        for (int n = 0; n < 4; n++)
            for (int m = 0; m < 4; m++)
                sum[n][m] += p[n] * q[m];
    }
    for (int n = 0; n < 4; n++)
        for (int m = 0; m < 4; m++)
            if (i0 + n < M && j0 + m < NN)
                c[(i0 + n) * NN + j0 + m] = sum[n][m];
}
static int gemm_registers()
{
    return product([](float *a, float *b, float *c) { k_gemm_registers<<<1, 256>>>(a, b, c); });
}

__global__ void k_gemv(const double *a, const double *x, double *y, int n)
{
    __shared__ double s[64];
    double sum = 0;
    for (int k = threadIdx.x; k < n; k += 64)
        sum += a[blockIdx.x * n + k] * x[k];
    s[threadIdx.x] = sum;
    for (int o = 32; o; o /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < o)
            s[threadIdx.x] += s[threadIdx.x + o];
    }
    if (threadIdx.x == 0)
        y[blockIdx.x] = s[0];
}
static int gemv_double()
{
    Array<double> a(20 * 130), x(130), y(20);
    integers(a, -99, 99);
    integers(x, -99, 99);
    k_gemv<<<20, 64>>>(a.up(), x.up(), y.up(), 130);
    y.down();
    vector<double> want(20);
    for (int i = 0; i < 20; i++)
        for (int k = 0; k < 130; k++)
            want[i] += a[i * 130 + k] * x[k];
    return differ(y.host, want);
}

__global__ void k_spmv(const int *row, const int *column, const float *value, const float *x, float *y, int rows)
{
    if (TID >= rows)
        return;
    float sum = 0;
    for (int k = row[TID]; k < row[TID + 1]; k++)
        sum += value[k] * x[column[k]];
    y[TID] = sum;
}
static int sparse()
{
    enum { R = 300 };
    Array<int> row(R + 1), column(R * 9);
    Array<float> value(R * 9), x(R), y(R);
    for (int i = 0; i < R; i++)
        row[i + 1] = row[i] + (int)(rnd() % 9);
    integers(column, 0, R - 1);
    integers(value, -9, 9);
    integers(x, -9, 9);
    k_spmv<<<BLOCKS(R)>>>(row.up(), column.up(), value.up(), x.up(), y.up(), R);
    y.down();
    vector<float> want(R);
    for (int i = 0; i < R; i++)
        for (int k = row[i]; k < row[i + 1]; k++)
            want[i] += value[k] * x[column[k]];
    return differ(y.host, want);
}

typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));
__global__ void k_wmma(const _Float16 *a, const _Float16 *b, float *c)
{
    half16 p, q;
    float8 sum = {};
    const int lane = threadIdx.x % 16;
    for (int k = 0; k < 16; k++) {
        p[k] = a[lane * 16 + k];
        q[k] = b[k * 16 + lane];
    }
    sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(p, q, sum);
    for (int v = 0; v < 8; v++)
        c[(2 * v + threadIdx.x / 16) * 16 + lane] = sum[v];
}
static int wmma() /* the unit rounds sums of integers too: a limit */
{
    Array<_Float16> a(256), b(256);
    Array<float> c(256);
    integers(a, -8, 8);
    integers(b, -8, 8);
    k_wmma<<<1, 32>>>(a.up(), b.up(), c.up());
    c.down();
    vector<float> want(256);
    for (int i = 0; i < 256; i++)
        for (int k = 0; k < 16; k++)
            want[i] += (float)a[i / 16 * 16 + k] * (float)b[k * 16 + i % 16];
    return far_off(c.host, want, 1e-5);
}

/* --- convolutions and stencils */

__constant__ float filter[9] = {1, -2, 3, -4, 5, -6, 7, -8, 9};
static const float filter_host[9] = {1, -2, 3, -4, 5, -6, 7, -8, 9};
__global__ void k_convolve_1(const float *a, float *out, int n)
{
    float sum = 0;
    for (int k = 0; k < 9; k++) {
        const int i = TID + k - 4;
        sum += i >= 0 && i < n ? a[i] * filter[k] : 0;
    }
    if (TID < n)
        out[TID] = sum;
}
static int convolve_line()
{
    Array<float> a(N), out(N);
    integers(a, -20, 20);
    k_convolve_1<<<BLOCKS(N)>>>(a.up(), out.up(), N);
    out.down();
    vector<float> want(N);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 9; k++)
            want[i] += i + k - 4 >= 0 && i + k - 4 < N ? a[i + k - 4] * filter_host[k] : 0;
    return differ(out.host, want);
}

__global__ void k_convolve_2(const float *a, float *out, int w, int h)
{
    __shared__ float s[18][18];
    const int x0 = blockIdx.x * 16 - 1, y0 = blockIdx.y * 16 - 1;
    for (int i = threadIdx.y * 16 + threadIdx.x; i < 18 * 18; i += 256) {
        const int x = x0 + i % 18, y = y0 + i / 18;
        s[i / 18][i % 18] = x >= 0 && x < w && y >= 0 && y < h ? a[y * w + x] : 0;
    }
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 9; k++)
        sum += s[threadIdx.y + k / 3][threadIdx.x + k % 3] * filter[k];
    const int x = x0 + 1 + threadIdx.x, y = y0 + 1 + threadIdx.y;
    if (x < w && y < h)
        out[y * w + x] = sum;
}
static int convolve_image()
{
    enum { W = 45, H = 30 };
    Array<float> a(W * H), out(W * H);
    integers(a, -20, 20);
    k_convolve_2<<<dim3(3, 2), dim3(16, 16)>>>(a.up(), out.up(), W, H);
    out.down();
    vector<float> want(W * H);
    for (int i = 0; i < W * H; i++)
        for (int k = 0; k < 9; k++) {
            const int x = i % W + k % 3 - 1, y = i / W + k / 3 - 1;
            want[i] += x >= 0 && x < W && y >= 0 && y < H ? a[y * W + x] * filter_host[k] : 0;
        }
    return differ(out.host, want);
}

__global__ void k_pool(const float *a, float *out, int w, int h)
{
    const int x = TID % (w / 2), y = TID / (w / 2);
    if (y >= h / 2)
        return;
    const float *p = a + 2 * y * w + 2 * x;
    out[TID] = fmaxf(fmaxf(p[0], p[1]), fmaxf(p[w], p[w + 1])) + 0.25f * (p[0] + p[1] + p[w] + p[w + 1]);
}
static int pool()
{
    enum { W = 46, H = 30 };
    Array<float> a(W * H), out(W * H / 4);
    integers(a, -40, 40);
    k_pool<<<BLOCKS(W * H / 4)>>>(a.up(), out.up(), W, H);
    out.down();
    vector<float> want(W * H / 4);
    for (int i = 0; i < W * H / 4; i++) {
        const float *p = &a.host[(size_t)(2 * (i / (W / 2)) * W + 2 * (i % (W / 2)))];
        want[i] = std::max(std::max(p[0], p[1]), std::max(p[W], p[W + 1])) + 0.25f * (p[0] + p[1] + p[W] + p[W + 1]);
    }
    return differ(out.host, want);
}

const vector<Trial> &float_trials()
{
    static const vector<Trial> list = {
        {"gemm_naive", gemm_naive},
        {"gemm_tiled", gemm_tiled},
        {"gemm_registers", gemm_registers},
        {"gemv_double", gemv_double},
        {"sparse", sparse},
        {"wmma", wmma},
        {"convolve_line", convolve_line},
        {"convolve_image", convolve_image},
        {"pool", pool},
    };
    return list;
}
