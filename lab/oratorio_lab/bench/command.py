# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio bench`: runs a workload on the host MPI's own MPI-IO, on Oratorio's methods and on raw POSIX
I/O, interleaved in one run, and checks every byte."""

import argparse
import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from oratorio.command_line import Parser, within
from oratorio.launch.hosts import find_host, find_mpi
from oratorio_lab import progress
from oratorio_lab.bench import arms as bench_arms
from oratorio_lab.bench import calls as bench_calls
from oratorio_lab.bench import e3sm, regret, regret_page, report, small, suite, trace
from oratorio_lab.bench import paced as bench_paced
from oratorio_lab.bench import plot as bench_plot
from oratorio_lab.bench import predict as bench_predict
from oratorio_lab.bench import profile as bench_profile
from oratorio_lab.bench import switches as bench_switches
from oratorio_lab.bench.nodes import Job, nodes_for
from oratorio_lab.bench.run import (
    DIRECTIONS,
    LEAST_TIMEOUT,
    SECONDS_A_PASS,
    Run,
    Settings,
    build,
    measure,
    oratorio_library,
    timeout_of,
)
from oratorio_lab.bench.workloads import WORKLOADS, BenchError, Workload, numbers
from oratorio_lab.papers import measure as bench_paper

stdout = Console(width=None if sys.stdout.isatty() else 180)
stderr = Console(stderr=True, highlight=False)

RANKS = "4,8"
ARMS = "host,host_tuned,auto,raw"
SHARED_MEMORY = Path("/dev/shm")


@dataclass(frozen=True)
class Common:
    """The options that the workloads and the commands suite, trace and paper share."""

    ranks: tuple[int, ...]
    smoke: bool
    json: Path | None
    plot: Path | None
    settings: Settings
    given: frozenset[str]  # which of --ranks and --method the user set


def _folder(folder: Path, cold: bool) -> Path:
    if not folder.is_dir():
        raise BenchError(f"{folder} is not a folder")
    if cold and report.is_in_memory(folder):
        raise BenchError(
            f"--cold needs a disk: {folder} is in memory, so its files can't be dropped from the page cache"
        )
    return folder.resolve()


def _directions(direction: str | None) -> tuple[str, ...]:
    if direction is not None and direction not in DIRECTIONS:
        raise BenchError(f"--direction must be write or read, not {direction}")
    return (direction,) if direction else DIRECTIONS


def _add_dir(add: Callable) -> None:
    add(
        "--dir",
        type=Path,
        default=SHARED_MEMORY,
        metavar="FOLDER",
        help="Folder of the test files; %(default)s if not given.",
    )


def _add_direction_and_mpi(add: Callable) -> None:
    add("--direction", help="write or read; both if not given.")
    add(
        "--mpi",
        default="mpich",
        metavar="NAME",
        help="The MPI: mpich, openmpi, a name that `oratorio info` prints, or a folder.",
    )


def _add_common(parser: Parser, arms: str | None = None, repeats: int = 5) -> None:
    """Adds the options that become a Common."""
    add = parser.add_argument
    add("--ranks", help=f"Numbers of ranks, such as 2,4,8,16; {RANKS} if not given.")
    add("--method", default=arms, metavar="METHOD,...",
        help="What to compare: `methods` (all of Oratorio's) or names of methods, `hosts` (the host's "
        "MPI-IO with all sets of hints), host, host_tuned, by_hand, bare (a bare program), raw; "
        f"{arms or ARMS} if not given.")  # fmt: skip
    add("--hint", metavar="[METHOD:]KEY=VALUE", action="append", default=[],
        help="A hint, for host_tuned if METHOD is left out; repeatable, and the last value of a key "
        "counts.")  # fmt: skip
    add("--repeat", type=within(1), default=repeats, metavar="N",
        help="Number of measured passes, after an unmeasured one; %(default)s if not given.")  # fmt: skip
    _add_direction_and_mpi(add)
    _add_dir(add)
    add("--overwrite", action="store_true", help="Write over an existing file.")
    add("--new", dest="overwrite", action="store_false", help="Write to a new file; this is the default.")
    add("--direct", action="store_true", help="Bypass the page cache; raw uses O_DIRECT, too.")
    add("--cold", action="store_true", help="Drop the file's cached pages before each read.")
    add("--malloc", action="store_true",
        help="Leave user buffers where malloc puts them, 16 bytes after the start of a page.")  # fmt: skip
    add("--sync", action="store_true", help="Include the time until written data is on storage.")
    add("--profile", action="store_true",
        help="Print where Oratorio's time goes: storage, copying, the rest.")  # fmt: skip
    add("--predict", action="store_true", help="Print the cost model's estimate of each pass and its error.")
    add("--nodes", type=within(1), default=1,
        help="Spread the ranks over this many emulated nodes; needs root.")  # fmt: skip
    add(
        "--link",
        default="",
        help="Arguments of tc-netem for what a node sends, such as `delay 50us rate 10gbit`.",
    )
    add("--rate", default="",
        help="Simulate storage of this many MiB/s under the test files; `exchange` is the rate that "
        "two_phase reaches there without a limit; needs root.")  # fmt: skip
    add("--smoke", action="store_true", help="Measure a tiny case once, to see whether everything works.")
    add("--json", type=Path, metavar="FILE", help="Write everything measured to this file.")
    add("--plot", type=Path, metavar="FILE.png", help="Draw a chart into this file.")
    add("--timeout", type=float, metavar="SECONDS",
        help=f"End a run after this time; {SECONDS_A_PASS} s for each pass, at least {LEAST_TIMEOUT} s, "
        "if not given.")  # fmt: skip


def _common(options: argparse.Namespace) -> Common:
    """Returns the values of the options of _add_common(). Raises BenchError."""
    bench_paced.check(options.rate, options.nodes)
    if options.malloc and options.direct:
        raise BenchError("--malloc and --direct exclude each other: direct I/O needs whole pages of memory")
    library = oratorio_library()
    arm_names = bench_arms.expand(options.method, library is not None, options.direct)
    measured = 1 if options.smoke else options.repeat
    directions = _directions(options.direction)
    passes = (measured + 1) * len(arm_names) * len(directions)
    settings = Settings(
        host=find_mpi(options.mpi),
        arms=arm_names,
        hints=bench_arms.parse_hints(options.hint, arm_names),
        repeats=measured,
        folder=_folder(options.dir, options.cold),
        timeout_seconds=timeout_of(options.timeout, passes),
        overwrite=options.overwrite,
        sync=options.sync,
        direct=options.direct,
        cold=options.cold,
        malloc=options.malloc,
        library=library,
        directions=directions,
        profile=options.profile,
        predict=options.predict,
        nodes=options.nodes,
        link=options.link,
        rate=options.rate,
    )
    given = frozenset(name for name in ("ranks", "method") if getattr(options, name) is not None)
    ranks = numbers(options.ranks or RANKS, "ranks")
    return Common(ranks, options.smoke, options.json, options.plot, settings, given)


def measure_all(jobs: Sequence[Job]) -> None:
    """Measures all jobs in order; a run that fails does not stop the next one."""
    before = 0
    rate = jobs[0][1].rate if jobs else ""
    passes = sum(settings.passes for _, settings in jobs)
    with bench_paced.paced_for(rate) as paced, nodes_for(jobs) as placed, progress.shown(stderr) as tell:
        for host in {settings.host.name: settings.host for _, settings in jobs}.values():
            build(host, lambda text: stderr.print(text, markup=False))
        for run, settings in jobs:

            def measured(run: Run, on: Settings, before: int = before) -> None:
                def show(done: int, what: str) -> None:
                    tell((before + done) / passes, f"pass {before + done} of {passes}, {what}")

                measure(run, on, show)

            paced(run, placed((run, settings)), measured)
            before += settings.passes


def _finish(jobs: Sequence[Job], common: Common) -> int:
    """Prints the profile, predictions and problems, writes the requested files and returns the exit code."""
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
    return 0 if all(report.all_well(run, settings) for run, settings in jobs) else 1


def _measure_workload(options: argparse.Namespace) -> int:
    common, workload = _common(options), WORKLOADS[options.name]
    values = workload.values(vars(options), common.smoke)
    for ranks in common.ranks:
        if reason := workload.refusal(ranks):
            raise BenchError(reason)
    if options.map:
        e3sm.check_map(options.map, workload.case, common.ranks)
    runs = [Run(workload.name, workload.name, values, ranks, options.map) for ranks in common.ranks]
    jobs = [(run, common.settings) for run in runs]
    measure_all(jobs)
    for run in runs:
        if run.setup:
            stdout.print(report.run_table(run, common.settings))
    return _finish(jobs, common)


def _add_workload(parser: Parser, workload: Workload) -> None:
    if workload.case:
        parser.add_argument("--map", type=Path, help="A decomposition map (netCDF).")
    for own in workload.parameters:
        words = f" ({', '.join(own.choices)})" if own.choices else ""
        text = f"{own.help.rstrip('.')}{words}; {own.default} if not given."
        parser.add_argument(f"--{own.option}", help=text)
    _add_common(parser)
    parser.set_defaults(does=_measure_workload, name=workload.name)
    if not workload.case:
        parser.set_defaults(map=None)


def _paper(options: argparse.Namespace) -> int:
    common = _common(options)
    paper = bench_paper.paper_of(options.year)
    figures = bench_paper.check_words(options.figures or "", paper.figures, "figures")
    own_modes = ",".join(bench_paper.modes_of(paper, common.settings.folder))
    modes = bench_paper.check_words(options.modes or own_modes, bench_paper.MODES, "modes")
    scale = bench_paper.Scale(
        common.ranks if "ranks" in common.given else paper.ranks,
        common.settings.arms if "method" in common.given else (),
        bench_paper.parse_parameters(options.param, paper), options.full,
        bench_paper.room_in(common.settings.folder), common.smoke,
    )  # fmt: skip
    measured = bench_paper.plan(paper, figures, modes, scale, common.settings)
    for reason in measured.skipped:
        stderr.print(f"skipped: {reason}", markup=False, soft_wrap=True)
    if not measured.curves:
        raise BenchError("none of the selected figures can be measured here")
    jobs = bench_paper.jobs(measured)
    measure_all(jobs)
    for table in (*bench_paper.point_tables(measured), bench_paper.claim_table(measured)):
        stdout.print(table)
    if paper.counted:
        stdout.print(bench_paper.fact_table(paper))
    for title, lines in (("not measured", paper.absent), ("smaller than in the paper", measured.reduced)):
        for line in lines:
            stdout.print(f"{title}: {line}", markup=False, soft_wrap=True)
    pictures = bench_paper.draw(common.plot, measured) if common.plot else {}
    for file in pictures.values():
        stderr.print(f"drawn: {file}", markup=False, soft_wrap=True)
    if page := options.output:
        page.parent.mkdir(parents=True, exist_ok=True)
        command = f"./oratorio {shlex.join(sys.argv[1:])}"
        page.write_text(bench_paper.markdown(measured, page, pictures, command))
    return _finish(jobs, replace(common, plot=None))


def _suite(options: argparse.Namespace) -> int:
    common = _common(options)
    names = [name for name in (options.workloads or "").split(",") if name]
    runs, skipped = suite.runs_of(common.ranks, common.smoke, names, options.map)
    for reason in skipped:
        stderr.print(f"skipped: {reason}", markup=False, soft_wrap=True)
    jobs = [(run, common.settings) for run in runs]
    measure_all(jobs)
    stdout.print(report.suite_table(runs, common.settings))
    return _finish(jobs, common)


def _file_systems(folders: Sequence[Path]) -> dict[Path, str]:
    """Returns the name of each folder's file system, followed by the folder if several have the same name."""
    names = {_folder(folder, False): report.file_system(folder) for folder in folders}
    several = [name for name in names.values() if list(names.values()).count(name) > 1]
    return {folder: f"{name} {folder}" if name in several else name for folder, name in names.items()}


