#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# library.sh BUILD_DIR LIBRARY: case files with `library:`, on a library that does all that libraries
# do (fake_library.c).
set -eu
build=$1 library=$2
. "$(dirname "$0")/expect.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cp "$library" fake.so
export GPUPARITY_SIM_DIR="$build" NO_COLOR=1

# file CALLS [WORDS SED]...: t.case.yaml with these calls; y = 2 x is right
file() {
    cat >t.case.yaml <<X
library: {host: fake.so}
parameters: {n: {standard: 300, range: [1, 100000]}, how: {standard: 1, range: [0, 1000]}}
tensors:
  x: {role: in, dtype: f32, shape: [n]}
  y: {role: out, dtype: f32, shape: [n]}
calls: [$1]
reference: {formula: {y: 2 * x}}
suites: {quick: ["n=300"]}
X
}
verify() {
    "$build/gpuparity" verify "t.case.yaml$1" --on host ${2:-}
}

# Arguments, handles, return codes.
file '{name: scale, arguments: [f32 2, x, y, i64 n]}'
expect 0 '1 case: 1 SAME' verify ''
file '{name: scale, arguments: [f32 3, x, y, i64 n]}'
expect 1 '300 of 300 elements of y are outside' verify ''
file '{name: kinds, returns: i8, arguments: [i8 -128, u8 255, i16 -32768, u16 65535, "i32 -2147483647 - 1", u32 4294967295,
  "i64 -9223372036854775807 - 1", u64 1, f32 0.1, f64 0.1, "null", "&f16 1.5", "&f64 0.3", x, y, i64 n]},
  {name: scale, arguments: [f32 2, host x, y, i64 n]}'
expect 0 '1 case: 1 SAME' verify ''
file '{name: kinds, returns: i8, failed: {7: lost on the way}, arguments: [i8 -128, u8 255, i16 -32768, u16 65535,
  "i32 -2147483647 - 1", u32 4294967295, "i64 -9223372036854775807 - 1", u64 1, f32 0.1, f64 0.1, "null", "&f16 1.5", "&f64 0.2",
  x, y, i64 n]}'
expect 1 'kinds returned 7: lost on the way' verify ''
file '{name: context_open, arguments: ["&c"], returns: i32},
  {name: context_scale, arguments: [c, i32 1, f32 2, x, y, i32 n], returns: i32}'
expect 0 '1 SAME' verify ''
expect 1 '1 SAME, 1 BROKEN' verify ':n={3|4}'
file '{name: context_get, returns: ptr, result: c, once: "true"},
  {name: context_scale, arguments: [c, i32 1, f32 2, x, y, i32 n], returns: i32}'
expect 0 '2 SAME' verify ':n={3|4}'
file '{name: nothing, returns: ptr, result: c}, {name: context_scale, arguments: [c, i32 1, f32 2, x, y, i32 n], returns: i32}'
expect 1 'nothing returned a null pointer' verify ''
file '{name: answer, returns: i32, untested: {100: not for these sizes}, arguments: [i32 how, x, y, i32 n]}'
expect 0 '1 SAME' verify ':how=0'
expect 77 'answer returned 100: not for these sizes' verify ':how=100'
expect 1 'launch-failed: answer returned 5' verify ':how=5'

# A library may end the process; the other cases go on.
file '{name: ends, arguments: [i32 how, x, y, i32 n]}, {name: scale, arguments: [f32 2, x, y, i64 n]}'
expect 1 'exit status 1 while calling ends.*Error invalid argument at line 300' verify ':how=1'
expect 1 'signal 6 .* while calling ends' verify ':how=2'
expect 1 '2 cases: 1 SAME, 1 BROKEN' verify ':how={1|9}'
expect 1 'timed-out' verify ':how=4' '--timeout 1'
expect 1 '1 BROKEN' verify ':how=3'

