# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio bench`: runs a workload on the host MPI's own MPI-IO, on Oratorio's methods and on raw POSIX
I/O, interleaved in one run, and checks every byte."""

import inspect
import shlex
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from oratorio.launch.hosts import find_host
from oratorio_lab.bench import arms as bench_arms
from oratorio_lab.bench import calls as bench_calls
from oratorio_lab.bench import e3sm, report, suite, trace
from oratorio_lab.bench import paced as bench_paced
from oratorio_lab.bench import plot as bench_plot
from oratorio_lab.bench import predict as bench_predict
from oratorio_lab.bench import profile as bench_profile
from oratorio_lab.bench.nodes import Job, nodes_for
from oratorio_lab.bench.progress import watching
from oratorio_lab.bench.run import DIRECTIONS, Run, Settings, build, find_mpi, measure, oratorio_library
from oratorio_lab.bench.workloads import WORKLOADS, BenchError, Parameter, Workload, numbers
from oratorio_lab.papers import measure as bench_paper

app = typer.Typer(no_args_is_help=True, help="Measure workloads; every byte is checked.")
stdout = Console(width=None if sys.stdout.isatty() else 180)
stderr = Console(stderr=True, highlight=False)

RANKS = "4,8"
SECONDS_A_PASS = 30  # a run that takes longer on average counts as hung
LEAST_TIMEOUT = 300


@dataclass(frozen=True)
class Common:
    """The options that all measuring commands share."""

    ranks: tuple[int, ...]
    smoke: bool
    json: Path | None
    plot: Path | None
    settings: Settings
    given: frozenset[str]  # which of `ranks` and `arms` the user set


def _folder(folder: Path, cold: bool) -> Path:
    if not folder.is_dir():
        raise BenchError(f"no folder {folder}")
    if cold and report.is_in_memory(folder):
        raise BenchError(f"--cold needs a disk: {folder} is in memory, so nothing can be dropped from it")
    return folder.resolve()


def _directions(only: str | None) -> tuple[str, ...]:
    if only is not None and only not in DIRECTIONS:
        raise BenchError(f"--only is write or read, not {only}")
    return (only,) if only else DIRECTIONS


def _common(
    *,
    ranks: Annotated[
        str | None, typer.Option(help=f"Numbers of ranks, e.g. 2,4,8,16. \\[default: {RANKS}]")
    ] = None,
    arms: Annotated[
        str | None,
        typer.Option(
            help="What to compare: `methods` (all of Oratorio's) or names of methods, `hosts` (the host's "
            "MPI-IO with all sets of hints), host, host_tuned, by_hand, raw. "
            "\\[default: host,host_tuned,auto,raw]"
        ),
    ] = None,
    hint: Annotated[
        list[str] | None,
        typer.Option(metavar="[ARM:]KEY=VALUE", help="An info key; for host_tuned if no arm is named."),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Measured passes; one more comes before.")] = 5,
    only: Annotated[str | None, typer.Option(help="write or read; both if not given.")] = None,
    mpi: Annotated[
        str, typer.Option(help="mpich, openmpi, a name of `oratorio info`, or a folder.")
    ] = "mpich",
    dir: Annotated[Path, typer.Option(help="Where the test files go.")] = Path("/dev/shm"),
    overwrite: Annotated[
        bool, typer.Option("--overwrite/--new", help="Write over an existing file, or to a new one.")
    ] = False,
    direct: Annotated[
        bool, typer.Option("--direct", help="Past the page cache; raw is O_DIRECT, too.")
    ] = False,
    cold: Annotated[
        bool, typer.Option("--cold", help="Drop the file's cached pages before each read.")
    ] = False,
    malloc: Annotated[
        bool,
        typer.Option("--malloc", help="Users' memory is where malloc puts it, 16 bytes behind a page."),
    ] = False,
    sync: Annotated[bool, typer.Option("--sync", help="Count bringing written data to storage.")] = False,
    profile: Annotated[
        bool, typer.Option("--profile", help="Where Oratorio's time goes: storage, copying, the rest.")
    ] = False,
    predict: Annotated[
        bool, typer.Option("--predict", help="What the cost model takes each pass for, and its error.")
    ] = False,
    nodes: Annotated[
        int, typer.Option(min=1, help="Spread the ranks over nodes that are namespaces; needs root.")
    ] = 1,
    link: Annotated[
        str, typer.Option(help="What netem does to what a node sends, e.g. `delay 50us rate 10gbit`.")
    ] = "",
    rate: Annotated[
        str,
        typer.Option(
            help="Test files on storage of so many MiB/s, or `exchange`: as many as two_phase moves there "
            "without a limit; needs root."
        ),
    ] = "",
    smoke: Annotated[bool, typer.Option("--smoke", help="Tiny and once: does it work?")] = False,
    json: Annotated[Path | None, typer.Option(help="Write everything measured to this file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw a chart into this PNG file.")] = None,
    timeout: Annotated[
        float | None, typer.Option(help=f"Seconds one run may take. \\[default: {SECONDS_A_PASS} a pass]")
    ] = None,
) -> Common:
    bench_paced.check(rate, nodes)
    if malloc and direct:
        raise BenchError("--malloc and --direct exclude each other: direct I/O needs whole pages of memory")
    library = oratorio_library()
    arm_names = bench_arms.expand(arms, library is not None, direct)
    measured = 1 if smoke else repeats
    directions = _directions(only)
    passes = (measured + 1) * len(arm_names) * len(directions)
    settings = Settings(
        host=find_mpi(mpi),
        arms=arm_names,
        hints=bench_arms.parse_hints(hint or [], arm_names),
        repeats=measured,
        folder=_folder(dir, cold),
        timeout_seconds=timeout or max(LEAST_TIMEOUT, SECONDS_A_PASS * passes),
        overwrite=overwrite,
        sync=sync,
        direct=direct,
        cold=cold,
        malloc=malloc,
        library=library,
        directions=directions,
        profile=profile,
        predict=predict,
        nodes=nodes,
        link=link,
        rate=rate,
    )
    given = frozenset(name for name, value in (("ranks", ranks), ("arms", arms)) if value is not None)
    return Common(numbers(ranks or RANKS, "ranks"), smoke, json, plot, settings, given)


COMMON = dict(inspect.signature(_common).parameters)


def measure_all(jobs: Sequence[Job]) -> None:
    """Measures all jobs in order; a run that fails does not stop the next one."""
    before = 0
    rate = jobs[0][1].rate if jobs else ""
    passes = sum(settings.passes for _, settings in jobs)
    with bench_paced.paced_for(rate) as paced, nodes_for(jobs) as placed, watching(stderr, passes) as watch:
        for host in {settings.host.name: settings.host for _, settings in jobs}.values():
            build(host, lambda text: stderr.print(text, markup=False))
        for run, settings in jobs:

            def measured(run: Run, on: Settings, before: int = before) -> None:
                measure(run, on, lambda done, what: watch.tell(before + done, what))

            paced(run, placed((run, settings)), measured)
            before += settings.passes


def _finish(jobs: Sequence[Job], common: Common) -> None:
    """Prints profile, predictions and problems, writes the files and sets the exit code."""
    if common.settings.profile:
        stdout.print(bench_profile.table([run for run, _ in jobs], common.settings))
    if common.settings.predict:
        runs = [run for run, _ in jobs]
        stdout.print(bench_predict.table(runs, common.settings))
        stdout.print(bench_predict.summary(runs, common.settings), markup=False, soft_wrap=True)
    if common.settings.library is None:
        stderr.print("no Oratorio library is built: only the host MPI and raw I/O were measured")
    for run, settings in jobs:
        for line in report.problems(run, settings):
            stderr.print(line, markup=False, soft_wrap=True)
    if common.json:
        report.write_json(common.json, jobs, common.settings)
    if common.plot:
        bench_plot.draw(common.plot, [run for run, _ in jobs], common.settings)
    if not all(report.all_well(run, settings) for run, settings in jobs):
        raise typer.Exit(1)


def _add_command(
    name: str,
    text: str,
    own: Sequence[inspect.Parameter],
    body: Callable[[Common, dict[str, Any]], None],
    defaults: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Registers a command with the common options, some with other defaults, and with options of its own."""
    common = [p.replace(default=defaults.get(name, p.default)) for name, p in COMMON.items()]
    parameters = [*own, *common]

    def command(**given: Any) -> None:
        try:
            body(_common(**{key: given.pop(key) for key in COMMON}), given)
        except BenchError as error:
            stderr.print(f"oratorio: {error}", markup=False, soft_wrap=True)
            raise typer.Exit(2) from None

    command.__signature__ = inspect.Signature(parameters)
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    app.command(name, help=text)(command)


