# SPDX-License-Identifier: BSD-3-Clause
"""The benchmark's charts: bars for each workload, and lines over a parameter."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from oratorio import bench_report
from oratorio.bench_arms import RAW, is_host
from oratorio.bench_report import Summary
from oratorio.bench_run import Run, Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, which can be told apart with every kind of colour vision; the host's own
# MPI-IO is grey, what Oratorio picks by itself is the strongest blue.
AUTO = "#0072B2"
GREYS = ("#9AA2AB", "#5B636D", "#C9CED4", "#A9A192", "#7A7468", "#DDD8CC", "#3B4148")
COLORS = ("#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#F0E442", "#7F3C8D")
HATCHES = ("", "///", "...")
MARKERS = "osD^vPX*<>"
CLIP = 140  # per cent: what is above is cut off and labelled
FEW_ARMS = 6  # up to so many every bar has its number
WIDEST = 15.0  # inches of a panel; what has no place goes into another row

STYLE = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#E5E7EA",
    "axes.axisbelow": True,
}


@cache
def pyplot() -> ModuleType:
    """Imported when something is drawn: it takes longer than a small run."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("Agg")
    from matplotlib import pyplot as module  # noqa: PLC0415

    return module


def looks(arms: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Colour and hatch of each arm."""
    greys = iter(GREYS)
    colors = itertools.product(HATCHES, COLORS)
    result = {}
    for arm in arms:
        if arm == "auto":
            result[arm] = (AUTO, "")
        elif is_host(arm):
            result[arm] = (next(greys), "")
        else:
            hatch, color = next(colors)
            result[arm] = (color, hatch)
    return result


def _rate(mib_per_s: float | None) -> str:
    if not mib_per_s:
        return ""
    return f"{mib_per_s / 1024:.1f} GiB/s" if mib_per_s >= 1000 else f"{mib_per_s:.0f} MiB/s"


def _bar_label(value: float) -> str:
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


class _Panel:
    """The bars of one direction: groups of runs, a bar for each arm."""

    def __init__(self, axes: "Axes", settings: Settings, direction: str, groups: int) -> None:
        self._axes = axes
        self._groups = groups  # of the widest panel: bars are equally wide in all
        self._settings = settings
        self._direction = direction
        self._arms = [arm for arm in settings.arms if arm not in RAW]
        self._looks = looks(self._arms)
        self._relative = settings.reference in settings.arms

    def _value(self, summary: Summary) -> float:
        return (summary.percent_of_raw if self._relative else summary.mib_per_s) or 0

    def draw(self, runs: Sequence[Run], names: Sequence[str]) -> None:
        raws = [self._group(place, run) for place, run in enumerate(runs)]
        axes = self._axes
        axes.set_xlim(-0.6, self._groups - 0.4)
        if self._relative:
            axes.axhline(100, color="black", linewidth=1.2, linestyle=(0, (4, 2)), zorder=1)
            axes.text(
                1.005, 100, f"{self._settings.reference}\n100 %",
                transform=axes.get_yaxis_transform(), va="center", fontsize=9,
            )  # fmt: skip
            names = [f"{name}\nraw {_rate(raw)}" for name, raw in zip(names, raws, strict=True)]
        else:
            axes.set_yscale("log")
        unit = f"% of {self._settings.reference}" if self._relative else "MiB/s"
        axes.set_ylabel(f"{self._direction}, {unit}")
        axes.set_xticks(range(len(runs)), names, fontsize=9)
        axes.tick_params(axis="x", length=0)

    def _group(self, place: int, run: Run) -> float | None:
        """The bars of one run; returns the bandwidth of raw I/O."""
        width = 0.84 / len(self._arms)
        here = {
            s.arm: s for s in bench_report.summarise(run, self._settings) if s.direction == self._direction
        }
        best = bench_report.best_of([here[arm] for arm in self._arms])
        for index, arm in enumerate(self._arms):
            value = self._value(here[arm])
            color, hatch = self._looks[arm]
            at = place + (index - (len(self._arms) - 1) / 2) * width
            height = min(value, CLIP) if self._relative else value
            self._axes.bar(
                at, height, width * 0.92, color=color, hatch=hatch, edgecolor="white", linewidth=0.3,
                label=arm if place == 0 else None,
            )  # fmt: skip
            if value and (len(self._arms) <= FEW_ARMS or (best and arm == best.arm)):
                self._axes.annotate(
                    _bar_label(value), (at, height), xytext=(0, 2), textcoords="offset points",
                    ha="center", fontsize=7.5,
                )  # fmt: skip
        raw = here.get(self._settings.reference)
        return raw.mib_per_s if raw else None


def place(settings: Settings) -> str:
    """Where it was measured, in one line."""
    about = bench_report.machine(settings.folder)
    words = [settings.host.name, about["file_system"], f"{about['cores']} cores"]
    words.append("overwriting" if settings.overwrite else "new files")
    return ", ".join(words)


def _caption(settings: Settings) -> str:
    """What was measured and how, in one line."""
    raw = "raw O_DIRECT" if settings.direct else "raw POSIX"
    what = (
        f"Bandwidth in % of {raw} I/O of the same bytes"
        if settings.reference in settings.arms
        else "Bandwidth"
    )
    flags = [f", {word}" for word in ("direct", "cold", "sync") if getattr(settings, word)]
    return f"{what} ({place(settings)}{''.join(flags)})"


def save(figure: "Figure", file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=130, facecolor="white", bbox_inches="tight", pad_inches=0.15)
    pyplot().close(figure)


@dataclass(frozen=True)
class _Row:
    """The groups of bars of one panel."""

    title: str
    runs: list[Run]
    names: list[str]


def _rows(runs: Sequence[Run], most: int) -> list[_Row]:
    """Of one workload the numbers of ranks beside each other, else a row for each number of ranks; at most
    `most` groups in a row."""
    labels = list(dict.fromkeys(run.label for run in runs))
    if len(labels) == 1:
        rows = [_Row(labels[0], list(runs), [f"{run.ranks} ranks" for run in runs])]
    else:
        rows = []
        for ranks in dict.fromkeys(run.ranks for run in runs):
            here = [run for run in runs if run.ranks == ranks]
            rows.append(_Row(f"{ranks} ranks", here, [run.label for run in here]))
    parts = []
    for row in rows:
        pieces = -(-len(row.runs) // most)
        length = -(-len(row.runs) // pieces)  # so that the pieces are about equal
        for first in range(0, len(row.runs), length):
            cut = slice(first, first + length)
            parts.append(_Row(row.title, row.runs[cut], row.names[cut]))
    return parts


def draw(file: Path, runs: Sequence[Run], settings: Settings) -> None:
    """Bars for each run: the arms as percentages of raw I/O, writes and reads in panels of their own."""
    arms = [arm for arm in settings.arms if arm not in RAW]
    shown = [run for run in runs if run.samples]
    if not shown or not arms:
        return
    group = max(0.85, 0.14 * len(arms) + 0.2)  # inches
    rows = _rows(shown, max(1, int(WIDEST / group)))
    panels = [(row, direction) for row in rows for direction in settings.directions]
    groups = max(len(row.runs) for row in rows)
    width = max(8.0, 1.6 + groups * group)
    plots = pyplot()
    with plots.rc_context(STYLE):
        figure, axes = plots.subplots(
            len(panels), 1, figsize=(width, 1.0 + 2.7 * len(panels)), squeeze=False, layout="constrained"
        )
        for panel, (row, direction) in zip(axes[:, 0], panels, strict=True):
            _Panel(panel, settings, direction, groups).draw(row.runs, row.names)
            panel.set_title(f"{row.title}: {direction}", loc="left", fontsize=11, fontweight="bold")
        handles, words = axes[0, 0].get_legend_handles_labels()
        figure.legend(
            handles, words, loc="outside upper left", ncols=min(len(arms), int(width / 1.8)),
            frameon=False, title=_caption(settings), alignment="left",
        )  # fmt: skip
        save(figure, file)


def draw_lines(
    axes: "Axes",
    xs: Sequence[str],
    rates: dict[str, list[float | None]],
    style: dict[str, tuple[str, str]],
) -> None:
    """Bandwidth of each arm over `xs`; raw I/O is a dashed line."""
    for index, (arm, values) in enumerate(rates.items()):
        points = [(place, value) for place, value in enumerate(values) if value]
        if arm in RAW:
            look = {"color": "black", "linestyle": (0, (4, 2)), "linewidth": 1.2}
        else:
            color, hatch = style[arm]
            look = {
                "color": color,
                "marker": MARKERS[index % len(MARKERS)],
                "markersize": 5,
                "linewidth": 1.8,
            }
            look["linestyle"] = "-" if not hatch else ":"
        axes.plot(*zip(*points, strict=True), label=arm, **look) if points else axes.plot(
            [], [], label=arm, **look
        )
    axes.set_xticks(range(len(xs)), xs)
    axes.set_ylim(bottom=0)
