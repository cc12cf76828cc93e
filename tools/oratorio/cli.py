# SPDX-License-Identifier: BSD-3-Clause
"""The command line: one function for each command, with its help."""

import platform
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from oratorio import demo as demo_job
from oratorio import launch, lint, start, testing, testing_parts
from oratorio.paths import OUT, ROOT
from oratorio.trace_cli import trace_command

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Oratorio: the MPI I/O chapter as a library of its own, over any MPI.",
)
stderr = Console(stderr=True, highlight=False)

Method = Annotated[
    str | None, typer.Option(help="Method of docs/user/methods.md for every file; auto if not given.")
]
Hints = Annotated[
    list[str] | None,
    typer.Option("--hints", metavar="KEY=VALUE", help="An info key for every file; repeatable."),
]


def _refuse(error: Exception) -> None:
    stderr.print(f"oratorio: {error}", markup=False, soft_wrap=True)
    raise typer.Exit(2)


def _list_command(name: str) -> None:
    """Adds a command that `start` runs to the list of commands."""

    @app.command(name, help=start.COMMANDS[name].does.__doc__)
    def done_by_start() -> None:
        start.main()


for _name in start.COMMANDS:
    _list_command(_name)


@app.command()
def demo(
    host: Annotated[str, typer.Option(help="MPI to run under (see info).")] = demo_job.DEFAULT_HOST,
    cells: Annotated[int, typer.Option(min=8, help="Edge of a rank's block, in cells.")] = 64,
    steps: Annotated[int, typer.Option(min=1, help="Checkpoints to write.")] = 3,
    method: Method = None,
    hints: Hints = None,
) -> None:
    """Run the main demonstration: a parallel HDF5 checkpoint, first without, then with Oratorio."""
    try:
        variables = launch.oratorio_variables(method, hints or [], False, {})
        is_equal = demo_job.run(host, demo_job.Geometry(cells=cells, steps=steps), variables)
    except (launch.LaunchError, LookupError, demo_job.DemoError) as error:
        _refuse(error)
    raise typer.Exit(0 if is_equal else 1)


@app.command()
def test(
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="PART", help=f"Run these parts: {', '.join(testing_parts.PARTS)}."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Run everything that CI runs.")] = False,
    match: Annotated[str | None, typer.Option("-k", help="Tests whose name matches.")] = None,
) -> None:
    """Run the tests that find most faults, in ten minutes; with --all, everything that CI runs."""
    unknown = set(only or ()) - set(testing_parts.PARTS)
    if unknown:
        _refuse(ValueError(f"no such part: {', '.join(sorted(unknown))}"))
    if only and everything:
        _refuse(ValueError("--all and --only exclude each other"))
    raise typer.Exit(0 if testing.run(testing_parts.parts_of(only, everything), match) else 1)


@app.command()
def soak(
    seeds: Annotated[int, typer.Option(min=1, help="How many random programs.")] = 10_000,
    first: Annotated[int, typer.Option(min=0, help="The first one's seed.")] = 1,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; one per core if not given.")] = None,
    method: Annotated[
        str | None, typer.Option(help="Method of every file; all of them if not given.")
    ] = None,
    ranks: Annotated[
        int | None, typer.Option(min=1, max=6, help="Ranks of every program; two to six if not given.")
    ] = None,
    faults: Annotated[
        bool, typer.Option("--faults", help="In some of them a storage request fails, or memory runs out.")
    ] = False,
    scarce: Annotated[bool, typer.Option("--scarce", help="Memory runs out in all of them.")] = False,
    clients: Annotated[
        bool, typer.Option("--clients", help="All are over clients of NFS or FUSE with caches.")
    ] = False,
    client: Annotated[
        str | None,
        typer.Option(help="All are over clients of this kind, such as ocfs2: docs/internals/oracle.md."),
    ] = None,
    locks: Annotated[
        str | None, typer.Option(help="The hint oratorio_locks of every file: file or job.")
    ] = None,
    atomic: Annotated[
        bool, typer.Option("--atomic", help="Mostly atomic mode, and ranks that write the same bytes.")
    ] = False,
    deaths: Annotated[
        bool, typer.Option("--deaths", help="With --locks job: a rank dies while it holds a lock.")
    ] = False,
    fresh_views: Annotated[
        bool, typer.Option("--fresh-views", help="Views are set anew, so that no plan is kept.")
    ] = False,
) -> None:
    """Run random programs in a simulation: is every byte one that MPI allows? See
    docs/internals/oracle.md."""
    from oratorio import soak as soaking  # noqa: PLC0415

    switches = {
        "--faults": faults,
        "--scarce": scarce,
        "--clients": clients,
        "--atomic": atomic,
        "--deaths": deaths,
        "--fresh-views": fresh_views,
    }
    options = [switch for switch, on in switches.items() if on]
    values = {"--method": method, "--ranks": ranks, "--client": client, "--locks": locks}
    for switch, value in values.items():
        options += [switch, str(value)] if value else []
    try:
        is_clean = soaking.run(seeds, first, jobs, options)
    except soaking.SoakError as error:
        _refuse(error)
    raise typer.Exit(0 if is_clean else 1)