def _option(name: str, annotation: Any, default: Any = None) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _own_option(parameter: Parameter) -> inspect.Parameter:
    words = f" ({', '.join(parameter.choices)})" if parameter.choices else ""
    text = f"{parameter.help}{words} \\[default: {parameter.default}]"
    return _option(parameter.name, Annotated[str | None, typer.Option(help=text)])


def _add_workload(workload: Workload) -> None:
    def body(common: Common, given: dict[str, Any]) -> None:
        map_file = given.pop("map", None)
        values = workload.values(given, common.smoke)
        for ranks in common.ranks:
            if reason := workload.refusal(ranks):
                raise BenchError(reason)
        if map_file:
            e3sm.check_map(map_file, workload.case, common.ranks)
        runs = [Run(workload.name, workload.name, values, ranks, map_file) for ranks in common.ranks]
        jobs = [(run, common.settings) for run in runs]
        measure_all(jobs)
        for run in runs:
            if run.setup:
                stdout.print(report.run_table(run, common.settings))
        _finish(jobs, common)

    own = [_own_option(p) for p in workload.parameters]
    if workload.case:
        own.insert(
            0, _option("map", Annotated[Path | None, typer.Option(help="A decomposition map (netCDF).")])
        )
    _add_command(workload.name, workload.help, own, body)


