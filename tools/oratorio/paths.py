# SPDX-License-Identifier: BSD-3-Clause
"""Where things are in a checkout."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRIVATE = ROOT / ".oratorio"
BUILD = ROOT / "build"
OUT = ROOT / "out"
LIBRARIES = BUILD / "lib"


def preload_library() -> Path:
    """The library that goes into LD_PRELOAD; it may not have been built yet."""
    return LIBRARIES / "liboratorio.so"
