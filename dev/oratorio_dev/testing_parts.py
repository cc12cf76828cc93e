# SPDX-License-Identifier: BSD-3-Clause
"""The parts of `oratorio test`: which tests each part runs, and how many tests it has at least.

The short command runs SHORT, `--all` runs all parts but those ON_REQUEST, `--only PART` runs single ones.
"""

import os
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from oratorio.paths import BUILD, ROOT

# Time limit of one test under pytest, including what it builds or starts first; ctest has a limit for each of
# its tests.
HANG_SECONDS = 900
CORES = os.cpu_count() or 1
# The number of files of tests/programs that run at the same time. It is small, because each test may start
# several ranks.
FILES_AT_ONCE = min(4, CORES)
# Options of pytest-xdist. A process of pytest that a hanging test ended is not restarted, because a new
# process would only run the same test again.
DIVIDED = ("--dist", "loadfile", "--max-worker-restart=0")

# The folder of the build with ThreadSanitizer. Its target thread_tests builds those tests that the part
# `thread` runs.
THREAD = ROOT / "build-thread"
WHERE_THREADS_MEET = (
    r"^unit\.[a-z_]+\.(Doorbell|Reserve|ServedCounter|PendingPeers|Threaded|AgentServer)\."
    r"|^sim\.(methods/)?AtOnce"
)
NOT_BUILT = "_NOT_BUILT$"  # the end of the name that ctest gives to the tests of a program that isn't built
NOT_MADE_FOR_IT = rf"{NOT_BUILT}|^mpi\."

# Files of tests that start virtual machines and network namespaces, which wait most of the time.
MACHINES = [f"tests/programs/test_{name}.py" for name in ("failing_disk", "clients", "several_nodes")]
# This file of tests makes the whole site with Sphinx, which is not installed for the short command.
SITE = "tests/tools/test_site.py"


@dataclass(frozen=True)
class Part:
    """A part of the test command."""

    # Returns the command, given a JUnit file and a pattern of tests' names. None for lint, which runs in this
    # process.
    command: Callable[[Path, str | None], list[str]] | None
    # A run of the whole part counts as failed if it has fewer tests than this.
    fewest: int = 1


def _ctest(*selection: str, build: Path = BUILD, match: str | None = None, jobs: int = CORES) -> Callable:
    """Returns the command of a part that ctest runs. `match` selects its tests if the user gave no names."""

    def command(junit: Path, names: str | None) -> list[str]:
        chosen = ["-R", names or match] if names or match else []
        if names and "-E" not in selection:
            chosen += ["-E", NOT_BUILT]
        output = ["--output-on-failure", "--no-tests=ignore", "--output-junit", str(junit)]
        return ["ctest", "--test-dir", str(build), *selection, "-j", str(jobs), *chosen, *output]

    return command


def _pytest(*places: str, files_at_once: int = FILES_AT_ONCE) -> Callable:
    """Returns the command of a part that pytest runs; tests of one file run one after the other."""

    def command(junit: Path, names: str | None) -> list[str]:
        chosen = ["-k", names] if names else []
        quiet = ["-p", "no:cacheprovider", "--tb=short", "-v", "-rs"]
        # A test that hangs longer than HANG_SECONDS ends its pytest process, and the log shows where the test
        # was.
        limit = ["-o", f"faulthandler_timeout={HANG_SECONDS}", "-o", "faulthandler_exit_on_timeout=true"]
        beside = ["-n", str(files_at_once), *DIVIDED] if files_at_once > 1 else []
        words = [*quiet, *limit, *beside, *chosen, f"--junitxml={junit}", *places]
        return [sys.executable, "-m", "pytest", *words]

    return command


WITHOUT_MACHINES = ("tests/programs", *(f"--ignore={file}" for file in MACHINES))

PARTS: dict[str, Part] = {
    "lint": Part(None),
    "tools": Part(_pytest("tests/tools"), fewest=600),
    "unit": Part(_ctest("-LE", "mpi"), fewest=1900),
    "plain": Part(_ctest("-L", "plain"), fewest=60),
    "sanitize": Part(_ctest(build=ROOT / "build-sanitize"), fewest=1700),
    "thread": Part(_ctest("-E", NOT_MADE_FOR_IT, build=THREAD, match=WHERE_THREADS_MEET), fewest=60),
    "thread-all": Part(_ctest(build=THREAD), fewest=1600),
    # For ctest, a test under mpiexec takes as many processors as it has ranks. Cores are idle while ranks
    # start, so ctest gets twice as many jobs as there are cores.
    "mpi": Part(_ctest("-L", "mpi", jobs=2 * CORES), fewest=500),
    "programs": Part(_pytest(*WITHOUT_MACHINES), fewest=350),
    "machines": Part(_pytest(*MACHINES, files_at_once=1), fewest=40),
}

# The short command runs the tests that find most faults. Those under mpiexec are marked by SHORT in
# tests/mpi, Python tests of tests/programs by @pytest.mark.short.
SHORT: dict[str, Part] = {
    "lint": PARTS["lint"],
    "tools": Part(_pytest("tests/tools", f"--ignore={SITE}"), fewest=600),
    "unit": PARTS["unit"],
    "mpi": Part(_ctest("-L", "mpi", "-L", "short", jobs=2 * CORES), fewest=100),
    "programs": Part(_pytest(*WITHOUT_MACHINES, "-m", "short"), fewest=60),
}

# The part that runs at the same time as all others, because it leaves cores idle and shares nothing with
# them.
BESIDE = "machines"

# Parts that `--all` leaves out. `unit` has the tests of `sanitize` without sanitizers, and `plain` has a few
# of the same tests. `thread-all` takes minutes to build.
ON_REQUEST = frozenset({"thread-all", "unit"})


def parts_of(only: Collection[str] | None, everything: bool) -> dict[str, Part]:
    """Returns the parts that a command runs, in the order in which they run."""
    if only:
        return {name: part for name, part in PARTS.items() if name in only}
    if everything:
        return {name: part for name, part in PARTS.items() if name not in ON_REQUEST}
    return SHORT
