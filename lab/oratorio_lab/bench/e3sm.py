# SPDX-License-Identifier: BSD-3-Clause
"""Decompositions of the climate model E3SM, as the run file that the benchmark program reads. They come from
real maps (netCDF, as the E3SM-IO benchmark has them) or are made up with the same structure.

The run file is a sequence of 64-bit little-endian integers: MAGIC, processes, maps; then for each map: bytes
of an element, elements of the array, variables that use the map, and for each process the number of its
runs, their offsets and their lengths (in elements, in the order the process holds them in memory). Runs of
fill values are written like all others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from netCDF4 import Dataset

from oratorio.quantity import counted
from oratorio_lab.bench.workloads import BenchError

MAGIC = int.from_bytes(b"E3SMRUN1", "little")


@dataclass(frozen=True)
class Map:
    """One decomposition of a case, with the figures from which a map is made up if no real one is given."""

    variables: int
    element_bytes: int
    per_column: int  # points of the mesh for each column or cell: more than one for edges and vertices
    # flat: one value a point; layers: one layer after the other; points: all levels of a point together
    layout: str
    run: float  # average number of points that are consecutive in the file


@dataclass(frozen=True)
class Case:
    """The maps of an output file."""

    name: str
    maps: tuple[Map, ...]


CASES = {
    "F": Case(
        "F",
        (Map(1, 8, 1, "flat", 18.0), Map(323, 4, 1, "flat", 2.8), Map(63, 4, 1, "layers", 2.8)),
    ),
    "G": Case(
        "G",
        (
            Map(6, 8, 1, "flat", 2.3), Map(2, 8, 3, "flat", 1.1), Map(25, 8, 1, "points", 1.0),
            Map(2, 8, 3, "points", 1.0), Map(2, 8, 2, "points", 1.0), Map(4, 8, 1, "points", 1.0),
        ),
    ),
}  # fmt: skip


def _run_lists(element_bytes: int, elements: int, variables: int, runs: list) -> list[np.ndarray]:
    """Returns one map's part of the run file; `runs` has (offsets, lengths) of each process."""
    parts = [np.array([element_bytes, elements, variables], dtype="<i8")]
    for offsets, lengths in runs:
        parts += [np.array([len(offsets)], dtype="<i8"), offsets.astype("<i8"), lengths.astype("<i8")]
    return parts


def _map_runs(data: Dataset, number: int, sizes: Map, max_variables: int) -> list[np.ndarray]:
    def values(name: str) -> np.ndarray:
        return np.asarray(data.variables[f"D{number}.{name}"][:], dtype="<i8")

    missing = {f"D{number}.{name}" for name in ("nreqs", "offsets", "lengths")} - set(data.variables)
    missing |= {f"D{number}.{name}" for name in ("dims", "fully_covered")} - set(data.ncattrs())
    if missing:
        raise BenchError(f"map {number} of {data.filepath()} lacks {', '.join(sorted(missing))}")
    if data.getncattr(f"D{number}.fully_covered") != "true":
        raise BenchError(f"map {number} of {data.filepath()} doesn't cover its array")
    elements = int(np.prod(data.getncattr(f"D{number}.dims")))
    counts, offsets, lengths = values("nreqs"), values("offsets"), values("lengths")
    ends = np.cumsum(counts)
    told = f"map {number} of {data.filepath()}"
    if (counts < 0).any() or not counts.sum() == len(offsets) == len(lengths):
        raise BenchError(f"{told} has numbers of runs that don't match its offsets and lengths")
    if len(offsets) and (offsets.min() < 0 or lengths.min() < 0 or (offsets + lengths).max() > elements):
        raise BenchError(f"{told} has runs outside of its {elements} elements")
    runs = [(offsets[first:end], lengths[first:end]) for first, end in zip(ends - counts, ends, strict=True)]
    return _run_lists(sizes.element_bytes, elements, min(sizes.variables, max_variables), runs)


def case_of(map_file: Path) -> Case:
    """Returns the case with the number of maps that the file has. Raises BenchError."""
    with _opened(map_file) as data:
        maps = len(data.dimensions.get("num_decomp", ()))
    for case in CASES.values():
        if len(case.maps) == maps:
            return case
    known = " or ".join(f"{len(case.maps)} (case {case.name})" for case in CASES.values())
    raise BenchError(f"{map_file} has {counted(maps, 'map')}; a case has {known}")


def _opened(map_file: Path) -> Dataset:
    if not map_file.is_file():
        raise BenchError(f"{map_file} does not exist")
    try:
        return Dataset(map_file)
    except OSError as error:
        raise BenchError(f"{map_file} is not a netCDF file: {error}") from error


def processes_of(map_file: Path) -> int:
    """Returns the number of processes that the map was made for."""
    with _opened(map_file) as data:
        return len(data.dimensions["decomp_nprocs"])


