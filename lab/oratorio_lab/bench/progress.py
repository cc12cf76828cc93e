# SPDX-License-Identifier: BSD-3-Clause
"""The progress that a long benchmark shows on stderr while it runs."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

QUIET_SECONDS = 20  # seconds between two lines, if stderr is no terminal and there is no bar


def _left(done: int, total: int, seconds: float) -> str:
    """Estimates the remaining time from the average of the finished passes."""
    if done == 0:
        return ""
    rest = seconds / done * (total - done)
    return f"about {rest / 60:.0f} min left" if rest >= 90 else f"about {rest:.0f} s left"


class Lines:
    """Shows progress as a line of text every QUIET_SECONDS."""

    def __init__(self, console: Console, total: int) -> None:
        self._console = console
        self._total = total
        self._start = self._last = time.monotonic()

    def tell(self, done: int, what: str) -> None:
        now = time.monotonic()
        if now - self._last < QUIET_SECONDS:
            return
        self._last = now
        left = _left(done, self._total, now - self._start)
        line = f"{done}/{self._total} passes, {what}" + (f", {left}" if left else "")
        self._console.print(line, markup=False, soft_wrap=True)


class Bar:
    """Shows progress as a bar over all passes."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._total = total
        self._start = time.monotonic()
        self._task = progress.add_task("", total=total, left="")

    def tell(self, done: int, what: str) -> None:
        left = _left(done, self._total, time.monotonic() - self._start)
        self._progress.update(self._task, completed=done, description=what, left=left)


@contextmanager
def watching(console: Console, total: int) -> Iterator[Lines | Bar]:
    """Yields an object that suits the console; its tell() takes the number of finished passes and the
    current one."""
    if not console.is_terminal:
        yield Lines(console, total)
        return
    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
        TextColumn("passes"), TimeElapsedColumn(), TextColumn("{task.fields[left]}"),
    )  # fmt: skip
    with Progress(*columns, console=console, refresh_per_second=2) as progress:
        yield Bar(progress, total)
