# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of the papers that follow from their parameters, and the sizes of their workloads."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

GIB = 1 << 30
VALUE = 8  # bytes of a double
LIST_ENTRY = 16  # bytes of an offset and a length in a list of pieces


@dataclass(frozen=True)
class Fact:
    """A number that a paper states, and the same number computed from other numbers of the paper."""

    said: str
    counted: str


Values = Mapping[str, int]
SIZES: dict[str, Callable[[Values, int], int]] = {  # bytes of a workload's file, from parameters and ranks
    "array": lambda v, ranks: v["bytes"] * ranks,
    "btio": lambda v, _: VALUE * v["n"] ** 3 * v["components"] * v["variables"],
    "coll_perf": lambda v, _: 4 * v["n"] ** 3,
    "discontig": lambda v, _: v["region"] * v["regions"],
    "flash": lambda v, ranks: VALUE * v["blocks"] * v["nxb"] ** 3 * v["nvar"] * ranks,
    "hpio": lambda v, ranks: v["count"] * ranks * (v["region"] + v["space"]),
    "mar": lambda v, ranks: v["block"] * v["blocks"] * ranks,
    "s3d": lambda v, _: VALUE * 16 * v["n"] ** 3,
    "ship": lambda v, ranks: v["block"] * v["blocks"] * v["room"] * ranks,
    "sparse": lambda v, ranks: v["block"] * ranks * (v["count"] * 100 // v["sparsity"]),
}


def file_bytes(workload: str, values: Mapping[str, int | str], ranks: int) -> int:
    """Returns the size of a workload's file in bytes; 0 if it is small or depends on a map."""
    numbers = {name: value for name, value in values.items() if isinstance(value, int)}
    return SIZES[workload](numbers, ranks) if workload in SIZES else 0


def cycles(size: int, aggregators: int, buffer: int) -> tuple[int, int]:
    """Returns the number of cycles in which the aggregators move a file of `size` bytes by chunks of `buffer`
    bytes, dealt in turn, and the number of aggregators with a chunk in the last cycle."""
    chunks = -(-size // buffer)
    number = -(-chunks // aggregators)
    return number, chunks - (number - 1) * aggregators


def _lists() -> tuple[Fact, ...]:
    entries = 22 * 80 * 36**3 * 24  # processes, blocks, cells of a block, variables
    of_data, of_lists = entries * VALUE / GIB, entries * LIST_ENTRY / GIB
    routine, supporting = (952, 358), (1210, 617)  # lines with lists, and with iterators
    saved = 100 * (1 - routine[1] / routine[0])
    whole = 100 * (1 - (routine[1] + supporting[1]) / (routine[0] + supporting[0]))
    return (
        Fact(
            "FLASH, largest size: O(10^9) list entries, twice the memory of the data (3.3)",
            f"22 x 80 blocks x 36^3 cells x 24 values are {entries:,} entries; at 16 bytes each they take "
            f"{of_lists:.1f} GiB, the data {of_data:.1f} GiB",
        ),
        Fact(
            "62% fewer lines with iterators than with lists (2)",
            f"952 to 358 lines, the routine alone, are {saved:.0f} % fewer; with its supporting functions, "
            f"2162 to 975, {whole:.0f} %. Oratorio's two methods share all but the lists (src/type/flatten)",
        ),
    )


def _cycles() -> tuple[Fact, ...]:
    size = file_bytes("hpio", {"count": 1544676, "region": 488, "space": 256}, 256)
    of_2, of_1 = cycles(size, 30, 2 * GIB), cycles(size, 30, GIB)
    return (
        Fact("File of 274 GiB with 256 processes (III-C)", f"1 544 676 regions: {size / GIB:.2f} GiB"),
        Fact("Buffers of 2 GiB: 5 cycles, 17 to 18 of 30 aggregators in the last (III-C)",
             f"{of_2[0]} cycles, {of_2[1]} aggregators in the last"),
        Fact("10 cycles: 4 or 5 of 30 aggregators in the last (III-C)",
             f"buffers of 1 GiB: {of_1[0]} cycles, {of_1[1]} aggregators in the last"),
    )  # fmt: skip


COUNTED = {"2006": _lists(), "2014": _cycles()}
