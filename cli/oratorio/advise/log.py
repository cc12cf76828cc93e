# SPDX-License-Identifier: BSD-3-Clause
"""Reads a Darshan log into the facts that the rules need.

Only `read` and the functions that it calls use PyDarshan. A record has the path of its file, a rank
(ALL_RANKS if Darshan summed up all ranks), and counters by name. Darshan's times of a shared
record are sums over all ranks.
"""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oratorio.errors import OratorioError
from oratorio.report.access_facts import (
    Balance,
    Dataset,
    FileFacts,
    JobFacts,
    Stream,
    balances_of,
    read_by_several,
)
from oratorio.report.finding import SMALL_PIECE

MISSING = "advise needs PyDarshan to read a log; install it: pip install darshan, or 'oratorio[darshan]'"
STRIPE_LEAST = 64 << 10  # bytes; a smaller alignment is the block size of a local file system
ALL_RANKS = -1
DIRECTIONS = {"read": ("READS", "READ"), "write": ("WRITES", "WRITTEN")}
MODULES = ("POSIX", "MPI-IO", "H5D")
TRACES = ("DXT_POSIX", "DXT_MPIIO")
DATASET_DIMENSIONS = 5  # number of dimensions that Darshan records


@dataclass(frozen=True)
class Record:
    """One record of a module."""

    name: str  # the file's path; for a dataset, followed by a colon and the dataset's name
    rank: int
    counters: Mapping[str, float]

    def get(self, counter: str) -> float:
        """Returns a counter; 0 if it is absent, or negative, which Darshan uses for unknown values."""
        return max(0.0, float(self.counters.get(counter, 0)))


@dataclass(frozen=True)
class Segment:
    """One access that DXT recorded."""

    name: str
    rank: int
    direction: str
    offset: int
    length: int
    seconds: float


@dataclass(frozen=True)
class Log:
    """The contents of a Darshan log, which describes one job."""

    processes: int
    seconds: float
    records: Mapping[str, Sequence[Record]] = field(default_factory=dict)  # module -> records
    segments: Mapping[str, Sequence[Segment]] = field(default_factory=dict)  # DXT module -> accesses

    def of(self, module: str) -> Sequence[Record]:
        return self.records.get(module, ())

    def has_trace(self) -> bool:
        return any(self.segments.values())


def _records(report: Any, module: str) -> list[Record]:
    names = report.counters[module]
    made = []
    for one in report.records[module]:
        counters = {}
        for kind in ("counters", "fcounters"):
            values = one[kind]
            counters.update({name: float(values[i]) for i, name in enumerate(names[kind])})
        name = report.name_records.get(one["id"], str(one["id"]))
        made.append(Record(name, int(one["rank"]), counters))
    return made


def _segments(report: Any, module: str) -> list[Segment]:
    """Returns the accesses that a DXT module recorded. Those without an offset are left out: Darshan gives
    all accesses of Open MPI through MPI-IO the offset -1."""
    made = []
    for one in report.records[module]:
        name = report.name_records.get(one["id"], str(one["id"]))
        for direction in DIRECTIONS:
            made += [
                Segment(name, int(one["rank"]), direction, int(s["offset"]), int(s["length"]),
                        float(s["end_time"] - s["start_time"]))
                for s in one[f"{direction}_segments"] if s["offset"] >= 0
            ]  # fmt: skip
    return made


def read(path: Path) -> Log:
    """Reads a log. Raises OratorioError if PyDarshan is missing or the file isn't a Darshan log."""
    try:
        darshan = importlib.import_module("darshan")
    except ImportError:
        raise OratorioError(MISSING) from None
    if not path.is_file():
        raise OratorioError(f"{path} does not exist or is not a file")
    try:
        with darshan.DarshanReport(str(path), read_all=False) as report:
            job = report.metadata["job"]
            for module in MODULES:
                if module in report.modules:
                    report.mod_read_all_records(module, dtype="numpy")
            for module in TRACES:
                if module in report.modules:
                    report.mod_read_all_dxt_records(module, dtype="dict")
            return Log(
                int(job["nprocs"]), float(job["run_time"]),
                {module: _records(report, module) for module in MODULES if module in report.modules},
                {module: _segments(report, module) for module in TRACES if module in report.modules},
            )  # fmt: skip
    except (RuntimeError, ValueError, KeyError, OSError) as error:
        raise OratorioError(f"{path} can't be read as a Darshan log: {error}") from None


