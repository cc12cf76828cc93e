# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio demo`: writes a parallel HDF5 checkpoint with the MPI's own MPI-IO and with Oratorio.

The same binary runs twice; only the second run has Oratorio preloaded. The files must be equal byte for
byte. Prints a table of times, and writes a report, Oratorio's plans and logs to out/demo/.
"""

import argparse
import filecmp
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from oratorio.command_line import Parser, add_method_and_hints, within
from oratorio.errors import OratorioError
from oratorio.launch import launch
from oratorio.launch.hosts import Host, find_host, limited_job, mpiexec_command, preload_library
from oratorio.paths import OUT, ROOT
from oratorio_lab import progress, targets
from oratorio_lab.demo import page

DEFAULT_HOST = "mpich5"
SOURCE = ROOT / "lab/demo/checkpoint.c"
FOLDER = OUT / "demo"
RANKS = 8
FIELDS = 6
LAYOUTS = ("contiguous", "chunked")
TIMEOUT_SECONDS = 600


class DemoError(OratorioError):
    """Raised if the demo cannot continue; the message says why."""


@dataclass(frozen=True)
class Geometry:
    """The amount of data that is written."""

    cells: int = 64  # edge of a rank's block
    steps: int = 3

    @property
    def bytes_per_field(self) -> int:
        return RANKS * self.cells**3 * 8

    @property
    def phases(self) -> int:
        """The number of phases in a run."""
        return len(LAYOUTS) * (self.steps * (FIELDS + 2) + 1)


@dataclass(frozen=True)
class Phase:
    """One timed part of a run, as the program printed it."""

    layout: str
    step: int
    name: str
    seconds: float
    bytes: int

    @property
    def kind(self) -> str:
        """What the phase does: open, write (a field), close or restart."""
        return self.name if self.name in ("open", "close", "restart") else "write"


def parse_phase(line: str) -> Phase | None:
    """Parses a line that checkpoint.c printed; returns None for anything else."""
    words = line.split()
    if len(words) != 6 or words[0] != "PHASE":
        return None
    _, layout, step, name, seconds, count = words
    return Phase(layout, int(step), name, float(seconds), int(count))


def hdf5_flags(host: Host) -> list[str]:
    """Returns the compiler's flags for Debian's HDF5 for this host's ABI. Newer MPIs of the same ABI also
    run programs built with these flags. Raises DemoError."""
    name = {"mpich": "mpich", "ompi": "openmpi"}.get(host.flavour)
    if name is None:
        raise DemoError(f"there is no parallel HDF5 for {host.name}; use mpich5, mpich4 or openmpi4")
    library = Path(f"/usr/lib/{os.uname().machine}-linux-gnu/hdf5/{name}")
    own = host.env.get("LD_LIBRARY_PATH")
    links = [f"-Wl,-rpath-link,{own}"] if own else []
    return [f"-I/usr/include/hdf5/{name}", f"-L{library}", "-lhdf5", *links]


def compile_program(host: Host) -> Path:
    """Compiles checkpoint.c for `host` and returns the program. Raises DemoError, TargetError."""
    return targets.compile_program(
        host.mpicc, SOURCE, f"checkpoint-{host.name}", "-O2", "-Wall", *hdf5_flags(host)
    )


def _phases(command: list[str], log: Path) -> Iterable[Phase]:
    """Runs the job and yields each phase as it ends. Raises DemoError if the job fails."""
    pipes = {"stdout": subprocess.PIPE, "text": True}
    with log.open("w") as errors, limited_job(command, TIMEOUT_SECONDS, stderr=errors, **pipes) as job:
        for line in job.stdout:
            phase = parse_phase(line)
            if phase:
                yield phase
    if job.returncode:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
        raise DemoError(f"the checkpoint program ended with code {job.returncode}:\n{tail}")


def _run_once(
    console: Console,
    host: Host,
    program: Path,
    geometry: Geometry,
    variables: Mapping[str, str] | None,
) -> list[Phase]:
    """Runs the program once; `variables` is None for the host's own MPI-IO."""
    name = "host" if variables is None else "oratorio"
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.sync()  # writes back the previous run's dirty pages, so that this run does not pay for them
    words = [str(program), str(folder), str(geometry.cells), str(geometry.steps)]
    command = mpiexec_command(host, RANKS, variables is not None, variables) + words
    title = f"{host.name}'s MPI-IO" if variables is None else "Oratorio"
    phases = []
    with progress.shown(console, title) as tell:
        for phase in _phases(command, FOLDER / f"{name}.log"):
            phases.append(phase)
            tell(len(phases) / geometry.phases, f"{phase.layout} {phase.step}: {phase.name}")
    if len(phases) != geometry.phases:
        raise DemoError(f"the program reported {len(phases)} phases instead of {geometry.phases}")
    console.print(f"{title}: {sum(phase.seconds for phase in phases):.2f} s")
    return phases


