# SPDX-License-Identifier: BSD-3-Clause
"""The checks that `oratorio clients` runs on the clients of a kind, and how each is judged."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from oratorio.conformance import conformance
from oratorio.errors import OratorioError
from oratorio.launch.hosts import Host
from oratorio.paths import ROOT
from oratorio_lab import targets
from oratorio_lab.clients.rig import FOLDER, HERE, SETUP, Clients, shell

PROGRAMS = ROOT / "tests/programs"
SECTIONS = "14.4.4,14.6"
RULE_SECONDS = 120
ORACLE_SECONDS = 3600
PATIENCE_SECONDS = 300  # time limit of one program of the oracle
# time limit of the job in which a client is killed, and of survivor.py, which then waits for locks
KILL_SECONDS = 180
TIMED_OUT = 124  # exit code of timeout(1) for a command that ran too long
KILL = "kill-"  # prefix of the names of checks that kill a client
KILL_MODES = ("collective", "atomic", "lock")  # what clients_killed.c does when its client is killed
# Maps the flavour of an MPI to the MPI for which tests/mpi/access.cmake builds the oracle's program. The
# program also runs on older MPIs of that flavour, because they have the same ABI.
ORACLES = {"mpich": "mpich5", "ompi": "ompi5"}
WRONG = re.compile(r"^(.*?): (\d+) wrong of (\d+)", re.MULTILINE)
SHOWN = 5  # number of failures that a verdict names


@dataclass(frozen=True)
class Verdict:
    """The outcome of a check, and its entry in the table."""

    is_right: bool
    detail: str


@dataclass(frozen=True)
class Check:
    """A shell command, its time limit, and the function that judges its exit code and output."""

    name: str
    command: str
    seconds: int
    judge: Callable[[int, str], Verdict]


def _shown(found: list[str]) -> str:
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return "; ".join(found[:SHOWN]) + more


def _without_end(code: int, output: str) -> str:
    """Describes the end of a command without a result: that it reached its time limit, or its exit code and
    error."""
    if code == TIMED_OUT:
        return "still running at its time limit"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("rank ")]
    told = (errors or lines or [""])[-1]
    return f"ended with {code}" + (f" ({told[:100]})" if told else "")


def judge_counts(code: int, output: str) -> Verdict:
    """Judges lines of the form "CASE: N wrong of M"."""
    counts = WRONG.findall(output)
    wrong = [f"{name} {number} of {of}" for name, number, of in counts if number != "0"]
    if code not in (0, 1):
        wrong.append(_without_end(code, output))
    if wrong or code != 0 or not counts:
        return Verdict(False, _shown(wrong) or _without_end(code, output))
    return Verdict(True, f"0 wrong ({len(counts)})")


def judge_rules(code: int, output: str) -> Verdict:
    """Judges the output of rules.py."""
    kept = re.search(r"^kept (\d+)$", output, re.MULTILINE)
    broken = re.findall(r"^broken (\S+)", output, re.MULTILINE)
    if code != 0 or not kept:
        broken.append(_without_end(code, output))
    return Verdict(not broken, _shown(broken) if broken else f"{kept[1]} kept")


def judge_oracle(code: int, output: str) -> Verdict:
    """Judges the output of the oracle's program."""
    said = re.search(r"^seeds .*: (\d+) programs with \d+ accesses, (\d+) failed", output, re.MULTILINE)
    if not said:
        return Verdict(False, _without_end(code, output))
    return Verdict(code == 0 and said[2] == "0", f"{said[2]} of {said[1]} wrong")


def judge_views(code: int, output: str) -> Verdict:
    """Judges the output of setup/views.sh."""
    differing = re.findall(r"^< \w+ +(\S.*)$", output, re.MULTILINE)
    if code == 0:
        return Verdict(True, output.strip().partition("\n")[0])
    return Verdict(False, _shown(differing) or _without_end(code, output))


def judge_locks(code: int, output: str) -> Verdict:
    """Judges only the exit code: which locks the other client sees is a property of the file system, not a
    fault."""
    words = dict(line.split(maxsplit=1) for line in output.splitlines() if len(line.split()) > 1)
    seen = " / ".join(words.get(way, "?") for way in ("posix", "OFD", "flock"))
    return Verdict(code == 0, seen)


def require(host: Host) -> None:
    """Raises OratorioError if the checks can't run on that MPI."""
    if host.flavour not in ORACLES:
        raise OratorioError(f"{host.name} can't run the checks: the oracle is not built for its ABI")


