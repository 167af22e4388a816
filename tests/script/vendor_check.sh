#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles a vendor's api.def against its real headers, wherever those are installed.
#   vendor_check.sh CC SOURCE_ROOT cuda|hip
# Exit status 0 = agree, 1 = drift, 77 = no headers here.
cc=$1 root=$2 vendor=$3

# The first of the folders that has the file.
folder_of() {
    file=$1
    shift
    for folder in "$@"; do
        if [ -f "$folder/$file" ]; then
            echo "$folder"
            return
        fi
    done
}

pip="/usr/local/lib/python3*/*-packages/nvidia/*/include $HOME/.local/lib/python3*/*-packages/nvidia/*/include
${VIRTUAL_ENV:-/nowhere}/lib/python3*/site-packages/nvidia/*/include $HOME/.cache/gpuparity/*/nvidia/*/include"

case $vendor in
cuda)
    main=$(folder_of cuda.h ${CUDA_HOME:-/nowhere}/include /usr/local/cuda/include \
        /usr/local/cuda-*/include /usr/include $pip)
    compiler=$(folder_of nvrtc.h "$main" ${CUDA_HOME:-/nowhere}/include /usr/include $pip)
    check=1
    ;;
hip)
    main=$(folder_of hip/hip_runtime_api.h ${ROCM_PATH:-/opt/rocm}/include /opt/rocm-*/include \
        /usr/include /opt/trixie/usr/include)
    compiler=$(folder_of hip/hiprtc.h "$main" /usr/include)
    check=0
    ;;
esac
if [ -z "$main" ]; then
    echo "skipped: no headers of $vendor on this machine"
    exit 77
fi
echo "headers: $main${compiler:+, $compiler}"
[ -n "$compiler" ] || echo "no headers of the compiler: its functions are not compared"
exec "$cc" -std=gnu17 -fsyntax-only -Wno-attributes -DVENDOR_CHECK_CUDA=$check \
    ${compiler:+-DHAVE_COMPILER} -DVENDOR_API="\"$vendor/api.def\"" -I"$root/backends" \
    -idirafter "$main" ${compiler:+-idirafter "$compiler"} "$root/tests/script/vendor_check.c"
