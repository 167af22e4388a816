#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# casefile_source.sh BUILD_DIR SOURCE_DIR: case files whose kernels are compiled here, by both vendors'
# compilers: those of this machine, or of the Debian 13 that golden/code.sh makes. 77 without them.
set -eu
build=$1 source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cp "$source"/docs/kernels/saxpy.cu "$source"/docs/kernels/saxpy.case.yaml .
. "$(dirname "$0")/compilers.sh"
. "$(dirname "$0")/expect.sh"

# A user's .cu with two kernels, no rebuild; all modes; then a fault on one side.
expect 0 '3 SAME' gpuparity check saxpy.case.yaml
expect 0 '2 cases: 2' gpuparity check 'saxpy.case.yaml:n=300,mode={strict|fast}'
sed 's/if (i < n)/#ifdef __HIP__\n    if (i < n - n % 32)\n#else\n    if (i < n)\n#endif/' saxpy.cu >planted.cu
sed 's/saxpy.cu/planted.cu/' saxpy.case.yaml >planted.case.yaml
expect 1 'cause: localised corruption (defect, B)' gpuparity check planted.case.yaml:n=1000
expect 1 'one program for nvcc and hipcc' gpuparity minimize planted.case.yaml:n=100 -o small.cu
expect 0 '__global__ void saxpy' grep 'extern "C"' small.cu
expect 1 'on hip-sim no thread stores it: there is what the memory held before' gpuparity explain planted.case.yaml:n=100

# explain: a side's own options left out, the other side's source, one operation more on a side; the
# commands it prints say the same.
sed '/^source/a options: {hip: ["-ffp-contract=off"]}' saxpy.case.yaml >options.case.yaml
expect 0 'options=off *all bits equal' gpuparity explain options.case.yaml:n=300
sed -n "s/^show it: gpuparity explain '\([^']*\)'.*/\1/p" said | head -1 >id
expect 0 'SAME: all' gpuparity explain "$(cat id)" --on cuda-sim,hip-sim --change hip-sim:options=off
sed 's/alpha \* x\[i\] + y\[i\]/1.0f + (alpha * x[i] + y[i])/' saxpy.cu >more.cu
sed 's/^source:.*/source: {cuda: saxpy.cu, hip: more.cu}/' saxpy.case.yaml >sources.case.yaml
expect 0 'The difference comes from the source itself on hip-sim' gpuparity explain sources.case.yaml:n=300
grep -q 'B does one operation more: a sum on the value that A has already' said
# What a parameter defines is compiled again when it changes.
sed 's/int n, float/float/; s/int i/const int n = N; int i/' saxpy.cu | sed '/square/,$d' >defined.cu
sed -i 's/alpha \* x/(i % 8 == 7 ? 2.0f : 1.0f) * alpha * x/' more.cu
sed 's/if (i < n)/#ifdef __HIP__\n    if (i % 8 == 7 \&\& i < n)\n        y[n - 1 - i] = 3;\n    else\n#endif\n    if (i < n)/; s/y\[i\] = .*/y[n - 1 - i] = x[i];/' defined.cu >reversed.cu
cat >reversed.case.yaml <<'X'
source: reversed.cu
defines: {N: "{n}"}
parameters: {n: {standard: 200, range: [1, 100000]}}
tensors:
  x: {role: in, dtype: f32, shape: [n]}
  y: {role: out, dtype: f32, shape: [n]}
kernels: [{name: saxpy, arguments: [f32 1, x, y], grid: "ceildiv(n, 256)", block: 256}]
X
expect 1 'reversed.case.yaml:n=\(8\|16\),' gpuparity minimize reversed.case.yaml -o reversed8.cu
expect 0 'define' grep "#define N $(sed -n 's/^reversed.case.yaml:n=\([0-9]*\),.*/\1/p' said | head -1)\$" reversed8.cu

# What the case says and the code does not.
sed 's/, f32 alpha//' saxpy.case.yaml >few.case.yaml
expect 1 'takes 4 arguments, the case' gpuparity check few.case.yaml:n=3
sed 's/i < n)/i < m)/' saxpy.cu >broken.cu
sed 's/saxpy.cu/broken.cu/' saxpy.case.yaml >broken.case.yaml
expect 1 'B build-failed' gpuparity check broken.case.yaml:n=3

# Formats, defines and a function that C++ gives a longer name; a wider kernel as the judge.
cat >softplus.cu <<'X'
#include <cuda_runtime.h>
#include "device.h"
template <class T> static __device__ T read(const unsigned short *x, int i) { return (T)FORMAT_widen(x[i]); }
__global__ void softplus(const unsigned short *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = logf(1.0f + expf(read<float>(x, i)));
}
__global__ void wide(const unsigned short *x, double *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = log(1.0 + exp(read<double>(x, i)));
}
X
cat >softplus.case.yaml <<'X'
source: softplus.cu
defines: {FORMAT_widen: "{t}_widen"}
parameters: {n: 500, t: [f16, bf16]}
tensors:
  x: {role: in, dtype: t, shape: [n]}
  y: {role: out, dtype: f32, shape: [n]}
  z: {role: reference, dtype: f64, shape: [n], of: y}