def _paper(common: Common, given: dict[str, Any]) -> None:
    paper = bench_paper.paper_of(given["year"])
    figures = bench_paper.check_words(given["figures"] or "", paper.figures, "figures")
    own_modes = ",".join(bench_paper.modes_of(paper, common.settings.folder))
    modes = bench_paper.check_words(given["modes"] or own_modes, bench_paper.MODES, "modes")
    scale = bench_paper.Scale(
        common.ranks if "ranks" in common.given else paper.ranks,
        common.settings.arms if "arms" in common.given else (),
        bench_paper.parse_parameters(given["param"] or [], paper), given["full"], common.smoke,
    )  # fmt: skip
    measured = bench_paper.plan(paper, figures, modes, scale, common.settings)
    for reason in measured.skipped:
        stderr.print(f"skipped: {reason}", markup=False, soft_wrap=True)
    if not measured.curves:
        raise BenchError("nothing of that can be measured here")
    jobs = bench_paper.jobs(measured)
    measure_all(jobs)
    for table in (*bench_paper.point_tables(measured), bench_paper.claim_table(measured)):
        stdout.print(table)
    pictures = bench_paper.draw(common.plot, measured) if common.plot else {}
    for file in pictures.values():
        stderr.print(f"drawn: {file}", markup=False, soft_wrap=True)
    if page := given["markdown"]:
        page.parent.mkdir(parents=True, exist_ok=True)
        command = f"./oratorio {shlex.join(sys.argv[1:])}"
        page.write_text(bench_paper.markdown(measured, page, pictures, command))
    _finish(jobs, replace(common, plot=None))


def _suite(common: Common, given: dict[str, Any]) -> None:
    names = [name for name in (given["workloads"] or "").split(",") if name]
    runs, skipped = suite.runs_of(common.ranks, common.smoke, names, given["map"] or [])
    for reason in skipped:
        stderr.print(f"skipped: {reason}", markup=False, soft_wrap=True)
    jobs = [(run, common.settings) for run in runs]
    measure_all(jobs)
    stdout.print(report.suite_table(runs, common.settings))
    _finish(jobs, common)


