# SPDX-License-Identifier: BSD-3-Clause
"""Makes paths for LD_PRELOAD, in which spaces and colons separate paths and cannot be quoted.

If the library's own path has such a character, the library is reached through a link without one.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from oratorio.errors import OratorioError

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
# Characters that a path must not have. The dynamic linker splits or expands LD_PRELOAD at space, colon and $,
# a comma ends a value in srun's --export, and batch scripts break at the others.
BREAKING = frozenset(" \t\n:,;$")


class PreloadError(OratorioError):
    """Raised if the library cannot be preloaded from its path; the message says what to do."""


def _is_whole(path: Path) -> bool:
    return not BREAKING & set(str(path))


def _places() -> Iterator[Path]:
    """Yields folders of the user, starting with those that other nodes are likely to see."""
    cache = os.environ.get("XDG_CACHE_HOME")
    yield Path(cache) if cache else Path.home() / ".cache"
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        yield Path(runtime)
    yield Path(tempfile.gettempdir()) / f"oratorio-{os.getuid()}"


def _why_unsafe(folder: Path) -> str:
    """Returns how another user could put another library at `folder`, a resolved path; "" if nobody can.

    A user who may rename a directory of the path may replace everything below it. In a directory with the
    sticky bit others may create files, but neither rename nor remove files of other users.
    """
    for directory in (folder, *folder.parents):
        facts, above = directory.lstat(), directory.parent.lstat()
        trusted = {0, os.getuid()}
        if not above.st_mode & OTHERS_WRITE:
            # In a user namespace root may have another number, that of the owner of /.
            trusted.add(Path("/").stat().st_uid)
        if facts.st_uid not in trusted:
            return f"{directory} belongs to user {facts.st_uid}"
        if facts.st_mode & OTHERS_WRITE and (directory == folder or not facts.st_mode & stat.S_ISVTX):
            return f"others may write to {directory}"
    return ""


def _make(folder: Path) -> Path:
    """Makes a folder and its missing parents, for the user alone; returns its resolved path."""
    if not folder.parent.exists():
        _make(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder.resolve(strict=True)


def _link(folder: Path, to: Path) -> Path:
    """Makes a link to `to` in `folder`. Another process may make the same link at the same time, so a
    finished link is moved into place."""
    link = folder / f"lib-{hashlib.sha256(str(to).encode()).hexdigest()[:12]}"
    if not (link.is_symlink() and link.readlink() == to):
        fresh = link.with_name(f"{link.name}.{os.getpid()}")
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(to)
        fresh.replace(link)
    return link


def preloadable(library: Path) -> Path:
    """Returns a path of `library` that LD_PRELOAD can hold. Raises PreloadError."""
    if _is_whole(library):
        return library
    refused = []
    for place in _places():
        folder = place / "oratorio"
        if not _is_whole(folder):
            continue
        try:
            folder = _make(folder)
            unsafe = _why_unsafe(folder)
            if not unsafe and _is_whole(folder):
                return _link(folder, library.parent) / library.name
        except OSError as error:
            unsafe = f"{folder}: {error.strerror}"
        if unsafe:
            refused.append(unsafe)
    why = f" ({'; '.join(refused)})" if refused else ""
    raise PreloadError(
        f"{library} can't be preloaded: LD_PRELOAD splits paths at spaces, colons and some other characters, "
        f"and no folder that belongs to the user was found for a link{why}; move Oratorio to "
        "another path, or set XDG_CACHE_HOME to a folder that you own"
    )
