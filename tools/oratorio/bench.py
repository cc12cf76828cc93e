"""`oratorio bench`: a workload on the host MPI's own MPI-IO, on Oratorio's methods and on raw POSIX
I/O, interleaved in one run, every byte checked."""

import inspect
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from oratorio import bench_plot, bench_report
from oratorio.bench_e3sm import MapError, write_runs
from oratorio.bench_run import (
    BenchError,
    Run,
    Settings,
    build,
    find_mpi,
    is_oratorios,
    measure,
    oratorio_library,
)
from oratorio.bench_workloads import SUITE, WORKLOADS, Workload

app = typer.Typer(no_args_is_help=True, help="Measure workloads; every byte is checked.")
stdout = Console(width=None if sys.stdout.isatty() else 160)
stderr = Console(stderr=True, highlight=False)


@dataclass(frozen=True)
class Common:
    """The options all measuring commands have."""

    ranks: tuple[int, ...]
    smoke: bool
    json: Path | None
    plot: Path | None
    settings: Settings


def _arms(text: str | None, library: Path | None) -> tuple[str, ...]:
    if text is None:
        return ("host", "auto", "raw") if library else ("host", "raw")
    arms = tuple(arm for arm in text.split(",") if arm)
    if len(set(arms)) < len(arms) or not arms:
        raise BenchError(f"--arms wants each arm once: {text}")
    missing = [arm for arm in arms if is_oratorios(arm)]
    if missing and not library:
        raise BenchError(f"no Oratorio library is built, so there is no arm {', '.join(missing)}")
    return arms


def _hints(texts: Sequence[str], arms: Sequence[str]) -> tuple[tuple[str, str, str], ...]:
    """(arm, key, value) of each hint; host_tuned without any gets what suits ROMIO on one node."""
    hints = []
    for text in texts:
        left, equals, value = text.partition("=")
        arm, colon, key = left.rpartition(":")
        if not (key and equals):
            raise BenchError(f"a hint is [ARM:]key=value, not {text}")
        hints.append((arm if colon else "host_tuned", key, value))
    strangers = {arm for arm, _, _ in hints} - set(arms)
    if strangers:
        raise BenchError(f"a hint for an arm that is not run: {', '.join(sorted(strangers))}")
    if "host_tuned" in arms and not any(arm == "host_tuned" for arm, _, _ in hints):
        cores = len(os.sched_getaffinity(0))
        tuned = {"romio_cb_write": "enable", "romio_cb_read": "enable"}
        tuned |= {"cb_config_list": f"*:{cores}", "cb_nodes": str(cores)}
        hints += [("host_tuned", key, value) for key, value in tuned.items()]
    return tuple(hints)


def _common(
    *,
    ranks: Annotated[str, typer.Option(help="Numbers of ranks, e.g. 4,8.")] = "4,8",
    arms: Annotated[
        str | None,
        typer.Option(
            help="What to compare: host, host_tuned (with --hint), raw, or methods of Oratorio "
            "such as auto. [default: host,auto,raw]"
        ),
    ] = None,
    hint: Annotated[
        list[str] | None, typer.Option(metavar="[ARM:]KEY=VALUE", help="An info key; for host_tuned.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Measured passes; one more comes before.")] = 5,
    mpi: Annotated[
        str, typer.Option(help="mpich, openmpi, a name of `oratorio env`, or a folder.")
    ] = "mpich",
    dir: Annotated[Path, typer.Option(help="Where the test files go.")] = Path("/dev/shm"),
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Write over an existing file, not a new one each time.")
    ] = False,
    sync: Annotated[bool, typer.Option("--sync", help="Count bringing written data to storage.")] = False,
    smoke: Annotated[bool, typer.Option("--smoke", help="Tiny and once: does it work?")] = False,
    json: Annotated[Path | None, typer.Option(help="Write everything measured to this file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw a chart into this PNG file.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds one run may take.")] = 600,
) -> Common:
    try:
        counts = tuple(int(count) for count in ranks.split(","))
    except ValueError:
        raise BenchError(f"--ranks wants numbers: {ranks}") from None
    if not dir.is_dir():
        raise BenchError(f"no folder {dir}")
    library = oratorio_library()
    arm_names = _arms(arms, library)
    settings = Settings(
        host=find_mpi(mpi),
        arms=arm_names,
        hints=_hints(hint or [], arm_names),
        repeats=1 if smoke else repeats,
        folder=dir.resolve(),
        timeout_seconds=timeout,
        overwrite=overwrite,
        sync=sync,
        library=library,
    )
    return Common(counts, smoke, json, plot, settings)


COMMON = dict(inspect.signature(_common).parameters)


def _measure_all(runs: Sequence[Run], common: Common) -> None:
    """Runs them one after another with a progress bar; a failure doesn't keep the next from running."""
    settings = common.settings
    passes = (settings.repeats + 1) * len(settings.arms) * len(bench_report.DIRECTIONS)
    bars = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*bars, console=stderr) as progress:
        build_task = progress.add_task(f"build for {settings.host.name}", total=1)
        build(settings.host)
        progress.update(build_task, completed=1)
        for run in runs:
            task = progress.add_task(f"{run.label}, {run.ranks} ranks", total=passes)
            measure(run, settings, lambda done, task=task: progress.update(task, completed=done))


