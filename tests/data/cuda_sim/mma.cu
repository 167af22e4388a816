/* SPDX-License-Identifier: Apache-2.0 */
/* Source of mma.ptx (nvcc 13.0 --ptx -arch=compute_86). */
#include <cuda_fp16.h>
extern "C" __global__ void ldmm(const half *a, const half *b, float *c, int M, int N, int K)
{
    __shared__ __align__(16) half sa[64][24], sb[64][24];
    int tid = threadIdx.x, lane = tid & 31, w = tid / 32;
    int row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
    float d[8][4] = {};
    for (int k = 0; k < K; k += 16) {
        int r = tid / 2, h = (tid & 1) * 8;
        *(uint4 *)&sa[r][h] = *(const uint4 *)&a[(row0 + r) * K + k + h];
        *(uint4 *)&sb[r][h] = *(const uint4 *)&b[(col0 + r) * K + k + h];
        __syncthreads();
        unsigned A[4];
        unsigned ad =
            (unsigned)__cvta_generic_to_shared(&sa[w * 16 + (lane & 15)][(lane >> 4) * 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
                     : "=r"(A[0]), "=r"(A[1]), "=r"(A[2]), "=r"(A[3])
                     : "r"(ad));
        for (int n = 0; n < 8; n++) {
            unsigned B[2];
            unsigned bd = (unsigned)__cvta_generic_to_shared(
                &sb[n * 8 + (lane & 7)][((lane >> 3) & 1) * 8]);
            asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1},[%2];"
                         : "=r"(B[0]), "=r"(B[1])
                         : "r"(bd));
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                         "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                         : "+f"(d[n][0]), "+f"(d[n][1]), "+f"(d[n][2]), "+f"(d[n][3])
                         : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]));
        }
        __syncthreads();
    }
    int g = lane >> 2, t = lane & 3;
    for (int n = 0; n < 8; n++) {
        int r = row0 + w * 16 + g, cc = col0 + n * 8 + t * 2;
        c[r * N + cc] = d[n][0];
        c[r * N + cc + 1] = d[n][1];
        c[(r + 8) * N + cc] = d[n][2];
        c[(r + 8) * N + cc + 1] = d[n][3];
    }
}
