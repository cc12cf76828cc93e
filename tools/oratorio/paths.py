# SPDX-License-Identifier: BSD-3-Clause
"""Where things are: in a checkout, or in an installation (which tools/package.py lays out)."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
INSTALLED = PACKAGE / "installed"  # in an installation: what the commands need beside the modules
IS_INSTALLED = INSTALLED.is_dir()

ROOT = PACKAGE.parents[1]
PRIVATE = ROOT / ".oratorio"
BUILD = ROOT / "build"
OUT = ROOT / "out"
# How an installation's libraries are reached from the package; it may be moved as a whole.
LIBRARIES = (
    (PACKAGE / (INSTALLED / "libraries").read_text().strip()).resolve() if IS_INSTALLED else BUILD / "lib"
)


def preload_library() -> Path:
    """The library that goes into LD_PRELOAD; it may not have been built yet."""
    return LIBRARIES / "liboratorio.so"
