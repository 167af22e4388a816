#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# repro.sh COMPILER SOURCE_DIR BUILD_DIR SANITIZERS: the programs that `gpuparity minimize` writes, built by the
# vendors' own compilers where these are installed, show on the simulated GPUs what the minimizer saw:
# NVIDIA's side as expected, AMD's side wrong in the same elements. 77 where neither compiler is here.
#
# hipcc is that of this machine, or of a Debian 13 in GPUPARITY_TRIXIE (see golden/code.sh), whose
# programs run under that system's loader.
set -eu
cc=$1 source=$2 build=$3
trixie=${GPUPARITY_TRIXIE:-/opt/trixie}
out=$(mktemp -d)
trap 'rm -rf "$out" "$trixie/tmp/gpuparity-repro-$$"' EXIT
sanitized=${4:-none}
ran=0
amd_options=

minimize() { # case, file, status
    status=0
    GPUPARITY_SIM_DIR=$build "$build/gpuparity" minimize "$1" --on cuda-sim,hip-sim --code golden \
        -o "$2" >"$out/words" 2>&1 || status=$?
    [ "$status" = "$3" ] || { cat "$out/words"; echo "minimize $1: status $status"; exit 1; }
}

expect() { # program's output, how many elements must differ, where
    n=$(sed -n 's/^[a-z]*: \([0-9]*\) of .* not as expected$/\1/p' "$1" | awk '{n += $1} END {print n + 0}')
    [ "$n" = "$2" ] || { cat "$1"; echo "$3: $n elements differ, must be $2"; exit 1; }
}

build_nvidia() {
    nvcc -O1 -arch=compute_86 -code=compute_86 -cudart none "$1" "$source/tests/script/cudart_thin.c" \
        -L "$build" -lgpuparity-cuda-sim -Xlinker -rpath="$build" -o "$2"
}

run_amd() {
    if command -v hipcc >/dev/null; then
        hipcc -O3 --offload-arch=gfx1100 $amd_options -x hip "$1" -o "$out/amd"
        LD_LIBRARY_PATH=$build/backends/hip/sim "$out/amd" >"$out/amd.txt" 2>"$out/amd.err" || true
        return
    fi
    room=$trixie/tmp/gpuparity-repro-$$
    mkdir -p "$room"
    cp "$1" "$room/repro.cu"
    chroot "$trixie" sh -c "cd /tmp/gpuparity-repro-$$ && hipcc -O3 --offload-arch=gfx1100 $amd_options -x hip repro.cu -o amd"
    arch=$(uname -m)-linux-gnu
    "$trixie/lib64/ld-linux-x86-64.so.2" --library-path \
        "$build/backends/hip/sim:$trixie/usr/lib/$arch" "$room/amd" >"$out/amd.txt" 2>"$out/amd.err" || true
}

for row in 'convert/fault_truncate' 'math/fault_divf'; do
    file=$out/$(echo "$row" | tr -c 'a-z0-9\n' _).cu
    minimize "$row" "$file" 1
    wrong=$(sed -n 's/^B_WRONG: B: \([0-9]*\) of .*/\1/p' "$file")
    if command -v nvcc >/dev/null && [ "$sanitized" = none ]; then
        build_nvidia "$file" "$out/nvidia"
        "$out/nvidia" >"$out/nvidia.txt"
        expect "$out/nvidia.txt" 0 "$row on cuda-sim"
        ran=1
    fi
    if [ "$sanitized" = none ] && { command -v hipcc >/dev/null || { [ -x "$trixie/usr/bin/hipcc" ] && [ "$(id -u)" = 0 ]; }; }; then
        run_amd "$file"
        expect "$out/amd.txt" "$wrong" "$row on hip-sim"
        grep -c 'as the other side' "$out/amd.txt" | grep -qx "$wrong"
        ran=1
    fi
done
# Equal sides leave nothing to write; a file that is there is kept.
minimize gemm/naive:m=8,n=8,k=8 "$out/none.cu" 0
[ ! -e "$out/none.cu" ]
echo mine >"$out/kept.cu"
minimize gemm/fault_tail:m=20,n=9,k=20 "$out/kept.cu" 2
[ "$(cat "$out/kept.cu")" = mine ]
# A case file's kernel, with its options: one product of a sum that one side rounds. The program that is
# built from what is written shows on both simulated GPUs the bits that it says they have.
casefile() (
    cd "$out"
    cp "$source"/docs/kernels/saxpy.cu "$source"/docs/kernels/saxpy.case.yaml .
    . "$source/tests/script/compilers.sh"
    sed '/^source/a options: {hip: ["-ffp-contract=off"]}' saxpy.case.yaml >options.case.yaml
    gpuparity minimize options.case.yaml:n=300 --on cuda-sim,hip-sim -o options.cu >words || true
    grep -q 'part in the same operation' words
    grep -q 'hipcc .*-ffp-contract=off' options.cu
)
if [ "$sanitized" = none ] && casefile; then
    if command -v nvcc >/dev/null; then
        build_nvidia "$out/options.cu" "$out/nvidia"
        "$out/nvidia" >"$out/nvidia.txt"
        expect "$out/nvidia.txt" 0 "saxpy on cuda-sim"
    fi
    if command -v hipcc >/dev/null || { [ -x "$trixie/usr/bin/hipcc" ] && [ "$(id -u)" = 0 ]; }; then
        amd_options=-ffp-contract=off
        run_amd "$out/options.cu"
        n=$(sed -n 's/^[a-z]*: \([0-9]*\) of .* not as expected$/\1/p' "$out/amd.txt" | awk '{n += $1} END {print n + 0}')
        [ "$n" -gt 0 ] || { cat "$out/amd.txt"; echo "saxpy on hip-sim: nothing differs"; exit 1; }
        grep -c 'as the other side' "$out/amd.txt" | grep -qx "$n"
        amd_options=
        run_amd "$out/options.cu"
        expect "$out/amd.txt" 0 "saxpy on hip-sim with contraction"
    fi
fi
# What is no regular file is neither removed nor replaced when writing fails.
mkfifo "$out/pipe"
{ sleep 0; } <"$out/pipe" &
status=0
GPUPARITY_SIM_DIR=$build "$build/gpuparity" minimize gemm/fault_tail:m=20,n=9,k=20 --replace \
    --on cuda-sim,hip-sim --code golden -o "$out/pipe" >"$out/words" 2>&1 || status=$?
[ "$status" = 2 ] && [ -p "$out/pipe" ]
if [ "$ran" = 0 ]; then
    echo "skipped: neither nvcc (pip install nvidia-cuda-nvcc) nor hipcc (Debian 13: apt install hipcc) is here"
    exit 77
fi
