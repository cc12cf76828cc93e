# SPDX-License-Identifier: BSD-3-Clause
"""The commands of `oratorio_lab`, which the command line of a checkout adds to its own."""

from pathlib import Path
from typing import Annotated

import typer

from oratorio.conformance.command import app as conformance_app
from oratorio.launch import launch
from oratorio.terminal import refuse, stderr
from oratorio_lab.demo import demo as demo_job
from oratorio_lab.suites.command import suites
from oratorio_lab.trace.command import trace_command

app = typer.Typer()

Method = Annotated[
    str | None, typer.Option(help="Method of docs/user/methods.md for every file; auto if not given.")
]
Hints = Annotated[
    list[str] | None,
    typer.Option("--hints", metavar="KEY=VALUE", help="An info key for every file; repeatable."),
]


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
        refuse(error)
    raise typer.Exit(0 if is_equal else 1)


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
    from oratorio_lab.interop import command  # noqa: PLC0415
    from oratorio_lab.suites.sources import SourceError  # noqa: PLC0415

    try:
        if write and match:
            raise LookupError("--write renews the whole table: leave -k out")
        is_good = command.run(match, fetch, write)
    except (LookupError, SourceError) as error:
        refuse(error)
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
    from oratorio.conformance.conformance import ConformanceError  # noqa: PLC0415
    from oratorio_lab.clients import command, layers, rig  # noqa: PLC0415
    from oratorio_lab.targets import TargetError  # noqa: PLC0415

    if not kinds:
        command.show()
        return
    names = [kind.name for kind in command.KINDS] if kinds == ["all"] else kinds
    try:
        is_right = command.run(names, command.Choice(host, seeds, only or ()), write)
    except (LookupError, layers.NoClientsError, TargetError, ConformanceError) as error:
        refuse(error)
    except rig.GuestError as error:
        stderr.print(f"oratorio: {error}", markup=False, soft_wrap=True)
        raise typer.Exit(1) from error
    raise typer.Exit(0 if is_right else 1)


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
    from oratorio_lab import calibrate as costs  # noqa: PLC0415
    from oratorio_lab.simulate import machine_export  # noqa: PLC0415

    try:
        if show:
            costs.show(dir)
        else:
            costs.run(dir, costs.find_sender(mpi, launcher or (), mpicxx), quick)
        if machine:
            typer.echo(machine_export.write(machine, dir))
    except costs.CalibrateError as error:
        refuse(error)


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
    from oratorio_lab import counts  # noqa: PLC0415

    try:
        all_hold = counts.run(what or [], ranks)
    except counts.CountError as error:
        refuse(error)
    raise typer.Exit(0 if all_hold else 1)


@app.command(
    add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)
def simulate(context: typer.Context) -> None:
    """Predict a collective write's time on a machine that is not here, from the library's own plans."""
    from oratorio_lab.simulate.command import app as simulate_app  # noqa: PLC0415

    simulate_app(args=context.args, prog_name="oratorio simulate")


@app.command(
    add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)
def bench(context: typer.Context) -> None:
    """Measure workloads; every byte is checked."""
    # Imported here because importing the plots takes longer than `run` takes to start a program.
    from oratorio_lab.bench.command import app as bench_app  # noqa: PLC0415

    bench_app(args=context.args, prog_name="oratorio bench")


app.command("trace")(trace_command)


# `conformance suites` runs the tests of other projects. It is added here, because an installation does not
# have it.
conformance_app.command()(suites)
