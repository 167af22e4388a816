# SPDX-License-Identifier: Apache-2.0
# Sourced by tests that compile case files: `gpuparity` runs the program of $build with both vendors'
# compilers, those of this machine or of the Debian 13 that golden/code.sh makes. Ends with 77 where they
# are not here; needs saxpy.case.yaml in the present folder.
export GPUPARITY_SIM_DIR="$build" NO_COLOR=1

nvrtc=${XDG_CACHE_HOME:-$HOME/.cache}/gpuparity/nvrtc-12.0/nvidia/cuda_nvrtc/lib/libnvrtc.so.12
[ -n "${GPUPARITY_NVRTC:-}" ] || [ ! -f "$nvrtc" ] || export GPUPARITY_NVRTC="$nvrtc"
trixie=${GPUPARITY_TRIXIE:-/opt/trixie}
libraries=$trixie/usr/lib/$(uname -m)-linux-gnu
gpuparity() {
    "$build/gpuparity" "$@"
}
if ! "$build/gpuparity" check saxpy.case.yaml:n=1 -q >/dev/null 2>&1; then
    if [ -e "$libraries/libamdhip64.so.5" ]; then
        # Under that system's loader; its libraries first, then the program's own.
        folders=$(ldd "$build/gpuparity" | sed -n 's/.*=> \(\/.*\)\/[^/]* (.*/\1/p' | sort -u | paste -sd:)
        gpuparity() {
            "$trixie/lib64/ld-linux-x86-64.so.2" --library-path "$libraries:$folders" "$build/gpuparity" "$@"
        }
    fi
    status=0
    gpuparity check saxpy.case.yaml:n=1 -q >said 2>&1 || status=$?
    if [ $status = 77 ]; then
        echo "skipped: case files with sources need NVRTC and hipRTC (gpuparity doctor; golden/code.sh gets both)"
        exit 77
    fi
fi
