#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# variants.sh BUILD_DIR [CASE...]: the project's kernels, compiled by the NVRTC that is here with every
# option that changes its PTX, run on cuda-sim and held against the reference; a line a variant with the
# counts of verdicts. The options of arithmetic are the modes of a case, whose bounds know them; the
# others go in front of NVRTC by variants.c. Standard: all quick cases (minutes a variant); NVRTC is the
# one that gpuparity finds (GPUPARITY_NVRTC); JOBS is the number of workers. Status 1 if something is
# wrong, 77 without NVRTC.
set -eu
build=$(realpath "${1:?usage: variants.sh BUILD_DIR [CASE...]}")
shift
source=$(dirname "$(realpath "$0")")
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
nvrtc=${GPUPARITY_NVRTC:-$("$build/gpuparity" doctor | grep -o '/[^ ,]*libnvrtc\.so[.0-9]*' | head -n 1)}
if [ ! -f "$nvrtc" ]; then
    echo "skipped: compiler options (no NVRTC: pip install nvidia-cuda-nvrtc, or GPUPARITY_NVRTC)"
    exit 77
fi
cc -shared -fPIC -O1 "$source/variants.c" -o "$out/libnvrtc.so" -Wl,--no-as-needed "$nvrtc" \
    "$(dirname "$nvrtc")"/libnvrtc-builtins.so.* -Wl,-rpath,"$(dirname "$nvrtc")" -ldl
"$build/gpuparity" list "$@" >"$out/all"
grep -v ",mode=" "$out/all" >"$out/cases"
failed=0

# taken SUFFIX: the cases whose family has bounds for it; `left` names the others
taken() {
    left=
    for family in $(cut -d/ -f1 "$out/cases" | sort -u); do
        first=$(grep -m 1 "^$family/" "$out/cases")
        if "$build/gpuparity" list "$first$1" >/dev/null 2>&1; then
            grep "^$family/" "$out/cases" | sed "s/\$/$1/"
        else
            left="$left $family"
        fi
    done >"$out/taken"
}

# one NAME SUFFIX: all cases with the suffix
one() {
    status=0
    taken "$2"
    xargs -n 4000 "$build/gpuparity" verify --on cuda-sim --code toolchain --jobs "${JOBS:-1}" -q \
        <"$out/taken" >"$out/log" 2>&1 || status=$?
    counts=$(grep -E '^[0-9]+ cases?: ' "$out/log" || tail -n 1 "$out/log")
    printf '%-34s %s%s\n' "$1" "$counts" "${left:+ (without$left)}"
    grep -E '^(A_WRONG|BROKEN|MISTRUSTED) ' "$out/log" | head -n 3 || true
    # MISTRUSTED: bounds so wide, with fast arithmetic, that the case shows nothing; it is not wrong.
    case "$status $counts" in
    *A_WRONG* | *BROKEN* | [2-9]* | [1-9][0-9]*) failed=1 ;;
    [01]*' case'*) ;;
    *) failed=1 ;;
    esac
}

# Does NVRTC take the option at all? compute_100 needs 12.8.
known() {
    ! head -n 1 "$out/cases" | xargs "$build/gpuparity" verify --on cuda-sim --code toolchain 2>&1 |
        tr -s ' \n' ' ' | grep -q 'invalid value for --gpu-architecture'
}

export GPUPARITY_NVRTC="$out/libnvrtc.so"
one 'default' ''
for mode in strict flush fastdiv fastsqrt approx fast; do
    one "mode $mode" ",mode=$mode"
done
for VARIANT in --device-debug --maxrregcount=24 --gpu-architecture=compute_80 \
    --gpu-architecture=compute_86 --gpu-architecture=compute_87 --gpu-architecture=compute_89 \
    --gpu-architecture=compute_90 --gpu-architecture=compute_100 --gpu-architecture=compute_120; do
    export VARIANT
    if known; then one "$VARIANT" ''; else echo "$VARIANT: this NVRTC does not know it"; fi
done
exit $failed