def _regret(options: argparse.Namespace) -> int:
    library = oratorio_library()
    if library is None:
        raise BenchError("the Oratorio library is not built, so there is no auto to judge")
    folders = _file_systems(options.dir or [SHARED_MEMORY])
    names = [name for name in (options.workloads or "").split(",") if name]
    layouts = regret.parse_layouts(options.layout)
    cases, skipped = regret.cases_of(layouts, folders, names, options.smoke)
    for reason in skipped:
        stderr.print(f"skipped: {reason}", markup=False, soft_wrap=True)
    host, repeat = find_mpi(options.mpi), 1 if options.smoke else options.repeat
    settings = Settings(
        host, (), (), repeat, SHARED_MEMORY, 0, library=library, directions=_directions(options.direction)
    )
    cells, is_well = [], True
    with tempfile.TemporaryDirectory(prefix="oratorio-regret-") as scratch:
        costs = regret.write_wrong_costs(Path(scratch))
        plan = regret.Plan(settings, options.all, costs, Path(scratch), options.timeout, measure_all)
        for number, case in enumerate(cases, 1):
            title = f"{case.run.label}, {case.layout.name}, {case.file_system}"
            stderr.print(f"case {number} of {len(cases)}: {title}", markup=False, soft_wrap=True)
            of_case, jobs = regret.measure_case(case, plan)
            cells += of_case
            for line in (line for job in jobs for line in report.problems(*job)):
                stderr.print(line, markup=False, soft_wrap=True)
            is_well = is_well and all(report.all_well(*job) for job in jobs)
            # A run of all cases takes hours, so the results are written after each case.
            _write_regret(options, cells, regret_page.About(
                f"./oratorio {shlex.join(sys.argv[1:])}", f"{host.name} {host.version}",
                [report.machine(folder) for folder in folders], options.all, repeat,
            ))  # fmt: skip
    stdout.print(regret_page.terminal_table(cells))
    for told in (regret_page.sentence(cells), regret_page.details(cells)):
        stdout.print(told, markup=False, soft_wrap=True)
    return 0 if cells and is_well else 1


