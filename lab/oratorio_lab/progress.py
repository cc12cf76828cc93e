# SPDX-License-Identifier: BSD-3-Clause
"""Shows the progress of a long command: a bar in a terminal, and otherwise a line from time to time."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from oratorio.progress import Tell, lines
from oratorio.quantity import left_text

__all__ = ["Tell", "shown"]


@contextmanager
def shown(console: Console, title: str = "") -> Iterator[Tell]:
    """Yields a function to call at each step, with the completed share (0 to 1) and a description."""
    if not console.is_terminal:
        head = f"{title}: " if title else ""
        yield lines(lambda line: console.print(head + line, markup=False, soft_wrap=True))
        return
    start = time.monotonic()
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
