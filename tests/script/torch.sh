#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# torch.sh SOURCE BUILD: the PyTorch bridge, where a Python with PyTorch is (GPUPARITY_PYTHON).
python=${GPUPARITY_PYTHON:-python3}
command -v "$python" >/dev/null || { echo "skipped: PyTorch bridge: no $python"; exit 77; }
exec "$python" "$1/tests/script/torch_check.py" "$1" "$2"
