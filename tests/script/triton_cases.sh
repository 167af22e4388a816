#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# triton_cases.sh SOURCE_DIR BUILD_DIR: Triton's kernels as cases, see triton_cases.py. 77 where no
# Python has Triton.
set -eu
python=${GPUPARITY_PYTHON:-python3}
if ! "$python" -c 'import numpy, triton' 2>/dev/null; then
    echo "skipped: Triton's kernels as cases (pip install triton numpy; GPUPARITY_PYTHON names that python)"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Compiled kernels are kept, so that only the first run waits for Triton.
export TRITON_CACHE_DIR="$2/triton-cache" PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$1/tests/script"
"$python" "$1/tests/script/triton_cases.py" "$2/gpuparity" "$folder"
