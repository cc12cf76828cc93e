# SPDX-License-Identifier: BSD-3-Clause
"""The commands of `oratorio_dev`, which the command line of a checkout adds to its own."""

import platform
from pathlib import Path
from typing import Annotated

import typer

from oratorio.paths import OUT, ROOT
from oratorio.terminal import refuse
from oratorio_dev import lint, testing, testing_parts

app = typer.Typer()


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
        refuse(ValueError(f"no such part: {', '.join(sorted(unknown))}"))
    if only and everything:
        refuse(ValueError("--all and --only exclude each other"))
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
    from oratorio_dev import soak as soaking  # noqa: PLC0415

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
        refuse(error)
    raise typer.Exit(0 if is_clean else 1)


@app.command()
def mutations(
    seeds: Annotated[int, typer.Option(min=1, help="Programs to try each with.")] = 5000,
    match: Annotated[str | None, typer.Option("-k", help="Those whose name has this in it.")] = None,
) -> None:
    """Check that `soak` notices deliberate faults in the library. Prints a table."""
    from oratorio_dev import mutations as mutating  # noqa: PLC0415

    try:
        is_good = mutating.run(seeds, match)
    except mutating.MutationError as error:
        refuse(error)
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
    from oratorio_dev import fuzz as fuzzing  # noqa: PLC0415

    unknown = set(targets or ()) - set(fuzzing.targets())
    if unknown:
        refuse(ValueError(f"no such target: {', '.join(sorted(unknown))}; {', '.join(fuzzing.targets())}"))
    try:
        is_clean = fuzzing.run(targets or fuzzing.targets(), seconds, jobs, keep)
    except fuzzing.FuzzError as error:
        refuse(error)
    raise typer.Exit(0 if is_clean else 1)


@app.command()
def wheel(
    out: Annotated[Path, typer.Option(help="The folder they come to.")] = ROOT / "dist",
    machine: Annotated[
        str, typer.Option(help="Processor it is for: x86_64; or aarch64, by Debian's cross compiler.")
    ] = platform.machine(),
) -> None:
    """Make the wheel for PyPI and the archive of the sources. See docs/user/install.md."""
    from oratorio_dev import wheel as making  # noqa: PLC0415
    from oratorio_lab.suites.sources import SourceError  # noqa: PLC0415

    try:
        for made in making.make(out, machine):
            print(made)
    except (LookupError, SourceError) as error:
        refuse(error)


@app.command()
def docs(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder it comes to.")] = OUT / "site",
    pictures: Annotated[
        bool, typer.Option("--pictures", help="First draw the methods anew, from their parts.")
    ] = False,
) -> None:
    """Make a site of the documentation, readable offline, too; check all links and anchors."""
    from oratorio_dev import site  # noqa: PLC0415
    from oratorio_lab.pictures import page  # noqa: PLC0415

    try:
        if pictures:
            page.write()
        site.build(out)
    except site.SiteError as error:
        refuse(error)
    print(out / "index.html")


@app.command("lint")
def lint_command(
    fix: Annotated[bool, typer.Option("--fix", help="Format the files instead of complaining.")] = False,
) -> None:
    """Check formatting, rooms and sizes: everything that needs no run of the code."""
    raise typer.Exit(0 if lint.run(fix) else 1)
