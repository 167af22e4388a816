# SPDX-License-Identifier: Apache-2.0
"""What Python tests share."""

import traceback


def run(names):
    """Calls every test_* of `names` (a module's globals()) and prints what failed and Check's summary
    line, which ./dev counts. True if any failed."""
    tests = [f for n, f in names.items() if n.startswith("test_")]
    failed = 0
    for t in tests:
        try:
            t()
        except Exception:
            failed += 1
            print(f"{t.__name__}: {traceback.format_exc()}")
    print(f"{100 * (len(tests) - failed) // len(tests)}%: Checks: {len(tests)}, Failures: {failed}, Errors: 0")
    return failed > 0
