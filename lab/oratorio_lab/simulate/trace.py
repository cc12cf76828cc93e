# SPDX-License-Identifier: BSD-3-Clause
"""Turns the accesses of a trace into workloads of `oratorio simulate`, which predicts how long they take with
each method on a machine, and compares that with the recorded times."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from oratorio import markdown
from oratorio.quantity import counted
from oratorio.trace import trace
from oratorio_lab.simulate.machine import SimulateError
from oratorio_lab.simulate.report import Answer
from oratorio_lab.simulate.schedule import DIRECTIONS
from oratorio_lab.trace import accesses as trace_accesses
from oratorio_lab.trace.accesses import Collective


@dataclass(frozen=True)
class Recorded:
    """A workload: collective accesses of a file that differ only in where they begin."""

    name: str
    file: trace.File
    alike: tuple[Collective, ...]

    def write(self, folder: Path) -> str:
        """Writes the layouts of the first of these accesses into a new file in `folder`, and returns its path
        as an argument of oratorio_schedules. Raises TraceError if the trace is malformed."""
        out = folder / f"access-{self.alike[0].number}.numbers"
        trace_accesses.write(out, self.file, self.alike[:1])
        return str(out)


@dataclass(frozen=True)
class Job:
    """The accesses to one file of a trace that are simulated."""

    file: trace.File
    direction: str
    accesses: tuple[Recorded, ...]
    told: str  # what is not simulated; empty if everything is

    @property
    def nodes(self) -> int | None:
        """The number of nodes of the job; None if the job had one node, or if the number of nodes does not
        divide the number of ranks."""
        ranks, nodes = self.file.ranks, self.file.nodes
        return nodes if nodes > 1 and ranks % nodes == 0 else None

    @property
    def most(self) -> int:
        """The index of the item of `accesses` with the most data."""
        sizes = [sum(each.bytes for each in one.alike) for one in self.accesses]
        return sizes.index(max(sizes))


def job_of(
    path: Path, name: str | None, ranks: Sequence[int] | None = None, direction: str = DIRECTIONS[0]
) -> Job:
    """Returns the collective writes or reads (`direction`) of one file of a trace. Of the files with `name`
    in the path, chooses the file for which collective accesses moved the most data in that direction.

    Raises SimulateError or TraceError, for instance if one of `ranks` is not the trace's number of ranks.
    """
    file, found = trace_accesses.of_file(path, name, ranks or (), "simulated", direction)
    kinds: dict[tuple, list[Collective]] = {}
    for one in found:
        if one.direction == direction:
            kinds.setdefault(one.likeness, []).append(one)
    if not kinds:
        raise SimulateError(f"{file.path}: there is no collective {direction}")
    parts = [trace_accesses.left_out(file, found)]
    other = DIRECTIONS[1 - DIRECTIONS.index(direction)]
    if others := sum(one.direction == other for one in found):
        parts.append(f"not simulated: {others} collective {other}s (--direction {other})")
    short = Path(file.path).name
    accesses = []
    for alike in kinds.values():
        title = f"{short}, collective access {alike[0].number}"
        title += f" and {len(alike) - 1} like it" if len(alike) > 1 else ""
        accesses.append(Recorded(title, file, tuple(alike)))
    return Job(file, direction, tuple(accesses), "; ".join(part for part in parts if part))


HEADS = ("method", "seconds", "times", "error %")
REPLAYED = ("by SimGrid", "error %")


def _title(job: Job) -> str:
    count = sum(len(one.alike) for one in job.accesses)
    return f"{Path(job.file.path).name}: {count} collective {job.direction}{'s' * (count > 1)} together"


def _sums(job: Job, answers: Sequence[Answer], by_simgrid: bool = False) -> dict[str, float]:
    """Returns method -> predicted seconds of all accesses together; predicted by SimGrid if `by_simgrid`."""
    sums: dict[str, float] = {}
    for one, answer in zip(job.accesses, answers, strict=True):
        for predicted in answer.replayed if by_simgrid else answer.predictions:
            sums[predicted.arm] = sums.get(predicted.arm, 0.0) + len(one.alike) * predicted.seconds
    return sums


def heads(answers: Sequence[Answer]) -> tuple[str, ...]:
    return HEADS + (REPLAYED if answers[0].replayed else ())


def _percent_off(seconds: float, took: float) -> str:
    return f"{100 * (seconds / took - 1):+.0f}"


def sum_rows(job: Job, answers: Sequence[Answer]) -> list[list[str]]:
    """Returns rows with the total time of all accesses: with each method, as recorded, and, if the trace has
    it, as the cost model estimated it when the job ran.

    `answers` must be in the order of `job.accesses`. A prediction has an error only if the job used its
    method for all accesses.
    """
    every = [each for one in job.accesses for each in one.alike]
    methods = list(dict.fromkeys(each.method for each in every))
    took = sum(each.seconds for each in every)

    def error(arm: str, seconds: float) -> str:
        return _percent_off(seconds, took) if [arm.partition(":")[0]] == methods else ""

    sums, replayed = _sums(job, answers), _sums(job, answers, by_simgrid=True)
    first = next(iter(sums.values()))
    rows = []
    for arm, seconds in sums.items():
        rows.append([arm, f"{seconds:.3g}", f"{first / seconds:.2f}", error(arm, seconds)])
        if replayed:
            rows[-1] += [f"{replayed[arm]:.3g}", error(arm, replayed[arm])]
    ranks, nodes = job.file.ranks, job.file.nodes
    where = f"{counted(ranks, 'rank')} on {counted(nodes, 'node')}"
    rows.append([f"recorded: {', '.join(methods)}, {where}", f"{took:.3g}", ""])
    if estimated := sum(each.estimated for each in every):
        off = _percent_off(estimated, took)
        rows.append(["as estimated by its cost model", f"{estimated:.3g}", "", off])
    width = len(heads(answers))
    return [row + [""] * (width - len(row)) for row in rows]


def show(console: Console, job: Job, answers: Sequence[Answer]) -> None:
    """Prints the total time of the accesses, predicted for each method and as recorded, and a note on what
    was not simulated."""
    table = Table(title=_title(job), title_justify="left")
    for head in heads(answers):
        table.add_column(head, justify="left" if head == "method" else "right")
    for row in sum_rows(job, answers):
        table.add_row(*row)
    console.print(table)
    if job.told:
        console.print(job.told, markup=False)


def page(job: Job, answers: Sequence[Answer]) -> str:
    """Returns what show() prints, as Markdown."""
    sums = markdown.table(heads(answers), sum_rows(job, answers), left=1)
    return f"**{_title(job)}**\n\n{sums}\n{job.told}\n"
