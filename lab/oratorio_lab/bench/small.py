# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio bench small`: times of small independent accesses, with the host's MPI-IO and with Oratorio."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from oratorio.launch.hosts import Host
from oratorio.library import description
from oratorio.paths import ROOT
from oratorio.quantity import counted
from oratorio_lab.bench.calls import output_of
from oratorio_lab.bench.workloads import BenchError

SOURCE = ROOT / "lab/bench/calls/small.c"

# Kind of access, as the program prints it -> what it is.
KINDS = {
    "write": "write",
    "read_written": "read what was written",
    "read": "read after an open",
    "read_again": "read again",
    "write_gaps": "write through a view of its own bytes",
    "read_gaps": "read through a view of its own bytes",
}


@dataclass(frozen=True)
class Amount:
    """What each rank accesses: it makes `calls` accesses of `size` bytes. The ranks' accesses alternate in
    the file, and the beginnings of two neighbours are `distance` bytes apart."""

    size: int
    distance: int
    calls: int

    def __post_init__(self) -> None:
        if self.distance < self.size:
            raise BenchError(f"--distance must be at least --bytes, {self.size}, not {self.distance}")


@dataclass(frozen=True)
class Arm:
    """The host's MPI-IO, or Oratorio with its default store or another one."""

    title: str
    preload: bool = True
    store: str | None = None

    @property
    def env(self) -> Mapping[str, str] | None:
        return {"ORATORIO_HINTS": f"oratorio_store={self.store}"} if self.store else None


def arms_of(stores: Sequence[str]) -> list[Arm]:
    """Returns the arms that are measured: the host, Oratorio, and Oratorio with each of `stores`. Raises
    BenchError for an unknown store."""
    (known,) = (row["words"] for row in description.rows("hints") if row["key"] == "oratorio_store")
    for one in stores:
        if one not in known:
            raise BenchError(f"no store {one}; there are {', '.join(known)}")
    return [Arm("host's MPI-IO", preload=False), Arm("Oratorio"), *(Arm(one, store=one) for one in stores)]


def run(host: Host, arm: Arm, amount: Amount, ranks: int, folder: Path) -> dict[str, float]:
    """Runs the program once. Returns the seconds of a call of each kind. Raises BenchError if it fails."""
    words = [str(amount.size), str(amount.distance), str(amount.calls)]
    told = output_of(host, SOURCE, words, ranks, folder / "oratorio-small.dat", arm.preload, arm.env)
    return {kind: float(seconds) for kind, seconds in map(str.split, told.splitlines())}


def measure(host: Host, arms: Sequence[Arm], amount: Amount, ranks: int, repeats: int, folder: Path) -> Table:
    """Measures all kinds of access with all arms in turns. The table has the medians of `repeats` runs."""
    found: dict[Arm, list[dict[str, float]]] = {arm: [] for arm in arms}
    for _ in range(repeats):
        for arm, runs in found.items():
            runs.append(run(host, arm, amount, ranks, folder))
    title = (
        f"microseconds a call: {counted(ranks, 'rank')} x {amount.calls} accesses of {amount.size} B every "
        f"{amount.distance} B, {host.name} {host.version}, medians of {counted(repeats, 'run')}"
    )
    table = Table("access", *(arm.title for arm in arms), title=title)
    for kind, text in KINDS.items():
        times = (1e6 * statistics.median(one[kind] for one in runs) for runs in found.values())
        table.add_row(text, *(f"{time:.2f}" for time in times))
    return table
