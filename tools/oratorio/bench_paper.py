# SPDX-License-Identifier: BSD-3-Clause
"""Figures 1 to 3 of the 2006 paper (Hastings and Choudhary, Exploiting Shared Memory to Improve
Parallel I/O Performance), drawn again for this machine: bandwidth of each method, through the page
cache and past it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from oratorio import bench_looks, bench_plot, bench_report
from oratorio.bench_run import Run, Settings
from oratorio.bench_workloads import WORKLOADS, BenchError
from oratorio.method_table import methods

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The paper's own methods first; datatype I/O needs a server.
METHODS = ("sieve", "two_phase", "list_io", "mmap", "shared_data", "shared_buffer_list", "shared_buffer")
MODES = ("buffered", "direct")


def default_arms() -> str:
    """The paper's methods that there are, beside the host's and raw I/O."""
    return ",".join(["host", *(name for name in METHODS if name in methods()), "auto", "raw"])


@dataclass(frozen=True)
class Curve:
    """Runs over one parameter, in one direction."""

    figure: str  # the paper's number and the workload
    title: str
    axis: str
    direction: str
    runs: tuple[tuple[str, Run], ...]  # place on the axis, run


@dataclass(frozen=True)
class Scale:
    """How large the runs are; the paper's values are in docs/workloads.md."""

    ranks: tuple[int, ...]
    n: int  # edge of coll_perf's array
    frames: int  # of tile
    nxb: tuple[int, ...]  # block sizes of flash, at the largest number of ranks
    fixed_nxb: int  # block size over the numbers of ranks
    smoke: bool = False  # the other parameters as small as can be


def smoke_scale(ranks: tuple[int, ...]) -> Scale:
    """So small that it only shows that everything works."""
    return Scale(ranks, n=37, frames=2, nxb=(2, 4), fixed_nxb=4, smoke=True)


def tile_array(ranks: int) -> str:
    """The array of tiles, as MPI_Dims_create makes it: columns x rows."""
    rows = next(r for r in range(math.isqrt(ranks), 0, -1) if ranks % r == 0)
    return f"{ranks // rows}x{rows}"


def _run(workload: str, ranks: int, smoke: bool, **given: int) -> Run:
    words = {key: str(value) for key, value in given.items()}
    return Run(workload, workload, WORKLOADS[workload].values(words, smoke), ranks)


def curves(scale: Scale, parts: Sequence[str]) -> list[Curve]:
    """What is measured and drawn; runs that several curves share are the same objects."""
    made = []
    if "coll_perf" in parts:
        runs = tuple((str(p), _run("coll_perf", p, scale.smoke, n=scale.n)) for p in scale.ranks)
        made += [Curve("1-coll_perf", f"{scale.n}³ ints", "ranks", d, runs) for d in ("write", "read")]
    if "tile" in parts:
        runs = tuple((tile_array(p), _run("tile", p, scale.smoke, frames=scale.frames)) for p in scale.ranks)
        made.append(Curve("2-tile", "tile reader", "tiles", "read", runs))
    if "flash" in parts:
        most, fixed = max(scale.ranks), scale.fixed_nxb
        sizes = tuple((f"{b}³", _run("flash", most, scale.smoke, nxb=b)) for b in scale.nxb)
        over_ranks = tuple((str(p), _run("flash", p, scale.smoke, nxb=fixed)) for p in scale.ranks)
        made.append(Curve("3-flash", f"{most} ranks", "cells of a block", "write", sizes))
        made.append(Curve("3-flash", f"{fixed}³ cells in a block", "ranks", "write", over_ranks))
    return made


def jobs(all_curves: Sequence[Curve], settings: Settings) -> list[tuple[Run, Settings]]:
    """Each run once, in the directions its curves show."""
    runs = {id(run): run for curve in all_curves for _, run in curve.runs}
    found = []
    for key, run in runs.items():
        shown = {c.direction for c in all_curves if any(id(of_curve) == key for _, of_curve in c.runs)}
        directions = tuple(d for d in settings.directions if d in shown)
        if directions:
            found.append((run, replace(settings, directions=directions)))
    return found


