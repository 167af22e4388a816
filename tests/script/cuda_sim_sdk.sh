#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cuda_sim_sdk.sh COMPILER SOURCE_DIR BUILD_DIR SANITIZERS: a program written against the toolkit's <cuda.h>
# runs unmodified on the simulated GPU. 77 where no toolkit is installed.
set -eu
for home in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /usr/local/cuda-*; do
    [ -f "$home/include/cuda.h" ] && break
done
if [ ! -f "$home/include/cuda.h" ]; then
    echo "UNTESTED: no cuda.h (CUDA_HOME, /usr/local/cuda*)"
    exit 77
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
sanitize=
[ "${4:-none}" = none ] || sanitize=-fsanitize=$4 # as the simulator is built
# shellcheck disable=SC2086
"$1" -O1 $sanitize -I "$home/include" "$2/tests/script/cuda_sim_sdk.c" -o "$out/program" \
    -L "$3" -lgpuparity-cuda-sim -Wl,-rpath,"$3"
"$out/program"
