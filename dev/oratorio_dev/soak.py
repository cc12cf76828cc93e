# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio soak`: runs random programs in the simulation on all cores and judges them by what MPI allows.

Each process of tests/oracle/main.cpp runs its share of the seeds, reports its progress in lines that begin
with `progress`, and prints the first failure of each kind with the shortest program that fails in the same
way.
"""

import argparse
import os
import subprocess
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from oratorio.command_line import Parser, within
from oratorio.errors import OratorioError
from oratorio.paths import BUILD
from oratorio_lab import building

TARGET = "oracle_soak"
QUIET_SECONDS = 10  # seconds between two lines of progress
# Options without a value, which are passed on to the soak program.
SWITCHES = {
    "faults": "Make a storage request fail, or memory run out, in some programs.",
    "scarce": "Make memory run out in all programs.",
    "clients": "Run all programs over clients of NFS or FUSE with caches.",
    "atomic": "Use atomic mode, and ranks that write the same bytes, in most programs.",
    "deaths": "With --locks job: make a rank die while it holds a lock.",
    "fresh-views": "Set views again before each access, so that no plan is cached.",
}


class SoakError(OratorioError):
    """Raised if the soak program cannot be built, or one of its processes crashed."""


@dataclass
class Share:
    """The results of one process, from the lines that it has printed so far."""

    done: int = 0
    failed: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    firsts: dict[str, int] = field(default_factory=dict)
    text: list[str] = field(default_factory=list)

    def hear(self, line: str) -> None:
        """Updates the results from one line of the program's output."""
        words = line.split()
        if words and words[0] == "progress":
            self.done, self.failed = int(words[1]), int(words[2])
        elif len(words) == 5 and words[0] == "kind":
            self.kinds[words[1]] += int(words[2])
            self.firsts[words[1]] = int(words[4])
        elif words and words[0] not in ("accesses", "overslept", "job_locks"):
            self.text.append(line.rstrip("\n"))


def build_program(folder: Path = BUILD) -> Path:
    """Builds the soak program, if it is missing or outdated, and returns its path."""
    if not (folder / "build.ninja").exists():
        raise SoakError(f"{folder} is not configured: run dev/setup.sh base build")
    with building.alone():
        command = ["cmake", "--build", folder, "--target", TARGET]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode:
        raise SoakError(f"building {TARGET} failed:\n{built.stdout[-2000:]}")
    return folder / "tests/oracle" / TARGET


def commands(program: Path, seeds: int, first: int, jobs: int, options: list[str]) -> list[list[str]]:
    """Returns a command for each process; together they run each seed once."""
    shares = [len(range(job, seeds, jobs)) for job in range(jobs)]
    return [
        [str(program), "--first", str(first + job), "--count", str(share), "--every", str(jobs),
         "--go-on", *options]
        for job, share in enumerate(shares) if share
    ]  # fmt: skip


def _follow(job: subprocess.Popen[str], share: Share) -> None:
    for line in job.stdout:
        share.hear(line)


def _line(shares: list[Share], seeds: int, seconds: float) -> str:
    done, failed = sum(share.done for share in shares), sum(share.failed for share in shares)
    speed = done / max(seconds, 0.001)
    left = (seeds - done) / max(speed, 0.001)
    return f"{done} of {seeds} programs, {failed} failed, {speed:.0f}/s, about {left:.0f} s left"


def run(seeds: int, first: int, jobs: int | None, options: list[str]) -> bool:
    """Runs the programs of all seeds; returns whether none failed. Counts the failures of each kind and
    prints the first one."""
    console = Console(highlight=False)
    program = build_program()
    processes = min(seeds, jobs or len(os.sched_getaffinity(0)))
    started = time.monotonic()
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for command in commands(program, seeds, first, processes, options)
    ]
    shares = [Share() for _ in running]
    readers = [threading.Thread(target=_follow, args=pair) for pair in zip(running, shares, strict=True)]
    for reader in readers:
        reader.start()
    told = started
    while any(reader.is_alive() for reader in readers):
        time.sleep(0.2)
        if time.monotonic() - told >= QUIET_SECONDS:
            told = time.monotonic()
            console.print(_line(shares, seeds, told - started), markup=False, soft_wrap=True)
    codes = [job.wait() for job in running]
    if any(code not in (0, 1) for code in codes):
        raise SoakError(
            f"{TARGET} crashed (exit codes {codes}); run it by hand from the last seed that it printed"
        )
    _report(console, shares, time.monotonic() - started)
    return not any(share.failed for share in shares)


def _report(console: Console, shares: list[Share], seconds: float) -> None:
    shown: set[str] = set()
    for share in shares:
        if share.text and not set(share.kinds) <= shown:
            console.print("\n".join(share.text), markup=False, soft_wrap=True)
        shown |= set(share.kinds)
    total = sum((share.kinds for share in shares), Counter())
    for kind, count in total.most_common():
        first = min(share.firsts[kind] for share in shares if kind in share.firsts)
        console.print(f"{kind}: {count}, first with seed {first}", markup=False)
    done = sum(share.done for share in shares)
    failed = sum(share.failed for share in shares)
    console.print(f"{done} programs in {seconds:.0f} s ({done / seconds:.0f}/s), {failed} failed")


def add_options(parser: Parser) -> None:
    """Adds the options of `soak`; docs/internals/oracle.md describes them."""
    add = parser.add_argument
    add(
        "--seeds", type=within(1), default=10_000, help="Number of random programs; %(default)s if not given."
    )
    add("--first", type=within(0), default=1, help="Seed of the first program; %(default)s if not given.")
    add("--jobs", type=within(1), help="Number of processes; one per core if not given.")
    add("--method", metavar="METHOD", help="Method of every file; all methods if not given.")
    add("--ranks", type=within(1, 6), help="Ranks of every program; two to six if not given.")
    add("--client", help="Simulate clients of this kind of file system, such as ocfs2.")
    add("--locks", help="The hint oratorio_locks of every file: file or job.")
    for name, text in SWITCHES.items():
        add(f"--{name}", action="store_true", help=text)
    parser.set_defaults(does=_soak)


def _soak(options: argparse.Namespace) -> int:
    given = vars(options)
    words = [f"--{name}" for name in SWITCHES if given[name.replace("-", "_")]]
    for name in ("method", "ranks", "client", "locks"):
        words += [f"--{name}", str(given[name])] if given[name] else []
    return 0 if run(options.seeds, options.first, options.jobs, words) else 1
