#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles golden/code again, where a kernel's source changed, with the compilers it is kept with:
#
#   NVRTC 12.0     the oldest of CUDA 12: its PTX loads with every driver since 525
#   hipRTC 5.7.1   of Debian 13: the oldest that compiles for gfx1100
#
#   golden/code.sh BUILD_FOLDER
#
# NVRTC comes from PyPI into ~/.cache/gpuparity. hipRTC is taken from this machine where it is
# installed (Debian 13: apt install libamdhip64-dev rocm-device-libs-17), else from a Debian 13 in
# GPUPARITY_TRIXIE (standard: /opt/trixie), which root's debootstrap makes on the first call; the
# program then runs under that system's loader, since its libraries want a newer C library.
set -eu
PATH=$PATH:/usr/sbin:/sbin

build=${1:?usage: golden/code.sh BUILD_FOLDER}
program=$build/gpuparity
cache=${XDG_CACHE_HOME:-$HOME/.cache}/gpuparity/nvrtc-12.0
trixie=${GPUPARITY_TRIXIE:-/opt/trixie}
arch=$(uname -m)-linux-gnu

nvrtc=$cache/nvidia/cuda_nvrtc/lib/libnvrtc.so.12
if [ ! -f "$nvrtc" ]; then
    python3 -m pip install --quiet --no-deps --target "$cache" nvidia-cuda-nvrtc-cu12==12.0.76
fi
export GPUPARITY_NVRTC="$nvrtc"

if ldconfig -p | grep -q 'libamdhip64\.so\.5'; then
    exec "$program" golden code
fi
if [ ! -d "$trixie" ]; then
    debootstrap --variant=minbase trixie "$trixie"
fi
if [ ! -e "$trixie/usr/lib/$arch/libamdhip64.so.5" ]; then
    chroot "$trixie" apt-get install -y --no-install-recommends libamdhip64-dev rocm-device-libs-17
fi
# The program's own libraries, by their folders here, after those of the other system.
folders=$(ldd "$program" | sed -n 's/.*=> \(\/.*\)\/[^/]* (.*/\1/p' | sort -u | paste -sd:)
exec "$trixie/lib64/ld-linux-x86-64.so.2" --library-path "$trixie/usr/lib/$arch:$folders" \
    "$program" golden code
