# SPDX-License-Identifier: Apache-2.0
import argparse
import os
import sys

from .replay import replay


def main():
    parser = argparse.ArgumentParser(prog="python -m gpuparity_torch")
    commands = parser.add_subparsers(dest="command", required=True)
    r = commands.add_parser("replay", help="run the operators of a capture again, on this machine")
    r.add_argument("capture", help="what Capture wrote, perhaps on another machine")
    r.add_argument("-o", "--output", required=True, help="the file to write")
    r.add_argument("--device", default=None, help="cpu or cuda (also ROCm); standard: cuda if there is one")
    r.add_argument("--no-reference", action="store_true", help="no float64 recomputation here")
    o = parser.parse_args()
    if os.path.exists(o.output):
        sys.exit(f"{o.output} exists; choose another name or remove it")
    import torch
    device = o.device or ("cuda" if torch.cuda.is_available() else "cpu")
    ran, missed = replay(o.capture, o.output, device, not o.no_reference)
    for line in missed:
        print(f"not replayed: {line}", file=sys.stderr)
    print(f"{ran} operators replayed on {device}; now: gpuparity compare {o.capture} {o.output}", file=sys.stderr)


main()
