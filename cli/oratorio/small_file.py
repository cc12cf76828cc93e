# SPDX-License-Identifier: BSD-3-Clause
"""Reads small files that the library also reads, by the library's rules (src/base/small_file.cpp)."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

BYTES_MAX = 1 << 20


def _opened(path: str, flags: int) -> int:
    """Opens a file without waiting for the writer of a pipe."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def read(path: Path) -> str:
    """Returns the text of a file, with its line ends as they are. Raises OSError if it can't be read, is not
    a regular file or is longer than BYTES_MAX."""
    with open(path, "rb", opener=_opened) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        data = file.read(BYTES_MAX + 1)
    if len(data) > BYTES_MAX:
        raise OSError(errno.EFBIG, "it is longer than 1 MiB", str(path))
    return data.decode(errors="replace")