def program_of(host: Host, name: str) -> Path:
    """Returns a program of tests/programs, compiled for that MPI. Raises TargetError."""
    return targets.compile_program(host.mpicc, PROGRAMS / f"clients_{name}.c", f"clients-{name}-{host.name}")


def _oracle(host: Host) -> Path:
    """Returns the program that runs the oracle's random programs on that MPI. Raises TargetError."""
    return targets.build(f"mpi_oracle_programs_{ORACLES[host.flavour]}", "tests/mpi")


def judge_kill(code: int, output: str) -> Verdict:
    """Judges the output of setup/kill.sh and survivor.py."""
    ended_by = re.search(r"^the job was ended by (.*)$", output, re.MULTILINE)
    if code == 0 and ended_by:
        return Verdict(True, f"synced data is intact, no lock is left; ended by {ended_by[1]}")
    return Verdict(False, _without_end(code, output))


def kills_of(clients: Clients, host: Host) -> list[Check]:
    """Returns the checks in which the second client is killed; each needs a boot of its own. Raises
    TargetError."""
    file = f"{FOLDER}/killed"
    words = [*clients.launcher(host), program_of(host, "killed"), file]
    kill = ["sh", SETUP / "kill.sh", file, KILL_SECONDS]
    return [
        Check(f"{KILL}{mode}", shell([*kill, *words, mode]) + ' "$RIG/mark"', 3 * KILL_SECONDS, judge_kill)
        for mode in KILL_MODES
    ]


def checks_of(clients: Clients, host: Host, seeds: int) -> list[Check]:
    """Returns the checks that run one after the other on these clients after one boot. Raises TargetError and
    ConformanceError.

    `seeds` is the number of random programs that the oracle runs.
    """
    kind, words = clients.kind, clients.launcher(host)
    conformance.build(host.mpicc)
    other = [HERE / "remote_shell.py", "second"] if kind.frame == "two" else []
    beside = f"{FOLDER}/lock" if kind.frame == "two" else f"{FOLDER}.second/lock"
    look = ["/usr/bin/python3", HERE / "locks.py", "look", f"{FOLDER}/lock", beside, *other]
    rules = ["/usr/bin/python3", HERE / "rules.py", f"{FOLDER}/rules", RULE_SECONDS, SECTIONS, host.mpicc]
    oracle = [*words, _oracle(host), "--folder", f"{FOLDER}/oracle", "--count", seeds, "--faults"]
    oracle += ["--patience", PATIENCE_SECONDS]
    third = ["--third", f"{kind.third}/oracle"] if kind.third else []
    copies = "" if third else ' --copies "$RIG/copies"'
    programs = {name: program_of(host, name) for name in ("loss", "handles", "appended")}
    server = f"{kind.third}/loss" if kind.third else "-"
    return [
        Check("locks", shell(look), 120, judge_locks),
        Check("loss", shell([*words, programs["loss"], f"{FOLDER}/loss", server]), 500, judge_counts),
        Check("handles", shell([*words, programs["handles"], f"{FOLDER}/handles"]), 500, judge_counts),
        Check("appended", shell([*words, programs["appended"], f"{FOLDER}/appended"]), 60, judge_counts),
        Check("rules", shell([*rules, *words]), 1000, judge_rules),
        Check("oracle", shell([*oracle, *third]) + copies, ORACLE_SECONDS, judge_oracle),
        Check("views", shell(["sh", SETUP / "views.sh", kind.frame, kind.third]), 200, judge_views),
    ]


def script_of(checks: list[Check]) -> str:
    """Returns a script that runs the checks one after the other; each leaves NAME.log and NAME.code in
    $RIG."""
    lines = ['mkdir "$RIG/copies"' if "copies" in " ".join(check.command for check in checks) else ""]
    for check in checks:
        lines += [
            f'mkdir -p "$CLIENT/{check.name}" && chmod 777 "$CLIENT/{check.name}"',
            f"cat >\"$RIG/{check.name}.sh\" <<'END'\n{check.command}\nEND",
            f'timeout --kill-after=5 {check.seconds} sh "$RIG/{check.name}.sh" >"$RIG/{check.name}.log" 2>&1',
            f'echo $? >"$RIG/{check.name}.ended" && mv "$RIG/{check.name}.ended" "$RIG/{check.name}.code"',
        ]
    return "\n".join(lines)
