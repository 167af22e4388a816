#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The family in docs/cases.md must compile as it stands there.
#
#   docs_cases.sh COMPILER SOURCE_FOLDER
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/cases/axpy"
ln -s "$2/harness" "$folder/harness"
awk '/^`cases\/axpy\/axpy.c`/ { found = 1 }
     found && /^```c$/ { on = 1; next }
     on && /^```$/ { exit }
     on' "$2/docs/cases.md" > "$folder/cases/axpy/axpy.c"
grep -q 'family_axpy' "$folder/cases/axpy/axpy.c"
"$1" -std=gnu17 -Wall -Wextra -Werror -Wno-missing-field-initializers -fsyntax-only \
    "$folder/cases/axpy/axpy.c"