kernels:
  - {name: softplus, arguments: [x, y, i32 n], grid: "ceildiv(n, 128)", block: 128}
reference:
  kernels:
    - {name: wide, arguments: [x, z, i32 n], grid: "ceildiv(n, 128)", block: 128}
limits: {y: {ulp: 4, abs: 3e-7, reason: "2 ulp each of expf and logf, and 1 + exp(x) rounded to f32"}}
X
expect 0 '2 cases: 2' gpuparity check 'softplus.case.yaml:t={f16|bf16}'

# Headers beside the source, in a folder, and of this program: both compilers find the same ones, from
# anywhere; a change of one is seen on resume; a reproduction has them in it.
mkdir -p kernels inc elsewhere
cat >kernels/scaled.cu <<'X'
#include "factor.h"
#include <shift.h>
#include "device.h"
KERNEL(64) scaled(const f32 *x, f32 *y, i32 n)
{
    i32 i = BLOCK_X * 64 + THREAD_X;
    if (i < n FAULT)
        y[i] = FACTOR * x[i] + SHIFT;
}
X
printf '#pragma once\n#define FACTOR 2.0f\n#ifdef __HIP__\n#define FAULT - n %% 8\n#else\n#define FAULT\n#endif\n' >kernels/factor.h
echo '#define FACTOR not this one' | tee inc/factor.h elsewhere/factor.h factor.h >/dev/null
echo '#define SHIFT 1.0f' >inc/shift.h
cat >scaled.case.yaml <<'X'
source: kernels/scaled.cu
include: [inc]
parameters: {n: 100}
tensors:
  x: {role: in, dtype: f32, shape: [n]}
  y: {role: out, dtype: f32, shape: [n]}
kernels:
  - {name: scaled, arguments: [x, y, i32 n], grid: "ceildiv(n, 64)", block: 64}
X
expect 0 '1 SAME' gpuparity check scaled.case.yaml:n=64
cd elsewhere
expect 0 '1 SAME' gpuparity check ../scaled.case.yaml:n=64
cd ..
expect 1 'one program for nvcc and hipcc' gpuparity minimize scaled.case.yaml -o scaled.cu
expect 0 'once' sh -c '! grep -E "include .(factor|shift|device)" scaled.cu && grep -c "define FACTOR" scaled.cu | sed "s/^1$/once/"'
expect 0 '1 ok' gpuparity run scaled.case.yaml:n=64 --on cuda-sim -o scaled.h5
expect 0 '1 ok' gpuparity run scaled.case.yaml:n=64 --on cuda-sim -o scaled.h5 --resume
before=$(gpuparity show scaled.h5 /run/0/case/0 | grep source_digest)
echo '#define SHIFT 3.0f' >inc/shift.h
expect 0 '1 ok' gpuparity run scaled.case.yaml:n=64 --on cuda-sim -o scaled.h5 --resume
after=$(gpuparity show scaled.h5 /run/0/case/0 | grep source_digest)
expect 0 'another' sh -c '[ "$1" != "$2" ] && echo another' - "$before" "$after"

# The other vendor's words: said clearly, and translated where the translator is.
cat >shuffle.cu <<'X'
extern "C" __global__ void rotate(const float *x, float *y)
{
    y[threadIdx.x] = x[threadIdx.x] - __shfl_xor_sync(0xffffffff, x[threadIdx.x], 1);
}
X
cat >shuffle.case.yaml <<'X'
source: shuffle.cu
tensors:
  x: {role: in, dtype: f32, shape: 32}
  y: {role: out, dtype: f32, shape: 32}
kernels:
  - {name: rotate, arguments: [x, y], grid: 1, block: 32}
X
if gpuparity check shuffle.case.yaml >said 2>&1; then
    echo "this hipRTC takes __shfl_xor_sync as it is: nothing to translate"
else
    expect 1 'install hipify-perl' gpuparity check shuffle.case.yaml
    mkdir bin
    printf '#!/bin/sh\nsed "s/__shfl_xor_sync(0xffffffff, /__shfl_xor(/" "$1"\n' >bin/hipify-perl
    chmod +x bin/hipify-perl
    PATH=$folder/bin:$PATH
    expect 0 '1 SAME' gpuparity check shuffle.case.yaml
    printf '#!/bin/sh\nexit 3\n' >bin/hipify-perl
    expect 1 'does not translate shuffle.cu' gpuparity check shuffle.case.yaml
fi
expect_report