def by_name(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Groups records by their file."""
    found: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        found[record.name].append(record)
    return found


def total(records: Iterable[Record], *counters: str) -> float:
    """Returns the sum of the counters over all records."""
    return sum(record.get(counter) for record in records for counter in counters)


def _ranks(records: Sequence[Record], processes: int) -> int:
    """Returns how many ranks accessed a file. A shared record does not say how many did, so all ranks
    count."""
    return processes if any(r.rank == ALL_RANKS for r in records) else len({r.rank for r in records})


def _split(records: Sequence[Record], collective: float, moved: float, accesses: float) -> float:
    """Estimates how many of the bytes moved belong to collective accesses, because Darshan has only one sum.

    If one of the four most frequent sizes occurs as often as there are collective accesses, it is taken as
    their size. Otherwise all accesses are taken to have the same size.
    """
    for record in records:
        for n in range(1, 5):
            if collective and record.get(f"MPIIO_ACCESS{n}_COUNT") == collective:
                return min(moved, collective * record.get(f"MPIIO_ACCESS{n}_ACCESS"))
    return moved * collective / accesses if accesses else 0.0


def _mpi_streams(records: Sequence[Record], ranks: int) -> list[Stream]:
    streams = []
    for direction, (plural, moved_name) in DIRECTIONS.items():
        whole = total(records, f"MPIIO_BYTES_{moved_name}")
        seconds = total(records, f"MPIIO_F_{direction.upper()}_TIME")
        collective = total(records, f"MPIIO_COLL_{plural}", f"MPIIO_SPLIT_{plural}")
        independent = total(records, f"MPIIO_INDEP_{plural}", f"MPIIO_NB_{plural}")
        accesses = collective + independent
        if not accesses:
            continue
        together = _split(records, collective, whole, accesses) if independent else whole
        for is_collective, count, moved in (
            (True, collective, together), (False, independent, whole - together),
        ):  # fmt: skip
            if count:
                calls = -(-int(count) // ranks)
                streams.append(
                    Stream(direction, is_collective, calls, int(count), int(moved),
                           seconds * count / accesses, ranks)
                )  # fmt: skip
    return streams


def _posix_streams(records: Sequence[Record], ranks: int) -> list[Stream]:
    streams = []
    for direction, (plural, moved_name) in DIRECTIONS.items():
        count = int(total(records, f"POSIX_{plural}"))
        if count:
            moved = int(total(records, f"POSIX_BYTES_{moved_name}"))
            seconds = total(records, f"POSIX_F_{direction.upper()}_TIME")
            streams.append(Stream(direction, False, -(-count // ranks), count, moved, seconds, ranks))
    return streams


def _datasets(records: Iterable[Record]) -> tuple[Dataset, ...]:
    """Returns the chunked datasets of a file.

    Darshan numbers the chunk's dimensions from the last one, D1; the extents of accesses are in D5 for the
    first dimension, in D4 for the second, and so on.
    """
    found = {}
    for record in records:
        dimensions = int(record.get("H5D_DATASPACE_NDIMS"))
        if not (0 < dimensions <= DATASET_DIMENSIONS and record.get("H5D_CHUNK_SIZE_D1")):
            continue
        chunk = tuple(int(record.get(f"H5D_CHUNK_SIZE_D{d}")) for d in range(dimensions, 0, -1))
        selected = tuple(
            int(record.get(f"H5D_ACCESS1_LENGTH_D{DATASET_DIMENSIONS - d}")) for d in range(dimensions)
        )
        if all(chunk) and all(selected):
            name = record.name.rpartition(":")[2]
            seconds = record.get("H5D_F_READ_TIME") + record.get("H5D_F_WRITE_TIME")
            found[name] = Dataset(name, chunk, selected, seconds)
    return tuple(found.values())


@dataclass(frozen=True)
class _Parts:
    """The records of one file, by module."""

    posix: Sequence[Record]
    mpi: Sequence[Record]
    datasets: Sequence[Record]
    segments: Sequence[Segment]


def _large(posix: Sequence[Record]) -> tuple[int, int]:
    """Returns the number of storage calls that move more than 100 KiB, and a lower bound of the number of
    these calls that are not aligned."""
    sizes = ("0_100", "100_1K", "1K_10K", "10K_100K")
    small = total(posix, *(f"POSIX_SIZE_{d}_{size}" for d in ("READ", "WRITE") for size in sizes))
    large = max(0.0, total(posix, "POSIX_READS", "POSIX_WRITES") - small)
    crossing = total(posix, "POSIX_FILE_NOT_ALIGNED") - small
    return int(large), int(min(large, max(0.0, crossing)))


def _file(name: str, parts: _Parts, processes: int) -> FileFacts:
    main = parts.mpi or parts.posix
    ranks = _ranks(main, processes)
    prefix = "MPIIO" if parts.mpi else "POSIX"
    opens = total(main, "MPIIO_COLL_OPENS", "MPIIO_INDEP_OPENS", "POSIX_OPENS")
    calls = total(main, "MPIIO_VIEWS", "MPIIO_SYNCS", "POSIX_STATS", "POSIX_SEEKS", "POSIX_FSYNCS")
    small = (s for s in parts.segments if s.direction == "read" and 0 < s.length < SMALL_PIECE)
    repeated = read_by_several(((s.offset, s.length), s.rank, s) for s in small)
    stripe = int(max((record.get("POSIX_FILE_ALIGNMENT") for record in parts.posix), default=0))
    large, crossing = _large(parts.posix) if stripe >= STRIPE_LEAST else (0, 0)
    # An access shares only its first and its last stripe with other accesses.
    moved = total(parts.posix, "POSIX_BYTES_READ", "POSIX_BYTES_WRITTEN")
    times = total(parts.posix, "POSIX_F_READ_TIME", "POSIX_F_WRITE_TIME")
    times *= min(1.0, 2 * stripe * crossing / moved) if moved else 0.0
    return FileFacts(
        name, ranks, tuple((_mpi_streams if parts.mpi else _posix_streams)(main, ranks)),
        "HDF5" if parts.datasets else "", round(opens / ranks), int(opens + calls),
        total(main, f"{prefix}_F_META_TIME"), len(repeated), sum(one.seconds for one in repeated),
        stripe if stripe >= STRIPE_LEAST else 0, large, crossing, times,
        total(parts.datasets, "H5D_USE_MPIIO_COLLECTIVE") > 0 if parts.datasets else None,
        _datasets(parts.datasets),
    )  # fmt: skip


def _moved(record: Record, prefix: str) -> float:
    return record.get(f"{prefix}_BYTES_READ") + record.get(f"{prefix}_BYTES_WRITTEN")


def _spent(record: Record, prefix: str) -> float:
    return record.get(f"{prefix}_F_READ_TIME") + record.get(f"{prefix}_F_WRITE_TIME")


def _shared_balance(record: Record, prefix: str, processes: int) -> list[Balance]:
    """Compares the slowest rank of a shared record with the mean of all other ranks."""
    if processes < 2:
        return []
    moved, seconds = (record.get(f"{prefix}_{n}") for n in ("SLOWEST_RANK_BYTES", "F_SLOWEST_RANK_TIME"))
    others = processes - 1
    whole = _spent(record, prefix) + record.get(f"{prefix}_F_META_TIME")
    return [
        Balance(
            record.name.rpartition("/")[2], int(record.get(f"{prefix}_SLOWEST_RANK")), int(moved),
            max(0.0, _moved(record, prefix) - moved) / others, seconds, max(0.0, whole - seconds) / others,
        )
    ]  # fmt: skip


def _balances(records: Iterable[tuple[Record, str]], processes: int) -> list[Balance]:
    moved: dict[int, int] = defaultdict(int)
    seconds: dict[int, float] = defaultdict(float)
    found = []
    for record, prefix in records:
        if record.rank == ALL_RANKS:
            found += _shared_balance(record, prefix, processes)
        else:
            moved[record.rank] += int(_moved(record, prefix))
            seconds[record.rank] += _spent(record, prefix)
    return found + balances_of("Files of one rank each", moved, seconds)


def facts_of(log: Log) -> JobFacts:
    """Returns the facts of a log. A file that was accessed through MPI-IO has the accesses of its MPI-IO
    records, any other file the accesses of its POSIX records."""
    posix, mpi = by_name(log.of("POSIX")), by_name(log.of("MPI-IO"))
    datasets: dict[str, list[Record]] = defaultdict(list)
    for record in log.of("H5D"):
        datasets[record.name.rpartition(":")[0]].append(record)
    segments: dict[str, list[Segment]] = defaultdict(list)
    for segment in log.segments.get("DXT_MPIIO") or log.segments.get("DXT_POSIX", ()):
        segments[segment.name].append(segment)
    files, compared = [], []
    for name in {**mpi, **posix}:
        parts = _Parts(posix.get(name, []), mpi.get(name, []), datasets.get(name, []), segments[name])
        files.append(_file(name, parts, log.processes))
        prefix = "MPIIO" if parts.mpi else "POSIX"
        compared += [(record, prefix) for record in parts.mpi or parts.posix]
    return JobFacts(tuple(files), log.processes, log.seconds, tuple(_balances(compared, log.processes)))
