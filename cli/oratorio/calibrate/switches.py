# SPDX-License-Identifier: BSD-3-Clause
"""Finds which nodes share a network switch from the latencies between all pairs of nodes, and writes the
table of switches that ORATORIO_TOPOLOGY names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from oratorio import whole_file
from oratorio.calibrate.calibrate import CalibrateError, run_in_ranks
from oratorio.calibrate.messages import Sender

TURNS = 200  # round trips of a pair, of which the fastest counts
LEAST_NODES = 3  # with two nodes there is one latency, which can't be compared with another
# Latencies of two kinds of pairs differ at least by this factor. A switch in between takes some 100 ns of
# about 1 us, and the fastest of TURNS round trips varies by a few percent.
LEAST_RATIO = 1.15
MOST_SLOW_PAIRS = 0.1  # share of a group's pairs that may be as slow as pairs of different groups

Latencies = Mapping[tuple[int, int], float]  # nanoseconds by a pair's nodes, the lower number first


@dataclass(frozen=True)
class Measured:
    """The names of the nodes, and the latency between each pair of them."""

    names: Sequence[str]
    latencies: Latencies


def measure(sender: Sender) -> Measured:
    """Measures the latencies between the nodes of the sender's ranks. Raises CalibrateError."""
    done, problem = run_in_ranks(sender, "latencies", str(TURNS))
    if done.returncode != 0:
        raise CalibrateError(problem)
    return parse(done.stdout)


def parse(text: str) -> Measured:
    """Returns what lab/calibrate/latencies.cpp printed. Raises CalibrateError if the nodes can't be
    compared or told apart."""
    rows = [line.split("\t") for line in text.splitlines()]
    names = [row[1] for row in rows if row[0] == "node"]
    latencies = {(int(row[1]), int(row[2])): float(row[3]) for row in rows if row[0] == "latency"}
    if len(names) < LEAST_NODES:
        raise CalibrateError(
            f"the ranks are on {len(names)} of the at least {LEAST_NODES} nodes that can be compared"
        )
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise CalibrateError(f"{count} nodes have the name {name}, so a table can't tell them apart")
    return Measured(names, latencies)


def _components(nodes: int, pairs: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Returns the connected components of a graph, ordered by their lowest nodes (union-find)."""
    parent = list(range(nodes))  # node -> a node of its component that is not higher

    def lowest(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for pair in pairs:
        low, high = sorted(map(lowest, pair))
        parent[high] = low
    groups: dict[int, list[int]] = {}
    for node in range(nodes):
        groups.setdefault(lowest(node), []).append(node)
    return list(groups.values())


def _is_separate(groups: Sequence[Sequence[int]], fast: int) -> bool:
    """Returns true if nearly all pairs within the groups are among the `fast` fast pairs of the graph whose
    components are the groups."""
    inside = sum(len(group) * (len(group) - 1) // 2 for group in groups)
    return len(groups) > 1 and inside - fast <= MOST_SLOW_PAIRS * inside


def group_nodes(nodes: int, latencies: Latencies) -> list[list[int]]:
    """Groups the nodes by switch, and returns the nodes of each group. The clearest gap between two latencies
    separates pairs of one group from other pairs. If no gap makes such groups, all nodes are one group."""
    pairs = sorted(latencies, key=lambda pair: latencies[pair])
    ratios = {
        at: latencies[pairs[at]] / latencies[pairs[at - 1]]
        for at in range(1, len(pairs))
        if latencies[pairs[at]] >= LEAST_RATIO * latencies[pairs[at - 1]]
    }
    for fast in sorted(ratios, key=lambda at: -ratios[at]):
        groups = _components(nodes, pairs[:fast])
        if _is_separate(groups, fast):
            return groups
    return [list(range(nodes))]


def _span(values: Sequence[float]) -> str:
    return f"{min(values) / 1000:.4g} to {max(values) / 1000:.4g} us" if values else "not measured"


def summary(measured: Measured, groups: Sequence[Sequence[int]]) -> str:
    """Returns a sentence about the latencies within and between the groups."""
    group_of = {node: number for number, group in enumerate(groups) for node in group}
    inside, between = [], []
    for (low, high), latency in measured.latencies.items():
        (inside if group_of[low] == group_of[high] else between).append(latency)
    if not between:
        return f"{len(measured.names)} nodes, one switch: the latencies, {_span(inside)}, form no groups"
    return (
        f"{len(measured.names)} nodes, {len(groups)} switches: "
        f"latency {_span(inside)} within a switch, {_span(between)} between switches"
    )


def table(measured: Measured, groups: Sequence[Sequence[int]], comment: str) -> str:
    """Returns the table of switches with a comment above, in the form of SLURM's topology.conf."""
    lines = [
        f"SwitchName=switch{number} Nodes={','.join(measured.names[node] for node in group)}\n"
        for number, group in enumerate(groups)
    ]
    return f"# Measured by `oratorio calibrate --topology`: {comment}\n" + "".join(lines)


def write(file: Path, measured: Measured) -> str:
    """Writes the table to `file` and returns its summary. Raises CalibrateError."""
    groups = group_nodes(len(measured.names), measured.latencies)
    found = summary(measured, groups)
    try:
        whole_file.write(file, table(measured, groups, found))
    except OSError as error:
        raise CalibrateError(f"{file} can't be written: {error.strerror}") from None
    return found
