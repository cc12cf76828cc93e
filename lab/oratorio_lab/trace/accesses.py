# SPDX-License-Identifier: BSD-3-Clause
"""The collective accesses of a trace with their layouts, for replays: by `oratorio simulate --trace` without
data, and by `oratorio bench trace` with real ranks."""

import sys
from array import array
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from oratorio.quantity import counted
from oratorio.trace.trace import Access, File, TraceError, files_named, read

# The format of the replay file, which lab/count/recorded.cpp and lab/bench/recorded.cpp read. It is a
# sequence of 64-bit numbers: MAGIC; ranks; number of shapes; for each shape its length in bytes, and the
# bytes, padded to a multiple of 8; number of accesses; for each access 0 for a write or 1 for a read, and for
# each rank eight numbers: displacement, extent and shape of the view, the start in the view's data, origin,
# extent and shape of the memory, and the number of memory tiles. Eight zeros mean that the rank accesses
# nothing.
MAGIC = int.from_bytes(b"ORATACC1", "little")
NOTHING = (0,) * 8
DIRECTIONS = ("write", "read")


@dataclass(frozen=True)
class Collective:
    """A collective access, as the accesses of all its ranks."""

    number: int  # the place of this access among the collective accesses of the file, from 0
    direction: str
    ranks: tuple[Access, ...]  # one access of each rank, in the order of ranks

    @property
    def bytes(self) -> int:
        return sum(access.args["asked"] for access in self.ranks)

    @property
    def seconds(self) -> float:
        """The time of the access when it was recorded, from the first start to the last end."""
        return max(access.end for access in self.ranks) - min(access.begin for access in self.ranks)

    @property
    def estimated(self) -> float:
        """The seconds that the cost model predicted when the access was recorded; 0 if there was no plan, or
        if an older Oratorio wrote the trace."""
        counts = [access.args.get("counts", {}) for access in self.ranks]
        return 1e-9 * max(one.get("estimated_time", 0) for one in counts)

    @property
    def method(self) -> str:
        return next((a.args["method"] for a in self.ranks if "method" in a.args), "at once")

    @property
    def begin(self) -> int:
        """The first byte of the file that any rank accesses."""
        return min(access.args["hull"][0] for access in self.ranks if access.args["asked"])

    @property
    def likeness(self) -> tuple:
        """A key that is equal for accesses that differ only in where in the file they begin."""
        own = []
        for access in self.ranks:
            args = access.args
            if not args["asked"]:
                own.append(())
                continue
            view, memory = args["view"], args["memory"]
            place = args["hull"][0] - self.begin
            tile = args["from"] % view["tile_bytes"]
            own.append((view["shape"], view["extent"], tile, place, *_memory(memory)))
        return (self.direction, *own)


def _memory(memory: dict) -> tuple[int, int, int, int]:
    return memory["displacement"], memory["extent"], memory["shape"], memory["tiles"]


def _numbers(access: Access, shift: int) -> tuple[int, ...]:
    args = access.args
    if not args["asked"]:
        return NOTHING
    view = args["view"]
    place = (view["displacement"] - shift, view["extent"], view["shape"], args["from"])
    return (*place, *_memory(args["memory"]))


def _is_told(access: Access, file: File) -> bool:
    args = access.args
    if not args["asked"]:
        return True
    shapes = [args[side].get("shape") for side in ("view", "memory")]
    if None in shapes:
        return False
    if missing := [shape for shape in shapes if shape not in file.shapes]:
        raise TraceError(f"{file.path}: shape {missing[0]} of an access is missing in the trace")
    return True


