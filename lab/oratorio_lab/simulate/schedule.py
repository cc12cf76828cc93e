# SPDX-License-Identifier: BSD-3-Clause
"""Schedules: the messages that each node sends in a sample of a plan's rounds. The program oratorio_schedules
(lab/count) plans with the library and prints schedules; this module parses its output."""

import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from oratorio.library import hint_text
from oratorio_lab import targets
from oratorio_lab.bench import e3sm
from oratorio_lab.bench.workloads import BenchError
from oratorio_lab.simulate.machine import SimulateError

TARGET = "oratorio_schedules"
COLUMNS = 7
SENDERS, MESSAGES, PIECES, BYTES, DESCRIBED, OWN, OWN_PIECES = range(COLUMNS)

# Made-up decompositions whose numbers of bytes and pieces are within 5 % of those in Kang et al. 2019. Each
# is made for this many processes, which the ranks share evenly.
PROCESSES = 16384
E3SM = {
    "e3sm_f": ("F", {"columns": 47, "levels": 72, "variables": 10**6, "seed": 1}),
    "e3sm_g": ("G", {"columns": 226, "levels": 80, "variables": 10**6, "seed": 1}),
}
# Sizes at which the library itself can run for comparison; SMALL_POINTS are points along an edge.
SMALL_PROCESSES = 1024
SMALL_E3SM = {"e3sm_f": 12, "e3sm_g": 24}  # columns of the mesh for each process
SMALL_POINTS = {"btio": 64, "s3d": 128}
Arm = tuple[str, Mapping[str, str]]  # a name, and hints
Step = Callable[[str], None]  # called with a description of the step that begins
WORKLOADS = ("e3sm_f", "e3sm_g", "btio", "s3d")
DIRECTIONS = ("write", "read")
# The bytes of a message before its pieces, or of an answer before its data (exchange/messages/rounds.hpp).
HEAD_BYTES = 32


@dataclass(frozen=True)
class Round:
    """One round of a plan: the bytes that each aggregator moves, and the messages that each node sends to it.
    The columns are SENDERS to OWN_PIECES."""

    number: int
    regions: np.ndarray  # rows of (aggregator, offset, bytes)
    sent: np.ndarray  # [node, aggregator, column]
    gathered: np.ndarray  # [node, column]; zeros with one layer

    @cached_property
    def to_aggregators(self) -> np.ndarray:
        return self.sent.sum(axis=0)

    @cached_property
    def lines(self) -> str:
        """The lines of the round, as oratorio_schedules printed them."""
        kept = [f"round {self.number}"]
        kept += ["region " + " ".join(f"{value:.0f}" for value in row) for row in self.regions]
        for node, to in np.argwhere(self.sent.any(axis=2)):
            kept.append(f"sent {node} {to} " + " ".join(f"{value:.0f}" for value in self.sent[node, to]))
        for (node,) in np.argwhere(self.gathered.any(axis=1)):
            kept.append(
                f"gathered {node} {node} " + " ".join(f"{value:.0f}" for value in self.gathered[node])
            )
        return "\n".join(kept) + "\n"


@dataclass(frozen=True)
class Schedule:
    """A plan, and a sample of its rounds that represents all."""

    arm: str
    method: str
    ranks: int
    nodes: int
    aggregator_nodes: np.ndarray  # the node of each aggregator
    rounds: int
    slots: int
    message_bytes: int
    in_flight: int
    bytes: int
    pieces: int  # pieces of all ranks
    edges: int  # participants of all rounds, counted exactly
    local_aggregators: int  # number of local aggregators; 0 with one layer
    sampled: tuple[Round, ...]
    reads: bool = False
    asks: bool = False  # aggregators receive contents messages before the requests of a round
    # Walked node -> the number of nodes that it represents; empty if all nodes were walked.
    stands_for: Mapping[int, int] = field(default_factory=dict)

    @cached_property
    def scale(self) -> float:
        """The ratio of the data of all rounds to that of the sampled rounds."""
        times = np.ones(self.nodes)
        if self.stands_for:
            times = np.array([self.stands_for.get(node, 0) for node in range(self.nodes)])
        held = sum((one.sent[:, :, [BYTES, OWN]].sum(axis=(1, 2)) * times).sum() for one in self.sampled)
        return self.bytes / max(1, held)

    @property
    def senders(self) -> int:
        """The number of ranks that send to aggregators."""
        return self.local_aggregators or self.ranks

    @property
    def text(self) -> str:
        """The lines of the plan, as oratorio_schedules printed them, after a line about the job."""
        aggregators = len(self.aggregator_nodes)
        return (
            f"job {self.ranks} {self.nodes}\n"
            f"plan {self.method} {aggregators} {self.rounds} {self.slots} {self.message_bytes} "
            f"{self.in_flight} {self.bytes} {self.pieces} {self.edges} {self.local_aggregators} 0 "
            f"{DIRECTIONS[self.reads]} {self.asks:d}\n"
            f"aggregators {' '.join(str(node) for node in self.aggregator_nodes)}\n"
            + "".join(f"walked {node} {nodes}\n" for node, nodes in self.stands_for.items())
        ) + "".join(one.lines for one in self.sampled)


def program() -> str:
    """Builds oratorio_schedules and returns its path. Raises TargetError."""
    return targets.build(TARGET, "lab/count")


def hint_words(hints: Mapping[str, str]) -> str:
    """Formats hints for ORATORIO_HINTS."""
    return hint_text.joined([f"{key}={value}" for key, value in hints.items()])


