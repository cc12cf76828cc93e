# SPDX-License-Identifier: BSD-3-Clause
"""The benchmark's charts: bars for each workload, and lines over a parameter."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oratorio.quantity import counted
from oratorio.trace.plot import pyplot
from oratorio_lab.bench import report, styles
from oratorio_lab.bench.arms import RAW
from oratorio_lab.bench.report import Summary
from oratorio_lab.bench.run import Run, Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CLIP = 140  # per cent of raw I/O at which a longer bar is cut off, marked and labelled
# length of the axis relative to the longest bar, with room for the bar's number and the rate of raw I/O
ROOM = 1.36
FEW_ARMS = 6  # with at most this many arms every bar shows its number
BAR_INCHES = 0.135

PLAIN = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}  # the background of a number
STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E5E7EA",
    "axes.axisbelow": True,
}


def _rate(mib_per_s: float | None) -> str:
    if not mib_per_s:
        return ""
    return f"{mib_per_s / 1024:.1f} GiB/s" if mib_per_s >= 1000 else f"{mib_per_s:.0f} MiB/s"


def _bar_label(value: float) -> str:
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def _group_bars(arms: int) -> float:
    """Returns the height of a group in bars: its bars and the gap to the next group."""
    return arms + max(0.9, 0.25 * arms)


class _Panel:
    """The bars of one direction: groups of runs from top to bottom, a bar for each arm."""

    def __init__(self, axes: "Axes", settings: Settings, direction: str) -> None:
        self._axes = axes
        self._settings = settings
        self._direction = direction
        self._arms = [arm for arm in settings.arms if arm not in RAW]
        self._relative = settings.reference in settings.arms

    def _value(self, summary: Summary) -> float:
        return (summary.percent_of_raw if self._relative else summary.mib_per_s) or 0

    def draw(self, runs: Sequence[Run], names: Sequence[str]) -> None:
        axes = self._axes
        axes.grid(visible=False, axis="y")
        axes.set_ylim(len(runs) - 0.5, -0.5)
        widest = max(self._group(place, run) for place, run in enumerate(runs))
        axes.set_yticks(range(len(runs)), names)
        axes.tick_params(axis="y", length=0)
        if self._relative:
            axes.axvline(100, color="black", linewidth=1.1, linestyle=(0, (4, 2)), zorder=1)
            axes.set_xlim(0, max(112, widest) * ROOM)
            axes.set_xticks(range(0, int(max(100, widest)) + 1, 20))
        else:
            axes.set_xscale("log")
            low, high = axes.get_xlim()
            axes.set_xlim(low, high * 2)
        reference = styles.look_of(self._settings.reference).label
        axes.set_xlabel(f"% of {reference}" if self._relative else "MiB/s")

    def _group(self, place: int, run: Run) -> float:
        """Draws the bars of one run and the bandwidth of raw I/O; returns the end of the longest bar."""
        height = 1 / _group_bars(len(self._arms))
        here = {s.arm: s for s in report.summarise(run, self._settings) if s.direction == self._direction}
        best = report.best_of([here[arm] for arm in self._arms])
        longest = 0.0
        for index, arm in enumerate(self._arms):
            value = self._value(here[arm])
            look = styles.look_of(arm)
            at = place + (index - (len(self._arms) - 1) / 2) * height
            end = min(value, CLIP) if self._relative else value
            longest = max(longest, end)
            self._axes.barh(at, end, height * 0.9, color=look.color, label=look.label if place == 0 else None)
            if value > end:
                self._mark_cut(at, end, height)
            shown = len(self._arms) <= FEW_ARMS or value > end or (best and arm == best.arm)
            if value and shown:
                self._axes.annotate(
                    _bar_label(value), (end, at), xytext=(3, 0), textcoords="offset points",
                    va="center_baseline", fontsize=7, bbox=PLAIN,
                    fontweight="bold" if value > end else "normal",
                )  # fmt: skip
        raw = here.get(self._settings.reference)
        if raw and raw.mib_per_s:
            self._axes.text(
                1.0, place, _rate(raw.mib_per_s), transform=self._axes.get_yaxis_transform(),
                ha="right", va="center", fontsize=7, color="#5B636D",
            )  # fmt: skip
        return longest

    def _mark_cut(self, at: float, end: float, height: float) -> None:
        """Draws two white strokes through the bar, near its end."""
        for place in (0.945, 0.965):
            xs = (end * (place - 0.008), end * (place + 0.008))
            self._axes.plot(xs, (at + height / 2, at - height / 2), color="white", linewidth=1.5)


def place(settings: Settings) -> str:
    """Describes in one line where the figures were measured."""
    about = report.machine(settings.folder)
    words = [settings.host.name, about["file_system"], f"{about['cores']} cores"]
    words.append("overwriting" if settings.overwrite else "new files")
    return ", ".join(words)


def _caption(settings: Settings) -> str:
    """Describes in one line what was measured and how."""
    raw = "raw O_DIRECT" if settings.direct else "raw POSIX"
    what = (
        f"Bandwidth in % of {raw} I/O of the same bytes"
        if settings.reference in settings.arms
        else "Bandwidth"
    )
    flags = [f", {word}" for word in ("direct", "cold", "malloc", "sync") if getattr(settings, word)]
    return f"{what} ({place(settings)}{''.join(flags)})"


def save(figure: "Figure", file: Path) -> None:
    """Saves a figure at the resolution that a page shows without scaling, and closes the figure."""
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=styles.DOTS_PER_INCH, facecolor="white")
    pyplot().close(figure)


@dataclass(frozen=True)
class _Row:
    """The groups of bars in one row of panels."""

    title: str
    runs: list[Run]
    names: list[str]


def _rows(runs: Sequence[Run]) -> list[_Row]:
    """Returns one row with all numbers of ranks if there is only one workload, and otherwise a row for each
    number of ranks."""
    labels = list(dict.fromkeys(run.label for run in runs))
    if len(labels) == 1:
        return [_Row(labels[0], list(runs), [counted(run.ranks, "rank") for run in runs])]
    rows = []
    for ranks in dict.fromkeys(run.ranks for run in runs):
        here = [run for run in runs if run.ranks == ranks]
        rows.append(_Row(counted(ranks, "rank"), here, [run.label for run in here]))
    return rows


def bars(runs: Sequence[Run], settings: Settings) -> "Figure":
    """Draws bars for each run, writes and reads in separate panels: the arms as percentages of raw I/O, or in
    MiB/s if raw I/O is not one of the arms."""
    arms = [arm for arm in settings.arms if arm not in RAW]
    rows = _rows(runs)
    heights = [1.0 + len(row.runs) * _group_bars(len(arms)) * BAR_INCHES for row in rows]
    plots = pyplot()
    with plots.rc_context(STYLE):
        figure, axes = plots.subplots(
            len(rows), len(settings.directions), figsize=(styles.PAGE_INCHES, 0.9 + sum(heights)),
            squeeze=False, sharey="row", height_ratios=heights, layout="constrained",
        )  # fmt: skip
        for panels, row in zip(axes, rows, strict=True):
            for panel, direction in zip(panels, settings.directions, strict=True):
                _Panel(panel, settings, direction).draw(row.runs, row.names)
                panel.set_title(f"{direction}, {row.title}", loc="left", fontsize=10, fontweight="bold")
                if settings.reference in settings.arms:
                    panel.set_title("raw:", loc="right", fontsize=7, color="#5B636D")
        handles, words = axes[0, 0].get_legend_handles_labels()
        figure.legend(
            handles, words, loc="outside upper left", ncols=min(len(arms), 4), frameon=False,
            title="\n".join(textwrap.wrap(_caption(settings), 110)), alignment="left",
        )  # fmt: skip
    return figure


def draw(file: Path, runs: Sequence[Run], settings: Settings) -> None:
    """Draws the bars into a file, if an arm other than raw I/O was measured."""
    shown = [run for run in runs if run.samples]
    if shown and any(arm not in RAW for arm in settings.arms):
        save(bars(shown, settings), file)


def draw_lines(axes: "Axes", xs: Sequence[str], rates: dict[str, list[float | None]]) -> None:
    """Draws the bandwidth of each arm over `xs`."""
    for arm, values in rates.items():
        points = [(place, value) for place, value in enumerate(values) if value]
        places, heights = zip(*points, strict=True) if points else ((), ())
        axes.plot(places, heights, **styles.line_style(arm))
    axes.set_xticks(range(len(xs)), xs)
    axes.set_ylim(bottom=0)
