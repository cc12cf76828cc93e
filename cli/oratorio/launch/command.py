# SPDX-License-Identifier: BSD-3-Clause
"""The commands `run`, `explain`, `env` and `info`."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import sys
from pathlib import Path
from typing import NoReturn

from oratorio import __version__
from oratorio.command_line import Parser, add_job, add_method_and_hints
from oratorio.errors import tell
from oratorio.launch import launch
from oratorio.paths import IS_INSTALLED, LIBRARIES, PACKAGE, ROOT, preload_library


def _add_launch(parser: Parser) -> None:
    """Adds the options of `run` and `explain`."""
    parser.add_argument("--dry-run", action="store_true", help="Print the command instead of running it.")
    parser.add_argument("-q", "--quiet", action="store_true", help="Do not print the program and its MPI.")
    add_job(parser, "The command as you would start it: mpiexec -n 16 ./app ...")
    parser.set_defaults(does=run)


def add_run(parser: Parser) -> None:
    """Adds the options of `run`."""
    add_method_and_hints(parser)
    parser.add_argument("--explain", action="store_true", help="Print on stderr how accesses are done.")
    parser.add_argument(
        "--report", type=Path, metavar="FILE.html",
        help="After the command has ended, write a page about its file access.",
    )  # fmt: skip
    _add_launch(parser)
    parser.set_defaults(all=False)


def add_explain(parser: Parser) -> None:
    """Adds the options of `explain`."""
    add_method_and_hints(parser)
    parser.add_argument(
        "--all", action="store_true",
        help="Print everything: each plan before its access, all candidates, all counters.",
    )  # fmt: skip
    _add_launch(parser)
    parser.set_defaults(explain=True, report=None)


def add_env(parser: Parser) -> None:
    """Adds the options of `env`."""
    add_method_and_hints(parser)
    parser.add_argument("--explain", action="store_true", help="Print on stderr how accesses are done.")
    parser.set_defaults(does=env)


def add_info(parser: Parser) -> None:
    """Sets up the parser of `info`, which has no options."""
    parser.set_defaults(does=info)


def _describe(prepared: launch.Launch) -> None:
    for warning in prepared.warnings:
        tell(f"warning: {warning}")
    if prepared.needs:
        tell(f"{prepared.program}: {prepared.needs.reason}")


def _become(prepared: launch.Launch) -> NoReturn:
    """Replaces this process by the command. Raises LaunchError if it can't be started."""
    os.environ.update(prepared.env)
    sys.stdout.flush()
    sys.stderr.flush()
    # Python ignores this signal, and a program would inherit that: `oratorio run yes | head` would not end.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execvp(prepared.argv[0], prepared.argv)
    except OSError as error:
        raise launch.not_started(prepared.argv[0], error) from None


def run(options: argparse.Namespace) -> int:
    """Replaces this process by the command with exec, so signals, terminal and exit code are the command's
    own. With --report the command is a child, because the report is written after it has ended."""
    is_recorded = options.report and not options.dry_run
    variables = launch.oratorio_variables(
        options.method, options.hint, options.explain and not is_recorded, os.environ
    )
    if options.all:
        variables["ORATORIO_EXPLAIN"] = "all"
    describe = (lambda _: None) if options.quiet else _describe
    if is_recorded:
        from oratorio.report import command as report  # noqa: PLC0415  loaded only for users of --report

        return report.run_and_report(options, variables, describe)
    prepared = launch.prepare(options.command, variables, os.environ)
    describe(prepared)
    if options.dry_run:
        words = [f"{key}={shlex.quote(value)}" for key, value in prepared.env.items()]
        print(" ".join([*words, shlex.join(prepared.argv)]))
        return 0
    _become(prepared)


def env(options: argparse.Namespace) -> int:
    """Prints the variables that preload Oratorio as export lines of a shell."""
    variables = launch.oratorio_variables(options.method, options.hint, options.explain, os.environ)
    variables = {"LD_PRELOAD": launch.preload_value(os.environ), **variables}
    for key, value in variables.items():
        print(f"export {key}={shlex.quote(value)}")
    return 0


def info(options: argparse.Namespace) -> int:
    """Prints the version, the libraries and the MPIs found on this machine."""
    from oratorio.launch.hosts import find_hosts  # noqa: PLC0415  a job that starts needs no list of MPIs

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
