# SPDX-License-Identifier: BSD-3-Clause
"""Repeats the collective accesses of a trace as a run of `oratorio bench`: real ranks with the same layouts
and other data; every byte is checked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from oratorio.trace import trace
from oratorio_lab.bench.run import Run, Settings
from oratorio_lab.bench.workloads import BenchError
from oratorio_lab.trace import accesses as trace_accesses
from oratorio_lab.trace.accesses import Collective

WORKLOAD = "recorded"
ARMS = "host,methods,raw"
MOST = 1 << 30  # A pass repeats at most this many bytes of all ranks in one direction.
# displacements are reduced by a multiple of this, so that the file begins near the first view
ALIGNMENT = 64 << 20


@dataclass(frozen=True)
class Job:
    """The part of a trace that a run repeats."""

    file: trace.File
    accesses: tuple[Collective, ...]
    told: str  # lines about what is not repeated

    @property
    def directions(self) -> set[str]:
        return {one.direction for one in self.accesses}

    @property
    def shift(self) -> int:
        """The number of bytes that are subtracted from the displacements of views in the trace."""
        begins = [
            access.args["view"]["displacement"]
            for one in self.accesses
            for access in one.ranks
            if access.args["asked"]
        ]
        return min(begins) // ALIGNMENT * ALIGNMENT

    def run(self, numbers: Path) -> Run:
        """Writes the accesses to the file `numbers` and returns the run. Raises TraceError."""
        trace_accesses.write(numbers, self.file, self.accesses, self.shift)
        label = f"{Path(self.file.path).name} as recorded"
        return Run(label, WORKLOAD, {"accesses": str(numbers)}, self.file.ranks)


def _first(found: Sequence[Collective]) -> list[Collective]:
    """Returns accesses of at most MOST bytes in each direction, but at least one of each direction."""
    kept: list[Collective] = []
    sums: dict[str, int] = {}
    for one in found:
        before = sums.get(one.direction, 0)
        if before and before + one.bytes > MOST:
            continue
        sums[one.direction] = before + one.bytes
        kept.append(one)
    return kept


def job_of(path: Path, name: str | None, ranks: Sequence[int] = ()) -> Job:
    """Returns the job of one file of a trace: of the files with `name` in the path, the one that moved most
    data. Raises TraceError, for instance if one of `ranks` is not the trace's number of ranks."""
    file, found = trace_accesses.of_file(path, name, ranks, "repeated")
    kept = _first(found)
    told = [trace_accesses.left_out(file, found)]
    if len(kept) < len(found):
        told.append(
            f"{len(kept)} of {len(found)} collective accesses are repeated, at most 1 GiB in each direction"
        )
    return Job(file, tuple(kept), "".join(f"{line}\n" for line in told if line))


def settings_for(job: Job, settings: Settings) -> Settings:
    """Returns the settings with only the directions of the trace. Raises BenchError."""
    directions = tuple(one for one in settings.directions if one in job.directions)
    if not directions:
        raise BenchError(f"the trace has no collective {settings.directions[0]} to repeat")
    if "host_tuned" in settings.arms and not any(arm == "host_tuned" for arm, _, _ in settings.hints):
        raise BenchError(
            "host_tuned: there are no known best hints for a trace; pass some with --hint KEY=VALUE"
        )
    if "by_hand" in settings.arms:
        raise BenchError("by_hand: a trace doesn't say which ranks form a row of a grid")
    return replace(settings, directions=directions)
