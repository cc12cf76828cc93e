# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio compare`: runs a program alternately with the host's own MPI-IO and each method, until their
times differ significantly or a limit is reached (docs/user/compare.md)."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from oratorio.compare.interval import Interval, are_apart, interval_of
from oratorio.compare.outputs import Outputs, State
from oratorio.errors import FAILED, TIMED_OUT, OratorioError
from oratorio.launch import launch
from oratorio.library import method_table
from oratorio.quantity import left_text
from oratorio.report.facts import Run, Spent, median
from oratorio.report.outcome import last_words, why_nothing
from oratorio.report.run_recorder import Recorder

# The methods that are compared if the user names none: those among which `auto` chooses
# (docs/user/methods.md), except the methods of two layers, which it considers from 512 ranks.
USUAL = ("list_io", "mmap", "shared_buffer", "sieve", "two_phase", "double_buffer")
HOST, AUTO = "host", "auto"


class CompareError(OratorioError):
    """Raised if nothing can be compared; the message says why."""


@dataclass
class Arm:
    """One way to run the program, and the times of its runs."""

    name: str
    walls: list[float] = field(default_factory=list)
    # for each run, the times of the rank that spent the most time in accesses
    spent: list[Spent] = field(default_factory=list)
    used: dict[str, int] = field(default_factory=dict)  # method -> number of accesses
    moved: int | None = None  # bytes that all ranks moved in a run; None if the recording is incomplete
    differing: dict[str, str] = field(default_factory=dict)  # output file -> how it differs from the host's
    problem: str = ""  # why no further runs are made: a run failed, the method served no access, or --budget
    exit_code: int = 0  # the code of the run that failed, TIMED_OUT if it took too long; it was the last run
    last_run: int = 0  # the number of its last run; runs of all arms are counted together, from 1

    @property
    def failed(self) -> bool:
        return self.exit_code != 0

    @property
    def wall(self) -> float | None:
        return median(self.walls) if self.walls else None

    @property
    def io_seconds(self) -> float | None:
        """The time that the typical run spent in accesses; None if no run was recorded."""
        return self.typical.total if self.spent else None

    @property
    def typical(self) -> Spent:
        """The times of the median run, by time in accesses; with two middle runs, the times of the shorter
        run."""
        return sorted(self.spent, key=lambda spent: spent.total)[(len(self.spent) - 1) // 2]

    @property
    def interval(self) -> Interval | None:
        """The confidence interval of the wall clock time; None after too few runs."""
        return interval_of(self.walls)


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


def order_of(arms: Sequence[Arm], turn: int) -> list[Arm]:
    """Returns the order of the arms in a turn; turns count from 0. Each turn begins one arm later than the
    turn before, and turn 0 begins with the first arm, the host."""
    first = turn % len(arms)
    return [*arms[first:], *arms[:first]]


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
    """Adds the times of a run to its arm, or the problem if the run can't be used. `said` is the output of
    the run."""
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
    arm.moved = None if run.dropped else run.moved
    for file in run.files:
        for access in file.accesses:
            method = access.args.get("method", "at once")
            arm.used[method] = arm.used.get(method, 0) + 1
    if arm.name != AUTO and (why := _why_not(arm.name, run)):
        arm.problem, arm.walls, arm.spent = why, [], []


def difference(arm: Arm, host: Arm) -> str | None:
    """Returns `faster`, `slower` or `none`, by the confidence intervals of the wall clock times of an arm
    and of the host; None for the host itself, and after too few runs."""
    apart = are_apart(arm.walls, host.walls)
    if arm is host or apart is None:
        return None
    return ("faster" if arm.wall < host.wall else "slower") if apart else "none"


def against(arm: Arm, host: Arm) -> str:
    """Returns the arm's wall-clock speedup over the host's own MPI-IO, as text, with a remark if the
    difference isn't significant. Empty for the host itself, or if either has no times."""
    if arm is host or not arm.walls or not host.walls:
        return ""
    return f"{host.wall / arm.wall:.2f} x" + (", no difference" if difference(arm, host) == "none" else "")


def host_of(arms: Sequence[Arm]) -> Arm:
    """Returns the arm of the host's own MPI-IO."""
    return next(arm for arm in arms if arm.name == HOST)


def moved_by(arm: Arm, arms: Sequence[Arm]) -> int | None:
    """Returns the bytes that a run of the arm moved; None if unknown. The host's runs are not recorded, but
    move the same bytes as the runs of other arms."""
    if arm.name != HOST:
        return arm.moved
    return next((other.moved for other in arms if other.moved is not None), None)


def best_of(arms: Sequence[Arm]) -> Arm | None:
    """Returns the recorded arm with the least time in accesses; None if no arm was recorded."""
    known = [arm for arm in arms if arm.spent]
    return min(known, key=lambda arm: arm.io_seconds) if known else None


def document_of(arms: Sequence[Arm], outputs: Outputs) -> dict[str, Any]:
    """Returns the members of the JSON document that are about the arms."""
    best, host = best_of(arms), host_of(arms)
    rows = [
        {
            "name": arm.name,
            "wall_seconds": arm.walls,
            "interval": arm.interval,
            "difference": difference(arm, host),
            "access_seconds": [spent.total for spent in arm.spent],
            "bytes": moved_by(arm, arms),
            "used": arm.used,
            "differing_files": unequal_of(arm, outputs),
            "problem": arm.problem or None,
            "exit_code": arm.exit_code,
        }
        for arm in arms
    ]
    return {
        "best": best.name if best else None,
        "files": sorted(outputs.reference or ()),
        "unsteady_files": sorted(outputs.unsteady),
        "methods": rows,
    }


def unequal_of(arm: Arm, outputs: Outputs) -> dict[str, str]:
    """Returns name -> how an output file of the arm differs from the host's, without files in which
    the host's own runs differ."""
    return {name: how for name, how in arm.differing.items() if name not in outputs.unsteady}


def exit_code_of(arms: Sequence[Arm], outputs: Outputs) -> int:
    """Returns the exit code of the run that failed first, whichever arm it belongs to. If no run failed,
    returns FAILED if output files differ, else 0."""
    if failed := [arm for arm in arms if arm.failed]:
        return min(failed, key=lambda arm: arm.last_run).exit_code
    return FAILED if any(unequal_of(arm, outputs) for arm in arms) else 0


def _prepare(before: str | None) -> None:
    if before is None:
        return
    done = subprocess.run(before, shell=True, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CompareError(f"--before ended with {done.returncode}: {last_words(done.stdout + done.stderr)}")


@dataclass(frozen=True)
class Rules:
    """The largest number of runs of each arm, the time limit of a run, a shell command to run before each
    run, the hints of the runs with Oratorio, the time after which no run is started, and patterns of output
    files."""

    repeat: int
    seconds_max: float
    before: str | None = None
    hints: Sequence[str] = ()
    budget: float | None = None
    outputs: Sequence[str] = ()


@dataclass
class _Comparison:
    """The state of a comparison while its runs are made."""

    arms: Sequence[Arm]
    recorder: Recorder
    rules: Rules
    outputs: Outputs
    begun: float = field(default_factory=time.monotonic)
    runs: int = 0

    def still_open(self) -> list[Arm]:
        """Returns the arms that are to run in the next turn: those that may still turn out to differ from the
        host, and the host itself, unless no other arm is left."""
        host = host_of(self.arms)
        others = [
            arm
            for arm in self.arms
            if arm is not host and not arm.problem and difference(arm, host) in (None, "none")
        ]
        return [host, *others] if others else []

    def is_over(self) -> bool:
        """Returns whether the time of --budget has passed. The first run is always made."""
        budget = self.rules.budget
        return self.runs > 0 and budget is not None and time.monotonic() - self.begun >= budget

    def leave_rest(self) -> str:
        """Records in each arm that did not run why it did not, and returns the reason."""
        why = f"the {self.rules.budget:g} s of --budget have passed"
        for arm in self.arms:
            if not arm.walls and not arm.problem:
                arm.problem = f"not run: {why}"
        return why

    def progress(self, turn: int, arm: Arm) -> str:
        """Returns a line about the next run, with an estimate of the remaining time."""
        most = self.runs + len(self.still_open()) * (self.rules.repeat - turn)
        left = left_text(self.runs / max(most, 1), time.monotonic() - self.begun)
        return f"turn {turn + 1} of at most {self.rules.repeat}: {arm.name}{left}"

    def run(self, arm: Arm, words: Sequence[str], variables: Mapping[str, str] | None) -> None:
        """Runs an arm once. Raises CompareError, with the exit code of the first run that failed, if the
        program fails without Oratorio."""
        _prepare(self.rules.before)
        before = self.outputs.state()
        run, said = self.recorder.apart(words, variables, self.rules.seconds_max)
        take(arm, run, said, self.rules.seconds_max)
        self.runs += 1
        arm.last_run = self.runs
        if arm.name == HOST and arm.failed:
            sys.stderr.write(said)
            code = exit_code_of(self.arms, self.outputs)
            raise CompareError(f"the program fails without Oratorio: {arm.problem}", code)
        if not arm.problem and self.rules.outputs:
            self._compare_files(arm, before)

    def _compare_files(self, arm: Arm, before: State) -> None:
        try:
            arm.differing |= self.outputs.differing(before, arm.name == HOST)
        except OSError as error:
            raise CompareError(f"{error.filename} can't be read: {error.strerror}") from None
        if not self.outputs.reference:
            names = " ".join(self.rules.outputs)
            raise CompareError(
                f"the program wrote no file that matches --output-files {names} in the run without Oratorio; "
                "if that is a pattern, quote it, so that the shell does not expand it"
            )


def compare(
    arms: Sequence[Arm], words: Sequence[str], recorder: Recorder, rules: Rules, environ: Mapping[str, str],
    tell: Callable[[str], None] = lambda text: None,
) -> Outputs:  # fmt: skip
    """Runs the arms in turns. An arm runs until its confidence interval and the host's separate, a run
    has a problem, or a limit of `rules` is reached. Returns the comparison of the output files.

    Raises CompareError, with the exit code of the first run that failed, if the program fails without
    Oratorio, and LaunchError before the first run if a hint is not key=value.
    """
    variables = {
        arm.name: launch.oratorio_variables(arm.name, rules.hints, False, environ)
        for arm in arms
        if arm.name != HOST
    }
    state = _Comparison(arms, recorder, rules, Outputs(rules.outputs))
    for turn in range(rules.repeat):
        taking_part = state.still_open()
        for arm in order_of(arms, turn):
            if arm not in taking_part:
                continue
            if state.is_over():
                tell(f"no more runs: {state.leave_rest()}")
                return state.outputs
            tell(state.progress(turn, arm))
            state.run(arm, words, variables.get(arm.name))
    return state.outputs
