#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# blas.sh BUILD_DIR SOURCE_DIR LIBRARY: docs/libraries/gemm.case.yaml on stand-ins of the vendors' libraries (fake_blas.c),
# where they are missing, where they fail, and what of them a record keeps.
set -eu
build=$1 source=$2 fake=$3
. "$(dirname "$0")/expect.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cp "$source/docs/libraries/gemm.case.yaml" .
export GPUPARITY_SIM_DIR="$build" NO_COLOR=1

gpuparity() {
    "$build/gpuparity" "$@"
}

for name in CUBLAS CUBLASLT HIPBLAS HIPBLASLT ROCBLAS; do
    export GPUPARITY_$name=none
done
expect 77 'returned 100: not here: .*cuBLAS' gpuparity verify gemm.case.yaml:m=3 --on cuda-sim
expect 77 'returned 100: not here: .*rocBLAS' gpuparity verify gemm.case.yaml:m=3,api=rocblas --on hip-sim
expect 77 'this vendor has no rocblas' gpuparity verify gemm.case.yaml:m=3,api=rocblas --on cuda-sim

for name in CUBLAS CUBLASLT HIPBLAS HIPBLASLT ROCBLAS; do
    export GPUPARITY_$name="$fake"
done
all='gemm.case.yaml:m=20,n=33,k=65'
expect 0 '4 SAME\|4 EQUIVALENT\|SAME, . EQUIVALENT' gpuparity check "$all,api={blas|lt},dtype={f32|i8}" --on cuda-sim,hip-sim -o r.h5
expect 0 '2 cases' gpuparity verify "$all,api=rocblas,dtype={f32|i8}" --on hip-sim -q
expect 0 '1 case' gpuparity verify "$all,math=pedantic" --on cuda-sim
expect 0 '1 case' gpuparity verify "$all,math=tf32" --on cuda-sim
expect 0 '1 case' gpuparity verify "$all,algo=7,workspace=65536" --on cuda-sim
expect 0 '1 case' gpuparity verify "$all,api=lt,algo=1,workspace=4096" --on cuda-sim
expect 77 'offers 1 algorithms for this, not algo=1' gpuparity verify "$all,api=lt,algo=1" --on hip-sim
expect 77 'hipBLAS chooses algorithm and workspace itself' gpuparity verify "$all,algo=1" --on hip-sim
expect 77 'has no tf32' gpuparity verify "$all,api=lt,dtype=tf32" --on hip-sim
expect 1 'gpuparity_gemm returned 7: cublasGemmEx returned 7' gpuparity verify gemm.case.yaml:m=13 --on cuda-sim
expect 1 'returned 7: hipblasLtMatmul returned 7' gpuparity verify gemm.case.yaml:m=13,api=lt --on hip-sim
expect 1 'returned 7: rocblas_gemm_ex returned 7' gpuparity verify gemm.case.yaml:m=13,api=rocblas --on hip-sim

# What ran is in the record.
gpuparity run "$all,api=lt,algo=1,workspace=4096" --on hip-sim -o lt.h5 -q >/dev/null
expect 0 'lt: algorithm 12 (offer 1 of 2), math default, workspace 4096 of 4096 bytes' gpuparity show lt.h5 run/0/case/0
gpuparity run "$all,algo=7,math=pedantic" --on cuda-sim -o plain.h5 -q >/dev/null
expect 0 'cuBLAS: algorithm 7, math pedantic (2), compute 69, workspace 0 bytes (its own)' gpuparity show plain.h5 run/0/case/0

# A library that lacks a function.
export GPUPARITY_CUBLAS="$build/libgpuparity-blas-cuda.so"
expect 77 'returned 100: not here: .*cublasCreate_v2' gpuparity verify gemm.case.yaml:m=3 --on cuda-sim
expect_report
