# SPDX-License-Identifier: BSD-3-Clause
"""Measures and draws papers' figures again on this machine, and judges the papers' claims about them.
lab/oratorio_lab/papers/figures.py lists the figures."""

import os
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from oratorio.library.method_table import methods
from oratorio.markdown import table
from oratorio.quantity import counted
from oratorio_lab.bench import plot, report, styles
from oratorio_lab.bench.arms import RAW, WITHOUT_MPI_IO, is_host, is_oratorios, method_of
from oratorio_lab.bench.run import Run, Settings
from oratorio_lab.bench.workloads import UNITS, WORKLOADS, BenchError, Parameter, Workload
from oratorio_lab.papers.arithmetic import GIB, file_bytes
from oratorio_lab.papers.claims import Claim, Rates, Verdict
from oratorio_lab.papers.figures import AGGREGATORS, CYCLES, PAPERS, RANKS, Paper, Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MODES = ("buffered", "direct")
WRAPPED = 136  # characters of a line above a picture
LEGEND = 100  # characters of a line of a picture's legend
PAGE = 4096  # Chunks of the file are whole pages.


@dataclass(frozen=True)
class Scale:
    """How much of a paper is measured, and at which sizes."""

    ranks: tuple[int, ...]
    arms: tuple[str, ...] = ()  # arms that replace the figures' own
    # values of parameters; the parameter that is swept may have several
    given: Mapping[str, tuple[str, ...]] | None = None
    full: bool = False  # sizes as in the paper, as far as `room` allows
    room: int = 0  # the largest file in bytes, with `full`; 0: no limit
    smoke: bool = False  # sizes so small that a run only shows that everything works


@dataclass(frozen=True)
class Curve:
    """The lines of one panel: runs in one direction, over the values of a sweep."""

    sweep: Sweep
    mode: str
    direction: str
    arms: tuple[str, ...]
    points: tuple[tuple[str, Run, Settings], ...]  # value on the axis, run, settings

    @property
    def title(self) -> str:
        return f"{self.direction}, {self.mode}: {self.sweep.title}"


@dataclass(frozen=True)
class Measured:
    """The runs and curves of a paper, with the results once the runs have been measured."""

    paper: Paper
    settings: Settings
    curves: tuple[Curve, ...]
    skipped: tuple[str, ...]  # why sweeps were left out
    smoke: bool = False  # sizes are too small to say anything about speed
    reduced: tuple[str, ...] = ()  # with `full`, what is smaller than in the paper


def settings_of(mode: str, settings: Settings) -> Settings:
    """Returns the settings of a mode. In direct mode the raw arm bypasses the page cache like the methods.
    On a disk, direct mode is also cold, so that reads of a host's MPI-IO that cannot bypass the cache do not
    find the data there."""
    direct = mode == "direct"
    raw = "raw_direct" if direct else "raw"
    arms = tuple(raw if arm.startswith("raw") else arm for arm in settings.arms)
    cold = settings.cold or (direct and not report.is_in_memory(settings.folder))
    return replace(settings, direct=direct, cold=cold, arms=arms)


def modes_of(paper: Paper, folder: Path) -> tuple[str, ...]:
    """Returns the paper's modes; on a file system in memory only `buffered`, because it has no storage below
    the page cache."""
    in_memory = report.is_in_memory(folder)
    return tuple(mode for mode in paper.modes if mode == "buffered" or not in_memory)


def check_words(text: str, known: Sequence[str], option: str) -> tuple[str, ...]:
    """Splits an option into words; no words mean all known ones. Raises BenchError."""
    words = tuple(word for word in text.split(",") if word)
    if strangers := sorted(set(words) - set(known)):
        raise BenchError(f"--{option} takes {', '.join(known)}, not {', '.join(strangers)}")
    return words or tuple(known)


