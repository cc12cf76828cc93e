# SPDX-License-Identifier: BSD-3-Clause
"""The data of one run: its trace and explanations, and the sums that a page or a piece of advice needs."""

from __future__ import annotations

import os
import platform
import re
import statistics
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from oratorio import __version__
from oratorio.machine import costs
from oratorio.machine.mounts import Mount, mount_of
from oratorio.report.compared import Compared
from oratorio.report.explained import Explained
from oratorio.trace.table import method_of
from oratorio.trace.trace import Access, File, call_seconds

PARTS = ("storage", "copying", "waiting", "planning", "rest")


@dataclass(frozen=True)
class Spent:
    """The seconds that accesses took, by what the time was spent on."""

    storage: float = 0.0
    copying: float = 0.0
    waiting: float = 0.0
    planning: float = 0.0
    rest: float = 0.0

    @property
    def total(self) -> float:
        return sum(getattr(self, part) for part in PARTS)

    def __add__(self, other: Spent) -> Spent:
        return Spent(*(getattr(self, part) + getattr(other, part) for part in PARTS))


def _planning(access: Access) -> float:
    """Returns the seconds of planning, except the time in details (waiting, copying, storage) within it."""
    phases = [span for span in access.spans if span.name == "planning"]
    inside = [span for span in access.spans if span.category == "detail"]
    seconds = sum(phase.seconds for phase in phases)
    for phase in phases:
        for span in inside:
            seconds -= max(0.0, min(phase.end, span.end) - max(phase.begin, span.begin))
    return max(0.0, seconds)


def spent_by(access: Access) -> Spent:
    """Returns the times of one access. A nonblocking or split access has no `rest`, because in the remaining
    time the program did its own work."""
    counted = [access.count(name) / 1e9 for name in ("storage_time", "copy_time", "wait_time")]
    planning = _planning(access)
    known = sum(counted) + planning
    rest = 0.0 if access.args.get("started") else max(0.0, access.seconds - known)
    return Spent(*counted, planning, rest)


def spent_of(accesses: Iterable[Access]) -> Spent:
    """Returns the sum of the times of several accesses."""
    return sum((spent_by(access) for access in accesses), Spent())


def spent_by_process(files: Sequence[File]) -> dict[int, Spent]:
    """Returns the times of each rank of MPI_COMM_WORLD, over all files."""
    found: dict[int, Spent] = defaultdict(Spent)
    for file in files:
        for access in file.accesses:
            found[access.process] += spent_by(access)
    return dict(sorted(found.items()))


@dataclass
class Group:
    """Accesses of the same kind and method: the collective accesses of all ranks in several calls, or
    independent accesses."""

    name: str
    method: str
    accesses: list[Access]

    @property
    def calls(self) -> int:
        """The largest number of calls of any rank."""
        made: dict[int, int] = defaultdict(int)
        for access in self.accesses:
            made[access.process] += 1
        return max(made.values())

    @property
    def moved(self) -> int:
        return sum(access.args["moved"] for access in self.accesses)

    @property
    def pieces(self) -> int:
        """The number of pieces in the file, summed over all ranks. An access without data has none."""
        return sum(access.args.get("pieces", 0) for access in self.accesses)

    @property
    def piece_bytes(self) -> float:
        return self.moved / self.pieces if self.pieces else 0.0

    @property
    def rounds(self) -> int:
        return max(access.args.get("rounds", 0) for access in self.accesses)

    @property
    def seconds(self) -> float:
        """The longest time that any rank spent in these accesses."""
        spent: dict[int, float] = defaultdict(float)
        for access in self.accesses:
            spent[access.process] += access.seconds
        return max(spent.values())

    @property
    def is_collective(self) -> bool:
        return self.accesses[0].collective is not None

    @property
    def direction(self) -> str:
        return self.accesses[0].args["direction"]

    def sum(self, counter: str) -> int:
        return sum(access.count(counter) for access in self.accesses)


