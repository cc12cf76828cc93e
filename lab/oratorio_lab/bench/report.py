# SPDX-License-Identifier: BSD-3-Clause
"""Results of the benchmark's samples: summaries, tables, JSON."""

import datetime
import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from rich.table import Table

from oratorio.quantity import counted
from oratorio_lab.bench import predict
from oratorio_lab.bench.arms import BARE, RAW, is_host, is_oratorios
from oratorio_lab.bench.run import Run, Settings, hints_of

MIB = 1 << 20


@dataclass(frozen=True)
class Summary:
    """The results of an arm's passes in one direction. Times and rates leave out the first, unmeasured pass;
    memory and problems include it."""

    arm: str
    direction: str
    seconds: float | None  # median of the passes; None if no pass succeeded
    mib_per_s: float | None
    fastest_mib_per_s: float | None
    slowest_mib_per_s: float | None
    times_host: float | None  # speed relative to arm `host`
    times_best_host: float | None  # speed relative to the fastest arm that is the host's own MPI-IO
    percent_of_raw: float | None
    open_seconds: float | None
    call_peak_mib: float  # memory that the calls added on a rank; the maximum of all passes
    # memory that a rank's calls added, including open and set_view; the maximum of all passes
    total_peak_mib: float
    verified: bool
    holes_kept: bool
    problem: str


def _rate(run: Run, arm: str, direction: str) -> float | None:
    """Returns the MiB/s of the median pass."""
    passes = run.measured(arm, direction)
    return passes[0]["bytes"] / MIB / median(s["seconds"] for s in passes) if passes else None


def _ratio(value: float | None, to: float | None) -> float | None:
    return value / to if value and to else None


def _summary(run: Run, settings: Settings, arm: str, direction: str) -> Summary:
    passes, good = run.passes(arm, direction), run.measured(arm, direction)
    rate = _rate(run, arm, direction)
    host_rates = [_rate(run, other, direction) or 0 for other in settings.arms if is_host(other)]
    of_raw = _ratio(rate, _rate(run, settings.reference, direction))
    problems = [s["error"] for s in passes if s["error"]]
    rates = [s["mib_per_s"] for s in good]
    return Summary(
        arm=arm,
        direction=direction,
        seconds=median(s["seconds"] for s in good) if good else None,
        mib_per_s=rate,
        fastest_mib_per_s=max(rates, default=None),
        slowest_mib_per_s=min(rates, default=None),
        times_host=_ratio(rate, _rate(run, "host", direction)),
        times_best_host=_ratio(rate, max(host_rates, default=None)),
        percent_of_raw=of_raw and 100 * of_raw,
        open_seconds=median(s["open_seconds"] for s in good) if good else None,
        call_peak_mib=max((s["call_peak_bytes"] for s in passes), default=0) / MIB,
        total_peak_mib=max((s["total_peak_bytes"] for s in passes), default=0) / MIB,
        verified=bool(passes) and not problems,
        holes_kept=all(s["holes_kept"] for s in passes),
        problem=problems[0] if problems else "",
    )


def summarise(run: Run, settings: Settings) -> list[Summary]:
    """Returns the summaries of all arms in the measured directions."""
    return [_summary(run, settings, arm, d) for d in settings.directions for arm in settings.arms]


def all_well(run: Run, settings: Settings) -> bool:
    """Returns whether the run completed and all arms but the host's own MPI-IO moved the right bytes."""
    ours = [s for s in summarise(run, settings) if not is_host(s.arm)]
    return bool(run.setup) and not run.failure and all(s.verified for s in ours)


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _verified(summaries: Sequence[Summary]) -> str:
    if not summaries or not all(s.verified for s in summaries):
        return "[red]NO[/red]"
    return "yes" if all(s.holes_kept for s in summaries) else "yes, gaps overwritten"


def run_table(run: Run, settings: Settings) -> Table:
    """Returns the table of one run, a row for each arm."""
    setup = run.setup
    average = setup["bytes"] / max(setup["pieces"], 1)
    title = (
        f"{run.title}: {setup['bytes'] / MIB:.1f} MiB in {counted(setup['pieces'], 'piece')} "
        f"of {average:.0f} B on average"
    )
    for direction, rate in run.store_mib_per_s.items():
        title += f"; storage of {rate:.0f} MiB/s ({direction})"
    table = Table(title=title, title_justify="left")
    table.add_column("arm")
    for direction in settings.directions:
        for name in (f"{direction} MiB/s", "x best host", "% of raw"):
            table.add_column(name, justify="right")
    table.add_column("peak extra MiB", justify="right")
    table.add_column("verified")
    summaries = summarise(run, settings)
    for arm in settings.arms:
        mine = [s for s in summaries if s.arm == arm]
        cells = [
            cell
            for s in mine
            for cell in (
                _number(s.mib_per_s, ".0f"), _number(s.times_best_host, ".2f"),
                _number(s.percent_of_raw, ".0f"),
            )
        ]  # fmt: skip
        peak = max(s.call_peak_mib for s in mine)
        table.add_row(
            arm, *cells, f"{peak:.1f}", _verified(mine), style="bold" if is_oratorios(arm) else None
        )
    return table


