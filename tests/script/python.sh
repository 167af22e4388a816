#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# python.sh SCRIPT ARGUMENT...: with the Python that has the optional parts, else the system's.
exec "${GPUPARITY_PYTHON:-/usr/bin/python3}" "$@"
