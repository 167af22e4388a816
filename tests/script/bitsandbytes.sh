#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bitsandbytes.sh CC SOURCE_DIR BUILD_DIR: docs/libraries/bitsandbytes on the libraries of the PyPI wheel: that for
# processors, and those for ROCm, whose kernels run on hip-sim. 77 where no Python has the wheel.
set -eu
cc=$1 source=$2 build=$3
python=${GPUPARITY_PYTHON:-python3}
wheel=$("$python" -c 'import importlib.util, os; s = importlib.util.find_spec("bitsandbytes"); print(s and os.path.dirname(s.origin) or "")' 2>/dev/null || true)
if [ ! -f "$wheel/libbitsandbytes_cpu.so" ]; then
    echo "skipped: bitsandbytes' libraries (pip install --no-deps bitsandbytes; GPUPARITY_PYTHON names that python)"
    exit 77
fi
. "$(dirname "$0")/expect.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cp "$source"/docs/libraries/bitsandbytes/*.case.yaml .
export GPUPARITY_SIM_DIR="$build" NO_COLOR=1 BITSANDBYTES_CPU="$wheel/libbitsandbytes_cpu.so"

verify() {
    "$build/gpuparity" verify "$@"
}

# The processor: codes to the bit by the rule of the table, and why they are not those of the GPUs.
expect 0 '13 cases: 13 SAME' verify quantize_host.case.yaml --on host -q
expect 0 '4 SAME' verify 'quantize_host.case.yaml:n=300001,block={64|4096},dist={wide|lognormal}' --on host -q
expect 0 '11 cases: 11 SAME' verify dequantize.case.yaml --on host -q
expect 0 '12 cases: 12 SAME' verify dequantize4.case.yaml --on host -q
expect 1 'a table of 65536 entries in the place of the search .* gives exactly these bits in 100.0 %' \
    verify quantize_host.case.yaml:rule=search,n=65537 --on host

# ROCm: its runtime is the simulator, its BLAS a stand-in; sonames are what the loader asks for.
standin() {
    mkdir -p "$1"
    echo | $cc -shared -fPIC -x c - -Wl,-soname,libamdhip64.so.$2 -o "$1/hip.so"
    $cc -shared -fPIC -O2 "$source/tests/script/blas_standin.c" -Wl,--no-as-needed "$1/hip.so" -Wl,-soname,libhipblas.so.$3 -o "$1/libhipblas.so.$3"
    echo | $cc -shared -fPIC -x c - -Wl,-soname,libhipblaslt.so.$4 -o "$1/libhipblaslt.so.$4"
}
rocm() {
    loader=$folder/$1:$build/backends/hip/sim
    shift
    LD_LIBRARY_PATH=$loader${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$@"
}
standin rocm6 6 2 0
standin rocm7 7 3 1
if [ -f "$wheel/libbitsandbytes_rocm70.so" ]; then
    export BITSANDBYTES_ROCM="$wheel/libbitsandbytes_rocm70.so"
    for f in quantize dequantize dequantize4 optimizer8 optimizer8_one optimizer32 optimizer32_one gemv4 gemm4 int8; do
        expect 0 'Every case that ran is right within its bound' rocm rocm7 verify $f.case.yaml --on hip-sim -q
    done
    # AMD's side has no freedom in the codes: correctly rounded division.
    expect 0 '11 cases: 11 SAME' rocm rocm7 verify dequantize.case.yaml --on hip-sim -q
    expect 0 ' SAME' rocm rocm7 verify 'quantize.case.yaml:dtype={f32|f16|bf16},n=4133,mode=strict' --on hip-sim -q
    expect 0 '11 cases: 11 SAME' rocm rocm7 "$build/gpuparity" check dequantize.case.yaml --on hip-sim,host -q
    # Its traps: a block size that launches nothing, an error that ends the process, a product that is not there.
    expect 1 'never wrote 100 of 100 elements of code' rocm rocm7 verify quantize.case.yaml:block=32,n=100 --on hip-sim
    expect 1 'cigemmlt_32 returned 1: the BLAS library reported an error or has no algorithm' \
        env BLAS_STANDIN_NONE=1 LD_LIBRARY_PATH="$folder/rocm7:$build/backends/hip/sim" "$build/gpuparity" verify int8.case.yaml:m=3 --on hip-sim
    sed 's/\[book, x, absmax/[book, "null", absmax/' quantize.case.yaml >ends.case.yaml
    expect 1 'exit status 1 while calling cquantize_blockwise_fp32' rocm rocm7 verify ends.case.yaml:n=64,block=64 --on hip-sim
fi
# The wheel's build for ROCm 6.4 has the 4-bit product that its compiler broke (issue 2087).
if [ -f "$wheel/libbitsandbytes_rocm64.so" ]; then
    export BITSANDBYTES_ROCM="$wheel/libbitsandbytes_rocm64.so"
    expect 0 '6 cases: 6 SAME' rocm rocm6 verify optimizer32.case.yaml --on hip-sim -q
    expect 1 '2 cases: 2 A_WRONG' rocm rocm6 verify gemm4.case.yaml --on hip-sim
fi
expect_report
