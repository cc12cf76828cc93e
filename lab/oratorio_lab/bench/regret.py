# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio bench regret`: measures how much slower `auto` is than the best choice, for each workload, layout
of ranks, file system and direction.

Each case is measured in three steps. The first measures the table of all arms. The second measures the
fastest arms of the table again and chooses the best of Oratorio's and of the host's. Only the third step
judges: it measures these two in turns with `auto`, which has learned from passes before, with right and with
wrong constants in the cost model. The times that choose an arm can't judge, because the smallest of several
noisy times is too good.
"""

import itertools
import math
import os
import random
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from oratorio.library import description
from oratorio.machine.costs import in_force, names_of, values_of
from oratorio_lab.bench.arms import TUNINGS, is_host, method_of
from oratorio_lab.bench.nodes import Job
from oratorio_lab.bench.run import Run, Settings, timeout_of
from oratorio_lab.bench.suite import runs_of
from oratorio_lab.bench.workloads import BenchError

LAYOUTS = "2,8,2x4,4x4"
SLOTS = (1, 2, 4)
DOMAINS = ("even", "cyclic")
BY_MESSAGES = ("peer", "gathered")  # the exchanges for which hints select file domains
ON_NODE = ("shared", "cross_memory")  # the exchanges that need all ranks on one node

TABLE_PASSES = 2  # passes of each arm that count in the first step
ACCESSES_BEFORE = 10  # passes of `auto` before the counted ones, from which it learns
CONTENDERS = 3  # arms of Oratorio, and arms of the host, that are measured again for each direction
ARMS_OF_RUN = 48  # limit for one run, because the length of a launcher's command is limited
# Methods with which writes have weaker guarantees, so `auto` never chooses them: stores to a mapping may be
# lost where a file grows, and data sieving writes bytes outside the access.
WEAKER_WRITES = ("mmap", "sieve")
GOAL = 0.95  # share of the best speed below which `auto` has lost

RIGHT = "right"  # the constants in force
FACTOR = 10
SEED = 33


@dataclass(frozen=True)
class Layout:
    """A number of ranks on one node, or on several emulated ones."""

    nodes: int
    ranks_of_node: int

    @property
    def ranks(self) -> int:
        return self.nodes * self.ranks_of_node

    @property
    def name(self) -> str:
        return str(self.ranks) if self.nodes == 1 else f"{self.nodes}x{self.ranks_of_node}"


def parse_layouts(text: str) -> list[Layout]:
    """Parses a list such as 8,2x4, which means 8 ranks on one node, and 2 nodes with 4 ranks each.

    Raises BenchError.
    """
    layouts = []
    for word in text.split(","):
        found = re.fullmatch(r"(?:([1-9]\d*)x)?([1-9]\d*)", word)
        if not found:
            raise BenchError(
                f"--layout must list numbers of ranks, or nodes x ranks on each, such as 8,2x4, not {text}"
            )
        layouts.append(Layout(int(found.group(1) or 1), int(found.group(2))))
    return list(dict.fromkeys(layouts))


@dataclass(frozen=True)
class Arm:
    """A way of file access, by its name in oratorio_lab.bench.arms, with hints of its own."""

    name: str
    hints: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The method and the hints that a user would set."""
        return " ".join([self.name.partition("@")[0], *(f"{k}={v}" for k, v in self.hints.items())])


HOSTS = tuple(Arm(name) for name in ("host", *TUNINGS))
COLD = Arm("auto@cold", {"oratorio_learn": "off"})
LEARNED = Arm("auto@learned", {"oratorio_learn": "job"})


