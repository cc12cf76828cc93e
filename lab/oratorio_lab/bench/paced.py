# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio bench --rate`: puts test files on an in-memory file system that simulates storage of a given
bandwidth (lab/bench/paced)."""

import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median

from oratorio.paths import ROOT
from oratorio_lab import targets
from oratorio_lab.bench.arms import is_oratorios
from oratorio_lab.bench.run import DIRECTIONS, Run, Settings
from oratorio_lab.bench.workloads import BenchError

SOURCES = ROOT / "lab/bench/paced"
COMPILE_OPTIONS = ("-O2", "-std=c++20")
MIB = 1 << 20
EXCHANGE = "exchange"  # the bandwidth that two_phase reaches on the same file system without a limit
PROBE = "two_phase"
STORE = "oratorio_store"
Measure = Callable[[Run, Settings], None]


def check(rate: str, nodes: int) -> None:
    """Raises BenchError if `rate` is not empty, `exchange` or a positive number of MiB/s, or if a rate is
    combined with several nodes."""
    if rate and nodes > 1:
        raise BenchError("--rate works on one node only")
    try:
        good = rate in ("", EXCHANGE) or float(rate) > 0
    except ValueError:
        good = False
    if not good:
        raise BenchError(f"--rate must be a number of MiB/s, such as 500, or {EXCHANGE}, not {rate}")


def _program() -> Path:
    """Returns the program that serves the file system; rebuilds it when a source has changed. Raises
    TargetError."""
    return targets.compile_program("c++", SOURCES / "paced.cpp", "paced", *COMPILE_OPTIONS)


class Paced:
    """The file system, mounted while this context is entered. It needs root and /dev/fuse."""

    def __enter__(self) -> "Paced":
        """Mounts the file system. Raises BenchError."""
        self.folder = Path(tempfile.mkdtemp(prefix="oratorio-paced-"))
        pipe = subprocess.PIPE
        self._served = subprocess.Popen(
            [_program(), self.folder], stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )
        self._await()
        return self

    def __exit__(self, *error: object) -> None:
        self._served.communicate()  # closes the program's stdin, which ends the program

    def limit(self, rates: Mapping[str, float]) -> None:
        """Sets the bandwidth in MiB/s for `write` and `read`; a missing direction is as fast as memory."""
        words = [str(rates.get(direction, 0) * MIB) for direction in ("write", "read")]
        self._served.stdin.write(" ".join(words) + "\n")
        self._served.stdin.flush()
        self._await()

    def _await(self) -> None:
        if self._served.stdout.readline().strip() == "ready":
            return
        told = self._served.communicate()[1].strip()
        self.folder.rmdir()
        raise BenchError(f"--rate: {told}")


def _rates(run: Run) -> dict[str, float]:
    """Returns the MiB/s of the median pass of PROBE in each direction that was measured."""
    seconds = {
        direction: median(s["seconds"] for s in good)
        for direction in DIRECTIONS
        if (good := run.measured(PROBE, direction))
    }
    return {direction: run.setup["bytes"] / MIB / taken for direction, taken in seconds.items()}


def _by_calls(settings: Settings) -> Settings:
    """Adds oratorio_store=posix to each Oratorio arm without a hint for the store. Without it,
    Oratorio would assume that the caches of a FUSE file system are not coherent between clients."""
    told = {arm for arm, key, _ in settings.hints if key == STORE}
    more = tuple((arm, STORE, "posix") for arm in settings.arms if is_oratorios(arm) and arm not in told)
    return replace(settings, hints=(*settings.hints, *more))


def _exchange_rates(run: Run, settings: Settings, measure: Measure) -> dict[str, float]:
    probe = replace(run, samples=[], setup={})
    hints = tuple(hint for hint in settings.hints if hint[0] == PROBE)
    measure(probe, _by_calls(replace(settings, arms=(PROBE,), hints=hints, profile=False)))
    rates = _rates(probe)
    if set(rates) != set(settings.directions):
        raise BenchError(f"--rate {EXCHANGE}: {PROBE} failed: {probe.failure or 'wrong bytes'}")
    return rates


@contextmanager
def paced_for(rate: str) -> Iterator[Callable[[Run, Settings, Measure], None]]:
    """Yields a function that measures a run with its test files on storage of the given bandwidth, and
    records the bandwidth in the run. If `rate` is empty, the function only measures.

    Raises BenchError.
    """
    if not rate:
        yield lambda run, settings, measure: measure(run, settings)
        return
    with Paced() as paced:

        def measured(run: Run, settings: Settings, measure: Measure) -> None:
            there = replace(settings, store=paced.folder)
            paced.limit({})
            of_exchange = _exchange_rates(run, there, measure) if rate == EXCHANGE else {}
            run.store_mib_per_s = of_exchange or dict.fromkeys(settings.directions, float(rate))
            paced.limit(run.store_mib_per_s)
            measure(run, _by_calls(there))

        yield measured
