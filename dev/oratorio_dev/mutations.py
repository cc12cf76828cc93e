# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio mutations`: tests whether the oracle, or the short test command, notices deliberate faults in the
library.

A copy of the sources is built with one mutation of tests/oracle/mutations.toml after the other. The oracle
kills a mutation if the first seed that fails with the mutation passes without it. Seeds count from 1, so the
seed's number says how many programs it took to notice the fault. With --short, a mutation is killed if a test
of the short command fails; only those that need no MPI are run, and all of them must pass without a mutation.
"""

import re
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from oratorio.command_line import Parser, within
from oratorio.errors import OratorioError
from oratorio.paths import OUT, ROOT
from oratorio.quantity import counted
from oratorio_dev.soak import TARGET
from oratorio_dev.testing_parts import CORES

LIST = ROOT / "tests/oracle/mutations.toml"
WORK = OUT / "mutations"
COPIED = (
    "CMakeLists.txt",
    "cmake",
    "src",
    "tests",
    "lab",
    "cli",
    "dev/generate",
    "docs/internals/adding-a-method.md",
    "docs/user/hints.md",
)
SECONDS = 600  # time limit of one run of the oracle
SHORT = "short_tests"  # builds the tests of --short; tests/CMakeLists.txt
FAILED = re.compile(r"^\s*\d+ - (\S+) \(", re.MULTILINE)  # a row of ctest's list of tests that failed


class MutationError(OratorioError):
    """Raised if the sources cannot be built, or their tests fail, even without a mutation."""


@dataclass(frozen=True)
class Mutation:
    """One deliberate fault; the head of tests/oracle/mutations.toml describes the fields."""

    name: str
    file: str
    old: str
    new: str
    options: tuple[str, ...] = ()
    found: str = ""

    def apply(self, text: str) -> str | None:
        """Returns the mutated text of the file; None unless the old text occurs exactly once."""
        return text.replace(self.old, self.new) if text.count(self.old) == 1 else None


@dataclass
class Found:
    """The outcome of building and running the oracle or the tests with a mutation."""

    mutation: Mutation
    outcome: str  # killed, survived, doesn't apply, doesn't build, crashed, fails without it
    seed: int | None = None
    kind: str = ""  # how the seed failed or the oracle ended, or the test that failed


@dataclass
class Bench:
    """The copy of the sources that is built for each mutation."""

    seeds: int
    short: bool = False  # run the tests of the short command in place of the oracle

    def prepare(self) -> None:
        """Copies the sources and configures the build. Files that do not differ are left alone, so they are
        not compiled again."""
        sources = WORK / "sources"
        files = {
            file for name in COPIED for file in [ROOT / name, *(ROOT / name).rglob("*")] if file.is_file()
        }
        for stale in sources.rglob("*"):
            if stale.is_file() and ROOT / stale.relative_to(sources) not in files:
                stale.unlink()
        for file in sorted(files):
            target = sources / file.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists() or target.read_bytes() != file.read_bytes():
                target.write_bytes(file.read_bytes())
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        command = ["cmake", "-S", WORK / "sources", "-B", WORK / "build", "-G", "Ninja", "-DORATORIO_MPI=OFF"]
        subprocess.run([*command, *launcher], check=True, stdout=subprocess.DEVNULL)
        if not self.build():
            raise MutationError(
                f"the sources don't build without a mutation: ninja -C {WORK}/build {self.target()}"
            )
        if not self.short:
            shutil.copy(WORK / "build/tests/oracle" / TARGET, WORK / "unharmed")
        elif failed := self.failed_test():
            raise MutationError(
                f"{failed} fails without a mutation: ctest --test-dir {WORK}/build -R {failed}"
            )

    def target(self) -> str:
        """Returns the target of the build that has the programs to run."""
        return SHORT if self.short else TARGET

    def build(self) -> bool:
        """Builds the copy; returns whether that succeeded."""
        command = ["ninja", "-C", WORK / "build", self.target()]
        return subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 0

    def failed_test(self) -> str:
        """Runs the tests until one fails. Returns its name, or how ctest ended if no test is named; empty if
        all pass."""
        command = ["ctest", "--test-dir", WORK / "build", "-j", str(CORES), "--stop-on-failure"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode == 0:
            return ""
        found = FAILED.search(done.stdout.partition("The following tests FAILED:")[2])
        return found[1] if found else f"ctest ended with {done.returncode}"

    def failure(self, program: Path, options: tuple[str, ...], seeds: range) -> tuple[int | None, str]:
        """Returns the first seed that fails and the kind of failure. If no seed is reported as failed,
        returns None and how the program ended, empty for exit code 0."""
        command = [program, "--first", str(seeds.start), "--count", str(len(seeds)), "--no-shrink", "--list"]
        try:
            done = subprocess.run(
                [*command, *options],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None, f"still running after {SECONDS} s"
        for line in done.stdout.splitlines():
            if line.startswith("failed "):
                return int(line.split()[1]), line.split()[2]
        return None, "" if done.returncode == 0 else f"ended with {done.returncode}"

    def find(self, mutation: Mutation) -> Found:
        """Builds with the mutation and looks for a seed or a test that fails."""
        file = WORK / "sources/src" / mutation.file
        text = file.read_text() if file.exists() else ""
        mutated = mutation.apply(text)
        if mutated is None:
            return Found(mutation, "doesn't apply")
        try:
            file.write_text(mutated)
            if not self.build():
                return Found(mutation, "doesn't build")
            if self.short:
                test = self.failed_test()
                return Found(mutation, "killed" if test else "survived", kind=test)
            program = WORK / "build/tests/oracle" / TARGET
            seed, kind = self.failure(program, mutation.options, range(1, self.seeds + 1))
        finally:
            file.write_text(text)
        if seed is None:
            return Found(mutation, "crashed" if kind else "survived", kind=kind)
        unharmed, _ = self.failure(WORK / "unharmed", mutation.options, range(seed, seed + 1))
        return Found(mutation, "killed" if unharmed is None else "fails without it", seed, kind)


def read_list(file: Path = LIST) -> list[Mutation]:
    """Returns the mutations in the list's order."""
    rows = tomllib.loads(file.read_text())["mutation"]
    return [Mutation(**{**row, "options": tuple(row.get("options", ()))}) for row in rows]


