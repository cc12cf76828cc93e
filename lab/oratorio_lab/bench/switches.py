# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio bench switches`: collective writes on emulated nodes behind two network switches, with
aggregators placed by switch and without such placement."""

import statistics
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.table import Table

from oratorio_lab.bench.run import Run, Settings, measure
from oratorio_lab.bench.workloads import BenchError
from oratorio_lab.nodes import Nodes

NODES = 4
METHOD = "two_phase"
WORKLOADS = {
    "blocks": ("array", {"dist": "block", "block": 1024, "bytes": 4 << 20, "seed": 1}),
    "lattice": ("lattice", {"n": 16, "site": 576}),
}
MIB = 1 << 20


@dataclass
class Arm:
    """The passes of one workload with switches that Oratorio knows or doesn't know."""

    workload: str
    known: bool
    seconds: list[float] = field(default_factory=list)
    crossing: list[float] = field(default_factory=list)  # bytes of a pass between the switches


def settings_for(base: Settings, nodes: Nodes, ranks: int, folder: Path) -> Settings:
    """Returns settings for two-phase writes with an aggregator for every second node."""
    return replace(
        base, arms=(METHOD,), hints=((METHOD, "cb_nodes", str(NODES // 2)),), directions=("write",),
        repeats=1, nodes=NODES, host=nodes.host(base.host, ranks // NODES), folder=folder,
    )  # fmt: skip


def _measure_once(arm: Arm, run: Run, on: Settings, nodes: Nodes) -> None:
    before = nodes.bytes_between_switches()
    measure(run, on, lambda *_: None)
    crossing = nodes.bytes_between_switches() - before
    passes = run.measured(METHOD, "write")
    if run.failure or len(passes) != on.repeats:
        raise BenchError(f"{run.title}: {run.failure or 'wrong bytes'}")
    arm.seconds += [one["seconds"] for one in passes]
    arm.crossing.append(crossing / on.passes)


def measure_arms(
    base: Settings,
    ranks: int,
    repeats: int,
    delay: float,
    workloads: Mapping[str, tuple[str, Mapping[str, object]]] = WORKLOADS,
) -> list[Arm]:
    """Measures the workloads with switches that are unknown and known, interleaved. Raises BenchError,
    NoNodesError."""
    if delay <= 0:
        raise BenchError("--delay must be above 0: without a delay there is one switch")
    if ranks % NODES:
        raise BenchError(f"{ranks} ranks can't be spread evenly over {NODES} nodes")
    arms = [Arm(name, known) for name in workloads for known in (False, True)]
    with tempfile.TemporaryDirectory() as scripts, tempfile.TemporaryDirectory(dir=base.folder) as files:
        common = Path(files) if Path("/dev/shm") in Path(files).parents else None
        with Nodes(Path(scripts), NODES, common=common, delay=delay) as nodes:
            topology = Path(scripts) / "switches"
            topology.write_text(nodes.topology)
            settings = settings_for(base, nodes, ranks, Path(files))
            for arm in arms * repeats:
                env = {"ORATORIO_TOPOLOGY": str(topology)} if arm.known else {}
                run = Run(arm.workload, *workloads[arm.workload], ranks)
                _measure_once(arm, run, replace(settings, env=env), nodes)
    return arms


def table(arms: list[Arm], title: str) -> Table:
    """Returns a table with a row for each arm: its median, shortest and longest time, and the median of the
    data between switches."""
    shown = Table("data", "switches", title=title, title_justify="left")
    for name in ("ms", "fastest", "slowest", "MiB between switches"):
        shown.add_column(name, justify="right")
    for arm in arms:
        times = (1e3 * of(arm.seconds) for of in (statistics.median, min, max))
        crossing = statistics.median(arm.crossing) / MIB
        known = "known" if arm.known else "unknown"
        shown.add_row(arm.workload, known, *(f"{one:.1f}" for one in times), f"{crossing:.1f}")
    return shown