def _write_regret(
    options: argparse.Namespace, cells: Sequence[regret.Cell], about: regret_page.About
) -> None:
    if options.output:
        regret_page.write_page(options.output, cells, about)
    if options.json:
        regret_page.write_json(options.json, cells, about)


def _trace(options: argparse.Namespace) -> int:
    common = _common(options)
    job = trace.job_of(options.path, options.file, common.ranks if "ranks" in common.given else ())
    settings = trace.settings_for(job, common.settings)
    stderr.print(job.told, markup=False, soft_wrap=True, end="")
    with tempfile.TemporaryDirectory(prefix="oratorio-trace-", dir=settings.folder) as folder:
        run = job.run(Path(folder) / "accesses.numbers")
        measure_all([(run, settings)])
    if run.setup:
        stdout.print(report.run_table(run, settings))
    return _finish([(run, settings)], replace(common, settings=settings))


def _list(options: argparse.Namespace) -> int:
    del options
    table = Table("workload", "what it is", "parameters")
    for workload in WORKLOADS.values():
        defaults = ", ".join(f"{p.name}={p.default}" for p in workload.parameters)
        table.add_row(workload.name, workload.help, defaults)
    stdout.print(table)
    return 0


def _calls(options: argparse.Namespace) -> int:
    for name in options.mpi or ["mpich5", "openmpi5"]:
        stdout.print(
            bench_calls.measure(
                find_host(name), options.ranks, options.repeat, options.records, options.dir, options.disk
            )
        )
    return 0


