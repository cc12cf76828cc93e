# SPDX-License-Identifier: BSD-3-Clause
"""Runs the tests of a suite under a host, with the host's own MPI-IO or with Oratorio."""

import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from oratorio.launch.hosts import Host, HostError, preload_library, run_ranks
from oratorio_lab.suites.building import Builder, BuildError
from oratorio_lab.suites.model import (
    ALL,
    FAIL,
    NOT_BUILT,
    PASS,
    SKIP,
    SLOW,
    TIMEOUT,
    WORK,
    Finished,
    Program,
    Result,
    Script,
    Suite,
)
from oratorio_lab.suites.sources import source_of

Results = dict[str, Result]
Tell = Callable[[str, Result], None]


def source_folder(suite: Suite) -> Path:
    """Returns the folder of the suite's source, or WORK if it needs none; fetches a missing source.
    Raises SourceError."""
    return source_of(suite.archive, suite.name, suite.prepare) if suite.archive else WORK


def _run_in(folder: Path, builder: Builder, program: Program, preload: bool) -> Result:
    """Builds and runs one program in `folder`."""
    if program.first:
        _run_in(folder, builder, program.first, preload)
    try:
        binary = builder.build(program)
    except BuildError as error:
        return Result(NOT_BUILT, str(error))
    places = {"scratch": str(folder), "source": str(builder.source)}
    arguments = [argument.format(**places) for argument in program.arguments]
    env = {key: value.format(**places) for key, value in program.env.items()}
    try:
        done = run_ranks(
            builder.host, program.ranks, [binary, *arguments], preload=preload, env=env,
            cwd=folder, timeout_seconds=program.seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Result(TIMEOUT, f"still running after {program.seconds} s")
    return program.judge(Finished(done.returncode, done.stdout, done.stderr))


def run_program(builder: Builder, program: Program, preload: bool) -> Result:
    """Builds and runs one program in a folder of its own."""
    (WORK / "scratch").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=WORK / "scratch") as folder:
        return _run_in(Path(folder), builder, program, preload)


# --- Python programs that run many tests in one job ---

# Outcomes of a test from best to worst. The worst outcome of all ranks counts.
ORDER = ("loaded", "passed", "skipped", "failed", "began")


def read_records(folder: Path) -> dict[str, tuple[str, str]]:
    """Returns test -> (worst outcome over the ranks, detail), from the files of mpi4py_runner.py."""
    worst: dict[str, tuple[str, str]] = {}
    for file in sorted(folder.glob("*.jsonl")):
        last = {}
        for line in file.read_text().splitlines():
            name, outcome, detail = json.loads(line)
            # A test that failed stays failed, even if tearDown reports success after it.
            if last.get(name, ("",))[0] != "failed":
                last[name] = (outcome, f"{file.stem}: {detail}")
        for name, told in last.items():
            if name not in worst or ORDER.index(told[0]) > ORDER.index(worst[name][0]):
                worst[name] = told
    return worst


def results_of(records: dict[str, tuple[str, str]]) -> Results:
    """Turns records into results. Of several tests that began and did not end, only the first one counts,
    because other ranks may have been ahead and have begun later tests."""
    words = {"passed": PASS, "skipped": SKIP, "failed": FAIL}
    results: Results = {}
    is_cut = False
    for name, (outcome, detail) in records.items():
        if outcome in words:
            last_line = "" if outcome == "passed" else detail.strip().splitlines()[-1]
            results[name] = Result(words[outcome], last_line.strip()[:200])
        elif outcome == "began" and not is_cut:
            is_cut = True
            results[name] = Result(TIMEOUT, "the job hung or crashed in this test")
    return results


def run_script(host: Host, source: Path, script: Script, preload: bool, tell: Tell) -> Results:
    """Runs the script until every test has a result, or until a job adds no result.

    After a job hangs or crashes in a test, starts another job without the tests that have a result.
    """
    results: Results = {}
    while True:
        with tempfile.TemporaryDirectory(dir="/dev/shm") as scratch:
            places = {"scratch": scratch, "source": str(source)}
            words = [argument.format(**places) for argument in script.arguments]
            env = {key: value.format(**places) for key, value in script.env.items()}
            program = [host.python, script.file, *words, scratch, *sorted(results)]
            try:
                done = run_ranks(
                    host, script.ranks, program, preload=preload, env=env | {"TMPDIR": scratch},
                    cwd=Path(scratch), timeout_seconds=script.seconds,
                )  # fmt: skip
                has_ended = done.returncode == 0
            except subprocess.TimeoutExpired:
                has_ended = False
            fresh = results_of(read_records(Path(scratch)))
        for name, result in fresh.items():
            tell(name, result)
        results |= fresh
        if has_ended or not fresh:
            return results


def _verify_preload(host: Host) -> None:
    """Raises HostError if ranks do not get LD_PRELOAD, because a run without Oratorio must not count as
    a result of Oratorio."""
    done = run_ranks(host, 1, ["cat", "/proc/self/maps"], preload=True, timeout_seconds=60)
    if str(preload_library().resolve()) not in done.stdout:
        raise HostError(f"{host.mpiexec} does not pass LD_PRELOAD to the ranks: {done.stderr[-400:]}")


def run_suite(suite: Suite, host: Host, preload: bool, tell: Tell, part: str = ALL) -> Results:
    """Runs the tests of that part of the suite one after the other; all tests of a script are quick.

    Raises SourceError, and HostError if the ranks would not get Oratorio preloaded.
    """
    source = source_folder(suite)
    tests = suite.tests(source, host)
    if preload:
        _verify_preload(host)
    if isinstance(tests, Script):
        return {} if part == SLOW else run_script(host, source, tests, preload, tell)
    results: Results = {}
    builder = Builder(suite, host, source)
    for program in tests:
        if not program.is_in(part):
            continue
        results[program.name] = run_program(builder, program, preload)
        tell(program.name, results[program.name])
    return results
