# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio bench calls`: small records written one by one, and computation that overlaps a write."""

import dataclasses
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.table import Table

from oratorio.launch.hosts import Host, run_ranks
from oratorio.paths import ROOT
from oratorio.quantity import counted
from oratorio_lab import targets
from oratorio_lab.bench.workloads import BenchError

SOURCE = ROOT / "lab/bench/calls/calls.c"
TIMEOUT_SECONDS = 300
GATHERED = {"ORATORIO_HINTS": "oratorio_shared_write_behind=1048576"}


def output_of(
    host: Host,
    source: Path,
    words: Sequence[str],
    ranks: int,
    file: Path,
    preload: bool,
    env: Mapping[str, str] | None = None,
) -> str:
    """Builds a C program of lab/bench/calls for the host's MPI, runs it with `file` and `words` as arguments,
    and removes the file. Returns what the program prints. Raises TargetError or BenchError."""
    program = targets.compile_program(host.mpicc, source, f"{source.stem}-{host.name}", "-O2")
    what = f"{source.stem} {' '.join(words)}"
    file.unlink(missing_ok=True)
    try:
        done = run_ranks(
            host, ranks, [program, file, *words], preload=preload, env=env, timeout_seconds=TIMEOUT_SECONDS
        )
    except subprocess.TimeoutExpired as late:
        raise BenchError(f"{what}: still running after {TIMEOUT_SECONDS} seconds") from late
    finally:
        file.unlink(missing_ok=True)
    if done.returncode != 0:
        raise BenchError(f"{what}: exit code {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


@dataclasses.dataclass(frozen=True)
class Arm:
    """One way to run the program: a kind of access, whether Oratorio is preloaded, and whether it gathers
    records."""

    kind: str
    preload: bool = False
    gathered: bool = False


def run(host: Host, arm: Arm, amount: float, ranks: int, folder: Path) -> list[float]:
    """Runs the program and returns the figures that it prints: seconds of a call, or of computing, writing
    and both."""
    words = [arm.kind, f"{amount:g}"]
    env = GATHERED if arm.gathered else None
    told = output_of(host, SOURCE, words, ranks, folder / "oratorio-calls.dat", arm.preload, env)
    return [float(word) for word in told.split()]


# Kind of access -> the routine that writes a record, and how many tenths of --records each rank writes. The
# tenths are chosen so that all kinds take about equally long.
ROUTINES = {
    "shared": ("write_shared", 10),
    "ordered": ("write_ordered", 1),
    "all": ("write_at_all", 2),
    "iall": ("iwrite_at_all and MPI_Wait", 2),
}


def measure(host: Host, ranks: int, repeats: int, records: int, folder: Path, disk: Path) -> Table:
    """Measures all kinds of access. The table has, for records, the medians of interleaved runs and the speed
    relative to the host's MPI-IO, and for the overlapped write the times of the fastest run."""
    title = f"{host.name}, medians of {repeats} runs"
    table = Table("what", "pwrite(2)", "host's MPI-IO", "Oratorio", "ratio", "gathered", "ratio", title=title)
    few = [(kind, count) for count in (1, 2) for kind in ("all", "iall")]
    for kind, count in [("shared", ranks), ("ordered", ranks), *few]:
        routine, times = ROUTINES[kind]
        amount = max(1, records * times // 10)
        arms = [Arm("raw"), Arm(kind), Arm(kind, preload=True)]
        if kind == "shared":
            arms.append(Arm(kind, preload=True, gathered=True))
        seconds: dict[Arm, list[float]] = {arm: [] for arm in arms}
        for _ in range(repeats):
            for arm, found in seconds.items():
                found.extend(run(host, arm, amount, count, folder))
        raw, own, *ours = (1e6 * statistics.median(found) for found in seconds.values())
        what = f"{routine}, {counted(count, 'rank')} x {amount} records of 100 B, microseconds a call"
        told = [text for each in ours for text in (f"{each:.1f}", f"{own / each:.1f}x")]
        table.add_row(what, f"{raw:.1f}", f"{own:.1f}", *told)
    for count in (1, 2):
        own, ours = (
            min((run(host, arm, 1, count, disk) for _ in range(repeats)), key=lambda s: s[2])
            for arm in (Arm("overlap"), Arm("overlap", preload=True))
        )
        what = f"iwrite_at_all, {counted(count, 'rank')}: seconds of computing, of writing, of both at once"
        texts = [" ".join(f"{second:.2f}" for second in told) for told in (own, ours)]
        table.add_row(what, "", *texts)
    return table
