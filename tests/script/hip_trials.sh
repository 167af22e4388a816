#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hip_trials.sh BUILD [OPTION...]: kernels in the style of libraries (data/hip_trials), compiled by
# hipcc at every level of optimisation, run on the simulated GPU and compared with the processor.
# A command of its own, some minutes; not part of ./dev test.
#
# hipcc is taken from this machine, else from the Debian 13 in GPUPARITY_TRIXIE (standard:
# /opt/trixie, see golden/code.sh), where `apt-get install hipcc` puts it; the programs then run
# under that system's loader.
set -eu
build=$(cd "${1:?usage: tests/script/hip_trials.sh BUILD [OPTION...]}" && pwd)
shift
[ $# -gt 0 ] || set -- -O0 -O1 -O2 -O3 '-O3 -ffast-math'
sources=$(cd "$(dirname "$0")/../data/hip_trials" && pwd)
trixie=${GPUPARITY_TRIXIE:-/opt/trixie}
folders=$build/backends/hip/sim
if command -v hipcc >/dev/null; then
    out=$(mktemp -d) root=
elif [ -x "$trixie/usr/bin/hipcc" ]; then
    out=$(mktemp -d "$trixie/tmp/trials.XXXXXX") root="chroot $trixie"
    folders=$folders:$trixie/usr/lib/$(uname -m)-linux-gnu:$(ldd "$build/libgpuparity-hip-sim.so" |
        sed -n 's/.*=> \(\/.*\)\/[^/]* (.*/\1/p' | sort -u | paste -sd:)
else
    echo "skipped: no hipcc (Debian 13: apt-get install hipcc; or a root with it in GPUPARITY_TRIXIE)"
    exit 77
fi
trap 'rm -rf "$out"' EXIT
cp "$sources"/* "$out"
inside=${out#"${root:+$trixie}"}

failed=0
for options in "$@"; do
    for source in main integers sorts calls floats norms memory; do
        # shellcheck disable=SC2086
        $root env HIP_PLATFORM=amd sh -c "cd $inside && hipcc --offload-arch=gfx1100 -std=c++17 -w $options \
            -c $source.hip -o $source.o" >"$out/log" 2>&1 || { cat "$out/log"; exit 2; }
    done
    $root env HIP_PLATFORM=amd sh -c "cd $inside && hipcc *.o -o trials" >"$out/log" 2>&1 ||
        { cat "$out/log"; exit 2; }
    echo "$options"
    if [ -n "$root" ]; then
        "$trixie/lib64/ld-linux-x86-64.so.2" --library-path "$folders" "$out/trials" || failed=1
    else
        LD_LIBRARY_PATH=$folders "$out/trials" || failed=1
    fi
done
exit $failed
