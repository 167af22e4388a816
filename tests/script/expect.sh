# SPDX-License-Identifier: Apache-2.0
# Sourced by tests that are scripts: counts checks as Check does.
checks=0 failures=0

# expect STATUS WORDS COMMAND...: how it ends, and what it says; in the file `said`.
expect() {
    wanted=$1 words=$2 status=0
    shift 2
    "$@" >said 2>&1 || status=$?
    checks=$((checks + 1))
    if [ $status != "$wanted" ] || ! tr -s '\n ' ' ' <said | grep -q -e "$words"; then
        failures=$((failures + 1))
        echo "$*: exit status $status, wanted $wanted and '$words'"
        cat said
    fi
}

# At the end: the line that ./dev counts, and the exit status.
expect_report() {
    echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
    [ $failures = 0 ]
}
