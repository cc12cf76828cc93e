"""What the benchmark's samples say: summaries, tables, JSON, charts."""

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

from oratorio.bench_run import Run, Settings, is_oratorios

DIRECTIONS = ("write", "read")
MIB = 1 << 20


@dataclass(frozen=True)
class Summary:
    """An arm's passes in one direction, without the first, unmeasured one."""

    arm: str
    direction: str
    seconds: float | None  # median of the call; None: no pass succeeded
    mib_per_s: float | None
    times_host: float | None  # how many times faster than arm `host`
    open_seconds: float | None
    call_peak_mib: float  # highest of all passes: memory added by the call
    total_peak_mib: float  # the same, with open and set_view
    verified: bool
    holes_kept: bool
    problem: str


def _summary(run: Run, arm: str, direction: str, host_seconds: float | None) -> Summary:
    passes = [s for s in run.samples if s["arm"] == arm and s["direction"] == direction]
    measured = [s for s in passes if s["repeat"] >= 0 and s["verified"]]
    seconds = median(s["seconds"] for s in measured) if measured else None
    problems = [s["error"] for s in passes if s["error"]]
    return Summary(
        arm=arm,
        direction=direction,
        seconds=seconds,
        mib_per_s=run.setup["bytes"] / MIB / seconds if seconds else None,
        times_host=host_seconds / seconds if seconds and host_seconds else None,
        open_seconds=median(s["open_seconds"] for s in measured) if measured else None,
        call_peak_mib=max((s["call_peak_bytes"] for s in passes), default=0) / MIB,
        total_peak_mib=max((s["total_peak_bytes"] for s in passes), default=0) / MIB,
        verified=bool(passes) and not problems,
        holes_kept=all(s["holes_kept"] for s in passes),
        problem=problems[0] if problems else "",
    )


def summarise(run: Run, arms: Sequence[str]) -> list[Summary]:
    """All arms in both directions."""
    result = []
    for direction in DIRECTIONS:
        host = _summary(run, "host", direction, None).seconds
        result += [_summary(run, arm, direction, host) for arm in arms]
    return result


def all_well(run: Run, arms: Sequence[str]) -> bool:
    """False if the run broke off or an arm that isn't the host's own moved wrong bytes."""
    ours = [s for s in summarise(run, arms) if not s.arm.startswith("host")]
    return not run.failure and all(s.verified for s in ours)


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _verified(summary: Summary) -> str:
    if not summary.verified:
        return "[red]NO[/red]"
    return "yes" if summary.holes_kept else "yes, gaps overwritten"


def run_table(run: Run, arms: Sequence[str]) -> Table:
    """The table of one run."""
    setup = run.setup
    average = setup["bytes"] / max(setup["pieces"], 1)
    title = (
        f"{run.label}, {run.ranks} ranks: {setup['bytes'] / MIB:.1f} MiB "
        f"in {setup['pieces']} pieces of {average:.0f} B on average"
    )
    table = Table(title=title, title_justify="left")
    for name in ("arm", "direction"):
        table.add_column(name)
    for name in ("median s", "MiB/s", "x host", "peak extra MiB"):
        table.add_column(name, justify="right")
    table.add_column("verified")
    for s in summarise(run, arms):
        table.add_row(
            s.arm, s.direction, _number(s.seconds, ".4f"), _number(s.mib_per_s, ".0f"),
            _number(s.times_host, ".2f"), f"{s.call_peak_mib:.1f}", _verified(s),
        )  # fmt: skip
    return table


def suite_table(runs: Sequence[Run], arms: Sequence[str]) -> Table:
    """All runs, a row for each direction; ratios are to the arm `host`."""
    ours = [arm for arm in arms if is_oratorios(arm)]
    table = Table(title="MiB/s; x: times as fast as host; peak: extra MiB of a rank")
    table.add_column("workload")
    table.add_column("ranks", justify="right")
    table.add_column("direction")
    for arm in arms:
        table.add_column(arm, justify="right")
    for arm in ours:
        table.add_column(f"{arm} x", justify="right")
    for arm in ("host", *ours):
        table.add_column(f"{arm} peak", justify="right")
    table.add_column("verified")
    for run in runs:
        summaries = {(s.arm, s.direction): s for s in summarise(run, arms)} if run.setup else {}
        for direction in DIRECTIONS:
            row = {arm: summaries.get((arm, direction)) for arm in ("host", *arms)}
            known = [s for arm, s in row.items() if s and arm in arms]
            well = bool(known) and not run.failure and all(s.verified for s in known)
            table.add_row(
                run.label, str(run.ranks), direction,
                *(_number(row[arm] and row[arm].mib_per_s, ".0f") for arm in arms),
                *(_number(row[arm] and row[arm].times_host, ".2f") for arm in ours),
                *(_number(row[arm] and row[arm].call_peak_mib, ".1f") for arm in ("host", *ours)),
                "yes" if well else "[red]NO[/red]",
            )  # fmt: skip
    return table


def problems(run: Run, arms: Sequence[str]) -> list[str]:
    """A line for everything that went wrong."""
    where = f"{run.label}, {run.ranks} ranks"
    lines = [f"{where}: {run.failure}"] if run.failure else []
    if run.setup:
        lines += [f"{where}, {s.arm} {s.direction}: {s.problem}" for s in summarise(run, arms) if s.problem]
    return lines


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def machine(settings: Settings) -> dict:
    """What the figures were measured on."""
    kind = subprocess.run(
        ["stat", "-f", "-c", "%T", settings.folder], capture_output=True, text=True, check=False
    )
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_mib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MIB,
        "kernel": platform.release(),
        "file_system": kind.stdout.strip(),
        "load_at_end": os.getloadavg()[0],
    }


def write_json(file: Path, runs: Sequence[Run], settings: Settings) -> None:
    """Everything, the single passes included."""
    record = {
        "machine": machine(settings),
        "mpi": {
            "name": settings.host.name,
            "version": next((r.setup["mpi_version"] for r in runs if r.setup), settings.host.version),
            "env": dict(settings.host.env),
        },
        "oratorio": settings.library.name if settings.library else None,
        "arms": settings.arms,
        "hints": [{"arm": a, "key": k, "value": v} for a, k, v in settings.hints],
        "new_file_each_time": not settings.overwrite,
        "sync": settings.sync,
        "runs": [
            asdict(run) | {"summary": [asdict(s) for s in summarise(run, settings.arms)] if run.setup else []}
            for run in runs
        ],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(record, indent=1) + "\n")
