# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio simulate`: predicts the time of a collective access on a machine from the library's own plans."""

import argparse
import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from oratorio.command_line import Parser, within
from oratorio.library import hint_text, method_table
from oratorio.quantity import counted
from oratorio_lab import progress
from oratorio_lab.simulate import report, s4u, smpi, switched
from oratorio_lab.simulate import search as sim_search
from oratorio_lab.simulate import trace as sim_trace
from oratorio_lab.simulate.machine import Machine, SimulateError, known, load, with_value
from oratorio_lab.simulate.model import predict, sensitivities
from oratorio_lab.simulate.report import Answer
from oratorio_lab.simulate.schedule import (
    DIRECTIONS,
    WORKLOADS,
    Arm,
    Planner,
    Schedule,
    Step,
    Workload,
    hint_words,
    workload_of,
)

PICTURES = (".png", ".svg", ".pdf")
ENGINES = {"closed": (), "s4u": ("oratorio_replay",), "smpi": ("oratorio_replay", smpi.TARGET)}
ALL_ROUNDS = 10**6  # more rounds than any small workload has, so that all are walked
RANKS_OF_NODE = (1, 2, 4, 16)  # numbers of local aggregators on each node that are tried by default


def default_methods(ranks: int, nodes: int) -> list[str]:
    """Returns two-phase, and two-layer with up to four numbers of local aggregators, none above the number of
    ranks."""
    numbers = sorted({min(ranks, nodes * each) for each in RANKS_OF_NODE})
    return ["two_phase", *(f"two_layer:{number}" for number in numbers)]


def own_hints(machine: Machine, hints: Sequence[str]) -> dict[str, str]:
    """Returns `hints` (KEY=VALUE; the last of a key counts) and the defaults that they don't
    replace: as many aggregators as storage targets, and file domains that end at stripes.

    Raises SimulateError.
    """
    for hint in hints:
        if complaint := hint_text.complaint(hint):
            raise SimulateError(complaint)
    defaults = [f"cb_nodes={machine.storage.targets}", f"striping_unit={machine.storage.stripe_bytes}"]
    return dict(map(hint_text.pair_of, hint_text.overlaid(defaults, hint_text.last_given(hints))))


def arm_hints(arm: str, machine: Machine, hints: Sequence[str]) -> dict[str, str]:
    """Returns the hints of an arm `method` or `method:local aggregators`. Raises SimulateError."""
    method, _, number = arm.partition(":")
    if complaint := method_table.complaint(method):
        raise SimulateError(complaint)
    if number and (not number.isdigit() or int(number) < 1):
        raise SimulateError(f"{arm}: a number of local aggregators must follow the colon")
    told = own_hints(machine, hints) | {"oratorio_method": method}
    return told | ({"oratorio_local_aggregators": number} if number else {})