def _add_calls(parser: Parser) -> None:
    add = parser.add_argument
    add("--mpi", action="append", metavar="NAME", help="An MPI by its name in `oratorio info`; repeatable.")
    add("--ranks", type=within(1), default=8,
        help="Ranks that write records with the shared pointer; %(default)s if not given.")  # fmt: skip
    add("--records", type=within(1), default=10000, help="Records of each rank; %(default)s if not given.")
    add(
        "--repeat",
        metavar="N",
        type=within(1),
        default=3,
        help="Repeat each measurement N times, interleaved with the others; %(default)s if not given.",
    )
    add(
        "--dir",
        type=Path,
        default=SHARED_MEMORY,
        metavar="FOLDER",
        help="Folder of the records; %(default)s if not given.",
    )
    add("--disk", type=Path, default=Path("/tmp"),
        help="Folder on a disk, for the overlapped write; %(default)s if not given.")  # fmt: skip
    parser.set_defaults(does=_calls)


def _small(options: argparse.Namespace) -> int:
    amount = small.Amount(options.bytes, options.distance, options.calls)
    arms = small.arms_of(options.store)
    host = find_mpi(options.mpi)
    stdout.print(small.measure(host, arms, amount, options.ranks, options.repeat, options.dir))
    return 0


def _add_small(parser: Parser) -> None:
    add = parser.add_argument
    add("--ranks", type=within(1), default=1, help="Number of ranks; %(default)s if not given.")
    add("--bytes", type=within(1), default=512, help="Bytes of an access; %(default)s if not given.")
    add("--distance", type=within(1), metavar="BYTES", default=4096,
        help="Bytes between the beginnings of two accesses; %(default)s if not given.")  # fmt: skip
    add("--calls", type=within(1), metavar="N", default=2000,
        help="Let each rank make N accesses of each kind; %(default)s if not given.")  # fmt: skip
    add("--store", action="append", default=[], metavar="NAME",
        help="Measure this store (hint oratorio_store), too; repeatable.")  # fmt: skip
    add("--repeat", metavar="N", type=within(1), default=3,
        help="Repeat each run N times, in turns with the others; %(default)s if not given.")  # fmt: skip
    add("--mpi", default="mpich", metavar="NAME", help="An MPI by its name in `oratorio info`.")
    _add_dir(add)
    parser.set_defaults(does=_small)