def settings_of(mode: str, settings: Settings) -> Settings:
    """The settings of a mode: the raw arm goes the same way as the methods. A host that can't read past the
    page cache must not find the data there."""
    direct = mode == "direct"
    raw = "raw_direct" if direct else "raw"
    arms = tuple(raw if arm.startswith("raw") else arm for arm in settings.arms)
    cold = settings.cold or (direct and not bench_report.is_in_memory(settings.folder))
    return replace(settings, direct=direct, cold=cold, arms=arms)


def check_modes(text: str) -> tuple[str, ...]:
    modes = tuple(mode for mode in text.split(",") if mode)
    if not modes or set(modes) - set(MODES):
        raise BenchError(f"--modes names buffered, direct or both, not {text}")
    return modes


Measured = dict[str, tuple[list[Curve], Settings]]  # by mode


def _rates(curve: Curve, settings: Settings) -> dict[str, list[float | None]]:
    by_run = [
        {s.arm: s.mib_per_s for s in bench_report.summarise(run, settings) if s.direction == curve.direction}
        for _, run in curve.runs
    ]
    return {arm: [rates.get(arm) for rates in by_run] for arm in settings.arms}


def table(measured: Measured) -> Table:
    """All points: a row for each, a column for each method."""
    arms = next(iter(measured.values()))[1].arms
    shown = Table(title="MiB/s", title_justify="left")
    for name in ("figure", "mode", "direction", "at"):
        shown.add_column(name)
    for arm in arms:
        shown.add_column("raw" if arm.startswith("raw") else arm, justify="right")
    for mode, (mode_curves, settings) in measured.items():
        for curve in mode_curves:
            rates = _rates(curve, settings)
            for place, (name, _) in enumerate(curve.runs):
                cells = ["-" if rates[a][place] is None else f"{rates[a][place]:.0f}" for a in rates]
                what = f"{curve.figure}, {curve.title}"
                shown.add_row(what, mode, curve.direction, f"{name} {curve.axis}", *cells)
    return shown


def draw(file: Path, measured: Measured) -> list[Path]:
    """A picture for each figure: FILE with the figure's name before its ending."""
    files = []
    for name in figure_names(measured):
        files.append(file.with_name(f"{file.stem}-{name}{file.suffix or '.png'}"))
        bench_plot.save(figure_of(name, measured), files[-1])
    return files


def figure_names(measured: Measured) -> list[str]:
    """All that have curves, in the paper's order."""
    first_curves, _ = next(iter(measured.values()))
    return list(dict.fromkeys(curve.figure for curve in first_curves))


def figure_of(name: str, measured: Measured) -> "Figure":
    """Its curves one below the other, the modes side by side; with one mode the curves are side by side."""
    panels = [
        (mode, curve, settings)
        for mode, (curves_of_mode, settings) in measured.items()
        for curve in curves_of_mode
        if curve.figure == name
    ]
    columns = len(panels) if len(measured) == 1 else len(measured)
    rows = len(panels) // columns
    pyplot = bench_plot.pyplot()
    with pyplot.rc_context(bench_plot.STYLE):
        figure, axes = pyplot.subplots(
            rows, columns, figsize=(bench_looks.PAGE_INCHES, 1.4 + 2.8 * rows), squeeze=False,
            layout="constrained",
        )  # fmt: skip
        # Modes are columns: their panels come one column after the other.
        places = axes.T.flat if len(measured) > 1 else axes.flat
        for panel, (mode, curve, settings) in zip(places, panels, strict=True):
            bench_plot.draw_lines(panel, [at for at, _ in curve.runs], _rates(curve, settings))
            title = f"{curve.direction}, {mode}: {curve.title}"
            panel.set_title(title, loc="left", fontsize=9, fontweight="bold")
            panel.set_xlabel(curve.axis)
            panel.set_ylabel("MiB/s")
        number, _, workload = name.partition("-")
        _, settings = next(iter(measured.values()))
        where = bench_plot.place(settings)
        figure.suptitle(
            f"Figure {number} of the 2006 paper, for this machine: {workload} ({where})", x=0.01, ha="left"
        )
        handles, words = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, words, loc="outside lower left", ncols=5, frameon=False)
    return figure