@app.command()
def mutations(
    seeds: Annotated[int, typer.Option(min=1, help="Programs to try each with.")] = 5000,
    match: Annotated[str | None, typer.Option("-k", help="Those whose name has this in it.")] = None,
) -> None:
    """Check that `soak` notices deliberate faults in the library. Prints a table."""
    from oratorio import mutations as mutating  # noqa: PLC0415

    try:
        is_good = mutating.run(seeds, match)
    except mutating.MutationError as error:
        _refuse(error)
    raise typer.Exit(0 if is_good else 1)


@app.command()
def fuzz(
    targets: Annotated[list[str] | None, typer.Argument(help="All of them if not given.")] = None,
    seconds: Annotated[int, typer.Option(min=1, help="How long each is run.")] = 60,
    jobs: Annotated[int | None, typer.Option(min=1, help="At once; one per core if not given.")] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Add inputs that reach new code to the corpus.")
    ] = False,
) -> None:
    """Fuzz the code that reads foreign bytes: hint files, messages, sockets. See
    docs/internals/fuzzing.md."""
    from oratorio import fuzz as fuzzing  # noqa: PLC0415

    unknown = set(targets or ()) - set(fuzzing.targets())
    if unknown:
        _refuse(ValueError(f"no such target: {', '.join(sorted(unknown))}; {', '.join(fuzzing.targets())}"))
    try:
        is_clean = fuzzing.run(targets or fuzzing.targets(), seconds, jobs, keep)
    except fuzzing.FuzzError as error:
        _refuse(error)
    raise typer.Exit(0 if is_clean else 1)


@app.command()
def neighbours(
    match: Annotated[str | None, typer.Option("-k", help="Those whose name or MPI has this in it.")] = None,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="First bring newer libraries from Debian, PyPI and crates.io.")
    ] = False,
    write: Annotated[
        bool, typer.Option("--write", help="Put the table into docs/user/neighbours.md.")
    ] = False,
) -> None:
    """Run programs and libraries that Oratorio works with, each without and with it. Prints a table."""
    from oratorio.neighbours import command  # noqa: PLC0415
    from oratorio.suites.sources import SourceError  # noqa: PLC0415

    try:
        if write and match:
            raise LookupError("--write renews the whole table: leave -k out")
        is_good = command.run(match, fetch, write)
    except (LookupError, SourceError) as error:
        _refuse(error)
    raise typer.Exit(0 if is_good else 1)


@app.command()
def clients(
    kinds: Annotated[
        list[str] | None, typer.Argument(help="Lists them if not given; all: every one.")
    ] = None,
    host: Annotated[str, typer.Option(help="MPI to run under (see info).")] = "mpich5",
    only: Annotated[
        list[str] | None, typer.Option(metavar="CHECK", help="Run this check; repeatable.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Random programs of the oracle.")] = 200,
    write: Annotated[
        bool, typer.Option("--write", help="Put the results into docs/user/network-file-systems.md.")
    ] = False,
) -> None:
    """Check that nothing is lost on real clients of network and cluster file systems on this machine."""
    from oratorio.clients import command, layers, rig  # noqa: PLC0415
    from oratorio.conformance import ConformanceError  # noqa: PLC0415
    from oratorio.targets import TargetError  # noqa: PLC0415

    if not kinds:
        command.show()
        return
    names = [kind.name for kind in command.KINDS] if kinds == ["all"] else kinds
    try:
        is_right = command.run(names, command.Choice(host, seeds, only or ()), write)
    except (LookupError, layers.NoClientsError, TargetError, ConformanceError) as error:
        _refuse(error)
    except rig.GuestError as error:
        stderr.print(f"oratorio: {error}", markup=False, soft_wrap=True)
        raise typer.Exit(1) from error
    raise typer.Exit(0 if is_right else 1)