def _switches(options: argparse.Namespace) -> int:
    library = oratorio_library()
    if library is None:
        raise BenchError("the Oratorio library is not built, so there is no placement to measure")
    host = find_mpi(options.mpi)
    settings = Settings(host, (), (), 1, options.dir, LEAST_TIMEOUT, library=library)
    build(host, lambda text: stderr.print(text, markup=False))
    arms = bench_switches.measure_arms(settings, options.ranks, options.repeat, options.delay / 1e3)
    title = (
        f"{host.name}, {options.ranks} ranks on {bench_switches.NODES} nodes behind two switches, "
        f"{options.delay:g} ms between switches, medians of {options.repeat}"
    )
    stdout.print(bench_switches.table(arms, title))
    return 0


def _add_switches(parser: Parser) -> None:
    add = parser.add_argument
    add("--ranks", type=within(4), default=8, help="Ranks of the job; %(default)s if not given.")
    add(
        "--delay",
        type=float,
        default=1.0,
        metavar="MS",
        help="Milliseconds that the link between the switches adds to a message; %(default)s if not given.",
    )
    add(
        "--repeat",
        metavar="N",
        type=within(1),
        default=5,
        help="Repeat each measurement N times, interleaved with the others; %(default)s if not given.",
    )
    add("--mpi", default="mpich", metavar="NAME", help="An MPI by its name in `oratorio info`.")
    _add_dir(add)
    parser.set_defaults(does=_switches)


def _add_suite(parser: Parser) -> None:
    parser.add_argument("--workloads", help='Measure only these, such as "tile,array 4 KiB".')
    parser.add_argument(
        "--map", type=Path, action="append", default=[], help="A decomposition map; repeatable."
    )
    _add_common(parser)
    parser.set_defaults(does=_suite)