def nodes_of(machine: Machine, ranks: int, nodes: int | None) -> int:
    """Returns the number of nodes of a job: `nodes`, or enough for a rank on each core. Raises
    SimulateError."""
    chosen = nodes or -(-ranks // machine.cores)
    if chosen > machine.nodes:
        raise SimulateError(
            f"{ranks} ranks need {counted(chosen, 'node')}; {machine.name} has {machine.nodes}"
        )
    if ranks % chosen:
        raise SimulateError(f"{ranks} ranks can't be spread evenly over {chosen} nodes")
    return chosen


def fitting(arms: Sequence[str], ranks: int, nodes: int) -> list[str]:
    """Drops arms with more local aggregators than ranks, or fewer than nodes."""

    def fits(number: str) -> bool:
        return not number.isdigit() or nodes <= int(number) <= ranks

    return [arm for arm in arms if fits(arm.partition(":")[2])]


def methods_of(named: str | None, ranks: int, nodes: int) -> list[str]:
    """Returns the arms that --method names and that fit the job, or the default ones. Raises SimulateError if
    none fits."""
    if not named:
        return default_methods(ranks, nodes)
    if arms := fitting(named.split(","), ranks, nodes):
        return arms
    raise SimulateError(
        f"--method {named} doesn't fit {counted(ranks, 'rank')} on {counted(nodes, 'node')}: "
        "each node needs a local aggregator, and each of these a rank"
    )


@dataclass(frozen=True)
class Ask:
    """A question to the simulation, without the numbers of ranks and nodes."""

    machine: Machine
    workload: Workload | sim_trace.Recorded
    rounds: int
    engine: str
    direction: str = DIRECTIONS[0]


def steps_of(told: progress.Tell, whole: int) -> Step:
    """Returns a function to call when one of at most `whole` steps begins. It reports the progress to
    `told`."""
    begun = itertools.count()
    return lambda what: told(min(next(begun) / whole, 1.0), what)


def answer(planner: Planner, ask: Ask, job: tuple[int, int], arms: list[Arm], told: progress.Tell) -> Answer:
    """Returns the answer for a job of (ranks, nodes). Raises SimulateError."""
    # A step for the data, one for the estimates, and for each arm the plan and the replays.
    step = steps_of(told, 2 + len(arms) * (1 + tuple(ENGINES).index(ask.engine)))
    schedules = planner.schedules(ask.workload, job, arms, ask.rounds, ask.direction, step)
    step("the times of the plans")
    predictions = [predict(schedule, ask.machine) for schedule in schedules]
    changed = sensitivities(schedules, ask.machine)
    replayed, written = [], []
    if ask.engine != "closed":
        for schedule in schedules:
            step(f"SimGrid's replay of {schedule.arm}")
            replayed.append(s4u.replay(schedule, ask.machine))
    if ask.engine == "smpi":
        given = planner.given(ask.workload)
        for (arm, hints), schedule in zip(arms, schedules, strict=True):
            step(f"the library itself with {arm}")
            written.append(smpi.write(given, hints, schedule, ask.machine))
    return Answer(ask.machine, ask.workload.name, schedules, predictions, changed, replayed, written)


def seek(
    planner: Planner,
    ask: Ask,
    job: tuple[int, int],
    hints: Sequence[str],
    file: Path,
    told: progress.Tell,
) -> Table:
    """Searches for the best hints, writes them to `file`, and returns a table of the search. Raises
    SimulateError, OSError."""
    choices = sim_search.choices(ask.machine, *job)
    # Each call of plan() reports one step for the data and one for each plan.
    step = steps_of(told, 2 + sim_search.TURNS_MAX * sum(1 + len(values) for values in choices))

    def plan(tried: Sequence[Mapping[str, str]]) -> list[Schedule]:
        arms = [(hint_words(one), one) for one in tried]
        return planner.schedules(ask.workload, job, arms, ask.rounds, ask.direction, step)

    start = own_hints(ask.machine, hints) | {"oratorio_method": "two_phase"}
    steps = sim_search.search(plan, ask.machine, start, choices)
    title = (
        f"{ask.workload.name}, {counted(job[0], 'rank')} on {counted(job[1], 'node')} of {ask.machine.name}"
    )
    sim_search.write(file, title, steps[-1])
    return report.search_table(title, steps)


def check_files(plot: Path | None, others: Sequence[Path | None]) -> None:
    """Checks the names of output files before anything is simulated, because the results would be lost if a
    file could not be written. Raises SimulateError."""
    if plot and plot.suffix not in PICTURES:
        raise SimulateError(f"--plot {plot}: the name of a picture must end in {', '.join(PICTURES)}")
    for file in (plot, *others):
        if file and not file.parent.is_dir():
            raise SimulateError(f"{file}: the folder {file.parent} does not exist")


def _given(machine: Machine, values: Sequence[str]) -> Machine:
    for value in values:
        key, equals, text = value.partition("=")
        try:
            number: object = int(text) if text.lstrip("-").isdigit() else float(text)
        except ValueError:
            number = text
        if not equals:
            raise SimulateError(f"--set must be KEY=VALUE, not {value}")
        machine = with_value(machine, key, number)
    return machine


def _recorded(
    given: Path | None,
    file: str | None,
    map_file: Path | None,
    ranks: Sequence[int] | None,
    direction: str,
) -> sim_trace.Job | None:
    """Returns the job of the trace `given`, or None if there is no trace. Raises SimulateError,
    TraceError."""
    if given is None:
        if file is not None:
            raise SimulateError("--file selects a file of a trace: it requires --trace")
        return None
    if map_file is not None:
        raise SimulateError("--trace and --map exclude each other: a trace is a workload of its own")
    return sim_trace.job_of(given, file, ranks, direction)


def add_options(parser: Parser) -> None:
    """Adds the options of `simulate`."""
    add = parser.add_argument
    add(
        "--machine",
        default="theta",
        help=f"A machine file, or one of {', '.join(known())}; %(default)s if not given.",
    )
    add("--workload", default="e3sm_f", help=f"One of {', '.join(WORKLOADS)}; %(default)s if not given.")
    add("--ranks", type=within(2), action="append", help="Ranks of the job; repeatable; 16384 if not given.")
    add("--nodes", type=within(1), help="Nodes of the job; by default each core has a rank.")
    add(
        "--method",
        metavar="METHOD,...",
        help="Methods, such as two_phase,two_layer:256 for 256 local aggregators.",
    )
    add("--hint", metavar="KEY=VALUE", action="append", default=[],
        help="A hint for all methods; repeatable, and the last value of a key counts.")  # fmt: skip
    add("--set", metavar="KEY=VALUE", action="append", default=[],
        help="Replace a value of the machine; repeatable.")  # fmt: skip
    add("--map", type=Path, help="The decomposition map of a real run, for e3sm_f and e3sm_g.")
    add("--direction", default=DIRECTIONS[0], help="write or read; %(default)s if not given.")
    add("--trace", type=Path, help="Simulate the collective accesses of this trace instead of a workload.")
    add(
        "--file",
        metavar="TEXT",
        help="Simulate the traced file whose path contains TEXT; by default, the one with the most data in "
        "collective accesses.",
    )
    add(
        "--rounds",
        type=within(1),
        default=3,
        help="Plan only a sample of the rounds, at most this many; %(default)s if not given.",
    )
    add(
        "--engine",
        default="closed",
        help="How to predict: closed (by formulas), s4u (also by a replay of the messages in SimGrid) or "
        "smpi (also by the library itself on SimGrid's MPI); %(default)s if not given.",
    )
    add(
        "--switches",
        action="store_true",
        help="Instead of a workload, simulate on SimGrid how long the jobs of `count switches` exchange data "
        "in the machine's fat tree or dragonfly, with aggregators placed by switch and without.",
    )
    add("--search", type=Path, metavar="FILE",
        help="Search for the best hints and write them to this file, for ROMIO_HINTS=FILE.")  # fmt: skip
    add("--plot", type=Path, metavar="FILE",
        help="Draw the predicted time of each method, divided into phases, into this file.")  # fmt: skip
    add("-o", "--output", type=Path, metavar="FILE", help="Write the tables to this page.")
    parser.set_defaults(does=_simulate)


def _asks(options: argparse.Namespace, machine: Machine) -> tuple[sim_trace.Job | None, list[Ask]]:
    """Returns the job of the trace, if one is given, and the questions. Raises SimulateError."""
    if options.engine not in ENGINES:
        raise SimulateError(f"there is no engine {options.engine}; the engines are {', '.join(ENGINES)}")
    if options.direction not in DIRECTIONS:
        raise SimulateError(f"--direction must be one of {', '.join(DIRECTIONS)}")
    for target in ENGINES[options.engine]:
        s4u.build(target)
    check_files(options.plot, (options.output, options.search))
    is_small = options.engine == "smpi"
    recorded = _recorded(options.trace, options.file, options.map, options.ranks, options.direction)
    asked = recorded.accesses if recorded else [workload_of(options.workload, options.map, is_small)]
    walked = ALL_ROUNDS if is_small else options.rounds
    return recorded, [Ask(machine, one, walked, options.engine, options.direction) for one in asked]


def _answers(options: argparse.Namespace) -> None:
    """Answers all questions and writes the requested files. Raises OratorioError, OSError."""
    console = Console(width=None if os.isatty(1) else 160, highlight=False)
    stderr = Console(stderr=True, highlight=False)
    machine = _given(load(options.machine), options.set)
    recorded, asks = _asks(options, machine)
    counts = [recorded.file.ranks] if recorded else options.ranks or [16384]
    nodes = options.nodes or (recorded.nodes if recorded else None)
    jobs = [(count, nodes_of(machine, count, nodes)) for count in counts]
    methods = [methods_of(options.method, *job) for job in jobs]
    questions = list(itertools.product(zip(jobs, methods, strict=True), asks))
    answers = []
    with Planner() as planner:
        for number, ((job, named), ask) in enumerate(questions):
            arms = [(arm, arm_hints(arm, machine, options.hint)) for arm in named]
            title = f"{ask.workload.name}, {counted(job[0], 'rank')}"
            title += f" ({number + 1} of {len(questions)})" if len(questions) > 1 else ""
            with progress.shown(stderr, title) as told:
                answers.append(answer(planner, ask, job, arms, told))
            report.show(console, answers[-1])
        if recorded:
            sim_trace.show(console, recorded, answers)
        if options.search:
            ask = asks[recorded.most if recorded else 0]
            with progress.shown(stderr, "search") as told:
                found = seek(planner, ask, jobs[-1], options.hint, options.search, told)
            console.print(found)
    if options.output:
        pages = [report.page(one) for one in answers]
        pages += [sim_trace.page(recorded, answers)] if recorded else []
        options.output.write_text("\n".join(pages))
    if options.plot:
        report.draw(options.plot, answers)


def _switches(options: argparse.Namespace) -> None:
    """Prints a table for each number of ranks. Raises OratorioError."""
    console = Console(width=None if os.isatty(1) else 160, highlight=False)
    machine = _given(load(options.machine), options.set)
    for ranks in options.ranks or [16384]:
        console.print(switched.table(machine, ranks))


def _simulate(options: argparse.Namespace) -> int:
    if options.switches:
        _switches(options)
        return 0
    try:
        _answers(options)
    except OSError as error:
        raise SimulateError(str(error)) from None
    return 0
