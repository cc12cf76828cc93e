# SPDX-License-Identifier: BSD-3-Clause
"""Reads the files of learned times, and describes their contents in words.

The format is that of src/plan/learning_text.hpp.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from oratorio.errors import OratorioError
from oratorio.quantity import amount, counted

VERSION = "oratorio-learned 2"
NO_HOLES, DIRECT = 1, 4  # bits of Kind.facts
FILE_SYSTEMS = {
    0x01021994: "tmpfs", 0xEF53: "ext4", 0x58465342: "XFS", 0x9123683E: "Btrfs", 0x6969: "NFS",
    0x0BD00BD0: "Lustre", 0x47504653: "GPFS", 0x19830326: "BeeGFS", 0x00C36400: "Ceph", 0x65735546: "FUSE",
    0xFE534D42: "SMB", 0x01021997: "9p", 0x7461636F: "OCFS2", 0x01161970: "GFS2",
}  # fmt: skip


@dataclass
class Arm:
    """One way to do an access, with its latest times in seconds."""

    method: str
    aggregators: int
    slots: int
    domains: str
    in_use: bool
    seconds: list[float]

    @property
    def median(self) -> float:
        """Returns the median of the latest five times, as the library computes it."""
        return statistics.median_low(self.seconds[-5:])

    @property
    def name(self) -> str:
        """Returns the arm as explain prints it."""
        text = self.method
        if self.aggregators:
            text += f" with {counted(self.aggregators, 'aggregator')}"
        if self.slots:
            text += f" with {counted(self.slots, 'slot')}"
        return text + (" by stripes" if self.domains == "stripes" else "")

    @property
    def hints(self) -> dict[str, str]:
        """Returns the hints that request the arm."""
        hints = {"oratorio_method": self.method}
        if self.aggregators:
            hints["cb_nodes"] = str(self.aggregators)
        if self.slots:
            hints["oratorio_slots"] = str(self.slots)
        if self.domains != "auto":
            hints["oratorio_domains"] = self.domains
        return hints


@dataclass
class Kind:
    """One kind of access, and what is known about it."""

    direction: str
    ranks: int
    ranks_with_data: int
    nodes: int
    bytes: float
    piece: int
    memory_piece: int
    facts: int
    file_system: int
    accesses: int
    total: float  # seconds
    excess: float  # seconds lost by trying arms that took longer
    arms: list[Arm] = field(default_factory=list)

    @property
    def in_words(self) -> str:
        """Returns a short description by which a user can recognize this kind of access."""
        system = FILE_SYSTEMS.get(self.file_system, f"file system {self.file_system:#x}")
        where = f"{counted(self.ranks, 'rank')} on {counted(self.nodes, 'node')}"
        shape = f"{amount(self.bytes)} in pieces of about {amount(2**self.piece)}"
        extras = [text for bit, text in ((NO_HOLES, "no holes"), (DIRECT, "direct I/O")) if self.facts & bit]
        return ", ".join([f"{self.direction} of {shape}", where, system, *extras])

    @property
    def used(self) -> Arm | None:
        """Returns the arm in use; None if there is none."""
        return next((arm for arm in self.arms if arm.in_use), None)


def folder_of(environ: Mapping[str, str]) -> Path | None:
    """Returns the folder of the files; None if the environment names none."""
    state = environ.get("XDG_STATE_HOME")
    if not state and environ.get("HOME"):
        state = str(Path(environ["HOME"]) / ".local" / "state")
    return Path(state).absolute() / "oratorio" if state else None


def files_in(folder: Path | None) -> list[Path]:
    """Returns the files of learned times, one for each machine."""
    return sorted(path for path in folder.glob("learned-*.txt") if path.is_file()) if folder else []


def kind_of(words: list[str]) -> Kind:
    """Parses the words of an `access` line after the first."""
    direction, *numbers = words
    ranks, with_data, nodes, quarters, piece, memory_piece, _, _, facts, system, _, accesses = map(
        int, numbers[:12]
    )
    total, excess = map(float, numbers[12:])
    return Kind(
        direction, ranks, with_data, nodes, 2 ** (quarters / 4), piece, memory_piece, facts, system,
        accesses, total, excess,
    )  # fmt: skip


def arm_of(words: list[str]) -> Arm:
    """Parses the words of an `arm` line after the first."""
    method, aggregators, slots, domains, _, _, in_use, *seconds = words
    return Arm(method, int(aggregators), int(slots), domains, in_use == "1", [float(one) for one in seconds])


def read(path: Path) -> list[Kind]:
    """Reads a file of learned times. Raises OratorioError if it is malformed or of another version."""
    kinds: list[Kind] = []
    try:
        first, *lines = path.read_text().splitlines()
        if first != VERSION:
            raise ValueError
        for line in lines:
            what, *words = line.split()
            if what == "access":
                kinds.append(kind_of(words))
            elif what == "arm":
                kinds[-1].arms.append(arm_of(words))
            else:
                raise ValueError
    except (ValueError, IndexError, UnicodeDecodeError) as error:
        raise OratorioError(
            f"{path}: not a file of learned times of this version; `oratorio learned --clear` removes it"
        ) from error
    return kinds


def milliseconds(seconds: float) -> str:
    """Returns a time in milliseconds."""
    return f"{1e3 * seconds:.3g} ms"


def lines_of(kind: Kind) -> list[str]:
    """Returns what is known about a kind of access, as lines for the terminal."""
    share = kind.excess / kind.total if kind.total > 0 else 0
    heading = f"{kind.in_words}: {counted(kind.accesses, 'access')} in {kind.total:.3g} s"
    lines = [heading + (f", {share:.1%} of it lost by trying other methods" if share >= 0.001 else "")]
    measured = [arm for arm in kind.arms if arm.seconds]
    lines += [
        f"  {milliseconds(arm.median):>9}  {arm.name}" + ("  <- used" if arm.in_use else "")
        for arm in sorted(measured, key=lambda arm: arm.median)
    ]
    return lines


def exported(kinds: list[Kind]) -> str:
    """Returns the text of a hints file (for ROMIO_HINTS) that requests one arm: of the arms in use, the one
    whose kinds of access took the most time together. Raises OratorioError if no arm is in use."""
    by_time: dict[str, float] = {}
    hints: dict[str, dict[str, str]] = {}
    for kind in kinds:
        if kind.used is not None:
            by_time[kind.used.name] = by_time.get(kind.used.name, 0) + kind.total
            hints[kind.used.name] = kind.used.hints
    if not by_time:
        raise OratorioError("nothing has been learned yet: run a program with Oratorio first")
    lines = ["# Hints from times that Oratorio measured; use with ROMIO_HINTS=FILE.", "# The times:"]
    for kind in kinds:
        lines += [f"#   {line}" for line in lines_of(kind)]
    most = max(by_time, key=lambda name: by_time[name])
    return "\n".join([*lines, *(f"{key} {value}" for key, value in hints[most].items())]) + "\n"
