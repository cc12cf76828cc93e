# SPDX-License-Identifier: BSD-3-Clause
"""Finds folders that have room for what a command writes."""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

ROOM_BYTES = 1 << 20  # a folder with less free space counts as full
PROBE = bytes(64 << 10)
FULL = (errno.ENOSPC, errno.EDQUOT)


def is_full(folder: Path) -> bool:
    """Returns whether an existing folder has no room: its file system is full, or the user's quota is used
    up. Raises OSError if the folder can't be written to for another reason."""
    if shutil.disk_usage(folder).free < ROOM_BYTES:
        return True
    try:
        # A quota shows only when something is written.
        with tempfile.TemporaryFile(dir=folder, buffering=0) as probe:
            return probe.write(PROBE) < len(PROBE)
    except OSError as error:
        if error.errno in FULL:
            return True
        raise


def first_with_room(folders: Iterable[Path]) -> Path | None:
    """Returns the first folder that can be written to and has room."""
    for folder in folders:
        try:
            if not is_full(folder):
                return folder
        except OSError:
            continue
    return None


def other_folders() -> list[Path]:
    """Returns the folders to try in place of a full one: the working directory, and that of temporary files
    if there is one."""
    folders = [Path.cwd()]
    with suppress(FileNotFoundError):  # gettempdir() accepts only a folder with room for a tiny file
        folders.append(Path(tempfile.gettempdir()))
    return folders


def another_with_room() -> Path | None:
    """Returns the first of other_folders() that has room; None if none has."""
    return first_with_room(other_folders())
