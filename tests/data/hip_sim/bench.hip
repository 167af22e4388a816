/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of bench/hip_sim.c: hipcc --genco --offload-arch=gfx1100 -O3 bench.hip -o bench.co */
#include <hip/hip_runtime.h>

typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));

extern "C" __global__ void valu(float *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i], y = x + 0.1f, z = x + 0.2f, w = x + 0.3f;
    for (int k = 0; k < n; k++) {
        x = x * 0.5f + y * 0.25f;
        y = y * 0.5f + z * 0.25f;
        z = z * 0.5f + w * 0.25f;
        w = w * 0.5f - x * 0.25f;
    }
    a[i] = x + y + z + w;
}

extern "C" __global__ void integers(unsigned *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = a[i], y = x ^ 5;
    for (int k = 0; k < n; k++) {
        x = (x << 13) ^ y;
        y = (y >> 7) + x;
        x = (x & 0xffff00ff) | (y & 0xff00);
        y ^= x << 3;
    }
    a[i] = x + y;
}

extern "C" __global__ void naive(const float *a, const float *b, float *c, int m, int n, int k)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m || j >= n)
        return;
    float sum = 0;
    for (int l = 0; l < k; l++)
        sum = fmaf(a[i * k + l], b[l * n + j], sum);
    c[i * n + j] = sum;
}

extern "C" __global__ void tiled(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float as[16][16], bs[16][16];
    int y = threadIdx.y, x = threadIdx.x, i = blockIdx.y * 16 + y, j = blockIdx.x * 16 + x;
    float sum = 0;
    for (int t = 0; t < k; t += 16) {
        as[y][x] = i < m && t + x < k ? a[i * k + t + x] : 0;
        bs[y][x] = j < n && t + y < k ? b[(t + y) * n + j] : 0;
        __syncthreads();
        for (int l = 0; l < 16; l++)
            sum = fmaf(as[y][l], bs[l][x], sum);
        __syncthreads();
    }
    if (i < m && j < n)
        c[i * n + j] = sum;
}

extern "C" __global__ void matrix(const _Float16 *a, const _Float16 *bt, float *c, int m, int n, int k)
{
    int l = threadIdx.x & 31, i = blockIdx.y * 16, j = (blockIdx.x * 4 + threadIdx.x / 32) * 16;
    float8 sum = {};
    for (int t = 0; t < k; t += 16) {
        half16 p = *(const half16 *)(a + (i + (l & 15)) * k + t);
        half16 q = *(const half16 *)(bt + (j + (l & 15)) * k + t);
        sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(p, q, sum);
    }
    for (int v = 0; v < 8; v++)
        c[(i + 2 * v + (l >> 4)) * n + j + (l & 15)] = sum[v];
}
