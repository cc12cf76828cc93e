"""E3SM decomposition maps (netCDF, as the E3SM-IO benchmark has them) made into the run file that
the benchmark program reads.

The run file is a sequence of 64-bit little-endian integers: MAGIC, processes, maps; then for each
map: bytes of an element, elements of the array, variables that use the map, and for each process
the number of its runs, their offsets and their lengths (in elements, in the order the process holds
them in memory). Runs of fill values are written like all others.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from netCDF4 import Dataset

MAGIC = int.from_bytes(b"E3SMRUN1", "little")


@dataclass(frozen=True)
class Case:
    """How many variables of an output file use each map, and the bytes of their elements."""

    name: str
    variables: tuple[int, ...]
    element_bytes: tuple[int, ...]


# A map file has as many maps as its case: that tells the case.
CASES = {
    len(case.variables): case
    for case in (
        Case("F", (1, 323, 63), (8, 4, 4)),
        Case("G", (6, 2, 25, 2, 2, 4), (8, 8, 8, 8, 8, 8)),
        Case("I", (465, 75, 4, 1, 1), (4, 4, 4, 4, 4)),
    )
}


class MapError(Exception):
    """The file is no decomposition map the benchmark knows."""


def _map_numbers(data: Dataset, number: int, element_bytes: int, variables: int) -> list[np.ndarray]:
    def values(name: str) -> np.ndarray:
        return np.asarray(data.variables[f"D{number}.{name}"][:], dtype="<i8")

    elements = int(np.prod(data.getncattr(f"D{number}.dims")))
    counts, offsets, lengths = values("nreqs"), values("offsets"), values("lengths")
    parts = [np.array([element_bytes, elements, variables], dtype="<i8")]
    ends = np.cumsum(counts)
    for first, end in zip(ends - counts, ends, strict=True):
        parts += [np.array([end - first], dtype="<i8"), offsets[first:end], lengths[first:end]]
    return parts


def write_runs(map_file: Path, run_file: Path, max_variables: int) -> Case:
    """Writes the run file of all of a case's variables, at most `max_variables` of each map."""
    if not map_file.is_file():
        raise MapError(f"{map_file} is not there")
    try:
        data = Dataset(map_file)
    except OSError as error:
        raise MapError(f"{map_file} is no netCDF file: {error}") from error
    with data:
        maps = len(data.dimensions.get("num_decomp", ()))
        case = CASES.get(maps)
        if case is None:
            raise MapError(f"{map_file} has {maps} maps; a case has " + ", ".join(map(str, CASES)))
        processes = len(data.dimensions["decomp_nprocs"])
        parts = [np.array([MAGIC, processes, maps], dtype="<i8")]
        sizes = zip(case.element_bytes, case.variables, strict=True)
        for number, (element_bytes, variables) in enumerate(sizes, start=1):
            parts += _map_numbers(data, number, element_bytes, min(variables, max_variables))
    np.concatenate(parts).tofile(run_file)
    return case