def row(found: Found) -> str:
    """Returns a line of the table that run() prints."""
    mutation = found.mutation
    by = f"{found.outcome} {found.kind}".strip()
    if found.outcome == "killed":
        by = f"`{found.kind}`" if found.seed is None else f"seed {found.seed}, {found.kind}"
    return (
        f"| {mutation.name} | `{mutation.file}` | `{' '.join(mutation.options)}` | {by} | {mutation.found} |"
    )


def run(bench: Bench, match: str | None) -> bool:
    """Prints the table; returns whether every mutation tried was killed or made the program crash. Tries only
    those with `match` in their name, if it is given."""
    console = Console(highlight=False)
    bench.prepare()
    console.print(
        "| what is wrong | in `src/` | options | found by | before |\n|---|---|---|---|---|", markup=False
    )
    tried = [mutation for mutation in read_list() if not match or match in mutation.name]
    killed = 0
    for mutation in tried:
        found = bench.find(mutation)
        killed += found.outcome in ("killed", "crashed")
        console.print(row(found), markup=False, soft_wrap=True)
    console.print(f"{killed} of {counted(len(tried), 'mutation')} found")
    return killed == len(tried)


def add_options(parser: Parser) -> None:
    """Adds the options of `mutations`."""
    parser.add_argument(
        "--seeds", type=within(1), default=5000,
        help="Number of random programs to try each mutation with; %(default)s if not given.",
    )  # fmt: skip
    parser.add_argument(
        "-k", dest="match", metavar="TEXT", help="Try only mutations with this text in their name."
    )
    parser.add_argument(
        "--short", action="store_true",
        help="Run the short test command's tests that need no MPI in place of random programs.",
    )  # fmt: skip
    parser.set_defaults(does=lambda given: 0 if run(Bench(given.seeds, given.short), given.match) else 1)