def compare_files(one: Path, other: Path) -> list[str]:
    """Returns the names of HDF5 files that differ or exist in only one of two folders."""
    names = {file.name for folder in (one, other) for file in folder.glob("*.h5")}
    _, unequal, missing = filecmp.cmpfiles(one, other, sorted(names), shallow=False)
    return unequal + missing


def rows_of(phases: list[Phase]) -> dict[tuple[str, str], tuple[float, int]]:
    """Returns (layout, row name) -> (seconds, bytes), summed over the steps. Each layout has a row for each
    phase's name, one for all fields together, and one for the total."""
    rows: dict[tuple[str, str], tuple[float, int]] = {}
    for layout in LAYOUTS:
        mine = [phase for phase in phases if phase.layout == layout]
        names = list(dict.fromkeys(phase.name for phase in mine))
        groups = {name: [phase for phase in mine if phase.name == name] for name in names}
        groups["all fields"] = [phase for phase in mine if phase.kind == "write"]
        groups["total"] = mine
        for name, group in groups.items():
            rows[layout, name] = (sum(p.seconds for p in group), sum(p.bytes for p in group))
    return rows


def _rate(seconds: float, count: int) -> str:
    return f"{count / seconds / 2**20:.0f}" if count and seconds else ""


def _print_table(console: Console, host: Host, runs: dict[str, list[Phase]]) -> None:
    table = Table(title="All steps together; the slowest rank's time", title_justify="left")
    table.add_column("phase", no_wrap=True)
    for name in (f"{host.name}\nseconds", "Oratorio\nseconds", f"{host.name}\nMiB/s", "Oratorio\nMiB/s"):
        table.add_column(name, justify="right")
    table.add_column("faster\nby", justify="right")
    theirs, ours = rows_of(runs["host"]), rows_of(runs["oratorio"])
    for layout, name in theirs:
        if name == "open":
            table.add_row(f"{layout} datasets", style="dim")
        before, count = theirs[layout, name]
        after, _ = ours[layout, name]
        count = count if name != "total" else 0
        is_sum = name in ("all fields", "total")
        table.add_row(
            "  " + name, f"{before:.3f}", f"{after:.3f}", _rate(before, count), _rate(after, count),
            f"{before / after:.2f} x" if after else "", style="bold" if is_sum else "",
            end_section=name == "total",
        )  # fmt: skip
    console.print(table)


def run(host_name: str, geometry: Geometry, variables: Mapping[str, str]) -> bool:
    """Runs the whole demo; returns whether the files of both runs are equal."""
    console = Console(highlight=False)
    host = find_host(host_name)
    if not preload_library().exists():
        raise DemoError(f"{preload_library()} has not been built")
    program = compile_program(host)
    mib = geometry.bytes_per_field / 2**20
    console.print(
        f"HDF5 checkpoint, {RANKS} ranks of {geometry.cells}^3 cells, {FIELDS} fields of {mib:.0f} MiB, "
        f"{geometry.steps} steps, contiguous and chunked, under {host.name} ({host.version})"
    )
    plans = FOLDER / "plans.txt"
    plans.unlink(missing_ok=True)
    variables = {**variables, "ORATORIO_EXPLAIN": str(plans)}
    runs = {
        "host": _run_once(console, host, program, geometry, None),
        "oratorio": _run_once(console, host, program, geometry, variables),
    }
    if not plans.exists():
        raise DemoError("Oratorio was preloaded, but received no call: it made no plan")
    unequal = compare_files(FOLDER / "host", FOLDER / "oratorio")
    _print_table(console, host, runs)
    count = len(LAYOUTS) * geometry.steps
    if unequal:
        console.print(f"[red]files differ:[/] {', '.join(unequal)} in {FOLDER}/host and {FOLDER}/oratorio")
    else:
        console.print(f"[green]all {count} files are equal byte for byte[/]")
        for name in runs:
            shutil.rmtree(FOLDER / name)
    file = page.write(FOLDER / "report.html", host, geometry, rows_of(runs["host"]),
                        rows_of(runs["oratorio"]), unequal)  # fmt: skip
    names = " and ".join(str(path.relative_to(ROOT)) for path in (file, plans))
    console.print(f"report and Oratorio's plans: {names}", soft_wrap=True)
    return not unequal


def add_options(parser: Parser) -> None:
    """Adds the options of `demo`."""
    parser.add_argument(
        "--mpi",
        default=DEFAULT_HOST,
        metavar="NAME",
        help="An MPI by its name in `oratorio info`; %(default)s if not given.",
    )
    parser.add_argument(
        "--cells",
        type=within(8),
        default=64,
        help="Edge of a rank's block, in cells; %(default)s if not given.",
    )
    parser.add_argument(
        "--steps", type=within(1), default=3, help="Checkpoints to write; %(default)s if not given."
    )
    add_method_and_hints(parser)
    parser.set_defaults(does=_demo)


def _demo(options: argparse.Namespace) -> int:
    variables = launch.oratorio_variables(options.method, options.hint, False, {})
    geometry = Geometry(cells=options.cells, steps=options.steps)
    return 0 if run(options.mpi, geometry, variables) else 1
