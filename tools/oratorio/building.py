# SPDX-License-Identifier: BSD-3-Clause
"""One builds in a checkout at a time; who has to wait is told."""

import fcntl
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from oratorio.paths import PRIVATE


@contextmanager
def alone() -> Iterator[None]:
    """While it lasts nobody else builds here: tools/setup.sh takes the same lock."""
    PRIVATE.mkdir(exist_ok=True)
    with (PRIVATE / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("oratorio: waiting for another ./oratorio that builds here ...", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
