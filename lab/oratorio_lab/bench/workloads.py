# SPDX-License-Identifier: BSD-3-Clause
"""The benchmark's workloads and their parameters. The program in lab/bench lays out the data; all
defaults are here, and docs/research/workloads.md names their sources."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from oratorio.errors import OratorioError

UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class BenchError(OratorioError):
    """Raised if a benchmark cannot run; the message says why."""


def numbers(text: str, option: str) -> tuple[int, ...]:
    """Parses an option with a list of numbers. Raises BenchError."""
    counts = tuple(int(count) if count.isdecimal() else 0 for count in text.split(","))
    if min(counts) < 1:
        raise BenchError(f"--{option} must be numbers above zero, such as 2,4,8, not {text}")
    return counts


@dataclass(frozen=True)
class Parameter:
    """A parameter of a workload: a number, or one of the words in `choices`."""

    name: str
    default: int | str
    smoke: int | str  # a small value, for tests that only check that everything works
    help: str
    least: int = 1
    choices: tuple[str, ...] = ()

    def parse(self, text: str) -> int | str:
        """Parses an option's value. Raises BenchError."""
        if self.choices:
            if text not in self.choices:
                raise BenchError(f"--{self.option} must be one of {', '.join(self.choices)}, not {text}")
            return text
        found = re.fullmatch(r"(\d+)\s*([kmg]?)(i?b)?", text.strip().lower())
        if not found or int(found.group(1)) * UNITS[found.group(2)] < self.least:
            raise BenchError(f"--{self.option} must be a whole number of at least {self.least}, not {text}")
        return int(found.group(1)) * UNITS[found.group(2)]

    @property
    def option(self) -> str:
        return self.name.replace("_", "-")


@dataclass(frozen=True)
class Workload:
    """A layout of data in memory and in the file."""

    name: str
    help: str
    parameters: tuple[Parameter, ...]
    square: bool = False  # whether the number of ranks must be a square
    case: str = ""  # the E3SM case that the decomposition belongs to

    def values(self, given: Mapping[str, str | None], smoke: bool) -> dict[str, int | str]:
        """Returns a value for each parameter: the given value, or else the default or, with `smoke`, the
        smoke value."""
        values = {}
        for p in self.parameters:
            text = given.get(p.name)
            values[p.name] = p.parse(str(text)) if text is not None else (p.smoke if smoke else p.default)
        return values

    def refusal(self, ranks: int) -> str:
        """Returns why the workload cannot run on this number of ranks; empty if it can."""
        if self.square and math.isqrt(ranks) ** 2 != ranks:
            return f"{self.name} needs a square number of ranks (1, 4, 9, 16 ...), not {ranks}"
        return ""


SEED = Parameter("seed", 1, 1, "Seed of the random order.")
GAPS = ("gaps", "contiguous")
VARIABLES = Parameter("variables", 1000, 2, "Maximum number of variables to take from each map.")

WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload(
            "coll_perf",
            "An n^3 array of ints distributed in 3-D blocks; contiguous memory.",
            (Parameter("n", 320, 37, "Edge of the array, in elements; 600 in the paper."),),
        ),
        Workload(
            "tile",
            "Overlapping tiles of an image, a call for each frame. Writes leave the overlap to one rank.",
            (
                Parameter("width", 1024, 64, "Width of a tile in pixels of 3 bytes."),
                Parameter("height", 768, 48, "Height of a tile in pixels."),
                Parameter("overlap_x", 270, 17, "Overlap of tiles side by side, in pixels.", least=0),
                Parameter("overlap_y", 128, 8, "Overlap of tiles one above the other, in pixels.", least=0),
                Parameter("frames", 8, 3, "Images in the file; 1 in the paper."),
            ),
        ),
        Workload(
            "flash",
            "FLASH checkpoint: variables interleaved in memory, one after another in the file.",
            (
                Parameter("blocks", 80, 4, "Blocks per rank."),
                Parameter("nxb", 8, 4, "Cells along a block's edge, ghosts excluded; 8 to 36 in the paper."),
                Parameter("guard", 4, 2, "Ghost cells on each side.", least=0),
                Parameter("nvar", 24, 6, "Variables per cell."),
            ),
        ),
        Workload(
            "hpio",
            "HPIO: regions with a gap after each, in memory and in the file.",
            (
                Parameter("region", 488, 488, "Size of a region in bytes."),
                Parameter("space", 256, 256, "Size of the gap after a region, in bytes.", least=0),
                Parameter("count", 32000, 200, "Regions per rank; 1 544 676 in the paper."),
                Parameter("memory", "gaps", "gaps", "Memory with gaps or contiguous.", choices=GAPS),
                Parameter("file", "gaps", "gaps", "File with gaps or contiguous.", choices=GAPS),
            ),
        ),
        Workload(
            "discontig",
            "Blocks dealt to the ranks at random, tiling the file; a view and a call for each region.",
            (
                Parameter("block", 1024, 512, "Size of a block in bytes."),
                Parameter("region", 64 << 20, 32 << 10, "Size of a region in bytes; 1 GiB in the paper."),
                Parameter("regions", 2, 3, "Number of regions in the file."),
                SEED,
            ),
        ),
        Workload(
            "sparse",
            "Stripes with room for a block of each rank, of which a rank uses a few at random.",
            (
                Parameter("block", 16 << 10, 4 << 10, "Size of a block in bytes."),
                Parameter("count", 512, 20, "Blocks per rank."),
                Parameter("sparsity", 25, 25, "Percent of stripes that a rank uses; 1 to 100 in the paper."),
                SEED,
            ),
        ),
        Workload(
            "mar",
            "File blocks dealt to the ranks at random; a rank accesses random pieces of each of its blocks.",
            (
                Parameter("block", 256 << 10, 16 << 10, "Size of a file block in bytes."),
                Parameter("blocks", 100, 5, "File blocks per rank."),
                Parameter("pieces", 32, 7, "Pieces per file block."),
                Parameter("piece", 4096, 1024, "Size of a piece in bytes."),
                SEED,
            ),
        ),
        Workload(
            "ship",
            "Each rank accesses blocks at random places of a larger file, by independent calls.",
            (
                Parameter("block", 4096, 512, "Size of a block in bytes."),
                Parameter("blocks", 2000, 40, "Blocks per rank; 10 000 in the paper."),
                Parameter("at_once", 10, 4, "Blocks per call."),
                Parameter("room", 4, 4, "Blocks in the file for each block that is moved."),
                SEED,
            ),
        ),
        Workload(
            "array",
            "An array distributed BLOCK, CYCLIC, in 3-D blocks or at random; contiguous memory.",
            (
                Parameter(
                    "dist", "cyclic", "cyclic", "Distribution; block is one piece for each rank.",
                    choices=("block", "cyclic", "block3d", "random"),
                ),
                Parameter("block", 1024, 128, "Size of a piece in bytes; 128 B to 1 MiB in the paper."),
                Parameter("bytes", 16 << 20, 64 << 10, "Bytes per rank."),
                SEED,
            ),
        ),
        Workload(
            "btio",
            "Diagonal multi-partition of the NAS benchmark BT; ghost points in memory.",
            (
                Parameter("n", 64, 13, "Edge of the array in points; 512 in the paper."),
                Parameter("components", 5, 5, "Doubles per point."),
                Parameter("variables", 10, 3, "Arrays in the file; 40 in the paper."),
                Parameter("ghost", 2, 2, "Ghost points on each side of a cell in memory.", least=0),
            ),
            square=True,
        ),
        Workload(
            "s3d",
            "Checkpoint of four variables in 3-D blocks, with 11, 3, 1 and 1 components; a call for each.",
            (Parameter("n", 100, 13, "Edge of the mesh; 800 in the paper."),),
        ),
        Workload(
            "lattice",
            "A 4-D lattice in lexicographic order, distributed in 4-D blocks; contiguous memory.",
            (
                Parameter("n", 24, 6, "Edge of the lattice in sites."),
                Parameter("site", 576, 24, "Size of a site in bytes; by default four 3x3 complex matrices."),
            ),
        ),
        Workload(
            "transposed",
            "Pieces of all ranks in turn through a vector view, as in IOR's transposed access.",
            (
                Parameter("block", 4096, 128, "Size of a piece in bytes."),
                Parameter("count", 4096, 50, "Pieces per rank; 16 384 in the report."),
            ),
        ),
        Workload(
            "e3sm_f",
            "E3SM, atmosphere: 387 variables of scattered columns in one call; --map for a real map.",
            (
                VARIABLES,
                Parameter("columns", 144, 12, "Columns per rank without --map; 36 in the paper."),
                Parameter("levels", 72, 4, "Levels of the 3-D variables without --map."),
                SEED,
            ),
            case="F",
        ),
        Workload(
            "e3sm_g",
            "E3SM, ocean: 41 variables of scattered cells in one call; --map for a real map.",
            (
                VARIABLES,
                Parameter("columns", 387, 12, "Cells per rank without --map; 387 in the paper."),
                Parameter("levels", 100, 4, "Levels of the 3-D variables without --map."),
                SEED,
            ),
            case="G",
        ),
        Workload(
            "vec8",
            "8-byte pieces: with P ranks, every P-th double of the file, 16 bytes apart in memory.",
            (Parameter("count", 512 << 10, 4 << 10, "Doubles per rank."),),
        ),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """One group of bars in the suite's chart: a workload with given parameters."""

    label: str
    workload: str
    given: Mapping[str, str]


SUITE = (
    Figure("contiguous", "array", {"dist": "block"}),
    Figure("coll_perf", "coll_perf", {}),
    Figure("tile", "tile", {}),
    Figure("flash", "flash", {}),
    Figure("hpio", "hpio", {}),
    Figure("discontig", "discontig", {}),
    Figure("sparse", "sparse", {}),
    Figure("mar", "mar", {}),
    Figure("ship", "ship", {}),
    Figure("array 128 B", "array", {"block": "128"}),
    Figure("array 4 KiB", "array", {"block": "4KiB"}),
    Figure("array 64 KiB", "array", {"block": "64KiB"}),
    Figure("array 1 MiB", "array", {"block": "1MiB"}),
    Figure("btio", "btio", {}),
    Figure("s3d", "s3d", {}),
    Figure("lattice", "lattice", {}),
    Figure("transposed", "transposed", {}),
    Figure("e3sm_f", "e3sm_f", {}),
    Figure("e3sm_g", "e3sm_g", {}),
    Figure("vec8", "vec8", {}),
)
