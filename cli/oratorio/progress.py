# SPDX-License-Identifier: BSD-3-Clause
"""Reports the progress of a long command, in a line from time to time."""

from __future__ import annotations

import time
from collections.abc import Callable

from oratorio.quantity import left_text

QUIET_SECONDS = 20  # seconds between two lines

Tell = Callable[[float, str], None]  # called with the share done, 0 to 1, and the current step


def lines(write: Callable[[str], None]) -> Tell:
    """Returns a function to call at each step, which passes `write` at most one line in QUIET_SECONDS."""
    start = last = time.monotonic()

    def tell(share: float, what: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= QUIET_SECONDS:
            last = now
            write(f"{share:.0%}, {what}{left_text(share, now - start)}")

    return tell
