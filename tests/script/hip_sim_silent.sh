#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hip_sim_silent.sh PROGRAM: correct kernels run without a finding when the simulated GPU checks
# them. One quick case of each variant and format.
set -eu
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$1" list --tags quick | awk '{ print $1 }' | awk -F'[:,]' '!seen[$1 $2]++' >"$out/cases"
count=$(wc -l <"$out/cases")
[ "$count" -gt 30 ]
# shellcheck disable=SC2046
GPUPARITY_SIM_CHECK=1 "$1" run $(cat "$out/cases") --code golden --on hip-sim -o "$out/record.h5" |
    tee "$out/text"
grep -q "$count ok" "$out/text"
