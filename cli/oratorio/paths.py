# SPDX-License-Identifier: BSD-3-Clause
"""Paths of a checkout, or of an installation (which dev/release/package.py lays out)."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
# A folder that only an installation has, with what the commands need in addition to the modules.
INSTALLED = PACKAGE / "installed"
IS_INSTALLED = INSTALLED.is_dir()

ROOT = PACKAGE.parents[1]
PRIVATE = ROOT / ".oratorio"
BUILD = ROOT / "build"
OUT = ROOT / "out"
# An installation's libraries are found relative to the package, so the installation may be moved as a whole.
LIBRARIES = (
    (PACKAGE / (INSTALLED / "libraries").read_text().strip()).resolve() if IS_INSTALLED else BUILD / "lib"
)


def preload_library() -> Path:
    """Returns the library that goes into LD_PRELOAD; it may not be built yet."""
    return LIBRARIES / "liboratorio.so"