def parse_parameters(texts: Sequence[str], paper: Paper) -> dict[str, tuple[str, ...]]:
    """Parses each `name=value[,value]` into name -> values. Raises BenchError."""
    known = {sweep.over for sweep in paper.sweeps} | {
        p.name
        for sweep in paper.sweeps if sweep.workload in WORKLOADS
        for p in WORKLOADS[sweep.workload].parameters
    }  # fmt: skip
    given = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not (equals and values):
            raise BenchError(f"a parameter must be NAME=VALUE[,VALUE], not {text}")
        if name not in known:
            raise BenchError(f"no workload of the {paper.year} paper has a parameter {name}")
        given[name] = tuple(values.split(","))
    return given


def arms_of(sweep: Sweep, scale: Scale) -> tuple[str, ...]:
    """Returns the arms of a sweep, without methods that the library does not have."""
    known = set(methods())
    wanted = scale.arms or sweep.arms
    return tuple(arm for arm in wanted if not is_oratorios(arm) or method_of(arm) in known)


def _swept(workload: Workload, name: str) -> Parameter | None:
    return next((p for p in workload.parameters if p.name == name), None)


def _values(sweep: Sweep, workload: Workload, scale: Scale) -> tuple[str, ...]:
    """Returns the values that a sweep runs over."""
    parameter = _swept(workload, sweep.over)
    chosen = (scale.given or {}).get(sweep.over)
    if chosen:
        return chosen
    if sweep.over == RANKS:
        return tuple(str(count) for count in scale.ranks if count >= sweep.ranks_of_node)
    values = (sweep.full if scale.full else ()) or sweep.values
    if scale.smoke and parameter:
        return str(parameter.smoke), str(2 * int(parameter.smoke))
    texts = tuple(str(value) for value in values)
    return (texts[0], texts[-1]) if scale.smoke else texts


def _given(sweep: Sweep, workload: Workload, scale: Scale) -> dict[str, str]:
    """Returns the parameters that stay constant. With `full`, the paper's are halved until the file fits."""
    words = {} if scale.smoke else dict(sweep.given)
    if "dist" in sweep.given:
        words["dist"] = sweep.given["dist"]
    if scale.full:
        words |= _fitting(sweep, workload, words | sweep.full_given, scale)
    own = {p.name for p in workload.parameters}
    return words | {name: values[0] for name, values in (scale.given or {}).items() if name in own}


