"""The benchmark's workloads and their parameters. The program in tools/bench knows the shapes; all
defaults are here.

Defaults are chosen so that one pass of the host MPI takes up to about a second with 8 ranks on two
cores.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Parameter:
    """A number a workload is scaled by."""

    name: str
    default: int
    smoke: int  # the value for a test, which only wants to see it work
    help: str


@dataclass(frozen=True)
class Workload:
    """A layout of data in memory and in the file."""

    name: str
    help: str
    parameters: tuple[Parameter, ...]
    ranks: str = "4,8"

    def values(self, given: dict[str, int | None], smoke: bool) -> dict[str, int]:
        """A value for each parameter: the given one, else the default or the smoke value."""
        return {
            p.name: given[p.name] if given.get(p.name) is not None else (p.smoke if smoke else p.default)
            for p in self.parameters
        }


BLOCK_BYTES = Parameter("block", 1024, 512, "Bytes of a block.")

WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload(
            "block3d",
            "coll_perf: an n^3 array of ints distributed in 3-D blocks; contiguous memory.",
            (Parameter("n", 256, 48, "Edge of the array."),),
        ),
        Workload(
            "cyclic",
            "A 1-D array distributed block-cyclic; contiguous memory.",
            (
                Parameter("block", 1024, 128, "Bytes of a block, 128 to 1 MiB in the papers."),
                Parameter("bytes", 8 << 20, 64 << 10, "Bytes of a rank."),
            ),
        ),
        Workload(
            "flash",
            "FLASH checkpoint: variables interleaved in memory, one after another in the file.",
            (
                Parameter("blocks", 80, 4, "Blocks of a rank."),
                Parameter("nxb", 8, 4, "Edge of a block in cells, without ghost cells."),
                Parameter("guard", 4, 2, "Ghost cells on each side."),
                Parameter("nvar", 24, 6, "Variables of a cell."),
            ),
        ),
        Workload(
            "vec8",
            "8-byte pieces on both sides: every P-th double of the file, 16 bytes apart in memory.",
            (Parameter("count", 256 << 10, 4 << 10, "Doubles of a rank."),),
        ),
        Workload(
            "hpio",
            "HPIO: regions with a gap after each, in memory and in the file.",
            (
                Parameter("region", 488, 488, "Bytes of a region."),
                Parameter("space", 256, 256, "Bytes of the gap after a region."),
                Parameter("count", 16000, 200, "Regions of a rank."),
            ),
        ),
        Workload(
            "random1k",
            "Blocks of a file dealt to the ranks at random, tiling it; contiguous memory.",
            (
                BLOCK_BYTES,
                Parameter("count", 8192, 128, "Blocks of a rank."),
                Parameter("seed", 1, 1, "Seed of the permutation."),
            ),
        ),
        Workload(
            "e3sm",
            "All variables of an E3SM case by a decomposition map of the model (--map).",
            (Parameter("variables", 1000, 2, "Take at most so many variables of each map."),),
            ranks="16",
        ),
    )
}


@dataclass(frozen=True)
class Figure:
    """One group of bars of the suite."""

    label: str
    workload: str
    given: dict[str, int]


SUITE = (
    Figure("block3d", "block3d", {}),
    Figure("cyclic 128 B", "cyclic", {"block": 128, "bytes": 2 << 20}),
    Figure("cyclic 1 KiB", "cyclic", {"block": 1024}),
    Figure("cyclic 64 KiB", "cyclic", {"block": 64 << 10}),
    Figure("cyclic 1 MiB", "cyclic", {"block": 1 << 20}),
    Figure("flash", "flash", {}),
    Figure("vec8", "vec8", {}),
    Figure("hpio", "hpio", {}),
    Figure("random1k", "random1k", {}),
)
