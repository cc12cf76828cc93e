# SPDX-License-Identifier: BSD-3-Clause
"""Compares the bytes of the files that a program writes, with and without the library."""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

BLOCK = 1 << 20
State = dict[str, tuple[int, int, int]]  # name -> inode, size, time of the last change


def _digest(name: str) -> str:
    digest = hashlib.sha256()
    with Path(name).open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


@dataclass
class Outputs:
    """The files that match some patterns, as the first run of the host left them.

    A file that a run does not change counts as not written, because its bytes are those of an earlier
    run.
    """

    patterns: Sequence[str] = ()
    reference: dict[str, str] | None = None  # name -> digest; None before the first run of the host
    unsteady: set[str] = field(default_factory=set)  # files in which runs of the host itself differ

    def state(self) -> State:
        """Returns the state of all files before a run."""
        found = {}
        for pattern in self.patterns:
            for name in glob.glob(pattern, recursive=True):  # noqa: PTH207  it may be absolute
                with suppress(OSError):
                    if Path(name).is_file():
                        stat = Path(name).stat()
                        found[name] = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
        return found

    def written(self, before: State) -> dict[str, str]:
        """Returns name -> digest of the files written since `before`. Raises OSError."""
        return {name: _digest(name) for name, state in self.state().items() if before.get(name) != state}

    def differing(self, before: State, is_host: bool) -> dict[str, str]:
        """Returns name -> how a file differs from the reference, after a run that began in the state
        `before`. The host's first run becomes the reference, and files in which its later runs differ become
        unsteady. Raises OSError."""
        found = self.written(before)
        if self.reference is None:
            self.reference = found
        names = sorted(self.reference.keys() | found.keys())
        different = {
            name: "not written" if name not in found else
            "only with Oratorio" if name not in self.reference else "other bytes"
            for name in names if found.get(name) != self.reference.get(name)
        }  # fmt: skip
        if is_host:
            self.unsteady |= different.keys()
            return {}
        return different
