# SPDX-License-Identifier: BSD-3-Clause
"""The terminal output and the page of `oratorio compare`."""

from __future__ import annotations

import time
from collections.abc import Sequence

from oratorio import __version__
from oratorio.compare.compare import (
    HOST,
    Arm,
    Rules,
    against,
    best_of,
    difference,
    host_of,
    moved_by,
    unequal_of,
)
from oratorio.compare.interval import RUNS_LEAST
from oratorio.compare.outputs import Outputs
from oratorio.quantity import counted
from oratorio.report.facts import PARTS
from oratorio.report.html_page import bar, legend, page, stack, table, text
from oratorio.report.page import MEANS, rate_text, seconds_text
from oratorio.text_table import aligned

HEADS = (
    "method", "runs", "wall clock", "95 % interval", "MiB/s", "in accesses", "as fast as the host", "done by",
)  # fmt: skip
NOTE = (
    "Wall clock: the median time from the launcher's start to its end. 95 % interval: of the typical wall "
    f"clock, for at least {RUNS_LEAST} runs. MiB/s: the bytes that the program's accesses moved, divided by "
    "the wall clock. In accesses: the recorded time of the slowest rank. The host's own MPI-IO is not "
    "recorded, so compare the wall clock times."
)


def _used(arm: Arm) -> str:
    if arm.problem:
        return arm.problem
    return "the MPI's own MPI-IO" if arm.name == HOST else ", ".join(arm.used)


def _interval_text(arm: Arm) -> str:
    return " to ".join(map(seconds_text, arm.interval)) if arm.interval else ""


def cells_of(arm: Arm, arms: Sequence[Arm]) -> list[str]:
    """Returns the cells of one arm's row."""
    if not arm.walls:
        return [arm.name, *[""] * (len(HEADS) - 2), _used(arm)]
    moved = moved_by(arm, arms)
    rate = rate_text(moved, arm.wall) if moved is not None else ""
    inside = seconds_text(arm.io_seconds) if arm.spent else "not recorded"
    return [
        arm.name, str(len(arm.walls)), seconds_text(arm.wall), _interval_text(arm), rate, inside,
        against(arm, host_of(arms)), _used(arm),
    ]  # fmt: skip


def differences_of(arms: Sequence[Arm]) -> list[str]:
    """Returns a sentence, with both intervals, for each arm that shows no difference from the host, and one
    that names the arms with too few runs for an interval, except those that a problem stopped. If the host
    itself has too few runs, returns only a sentence that says how many each arm needs."""
    host = host_of(arms)
    if len(host.walls) < RUNS_LEAST:
        return [f"Too few runs for confidence intervals: each method needs at least {RUNS_LEAST}."]
    few = [arm.name for arm in arms if not arm.problem and len(arm.walls) < RUNS_LEAST]
    too_few = f"Too few runs for confidence intervals of {', '.join(few)}: at least {RUNS_LEAST} are needed."
    return [
        f"No difference between {arm.name} ({_interval_text(arm)}) and the host ({_interval_text(host)}) "
        f"in {counted(len(arm.walls), 'run')}."
        for arm in arms
        if difference(arm, host) == "none"
    ] + ([too_few] if few else [])


def files_of(arms: Sequence[Arm], outputs: Outputs) -> list[str]:
    """Returns sentences about the output files; none if no patterns were given."""
    if not outputs.reference:
        return []
    lines = [
        f"Output files with {arm.name} differ from the host's: "
        + ", ".join(f"{name} ({how})" for name, how in sorted(unequal_of(arm, outputs).items()))
        + "."
        for arm in arms
        if unequal_of(arm, outputs)
    ]
    steady = len(outputs.reference.keys() - outputs.unsteady)
    if steady and not lines:
        runs = "all counted runs" if any(arm.problem for arm in arms) else "all runs"
        lines.append(f"Equal byte for byte after {runs}: {counted(steady, 'output file')}.")
    if outputs.unsteady:
        lines.append(
            f"Not compared, because the host's own runs differ: {', '.join(sorted(outputs.unsteady))}."
        )
    return lines


def table_of(arms: Sequence[Arm], outputs: Outputs) -> str:
    """Returns the table as text for a terminal."""
    rows = [list(HEADS), *(cells_of(arm, arms) for arm in arms)]
    lines = aligned(rows, left=(0, len(HEADS) - 1))
    lines += differences_of(arms)
    best = best_of(arms)
    if best:
        lines.append(f"Least time in accesses: {best.name}, {seconds_text(best.io_seconds)}.")
    return "\n".join([*lines, *files_of(arms, outputs)])


def html_of(arms: Sequence[Arm], outputs: Outputs, command: str, rules: Rules, machine: str) -> str:
    """Returns the comparison as a page."""
    host, best = host_of(arms), best_of(arms)
    most = max((max(arm.walls) for arm in arms if arm.walls), default=0.0) or 1.0
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
    again = "once" if rules.repeat == 1 else f"at most {rules.repeat} times, in turns"
    told = "".join(f"<p>{text(line)}</p>" for line in (*differences_of(arms), *files_of(arms, outputs)))
    before = f" Before each run: <code>{text(rules.before)}</code>." if rules.before else ""
    hints = f" Hints: <code>{text(' '.join(rules.hints))}</code>." if rules.hints else ""
    return page(
        "Oratorio: methods compared",
        f'<h1>Oratorio: one program, method by method</h1><div class="code">{text(command)}</div>',
        f'<p class="soft">{made}, on {text(machine)}, Oratorio {__version__}; each {again}.{before}'
        f"{hints}</p>",
        f"<p>{text(NOTE)}</p>",
        table(HEADS, [cells_of(arm, arms) for arm in arms], words=(len(HEADS) - 1,),
              best=(arms.index(best),) if best else ()),
        told,
        "<h2>Wall clock</h2>", f'<div class="names">{"".join(walls)}</div>',
        "<h2>In accesses</h2><p>Times of the slowest rank, in the median run.</p>",
        legend([(part, MEANS[part]) for part in PARTS]), f'<div class="names">{"".join(inside)}</div>',
        "<footer>Made by oratorio compare. Later runs saw the files and the cache contents that "
        "earlier runs left.</footer>",
    )  # fmt: skip
