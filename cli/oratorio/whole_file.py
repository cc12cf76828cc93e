# SPDX-License-Identifier: BSD-3-Clause
"""Writes files whole or not at all, because other processes may read them at the same time."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def write(path: Path, text: str) -> None:
    """Replaces a file atomically. Raises OSError; the file is then unchanged, and no temporary file is left.
    Characters that UTF-8 can't encode are written as escapes; Python makes such characters from bytes of a
    command line that aren't UTF-8."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_text(text, encoding="utf-8", errors="backslashreplace")
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
