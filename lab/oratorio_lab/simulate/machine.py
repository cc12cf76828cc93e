# SPDX-License-Identifier: BSD-3-Clause
"""Machines for `oratorio simulate`, from TOML files in lab/machines or of the user."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from oratorio.errors import OratorioError
from oratorio.paths import ROOT

FOLDER = ROOT / "lab/machines"
KINDS = ("one-switch", "fat-tree", "dragonfly")


class SimulateError(OratorioError):
    """Raised if simulating failed; the message is a sentence for the user."""


@dataclass(frozen=True)
class Links:
    """The links between nodes, and between ranks of a node (`near`). MB are 10^6 bytes."""

    latency_us: float
    rate_mbs: float  # bandwidth of a node's link in each direction
    near_latency_us: float
    memory_rate_mbs: float  # bandwidth of a core that copies


@dataclass(frozen=True)
class Topology:
    """The network between the nodes."""

    kind: str
    taper: float  # share of the nodes' total rate that can cross the middle at once


@dataclass(frozen=True)
class Endpoint:
    """The cost of a message at its ends, in addition to its bytes."""

    send_us: float  # o_s in docs/research/simulate.md
    receive_us: float  # o_r in docs/research/simulate.md
    queue_ns: float  # t_q: time to examine an entry of the message queue
    disorder: float  # share of the queue that is examined for a message


@dataclass(frozen=True)
class Work:
    """The time that a core spends on a contiguous piece."""

    piece_ns: float  # per piece, to describe or to place it
    merge_ns: float  # per piece, for each level of a merge


@dataclass(frozen=True)
class Storage:
    """The targets over which a file is striped."""

    targets: int
    rate_mbs: float  # bandwidth of a target
    client_rate_mbs: float  # bandwidth of an aggregator
    latency_us: float  # latency of each call
    lock_us: float  # time of taking over a target to which another aggregator also writes
    stripe_bytes: int


@dataclass(frozen=True)
class Machine:
    """The values of a machine that predictions use."""

    name: str
    nodes: int
    cores: int
    links: Links
    topology: Topology
    endpoint: Endpoint
    work: Work
    storage: Storage
    sources: Mapping[str, str] = field(default_factory=dict)  # key -> the source of its value

    @property
    def assumed(self) -> list[str]:
        """The keys with values that nobody has measured or published."""
        return [key for key, source in self.sources.items() if source.startswith("assumed")]


TABLES = {"links": Links, "topology": Topology, "endpoint": Endpoint, "work": Work, "storage": Storage}
MAY_BE_ZERO = {"send_us", "receive_us", "queue_ns", "disorder", "piece_ns", "merge_ns", "latency_us",
               "near_latency_us", "lock_us"}  # fmt: skip
SHARES = {"endpoint.disorder", "topology.taper"}
# Limits that no existing machine reaches; beyond them a prediction would only run out of memory.
MOST = {"nodes": 10**7, "cores": 10**5, "storage.targets": 10**6, "storage.stripe_bytes": 10**12}


def _checked(key: str, kind: type, value: Any) -> Any:
    """Returns a value, converted to float unless `kind` is int or str. Raises SimulateError if the value is
    not valid for the key."""
    if kind is str:
        if not isinstance(value, str):
            raise SimulateError(f"{key} must be a string, not {value!r}")
        return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or (kind is int and not isinstance(value, int)):
        raise SimulateError(f"{key} must be {'an integer' if kind is int else 'a number'}, not {value!r}")
    zero = key.rpartition(".")[2] in MAY_BE_ZERO
    if value < 0 or (value == 0 and not zero):
        raise SimulateError(f"{key} must be {'at least' if zero else 'above'} 0, not {value}")
    if key in SHARES and value > 1:
        raise SimulateError(f"{key} must be a fraction between 0 and 1, not {value}")
    if value > MOST.get(key, math.inf):
        raise SimulateError(f"{key} must be at most {MOST[key]}, not {value}")
    return value if kind is int else float(value)


def _table(kind: type, prefix: str, given: Any) -> Any:
    if not isinstance(given, dict):
        raise SimulateError(
            f"[{prefix[:-1]}] is missing" if given is None else f"{prefix[:-1]} is not a table"
        )
    known = {one.name: one.type for one in fields(kind)}
    for key in given:
        if key not in known:
            raise SimulateError(f"{prefix}{key} is not a property of a machine; known: {', '.join(known)}")
    for key in known:
        if key not in given:
            raise SimulateError(f"{prefix}{key} is missing")
    return kind(**{key: _checked(prefix + key, known[key], value) for key, value in given.items()})


def _contradictions(machine: Machine) -> None:
    links, storage = machine.links, machine.storage
    if machine.topology.kind not in KINDS:
        raise SimulateError(f"topology.kind must be one of {', '.join(KINDS)}, not {machine.topology.kind}")
    if machine.topology.kind == "one-switch" and machine.topology.taper != 1:
        raise SimulateError("topology.taper must be 1 if topology.kind is one-switch, which has no middle")
    if machine.nodes > 1 and machine.topology.taper * machine.nodes < 1:
        raise SimulateError(
            f"topology.taper ({machine.topology.taper:g}) of {machine.nodes} nodes gives the middle "
            "less bandwidth than the link of one node"
        )
    if links.near_latency_us > links.latency_us:
        raise SimulateError(
            f"links.near_latency_us ({links.near_latency_us:g}) is above links.latency_us "
            f"({links.latency_us:g}): ranks of a node can't be farther from each other than nodes"
        )
    if links.memory_rate_mbs * machine.cores < links.rate_mbs:
        raise SimulateError(
            f"links.rate_mbs ({links.rate_mbs:g}) is above cores x links.memory_rate_mbs "
            f"({machine.cores} x {links.memory_rate_mbs:g}): a node could not saturate its link"
        )
    if storage.stripe_bytes < 4096:
        raise SimulateError(f"storage.stripe_bytes ({storage.stripe_bytes}) is less than a page, 4096")
    known = {"nodes", "cores"} | {f"{name}.{one.name}" for name, t in TABLES.items() for one in fields(t)}
    for key, source in machine.sources.items():
        if key not in known:
            raise SimulateError(f"sources: {key} is not a property of a machine")
        if not isinstance(source, str):
            raise SimulateError(f"sources: {key} must be a string")
    for key in sorted(known):
        if key not in machine.sources:
            raise SimulateError(f'sources: the origin of {key} is missing ("assumed" is allowed)')


def parse(text: str) -> Machine:
    """Parses the text of a machine file. Raises SimulateError if it is not valid; the message names the
    key."""
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SimulateError(f"not TOML: {error}") from None
    plain = {"name": str, "nodes": int, "cores": int}
    for key in given:
        if key not in plain and key not in TABLES and key != "sources":
            raise SimulateError(f"{key} is not a property of a machine")
    for key in plain:
        if key not in given:
            raise SimulateError(f"{key} is missing")
    sources = given.get("sources", {})
    if not isinstance(sources, dict):
        raise SimulateError("sources is not a table")
    machine = Machine(
        **{key: _checked(key, kind, given[key]) for key, kind in plain.items()},
        **{name: _table(kind, f"{name}.", given.get(name)) for name, kind in TABLES.items()},
        sources=sources,
    )
    _contradictions(machine)
    return machine


FREE_NS = 1e-9  # in place of 0 for costs that may not be zero


def costs(machine: Machine) -> str:
    """Returns the machine as the closed form reads it: cores, targets, stripes, and constants as in a file
    of costs (src/plan/costs.def, nanoseconds). `message` is the cost of a message at both ends, the same
    within a node as between nodes; `far_message` adds the latency between nodes."""
    links, endpoint, work, storage = machine.links, machine.endpoint, machine.work, machine.storage
    ends = endpoint.send_us + endpoint.receive_us
    not_zero = {
        "send_message": endpoint.send_us * 1e3,
        "endpoint_message": endpoint.receive_us * 1e3,
        "message": ends * 1e3,
        "far_message": (links.latency_us + ends) * 1e3,
        "far_byte": 1e3 / links.rate_mbs,
        "message_byte": 2 * 1e3 / links.memory_rate_mbs,  # a message's byte is copied at both ends
        "copy_byte": 1e3 / links.memory_rate_mbs,
        "message_piece": work.piece_ns,
        "copy_piece": work.piece_ns,
        "merge_piece": work.merge_ns,
        "collective": links.near_latency_us * 1e3,
    }
    may_be_zero = {
        "middle_byte": 1e3 / (links.rate_mbs * machine.topology.taper),
        "queue_entry": endpoint.queue_ns * endpoint.disorder,
        "target_byte": 1e3 / storage.rate_mbs,
        "target_call": storage.latency_us * 1e3,
        "target_lock": storage.lock_us * 1e3,
        "client_byte": 1e3 / storage.client_rate_mbs,
    }
    values = {name: max(FREE_NS, value) for name, value in not_zero.items()} | may_be_zero
    lines = [f"machine {machine.cores} {storage.targets} {storage.stripe_bytes}"]
    return "\n".join([*lines, *(f"{name} {value:.17g}" for name, value in values.items())]) + "\n"


def known() -> list[str]:
    """Returns the names of the machines that come with Oratorio."""
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


def load(name: str) -> Machine:
    """Loads a machine by the name of a file of lab/machines, or by a path. Raises SimulateError."""
    file = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    try:
        return parse(file.read_text())
    except OSError as error:
        raise SimulateError(f"{file}: {error.strerror}; the machines are {', '.join(known())}") from None
    except (SimulateError, UnicodeDecodeError) as error:
        raise SimulateError(f"{file}: {error}") from None


def with_value(machine: Machine, key: str, value: Any) -> Machine:
    """Returns the machine with a new value for `key`, which is KEY or TABLE.KEY. Raises SimulateError."""
    table, _, name = key.rpartition(".")
    owner = getattr(machine, table, None) if table in TABLES else machine if not table else None
    kinds = {one.name: one.type for one in fields(owner)} if owner is not None else {}
    if name not in kinds or name in ("sources", *TABLES):
        raise SimulateError(f"{key} is not a property of a machine")
    changed = replace(owner, **{name: _checked(key, kinds[name], value)})
    result = replace(machine, **{table: changed}) if table else changed
    result = replace(result, sources={**machine.sources, key: "given"} if name != "name" else machine.sources)
    _contradictions(result)
    return result
