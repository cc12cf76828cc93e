# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio compare`: runs a program with the host's own MPI-IO, and once with each method
(docs/user/compare.md)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from oratorio.errors import TIMED_OUT, OratorioError
from oratorio.launch import launch
from oratorio.library import method_table
from oratorio.report.facts import Run, Spent, median
from oratorio.report.outcome import last_words, why_nothing
from oratorio.report.run_recorder import Recorder

# The methods that are compared if the user names none: those among which `auto` chooses
# (docs/user/methods.md).
USUAL = ("list_io", "mmap", "shared_buffer", "sieve", "two_phase", "double_buffer")
HOST, AUTO = "host", "auto"


class CompareError(OratorioError):
    """Nothing can be compared; the text states the reason."""


@dataclass
class Arm:
    """One way to run the program, and the times of its runs."""

    name: str
    walls: list[float] = field(default_factory=list)
    # for each run, the times of the rank that spent most in accesses
    spent: list[Spent] = field(default_factory=list)
    used: dict[str, int] = field(default_factory=dict)  # method -> number of accesses
    problem: str = ""  # why no further runs are made: a run failed, or the method served no access
    exit_code: int = 0  # of the first run that failed, TIMED_OUT if it took too long

    @property
    def failed(self) -> bool:
        return self.exit_code != 0

    @property
    def wall(self) -> float | None:
        return median(self.walls) if self.walls else None

    @property
    def io_seconds(self) -> float | None:
        """The time in accesses of the typical run."""
        return self.typical.total if self.spent else None

    @property
    def typical(self) -> Spent:
        """The times of the median run by time in accesses; of two middle runs, those of the shorter one."""
        return sorted(self.spent, key=lambda spent: spent.total)[(len(self.spent) - 1) // 2]

    @property
    def spread(self) -> tuple[float, float]:
        return min(self.walls), max(self.walls)


def arms_of(asked: str | None, all_methods: bool) -> list[Arm]:
    """Returns arms for the host's MPI-IO, `auto` and the requested methods. Raises CompareError if a method
    is unknown."""
    known = method_table.methods()
    names = list(known[1:]) if all_methods else list(USUAL)
    if asked:
        names = [name.strip() for name in asked.split(",") if name.strip()]
    for name in names:
        if name != HOST and (complaint := method_table.complaint(name)):
            raise CompareError(complaint)
    return [Arm(name) for name in dict.fromkeys([HOST, AUTO, *names])]


def turns(arms: Sequence[Arm], repeat: int) -> list[list[Arm]]:
    """Returns the order of the arms in each turn. Each turn begins with a different arm; the host is the
    very first."""
    count = len(arms)
    return [[arms[(turn + place) % count] for place in range(count)] for turn in range(repeat)]


def _why_not(name: str, run: Run) -> str:
    """Returns why a requested method served no access; empty if it served one."""
    planned = [d for d in run.explained.decisions if d.method != "at once"]
    if any(decision.method == name for decision in planned):
        return ""
    if not planned:
        return "no method to choose: every access was one piece, moved in one call"
    for decision in planned:
        candidate = decision.candidate(name)
        if candidate and candidate.reason:
            return f"{candidate.reason}; {decision.method} was used"
    return f"{planned[0].method} was used: {planned[0].why}"


def take(arm: Arm, run: Run, said: str, seconds_max: float) -> None:
    """Adds a run to the results of its arm."""
    if run.exit_code is None:
        arm.problem, arm.exit_code = f"still running after {seconds_max:g} s", TIMED_OUT
    elif run.exit_code:
        arm.problem, arm.exit_code = f"ended with {run.exit_code}: {last_words(said)}", run.exit_code
    elif arm.name != HOST and not run.accesses and not run.dropped:
        arm.problem = f"{why_nothing(run)[0]}; `oratorio doctor` finds the cause"
    if arm.problem:
        return
    arm.walls.append(run.wall_seconds)
    if arm.name == HOST:
        return
    arm.spent.append(max(run.processes.values(), key=lambda spent: spent.total))
    for file in run.files:
        for access in file.accesses:
            method = access.args.get("method", "at once")
            arm.used[method] = arm.used.get(method, 0) + 1
    if arm.name != AUTO and (why := _why_not(arm.name, run)):
        arm.problem, arm.walls, arm.spent = why, [], []


def against(arm: Arm, host: Arm) -> str:
    """Returns a text that says how many times as fast as the host an arm is by the wall clock, and whether
    their times overlap."""
    if arm is host or not arm.walls or not host.walls:
        return ""
    ratio = f"{host.wall / arm.wall:.2f} x"
    if len(arm.walls) < 2 or len(host.walls) < 2:
        return ratio
    apart = arm.spread[1] < host.spread[0] or host.spread[1] < arm.spread[0]
    return ratio if apart else f"{ratio}, within the spread"


def best_of(arms: Sequence[Arm]) -> Arm | None:
    """Returns the arm with the least time in accesses, of those whose accesses were recorded."""
    known = [arm for arm in arms if arm.spent]
    return min(known, key=lambda arm: arm.io_seconds) if known else None


def document_of(arms: Sequence[Arm]) -> dict[str, Any]:
    """Returns the members of the JSON document that are about the arms."""
    best = best_of(arms)
    rows = [
        {
            "name": arm.name,
            "wall_seconds": arm.walls,
            "access_seconds": [spent.total for spent in arm.spent],
            "used": arm.used,
            "problem": arm.problem or None,
            "exit_code": arm.exit_code,
        }
        for arm in arms
    ]
    return {"best": best.name if best else None, "methods": rows}


def _prepare(before: str | None) -> None:
    if before is None:
        return
    done = subprocess.run(before, shell=True, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CompareError(f"--before ended with {done.returncode}: {last_words(done.stdout + done.stderr)}")


@dataclass(frozen=True)
class Rules:
    """The number of runs of each arm, their time limit, a shell command to run before each, and the hints of
    the runs with Oratorio."""

    repeat: int
    seconds_max: float
    before: str | None = None
    hints: Sequence[str] = ()


def _run(
    arm: Arm, words: Sequence[str], recorder: Recorder, rules: Rules, variables: Mapping[str, str] | None
) -> str:
    run, said = recorder.apart(words, variables, rules.seconds_max)
    take(arm, run, said, rules.seconds_max)
    return said


def compare(
    arms: Sequence[Arm], words: Sequence[str], recorder: Recorder, rules: Rules, environ: Mapping[str, str],
    tell: Callable[[str], None] = lambda text: None,
) -> None:  # fmt: skip
    """Runs the arms in turns. Raises CompareError, with the program's exit code, if the program fails without
    Oratorio, and LaunchError before the first run if a hint is not key=value."""
    variables = {
        arm.name: launch.oratorio_variables(arm.name, rules.hints, False, environ)
        for arm in arms
        if arm.name != HOST
    }
    for number, order in enumerate(turns(arms, rules.repeat)):
        for arm in order:
            if arm.problem:
                continue
            tell(f"{number + 1} of {rules.repeat}: {arm.name}")
            _prepare(rules.before)
            said = _run(arm, words, recorder, rules, variables.get(arm.name))
            if arm.name == HOST and arm.failed:
                sys.stderr.write(said)
                raise CompareError(f"the program fails without Oratorio: {arm.problem}", arm.exit_code)
