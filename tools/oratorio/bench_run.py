"""Builds the benchmark program for an MPI, and runs it."""

import concurrent.futures
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from oratorio import hosts
from oratorio.hosts import Host
from oratorio.launch import launcher_kind
from oratorio.paths import PRIVATE, ROOT

SOURCES = ROOT / "tools/bench"
COMPILE_OPTIONS = ("-O2", "-std=c++20")
POLL_SECONDS = 0.1
NOT_ORATORIO = ("raw", "host")  # arms whose names begin so need no Oratorio


class BenchError(Exception):
    """A benchmark can't be run; the text says why."""


@dataclass(frozen=True)
class Settings:
    """What all runs of one command have in common."""

    host: Host
    arms: tuple[str, ...]
    hints: tuple[tuple[str, str, str], ...]  # arm, key, value
    repeats: int
    folder: Path
    timeout_seconds: float
    overwrite: bool = False
    sync: bool = False
    library: Path | None = None  # Oratorio's, None: not preloaded


@dataclass
class Run:
    """One workload at one number of ranks, and what came of it."""

    label: str
    workload: str
    parameters: Mapping[str, object]
    ranks: int
    setup: dict = field(default_factory=dict)
    samples: list[dict] = field(default_factory=list)
    failure: str = ""  # why the program didn't reach its end


def is_oratorios(arm: str) -> bool:
    return not arm.startswith(NOT_ORATORIO)


def oratorio_library() -> Path | None:
    """ORATORIO_PRELOAD, or the library of this checkout's build; None if there is none yet."""
    library = Path(os.environ.get("ORATORIO_PRELOAD") or hosts.preload_library())
    return library.resolve() if library.is_file() else None


def _host_in(prefix: Path) -> Host:
    """The MPI that is installed in a folder."""
    mpicc, mpicxx, mpiexec = (prefix / "bin" / tool for tool in ("mpicc", "mpicxx", "mpiexec"))
    if not (mpicxx.is_file() and mpiexec.is_file()):
        raise BenchError(f"no bin/mpicxx and bin/mpiexec in {prefix}")
    launcher = launcher_kind(str(mpiexec))
    hydra = launcher == "hydra"
    env = hosts.MPICH_OVERSUBSCRIBED if hydra else {}
    flavour = "mpich" if hydra else "ompi"
    return Host(prefix.name, flavour, mpicc, mpicxx, mpiexec, "", launcher, env=env)


def find_mpi(name: str) -> Host:
    """By a host's name (`mpich5`), the beginning of one (`mpich`), or the folder it is in."""
    if "/" in name:
        return _host_in(Path(name).resolve())
    found = [host for host in hosts.find_hosts() if host.name.startswith(name)]
    if not found:
        there = ", ".join(host.name for host in hosts.find_hosts()) or "none"
        raise BenchError(f"no MPI named {name} here; there are: {there}")
    return found[0]


def build(host: Host) -> Path:
    """The benchmark program for this MPI, built when a source is newer or the MPI another."""
    sources = sorted(SOURCES.glob("*.cpp"))
    stamps = [(file.name, file.stat().st_mtime_ns) for file in sorted(SOURCES.glob("*.[ch]pp"))]
    key = hashlib.sha256(repr((host.mpicxx, stamps, COMPILE_OPTIONS)).encode()).hexdigest()[:16]
    program = PRIVATE / "bench" / f"bench-{host.name}-{key}"
    if program.exists():
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    for old in program.parent.glob(f"bench-{host.name}-*"):
        old.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as folder:
        made = Path(folder) / "bench"
        command = [host.mpicxx, *COMPILE_OPTIONS, *sources, "-o", made, "-ldl"]
        told = subprocess.run(command, capture_output=True, text=True, check=False)
        if told.returncode != 0:
            raise BenchError(f"{host.mpicxx} can't build the benchmark:\n{told.stderr[-2000:]}")
        made.rename(program)
    return program


def _arguments(run: Run, settings: Settings, folder: Path, out: Path) -> list[str]:
    words = ["--workload", run.workload, "--repeats", str(settings.repeats)]
    words += ["--dir", str(folder), "--out", str(out)]
    for key, value in run.parameters.items():
        words += ["--param", f"{key}={value}"]
    for arm in settings.arms:
        words += ["--arm", arm]
    for arm, key, value in settings.hints:
        words += ["--hint", f"{arm}:{key}={value}"]
    words += ["--overwrite"] if settings.overwrite else []
    words += ["--sync"] if settings.sync else []
    return words


def _take_lines(run: Run, out: Path) -> int:
    """Takes over what the program has reported so far; returns how many samples that is."""
    text = out.read_text() if out.exists() else ""
    records = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
    for record in records[:1]:
        run.setup = record
    run.samples = records[1:]
    return len(run.samples)


def _check_served(run: Run, settings: Settings) -> None:
    """Figures of an Oratorio that wasn't there would be the host's."""
    used = Path(run.setup.get("io_library", "")).name
    expected = any(is_oratorios(arm) for arm in settings.arms)
    if expected and run.setup and "oratorio" not in used:
        run.failure = f"MPI_File_open is in {used}: Oratorio was not in the ranks"


def measure(run: Run, settings: Settings, progress: Callable[[int], None]) -> None:
    """Runs the program; `progress` is called with the number of samples as they come.

    Every failure is noted in `run`, with the samples there were before it.
    """
    program = build(settings.host)
    folder = Path(tempfile.mkdtemp(prefix="oratorio-bench-", dir=settings.folder))
    out = folder / "samples.json"
    env = {"LD_PRELOAD": str(settings.library)} if settings.library else {}
    try:
        with concurrent.futures.ThreadPoolExecutor(max_workers=1) as pool:
            job = pool.submit(
                hosts.run_ranks,
                settings.host,
                run.ranks,
                [program, *_arguments(run, settings, folder, out)],
                env=env,
                timeout_seconds=settings.timeout_seconds,
            )
            while concurrent.futures.wait([job], timeout=POLL_SECONDS).not_done:
                progress(_take_lines(run, out))
            progress(_take_lines(run, out))
            done = job.result()
        _check_served(run, settings)
        if done.returncode != 0:
            last = (done.stderr.strip() or done.stdout.strip() or "it said nothing")[-600:]
            run.failure = f"exit code {done.returncode}: {last}"
    except subprocess.TimeoutExpired:
        run.failure = f"not ended after {settings.timeout_seconds:.0f} s"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
