# SPDX-License-Identifier: BSD-3-Clause
"""The answers of `oratorio simulate`, as tables, as a page and as a picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from oratorio.markdown import table
from oratorio.quantity import counted
from oratorio_lab.bench.plot import STYLE, pyplot
from oratorio_lab.simulate.machine import Machine
from oratorio_lab.simulate.model import Prediction, Sensitivity, winner
from oratorio_lab.simulate.schedule import Schedule
from oratorio_lab.simulate.search import Step
from oratorio_lab.simulate.smpi import Written

PHASES = ("metadata", "gather", "exchange", "storage")
COLORS = ("#9AA2AB", "#E69F00", "#0072B2", "#009E73")
HEADS = ("method", *(f"{phase} s" for phase in PHASES), "all s", "GiB/s", "times", "messages",
         "between nodes", "queue", "exchange waits for")  # fmt: skip
REPLAYED = ("method", "exchange s", "by SimGrid", "storage s", "by SimGrid", "all s, by SimGrid", "times")
WRITTEN = ("method", "gather s", "SMPI", "of it", "exchange s", "SMPI", "of it", "both s", "SMPI", "of it")
AGAINST_LIBRARY = "SimGrid S4U compared with the library itself on SimGrid's MPI, each phase alone and both"
CHANGES = ("if", "fastest", "s", "GiB/s", "times")


@dataclass(frozen=True)
class Answer:
    """The answer for a workload on a machine. The other methods are compared with the first one."""

    machine: Machine
    workload: str
    schedules: Sequence[Schedule]
    predictions: Sequence[Prediction]
    sensitivities: Sequence[Sensitivity]
    replayed: Sequence[Prediction] = ()  # SimGrid's, with one slot; empty if not requested
    written: Sequence[Written] = ()  # times of the library on SMPI; empty if not requested

    @property
    def title(self) -> str:
        one = self.schedules[0]
        size = f"{one.bytes / 2**30:.1f} GiB" if one.bytes >= 2**30 else f"{one.bytes / 2**20:.1f} MiB"
        size += (
            f" in {one.pieces / 1e6:.0f} million pieces"
            if one.pieces >= 1e7
            else f" in {one.pieces:,} pieces"
        )
        verb = "read" if one.reads else "written"
        return (
            f"{self.workload}: {size} {verb}, {counted(one.ranks, 'rank')} on {counted(one.nodes, 'node')} "
            f"of {self.machine.name}"
        )

    @property
    def facts(self) -> str:
        """Sentences about the plans and constants behind the numbers, and the fastest method."""
        assumed = len(self.machine.assumed)
        one = self.schedules[0]
        walked = f"{len(one.sampled)} of {one.rounds} rounds"
        if one.stands_for:
            walked += f", {len(one.stands_for)} of {one.nodes} nodes"
        return (
            f"{counted(len(one.aggregator_nodes), 'aggregator')}; {walked} walked. "
            f"{assumed} of {len(self.machine.sources)} constants of the machine are assumed. "
            f"Fastest: {winner(self.predictions).arm}."
        )

    def rows(self) -> list[list[str]]:
        """Returns a row for each method."""
        first = self.predictions[0].seconds
        return [
            [
                one.arm, *(_seconds(getattr(one, phase)) for phase in PHASES), _seconds(one.seconds),
                f"{one.rate(schedule.bytes):.2f}", f"{first / one.seconds:.1f}", f"{one.messages:,.0f}",
                f"{one.far_messages:,.0f}", f"{one.depth:,.0f}", one.bound,
            ]
            for one, schedule in zip(self.predictions, self.schedules, strict=True)
        ]  # fmt: skip

    def beside(self) -> list[list[str]]:
        """Returns rows that compare the closed form with SimGrid's replay."""
        first = self.replayed[0].seconds
        return [
            [
                closed.arm, _seconds(closed.exchange), _seconds(other.exchange), _seconds(closed.storage),
                _seconds(other.storage), _seconds(other.seconds), f"{first / other.seconds:.1f}",
            ]
            for closed, other in zip(self.predictions, self.replayed, strict=True)
        ]  # fmt: skip

    def against_library(self) -> list[list[str]]:
        """Returns rows with the times of SimGrid's replay and of the library on SMPI, and their ratio."""

        def told(model: float, library: float) -> list[str]:
            return [_seconds(model), _seconds(library), f"{model / library:.2f}"] if library else [""] * 3

        return [
            [
                model.arm, *told(model.gather, library.gather), *told(model.exchange, library.exchange),
                *told(model.gather + model.exchange, library.both),
            ]
            for model, library in zip(self.replayed, self.written, strict=True)
        ]  # fmt: skip

    def changed(self) -> list[list[str]]:
        """Returns a row for each changed constant."""
        size = self.schedules[0].bytes
        return [
            [one.change, one.winner.arm, _seconds(one.winner.seconds), f"{one.winner.rate(size):.2f}",
             f"{one.gain:.1f}"]
            for one in self.sensitivities
        ]  # fmt: skip


