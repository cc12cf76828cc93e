# SPDX-License-Identifier: BSD-3-Clause
"""The same schedule on SimGrid S4U (tools/replay), where nodes, aggregators and storage targets act one
by one and share links: what the closed form is held against."""

import math
import subprocess
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from oratorio.paths import BUILD, ROOT
from oratorio.sim_machine import Machine, SimulateError
from oratorio.sim_model import (
    MEGA,
    MICRO,
    NANO,
    Prediction,
    gather_seconds,
    predict,
    storage_loads,
    taken_over,
)
from oratorio.sim_schedule import BYTES, DESCRIBED, MESSAGES, OWN, OWN_PIECES, PIECES, Round, Schedule

SOURCE = ROOT / "tools/replay/replay.cpp"
PROGRAM = BUILD / "tools/replay"
PARTS_MOST = 4  # of a node's senders: more take longer and change little
# Links give what they are said to give, and acknowledgements take nothing.
SETTINGS = ("--cfg=network/model:CM02", "--cfg=network/crosstraffic:no", "--log=root.thresh:error")


def build() -> str:
    """The program, up to date. Raises SimulateError."""
    if PROGRAM.exists() and PROGRAM.stat().st_mtime > SOURCE.stat().st_mtime:
        return str(PROGRAM)
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    words = ["c++", "-std=c++17", "-O2", str(SOURCE), "-o", str(PROGRAM), "-lsimgrid"]
    try:
        told = subprocess.run(words, capture_output=True, text=True)
    except OSError as error:
        raise SimulateError(f"--engine s4u needs a C++ compiler: {error.strerror}") from None
    if "simgrid/s4u.hpp" in told.stderr or "-lsimgrid" in told.stderr:
        raise SimulateError("--engine s4u needs SimGrid, which isn't here: apt-get install libsimgrid-dev")
    if told.returncode != 0:
        raise SimulateError(f"{SOURCE.name} can't be built:\n{told.stderr[-2000:]}")
    return str(PROGRAM)


def _flows(schedule: Schedule, machine: Machine, one: Round) -> Iterator[str]:
    links, piece = machine.links, machine.work.piece_ns * NANO
    copied = links.memory_rate_mbs * MEGA
    senders = max(1.0, min(schedule.senders / schedule.nodes, machine.cores))
    for node, to in np.argwhere(one.sent[:, :, MESSAGES] > 0):
        row = one.sent[node, to]
        wire = row[BYTES] + row[DESCRIBED]
        placing = row[PIECES] * piece + wire / copied
        sending = (row[MESSAGES] * machine.endpoint.send_us * MICRO + placing) / senders
        yield f"sent {node} {to} {wire:.0f} {row[MESSAGES]:.0f} {sending:.9g} {placing:.9g}"


def text_of(schedule: Schedule, machine: Machine, one: Round) -> str:
    """What the program reads: the order of tools/replay's `Job`."""
    links, endpoint, storage = machine.links, machine.endpoint, machine.storage
    copied, rate = links.memory_rate_mbs * MEGA, links.rate_mbs * MEGA
    window = schedule.in_flight
    loads = storage_loads(schedule, machine, one)
    locks = taken_over(loads, machine)
    own = one.to_aggregators[:, OWN_PIECES] * machine.work.piece_ns * NANO
    own += one.to_aggregators[:, OWN] / copied
    numbers = [
        links.latency_us * MICRO, schedule.nodes * rate * machine.topology.taper, copied,
        endpoint.receive_us * MICRO, endpoint.queue_ns * NANO * endpoint.disorder,
        storage.client_rate_mbs * MEGA, storage.rate_mbs * MEGA, storage.latency_us * MICRO,
    ]  # fmt: skip
    parts = max(1, min(PARTS_MOST, schedule.senders // schedule.nodes))
    head = f"{schedule.nodes} {len(own)} {storage.targets} {window} {parts} {rate:.9g}"
    gather = gather_seconds(schedule, machine, one)
    lines = [f"{head} {' '.join(f'{number:.9g}' for number in numbers)}"]
    lines.append(" ".join(f"{gather:.9g}" for _ in range(schedule.nodes)))
    lines.append(" ".join(str(node) for node in schedule.aggregator_nodes))
    lines.append(" ".join(f"{seconds:.9g}" for seconds in own))
    lines.extend(_flows(schedule, machine, one))
    for target, aggregator in np.argwhere(loads > 0):
        # Locks keep the target busy, as so many bytes more would.
        writers = (loads[target] > 0).sum()
        held = loads[target, aggregator] + locks[target] / writers * storage.rate_mbs * MEGA
        lines.append(f"store {aggregator} {target} {math.ceil(held)}")
    return "\n".join(lines) + "\n"


def replay(schedule: Schedule, machine: Machine) -> Prediction:
    """As sim_model.predict of one slot, but exchange and storage as SimGrid has them.

    Raises SimulateError."""
    program = build()
    gather = exchange = storage = 0.0
    for one in schedule.sampled:
        text = text_of(schedule, machine, one)
        told = subprocess.run([program, *SETTINGS], input=text, capture_output=True, text=True)
        if told.returncode != 0:
            raise SimulateError(f"SimGrid gave up: {told.stderr[-500:]}")
        gathered, exchanged, ended = (float(word) for word in told.stdout.split())
        gather, exchange = gather + gathered, exchange + exchanged - gathered
        storage += ended - exchanged
    scale = schedule.scale
    closed = predict(replace(schedule, slots=1), machine)
    return replace(
        closed, gather=scale * gather, exchange=scale * exchange, storage=scale * storage,
        seconds=closed.metadata + scale * (gather + exchange + storage),
    )  # fmt: skip