# Silence, tiles, inputs, ends.
file '{name: silent, arguments: [x, y, i32 how, i32 n]}'
expect 0 '2 SAME' verify ':how={64|256}'
expect 1 'never wrote 300 of 300 elements of y' verify ':how=32'
file '{name: tile, arguments: [x, y, i32 how, i32 n]}'
expect 0 '1 SAME' verify ':how=0'
expect 1 'depends on what memory held before' verify ':how=1' '--repeat 3'
file '{name: writes, arguments: [x, y, i32 how, i32 n]}'
expect 1 'wrote into its input x: ' verify ':how=0'
expect 1 'behind' verify ':how=1'

# What the file may not say: one line with its place.
bad() {
    expect 2 "^gpuparity verify: [^:]*t.case.yaml[:]*$1[^:]*" verify ''
    expect 2 "$2" verify ''
    [ "$(wc -l <said)" = 1 ] || { failures=$((failures + 1)); cat said; }
}
S='{name: scale, arguments: [f32 2, x, y, i64 n]}'
file '{name: skale, arguments: [f32 2, x, y, i64 n]}'
expect 2 'has no library for cuda; it has: --on host' "$build/gpuparity" check t.case.yaml --on cuda,host
bad 6:9 "fake.so has no function 'skale'"
file '{name: scale, arguments: [f32 2, z, y, i64 n]}'
bad 6 "'z' is no tensor"
file '{name: scale, arguments: [f16 2, x, y, i64 n]}'
bad 6 'takes f32, f64 and integers by value; a pointer to such a number is &f16 2'
file '{name: scale, arguments: [f32 2, x, y, i32 99999999999]}'
expect 77 't.case.yaml:6:48: the argument is 99999999999, must be' verify ''
file '{name: scale, arguments: [f32 2, x, host y, i64 n]}'
bad 6 "only an input can be in the host's memory"
file '{name: scale, arguments: [f32 2, x, x, i64 n]}'
bad 5 'no call on host has the argument y'
file '{name: scale, on: cuda, arguments: [f32 2, x, y, i64 n]}'
bad 6 "library: has no side 'cuda'"
file '{name: answer, untested: {100: no}, arguments: [i32 0, x, y, i32 n]}'
bad 6 'the call returns no number'
file '{name: answer, returns: f32, arguments: [i32 0, x, y, i32 n]}'
bad 6 'returns an integer or ptr'
file '{name: scale, once: "true", arguments: [f32 2, x, y, i64 n]}'
bad 6 'made once cannot have tensors'
file '{name: scale, grid: 3, arguments: [f32 2, x, y, i64 n]}'
bad 6 "no key is called 'grid'"
file "$S"
sed -i 's/fake.so/missing.so/' t.case.yaml
bad 1:17 'cannot open the library missing.so: cannot open shared'
file "$S"
sed -i 's/host: fake.so/hostt: fake.so/' t.case.yaml
bad 1 "no side 'hostt'"
file "$S"
sed -i 's|fake.so|$NO_SUCH_VARIABLE/fake.so|' t.case.yaml
bad 1 'the environment variable NO_SUCH_VARIABLE is not set'
file "$S"
echo 'not a library' >text.so
sed -i 's/fake.so/text.so/' t.case.yaml
bad 1 'text.so: invalid ELF header\|text.so: file too short'
file "$S"
sed -i 's/^library.*/source: {host: k.cu}/' t.case.yaml
bad '' 'calls are of a library\|the host runs libraries only'
file "$S"
echo 'like: "gemm/naive:m=3"' >>t.case.yaml
bad '' 'are those of like:'
sed -i '/^tensors/,/^  y/d;/^reference/d' t.case.yaml
bad '' "'x' is no tensor"
expect 77 'the host has no kernels' "$build/gpuparity" verify gemm/naive:m=3 --on host
expect 2 'valid are cuda.* host; did you mean .host' "$build/gpuparity" verify 'math/*' --on hos

expect_report
