# SPDX-License-Identifier: BSD-3-Clause
"""The closed form: how long a collective write takes on a machine, of a schedule of the library's plan.

A round is gathered (two layers), exchanged and stored. Within a phase the slowest of what works at
the same time counts, one phase begins when the one before has ended, and with two slots or more
storage overlaps with the rest. docs/simulate.md has the formulas in words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oratorio.sim_machine import Machine, with_value
from oratorio.sim_schedule import BYTES, DESCRIBED, MESSAGES, OWN, OWN_PIECES, PIECES, Round, Schedule

SUMMARY_BYTES = 72  # AccessSummary, of each rank
AGREEMENTS = 5  # reductions of an access, the gather of the summaries among them
MICRO, NANO, MEGA = 1e-6, 1e-9, 1e6


@dataclass(frozen=True)
class Prediction:
    """Of one schedule on one machine. Seconds of all rounds."""

    arm: str
    metadata: float
    gather: float
    exchange: float
    storage: float
    seconds: float  # less than their sum where they overlap
    bound: str  # what the exchange waits for
    messages: float  # to aggregators and, in two layers, to local ones
    far_messages: float
    depth: float  # most entries that a message is looked for among
    busiest: float  # messages that the busiest aggregator gets in a round

    def rate(self, size: int) -> float:
        """GiB/s."""
        return size / self.seconds / 2**30


def metadata_seconds(schedule: Schedule, machine: Machine) -> float:
    """Summaries and agreements."""
    links, endpoint = machine.links, machine.endpoint
    near = schedule.ranks / schedule.nodes * links.near_latency_us
    hop = links.latency_us + endpoint.send_us + endpoint.receive_us
    far = math.ceil(math.log2(schedule.nodes)) * hop if schedule.nodes > 1 else 0
    gathered = schedule.ranks * SUMMARY_BYTES / (links.rate_mbs * MEGA) if schedule.nodes > 1 else 0
    return AGREEMENTS * (near + far) * MICRO + gathered


def queue_depth(schedule: Schedule, messages: float) -> float:
    """Most entries that wait for an aggregator which gets so many in a round: a rank has only so many
    messages under way, spread over the aggregators."""
    under_way = schedule.senders * schedule.in_flight / len(schedule.aggregator_nodes)
    return min(messages, max(1.0, under_way))


def receiving(machine: Machine, messages: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """Seconds of so many messages, their bytes apart. At most `depth` of them wait: as many, until the
    last ones have come."""
    endpoint = machine.endpoint
    waiting = messages * depth - depth * depth / 2
    return messages * endpoint.receive_us * MICRO + waiting * endpoint.queue_ns * NANO * endpoint.disorder


def gather_seconds(schedule: Schedule, machine: Machine, one: Round) -> float:
    """Ranks to local aggregators, of the slowest node."""
    if not schedule.local_aggregators:
        return 0.0
    copied = machine.links.memory_rate_mbs * MEGA
    local = schedule.local_aggregators / schedule.nodes
    group = schedule.ranks / schedule.local_aggregators
    rows = one.gathered
    wire = rows[:, BYTES] + rows[:, DESCRIBED]
    pieces = rows[:, PIECES] + rows[:, OWN_PIECES]
    sending = rows[:, MESSAGES] * machine.endpoint.send_us * MICRO + wire / copied
    sending += rows[:, PIECES] * machine.work.piece_ns * NANO
    members = sending / max(1.0, min(schedule.ranks / schedule.nodes - local, machine.cores))
    depth = np.minimum(rows[:, MESSAGES] / local, 2 * group)
    merged = local * receiving(machine, rows[:, MESSAGES] / local, depth)
    merged += pieces * machine.work.merge_ns * NANO * math.log2(group + 1) + (wire + rows[:, OWN]) / copied
    merging = merged / min(local, machine.cores)
    return float(np.maximum(members, merging).max()) + 2 * machine.links.near_latency_us * MICRO


def exchange_terms(schedule: Schedule, machine: Machine, one: Round) -> dict[str, float]:
    """What a round's exchange may wait for, by name."""
    links, piece = machine.links, machine.work.piece_ns * NANO
    copied, rate = links.memory_rate_mbs * MEGA, links.rate_mbs * MEGA
    of_node, of_aggregator = one.from_nodes, one.to_aggregators
    sending = of_node[:, MESSAGES] * machine.endpoint.send_us * MICRO + of_node[:, PIECES] * piece
    sending += (of_node[:, BYTES] + of_node[:, DESCRIBED]) / copied
    senders = max(1.0, min(schedule.senders / schedule.nodes, machine.cores))
    got = of_aggregator[:, MESSAGES]
    depth = np.array([queue_depth(schedule, float(messages)) for messages in got])
    received = receiving(machine, got, depth)
    placed = (of_aggregator[:, PIECES] + of_aggregator[:, OWN_PIECES]) * piece
    placed += (of_aggregator[:, BYTES] + of_aggregator[:, DESCRIBED] + of_aggregator[:, OWN]) / copied
    far = np.where(schedule.far, one.sent[:, :, BYTES] + one.sent[:, :, DESCRIBED], 0)
    into = np.bincount(schedule.aggregator_nodes, weights=far.sum(axis=0), minlength=schedule.nodes)
    middle = far.sum() / (schedule.nodes * rate * machine.topology.taper)
    return {
        "senders": float(sending.max()) / senders,
        "links out": float(far.sum(axis=1).max()) / rate,
        "links in": float(into.max()) / rate,
        "the middle": float(middle),
        "receiving": float((received + placed).max()),
    }


