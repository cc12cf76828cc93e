# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio simulate --switches`: the exchange of a collective write on a fat tree or a dragonfly of SimGrid,
with aggregators placed by switch and without (lab/replay/switched.cpp)."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from oratorio_lab.simulate import s4u
from oratorio_lab.simulate.machine import Machine, SimulateError
from oratorio_lab.simulate.s4u import MEGA, MICRO

RANKS_OF_NODE = 64
# kind of topology -> its networks in lab/count/switches.cpp, and the number of nodes of the machine
NETWORKS = {
    "fat-tree": ({"the machine's": 0, "any": 1}, 1024),
    "dragonfly": ({"the machine's": 2, "any": 3}, 768),
}
JOBS = {"blocks": 0, "lattice": 1}
GIGA = 1e9


@dataclass(frozen=True)
class Exchange:
    """The time of an exchange, and the bytes that it sends."""

    seconds: float
    bytes: int  # bytes between nodes, with message headers and tables of runs
    between_switches: int  # the part of `bytes` from one switch or group to another


def networks_of(machine: Machine, ranks: int) -> Mapping[str, int]:
    """Returns the networks of the machine's kind by their orders of nodes. Raises SimulateError if there are
    none, or if `ranks` does not fill whole nodes or exceeds the networks' nodes."""
    if machine.topology.kind not in NETWORKS:
        raise SimulateError(f"--switches needs a machine with a {' or a '.join(NETWORKS)}")
    networks, nodes = NETWORKS[machine.topology.kind]
    if ranks % RANKS_OF_NODE or ranks > nodes * RANKS_OF_NODE:
        raise SimulateError(f"--ranks must be a multiple of {RANKS_OF_NODE} up to {nodes * RANKS_OF_NODE}")
    return networks


def build() -> Path:
    """Builds the program and returns its path. Raises SimulateError, TargetError."""
    return s4u.build("oratorio_switched")


def exchange(program: Path, machine: Machine, ranks: int, job: tuple[str, str], known: bool) -> Exchange:
    """Simulates the exchange of a job (order of nodes, data) with switches that are known or not. Raises
    SimulateError."""
    order, data = job
    network = networks_of(machine, ranks)[order]
    links = machine.links
    numbers = (links.rate_mbs * MEGA, links.latency_us * MICRO, machine.topology.taper)
    words = [str(ranks), str(network), str(JOBS[data]), str(int(known)), *map(str, numbers)]
    seconds, sent, crossing = s4u.run([program, *words], "")
    return Exchange(seconds, int(sent), int(crossing))


def _rows(machine: Machine, ranks: int) -> Iterator[list[str]]:
    jobs = list(itertools.product(networks_of(machine, ranks), JOBS))
    program = build()
    for job in jobs:
        unknown, known = (exchange(program, machine, ranks, job, placed) for placed in (False, True))
        crossing = [f"{one.between_switches / GIGA:.1f}" for one in (unknown, known)]
        times = [f"{one.seconds * 1e3:.1f}" for one in (unknown, known)]
        yield [*job, *crossing, *times, f"{known.seconds / unknown.seconds:.2f}"]


def table(machine: Machine, ranks: int) -> Table:
    """Returns a table with a row for each job on the machine's networks. Raises SimulateError,
    TargetError."""
    title = f"{ranks} ranks on {machine.name}, {machine.topology.kind}, taper {machine.topology.taper:g}"
    shown = Table("order of nodes", "data", title=title, title_justify="left")
    shown.caption = "GB from one switch or group to another, and milliseconds of the exchange"
    for name in ("GB, switches unknown", "known", "ms, unknown", "known", "known / unknown"):
        shown.add_column(name, justify="right")
    for row in _rows(machine, ranks):
        shown.add_row(*row)
    return shown
