# SPDX-License-Identifier: BSD-3-Clause
"""Builds the benchmark program for an MPI, and runs it."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from oratorio.launch import hosts
from oratorio.launch.hosts import Host
from oratorio.paths import ROOT
from oratorio.quantity import counted
from oratorio_lab import targets
from oratorio_lab.bench import e3sm
from oratorio_lab.bench.arms import arm_hints, is_oratorios, method_of
from oratorio_lab.bench.workloads import WORKLOADS

SOURCES = ROOT / "lab/bench"
COMPILE_OPTIONS = ("-O2", "-std=c++20")
SECONDS_A_PASS = 30  # a run that takes longer on average counts as hung
LEAST_TIMEOUT = 300
DIRECTIONS = ("write", "read")
Progress = Callable[[int, str], None]  # number of samples so far, description of the current pass


@dataclass(frozen=True)
class Settings:
    """The settings with which a run is measured. Most commands use the same ones for all runs."""

    host: Host
    arms: tuple[str, ...]
    hints: tuple[tuple[str, str, str], ...]  # arm, key, value
    repeats: int
    folder: Path
    timeout_seconds: float
    overwrite: bool = False
    sync: bool = False
    direct: bool = False
    cold: bool = False
    malloc: bool = False  # the user's memory is where malloc puts it, not at the start of a page
    library: Path | None = None  # Oratorio's library; None: not preloaded
    directions: tuple[str, ...] = DIRECTIONS
    profile: bool = False  # record Oratorio's counts and times of each pass
    predict: bool = False  # record the time that Oratorio's cost model predicts for each pass
    nodes: int = 1
    link: str = ""  # netem's arguments for the traffic of each node (oratorio_lab.nodes)
    # overrides the number of ranks that Oratorio assumes on each node; 0: the real number
    ranks_of_node: int = 0
    rate: str = ""  # bandwidth of the storage (oratorio_lab.bench.paced)
    store: Path | None = None  # folder of the test files; None: `folder`
    env: Mapping[str, str] = field(default_factory=dict)  # further variables of the ranks
    ahead: Mapping[str, int] = field(
        default_factory=dict
    )  # arm -> unmeasured passes before those of all arms

    @property
    def accounts(self) -> bool:
        """True if the library reports on each pass."""
        return self.profile or self.predict

    @property
    def passes(self) -> int:
        """The number of passes of one run, the unmeasured ones included."""
        return ((self.repeats + 1) * len(self.arms) + sum(self.ahead.values())) * len(self.directions)

    @property
    def reference(self) -> str:
        """The arm with which others are compared: its bandwidth counts as 100 %."""
        return "raw_direct" if self.direct else "raw"


@dataclass
class Run:
    """A workload with given parameters on a number of ranks, and its results."""

    label: str
    workload: str
    parameters: Mapping[str, object]
    ranks: int
    map_file: Path | None = None  # a real decomposition of E3SM
    setup: dict = field(default_factory=dict)
    samples: list[dict] = field(default_factory=list)
    failure: str = ""  # why the program failed; empty if it did not
    # direction -> MiB/s of the storage, if it is limited
    store_mib_per_s: dict[str, float] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return f"{self.label}, {counted(self.ranks, 'rank')}"

    def passes(self, arm: str, direction: str) -> list[dict]:
        """Returns all passes, the first one and failed ones included."""
        return [s for s in self.samples if s["arm"] == arm and s["direction"] == direction]

    def measured(self, arm: str, direction: str) -> list[dict]:
        """Returns the successful passes without the unmeasured ones at the beginning."""
        return [s for s in self.passes(arm, direction) if s["repeat"] >= 0 and s["verified"]]


def oratorio_library() -> Path | None:
    """Returns the library that ORATORIO_PRELOAD names, or else that of this checkout's build; None if the
    file does not exist."""
    library = Path(os.environ.get("ORATORIO_PRELOAD") or hosts.preload_library())
    return library.resolve() if library.is_file() else None


def timeout_of(given: float | None, passes: int) -> float:
    """Returns the seconds after which a run of this many passes is ended, unless the user set a limit."""
    return given or max(LEAST_TIMEOUT, SECONDS_A_PASS * passes)


def build(host: Host, announce: Callable[[str], None] = lambda _: None) -> Path:
    """Returns the benchmark program for this MPI. Announces and builds it if a source, a header or
    the command has changed. Raises TargetError."""
    return targets.compile_program(
        host.mpicxx, sorted(SOURCES.glob("*.cpp")), f"bench-{host.name}", *COMPILE_OPTIONS, "-ldl",
        announce=lambda: announce(f"building the benchmark for {host.name}"),
    )  # fmt: skip


def _program_parameters(run: Run, folder: Path) -> Mapping[str, object]:
    """Returns the parameters of the program. For E3SM, writes a file with the pieces of all ranks, which is
    the only parameter."""
    case = WORKLOADS[run.workload].case if run.workload in WORKLOADS else ""
    if not case:
        return run.parameters
    run_file = folder / "pieces.runs"
    if run.map_file:
        e3sm.write_real(run.map_file, run_file, run.parameters["variables"])
    else:
        e3sm.write_made_up(e3sm.CASES[case], run.parameters, run.ranks, run_file)
    return {"runs": run_file}


def hints_of(run: Run, settings: Settings, arm: str) -> Mapping[str, str]:
    """Returns the info keys that an arm passes in this run."""
    return arm_hints(arm, run.workload, run.parameters, settings.hints, settings.direct)


def _arguments(run: Run, settings: Settings, folder: Path, out: Path) -> list[str]:
    words = ["--workload", run.workload, "--repeats", str(settings.repeats)]
    words += ["--dir", str(settings.store or folder), "--out", str(out)]
    for key, value in _program_parameters(run, folder).items():
        words += ["--param", f"{key}={value}"]
    for arm in settings.arms:
        words += ["--arm", arm]
        for key, value in hints_of(run, settings, arm).items():
            words += ["--hint", f"{arm}:{key}={value}"]
    for arm, passes in settings.ahead.items():
        words += ["--ahead", f"{arm}={passes}"]
    words += ["--only", settings.directions[0]] if len(settings.directions) == 1 else []
    flags = ("overwrite", "sync", "cold", "malloc")
    return words + [f"--{flag}" for flag in flags if getattr(settings, flag)]


def _account(rows: str) -> dict[str, float]:
    """Parses what the library reported at close: rows "name value unit", times in milliseconds."""
    words = rows.split()
    return {name: float(value) for name, value in zip(words[::3], words[1::3], strict=True)}


def _take_lines(run: Run, out: Path) -> tuple[int, str]:
    """Stores in `run` what the program has reported so far. Returns the number of samples and the current
    pass."""
    text = out.read_text() if out.exists() else ""
    records = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
    by_kind = {kind: [r for r in records if r["kind"] == kind] for kind in ("setup", "begin", "sample")}
    run.setup = (by_kind["setup"] or [{}])[0]
    run.samples = [sample | {"account": _account(sample["account"])} for sample in by_kind["sample"]]
    if not by_kind["begin"]:
        return 0, "warm-up"
    now = by_kind["begin"][-1]
    return len(run.samples), f"{now['arm']} {now['direction']}"


def _check_served(run: Run, settings: Settings) -> None:
    """Marks the run as failed if the ranks did not load Oratorio, and marks a sample as failed if another
    method served it, because the figures would mislead."""
    used = Path(run.setup.get("io_library", "")).name
    ours = [arm for arm in settings.arms if is_oratorios(arm)]
    if ours and run.setup and "oratorio" not in used:
        run.failure = f"MPI_File_open is in {used}: the ranks did not load Oratorio"
    for sample in run.samples:
        if sample["arm"] in ours and sample["served_as"] not in ("", method_of(sample["arm"])):
            sample |= {"verified": False, "error": "the library doesn't know this method"}


def _last_words(done: subprocess.CompletedProcess[str]) -> str:
    """Returns the program's own error message, or else the end of the job's output."""
    own = [line.partition("bench: ")[2] for line in done.stderr.splitlines() if "bench: " in line]
    return own[0] if own else (done.stderr.strip() or done.stdout.strip() or "no output")[-600:]


def measure(run: Run, settings: Settings, progress: Progress) -> None:
    """Runs the program, and calls `progress` from time to time until it ends.

    Records in `run` all samples and the failure, if there is one. Raises TargetError.
    """
    program = build(settings.host)
    folder = Path(tempfile.mkdtemp(prefix="oratorio-bench-", dir=settings.folder))
    out = folder / "samples.json"
    env = dict(settings.env)
    if settings.library:
        env["LD_PRELOAD"] = str(settings.library)
    if settings.ranks_of_node:
        env["ORATORIO_RANKS_PER_NODE"] = str(settings.ranks_of_node)
    if settings.accounts:
        env["ORATORIO_EXPLAIN"] = str(folder / "explain.txt")

    def tell_progress() -> None:
        samples, now = _take_lines(run, out)
        progress(samples, f"{run.title}: {now}")

    try:
        done = hosts.run_ranks(
            settings.host,
            run.ranks,
            [program, *_arguments(run, settings, folder, out)],
            env=env,
            timeout_seconds=settings.timeout_seconds,
            poll=tell_progress,
        )
        _, last_pass = _take_lines(run, out)
        _check_served(run, settings)
        if done.returncode != 0:
            run.failure = f"exit code {done.returncode} during {last_pass}: {_last_words(done)}"
    except subprocess.TimeoutExpired:
        run.failure = (
            f"still running after {settings.timeout_seconds:.0f} s, during {_take_lines(run, out)[1]}"
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