def _seconds(value: float) -> str:
    return f"{value:.1f}" if value >= 100 else f"{value:.2f}" if value >= 1 else f"{value:.4f}"


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], words: set[str]) -> Table:
    table = Table(title=title, title_justify="left", caption_justify="left")
    for head in heads:
        table.add_column(head, justify="left" if head in words else "right")
    for row in rows:
        table.add_row(*row)
    return table


def show(console: Console, answer: Answer) -> None:
    """Prints the tables."""
    methods = _table(answer.title, HEADS, answer.rows(), {"method", "exchange waits for"})
    methods.caption = answer.facts
    console.print(methods)
    if answer.replayed:
        console.print(_table("Compared with SimGrid S4U, one slot", REPLAYED, answer.beside(), {"method"}))
    if answer.written:
        console.print(_table(AGAINST_LIBRARY, WRITTEN, answer.against_library(), {"method"}))
    first = answer.predictions[0].arm
    title = f"Sensitivity: the fastest method, and how many times as long {first} takes"
    console.print(_table(title, CHANGES, answer.changed(), {"if", "fastest"}))


def page(answer: Answer) -> str:
    """Returns the tables as Markdown."""
    first = answer.predictions[0].arm
    beside = f"By SimGrid S4U, one slot:\n\n{table(REPLAYED, answer.beside())}\n" if answer.replayed else ""
    if answer.written:
        beside += f"{AGAINST_LIBRARY}:\n\n{table(WRITTEN, answer.against_library())}\n"
    return (
        f"## {answer.title}\n\n{table(HEADS, answer.rows())}\n{answer.facts}\n\n{beside}"
        f"Sensitivity (times: how many times as long {first} takes as the fastest):\n\n"
        f"{table(CHANGES, answer.changed())}"
    )


def search_table(title: str, steps: Sequence[Step]) -> Table:
    """Returns a table with a row for each hint that was varied."""
    rows = [
        [
            ", ".join(step.tried) or "(the start)", _seconds(step.prediction.seconds),
            " ".join(f"{key}={value}" for key, value in step.chosen.items()),
        ]
        for step in steps
    ]  # fmt: skip
    return _table(f"Search: {title}", ("tried", "s", "best so far"), rows, {"tried", "best so far"})


def draw(file: Path, answers: Sequence[Answer]) -> None:
    """Draws a row of bars for each answer, with a bar for each method, divided into phases."""
    plt = pyplot()
    with plt.rc_context(STYLE):
        heights = [1.0 + 0.28 * len(one.predictions) for one in answers]
        figure, axes = plt.subplots(
            len(answers), 1, figsize=(8, sum(heights) + 0.5), squeeze=False,
            gridspec_kw={"height_ratios": heights}, layout="constrained",
        )  # fmt: skip
        for place, answer in zip(axes[:, 0], answers, strict=True):
            names = [one.arm for one in answer.predictions]
            left = [0.0] * len(names)
            for phase, color in zip(PHASES, COLORS, strict=True):
                widths = [getattr(one, phase) for one in answer.predictions]
                place.barh(names, widths, left=left, color=color, label=phase, height=0.7)
                left = [a + b for a, b in zip(left, widths, strict=True)]
            for row, (end, one) in enumerate(zip(left, answer.predictions, strict=True)):
                place.text(end, row, f" {_seconds(one.seconds)} s", va="center", fontsize=8)
            place.set_xlim(0, 1.12 * max(left))
            place.invert_yaxis()
            place.grid(axis="y", visible=False)
            place.set_title(answer.title, fontsize=9, loc="left")
        axes[-1, 0].set_xlabel("seconds of each phase; the total is less where phases overlap", fontsize=8)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(PHASES), frameon=False)
        figure.savefig(file, dpi=110)
        plt.close(figure)
