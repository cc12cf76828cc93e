# SPDX-License-Identifier: BSD-3-Clause
"""Writes a line from time to time that says how far a long command is."""

from __future__ import annotations

import time
from collections.abc import Callable

from oratorio.quantity import left_text

QUIET_SECONDS = 20  # seconds between two lines

Tell = Callable[[float, str], None]  # share done, current step


def lines(write: Callable[[str], None]) -> Tell:
    """Returns a function to call with each step. It writes at most one line in QUIET_SECONDS."""
    start = last = time.monotonic()

    def tell(share: float, what: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= QUIET_SECONDS:
            last = now
            write(f"{share:.0%}, {what}{left_text(share, now - start)}")

    return tell
