#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hip_sim_disasm.sh PROGRAM SOURCE_FOLDER: every instruction of every kept gfx1100 kernel prints as
# llvm-objdump prints it. 77 where no llvm-objdump knows gfx1100: LLVM 17 is in Debian 13, and in
# the root that golden/code.sh makes (GPUPARITY_TRIXIE, standard /opt/trixie).
set -eu
program=$1 source=$2
trixie=${GPUPARITY_TRIXIE:-/opt/trixie}
arch=$(uname -m)-linux-gnu
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

"$program" code "$source/tests/data/hip_sim/kernels.co" "$out/first"
objdump=
for command in "${LLVM_OBJDUMP:-}" /usr/lib/llvm-*/bin/llvm-objdump llvm-objdump \
    "$trixie/lib64/ld-linux-x86-64.so.2 --library-path $trixie/usr/lib/$arch:$trixie/usr/lib/llvm-17/lib $trixie/usr/lib/llvm-17/bin/llvm-objdump"; do
    # Older ones abort at the sight of gfx1100.
    # shellcheck disable=SC2086
    if [ -n "$command" ] &&
        sh -c '"$@" || exit 1' - $command -d --mcpu=gfx1100 "$out/first" >"$out/text" 2>/dev/null &&
        grep -q s_endpgm "$out/text"; then
        objdump=$command
    fi
done
if [ -z "$objdump" ]; then
    echo "skipped: no llvm-objdump for gfx1100 (Debian 13: apt-get install llvm-17, or name one in LLVM_OBJDUMP)"
    exit 77
fi
for file in "$source"/golden/code/*/*.gfx1100.*.zst "$source"/tests/data/hip_sim/*.co; do
    "$program" code "$file" "$out/code"
    # shellcheck disable=SC2086
    $objdump -d --mcpu=gfx1100 "$out/code"
done >"$out/text"
"$program" compare <"$out/text"
