# SPDX-License-Identifier: BSD-3-Clause
"""Shows how far a long command is: a bar in a terminal, elsewhere a line from time to time."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from oratorio.quantity import left_text

QUIET_SECONDS = 20  # seconds between two lines

Tell = Callable[[float, str], None]  # share done, current step


@contextmanager
def shown(console: Console, title: str = "") -> Iterator[Tell]:
    """Yields a function to call with each step."""
    start = last = time.monotonic()

    def tell(share: float, what: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= QUIET_SECONDS:
            last = now
            line = f"{title + ': ' if title else ''}{share:.0%}, {what}{left_text(share, now - start)}"
            console.print(line, markup=False, soft_wrap=True)

    if not console.is_terminal:
        yield tell
        return
    columns = (TextColumn("{task.fields[title]}"), BarColumn(), TimeElapsedColumn())
    with Progress(
        *columns, TextColumn("{task.description}", markup=False), console=console, transient=True,
        refresh_per_second=2,
    ) as bar:  # fmt: skip
        task = bar.add_task("", total=1.0, title=title)

        def update(share: float, what: str) -> None:
            description = f"{what}{left_text(share, time.monotonic() - start)}"
            bar.update(task, completed=share, description=description)

        yield update
