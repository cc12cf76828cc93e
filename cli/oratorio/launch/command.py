# SPDX-License-Identifier: BSD-3-Clause
"""The commands `run`, `explain`, `env` and `info`."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from oratorio import __version__
from oratorio.command_line import Parser, add_compared, add_job, add_method_and_hints, discard_output
from oratorio.document import add_json, print_document
from oratorio.errors import OratorioError, tell
from oratorio.launch import launch
from oratorio.paths import IS_INSTALLED, LIBRARIES, PACKAGE, ROOT, preload_library


def _add_launch(parser: Parser) -> None:
    """Adds --dry-run, --quiet and the command to start, which `run` and `explain` share, and sets `does`."""
    parser.add_argument("--dry-run", action="store_true", help="Print the command instead of running it.")
    parser.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        help="Print neither warnings nor which program and MPI were found.",
    )
    add_job(parser, "The command as you would start it: mpiexec -n 16 ./app ...")
    parser.set_defaults(does=run)


def add_run(parser: Parser) -> None:
    """Adds all options of `run`, and sets those that only `explain` has."""
    add_method_and_hints(parser)
    parser.add_argument("--explain", action="store_true", help="Print on stderr how accesses are done.")
    parser.add_argument(
        "--report", type=Path, metavar="FILE.html",
        help="After the command has ended, write a page about its file access.",
    )  # fmt: skip
    add_compared(parser)
    _add_launch(parser)
    parser.set_defaults(all=False, json=False)


def add_explain(parser: Parser) -> None:
    """Adds all options of `explain`, and sets those that only `run` has."""
    add_method_and_hints(parser)
    parser.add_argument(
        "--all", action="store_true",
        help="Print everything: each plan before its access, all candidates, all counters.",
    )  # fmt: skip
    parser.add_argument(
        "--json", action="store_true",
        help="Print all explanations on standard output as one JSON document, after the command has ended; "
        "what the command prints there goes to standard error.",
    )  # fmt: skip
    _add_launch(parser)
    parser.set_defaults(explain=True, report=None, compared=None)


def add_env(parser: Parser) -> None:
    """Adds the options of `env`."""
    add_method_and_hints(parser)
    parser.add_argument(
        "--explain",
        action="store_true",
        help="Also print `export ORATORIO_EXPLAIN=1`: programs then print on stderr how accesses are done.",
    )
    parser.set_defaults(does=env)


def add_info(parser: Parser) -> None:
    """Adds the options of `info`."""
    add_json(parser)
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
    # Python ignores SIGPIPE, and the program would inherit that: in `oratorio run ./app | head`, its writes
    # would fail instead of ending it.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execvp(prepared.argv[0], prepared.argv)
    except OSError as error:
        raise launch.not_started(prepared.argv[0], error) from None


def _explain_as_json(
    words: Sequence[str], variables: Mapping[str, str], describe: Callable[[launch.Launch], None]
) -> int:
    """Runs the command and prints its explanations. Returns the command's own exit code, even if the
    explanations can't be printed."""
    from oratorio.report.run_recorder import Recorder  # noqa: PLC0415  other jobs need no recorder

    recorder = Recorder(Path.cwd(), os.environ)
    with recorder.code_kept("the explanations were not printed"):
        code, explanations = recorder.explained(words, variables, describe)
        try:
            print_document("explain", exit_code=code, explanations=explanations)
            sys.stdout.flush()
        except BaseException:
            discard_output()
            raise
    return recorder.exit_code


def run(options: argparse.Namespace) -> int:
    """Replaces this process by the command with exec, so signals, terminal and exit code are the command's
    own. With --report or --json the command is a child, because the result is written after it has
    ended."""
    if options.compared and not options.report:
        raise OratorioError("--compared requires --report")
    is_recorded = options.report and not options.dry_run
    variables = launch.oratorio_variables(
        options.method, options.hint, options.explain and not is_recorded, os.environ
    )
    if options.all:
        variables["ORATORIO_EXPLAIN"] = "all"
    describe = (lambda _: None) if options.quiet else _describe
    if options.json and not options.dry_run:
        return _explain_as_json(options.command, variables, describe)
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


def _found() -> dict[str, Any]:
    """Returns what `info` prints: the libraries, the MPIs, and the launcher in PATH."""
    from oratorio.launch.hosts import find_hosts  # noqa: PLC0415  a job that starts needs no list of MPIs

    files = [LIBRARIES / f"liboratorio{name}.so" for name in ("", "-mpich", "-ompi", "-abi")]
    launcher = shutil.which("mpiexec")
    return {
        "folder": str(PACKAGE if IS_INSTALLED else ROOT),
        "libraries": [
            {"file": str(file), "bytes": file.stat().st_size if file.exists() else None} for file in files
        ],
        "mpis": [
            {
                "name": host.name, "version": host.version, "library": f"liboratorio-{host.flavour}.so",
                "mpiexec": str(host.mpiexec), "fortran": host.mpifort is not None,
            }
            for host in find_hosts()
        ],
        "mpiexec": launcher,
        "launcher": launch.launcher_kind(launcher) if launcher else None,
        "preload": str(preload_library()),
    }  # fmt: skip


def info(options: argparse.Namespace) -> int:
    """Prints the version, the libraries and the MPIs found on this machine."""
    found = _found()
    if options.json:
        print_document("info", **found)
        return 0
    print(f"Oratorio {__version__} in {found['folder']}")
    print("\nLibraries")
    for library in found["libraries"]:
        size = "missing" if library["bytes"] is None else f"{library['bytes'] // 1024} KiB"
        print(f"  {Path(library['file']).name:<22} {size}")
    print("\nMPIs")
    for mpi in found["mpis"]:
        fortran = ", Fortran" if mpi["fortran"] else ""
        print(f"  {mpi['name']:<10} {mpi['version']:<8} {mpi['library']:<22} {mpi['mpiexec']}{fortran}")
    print(f"\nmpiexec: {found['mpiexec'] or ''} ({found['launcher'] or 'none in PATH'})")
    print(f"To preload: {found['preload']}")
    return 0
