# SPDX-License-Identifier: BSD-3-Clause
"""Reports what `oratorio bench regret` measured: a sentence, a picture, tables, an HTML page and JSON."""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.table import Table

from oratorio import __version__
from oratorio.quantity import counted
from oratorio.report import html_page
from oratorio.report.html_page import text
from oratorio_lab.bench.regret import ACCESSES_BEFORE, CONTENDERS, GOAL, RIGHT, Cell, Outcome, Speed

GOAL_TEXT = f"{GOAL * 100:.0f} %"

# Dimensions of the picture, in units of its viewBox, which the browser scales to the page.
NAMES_WIDE, PLOT_WIDE, ROW_HIGH, AXIS_HIGH = 110, 590, 30, 34
MOST = 1.2  # the right end of the axis; larger values are drawn there
TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, GOAL, 1.0)
# State of `auto` -> the y coordinate of its dot within a row, and the dot's style.
DOTS = {
    "cold": (9, "fill:none;stroke:var(--write);stroke-width:1.5"),
    "learned": (21, "fill:var(--ours);fill-opacity:.75"),
}
LEGEND = (
    ("write", "auto by the cost model alone (cold; upper dots, hollow)"),
    ("ours", f"auto after {ACCESSES_BEFORE} accesses (lower dots, filled)"),
)
HOW = (
    "Oratorio's methods{exhaustive} and the host's MPI-IO with all sets of hints were measured first. Then "
    f"the {CONTENDERS} fastest methods and the {CONTENDERS} fastest sets of hints in each direction were "
    "measured again, and the best were chosen. Further jobs measured these in turns with auto, with right "
    "and with wrong constants of the cost model, and only their times count: medians of {repeat} passes. "
    "Cold is auto with oratorio_learn=off, learned is auto with oratorio_learn=job, which made "
    f"{ACCESSES_BEFORE} accesses before. All jobs start with nothing learned."
)
WRONG = (
    "Share of the best method's speed: cold, learned. All constants times ten, or divided by ten, change few "
    "decisions, because only ratios of constants matter. The mixed ones are too large or too small at "
    "random, with a fixed seed."
)


@dataclass(frozen=True)
class About:
    """Where and how the cells were measured."""

    command: str
    mpi: str
    machines: Sequence[dict]  # oratorio_lab.bench.report.machine of each folder
    exhaustive: bool
    repeat: int


def in_order(cells: Sequence[Cell]) -> list[Cell]:
    """Returns the cells in which `auto` lost, then the others; both sorted from the lowest share to the
    highest."""

    def rank(cell: Cell) -> tuple[bool, float]:
        speed = cell.right.learned
        known = [share for share in (speed.of_best, speed.of_host) if share is not None]
        return not speed.is_loss, min(known, default=0.0)

    return sorted(cells, key=rank)


def _reach(speeds: Sequence[Speed]) -> int:
    return sum(speed.of_best is not None and speed.of_best >= GOAL for speed in speeds)


def sentence(cells: Sequence[Cell]) -> str:
    """Returns the result in one sentence."""
    if not cells:
        return "Nothing was measured."
    cold, learned = (_reach([getattr(cell.right, name) for cell in cells]) for name in ("cold", "learned"))
    return (
        f"auto reached at least {GOAL_TEXT} of the speed of the best method in {cold} of "
        f"{counted(len(cells), 'cell')} by the cost model alone, and in {learned} after {ACCESSES_BEFORE} "
        "accesses."
    )


