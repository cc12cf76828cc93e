# SPDX-License-Identifier: BSD-3-Clause
"""Lets only one process at a time build in a checkout. Another process prints a line while it waits."""

import fcntl
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from oratorio.paths import PRIVATE


@contextmanager
def alone() -> Iterator[None]:
    """Holds the build lock of this checkout; dev/setup.sh takes the same lock."""
    PRIVATE.mkdir(exist_ok=True)
    with (PRIVATE / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(
                "oratorio: waiting for another ./oratorio that is building in this checkout ...",
                file=sys.stderr,
            )
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
