# SPDX-License-Identifier: BSD-3-Clause
"""Finds which ranks the others waited for in collective calls, and for how long."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from oratorio.report.facts import Run, calls_of, groups_of
from oratorio.trace.trace import Access, Call


@dataclass
class WaitedFor:
    """The waits of other ranks for one rank; times are sums over the waiting ranks, in seconds."""

    rank: int  # rank in MPI_COMM_WORLD
    late_calls: int = 0  # collective calls that it entered last, while others were already waiting
    late_seconds: float = 0.0  # waits until it entered
    busy_seconds: float = 0.0  # waits while it stored, loaded or copied

    @property
    def seconds(self) -> float:
        return self.late_seconds + self.busy_seconds


def _worked(access: Access) -> float:
    return (access.count("storage_time") + access.count("copy_time")) / 1e9


def _add_call(found: dict[int, WaitedFor], call: Sequence[Access]) -> None:
    """Adds the waits in one collective call.

    A rank's wait for the last rank to enter lasts from its own start to that rank's start, but at most as
    long as the rank was idle, because not all methods wait. The rest of its idle time counts as waiting for
    ranks that work, and is divided among them in proportion to the time that each worked.
    """
    last = max(call, key=lambda access: access.begin)
    late, rest = {}, {}
    for access in call:
        idle = access.count("wait_time") / 1e9
        late[access.process] = min(idle, last.begin - access.begin)
        rest[access.process] = idle - late[access.process]
    if sum(late.values()) > 0:
        found[last.process].late_calls += 1
        found[last.process].late_seconds += sum(late.values())
    work = {access.process: _worked(access) for access in call}
    whole = sum(work.values())
    others = {rank: whole - own for rank, own in work.items()}  # rank -> work of all other ranks
    per_second = {rank: rest[rank] / others[rank] if others[rank] > 0 else 0.0 for rank in rest}
    sum_per_second = sum(per_second.values())
    for rank, own in work.items():
        found[rank].busy_seconds += own * (sum_per_second - per_second[rank])


def waited_for(run: Run) -> list[WaitedFor]:
    """Returns the ranks that others waited for in blocking collective calls, longest waits first."""
    found: dict[int, WaitedFor] = {rank: WaitedFor(rank) for rank in run.processes}
    for file in run.files:
        for group in groups_of(file):
            for call in calls_of(group):
                if len(call) > 1 and not call[0].args.get("started"):
                    _add_call(found, call)
    return sorted((one for one in found.values() if one.seconds > 0), key=lambda one: -one.seconds)


def busy_seconds(work: Iterable[Access | Call]) -> float:
    """Returns the time during which at least one of these accesses and calls was under way."""
    seconds, end = 0.0, float("-inf")
    for one in sorted(work, key=lambda one: one.begin):
        seconds += max(0.0, one.end - max(end, one.begin))
        end = max(end, one.end)
    return seconds


@dataclass(frozen=True)
class Rate:
    """The bytes that all ranks moved in one direction, and the time during which at least one rank was in an
    access of that direction."""

    bytes: int
    seconds: float


def rates_of(run: Run) -> dict[str, Rate]:
    """Returns direction -> rate, for the directions in which bytes were moved."""
    by_direction: dict[str, list[Access]] = defaultdict(list)
    for file in run.files:
        for access in file.accesses:
            by_direction[access.args["direction"]].append(access)
    rates = {
        direction: Rate(sum(access.args["moved"] for access in accesses), busy_seconds(accesses))
        for direction, accesses in sorted(by_direction.items())
    }
    return {direction: rate for direction, rate in rates.items() if rate.bytes and rate.seconds > 0}