def _trace(common: Common, given: dict[str, Any]) -> None:
    job = trace.job_of(given["path"], given["file"], common.ranks if "ranks" in common.given else ())
    settings = trace.settings_for(job, common.settings)
    stderr.print(job.told, markup=False, soft_wrap=True, end="")
    with tempfile.TemporaryDirectory(prefix="oratorio-trace-", dir=settings.folder) as folder:
        run = job.run(Path(folder) / "accesses.numbers")
        measure_all([(run, settings)])
    if run.setup:
        stdout.print(report.run_table(run, settings))
    _finish([(run, settings)], replace(common, settings=settings))


@app.command("list")
def list_workloads() -> None:
    """The workloads and their parameters."""
    table = Table("workload", "what it is", "parameters")
    for workload in WORKLOADS.values():
        defaults = ", ".join(f"{p.name}={p.default}" for p in workload.parameters)
        table.add_row(workload.name, workload.help, defaults)
    stdout.print(table)


@app.command("calls")
def calls(
    mpi: Annotated[list[str] | None, typer.Option(help="A name of `oratorio info`; repeatable.")] = None,
    ranks: Annotated[int, typer.Option(min=1, help="Of records with the shared pointer.")] = 8,
    records: Annotated[int, typer.Option(min=1, help="Of each rank.")] = 10000,
    repeats: Annotated[int, typer.Option(min=1, help="Of each arm, interleaved.")] = 3,
    dir: Annotated[Path, typer.Option(help="Where the records go.")] = Path("/dev/shm"),
    disk: Annotated[Path, typer.Option(help="Where the overlapped write goes; a disk.")] = Path("/tmp"),
) -> None:
    """Small records written one by one, and computation that overlaps a collective write."""
    for name in mpi or ["mpich5", "openmpi5"]:
        stdout.print(bench_calls.measure(find_host(name), ranks, repeats, records, dir, disk))


for known in WORKLOADS.values():
    _add_workload(known)
_add_command(
    "suite",
    "All workloads; E3SM's with the real maps that are given, else made up.",
    [
        _option("workloads", Annotated[str | None, typer.Option(help="Only these, e.g. tile,flash.")]),
        _option("map", Annotated[list[Path] | None, typer.Option(help="Decomposition map; repeatable.")]),
    ],
    _suite,
)
_add_command(
    "trace",
    "The collective accesses of a trace (ORATORIO_TRACE) again, with as many ranks and other data.",
    [
        _option("path", Annotated[Path, typer.Argument(metavar="FILE", help="The trace.")],
                inspect.Parameter.empty),
        _option("file", Annotated[
            str | None, typer.Option(help="Whose path has this in it; the one with most data if not given.")
        ]),
    ],
    _trace,
    defaults={"arms": trace.ARMS},
)  # fmt: skip
_add_command(
    "paper",
    "The figures of a paper (1995, 2001, 2006, 2014, 2019) for this machine, and whether what it says shows.",
    [
        _option("year", Annotated[str, typer.Argument(help="Of the paper.")], inspect.Parameter.empty),
        _option("figures", Annotated[str | None, typer.Option(help="Only these, e.g. naive,grouping.")]),
        _option(
            "modes",
            Annotated[str | None, typer.Option(help="Of buffered,direct; the paper's own if not given.")],
        ),
        _option(
            "param",
            Annotated[
                list[str] | None,
                typer.Option(
                    metavar="NAME=VALUE[,VALUE]", help="A parameter of workloads, or what is swept."
                ),
            ],
        ),
        _option("full", Annotated[bool, typer.Option("--full", help="As large as in the paper.")], False),
        _option("markdown", Annotated[Path | None, typer.Option(help="Write the tables to this page.")]),
    ],
    _paper,
    defaults={"repeats": 2},
)
