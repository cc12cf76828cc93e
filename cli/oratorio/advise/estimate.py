# SPDX-License-Identifier: BSD-3-Clause
"""Estimates how long a job's file accesses would have taken with Oratorio, from the job's Darshan log alone.

The estimate is the time of storage calls plus the time of moving the data to the aggregators. Oratorio's
collective accesses reach the storage as requests of up to REQUEST bytes, so the estimate assumes the rate of
the job's own large storage calls. Its range comes from the spread of their rates and from EXCHANGE. It leaves
out what the log doesn't record: contention, the file system's cache, and waiting for other ranks, which
Darshan counts as time in MPI-IO.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from oratorio.advise.log import DIRECTIONS, Log, Record, Segment, by_name, total

MIB = 1 << 20
REQUEST = 4 * MIB  # the largest storage request of auto's collective methods by default
LARGE_CALL = MIB  # bytes from which a storage call counts as large
SAMPLES_FEW = 5  # with fewer samples, the range covers all samples
ONE_SAMPLE = 3.0  # a single sample may be wrong by this factor
# The rate at which data reaches the aggregators, in bytes per second: lowest, usual, highest. The values are
# assumptions about memory and networks, because a Darshan log doesn't record this rate.
EXCHANGE = (0.25 * (1 << 30), float(1 << 30), 4.0 * (1 << 30))
GAIN_LEAST = 1.1  # a smaller gain counts as none


@dataclass(frozen=True)
class Rate:
    """Bytes per second of one process in large storage calls."""

    low: float
    usual: float
    high: float
    samples: int


@dataclass(frozen=True)
class Estimate:
    """One direction of one file's storage calls, now and as collective accesses of Oratorio.

    Times are sums over all processes, in seconds. `after` has the usual, the shortest and the longest time
    with Oratorio. If it is None, `reason` says why.
    """

    name: str
    direction: str
    calls: int
    moved: int  # bytes
    seconds: float
    calls_after: int
    after: tuple[float, float, float] | None
    reason: str = ""

    @property
    def mean(self) -> float:
        return self.moved / self.calls

    @property
    def gains(self) -> tuple[float, float, float]:
        """The speedup: usual, least, greatest. All are 1 if `after` is None."""
        usual, shortest, longest = self.after or (self.seconds,) * 3
        return self.seconds / usual, self.seconds / longest, self.seconds / shortest


def _samples(records: Iterable[Record], segments: Iterable[Segment], direction: str) -> list[float]:
    """Returns the rates of the job's large storage calls.

    There is one rate for each large call that DXT recorded. If DXT recorded none, there is at most one for
    each record: its mean rate if its calls are large on average, or else the rate of its slowest call if that
    call is large.
    """
    traced = [s.length / s.seconds for s in segments
              if s.direction == direction and s.length >= LARGE_CALL and s.seconds > 0]  # fmt: skip
    if traced:
        return traced
    plural, moved_name = DIRECTIONS[direction]
    found = []
    for record in records:
        calls, moved = record.get(f"POSIX_{plural}"), record.get(f"POSIX_BYTES_{moved_name}")
        seconds = record.get(f"POSIX_F_{direction.upper()}_TIME")
        slowest = record.get(f"POSIX_MAX_{direction.upper()}_TIME_SIZE")
        if calls and seconds and moved / calls >= LARGE_CALL:
            found.append(moved / seconds)
        elif slowest >= LARGE_CALL and record.get(f"POSIX_F_MAX_{direction.upper()}_TIME"):
            found.append(slowest / record.get(f"POSIX_F_MAX_{direction.upper()}_TIME"))
    return found


def rate_of(samples: Sequence[float]) -> Rate | None:
    """Returns the median rate and its range. The range covers about the middle 80 % of the samples, or all if
    there are fewer than SAMPLES_FEW; for a single sample, it goes from 1 / ONE_SAMPLE of its rate to
    ONE_SAMPLE times its rate. Returns None if there are no samples."""
    if not samples:
        return None
    ordered, last = sorted(samples), len(samples) - 1
    usual = ordered[last // 2]
    if last == 0:
        return Rate(usual / ONE_SAMPLE, usual, usual * ONE_SAMPLE, 1)
    cut = 0 if len(ordered) < SAMPLES_FEW else -(-len(ordered) // 10)
    return Rate(ordered[cut], usual, ordered[last - cut], len(ordered))


def _requests(segments: Sequence[Segment], moved: int) -> int:
    """Estimates the number of storage requests that the accesses of all ranks need together. Joins adjacent
    and overlapping DXT segments; without DXT, assumes accesses without holes."""
    if not segments:
        return max(1, -(-moved // REQUEST))
    lengths, end = [], -1
    for one in sorted((s for s in segments if s.length), key=lambda s: s.offset):
        behind = one.offset + one.length
        if one.offset > end:
            lengths.append(one.length)
        else:
            lengths[-1] += max(0, behind - end)
        end = max(end, behind)
    return max(1, sum(-(-length // REQUEST) for length in lengths))


def _estimate(
    name: str, direction: str, posix: Sequence[Record], segments: Sequence[Segment], rate: Rate | None
) -> Estimate | None:
    plural, moved_name = DIRECTIONS[direction]
    calls = int(total(posix, f"POSIX_{plural}"))
    moved = int(total(posix, f"POSIX_BYTES_{moved_name}"))
    seconds = total(posix, f"POSIX_F_{direction.upper()}_TIME")
    if not (calls and moved):
        return None
    after, reason = None, ""
    requests = _requests([s for s in segments if s.direction == direction], moved)
    if not seconds:
        reason = "the log has no times for its storage calls"
    elif moved / calls >= LARGE_CALL:
        reason = "its storage calls are large already, so joining them gains little"
    elif 2 * requests > calls:
        reason = "its accesses can't be joined into far fewer storage calls"
    elif rate is None:
        reason = f"the log has no {direction}s of at least 1 MiB to take a rate from"
    else:
        after = (
            moved / rate.usual + moved / EXCHANGE[1], moved / rate.high + moved / EXCHANGE[2],
            moved / rate.low + moved / EXCHANGE[0],
        )  # fmt: skip
    return Estimate(name, direction, calls, moved, seconds, requests, after, reason)


def rates_of(log: Log) -> Mapping[str, Rate | None]:
    """Returns direction -> rate of the job's large storage calls."""
    segments = log.segments.get("DXT_POSIX", ())
    return {d: rate_of(_samples(log.of("POSIX"), segments, d)) for d in DIRECTIONS}


def estimates_of(log: Log, rates: Mapping[str, Rate | None]) -> list[Estimate]:
    """Returns an estimate for each file that the job opened through MPI-IO, because Oratorio takes no part in
    other accesses, and for each direction in which storage calls moved data. `rates` comes from
    rates_of()."""
    posix = by_name(log.of("POSIX"))
    segments: dict[str, list[Segment]] = defaultdict(list)
    for segment in log.segments.get("DXT_MPIIO", ()):
        segments[segment.name].append(segment)
    found = [
        _estimate(name, direction, posix.get(name, []), segments[name], rates[direction])
        for name in by_name(log.of("MPI-IO"))
        for direction in DIRECTIONS
    ]
    return [one for one in found if one]