def latency_seconds(schedule: Schedule, machine: Machine, one: Round) -> float:
    """A message is sent when its receiver has asked for it, and only so many are under way."""
    each = one.sent[:, :, MESSAGES].sum() / max(1, schedule.senders)
    return math.ceil(each / schedule.in_flight) * 2 * machine.links.latency_us * MICRO


def storage_loads(schedule: Schedule, machine: Machine, one: Round) -> np.ndarray:
    """[target, aggregator]: bytes of a round."""
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


def taken_over(loads: np.ndarray, machine: Machine) -> np.ndarray:
    """By target: seconds of handing its locks from writer to writer."""
    writers = (loads > 0).sum(axis=1)
    return np.where(writers > 1, writers * machine.storage.lock_us, 0) * MICRO


def storage_seconds(schedule: Schedule, machine: Machine, one: Round) -> float:
    """The slowest target, aggregator or node of a round, or the middle."""
    storage = machine.storage
    loads = storage_loads(schedule, machine, one)
    of_targets = loads.sum(axis=1) / (storage.rate_mbs * MEGA) + taken_over(loads, machine)
    of_clients = loads.sum(axis=0) / (storage.client_rate_mbs * MEGA)
    of_nodes = np.bincount(schedule.aggregator_nodes, weights=loads.sum(axis=0))
    of_nodes /= machine.links.rate_mbs * MEGA
    middle = loads.sum() / (schedule.nodes * machine.links.rate_mbs * MEGA * machine.topology.taper)
    slowest = max(float(of_targets.max()), float(of_clients.max()), float(of_nodes.max()), float(middle))
    return slowest + storage.latency_us * MICRO


def predict(schedule: Schedule, machine: Machine) -> Prediction:
    """All rounds, of the sampled ones."""
    gather = exchange = storage = overlapped = 0.0
    waits: dict[str, float] = {}
    for one in schedule.sampled:
        gathered = gather_seconds(schedule, machine, one)
        terms = exchange_terms(schedule, machine, one)
        bound = max(terms, key=terms.__getitem__)
        exchanged = terms[bound] + latency_seconds(schedule, machine, one)
        stored = storage_seconds(schedule, machine, one)
        waits[bound] = waits.get(bound, 0) + exchanged
        gather, exchange, storage = gather + gathered, exchange + exchanged, storage + stored
        overlapped += max(gathered + exchanged, stored)
    scale = schedule.scale
    metadata = metadata_seconds(schedule, machine)
    one_after_another = scale * (gather + exchange + storage)
    if schedule.slots > 1:  # and once, what can't overlap: the first exchange or the last storage
        ends = min(gather + exchange, storage) / len(schedule.sampled)
        one_after_another = min(one_after_another, scale * overlapped + ends)
    most = max(float(one.to_aggregators[:, MESSAGES].max()) for one in schedule.sampled)
    gathered_messages = sum(float(one.gathered[:, MESSAGES].sum()) for one in schedule.sampled)
    sent = sum(float(one.sent[:, :, MESSAGES].sum()) for one in schedule.sampled)
    far = sum(float(one.sent[:, :, MESSAGES][schedule.far].sum()) for one in schedule.sampled)
    return Prediction(
        schedule.arm, metadata, scale * gather, scale * exchange, scale * storage,
        metadata + one_after_another, max(waits, key=waits.__getitem__),
        scale * (sent + gathered_messages), scale * far, queue_depth(schedule, most), most,
    )  # fmt: skip


def winner(predictions: Sequence[Prediction]) -> Prediction:
    """The fastest."""
    return min(predictions, key=lambda one: one.seconds)


@dataclass(frozen=True)
class Sensitivity:
    """What becomes of the answer if one constant is another."""

    change: str
    winner: Prediction
    gain: float  # how many times as long the first arm takes as the fastest


def changes(machine: Machine) -> list[tuple[str, float]]:
    """The constants that the answer is asked for with, and other values of them."""
    receive, rate = machine.endpoint.receive_us, machine.storage.rate_mbs
    listed = [("endpoint.receive_us", receive / 2), ("endpoint.receive_us", receive * 2)]
    listed += [("endpoint.queue_ns", value) for value in (0.0, 4.0, 10.0, 50.0)]
    listed += [("endpoint.disorder", value) for value in (0.0, 0.1, 1.0)]
    return [*listed, ("storage.rate_mbs", rate / 2), ("storage.rate_mbs", rate * 2)]


def sensitivities(schedules: Sequence[Schedule], machine: Machine) -> list[Sensitivity]:
    """How the winner and its gain over the first schedule hang on what is least known."""
    told = []
    for key, value in [("", 0.0), *changes(machine)]:
        other = with_value(machine, key, value) if key else machine
        predictions = [predict(schedule, other) for schedule in schedules]
        best = winner(predictions)
        change = f"{key} = {value:g}" if key else "as the file says"
        told.append(Sensitivity(change, best, predictions[0].seconds / best.seconds))
    return told