def collectives(file: File) -> list[Collective]:
    """Returns, in order, the collective accesses that move data, if the trace has the layouts of all
    their ranks. Raises TraceError if there is none, or if the trace is malformed."""
    together: dict[int, list[Access]] = defaultdict(list)
    for access in file.accesses:
        if access.collective is not None:
            together[access.collective].append(access)
    found = []
    try:
        for number, accesses in sorted(together.items()):
            ranks = tuple(sorted(accesses, key=lambda access: access.rank))
            whole = [access.rank for access in ranks] == list(range(file.ranks))
            has_data = any(access.args["asked"] for access in ranks)
            if whole and has_data and all(_is_told(access, file) for access in ranks):
                found.append(Collective(number, ranks[0].args["direction"], ranks))
        _ = [one.likeness for one in found]
    except (KeyError, TypeError, ZeroDivisionError) as error:
        raise TraceError(
            f"{file.path}: an access differs from the format in docs/user/trace.md: {error!r}"
        ) from error
    if found:
        return found
    if not together:
        raise TraceError(f"{file.path}: there is no collective access to replay")
    why = "the trace had no room for their shapes" if file.dropped_layouts else "an older Oratorio wrote it"
    raise TraceError(
        f"{file.path}: the layouts of all {len(together)} collective accesses are missing: {why}"
    )


def left_out(file: File, found: Sequence[Collective]) -> str:
    """Returns a sentence about what cannot be replayed; empty if everything can."""
    numbers = {access.collective for access in file.accesses} - {None}
    alone = sum(access.collective is None for access in file.accesses)
    parts = []
    if less := len(numbers) - len(found):
        parts.append(f"{counted(less, 'collective access')} without data or layout")
    if alone:
        parts.append(counted(alone, "independent access"))
    if file.dropped_accesses:
        parts.append(f"{counted(file.dropped_accesses, 'access')} that did not fit into the trace")
    return f"not replayed: {', '.join(parts)}" if parts else ""


def file_named(files: Sequence[File], name: str | None, direction: str | None = None) -> File:
    """Of the files with `name` in the path, returns the one with the most data moved by collective accesses.

    With a direction, counts only accesses in that direction, and returns the last of several equal files,
    because caches and connections are still cold during a program's first file. Raises TraceError.
    """
    chosen = files_named(files, name)

    def moved(file: File) -> int:
        return sum(
            access.args["moved"]
            for access in file.accesses
            if access.collective is not None and direction in (None, access.args["direction"])
        )

    return max(reversed(chosen) if direction else chosen, key=moved)


def of_file(
    path: Path, name: str | None, ranks: Sequence[int], use: str, direction: str | None = None
) -> tuple[File, list[Collective]]:
    """Returns the file that file_named() picks in a trace, and its collective accesses.

    Raises TraceError, for instance if one of `ranks` is not the number of ranks of the trace; `use` is a
    participle for that message, such as "simulated".
    """
    file = file_named(read(path), name, direction)
    found = collectives(file)
    if other := [count for count in ranks if count != file.ranks]:
        raise TraceError(f"the trace has {counted(file.ranks, 'rank')}: it can't be {use} with {other[0]}")
    return file, found


def write(out: Path, file: File, accesses: Sequence[Collective], shift: int = 0) -> None:
    """Writes the replay file of `accesses`, with `shift` subtracted from the displacement of each view.

    Raises TraceError.
    """
    used = sorted(
        {
            access.args[side]["shape"]
            for one in accesses
            for access in one.ranks
            if access.args["asked"]
            for side in ("view", "memory")
        }
    )
    places = {shape: place for place, shape in enumerate(used)}
    numbers = array("q", [MAGIC, file.ranks, len(used)])
    for shape in used:
        code = file.shapes[shape]
        numbers.append(len(code))
        numbers.frombytes(code + bytes(-len(code) % 8))
    numbers.append(len(accesses))
    try:
        for one in accesses:
            numbers.append(DIRECTIONS.index(one.direction))
            for access in one.ranks:
                told = list(_numbers(access, shift))
                if access.args["asked"]:
                    told[2], told[6] = places[told[2]], places[told[6]]
                numbers.extend(told)
    except (OverflowError, TypeError) as error:
        raise TraceError(
            f"{file.path}: an access differs from the format in docs/user/trace.md: {error}"
        ) from error
    if sys.byteorder != "little":
        numbers.byteswap()
    out.write_bytes(numbers.tobytes())
