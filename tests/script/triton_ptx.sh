#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# triton_ptx.sh COMPILER SOURCE_DIR BUILD_DIR SANITIZERS: Triton's PTX on the simulated GPU, see
# triton_ptx.py. 77 where no Python has Triton.
set -eu
python=${GPUPARITY_PYTHON:-python3}
if ! "$python" -c 'import numpy, triton' 2>/dev/null; then
    echo "skipped: Triton's PTX (pip install triton numpy; GPUPARITY_PYTHON names that python)"
    exit 77
fi
# Compiled kernels are kept, so that only the first run waits for Triton.
export TRITON_CACHE_DIR="$3/triton-cache" PYTHONDONTWRITEBYTECODE=1
case $4 in
*address*)
    # The interpreter is not sanitized: the run-time goes first; what it does not free is its own.
    export LD_PRELOAD="$($1 -print-file-name=libasan.so)" ASAN_OPTIONS=detect_leaks=0
    ;;
*thread*)
    echo "skipped: Triton's PTX (Python cannot load a library that is built with $4)"
    exit 77
    ;;
esac
exec "$python" "$2/tests/script/triton_ptx.py" "$3/libgpuparity-cuda-sim.so"
