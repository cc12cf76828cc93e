# SPDX-License-Identifier: BSD-3-Clause
"""The terminal output and the page of `oratorio compare`."""

from __future__ import annotations

import time
from collections.abc import Sequence

from oratorio import __version__
from oratorio.compare.compare import HOST, Arm, Rules, against, best_of
from oratorio.report.facts import PARTS
from oratorio.report.html_page import bar, legend, page, stack, table, text
from oratorio.report.page import MEANS, seconds_text

HEADS = ("method", "wall clock", "least to most", "in accesses", "as fast as the host", "done by")
NOTE = (
    "Wall clock: the median time from the launcher's start to its end. In accesses: the recorded "
    "time of the slowest rank. The host's own MPI-IO is not recorded: compare with it by the wall clock."
)


def _used(arm: Arm) -> str:
    if arm.problem:
        return arm.problem
    return "the MPI's own MPI-IO" if arm.name == HOST else ", ".join(arm.used)


def cells_of(arm: Arm, host: Arm) -> list[str]:
    """Returns the cells of one arm's row."""
    if not arm.walls:
        return [arm.name, "", "", "", "", _used(arm)]
    spread = " to ".join(seconds_text(seconds) for seconds in arm.spread) if len(arm.walls) > 1 else ""
    inside = seconds_text(arm.io_seconds) if arm.spent else "not recorded"
    return [arm.name, seconds_text(arm.wall), spread, inside, against(arm, host), _used(arm)]


def _host_of(arms: Sequence[Arm]) -> Arm:
    return next(arm for arm in arms if arm.name == HOST)


def table_of(arms: Sequence[Arm]) -> str:
    """Returns the table as text for a terminal."""
    rows = [list(HEADS), *(cells_of(arm, _host_of(arms)) for arm in arms)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if column in (0, len(HEADS) - 1) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths))  # noqa: B905  Python 3.9
        ]
        lines.append("  ".join(cells).rstrip())
    best = best_of(arms)
    if best:
        lines.append(f"Least time in accesses: {best.name}, {seconds_text(best.io_seconds)}.")
    return "\n".join(lines)


def html_of(arms: Sequence[Arm], command: str, rules: Rules, machine: str) -> str:
    """Returns the comparison as a page."""
    host, best = _host_of(arms), best_of(arms)
    most = max((arm.spread[1] for arm in arms if arm.walls), default=0.0) or 1.0
    walls = [
        bar(arm.name, [("host" if arm is host else "ours", 0.0, arm.wall / most, seconds_text(arm.wall))],
            seconds_text(arm.wall))
        for arm in arms if arm.walls
    ]  # fmt: skip
    recorded = [arm for arm in arms if arm.spent]
    whole = max((arm.typical.total for arm in recorded), default=0.0)
    inside = [
        stack(arm.name, [(part, getattr(arm.typical, part)) for part in PARTS], whole,
              seconds_text(arm.typical.total))
        for arm in recorded
    ]  # fmt: skip
    made = time.strftime("%Y-%m-%d %H:%M:%S")
    again = "once" if rules.repeat == 1 else f"{rules.repeat} times, in turns"
    before = f" Before each run: <code>{text(rules.before)}</code>." if rules.before else ""
    hints = f" Hints: <code>{text(' '.join(rules.hints))}</code>." if rules.hints else ""
    return page(
        "Oratorio: methods compared",
        f'<h1>Oratorio: one program, method by method</h1><div class="code">{text(command)}</div>',
        f'<p class="soft">{made}, on {text(machine)}, Oratorio {__version__}; each {again}.{before}'
        f"{hints}</p>",
        f"<p>{text(NOTE)}</p>",
        table(HEADS, [cells_of(arm, host) for arm in arms], words=(len(HEADS) - 1,),
              best=arms.index(best) if best else None),
        "<h2>Wall clock</h2>", f'<div class="names">{"".join(walls)}</div>',
        "<h2>In accesses</h2><p>Times of the slowest rank, in the median run.</p>",
        legend([(part, MEANS[part]) for part in PARTS]), f'<div class="names">{"".join(inside)}</div>',
        "<footer>Made by oratorio compare. Later runs saw the files and the cache contents that "
        "earlier runs left.</footer>",
    )  # fmt: skip
