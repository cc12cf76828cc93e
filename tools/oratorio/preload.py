# SPDX-License-Identifier: BSD-3-Clause
"""Paths for LD_PRELOAD, which knows no quoting: spaces and colons part its words.

Where the library's own path has such a character it is reached through a link without one.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

# The dynamic linker's: " :$". A comma ends a value in srun's --export; the rest is for batch scripts.
BREAKING = frozenset(" \t\n:,;$")


class PreloadError(Exception):
    """The library can't be preloaded from where it is; the text says what to do."""


def _is_whole(path: Path) -> bool:
    return not BREAKING & set(str(path))


def _places() -> Iterator[Path]:
    """Folders of the user's own; those first that other nodes are likely to see."""
    cache = os.environ.get("XDG_CACHE_HOME")
    yield Path(cache) if cache else Path.home() / ".cache"
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        yield Path(runtime)
    yield Path(tempfile.gettempdir()) / f"oratorio-{os.getuid()}"


def _is_private(folder: Path) -> bool:
    """Nobody else may put another library there."""
    facts = folder.lstat()
    return folder.is_dir() and facts.st_uid == os.getuid() and not facts.st_mode & 0o022


def _link(folder: Path, to: Path) -> Path:
    """A link in `folder` that others may be making at the same time."""
    link = folder / f"lib-{hashlib.sha256(str(to).encode()).hexdigest()[:12]}"
    if not (link.is_symlink() and link.readlink() == to):
        fresh = link.with_name(f"{link.name}.{os.getpid()}")
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(to)
        fresh.replace(link)
    return link


def preloadable(library: Path) -> Path:
    """`library` by a path that LD_PRELOAD can hold. Raises PreloadError."""
    if _is_whole(library):
        return library
    for place in _places():
        folder = place / "oratorio"
        if not _is_whole(folder):
            continue
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _is_private(folder):
                return _link(folder, library.parent) / library.name
        except OSError:
            continue
    raise PreloadError(
        f"{library} can't be preloaded: LD_PRELOAD breaks paths at spaces, colons and the like, and no "
        "folder for a link was found; put Oratorio elsewhere or set XDG_CACHE_HOME to a folder without them"
    )
