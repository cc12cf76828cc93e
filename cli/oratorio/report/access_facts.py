# SPDX-License-Identifier: BSD-3-Clause
"""Facts about a job's files, from a recording of Oratorio or from a Darshan log, for the rules in
access_rules.py.

`facts_of_run` takes the facts from a recording, `oratorio.advise.log` takes them from a Darshan log. Some are
in Darshan logs only, such as the chunks of datasets.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from oratorio.report.facts import Group, Run, groups_of, median, spent_of
from oratorio.report.finding import SMALL_PIECE
from oratorio.trace.trace import Access, File, call_seconds

Read = TypeVar("Read")
HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
CLASSIC_MAGIC = b"CDF"


@dataclass(frozen=True)
class Stream:
    """All accesses to one file with the same direction, either collective or independent."""

    direction: str  # read or write
    is_collective: bool
    calls: int  # the largest number of calls of any rank; from a Darshan log, the mean number of a rank
    accesses: int  # number of calls of all ranks together
    moved: int  # bytes, all ranks
    seconds: float  # summed over all ranks
    ranks: int = 1  # ranks that made accesses

    @property
    def mean(self) -> float:
        """The mean number of bytes that one rank moves with one call."""
        return self.moved / self.accesses if self.accesses else 0.0


@dataclass(frozen=True)
class Dataset:
    """An HDF5 dataset in chunks. `selected` is the most frequent extent of one rank's accesses; it has the
    same number of dimensions as `chunk`."""

    name: str
    chunk: tuple[int, ...]
    selected: tuple[int, ...]
    seconds: float = 0.0


@dataclass(frozen=True)
class FileFacts:
    """The facts of one file. A number that is unknown is 0."""

    path: str
    ranks: int  # ranks that opened the file
    streams: tuple[Stream, ...] = ()
    library: str = ""  # HDF5 or netCDF classic, as far as known
    opens: int = 1  # the largest number of opens by one rank; from a Darshan log, the mean number
    metadata_calls: int = 0  # opens, and calls such as stat, seek and set_view, of all ranks
    metadata_seconds: float = 0.0  # time in opens, closes and these calls, summed over all ranks
    repeated_reads: int = 0  # small reads of bytes that another rank read, too
    repeated_seconds: float = 0.0
    stripe: int = 0  # bytes
    large: int = 0  # accesses of the storage that are large enough for stripes to matter
    unaligned: int = 0  # large accesses that do not begin at a stripe
    unaligned_seconds: float = 0.0
    # True if the program selected collective access in HDF5, None if this is not known.
    collective_selected: bool | None = None
    datasets: tuple[Dataset, ...] = ()

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def seconds(self) -> float:
        return sum(stream.seconds for stream in self.streams)


@dataclass(frozen=True)
class Balance:
    """One rank compared with all other ranks."""

    where: str  # the file's name, or words for several files, such as "All files"
    rank: int
    moved: int  # bytes
    typical_moved: float  # bytes of one other rank: the median, or the mean if only that is known
    seconds: float
    typical_seconds: float


@dataclass(frozen=True)
class JobFacts:
    """The facts of a job: its files, and ranks that moved or took more than others."""

    files: tuple[FileFacts, ...]
    ranks: int
    seconds: float  # duration of the job, or of its file accesses
    balances: tuple[Balance, ...] = ()

    def streams(self, is_collective: bool) -> list[tuple[FileFacts, Stream]]:
        """Returns the collective or the independent streams, each with its file."""
        return [(f, s) for f in self.files for s in f.streams if s.is_collective == is_collective]


def library_of(path: str) -> str:
    """Returns the name of the library that wrote a file, judged by the file's first bytes; empty if
    unknown."""
    begin = b""
    with suppress(OSError), Path(path).open("rb") as file:
        begin = file.read(len(HDF5_MAGIC))
    if begin == HDF5_MAGIC:
        return "HDF5"
    return "netCDF classic" if begin.startswith(CLASSIC_MAGIC) else ""


def balances_of(where: str, moved: Mapping[int, int], seconds: Mapping[int, float]) -> list[Balance]:
    """Compares the rank that moved most, and the slowest rank, with all others; returns an empty list for a
    single rank."""
    if len(moved) < 2:
        return []
    chosen = {max(moved, key=moved.__getitem__), max(moved, key=lambda rank: seconds.get(rank, 0.0))}
    found = []
    for rank in sorted(chosen):
        others = [other for other in moved if other != rank]
        usual = median(moved[other] for other in others)
        usual_seconds = median(seconds.get(other, 0.0) for other in others)
        found.append(Balance(where, rank, moved[rank], usual, seconds.get(rank, 0.0), usual_seconds))
    return found


def _stream(group: Group) -> Stream:
    return Stream(
        group.direction, group.is_collective, group.calls, len(group.accesses), group.moved,
        spent_of(group.accesses).total, len({access.process for access in group.accesses}),
    )  # fmt: skip


def read_by_several(reads: Iterable[tuple[tuple[int, int], int, Read]]) -> list[Read]:
    """Returns the reads of ranges that several ranks read. Each element of `reads` is a range, a rank and the
    read."""
    ranks: dict[tuple[int, int], set[int]] = defaultdict(set)
    found: dict[tuple[int, int], list[Read]] = defaultdict(list)
    for extent, rank, read in reads:
        ranks[extent].add(rank)
        found[extent].append(read)
    return [read for extent, some in found.items() if len(ranks[extent]) > 1 for read in some]


def _is_small_read(access: Access) -> bool:
    args = access.args
    return access.collective is None and args["direction"] == "read" and 0 < args["moved"] < SMALL_PIECE


def _open_close_seconds(files: list[File]) -> float:
    """Returns the time in opens and closes, summed over all ranks; 0 in a recording of Oratorio 0.2."""
    spent = call_seconds(files)
    return sum(seconds for name in ("open", "close") for seconds in spent.get(name, {}).values())


def _processes(file: File) -> set[int]:
    """Returns the ranks of MPI_COMM_WORLD with accesses or other calls in the record of a file."""
    return {one.process for one in (*file.accesses, *file.calls)}


def _facts_of(files: list[File]) -> FileFacts:
    """Returns the facts of one file; `files` has a record for each of its opens."""
    first, accesses = files[0], [access for file in files for access in file.accesses]
    small = (a for a in accesses if _is_small_read(a))
    repeated = read_by_several((tuple(a.args["hull"]), a.process, a) for a in small)
    stripe = int(first.args["hints"].get("striping_unit", 0) or 0)
    large = [a for a in accesses if stripe and a.collective is None and 8 * a.args["moved"] >= stripe]
    unaligned = [a for a in large if a.args["hull"][0] % stripe]
    opens = Counter(process for file in files for process in _processes(file))
    return FileFacts(
        first.location, max(len(opens), *(file.ranks for file in files)),
        tuple(map(_stream, groups_of(*files))), library_of(first.location),
        max(opens.values(), default=len(files)), metadata_seconds=_open_close_seconds(files),
        repeated_reads=len(repeated),
        repeated_seconds=spent_of(repeated).total, stripe=stripe, large=len(large),
        unaligned=len(unaligned), unaligned_seconds=spent_of(unaligned).total,
    )  # fmt: skip


def facts_of_run(run: Run) -> JobFacts:
    """Returns the facts of a recording."""
    by_path: dict[tuple[str, int], list[File]] = defaultdict(list)
    moved: dict[int, int] = defaultdict(int)
    for file in run.files:
        by_path[file.location, file.ranks].append(file)
        for access in file.accesses:
            moved[access.process] += access.args["moved"]
    accesses = [access for file in run.files for access in file.accesses]
    seconds = run.wall_seconds or max((a.end for a in accesses), default=0.0) - min(
        (a.begin for a in accesses), default=0.0
    )
    working = {process: spent.total - spent.waiting for process, spent in run.processes.items()}
    files = tuple(_facts_of(files) for files in by_path.values())
    return JobFacts(files, run.ranks, seconds, tuple(balances_of("All files", moved, working)))