def _fitting(sweep: Sweep, workload: Workload, words: Mapping[str, str], scale: Scale) -> dict[str, str]:
    """Returns `words` with the paper's parameters halved until the file fits the room. No parameter becomes
    smaller than without `full`."""
    words = dict(words)
    ranks = max(scale.ranks)
    for name in sweep.full_given:
        least = workload.values(sweep.given, smoke=False)[name]
        while (
            scale.room
            and file_bytes(workload.name, workload.values(words, smoke=False), ranks) > scale.room
            and (half := int(workload.values(words, smoke=False)[name]) // 2) >= int(least)
        ):
            words[name] = str(half)
    return words


def _reductions(sweep: Sweep, scale: Scale) -> list[str]:
    """Returns a line for each parameter of the paper that is smaller here because the file would not fit."""
    workload = WORKLOADS[sweep.workload]
    wanted = {**sweep.given, **sweep.full_given}
    used = _fitting(sweep, workload, wanted, scale)
    size = file_bytes(workload.name, workload.values(wanted, smoke=False), max(scale.ranks))
    return [
        f"{sweep.figure}, {sweep.title}: {name} {used[name]}, in the paper {wanted[name]} "
        f"({size / GIB:.1f} GiB; there is room for {scale.room / GIB:.1f} GiB)"
        for name in sweep.full_given
        if used[name] != wanted[name]
    ]


def _hint_value(text: str) -> str:
    """Returns a size as a plain number, because info keys know no units."""
    number, unit = text.rstrip("iB"), ""
    if number and number[-1].lower() in UNITS:
        number, unit = number[:-1], number[-1].lower()
    return str(int(number) * UNITS[unit]) if number.isdecimal() else text


def _hints(sweep: Sweep, arms: Sequence[str], value: str, size: int) -> tuple[tuple[str, str, str], ...]:
    """Returns (arm, key, value) at one value of the sweep, for all arms that use MPI-IO. The file has
    `size` bytes."""
    files = [arm for arm in arms if arm not in WITHOUT_MPI_IO]
    is_key = sweep.over != RANKS and not _swept(WORKLOADS[sweep.workload], sweep.over)
    hints = []
    for arm in files:
        own = dict(sweep.hints)
        if sweep.over == CYCLES:
            own["cb_buffer_size"] = str(_buffer(arm, size, int(value)))
        elif is_key and (not sweep.keys_of or arm in sweep.keys_of):
            own[sweep.over] = _hint_value(value)
        # Hints replace the tuning of a host arm, so a key that only Oratorio knows must not be given to it.
        hints += [
            (arm, key, text)
            for key, text in own.items()
            if not (is_host(arm) and key.startswith("oratorio_"))
        ]
    return (*hints, *(hint for hint in sweep.arm_hints if hint[0] in arms))


def _buffer(arm: str, size: int, cycles: int) -> int:
    """Returns the size of the collective buffer that makes an arm write a file with holes in `cycles` cycles.
    Oratorio's buffer is twice as large, because the write mask takes half of it. All sizes are in bytes."""
    chunk = -(-size // (AGGREGATORS * cycles * PAGE)) * PAGE
    return chunk if is_host(arm) else 2 * chunk


def _point(sweep: Sweep, scale: Scale, settings: Settings, value: str) -> tuple[str, Run, Settings]:
    """Returns the run at one value of the axis, with its settings."""
    workload = WORKLOADS[sweep.workload]
    ranks = int(value) if sweep.over == RANKS else sweep.ranks or max(scale.ranks)
    words = _given(sweep, workload, scale)
    if not scale.smoke:
        scaled = (sweep.full_by_ranks if scale.full else {}) or sweep.by_ranks
        words = {name: str(number * ranks) for name, number in scaled.items()} | words
    if _swept(workload, sweep.over):
        words[sweep.over] = value
    run = Run(f"{sweep.figure} {value}", workload.name, workload.values(words, scale.smoke), ranks)
    size = file_bytes(workload.name, run.parameters, ranks)
    hints = (*_hints(sweep, settings.arms, value, size), *settings.hints)
    return value, run, replace(settings, hints=hints, ranks_of_node=sweep.ranks_of_node)


def _curves_of(sweep: Sweep, scale: Scale, mode: str, settings: Settings) -> list[Curve]:
    arms = arms_of(sweep, scale)
    settings = settings_of(mode, replace(settings, arms=arms))
    directions = tuple(d for d in settings.directions if d in sweep.directions)
    settings = replace(settings, directions=directions)
    workload = WORKLOADS[sweep.workload]
    points = tuple(_point(sweep, scale, settings, v) for v in _values(sweep, workload, scale))
    able = tuple(point for point in points if not workload.refusal(point[1].ranks))
    return [Curve(sweep, mode, direction, settings.arms, able) for direction in directions if able]


def _why_not(sweep: Sweep, scale: Scale) -> str:
    """Returns why a sweep cannot be measured here; empty if it can."""
    if sweep.workload not in WORKLOADS:
        return f"{sweep.figure}: there is no workload {sweep.workload}"
    if not scale.arms:
        gone = [a for a in sweep.arms if is_oratorios(a) and method_of(a) not in methods()]
        if gone and not any(is_oratorios(a) and a != "auto" for a in arms_of(sweep, scale)):
            return f"{sweep.figure}: there is no method {', '.join(gone)}"
    if sweep.over != RANKS:
        return WORKLOADS[sweep.workload].refusal(sweep.ranks or max(scale.ranks))
    return ""


def plan(
    paper: Paper, figures: Sequence[str], modes: Sequence[str], scale: Scale, settings: Settings
) -> Measured:
    """Plans the runs and curves of a paper. Nothing runs yet, so the curves have no results."""
    curves, skipped, reduced = [], [], []
    for sweep in _panels(paper, scale):
        if sweep.figure not in figures:
            continue
        if reason := _why_not(sweep, scale):
            skipped.append(reason)
            continue
        if scale.full:
            reduced += _reductions(sweep, scale)
        for mode in modes:
            curves += _curves_of(sweep, scale, mode, settings)
    if scale.full and paper.their_ranks:
        reduced.append(f"ranks: {', '.join(map(str, scale.ranks))}; in the paper {paper.their_ranks}")
    skipped, reduced = tuple(dict.fromkeys(skipped)), tuple(dict.fromkeys(reduced))
    return Measured(paper, settings, tuple(curves), skipped, scale.smoke, reduced)


def _panels(paper: Paper, scale: Scale) -> list[Sweep]:
    """Returns the paper's sweeps; of a sweep with `each_ranks`, one for each number of ranks."""
    found = []
    for sweep in paper.sweeps:
        if sweep.each_ranks:
            found += [
                replace(sweep, title=f"{sweep.title}, {counted(n, 'rank')}", ranks=n) for n in scale.ranks
            ]
        else:
            found.append(sweep)
    return found


def room_in(folder: Path) -> int:
    """Returns the size in bytes of the largest file for which the folder and the memory have room: the disk
    holds the file of a method beside that of raw I/O, and the memory holds the data of all ranks twice."""
    text = Path("/proc/meminfo").read_text()
    memory = int(text.partition("MemAvailable:")[2].split()[0]) * 1024
    free = shutil.disk_usage(folder).free
    return min(free // 2, memory // (4 if report.is_in_memory(folder) else 2))


def jobs(measured: Measured) -> list[tuple[Run, Settings]]:
    """Returns each run once, with its settings; several curves may show the same run."""
    found = {id(run): (run, settings) for curve in measured.curves for _, run, settings in curve.points}
    return list(found.values())


def rates_of(curve: Curve) -> Rates:
    """Returns the MiB/s of each arm at each value."""
    by_point = [
        {s.arm: s.mib_per_s for s in report.summarise(run, settings) if s.direction == curve.direction}
        for _, run, settings in curve.points
    ]
    return {arm: [rates.get(arm) for rates in by_point] for arm in curve.arms}


def rates_of_pass(curve: Curve, number: int) -> Rates:
    """Returns the MiB/s of each arm at each value in one measured pass, counted from 0."""

    def rate(run: Run, arm: str) -> float | None:
        here = [s["mib_per_s"] for s in run.measured(arm, curve.direction) if s["repeat"] == number]
        return here[0] if here else None

    return {arm: [rate(run, arm) for _, run, _ in curve.points] for arm in curve.arms}


def lacking(need: str, mode: str, measured: Measured) -> str:
    """Returns the reason why a claim that needs a condition cannot be shown here; empty if it can.

    `need` is "" (nothing), "disk" (storage behind the page cache), "network" (several machines), "core" (a
    free core for an I/O thread, or a device that works by itself) or "gpfs"."""
    settings = measured.settings
    cached = mode == "buffered" and not settings.cold
    if measured.smoke:
        return "a smoke run is too small"
    if need == "disk" and (report.is_in_memory(settings.folder) or cached):
        return "the files are in memory; use --cold and --dir on a disk"
    if need == "network":
        return "all ranks are on one machine"
    if need == "core" and cached and (os.cpu_count() or 1) <= max(measured.paper.ranks):
        return "the ranks leave no core for an I/O thread"
    return "GPFS's own data shipping is not called" if need == "gpfs" else ""


def verdicts(measured: Measured) -> list[Verdict]:
    """Returns a verdict on each claim about a measured figure. Of two modes the one that bypasses the page
    cache decides, as in the papers."""
    modes = list(dict.fromkeys(curve.mode for curve in measured.curves))
    found = []
    for claim in measured.paper.claims:
        curves = [curve for curve in measured.curves if _is_about(claim, curve, modes[-1])]
        if not curves:
            continue
        passes = (
            claim.measure([rates_of_pass(curve, number) for curve in curves])
            for number in range(measured.settings.repeats)
        )
        alone = tuple(value for value in passes if value is not None)
        value = claim.measure([rates_of(curve) for curve in curves])
        found.append(Verdict(claim, value, alone, lacking(claim.needs, modes[-1], measured)))
    return found


def _is_about(claim: Claim, curve: Curve, mode: str) -> bool:
    sweep = curve.sweep
    same = sweep.figure == claim.figure and curve.direction == claim.direction and curve.mode == mode
    return same and claim.panel in ("", sweep.title)


def figure_names(measured: Measured) -> list[str]:
    """Returns the names of all figures with curves, in the paper's order."""
    return list(dict.fromkeys(curve.sweep.figure for curve in measured.curves))


def point_tables(measured: Measured) -> list[Table]:
    """Returns a table for each figure: a row for each value, a column for each arm."""
    tables = []
    for name in figure_names(measured):
        curves = [curve for curve in measured.curves if curve.sweep.figure == name]
        arms = list(dict.fromkeys("raw" if arm in RAW else arm for curve in curves for arm in curve.arms))
        shown = Table(title=f"{measured.paper.year}, {name}: MiB/s", title_justify="left")
        for column in ("panel", "mode", "direction", "over", "at"):
            shown.add_column(column)
        for arm in arms:
            shown.add_column(arm, justify="right")
        for curve in curves:
            rates = {"raw" if arm in RAW else arm: values for arm, values in rates_of(curve).items()}
            for place, (at, _, _) in enumerate(curve.points):
                cells = [_cell(rates.get(arm), place) for arm in arms]
                over = curve.sweep.axis
                shown.add_row(curve.sweep.title, curve.mode, curve.direction, over, at, *cells)
        tables.append(shown)
    return tables


def _cell(values: list[float | None] | None, place: int) -> str:
    value = values[place] if values else None
    return "-" if value is None else f"{value:.0f}"


def claim_table(measured: Measured) -> Table:
    """Returns a table of the paper's claims and of whether they hold here."""
    shown = Table(title=f"What the {measured.paper.year} paper says", title_justify="left", show_lines=True)
    for column in ("the paper", "figure", "direction", "measured here", "found", "verdict"):
        shown.add_column(column)
    for verdict in verdicts(measured):
        claim = verdict.claim
        shown.add_row(claim.said, claim.figure, claim.direction, claim.measured, verdict.found, verdict.word)
    return shown


def fact_table(paper: Paper) -> Table:
    """Returns a table of the paper's numbers that arithmetic yields."""
    shown = Table(title=f"Counted for the {paper.year} paper", title_justify="left", show_lines=True)
    for column in ("the paper", "counted"):
        shown.add_column(column)
    for fact in paper.counted:
        shown.add_row(fact.said, fact.counted)
    return shown


def markdown(measured: Measured, page: Path, pictures: Mapping[str, Path], command: str) -> str:
    """Returns the Markdown of `page`: the claims, then for each figure its picture, if there is one, and its
    values."""
    paper = measured.paper
    about = report.machine(measured.settings.folder)
    where = f"{plot.place(measured.settings)}, {about['processor']}, {about['date'][:10]}"
    lines = [f"# {paper.year}: {paper.title}", "", f"{where}:", "", "```sh", command, "```", ""]
    claims = table(
        ["the paper", "figure", "measured here", "found", "verdict"],
        [[v.claim.said, f"{v.claim.figure}, {v.claim.direction}", v.claim.measured, v.found, v.word]
         for v in verdicts(measured)],
    )  # fmt: skip
    lines.append(claims.rstrip("\n"))
    if paper.counted:
        facts = [[fact.said, fact.counted] for fact in paper.counted]
        lines += ["", table(["the paper", "counted"], facts).rstrip("\n")]
    for title, items in (("Not measured:", paper.absent), ("Smaller than in the paper:", measured.reduced)):
        if items:
            lines += ["", title, *(f"- {item}" for item in items)]
    for name, points in zip(figure_names(measured), point_tables(measured), strict=True):
        if name in pictures:
            lines += ["", f"![{paper.year}, {name}]({os.path.relpath(pictures[name], page.parent)})"]
        rows = zip(*(map(str, column.cells) for column in points.columns), strict=True)
        heads = [str(column.header) for column in points.columns]
        lines += ["", f"{points.title}", "", table(heads, rows).rstrip("\n")]
    return "\n".join([*lines, ""])


def draw(file: Path, measured: Measured) -> dict[str, Path]:
    """Draws each figure into a file of its own: `file` with the figure's name before the suffix. Returns name
    -> path."""
    files = {}
    for name in figure_names(measured):
        files[name] = file.with_name(f"{file.stem}-{name}{file.suffix or '.png'}")
        plot.save(figure_of(name, measured), files[name])
    return files


def _heading(name: str, measured: Measured) -> str:
    """Returns the figure's name, the place of measurement, and each claim with its outcome."""
    where = plot.place(measured.settings)
    lines = [f"{measured.paper.year} paper, {name}, for this machine ({where})"]
    for verdict in verdicts(measured):
        claim = verdict.claim
        if claim.figure == name:
            here = f"{claim.measured}: {verdict.found}, {verdict.word}" if verdict.found else verdict.word
            lines.append(f"{claim.direction}: “{claim.said}”. Here {here}.")
    return "\n".join(line for text in lines for line in textwrap.wrap(text, WRAPPED))


def figure_of(name: str, measured: Measured) -> "Figure":
    """Draws the curves of a figure: directions or modes side by side, sweeps one below the other."""
    curves = [curve for curve in measured.curves if curve.sweep.figure == name]
    columns = min(2, len(curves))
    rows = -(-len(curves) // columns)
    if len({curve.mode for curve in curves}) > 1:  # the modes of a sweep must be side by side
        titles = list(dict.fromkeys(curve.sweep.title for curve in curves))
        curves.sort(key=lambda curve: (titles.index(curve.sweep.title), curve.direction != "write"))
    heading = _heading(name, measured)
    height = 1.4 + 2.8 * rows + 0.15 * heading.count("\n")
    pyplot = plot.pyplot()
    with pyplot.rc_context(plot.STYLE):
        figure, axes = pyplot.subplots(
            rows, columns, figsize=(styles.PAGE_INCHES, height), squeeze=False, layout="constrained"
        )
        for panel, curve in zip(axes.flat, curves, strict=False):
            _draw_panel(panel, curve)
        for panel in axes.flat[len(curves) :]:
            panel.set_visible(False)
        figure.suptitle(heading, x=0.01, ha="left", fontsize=8)
        handles, words = _legend(axes)
        columns = max(1, min(5, LEGEND // (max(map(len, words)) + 8)))
        figure.legend(handles, words, loc="outside lower left", ncols=columns, frameon=False)
    return figure


def _draw_panel(panel: "Axes", curve: Curve) -> None:
    rates, base = rates_of(curve), curve.sweep.relative_to
    if base in rates:
        rates = _relative(rates, base)
    plot.draw_lines(panel, [at for at, _, _ in curve.points], rates)
    panel.set_title(curve.title, loc="left", fontsize=9, fontweight="bold")
    panel.set_xlabel(curve.sweep.axis)
    panel.set_ylabel(f"times {base}" if base in rates else "MiB/s")


def _relative(rates: Rates, base: str) -> Rates:
    """Returns the rates of all arms but raw I/O, divided by those of the arm `base`."""
    return {
        arm: [mine / its if mine and its else None for mine, its in zip(values, rates[base], strict=True)]
        for arm, values in rates.items()
        if arm not in RAW
    }


def _legend(axes: Any) -> tuple[list, list[str]]:
    """Returns the legend's lines and words. Each arm occurs once, even if several panels show it."""
    found = {}
    for panel in axes.flat:
        for handle, word in zip(*panel.get_legend_handles_labels(), strict=True):
            found.setdefault(word, handle)
    return list(found.values()), list(found)


def paper_of(year: str) -> Paper:
    """Returns the paper of that year. Raises BenchError."""
    if year not in PAPERS:
        raise BenchError(f"no paper {year}; the papers are {', '.join(PAPERS)}")
    return PAPERS[year]
