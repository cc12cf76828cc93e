# SPDX-License-Identifier: BSD-3-Clause
"""Lets the tests import tools/tidy.py and the package tools/oratorio."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
