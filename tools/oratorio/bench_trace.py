# SPDX-License-Identifier: BSD-3-Clause
"""The collective accesses of a trace as a run of `oratorio bench`: the same layouts by real ranks, with
other data, every byte checked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from oratorio import trace, trace_accesses
from oratorio.bench_run import Run, Settings
from oratorio.bench_workloads import BenchError
from oratorio.trace_accesses import Collective

WORKLOAD = "recorded"
ARMS = "host,methods,raw"
MOST = 1 << 30  # bytes of all ranks that are repeated in a pass
ALIGNMENT = 64 << 20  # what lies before the first access is left out by so much at a time


@dataclass(frozen=True)
class Job:
    """What is repeated of a trace."""

    file: trace.File
    accesses: tuple[Collective, ...]
    told: str  # what isn't repeated, lines

    @property
    def directions(self) -> set[str]:
        return {one.direction for one in self.accesses}

    @property
    def shift(self) -> int:
        """Views begin so much earlier than they did."""
        begins = [
            access.args["view"]["displacement"]
            for one in self.accesses
            for access in one.ranks
            if access.args["asked"]
        ]
        return min(begins) // ALIGNMENT * ALIGNMENT

    def run(self, numbers: Path) -> Run:
        """Writes the accesses to a file. Raises BenchError."""
        try:
            trace_accesses.write(numbers, self.file, self.accesses, self.shift)
        except trace.TraceError as error:
            raise BenchError(str(error)) from None
        label = f"{Path(self.file.path).name} as recorded"
        return Run(label, WORKLOAD, {"accesses": str(numbers)}, self.file.ranks)


def _first(found: Sequence[Collective]) -> list[Collective]:
    """As many as aren't too large together, but one of each direction at least."""
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
    """Of the file of a trace that is named, or that has most; it must be of so many ranks, if any are named.

    Raises BenchError."""
    try:
        file, found = trace_accesses.of_file(path, name, ranks, "repeated")
    except trace.TraceError as error:
        raise BenchError(str(error)) from None
    kept = _first(found)
    told = [trace_accesses.left_out(file, found)]
    if len(kept) < len(found):
        told.append(f"{len(kept)} of {len(found)} collective accesses are repeated: all have more than 1 GiB")
    return Job(file, tuple(kept), "".join(f"{line}\n" for line in told if line))


def settings_for(job: Job, settings: Settings) -> Settings:
    """In the directions that the trace has. Raises BenchError."""
    directions = tuple(one for one in settings.directions if one in job.directions)
    if not directions:
        raise BenchError(f"the trace has no collective {settings.directions[0]} to be repeated")
    if "host_tuned" in settings.arms and not any(arm == "host_tuned" for arm, _, _ in settings.hints):
        raise BenchError(
            "host_tuned: nobody knows the best hints for a trace; give some with --hint KEY=VALUE"
        )
    if "by_hand" in settings.arms:
        raise BenchError("by_hand: a trace doesn't say which ranks are a row of a grid")
    return replace(settings, directions=directions)