def aggregators_of(ranks: int) -> list[int]:
    """Returns the numbers of aggregators to try: one, a quarter, half and all of the ranks."""
    return sorted({max(1, ranks // share) for share in (ranks, 4, 2, 1)})


def _parameters(method: Mapping, layout: Layout) -> dict[str, Sequence]:
    """Returns the values to try for each hint that has an effect on the method."""
    exchange = method["parts"]["exchange"]
    aggregated = exchange != "none"
    has_choice = aggregated and method["schedule"]["aggregators_max"] != 1
    values = {
        "cb_nodes": has_choice or method["parts"]["storage"] == "shipped",
        "oratorio_slots": aggregated,
        "oratorio_domains": exchange in BY_MESSAGES,
    }
    of_hint = {"cb_nodes": aggregators_of(layout.ranks), "oratorio_slots": SLOTS, "oratorio_domains": DOMAINS}
    return {key: of_hint[key] for key, has_effect in values.items() if has_effect}


def arms_of(layout: Layout, exhaustive: bool) -> list[Arm]:
    """Returns Oratorio's arms that are possible in a layout: each method with the parameters that it chooses
    itself and, with `exhaustive`, also with each combination of given parameters."""
    arms = []
    for method in description.rows("methods"):
        if layout.nodes > 1 and method["parts"]["exchange"] in ON_NODE:
            continue
        name, values = method["name"], _parameters(method, layout) if exhaustive else {}
        arms.append(Arm(name))
        for chosen in itertools.product(*values.values()) if values else ():
            hints = dict(zip(values, map(str, chosen), strict=True))
            arms.append(Arm(f"{name}@{'-'.join(hints.values())}", hints))
    return arms


def _constants(file_system: str, column: str) -> dict[str, float]:
    """Returns the constants of the cost model in force on a file system, without those that are zero.
    `column` names the built-in ones."""
    own = values_of(in_force(os.environ, names_of(os.uname().nodename, file_system))[0])
    known = {row["name"]: own.get(row["name"], row[column]) for row in description.rows("costs")}
    return {name: value for name, value in known.items() if value}


def write_wrong_costs(folder: Path) -> dict[str, Path]:
    """Writes folders of costs in which each constant is wrong by a factor of ten: all too large, all too
    small, and each in a direction drawn at random (with a fixed seed). Returns their names and paths."""
    draw = random.Random(SEED)
    names = description.names("costs")
    factors = {
        "all x 10": dict.fromkeys(names, FACTOR),
        "all / 10": dict.fromkeys(names, 1 / FACTOR),
        "mixed": {name: draw.choice((FACTOR, 1 / FACTOR)) for name in names},
    }
    written = {}
    for index, (title, by) in enumerate(factors.items()):
        written[title] = folder / f"costs-{index}"
        written[title].mkdir()
        for row in description.rows("file_systems"):
            constants = _constants(row["name"], row["storage"])
            lines = [f"{name} {value * by[name]:.6g}\n" for name, value in constants.items()]
            (written[title] / f"{row['name']}.costs").write_text("".join(lines))
    return written


@dataclass(frozen=True)
class Case:
    """A workload with given parameters in a layout of ranks, in a folder."""

    run: Run  # a template: only copies of it are measured
    layout: Layout
    folder: Path
    file_system: str


def cases_of(
    layouts: Sequence[Layout], folders: Mapping[Path, str], names: Sequence[str], smoke: bool
) -> tuple[list[Case], list[str]]:
    """Returns the cases of the named workloads (default: all), and the reasons for skipping other cases.
    `folders` maps each folder to the name of its file system. Raises BenchError if there is no such
    workload."""
    cases, skipped = [], []
    for layout in layouts:
        runs, reasons = runs_of([layout.ranks], smoke, names, [])
        cases += [Case(run, layout, *folder) for folder in folders.items() for run in runs]
        skipped += reasons
    return cases, list(dict.fromkeys(skipped))


@dataclass(frozen=True)
class Plan:
    """The settings that the measurements of all cases share."""

    settings: Settings  # `repeats` is the number of passes that count
    exhaustive: bool
    costs: Mapping[str, Path]  # name -> a folder of wrong costs
    scratch: Path  # holds an empty state folder for each run
    timeout_seconds: float | None
    measure: Callable[[Sequence[Job]], None]


@dataclass(frozen=True)
class Speed:
    """The speed of `auto` relative to the best of Oratorio's arms and to the best of the host's; None if
    something was not measured."""

    of_best: float | None
    of_host: float | None

    @property
    def is_loss(self) -> bool:
        return any(share is None or share < GOAL for share in (self.of_best, self.of_host))


@dataclass(frozen=True)
class Outcome:
    """The speeds of `auto` with one set of constants of the cost model, before and after it has learned."""

    cold: Speed
    learned: Speed


@dataclass(frozen=True)
class Cell:
    """The results of a case in one direction. Times are medians, in milliseconds."""

    workload: str
    layout: str
    file_system: str
    direction: str
    best: str
    best_host: str
    milliseconds: Mapping[str, float]  # times of `best`, `best_host`, and `auto` cold and learned
    # median absolute deviation of the noisiest of these arms, as a share of its median
    noise: float | None
    # speed of `best` in another measurement of the same job, relative to `best`: with this noise, no choice
    # can be expected to reach more
    again: float | None
    outcomes: Mapping[str, Outcome]  # name of the constants -> outcome
    table: Mapping[str, float]  # times of all arms in the first step

    @property
    def right(self) -> Outcome:
        """The outcome with the constants in force."""
        return self.outcomes[RIGHT]

    @property
    def title(self) -> str:
        return f"{self.workload}, {self.layout}, {self.file_system}, {self.direction}"


def _job(
    case: Case,
    plan: Plan,
    arms: Sequence[Arm],
    repeats: int,
    costs: Path | None = None,
    ahead: Mapping[str, int] | None = None,
) -> Job:
    """Returns a run of these arms that starts with nothing learned. `ahead` is Settings.ahead."""
    env = {"XDG_STATE_HOME": tempfile.mkdtemp(prefix="state-", dir=plan.scratch)}
    settings = replace(
        plan.settings,
        arms=tuple(arm.name for arm in arms),
        hints=tuple((arm.name, key, value) for arm in arms for key, value in arm.hints.items()),
        repeats=repeats,
        folder=case.folder,
        ranks_of_node=case.layout.ranks_of_node if case.layout.nodes > 1 else 0,
        env=env | ({"ORATORIO_COSTS": str(costs)} if costs else {}),
        ahead=ahead or {},
    )
    settings = replace(settings, timeout_seconds=timeout_of(plan.timeout_seconds, settings.passes))
    return replace(case.run, setup={}, samples=[], failure="", store_mib_per_s={}), settings


def _passes(jobs: Sequence[Job], direction: str) -> dict[str, list[float]]:
    """Returns the seconds of each arm's measured passes."""
    found = {
        arm: [s["seconds"] for s in run.measured(arm, direction)]
        for run, settings in jobs
        for arm in settings.arms
    }
    return {arm: seconds for arm, seconds in found.items() if seconds}


def _times(jobs: Sequence[Job], direction: str) -> dict[str, float]:
    """Returns the medians of `_passes`."""
    return {arm: median(seconds) for arm, seconds in _passes(jobs, direction).items()}


def _noise(passes: Sequence[Sequence[float]]) -> float | None:
    """Returns the largest median absolute deviation of an arm's passes, as a share of their median; None if
    no arm has several passes."""

    def of_one(seconds: Sequence[float]) -> float:
        middle = median(seconds)
        return median(abs(one - middle) for one in seconds) / middle

    return max((of_one(seconds) for seconds in passes if len(seconds) > 1), default=None)


def _fastest(times: Mapping[str, float], arms: Sequence[Arm], count: int) -> list[Arm]:
    known = [arm for arm in arms if arm.name in times]
    return sorted(known, key=lambda arm: times[arm.name])[:count]


def _dealt(arms: Sequence[Arm]) -> Iterator[Sequence[Arm]]:
    """Deals the arms out to as few runs as possible, so that a method's variants are spread over the runs."""
    runs = math.ceil(len(arms) / ARMS_OF_RUN)
    return (arms[index::runs] for index in range(runs))


@dataclass(frozen=True)
class _Final:
    """The arms that `auto` is compared with in one direction; fewer if nothing was measured."""

    best: list[Arm]
    host: list[Arm]

    @property
    def arms(self) -> list[Arm]:
        return [*self.best, *self.host]


def _may_be_best(arm: Arm, direction: str) -> bool:
    """Returns whether `auto` is compared with an arm of Oratorio in a direction."""
    return direction == "read" or method_of(arm.name) not in WEAKER_WRITES


def _finalists(direction: str, times: Mapping[str, float], arms: Sequence[Arm], count: int) -> _Final:
    ours = [arm for arm in arms if not is_host(arm.name) and _may_be_best(arm, direction)]
    hosts = [arm for arm in arms if is_host(arm.name)]
    return _Final(_fastest(times, ours, count), _fastest(times, hosts, count))


def _distinct(arms: Iterable[Arm]) -> list[Arm]:
    """Drops repeated arms."""
    return list({arm.name: arm for arm in arms}.values())


def _again(arm: Arm) -> Arm:
    """Returns the same arm under another name, so that it can be measured twice in one run."""
    return replace(arm, name=f"{arm.name}{'-' if '@' in arm.name else '@'}again")


def _judging_job(
    case: Case, plan: Plan, finals: Sequence[_Final], costs: Path | None = None, again: Sequence[Arm] = ()
) -> Job:
    """Returns the run of `auto`, the best arms of all directions and the arms of `again`. Ten passes of
    `auto` do not count: those ahead, and the unmeasured one that each arm makes."""
    ahead = {LEARNED.name: ACCESSES_BEFORE - 1}
    arms = _distinct([*(arm for final in finals for arm in final.arms), COLD, LEARNED, *again])
    return _job(case, plan, arms, plan.settings.repeats, costs, ahead)


def _share(times: Mapping[str, float], of: Arm, arms: Sequence[Arm]) -> float | None:
    """Returns the speed of an arm relative to the fastest of `arms`."""
    known = [times[arm.name] for arm in arms if arm.name in times]
    return min(known) / times[of.name] if known and of.name in times else None


def _speed(times: Mapping[str, float], auto: Arm, final: _Final) -> Speed:
    return Speed(_share(times, auto, final.best), _share(times, auto, final.host))


def _cell(
    case: Case, direction: str, final: _Final, again: Arm | None, jobs: Mapping[str, Job], table: Mapping
) -> Cell:
    times = {name: _times([job], direction) for name, job in jobs.items()}
    shown = {"best": final.best, "best_host": final.host, "cold": [COLD], "learned": [LEARNED]}
    first = {name: arms[0] for name, arms in shown.items() if arms}
    passes = _passes([jobs[RIGHT]], direction)
    return Cell(
        workload=case.run.label,
        layout=case.layout.name,
        file_system=case.file_system,
        direction=direction,
        best=first["best"].text if "best" in first else "-",
        best_host=first["best_host"].text if "best_host" in first else "-",
        milliseconds={
            name: 1e3 * times[RIGHT][arm.name] for name, arm in first.items() if arm.name in times[RIGHT]
        },
        noise=_noise([passes[arm.name] for arm in first.values() if arm.name in passes]),
        again=_share(times[RIGHT], again, final.best) if again else None,
        outcomes={
            name: Outcome(_speed(found, COLD, final), _speed(found, LEARNED, final))
            for name, found in times.items()
        },
        table={text: 1e3 * seconds for text, seconds in table.items()},
    )


def measure_case(case: Case, plan: Plan) -> tuple[list[Cell], list[Job]]:
    """Measures a case. Returns a cell for each direction, and all runs with what they measured."""
    directions = plan.settings.directions
    arms = [*arms_of(case.layout, plan.exhaustive), *HOSTS]
    passes = min(TABLE_PASSES, plan.settings.repeats)
    table = [_job(case, plan, part, passes) for part in _dealt(arms)]
    plan.measure(table)
    of_table = {direction: _times(table, direction) for direction in directions}
    finals = [_finalists(direction, of_table[direction], arms, CONTENDERS) for direction in directions]

    contenders = _distinct(arm for final in finals for arm in final.arms)
    chosen = _job(case, plan, contenders, plan.settings.repeats)
    plan.measure([chosen])
    finals = [
        _finalists(direction, _times([chosen], direction), final.arms, 1)
        for direction, final in zip(directions, finals, strict=True)
    ]

    again = [_again(final.best[0]) if final.best else None for final in finals]
    wrong = {name: _judging_job(case, plan, finals, costs) for name, costs in plan.costs.items()}
    jobs = {RIGHT: _judging_job(case, plan, finals, again=[arm for arm in again if arm]), **wrong}
    plan.measure(list(jobs.values()))
    text_of = {arm.name: arm.text for arm in arms}
    cells = [
        _cell(case, direction, final, twin, jobs, {text_of[n]: s for n, s in of_table[direction].items()})
        for direction, final, twin in zip(directions, finals, again, strict=True)
    ]
    return cells, [*table, chosen, *jobs.values()]