@app.command()
def wheel(
    out: Annotated[Path, typer.Option(help="The folder they come to.")] = ROOT / "dist",
    machine: Annotated[
        str, typer.Option(help="Processor it is for: x86_64; or aarch64, by Debian's cross compiler.")
    ] = platform.machine(),
) -> None:
    """Make the wheel for PyPI and the archive of the sources. See docs/user/install.md."""
    from oratorio import wheel as making  # noqa: PLC0415
    from oratorio.suites.sources import SourceError  # noqa: PLC0415

    try:
        for made in making.make(out, machine):
            print(made)
    except (LookupError, SourceError) as error:
        _refuse(error)


@app.command()
def docs(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder it comes to.")] = OUT / "site",
    pictures: Annotated[
        bool, typer.Option("--pictures", help="First draw the methods anew, from their parts.")
    ] = False,
) -> None:
    """Make a site of the documentation, readable offline, too; check all links and anchors."""
    from oratorio import site  # noqa: PLC0415
    from oratorio.pictures import page  # noqa: PLC0415

    try:
        if pictures:
            page.write()
        site.build(out)
    except site.SiteError as error:
        _refuse(error)
    print(out / "index.html")


@app.command("lint")
def lint_command(
    fix: Annotated[bool, typer.Option("--fix", help="Format the files instead of complaining.")] = False,
) -> None:
    """Check formatting, floors and sizes: everything that needs no run of the code."""
    raise typer.Exit(0 if lint.run(fix) else 1)


@app.command(context_settings={"allow_interspersed_args": False})
def calibrate(
    launcher: Annotated[
        list[str] | None, typer.Argument(help="Ranks that send messages, between nodes too: mpiexec -n 4")
    ] = None,
    dir: Annotated[Path, typer.Option(help="A folder on the file system to be measured.")] = Path(),
    mpi: Annotated[
        str | None, typer.Option(help="Whose messages: mpich, openmpi, a name of `info`, or a folder.")
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Only print the costs in force and where they are from.")
    ] = False,
    mpicxx: Annotated[Path | None, typer.Option(help="The launcher's compiler, if not beside it.")] = None,
    machine: Annotated[
        Path | None, typer.Option(help="Write the costs in force as a machine for `simulate` to this .toml.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", hidden=True)] = False,
) -> None:
    """Measure the costs that `auto` needs of this machine, a file system and a network."""
    from oratorio import calibrate as costs  # noqa: PLC0415
    from oratorio import calibrated  # noqa: PLC0415

    try:
        if show:
            costs.show(dir)
        else:
            costs.run(dir, costs.find_sender(mpi, launcher or (), mpicxx), quick)
        if machine:
            typer.echo(calibrated.write(machine, dir))
    except costs.CalibrateError as error:
        _refuse(error)


@app.command("count")
def count_facts(
    what: Annotated[
        list[str] | None, typer.Argument(help="Papers (1995, 2001, 2019, users) or topics; all if not given.")
    ] = None,
    ranks: Annotated[
        int | None, typer.Option(min=2, help="Only with so many ranks; the papers' numbers if not given.")
    ] = None,
) -> None:
    """Count pieces, messages, edges, tokens and storage calls: the papers' numbers, without data or MPI."""
    from oratorio import counts  # noqa: PLC0415

    try:
        all_hold = counts.run(what or [], ranks)
    except counts.CountError as error:
        _refuse(error)
    raise typer.Exit(0 if all_hold else 1)


@app.command(
    add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)
def simulate(context: typer.Context) -> None:
    """Predict a collective write's time on a machine that is not here, from the library's own plans."""
    from oratorio.simulate import app as simulate_app  # noqa: PLC0415

    simulate_app(args=context.args, prog_name="oratorio simulate")


@app.command(
    add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)
def bench(context: typer.Context) -> None:
    """Measure workloads; every byte is checked."""
    # Imported here because importing the plots takes longer than `run` takes to start a program.
    from oratorio.bench import app as bench_app  # noqa: PLC0415

    bench_app(args=context.args, prog_name="oratorio bench")


@app.command(
    add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)
def conformance(context: typer.Context) -> None:
    """Find what an MPI's file access does wrong: conformance mpiexec -n 4."""
    from oratorio.conformance_cli import app as conformance_app  # noqa: PLC0415

    conformance_app(args=context.args, prog_name="oratorio conformance")


app.command("trace")(trace_command)


def main() -> None:
    """Entry point of `python -m oratorio`."""
    app(prog_name="oratorio")