def _finish(runs: Sequence[Run], common: Common) -> None:
    """Problems, files and exit code."""
    arms = common.settings.arms
    if common.settings.library is None:
        stderr.print("no Oratorio library is built: only the host MPI and raw I/O were measured")
    for run in runs:
        for line in bench_report.problems(run, arms):
            stderr.print(line, markup=False, soft_wrap=True)
    if common.json:
        bench_report.write_json(common.json, runs, common.settings)
    if common.plot:
        bench_plot.draw(common.plot, runs, common.settings)
    if not all(run.setup and bench_report.all_well(run, arms) for run in runs):
        raise typer.Exit(1)


def _add_command(
    name: str,
    text: str,
    own: Sequence[inspect.Parameter],
    body: Callable[[Common, dict[str, Any]], None],
    ranks: str = "4,8",
) -> None:
    """A command with the common options and its own."""
    common = COMMON | {"ranks": COMMON["ranks"].replace(default=ranks)}
    parameters = [*own, *common.values()]

    def command(**given: Any) -> None:
        try:
            body(_common(**{key: given.pop(key) for key in COMMON}), given)
        except (BenchError, MapError) as error:
            stderr.print(f"oratorio: {error}", markup=False, soft_wrap=True)
            raise typer.Exit(2) from None

    command.__signature__ = inspect.Signature(parameters)
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    app.command(name, help=text)(command)


def _option(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _own_options(workload: Workload) -> list[inspect.Parameter]:
    return [
        _option(
            p.name,
            Annotated[int | None, typer.Option(min=1, help=f"{p.help} \\[default: {p.default}]")],
            None,
        )
        for p in workload.parameters
    ]


def _show(runs: Sequence[Run], common: Common) -> None:
    """A table for each run, and the end of the command."""
    for run in runs:
        if run.setup:
            stdout.print(bench_report.run_table(run, common.settings.arms))
    _finish(runs, common)


def _add_workload(workload: Workload) -> None:
    def body(common: Common, given: dict[str, Any]) -> None:
        values = workload.values(given, common.smoke)
        runs = [Run(workload.name, workload.name, values, ranks) for ranks in common.ranks]
        _measure_all(runs, common)
        _show(runs, common)

    _add_command(workload.name, workload.help, _own_options(workload), body)


def _e3sm_runs(maps: Sequence[Path], ranks: Sequence[int], variables: int, folder: Path) -> list[Run]:
    """The runs of each map; their run files are written into `folder`."""
    runs = []
    for index, map_file in enumerate(maps):
        run_file = folder / f"{index}.runs"
        case = write_runs(map_file, run_file, variables)
        parameters = {"runs": run_file}
        runs += [Run(f"e3sm {case.name}", "e3sm", parameters, count) for count in ranks]
    return runs


def _name_maps(runs: Sequence[Run], maps: Sequence[Path], variables: int) -> None:
    """In the record the map stands for the run file made of it."""
    for run in runs:
        if run.workload == "e3sm":
            index = int(run.parameters["runs"].stem)
            run.parameters = {"map": maps[index].name, "variables": variables}


Maps = Annotated[list[Path], typer.Option(help="A decomposition map (netCDF) of E3SM; repeatable.")]


def _e3sm(common: Common, given: dict[str, Any]) -> None:
    maps = given.pop("map")
    variables = WORKLOADS["e3sm"].values(given, common.smoke)["variables"]
    with tempfile.TemporaryDirectory() as folder:
        runs = _e3sm_runs(maps, common.ranks, variables, Path(folder))
        _measure_all(runs, common)
    _name_maps(runs, maps, variables)
    _show(runs, common)


def _suite(common: Common, given: dict[str, Any]) -> None:
    maps = given["map"] or []
    variables = WORKLOADS["e3sm"].values({}, common.smoke)["variables"]
    runs = [
        Run(
            figure.label, figure.workload,
            WORKLOADS[figure.workload].values({} if common.smoke else figure.given, common.smoke), ranks,
        )
        for figure in SUITE for ranks in common.ranks
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        runs += _e3sm_runs(maps, (16,), variables, Path(folder))
        _measure_all(runs, common)
    _name_maps(runs, maps, variables)
    stdout.print(bench_report.suite_table(runs, common.settings.arms))
    _finish(runs, common)


@app.command("list")
def list_workloads() -> None:
    """The workloads and their parameters."""
    table = Table("workload", "what it is", "parameters")
    for workload in WORKLOADS.values():
        defaults = ", ".join(f"{p.name}={p.default}" for p in workload.parameters)
        table.add_row(workload.name, workload.help, defaults)
    stdout.print(table)


for known in WORKLOADS.values():
    if known.name != "e3sm":
        _add_workload(known)
_add_command(
    "e3sm",
    WORKLOADS["e3sm"].help,
    [_option("map", Maps), *_own_options(WORKLOADS["e3sm"])],
    _e3sm,
    ranks=WORKLOADS["e3sm"].ranks,
)
_add_command(
    "suite",
    "All workloads of the figures; E3SM too if maps are given.",
    [_option("map", Maps | None, None)],
    _suite,
)
