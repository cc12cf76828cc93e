# SPDX-License-Identifier: BSD-3-Clause
"""The commands that start and prepare jobs, and those that analyse what jobs did.

They need nothing but Python and load little, because they run before every job. All other commands are in
`checkout`, which an installation does not have, and in `conformance.command`; they are loaded on demand.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from oratorio import __version__
from oratorio.launch import launch
from oratorio.paths import IS_INSTALLED, LIBRARIES, PACKAGE, ROOT, preload_library

REFUSED = 2  # exit code if nothing was started


def _tell(prepared: launch.Launch) -> None:
    for warning in prepared.warnings:
        print(f"oratorio: warning: {warning}", file=sys.stderr)
    if prepared.needs:
        print(f"oratorio: {prepared.program}: {prepared.needs.reason}", file=sys.stderr)


def _start(options: argparse.Namespace, explain: bool) -> int:
    """Replaces this process by the command with exec, so signals, terminal and exit code are the command's
    own."""
    variables = launch.oratorio_variables(options.method, options.hints, explain, os.environ)
    prepared = launch.prepare(options.command, variables, os.environ)
    if not options.quiet:
        _tell(prepared)
    if options.dry_run:
        words = [f"{key}={shlex.quote(value)}" for key, value in prepared.env.items()]
        print(" ".join([*words, shlex.join(prepared.argv)]))
        return 0
    os.environ.update(prepared.env)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execvp(prepared.argv[0], prepared.argv)
    return 0


def _run_for_report(options: argparse.Namespace) -> int:
    """Starts the command as a child, because the report is written after it has ended."""
    from oratorio.report import command as report_cli  # noqa: PLC0415
    from oratorio.report import run_recorder  # noqa: PLC0415  loaded only for users of --report

    variables = launch.oratorio_variables(options.method, options.hints, False, os.environ)
    recorder = run_recorder.Recorder(options.report.absolute().parent, os.environ)
    return report_cli.run(recorder, options, variables, (lambda _: None) if options.quiet else _tell)


def run(options: argparse.Namespace) -> int:
    """Run an unchanged MPI program with its file access done by Oratorio."""
    if options.report and not options.dry_run:
        return _run_for_report(options)
    return _start(options, options.explain)


def explain(options: argparse.Namespace) -> int:
    """Like run, but also print on stderr how each access is done and why, and a summary at each close."""
    return _start(options, True)


def env(options: argparse.Namespace) -> int:
    """Print export lines for a batch script: eval "$(oratorio env)"."""
    variables = launch.oratorio_variables(options.method, options.hints, options.explain, os.environ)
    variables = {"LD_PRELOAD": launch.preload_value(os.environ), **variables}
    for key, value in variables.items():
        print(f"export {key}={shlex.quote(value)}")
    return 0


def info(options: argparse.Namespace) -> int:
    """Print the version, the libraries and the MPIs found on this machine."""
    from oratorio.launch.hosts import find_hosts  # noqa: PLC0415

    del options
    print(f"Oratorio {__version__} in {PACKAGE if IS_INSTALLED else ROOT}")
    print("\nLibraries")
    for name in ("", "-mpich", "-ompi", "-abi"):
        file = LIBRARIES / f"liboratorio{name}.so"
        print(f"  {file.name:<22} {f'{file.stat().st_size // 1024} KiB' if file.exists() else 'not here'}")
    print("\nMPIs")
    for host in find_hosts():
        fortran = ", Fortran" if host.mpifort else ""
        library = f"liboratorio-{host.flavour}.so"
        print(f"  {host.name:<10} {host.version:<8} {library:<22} {host.mpiexec}{fortran}")
    launcher = shutil.which("mpiexec")
    kind = launch.launcher_kind(launcher) if launcher else "none in PATH"
    print(f"\nmpiexec: {launcher or ''} ({kind})")
    print(f"To preload: {preload_library()}")
    return 0


def report(options: argparse.Namespace) -> int:
    """Make a page of a trace: where the time of a run went, and what would make it faster."""
    from oratorio.report import command as report_cli  # noqa: PLC0415

    return report_cli.of_trace(options)


def compare(options: argparse.Namespace) -> int:
    """Run a program with the MPI's own MPI-IO and with each method, and compare the times."""
    from oratorio.compare import command as compare_cli  # noqa: PLC0415

    return compare_cli.run(options)


def _add_compare(parser: argparse.ArgumentParser) -> None:
    from oratorio.compare import command as compare_cli  # noqa: PLC0415

    compare_cli.add_options(parser)
    _add_job(parser)


def doctor(options: argparse.Namespace) -> int:
    """Check environment, folder, program and a run of it, and say what to do about what does not work."""
    from oratorio.doctor import command as doctor_cli  # noqa: PLC0415

    return doctor_cli.run(options)


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    from oratorio.doctor import command as doctor_cli  # noqa: PLC0415

    doctor_cli.add_options(parser)


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--report", type=Path, metavar="FILE.html",
        help="When the command has ended, write a page about its file access.",
    )  # fmt: skip