def details(cells: Sequence[Cell]) -> str:
    """Returns sentences about `auto` after it has learned: compared with the host, at worst, and with wrong
    constants."""
    learned = [cell.right.learned for cell in cells]
    as_host = sum(speed.of_host is not None and speed.of_host >= GOAL for speed in learned)
    told = [
        f"Then it also reached {GOAL_TEXT} of the speed of the host's best hints in "
        f"{counted(as_host, 'cell')}."
    ]
    known = [cell for cell in cells if cell.right.learned.of_best is not None]
    if known:
        slowest = min(known, key=lambda cell: cell.right.learned.of_best)
        told.append(f"The lowest share is {slowest.right.learned.of_best * 100:.0f} %: {slowest.title}.")
    again = [cell.again for cell in cells if cell.again is not None]
    if again:
        reached = counted(sum(share >= GOAL for share in again), "cell")
        told.append(
            f"The fastest method itself, measured a second time in the same job, reached {GOAL_TEXT} in "
            f"{reached}, and at least {min(again) * 100:.0f} %."
        )
    wrong = [name for name in cells[0].outcomes if name != RIGHT] if cells else []
    if wrong:
        kept = sum(_reach([cell.outcomes[name].learned for name in wrong]) == len(wrong) for cell in cells)
        told.append(
            f"With the constants of the cost model wrong by a factor of ten ({', '.join(wrong)}), it reached "
            f"{GOAL_TEXT} of the speed of the best method each time in {counted(kept, 'cell')}."
        )
    return " ".join(told)


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.2f}"


def _time(cell: Cell, name: str) -> str:
    return f"{cell.milliseconds[name]:.2f}" if name in cell.milliseconds else "-"


def _both(outcome: Outcome) -> str:
    return f"{_share(outcome.cold.of_best)}, {_share(outcome.learned.of_best)}"


HEADS = (
    "workload", "ranks", "file system", "direction", "cold / best method", "learned / best method",
    "cold / best host", "learned / best host", "best method", "ms", "best host", "ms", "noise", "again",
)  # fmt: skip


def row_of(cell: Cell) -> list[str]:
    """Returns the cells of a row below HEADS."""
    cold, learned = cell.right.cold, cell.right.learned
    shares = (cold.of_best, learned.of_best, cold.of_host, learned.of_host)
    return [
        cell.workload, cell.layout, cell.file_system, cell.direction, *map(_share, shares),
        cell.best, _time(cell, "best"), cell.best_host, _time(cell, "best_host"),
        "-" if cell.noise is None else f"{cell.noise * 100:.0f} %", _share(cell.again),
    ]  # fmt: skip


def wrong_rows(cells: Sequence[Cell]) -> tuple[list[str], list[list[str]]]:
    """Returns the heads and the rows of the table of wrong constants."""
    names = list(cells[0].outcomes) if cells else []
    rows = [
        [cell.workload, cell.layout, cell.file_system, cell.direction,
         *(_both(cell.outcomes[name]) for name in names)]
        for cell in cells
    ]  # fmt: skip
    return [*HEADS[:4], *names], rows


def _x(share: float) -> float:
    return NAMES_WIDE + PLOT_WIDE * min(share, MOST) / MOST


def _dots(cells: Sequence[Cell], top: int) -> str:
    drawn = ""
    for cell in cells:
        for name, (below, style) in DOTS.items():
            share = getattr(cell.right, name).of_best
            if share is not None:
                drawn += (
                    f'<circle cx="{_x(share):.1f}" cy="{top + below}" r="4" style="{style}">'
                    f"<title>{text(cell.title)}: {share:.2f}, {name}</title></circle>"
                )
    return drawn


def picture(cells: Sequence[Cell]) -> str:
    """Draws a row for each workload, with two dots for each cell, as SVG."""
    names = list(dict.fromkeys(cell.workload for cell in cells))
    bottom = ROW_HIGH * len(names)
    parts = []
    for tick in TICKS:
        x = _x(tick)
        is_goal = tick in (GOAL, 1.0)
        style = "stroke:var(--text)" if is_goal else "stroke:var(--line)"
        dashes = ' stroke-dasharray="4 3"' if tick == GOAL else ""
        # The labels of 0.95 and 1 would overlap in one line.
        low = 29 if tick == GOAL else 15
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{bottom}" style="{style}"{dashes}/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + low}" text-anchor="middle">{tick:g}</text>')
    for index, name in enumerate(names):
        top = ROW_HIGH * index
        parts.append(f'<text x="{NAMES_WIDE - 8}" y="{top + 19}" text-anchor="end">{text(name)}</text>')
        parts.append(_dots([cell for cell in cells if cell.workload == name], top))
    return (
        f'<svg role="img" aria-label="Speed of auto as a share of the best method\'s, by workload" '
        f'viewBox="0 0 {NAMES_WIDE + PLOT_WIDE} {bottom + AXIS_HIGH}" '
        f'style="width:100%;max-width:60rem;fill:var(--text);font-size:12px">{"".join(parts)}</svg>'
    )


