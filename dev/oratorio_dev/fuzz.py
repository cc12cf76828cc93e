# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio fuzz`: fuzzes the code that parses untrusted input, with libFuzzer.

Each tests/fuzz/NAME.cpp except replay.cpp is a target. Targets are built with clang and its sanitizers in
build-fuzz/. Inputs that reach new code are stored in out/fuzz/NAME/inputs, and inputs that make the target
fail in out/fuzz/NAME.
"""

import argparse
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from oratorio.command_line import Parser, within
from oratorio.errors import OratorioError
from oratorio.paths import OUT, ROOT

SOURCES = ROOT / "tests/fuzz"
CORPUS = SOURCES / "corpus"
BUILD = ROOT / "build-fuzz"
WORK = OUT / "fuzz"
COMPILERS = ("clang++", *(f"clang++-{version}" for version in range(22, 13, -1)))
ADVICE = (
    "no clang with libFuzzer: as root, apt-get install --no-install-recommends clang-14 libclang-rt-14-dev. "
    "Without it, the tests fuzz.* run each target on its corpus and some thousand mutations of it"
)
LONGEST = 1024  # longest input, in bytes
FILES_MOST = 40  # keep() lets a corpus grow to this many files
SIGNS = ("fuzz: assertion failed", "runtime error:", "SUMMARY:")
QUIET_SECONDS = 20  # seconds between two lines of progress


class FuzzError(OratorioError):
    """Raised if there is no suitable compiler or no such target, or if building or merging fails."""


@dataclass
class Found:
    """The result of fuzzing a target."""

    target: str
    executions: int
    seconds: float
    failure: str = ""
    inputs: tuple[Path, ...] = ()


def targets() -> list[str]:
    """Returns the names of all targets."""
    return sorted(file.stem for file in SOURCES.glob("*.cpp") if file.stem != "replay")


def find_compiler() -> str:
    """Returns a clang++ that links libFuzzer. Raises FuzzError if there is none."""
    for name in filter(shutil.which, COMPILERS):
        command = [name, "-fsanitize=fuzzer,address", "-x", "c++", "-", "-o", os.devnull]
        source = 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }'
        if not subprocess.run(command, input=source, text=True, capture_output=True, check=False).returncode:
            return name
    raise FuzzError(ADVICE)


def build(names: Sequence[str]) -> None:
    """Builds the fuzzers of these targets."""
    if not (BUILD / "build.ninja").exists():
        compiler = find_compiler()
        options = [f"-DCMAKE_CXX_COMPILER={compiler}", "-DORATORIO_FUZZ=ON", "-DORATORIO_MPI=OFF"]
        if shutil.which("ccache"):
            options.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
        _call(["cmake", "-S", str(ROOT), "-B", str(BUILD), "-G", "Ninja", *options])
    _call(["cmake", "--build", str(BUILD), "--target", *(f"fuzz_{name}" for name in names)])


def _call(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise FuzzError(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-3000:]}")


def program(target: str) -> Path:
    """Returns the path of a target's fuzzer. Started with a file as its argument, the fuzzer tries only that
    input."""
    return BUILD / "tests/fuzz" / f"fuzz_{target}"


def read_log(target: str, log: str, seconds: float, inputs: tuple[Path, ...] = ()) -> Found:
    """Parses the log of libFuzzer."""
    found = Found(target, 0, seconds, inputs=inputs)
    for line in log.splitlines():
        if line.startswith("stat::number_of_executed_units:"):
            found.executions = int(line.split()[-1])
        elif not found.failure and any(sign in line for sign in SIGNS):
            found.failure = line
    return found


def attack(target: str, seconds: int) -> Found:
    """Runs the fuzzer of a target for `seconds` seconds, or until it finds a failure."""
    folder = WORK / target
    (folder / "inputs").mkdir(parents=True, exist_ok=True)
    before = set(folder.iterdir())
    limits = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-timeout=30"]
    command = [
        program(target), *limits, "-print_final_stats=1", f"-artifact_prefix={folder}/",
        folder / "inputs", CORPUS / target,
    ]  # fmt: skip
    started = time.monotonic()
    with (folder / "log").open("w") as log:
        code = subprocess.run(command, stdout=log, stderr=log, check=False).returncode
    failed = tuple(sorted(set(folder.iterdir()) - before - {folder / "log"}))
    text = (folder / "log").read_text(errors="replace")
    found = read_log(target, text, time.monotonic() - started, failed)
    if code and not found.failure:
        found.failure = f"ended with {code}"
    return found


def keep(target: str) -> int:
    """Adds inputs that reach new code to the target's corpus in tests/fuzz, until it has FILES_MOST files.
    Returns the number of added inputs.

    libFuzzer's merge writes the inputs that reach the most code first, so the oldest files are added first.
    """
    corpus, merged = CORPUS / target, WORK / target / "merged"
    shutil.rmtree(merged, ignore_errors=True)
    shutil.copytree(corpus, merged)
    there = {file.name for file in corpus.iterdir()}
    merge = ["-set_cover_merge=1", "-use_counters=0", merged, WORK / target / "inputs"]
    _call([str(word) for word in (program(target), *merge)])
    new = [file for file in merged.iterdir() if file.name not in there]
    new.sort(key=lambda file: file.stat().st_mtime_ns)
    added = new[: max(0, FILES_MOST - len(there))]
    for file in added:
        shutil.copyfile(file, corpus / file.name)
    return len(added)


def run(names: Sequence[str], seconds: int, jobs: int | None, keeps: bool) -> bool:
    """Fuzzes these targets; returns whether no failure was found. With `keeps`, adds inputs to the
    corpora."""
    console = Console(highlight=False)
    console.print(f"building {', '.join(names)} ...")
    build(names)
    processes = jobs or len(os.sched_getaffinity(0))
    started = time.monotonic()
    with ThreadPoolExecutor(processes) as pool:
        running = [pool.submit(attack, name, seconds) for name in names]
        told = started
        while not all(job.done() for job in running):
            time.sleep(0.2)
            if time.monotonic() - told >= QUIET_SECONDS:
                told = time.monotonic()
                ended = sum(job.done() for job in running)
                console.print(f"{told - started:.0f} s, {ended} of {len(names)} targets done")
    found = [job.result() for job in running]
    _report(console, found)
    for each in found if keeps else ():
        console.print(f"{each.target}: {keep(each.target)} inputs added to {CORPUS / each.target}")
    return not any(each.failure for each in found)


def _report(console: Console, found: Sequence[Found]) -> None:
    table = Table("target", "seconds", "executions", "inputs kept", "found")
    for each in found:
        inputs = len(list((WORK / each.target / "inputs").iterdir()))
        verdict = "a failure" if each.failure else "nothing"
        table.add_row(each.target, f"{each.seconds:.0f}", str(each.executions), str(inputs), verdict)
    console.print(table)
    for each in found:
        if not each.failure:
            continue
        console.print(f"{each.target}: {each.failure}", markup=False, soft_wrap=True)
        for file in each.inputs:
            console.print(f"  again: {program(each.target)} {file}", markup=False, soft_wrap=True)
        console.print(f"  log: {WORK / each.target / 'log'}", markup=False, soft_wrap=True)


def add_options(parser: Parser) -> None:
    """Adds the options of `fuzz`."""
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="Targets to fuzz; all if not given.")
    parser.add_argument(
        "--seconds", type=within(1), default=60, help="Time for each target; %(default)s if not given."
    )
    parser.add_argument(
        "--jobs", type=within(1), help="Targets to fuzz at the same time; one per core if not given."
    )
    parser.add_argument("--keep", action="store_true", help="Add inputs that reach new code to the corpus.")
    parser.set_defaults(does=_fuzz)


def _fuzz(options: argparse.Namespace) -> int:
    if unknown := set(options.targets) - set(targets()):
        raise FuzzError(
            f"no such target: {', '.join(sorted(unknown))}; the targets are {', '.join(targets())}"
        )
    return 0 if run(options.targets or targets(), options.seconds, options.jobs, options.keep) else 1