def _add_trace(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", type=Path, metavar="TRACE", help="What ORATORIO_TRACE named in the run.")
    parser.add_argument(
        "--explain", type=Path, metavar="FILE", help="What ORATORIO_EXPLAIN named in the run, a .json file."
    )
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="FILE.html",
        help="The page; if not given, the trace's name and .html.",
    )


class Command(NamedTuple):
    """A command that this module runs."""

    does: Callable[[argparse.Namespace], int]
    takes_job: bool = False  # the rest of the line is a command to start
    takes_hints: bool = False
    takes_explain: bool = False
    adds: Callable[[argparse.ArgumentParser], None] | None = None  # adds the command's own options
    needs_no_job: bool = False  # the command to start may be left out


COMMANDS = {
    "run": Command(run, takes_job=True, takes_hints=True, takes_explain=True, adds=_add_report),
    "explain": Command(explain, takes_job=True, takes_hints=True),
    "env": Command(env, takes_hints=True, takes_explain=True),
    "info": Command(info),
    "report": Command(report, adds=_add_trace),
    "compare": Command(compare, adds=_add_compare),
    "doctor": Command(doctor, adds=_add_doctor, needs_no_job=True),
}


def _add_job(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-q", "--quiet", action="store_true", help="Do not name program and MPI.")
    parser.add_argument(
        "command", nargs=argparse.REMAINDER,
        help="The command as you would start it: mpiexec -n 16 ./app ...",
    )  # fmt: skip


def parser_of(name: str) -> argparse.ArgumentParser:
    """Returns the parser of a command. The manual is generated from the parser's help, too."""
    command = COMMANDS[name]
    parser = argparse.ArgumentParser(
        prog=f"oratorio {name}", description=command.does.__doc__, allow_abbrev=False
    )
    if command.takes_hints:
        parser.add_argument("--method", help="Method for every file; auto if not given.")
        parser.add_argument(
            "--hints", metavar="KEY=VALUE", action="append", default=[],
            help="An info key for every file; repeatable.",
        )  # fmt: skip
    if command.takes_explain:
        parser.add_argument("--explain", action="store_true", help="Tell on stderr how accesses are done.")
    if command.adds:
        command.adds(parser)
    if command.takes_job:
        parser.add_argument("--dry-run", action="store_true", help="Print the command instead of running it.")
        _add_job(parser)
    return parser


def _call(name: str, words: Sequence[str]) -> int:
    parser = parser_of(name)
    options = parser.parse_args(words)
    if "command" in options:
        if options.command[:1] == ["--"]:
            del options.command[0]
        if not options.command and not COMMANDS[name].needs_no_job:
            parser.error("a command is missing: mpiexec -n 16 ./app")
    try:
        return COMMANDS[name].does(options)
    except launch.LaunchError as error:
        print(f"oratorio: {error}", file=sys.stderr)
        return REFUSED


OVERVIEW = """usage: oratorio COMMAND ...

Oratorio: the MPI I/O chapter as a library of its own, over any MPI.

commands:
  run          {run}
  explain      {explain}
  env          {env}
  info         {info}
  report       {report}
  compare      {compare}
  doctor       {doctor}
  conformance  Find what an MPI's file access does wrong: conformance mpiexec -n 4.

oratorio COMMAND --help tells its options; oratorio --version the version. Commands that measure, calibrate
and test need a checkout.
"""


def overview() -> str:
    """Returns the output of `oratorio --help` in an installation."""
    return OVERVIEW.format(**{name: command.does.__doc__ for name, command in COMMANDS.items()})


def _call_installed(words: Sequence[str]) -> int:
    if not words or words[0] in ("--help", "-h"):
        print(overview(), end="")
        return 0
    if words[0] != "conformance":
        print(f"oratorio: {words[0]}: no such command here; see oratorio --help", file=sys.stderr)
        return REFUSED
    try:
        from oratorio.conformance.command import app  # noqa: PLC0415
    except ImportError as error:
        print(f"oratorio: conformance needs Python's typer ({error}): pip install typer", file=sys.stderr)
        return REFUSED
    app(args=list(words[1:]), prog_name="oratorio conformance")
    return 0


def main() -> None:
    """Entry point of `oratorio` and of `python -m oratorio`."""
    words = sys.argv[1:]
    if words == ["--version"]:
        print(f"oratorio {__version__}")
    elif words and words[0] in COMMANDS:
        sys.exit(_call(words[0], words[1:]))
    elif IS_INSTALLED:
        sys.exit(_call_installed(words))
    else:
        from oratorio import checkout  # noqa: PLC0415

        checkout.main()