def likeness(path: str) -> str:
    """Returns a key that is equal for paths that differ only in numbers, such as the paths of one file for
    each rank or each step."""
    return re.sub(r"\d+", "#", path)


def alike(files: Sequence[File]) -> list[list[File]]:
    """Groups files with accesses that the page describes together: they have the same number of ranks, and
    their paths differ only in numbers. Groups with the most time come first. A file is in its group once
    for each open."""
    found: dict[tuple[str, int], list[File]] = defaultdict(list)
    for file in files:
        if file.accesses:
            found[likeness(file.path), file.ranks].append(file)
    return sorted(found.values(), key=lambda some: -sum(spent_of(file.accesses).total for file in some))


def groups_of(*files: File) -> list[Group]:
    """Groups accesses by kind and method, in the order of each group's first start."""
    found: dict[tuple[str, str], list[Access]] = defaultdict(list)
    for access in (access for file in files for access in file.accesses):
        started = "started " if access.args.get("started") else ""
        kind = "independent" if access.collective is None else "collective"
        name = f"{started}{kind} {access.args['direction']}"
        found[name, method_of(access)].append(access)
    groups = [Group(name, method, accesses) for (name, method), accesses in found.items()]
    return sorted(groups, key=lambda group: min(access.begin for access in group.accesses))


def calls_of(group: Group) -> list[list[Access]]:
    """Returns the collective calls of a group, each with the accesses of its ranks."""
    calls: dict[tuple[int, int], list[Access]] = defaultdict(list)
    for access in group.accesses:
        if access.collective is not None:
            calls[access.args["file"], access.collective].append(access)
    return [calls[number] for number in sorted(calls)]


@dataclass
class Run:
    """A run, recorded by Oratorio or read from files. Unknown fields are empty, but `cores` and `machine` are
    always those of the machine that makes the report."""

    files: list[File]
    explained: Explained = field(default_factory=Explained)
    command: str = ""
    program: str = ""  # which MPI the program uses, in words
    wall_seconds: float | None = None
    exit_code: int | None = None
    began: float | None = None  # seconds since 1970
    environment: dict[str, str] = field(default_factory=dict)
    cores: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    machine: str = field(default_factory=platform.node)
    compared: Compared | None = None  # a comparison of the program with and without Oratorio
    unread: str = ""  # why the trace can't be read
    full_folder: str = ""  # the folder of the recording, if it was full when the run had ended

    @property
    def version(self) -> str:
        return self.explained.version or __version__

    @property
    def accesses(self) -> int:
        return sum(len(file.accesses) for file in self.files)

    @property
    def dropped(self) -> int:
        """The accesses that the trace left out because there were too many."""
        return sum(file.dropped_accesses for file in self.files)

    @property
    def moved(self) -> int:
        return sum(access.args["moved"] for file in self.files for access in file.accesses)

    @cached_property
    def processes(self) -> dict[int, Spent]:
        return spent_by_process(self.files)

    @cached_property
    def call_seconds(self) -> dict[str, dict[int, float]]:
        """Routine that moves no data, such as open -> rank of MPI_COMM_WORLD -> seconds that the rank spent
        in it; empty if the trace has no calls."""
        return call_seconds(self.files)

    @property
    def dropped_calls(self) -> int:
        """The calls that the trace left out because there were too many."""
        return sum(file.dropped_calls for file in self.files)

    @property
    def io_seconds(self) -> float:
        """The longest time that any rank spent in accesses."""
        return max((spent.total for spent in self.processes.values()), default=0.0)

    @property
    def ranks(self) -> int:
        """The number of ranks of the largest file, or of all ranks with accesses if these are more: each rank
        may open a file of its own."""
        return max(len(self.processes), *(file.ranks for file in self.files), 0)

    @property
    def nodes(self) -> int:
        """The number of nodes of the largest file, or of all files if these are more."""
        names = {node["name"] for file in self.files for node in file.args["nodes"]}
        return max(len(names), *(file.nodes for file in self.files), 1)

    @property
    def ranks_per_node(self) -> int:
        """The largest number of ranks on one node: of one file, or those with accesses to any file."""
        most = 0
        with_accesses: dict[str, set[int]] = defaultdict(set)
        for file in self.files:
            processes = {access.rank: access.process for access in file.accesses}
            known = sorted(processes)
            of_file: dict[int, int] = defaultdict(int)
            begin = 0
            for node, ranks in file.args["placement"]:
                of_file[node] += ranks
                here = with_accesses[file.args["nodes"][node]["name"]]
                some = known[bisect_left(known, begin) : bisect_left(known, begin + ranks)]
                here.update(processes[rank] for rank in some)
                begin += ranks
            most = max(most, *of_file.values(), 0)
        return max(most, *map(len, with_accesses.values()), 0)