def write_real(map_file: Path, run_file: Path, max_variables: int) -> None:
    """Writes the run file of a map file, with at most `max_variables` variables for each map. Raises
    BenchError."""
    case = case_of(map_file)
    with _opened(map_file) as data:
        parts = [np.array([MAGIC, len(data.dimensions["decomp_nprocs"]), len(case.maps)], dtype="<i8")]
        for number, sizes in enumerate(case.maps, start=1):
            parts += _map_runs(data, number, sizes, max_variables)
    np.concatenate(parts).tofile(run_file)


def _dealt(points: int, run: float, ranks: int, random: np.random.Generator) -> list[np.ndarray]:
    """Deals runs of consecutive points to the ranks at random. Returns each rank's runs as rows of (first,
    length)."""
    lengths = random.geometric(1 / run, size=points)
    ends = np.minimum(np.cumsum(lengths), points)
    ends = ends[: np.searchsorted(ends, points) + 1]
    runs = np.stack([np.concatenate([[0], ends[:-1]]), np.diff(ends, prepend=0)], axis=1)
    runs = runs[random.permutation(len(runs))]
    # Every rank receives the same number of points, so a run that crosses a border is split between two
    # ranks.
    after = np.cumsum(runs[:, 1])
    before = after - runs[:, 1]
    borders = np.linspace(0, points, ranks + 1).astype(int)
    result = []
    for low, high in pairwise(borders):
        mine = slice(np.searchsorted(after, low, side="right"), np.searchsorted(before, high))
        begin, end = np.maximum(before[mine], low), np.minimum(after[mine], high)
        first = runs[mine, 0] + begin - before[mine]
        result.append(np.stack([first, end - begin], axis=1))
    return result


def _made_up(
    sizes: Map, values: Mapping[str, int], ranks: int, random: np.random.Generator
) -> tuple[tuple[int, ...], list]:
    """Returns the dimensions of a made-up array, and (offsets, lengths) of each process."""
    points = values["columns"] * ranks * sizes.per_column
    levels = 1 if sizes.layout == "flat" else values["levels"]
    runs = []
    for first, length in (table.T for table in _dealt(points, sizes.run, ranks, random)):
        if sizes.layout == "points":
            runs.append((first * levels, length * levels))
        else:
            layer = np.arange(levels)[:, None] * points
            runs.append(((layer + first).ravel(), np.tile(length, levels)))
    dims = {"flat": (points,), "layers": (levels, points), "points": (points, levels)}
    return dims[sizes.layout], runs


def write_made_up(case: Case, values: Mapping[str, int], ranks: int, run_file: Path) -> None:
    """Writes the run file of a mesh that has `columns` columns for each rank, dealt to the ranks at
    random."""
    random = np.random.default_rng(values["seed"])
    parts = [np.array([MAGIC, ranks, len(case.maps)], dtype="<i8")]
    for sizes in case.maps:
        dims, runs = _made_up(sizes, values, ranks, random)
        variables = min(sizes.variables, values["variables"])
        parts += _run_lists(sizes.element_bytes, int(np.prod(dims)), variables, runs)
    np.concatenate(parts).tofile(run_file)


def write_map(case: Case, values: Mapping[str, int], ranks: int, map_file: Path) -> None:
    """Writes the mesh of write_made_up() as a map file of the E3SM-IO benchmark, with all that write_real()
    reads."""
    random = np.random.default_rng(values["seed"])
    with Dataset(map_file, "w", format="NETCDF3_64BIT_DATA") as data:
        data.createDimension("num_decomp", len(case.maps))
        data.createDimension("decomp_nprocs", ranks)
        for number, sizes in enumerate(case.maps, start=1):
            dims, runs = _made_up(sizes, values, ranks, random)
            data.setncattr(f"D{number}.dims", np.array(dims, dtype="<i4"))
            data.setncattr(f"D{number}.fully_covered", "true")
            requests = f"D{number}.total_nreqs"
            data.createDimension(requests, sum(len(offsets) for offsets, _ in runs))
            counts = data.createVariable(f"D{number}.nreqs", "i4", ("decomp_nprocs",))
            counts[:] = [len(offsets) for offsets, _ in runs]
            for place, name in enumerate(("offsets", "lengths")):
                values_of = data.createVariable(f"D{number}.{name}", "i4", (requests,))
                values_of[:] = np.concatenate([run[place] for run in runs])


def check_map(map_file: Path, case: str, ranks: Sequence[int]) -> None:
    """Raises BenchError if the map is of another case or its processes cannot be shared evenly by the
    ranks."""
    found = case_of(map_file).name
    if found != case:
        raise BenchError(f"{map_file} is for case {found}, but this workload is case {case}")
    processes = processes_of(map_file)
    for count in ranks:
        if processes % count:
            raise BenchError(
                f"{map_file} is for {counted(processes, 'process')}, which {count} ranks can't share evenly"
            )
