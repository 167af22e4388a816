#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# quick.sh BUILD_DIR SOURCE_DIR: the whole quick suite on both simulated devices, as a user runs it. Nothing fails, nothing
# is unexplained, every family is there, and every bit is one that golden/digests.txt accepts.
set -eu
build=$1 source=$2
. "$(dirname "$0")/expect.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GPUPARITY_SIM_DIR="$build" NO_COLOR=1

expect 0 'cases: ' "$build/gpuparity" check --tags quick --on cuda-sim,hip-sim --jobs 2 -o quick.h5 --report quick.csv -q
expect 0 ' as accepted, 0 changed, .* 0 not in ' "$build/gpuparity" golden check quick.h5
expect 0 'none' sh -c '! grep unexplained quick.csv && echo none'
"$build/gpuparity" list --tags quick | sed 's,/.*,,' | sort -u >families
expect 0 'none' sh -c 'ls "$1" | grep -v "\." | sort | diff - families && echo none' - "$source/cases"
expect_report