def parse(lines: Iterable[str], arm: str, ranks: int, nodes: int) -> Schedule:
    """Parses the program's lines about one plan."""
    head: list[str] = []
    aggregators = np.zeros(0, dtype=int)
    sampled: list[Round] = []
    regions: list[tuple[int, int, int]] = []
    stands_for: dict[int, int] = {}

    def end_round() -> None:
        if sampled:
            rows = np.array(regions, dtype=np.int64).reshape(-1, 3)
            sampled[-1] = Round(sampled[-1].number, rows, sampled[-1].sent, sampled[-1].gathered)
            regions.clear()

    for line in lines:
        kind, *words = line.split()
        if kind == "plan":
            head = words
        elif kind == "aggregators":
            aggregators = np.array([int(word) for word in words])
        elif kind == "walked":
            stands_for[int(words[0])] = int(words[1])
        elif kind == "round":
            end_round()
            flows = np.zeros((nodes, len(aggregators), COLUMNS))
            sampled.append(Round(int(words[0]), np.zeros((0, 3)), flows, np.zeros((nodes, COLUMNS))))
        elif kind == "region":
            regions.append((int(words[0]), int(words[1]), int(words[2])))
        else:
            node, to = int(words[0]), int(words[1])
            row = [float(word) for word in words[2:]]
            if kind == "sent":
                sampled[-1].sent[node, to] = row
            else:
                sampled[-1].gathered[node] = row
    end_round()
    rounds, slots, message, flight, size, pieces, edges, local = (int(word) for word in head[2:10])
    return Schedule(
        arm, head[0], ranks, nodes, aggregators, rounds, slots, message, flight, size, pieces, edges, local,
        tuple(sampled), head[11:12] == ["read"], head[12:13] == ["1"], stands_for,
    )  # fmt: skip


@dataclass(frozen=True)
class Workload:
    """One of WORKLOADS, or the decomposition map of an E3SM run."""

    name: str
    map_file: Path | None = None
    small: bool = False

    def write(self, folder: Path) -> str:
        """Returns the workload as an argument of oratorio_schedules: a name, or a file of runs in `folder`,
        written if it does not exist. Raises SimulateError."""
        if self.map_file is None and self.name not in E3SM:
            return f"{self.name}:{SMALL_POINTS[self.name]}" if self.small else self.name
        runs = folder / f"{self.name}.runs"
        if runs.exists():
            return str(runs)
        try:
            if self.map_file is not None:
                case = e3sm.case_of(self.map_file).name
                if case != E3SM[self.name][0]:
                    raise SimulateError(f"{self.map_file} is a map of case {case}, not of {self.name}")
                e3sm.write_real(self.map_file, runs, 10**6)
            else:
                case, values = E3SM[self.name]
                processes = SMALL_PROCESSES if self.small else PROCESSES
                if self.small:
                    values = values | {"columns": SMALL_E3SM[self.name]}
                e3sm.write_made_up(e3sm.CASES[case], values, processes, runs)
        except BenchError as error:
            raise SimulateError(str(error)) from None
        return str(runs)


def workload_of(name: str, map_file: Path | None, small: bool = False) -> Workload:
    """Returns the workload of that name. Raises SimulateError."""
    if map_file is not None and small:
        raise SimulateError("--engine smpi simulates a small workload of its own size: omit --map")
    if map_file is None and name not in WORKLOADS:
        raise SimulateError(f"there is no workload {name}; the workloads are {', '.join(WORKLOADS)}")
    if map_file is not None and name not in E3SM:
        raise SimulateError("--map requires the workload e3sm_f or e3sm_g")
    return Workload(name, map_file, small)


class Planner:
    """A context manager that runs oratorio_schedules and keeps the files of runs until the context ends."""

    def __init__(self) -> None:
        self._program = program()
        self._folder = tempfile.TemporaryDirectory(prefix="oratorio-simulate-")

    def __enter__(self) -> "Planner":
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def given(self, workload: Workload) -> str:
        """Returns the workload as an argument of oratorio_schedules and oratorio_on_smpi. Raises
        SimulateError."""
        return workload.write(Path(self._folder.name))

    def schedules(
        self,
        workload: Workload,
        job: tuple[int, int],
        arms: Sequence[Arm],
        rounds: int,
        direction: str = "write",
        step: Step = lambda what: None,
    ) -> list[Schedule]:
        """Returns a schedule for each arm; `job` is (ranks, nodes). Calls `step` before making the data of
        the workload, before the first plan, and after each plan but the last. Raises SimulateError."""
        ranks, nodes = job
        step(f"the data of {workload.name}")
        words = [self.given(workload), direction, str(ranks), str(nodes), str(rounds)]
        words += [hint_words(hints) for _, hints in arms]
        plans: list[list[str]] = []
        with (
            tempfile.TemporaryFile("w+") as errors,
            subprocess.Popen(
                [self._program, *words], stdout=subprocess.PIPE, stderr=errors, text=True
            ) as planning,
        ):
            for first, _ in arms[:1]:
                step(f"the plan of {first}")
            for line in planning.stdout:
                if line.startswith("plan "):
                    plans.append([])
                    if len(plans) < len(arms):
                        step(f"the plan of {arms[len(plans)][0]}")
                plans[-1].append(line.rstrip("\n"))
            if planning.wait() != 0:
                errors.seek(0)
                told = errors.read().strip() or planning.returncode
                raise SimulateError(f"{workload.name} can't be planned: {told}")
        return [parse(lines, arm, ranks, nodes) for (arm, _), lines in zip(arms, plans, strict=True)]