def best_of(summaries: Sequence[Summary]) -> Summary | None:
    """Returns the fastest summary that has a bandwidth."""
    known = [s for s in summaries if s.mib_per_s]
    return max(known, key=lambda s: s.mib_per_s) if known else None


def _suite_row(run: Run, settings: Settings, direction: str) -> list[str]:
    summaries = [s for s in summarise(run, settings) if s.direction == direction]
    ours = [s for s in summaries if is_oratorios(s.arm)]
    raw = next((s for s in summaries if s.arm == settings.reference), None)
    host = best_of([s for s in summaries if is_host(s.arm)])
    best = best_of(ours)
    shown = {
        "auto": next((s for s in ours if s.arm == "auto"), None),
        "best": best if "auto" not in settings.arms or len(ours) > 1 else None,
    }
    cells = [run.label, str(run.ranks), direction]
    cells += [_number(raw and raw.mib_per_s, ".0f"), _number(host and host.mib_per_s, ".0f")]
    cells += [host.arm if host else "-"]
    for s in shown.values():
        cells += [
            _number(s and s.mib_per_s, ".0f"), _number(s and s.times_best_host, ".2f"),
            _number(s and s.percent_of_raw, ".0f"),
        ]  # fmt: skip
    cells += [shown["best"].arm if shown["best"] else "-"]
    if BARE.keys() & set(settings.arms):
        bare = best_of([s for s in summaries if s.arm in BARE])
        of_bare = _ratio(shown["auto"] and shown["auto"].mib_per_s, bare and bare.mib_per_s)
        cells += [_number(bare and bare.mib_per_s, ".0f"), _number(of_bare and 100 * of_bare, ".0f")]
    cells += [_number(max((s.call_peak_mib for s in ours), default=None), ".1f")]
    return [*cells, _verified([s for s in summaries if not is_host(s.arm)] if not run.failure else [])]


def suite_table(runs: Sequence[Run], settings: Settings) -> Table:
    """Returns a table of all runs, a row for each direction."""
    table = Table(
        title="MiB/s; x: times as fast as the best arm of the host; %: of raw I/O", title_justify="left"
    )
    for name in ("workload", "ranks", "direction", settings.reference, "best host", "which"):
        table.add_column(name, justify="left" if name in ("workload", "direction", "which") else "right")
    for name in ("auto", "x", "%", "best method", "x", "%"):
        table.add_column(name, justify="right")
    table.add_column("which")
    if BARE.keys() & set(settings.arms):
        table.add_column("bare", justify="right")
        table.add_column("auto in % of bare", justify="right")
    table.add_column("peak extra MiB", justify="right")
    table.add_column("verified")
    for run in runs:
        for direction in settings.directions:
            table.add_row(*_suite_row(run, settings, direction))
    return table


def problems(run: Run, settings: Settings) -> list[str]:
    """Returns lines for the failure of a run and for the first problem of each arm in each direction."""
    lines = [f"{run.title}: {run.failure}"] if run.failure else []
    if not run.setup:
        return lines
    return lines + [
        f"{run.title}, {s.arm} {s.direction}: {s.problem}" for s in summarise(run, settings) if s.problem
    ]


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def file_system(folder: Path) -> str:
    """Returns the name of the type of the file system that holds a folder."""
    told = subprocess.run(["df", "--output=fstype", folder], capture_output=True, text=True, check=False)
    return told.stdout.splitlines()[-1].strip() if told.returncode == 0 else "unknown"


def is_in_memory(folder: Path) -> bool:
    """Returns whether the folder's files have no storage below the page cache."""
    return file_system(folder) in ("tmpfs", "ramfs")


def machine(folder: Path) -> dict:
    """Describes the machine on which the figures were measured."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_mib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MIB,
        "kernel": platform.release(),
        "file_system": file_system(folder),
        "load_at_end": os.getloadavg()[0],
    }


def _run_record(run: Run, settings: Settings) -> dict:
    record = asdict(run) | {"map_file": run.map_file.name if run.map_file else None}
    record["hints"] = {
        arm: dict(hints_of(run, settings, arm))
        for arm in settings.arms if arm not in RAW
    }  # fmt: skip
    record |= {"arms": settings.arms, "reference": settings.reference, "direct": settings.direct}
    record["summary"] = [asdict(s) for s in summarise(run, settings)] if run.setup else []
    return record


def write_json(file: Path, jobs: Sequence[tuple[Run, Settings]], settings: Settings) -> None:
    """Writes all results, including every pass. `settings` describes the whole command, and each job has the
    settings of its run."""
    record = {
        "machine": machine(settings.folder),
        "mpi": {
            "name": settings.host.name,
            "version": next((r.setup["mpi_version"] for r, _ in jobs if r.setup), settings.host.version),
            "env": dict(settings.host.env),
        },
        "oratorio": settings.library.name if settings.library else None,
        "new_file_each_time": not settings.overwrite,
        "sync": settings.sync,
        "cold": settings.cold,
        "malloc": settings.malloc,
        "nodes": settings.nodes,
        "link": settings.link,
        "rate": settings.rate,
        "predictions": predict.record([run for run, _ in jobs], settings),
        "runs": [_run_record(run, of_run) for run, of_run in jobs],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(record, indent=1) + "\n")
