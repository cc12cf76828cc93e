# SPDX-License-Identifier: BSD-3-Clause
"""Replays a schedule on SimGrid S4U (lab/replay), which simulates each node, aggregator and storage target
and shares links between them. The result is a check of the closed form."""

import math
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from oratorio_lab import targets
from oratorio_lab.simulate.machine import Machine, SimulateError
from oratorio_lab.simulate.model import Prediction, predict
from oratorio_lab.simulate.schedule import (
    BYTES,
    DESCRIBED,
    HEAD_BYTES,
    MESSAGES,
    OWN,
    OWN_PIECES,
    PIECES,
    Round,
    Schedule,
)

MICRO, NANO, MEGA = 1e-6, 1e-9, 1e6
# A node's senders are simulated in at most this many groups; more take longer and change little.
PARTS_MOST = 4
# Links have exactly the given bandwidth and latency, and acknowledgements take nothing.
SETTINGS = (
    "--cfg=network/model:CM02", "--cfg=network/crosstraffic:no", "--cfg=network/latency-factor:1",
    "--cfg=network/bandwidth-factor:1", "--cfg=network/weight-S:0", "--log=root.thresh:error",
)  # fmt: skip
NO_SIMGRID = ("simgrid/s4u.hpp: No such file", "smpi/smpi.h: No such file", "-lsimgrid")


def build(target: str = "oratorio_replay") -> Path:
    """Builds a program of lab/replay and returns its path. Raises SimulateError, TargetError."""
    try:
        return targets.build(target, "lab/replay")
    except targets.TargetError as error:
        if any(sign in str(error) for sign in NO_SIMGRID):
            raise SimulateError("SimGrid is not installed: apt-get install libsimgrid-dev") from None
        raise


def run(words: Sequence[str | Path], text: str) -> list[float]:
    """Runs a program of lab/replay with `text` as input; returns the numbers it prints. Raises
    SimulateError."""
    told = subprocess.run([*words, *SETTINGS], input=text, capture_output=True, text=True)
    if told.returncode != 0:
        raise SimulateError(f"SimGrid failed: {told.stderr[-500:]}")
    return [float(word) for word in told.stdout.split()]


def storage_loads(schedule: Schedule, machine: Machine, one: Round) -> np.ndarray:
    """Returns the bytes that each aggregator moves to or from each target in a round, as an array indexed by
    [target, aggregator]."""
    storage, stripe = machine.storage, machine.storage.stripe_bytes
    loads = np.zeros((storage.targets, len(schedule.aggregator_nodes)))
    for aggregator, begin, length in one.regions:
        first, last = begin // stripe, (begin + length - 1) // stripe
        stripes = np.arange(first, last + 1)
        held = np.full(len(stripes), stripe)
        held[0] -= begin - first * stripe
        held[-1] -= (last + 1) * stripe - begin - length
        np.add.at(loads[:, aggregator], stripes % storage.targets, held)
    return loads


def _flows(schedule: Schedule, machine: Machine, one: Round) -> Iterator[str]:
    links, piece = machine.links, machine.work.piece_ns * NANO
    copied = links.memory_rate_mbs * MEGA
    senders = max(1.0, min(schedule.senders / schedule.nodes, machine.cores))
    for node, to in np.argwhere(one.sent[:, :, MESSAGES] > 0):
        row, endpoint = one.sent[node, to], machine.endpoint
        there, back = row[DESCRIBED] + row[BYTES], 0.0
        answering = taking = 0.0
        if schedule.reads:
            there, back = row[DESCRIBED], row[BYTES] + row[MESSAGES] * HEAD_BYTES
            answering = row[MESSAGES] * endpoint.send_us * MICRO + back / copied
            taking = (row[MESSAGES] * endpoint.receive_us * MICRO + back / copied) / senders
        placing = row[PIECES] * piece + there / copied
        sending = (row[MESSAGES] * endpoint.send_us * MICRO + placing) / senders
        yield (
            f"sent {node} {to} {there:.0f} {row[MESSAGES]:.0f} {sending:.9g} {placing:.9g} "
            f"{back:.0f} {answering:.9g} {taking:.9g}"
        )


def text_of(schedule: Schedule, machine: Machine, one: Round) -> str:
    """Returns the input of oratorio_replay for a round, in the order of `Job` in lab/replay/replay.cpp."""
    links, endpoint, storage = machine.links, machine.endpoint, machine.storage
    copied, rate = links.memory_rate_mbs * MEGA, links.rate_mbs * MEGA
    window = schedule.in_flight
    loads = storage_loads(schedule, machine, one)
    own = one.to_aggregators[:, OWN_PIECES] * machine.work.piece_ns * NANO
    own += one.to_aggregators[:, OWN] / copied
    numbers = [
        links.latency_us * MICRO, schedule.nodes * rate * machine.topology.taper, copied,
        endpoint.receive_us * MICRO, endpoint.queue_ns * NANO * endpoint.disorder,
        storage.client_rate_mbs * MEGA, storage.rate_mbs * MEGA, storage.latency_us * MICRO,
    ]  # fmt: skip
    parts = max(1, min(PARTS_MOST, schedule.senders // schedule.nodes))
    head = f"{schedule.reads:d} {schedule.nodes} {len(own)} {storage.targets} {window} {parts} {rate:.9g}"
    of_round = replace(schedule, sampled=(one,))
    gather = predict(of_round, machine).gather / of_round.scale
    lines = [f"{head} {' '.join(f'{number:.9g}' for number in numbers)}"]
    lines.append(" ".join(f"{gather:.9g}" for _ in range(schedule.nodes)))
    lines.append(" ".join(str(node) for node in schedule.aggregator_nodes))
    lines.append(" ".join(f"{seconds:.9g}" for seconds in own))
    lines.extend(_flows(schedule, machine, one))
    for target, aggregator in np.argwhere(loads > 0):
        # The time of taking a lock is replayed as additional bytes, because it keeps the target just as busy.
        lock = storage.lock_us * MICRO if (loads[target] > 0).sum() > 1 and not schedule.reads else 0.0
        held = loads[target, aggregator] + lock * storage.rate_mbs * MEGA
        lines.append(f"store {aggregator} {target} {math.ceil(held)}")
    return "\n".join(lines) + "\n"


def replay(schedule: Schedule, machine: Machine) -> Prediction:
    """Returns a prediction as `predict` does for one slot, but with exchange and storage simulated by
    SimGrid.

    Raises SimulateError.
    """
    if schedule.stands_for:
        walked = f"{len(schedule.stands_for)} of {schedule.nodes} nodes"
        raise SimulateError(
            f"SimGrid can replay a plan only if all its nodes are walked, not {walked}; use fewer ranks"
        )
    program = build()
    gather = exchange = storage = 0.0
    for one in schedule.sampled:
        text = text_of(schedule, machine, one)
        gathered, exchanged, stored = run([program], text)
        gather, exchange, storage = gather + gathered, exchange + exchanged, storage + stored
    scale = schedule.scale
    closed = predict(replace(schedule, slots=1), machine)
    return replace(
        closed, gather=scale * gather, exchange=scale * exchange, storage=scale * storage,
        seconds=closed.metadata + scale * (gather + exchange + storage),
    )  # fmt: skip