def _where(about: About) -> str:
    one = about.machines[0]
    kinds = ", ".join(dict.fromkeys(machine["file_system"] for machine in about.machines))
    made = time.strftime("%Y-%m-%d %H:%M:%S")
    return (
        f"{made}, {one['processor']}, {one['cores']} cores, {about.mpi}, {kinds}, Oratorio {__version__}. "
        "Layouts of several nodes are emulated on this machine."
    )


def html_of(cells: Sequence[Cell], about: About) -> str:
    """Returns the page."""
    shown = in_order(cells)
    rows = [row_of(cell) for cell in shown]
    lost = [index for index, cell in enumerate(shown) if cell.right.learned.is_loss]
    heads, wrong = wrong_rows(shown)
    exhaustive = " with all numbers of aggregators, slots and file domains that the command tries"
    how = HOW.format(exhaustive=exhaustive if about.exhaustive else "", repeat=about.repeat)
    return html_page.page(
        "Oratorio: how good is the choice of auto?",
        "<h1>How good is the choice of <code>auto</code>?</h1>",
        f"<p><b>{text(sentence(cells))}</b></p><p>{text(details(cells))}</p>",
        f'<p class="soft">{text(_where(about))}</p><div class="code">{text(about.command)}</div>',
        "<h2>Speed of auto as a share of the best method's</h2>",
        html_page.legend(LEGEND),
        picture(cells),
        "<p>Each dot is a cell: a workload on some ranks, on a file system, written or read. At 1, auto is "
        f"as fast as the best method; left of {GOAL:g}, it has lost. A dot's tooltip names the cell.</p>",
        "<h2>All cells</h2>",
        "<p>Speeds of auto, divided by those of the best method and of the host's best hints. Cells in bold, "
        f"which come first, are losses: after {ACCESSES_BEFORE} accesses, auto has less than {GOAL:g} of "
        "the speed of one of them. Half of the passes of the noisiest time in the row differ from their "
        "median by more than the noise. The last column is the share of the table's fastest method itself, "
        "measured a second time in the same job: no choice can be expected to reach more.</p>",
        html_page.table(HEADS, rows, left=4, words=(8, 10), best=lost),
        "<h2>Wrong constants</h2>",
        f"<p>{text(WRONG)}</p>",
        html_page.table(heads, wrong, left=4),
        "<h2>How it was measured</h2>",
        f"<p>{text(how)}</p>",
        "<footer>Made by oratorio bench regret.</footer>",
    )


def terminal_table(cells: Sequence[Cell]) -> Table:
    """Returns the table of all cells, for the terminal."""
    table = Table(
        title="Speed of auto / speed of the best method and of the best hints of the host",
        title_justify="left",
    )
    for index, head in enumerate(HEADS):
        is_text = index < 4 or head in ("best method", "best host")
        table.add_column(head, justify="left" if is_text else "right")
    for cell in in_order(cells):
        table.add_row(*row_of(cell), style="bold" if cell.right.learned.is_loss else None)
    return table


def write_page(file: Path, cells: Sequence[Cell], about: About) -> None:
    """Writes the page. Raises OratorioError if that fails."""
    file.parent.mkdir(parents=True, exist_ok=True)
    html_page.write(html_of(cells, about), file)


def write_json(file: Path, cells: Sequence[Cell], about: About) -> None:
    """Writes all cells, with the table of all arms of each."""
    record = asdict(about) | {
        "summary": f"{sentence(cells)} {details(cells)}",
        "cells": [asdict(cell) for cell in cells],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(record, indent=1) + "\n")