def file_system_of(file: File) -> Mount | None:
    """Returns the mount that a file lies on, from this machine's list; None if the mounts are unknown."""
    return mount_of(file.location)


def library_name(file: File) -> str:
    """Returns the library's name of the file system, such as TMPFS, NFS or UFS."""
    return str(file.args["hints"].get("romio_filesystem_type", "UFS:")).rstrip(":")


@dataclass(frozen=True)
class Limit:
    """A run's rate and the machine's calibrated rate, in bytes per second of one rank."""

    what: str
    measured: float
    calibrated: float
    seconds: float  # time that the run spent storing, loading or copying these bytes, summed over all ranks

    @property
    def share(self) -> float:
        return self.measured / self.calibrated


@dataclass(frozen=True)
class Limits:
    """The run's rates on one file system, each with its limit."""

    file_system: str
    source: str  # the file of costs; empty if there is none
    limits: tuple[Limit, ...] = ()


def _limit(what: str, amount: int, seconds: float, nanoseconds: float | None) -> list[Limit]:
    if not (amount and seconds > 0 and nanoseconds):
        return []
    return [Limit(what, amount / seconds, 1e9 / nanoseconds, seconds)]


def _limits(accesses: Sequence[Access], values: dict[str, float], several: bool) -> tuple[Limit, ...]:
    def sum_of(name: str, direction: str) -> int:
        return sum(access.count(name) for access in accesses if access.args["direction"] == direction)

    write = values.get("contended_byte" if several else "write_byte")
    copied = sum(sum_of(n, d) for n in ("bytes_packed", "bytes_placed", "bytes_shared", "bytes_merged")
                 for d in ("read", "write"))  # fmt: skip
    copy_time = sum(sum_of("copy_time", d) for d in ("read", "write")) / 1e9
    return (
        *_limit("written to the storage", sum_of("bytes_stored", "write"),
                sum_of("storage_time", "write") / 1e9, write),
        *_limit("read from the storage", sum_of("bytes_loaded", "read"),
                sum_of("storage_time", "read") / 1e9, values.get("read_byte")),
        *_limit("copied", copied, copy_time, values.get("copy_byte")),
    )  # fmt: skip


def limits_of(run: Run, environ: dict[str, str]) -> list[Limits]:
    """Returns the limits of each file system that the run accessed."""
    by_name: dict[str, list[File]] = defaultdict(list)
    for file in run.files:
        if file.accesses:
            by_name[library_name(file)].append(file)
    found = []
    for name, files in by_name.items():
        text, source = costs.in_force(environ, costs.names_of(run.machine, name))
        accesses = [access for file in files for access in file.accesses]
        several = len({a.process for a in accesses if a.count("bytes_stored")}) > 1
        limits = _limits(accesses, costs.values_of(text), several) if source else ()
        found.append(Limits(name, source, limits))
    return found


def late_seconds(call: Sequence[Access]) -> float:
    """Returns the time from the first rank's start to the last rank's, in one collective call."""
    return max(access.begin for access in call) - min(access.begin for access in call)


def median(values: Iterable[float]) -> float:
    """Returns the median, or 0 if there are no values."""
    listed = list(values)
    return statistics.median(listed) if listed else 0.0