def _add_regret(parser: Parser) -> None:
    add = parser.add_argument
    add("--workloads", help='Measure only these, such as "tile,array 4 KiB".')
    add("--layout", default=regret.LAYOUTS,
        help="Ranks on one node, or emulated nodes x ranks on each; %(default)s if not given.")  # fmt: skip
    add("--dir", type=Path, action="append", metavar="FOLDER",
        help="Folder of the test files, one for each file system; repeatable; "
        f"{SHARED_MEMORY} if not given.")  # fmt: skip
    add("--all", action="store_true",
        help="Measure each method also with combinations of set parameters: 1, a quarter, half and all of "
        "the ranks as aggregators; 1, 2 and 4 slots; even and cyclic file domains. By default, only with "
        "the parameters that it chooses itself.")  # fmt: skip
    add(
        "--repeat",
        type=within(1),
        default=5,
        metavar="N",
        help="Number of passes that count; %(default)s if not given.",
    )
    _add_direction_and_mpi(add)
    add("--smoke", action="store_true", help="Measure tiny cases once, to see whether everything works.")
    add("--json", type=Path, metavar="FILE", help="Write all times to this file.")
    add(
        "-o",
        "--output",
        type=Path,
        metavar="FILE.html",
        help="Write the picture and the tables to this page.",
    )
    add("--timeout", type=float, metavar="SECONDS",
        help=f"End a run after this time; {SECONDS_A_PASS} s for each pass, at least {LEAST_TIMEOUT} s, "
        "if not given.")  # fmt: skip
    parser.set_defaults(does=_regret)


def _add_trace(parser: Parser) -> None:
    parser.add_argument("path", type=Path, metavar="FILE", help="The trace file that ORATORIO_TRACE named.")
    parser.add_argument(
        "--file", metavar="TEXT",
        help="Repeat the traced file whose path contains TEXT; the one with the most data in collective "
        "accesses if not given.",
    )  # fmt: skip
    _add_common(parser, arms=trace.ARMS)
    parser.set_defaults(does=_trace)


def _add_paper(parser: Parser) -> None:
    add = parser.add_argument
    add("year", help="The year of the paper.")
    add("--figures", help="Measure only these, such as naive,grouping.")
    add("--modes", help="buffered, direct or both, separated by a comma; the paper's own if not given.")
    add("--param", action="append", default=[], metavar="NAME=VALUE[,VALUE]",
        help="A value of a workload parameter, or values of the swept parameter; repeatable.")  # fmt: skip
    add("--full", action="store_true",
        help="Measure as much data as the paper did if the folder and the memory have room, and list what is "
        "smaller.")  # fmt: skip
    add("-o", "--output", type=Path, metavar="FILE", help="Write the tables to this page.")
    _add_common(parser, repeats=2)
    parser.set_defaults(does=_paper)


def add_options(parser: Parser) -> None:
    """Adds a command for each workload, and the commands that list or measure several."""
    commands = parser.add_subparsers(metavar="WORKLOAD", required=True)

    def add(name: str, text: str) -> Parser:
        return commands.add_parser(name, help=text, description=text)

    add("list", "List the workloads and their parameters.").set_defaults(does=_list)
    _add_calls(add("calls", "Write small records one by one, and compute during a collective write."))
    _add_small(add("small", "Time small independent accesses, with the host's MPI-IO and with Oratorio."))
    _add_switches(
        add(
            "switches",
            "Write on emulated nodes behind two switches, with and without placement by switch; needs root.",
        )
    )
    for workload in WORKLOADS.values():
        _add_workload(add(workload.name, workload.help), workload)
    _add_suite(add("suite", "Measure all workloads; E3SM's with the given maps, or else with made-up ones."))
    _add_regret(
        add(
            "regret",
            "Compare auto, before and after it learns, with the fastest method and the host's best hints.",
        )
    )
    _add_trace(
        add(
            "trace",
            "Repeat the collective accesses of a trace, with the same number of ranks and other data.",
        )
    )
    _add_paper(
        add(
            "paper",
            "Measure the figures of a paper (1995, 2001, 2006, 2014, 2019) here, and judge its claims.",
        )
    )
