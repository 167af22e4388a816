/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for test_cuda_sim_clang.c, without any header of the toolkit. */
#define DEVICE __attribute__((device)) static
#include "clang_one.h"

#define KERNEL extern "C" __attribute__((global)) void
#define THREAD __nvvm_read_ptx_sreg_tid_x()
#define INDEX ((int)(__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + THREAD))

KERNEL axpy(float *y, const float *x, float a, int n)
{
    if (INDEX < n)
        y[INDEX] = a * x[INDEX] + y[INDEX];
}

KERNEL block_sum(float *y, const float *x)
{
    __attribute__((shared)) static float s[128];
    int t = THREAD;
    s[t] = x[INDEX];
    __nvvm_bar_sync(0);
    for (int d = 64; d; d >>= 1) {
        if (t < d)
            s[t] += s[t + d];
        __nvvm_bar_sync(0);
    }
    y[INDEX] = s[0];
}

KERNEL warp_sum(int *y, const int *x)
{
    int v = x[INDEX];
    for (int d = 16; d; d >>= 1)
        v += __nvvm_shfl_sync_bfly_i32(0xffffffff, v, d, 31);
    y[INDEX] = v;
}

KERNEL atomics(int *h, const int *x)
{
    int v = x[INDEX];
    __nvvm_atom_add_gen_i(h + (v & 15), 1);
    __nvvm_atom_max_gen_i(h + 16, v);
    __nvvm_atom_add_gen_f((float *)h + 17, (float)(v & 255));
    __nvvm_atom_xor_gen_i(h + 18, v);
}

__attribute__((constant)) float coefficient[4] = {1.f, -2.f, 4.f, 3.f};
KERNEL polynomial(float *y, const float *x)
{
    float v = x[INDEX];
    y[INDEX] = ((coefficient[3] * v + coefficient[2]) * v + coefficient[1]) * v + coefficient[0];
}

__attribute__((device)) int (*const table[2])(int) = {one_inc, one_five};
KERNEL by_pointer(int *y, const int *x)
{
    y[INDEX] = table[x[INDEX] & 1](x[INDEX]);
}

KERNEL params(double *y, struct argument b)
{
    y[INDEX] = one_params(b, INDEX);
}

KERNEL recurse(int *y, const int *x)
{
    y[INDEX] = one_recurse(x[INDEX] & 15);
}

KERNEL switched(int *y, const int *x)
{
    y[INDEX] = one_switch(x[INDEX]);
}

KERNEL sorted(int *y, const int *x)
{
    y[INDEX] = one_sort(x, INDEX);
}

KERNEL bytes(unsigned char *y, const signed char *x)
{
    y[INDEX] = one_bytes(x[INDEX]);
}

KERNEL wide(unsigned long long *y, const unsigned long long *x)
{
    y[INDEX] = one_wide(x[INDEX]);
}

KERNEL doubles(double *y, const double *x)
{
    y[INDEX] = one_double(x[INDEX]);
}
