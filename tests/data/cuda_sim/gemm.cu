/* SPDX-License-Identifier: Apache-2.0 */
/* Source of gemm.ptx (nvcc 13.0 --ptx -arch=compute_86) and gemm_debug.ptx (the same with -G,
 * its debug sections cut off). */
extern "C" __global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
extern "C" __global__ void naive(int m, int n, int k, const float *a, const float *b, float *c)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y,
        col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m && col < n) {
        float s = 0;
        for (int i = 0; i < k; i++)
            s += a[row * k + i] * b[i * n + col];
        c[row * n + col] = s;
    }
}
extern "C" __global__ void tiled(int m, int n, int k, const float *a, const float *b, float *c)
{
    __shared__ float sa[16][16], sb[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float s = 0;
    for (int t = 0; t < (k + 15) / 16; t++) {
        int ka = t * 16 + threadIdx.x, kb = t * 16 + threadIdx.y;
        sa[threadIdx.y][threadIdx.x] = (row < m && ka < k) ? a[row * k + ka] : 0.f;
        sb[threadIdx.y][threadIdx.x] = (kb < k && col < n) ? b[kb * n + col] : 0.f;
        __syncthreads();
        for (int i = 0; i < 16; i++)
            s += sa[threadIdx.y][i] * sb[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n)
        c[row * n + col] = s;
}
extern "C" __global__ void reduce(int n, const float *x, float *out)
{
    float s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        s += x[i];
    for (int d = 16; d; d >>= 1)
        s += __shfl_xor_sync(0xffffffffu, s, d);
    __shared__ float w[32];
    if ((threadIdx.x & 31) == 0)
        w[threadIdx.x >> 5] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
        float t = 0;
        for (int i = 0; i < blockDim.x / 32; i++)
            t += w[i];
        *out = t;
    }
}
__device__ __noinline__ float poly(float x, int n)
{
    float r = 1;
    for (int i = 0; i < n; i++)
        r = r * x + 1.0f / (i + 1);
    return r;
}
extern "C" __global__ void calls(int n, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] > 0 ? poly(x[i], i % 7)
                        : expf(x[i]) + logf(-x[i] + 1) + sinf(x[i] * 1e6f) + sqrtf(-x[i]);
}
