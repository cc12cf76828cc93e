# SPDX-License-Identifier: BSD-3-Clause
"""Runs the library itself, to compare it with its model: the ranks run on SimGrid's MPI
(lab/replay/on_smpi.cpp) and access a store that takes no time. The costs of a message for its sender and its
receiver come from the machine file, as in the model; the library itself determines the order of messages and
the dependencies between them."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from oratorio_lab.simulate import s4u
from oratorio_lab.simulate.machine import Machine
from oratorio_lab.simulate.s4u import MEGA, MICRO, NANO
from oratorio_lab.simulate.schedule import DIRECTIONS, Schedule, hint_words

TARGET = "oratorio_on_smpi"
# MPI_Test takes no simulated time.
SETTINGS = ("--cfg=smpi/test:0",)


PHASES = ("gather", "exchange")
FREE_RATE = 1e15  # bytes a second; for a link that must take no time


@dataclass(frozen=True)
class Written:
    """The time that the library took, in seconds of SimGrid's clock, and the messages that it sent."""

    gather: float  # measured while the exchange takes no time
    exchange: float  # measured while gathering takes no time
    both: float  # measured while both take time, overlap and share cores
    messages: int
    bytes: int  # total size of these messages, including message headers and run tables


def numbers_of(schedule: Schedule, machine: Machine, phases: Collection[str]) -> str:
    """Returns the program's input, in the order of `read` in lab/replay/on_smpi.cpp. Only `phases` take
    time."""
    links, endpoint, work = machine.links, machine.endpoint, machine.work
    rate = links.rate_mbs * MEGA
    far = [rate, links.latency_us * MICRO, schedule.nodes * rate * machine.topology.taper]
    if "exchange" not in phases:
        far = [FREE_RATE, 0, FREE_RATE]
    # Inside a node the copies at both ends are the transfer, so the link itself takes only its latency.
    near = [FREE_RATE, links.near_latency_us * MICRO if "gather" in phases else 0]
    merge = work.merge_ns * math.log2(schedule.ranks / schedule.senders + 1)
    ends = []
    for phase, piece, place in zip(PHASES[::-1], (work.piece_ns,) * 2, (work.piece_ns, merge), strict=True):
        costs = [
            endpoint.send_us * MICRO, endpoint.receive_us * MICRO,
            endpoint.queue_ns * NANO * endpoint.disorder, 1 / (links.memory_rate_mbs * MEGA),
            piece * NANO, place * NANO,
        ]  # fmt: skip
        ends += costs if phase in phases else [0] * len(costs)
    return " ".join(f"{number:.9g}" for number in [*far, *near, *ends])


def write(given: str, hints: Mapping[str, str], schedule: Schedule, machine: Machine) -> Written:
    """Runs the library on the workload `given` (from Planner.given()), in the direction and with the ranks
    and nodes of the schedule. Raises SimulateError."""
    job = [DIRECTIONS[schedule.reads], str(schedule.ranks), str(schedule.nodes)]
    words = [s4u.build(TARGET), given, *job, hint_words(hints)]

    def told(*phases: str) -> list[float]:
        return s4u.run([*words, *SETTINGS], numbers_of(schedule, machine, phases))

    both, messages, size = told(*PHASES)
    gather, exchange = (told(phase)[0] for phase in PHASES) if schedule.local_aggregators else (0.0, both)
    return Written(gather, exchange, both, int(messages), int(size))
