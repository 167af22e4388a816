/* SPDX-License-Identifier: Apache-2.0 */
/* Two kernels as a user may have them: y = alpha x + y, then z = y y. */
extern "C" __global__ void saxpy(int n, float alpha, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = alpha * x[i] + y[i];
}

extern "C" __global__ void square(int n, const float *y, float *z)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = y[i] * y[i];
}
