# SPDX-License-Identifier: BSD-3-Clause
"""Lets the tests import the packages of cli, lab and dev, and the modules of dev and dev/release, such as
tidy.py and package.py."""

import sys
from pathlib import Path

sys.path[:0] = [
    str(Path(__file__).resolve().parents[2] / name) for name in ("cli", "lab", "dev", "dev/release")
]
