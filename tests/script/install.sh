#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh MESON BUILD_DIR DOCS_DIR: what `meson install` puts down works after it was moved, with no
# environment variable set, and gives the bits that the build gives.
set -eu
meson=$1 build=$2 docs=$3
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
fail() {
    echo "install: $*" >&2
    exit 1
}
unset GPUPARITY_SIM_DIR GPUPARITY_GOLDEN
unset GPUPARITY_NVRTC GPUPARITY_HIPRTC 2>/dev/null || true
case=gemm/naive:m=8,n=8,k=8

# `ninja uninstall` goes by this list: the tester's own installation stays in it.
list=$build/meson-logs/install-log.txt
[ ! -f "$list" ] || cp -p "$list" "$top/list"
DESTDIR=$top/stage "$meson" install -C "$build" --no-rebuild --quiet >"$top/log" 2>&1 ||
    { cat "$top/log" >&2; fail "meson install failed"; }
if [ -f "$top/list" ]; then cp -p "$top/list" "$list"; else rm -f "$list"; fi
installed=$(find "$top/stage" -type f -name gpuparity -path '*/bin/*')
[ -n "$installed" ] || fail "no program was installed"
mv "$(dirname "$(dirname "$installed")")" "$top/moved"
rm -rf "$top/stage"
cd "$top"

echo "== the moved tree and the build give the same bits"
moved/bin/gpuparity check "$case" --code golden --on cuda-sim,hip-sim -o moved.h5
for side in cuda hip; do
    moved/bin/gpuparity run "$case" --code golden --on $side-sim -o $side-moved.h5
    "$build/gpuparity" run "$case" --code golden --on $side-sim -o $side-build.h5
    moved/bin/gpuparity compare $side-moved.h5 $side-build.h5 >compared
    grep -q '1 SAME' compared || { cat compared >&2; fail "$side: not the build's bits"; }
done

echo "== two working copies that exchange only files, compared where there is neither device nor kernel"
mkdir desk
cp -R moved/bin desk/bin
"$build/gpuparity" run gemm/fault_tail:m=12,n=9,k=20 "$case" --code golden --on hip-sim -o amd.h5
moved/bin/gpuparity run gemm/fault_tail:m=12,n=9,k=20 "$case" --code golden --on cuda-sim -o nvidia.h5
status=0
desk/bin/gpuparity compare nvidia.h5 amd.h5 >compared || status=$?
[ $status = 1 ] && grep -q '2 cases: 1 SAME, 1 B_WRONG' compared || { cat compared >&2; fail "two copies"; }

echo "== it is the installed code that runs, not the source tree's"
cp -R moved spoilt
for file in spoilt/share/gpuparity/golden/code/gemm/naive.*; do
    echo spoilt >"$file"
done
status=0
spoilt/bin/gpuparity check "$case" --code golden --on cuda-sim,hip-sim >spoilt.log 2>&1 || status=$?
[ $status = 1 ] || { cat spoilt.log >&2; fail "spoilt kernels were not noticed: $status"; }
grep -q "spoilt/" spoilt.log || { cat spoilt.log >&2; fail "the spoilt file is not named"; }

echo "== and the installed simulators"
rm -r spoilt/lib/gpuparity
status=0
spoilt/bin/gpuparity check "$case" --on cuda-sim,hip-sim >none.log 2>&1 || status=$?
[ $status = 77 ] || { cat none.log >&2; fail "without simulators: $status, not 77"; }

echo "== uninstalling leaves nothing"
DESTDIR=$top/stage "$meson" install -C "$build" --no-rebuild --quiet >"$top/log" 2>&1
DESTDIR=$top/stage ninja -C "$build" uninstall >"$top/log" 2>&1 || { cat "$top/log" >&2; fail uninstall; }
mkdir -p "$top/stage"
left=$(find "$top/stage" ! -type d)
[ -z "$left" ] || fail "uninstalling leaves $left"
if [ -f "$top/list" ]; then cp -p "$top/list" "$list"; else rm -f "$list"; fi

echo "== a program with the library, from the moved tree"
pc=$(dirname "$(find "$top/moved" -name gpuparity.pc)")
# (A sanitized library wants a sanitized program.)
if command -v cc pkg-config >/dev/null && ! ldd "$pc/../libgpuparity.so" | grep -q 'lib[au].*san'; then
    awk '/^```c$/ { on = 1; next } /^```$/ && on { exit } on' "$docs/library.md" >compare.c
    flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs gpuparity)
    # shellcheck disable=SC2086
    cc -Wall -Wextra -Werror compare.c -o compare $flags || fail "no program with $flags"
    LD_LIBRARY_PATH=$pc/.. ./compare >said || [ $? = 1 ] || fail "the program does not run"
    grep -q '^DISTINGUISHABLE' said || fail "the library says $(cat said)"
fi

echo "== manual page and completions"
page=$(find moved -name gpuparity.1)
grep -q '^\.SH OPTIONS' "$page" || fail "no manual page"
for checker in 'mandoc -T lint -W error' 'groff -man -ww -z'; do
    command -v "${checker%% *}" >/dev/null || continue
    $checker "$page" >lint 2>&1 || { cat lint >&2; fail "$checker"; }
    [ ! -s lint ] || { cat lint >&2; fail "$checker"; }
done
for name in $(moved/bin/gpuparity --help | sed -n 's/^  gpuparity \([a-z]*\) .*/\1/p'); do
    grep -q "fB$name.fR" "$page" || fail "the manual does not know '$name'"
    moved/bin/gpuparity "$name" --help | grep -o -- '--[a-z-]* ' | while read -r option; do
        grep -qF -- "$(printf '%s' "$option" | sed 's/-/\\-/g')" "$page" ||
            fail "the manual does not know '$option'"
    done
done

# complete WORD...: what bash offers for the last word.
bash_file=$(find moved -path '*bash-completion/completions/gpuparity')
complete() {
    bash -c 'source "$0"; COMP_WORDS=(gpuparity "$@"); COMP_CWORD=$#; _gpuparity
        echo "${COMPREPLY[@]}"' "$bash_file" "$@"
}
expect() {
    wanted=$1
    shift
    offered=$(complete "$@")
    [ "$offered" = "$wanted" ] || fail "bash: '$*' offers '$offered', not '$wanted'"
}
if command -v bash >/dev/null; then
    expect 'compare' comp
    expect '--shard' run --sha
    expect '' compare --sha
    expect 'cuda cuda-sim' run --on cu
    expect 'cuda,hip cuda,hip-sim' check --on cuda,h
    expect 'gemm/naive' check gemm/na
    expect 'moved.h5' compare moved.
    expect 'code' golden cod
fi
if command -v zsh >/dev/null; then
    zsh -n "$(find moved -name _gpuparity)" || fail "zsh cannot read its completion"
fi
