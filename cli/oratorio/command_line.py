# SPDX-License-Identifier: BSD-3-Clause
"""The command line: the table of commands, the parser of their options, and one place that reports errors.

A command's module is imported only when its parser is needed, because `oratorio run` precedes every job and
must start quickly. This module needs only Python's standard library. A checkout has more commands, in the
tables of `oratorio_lab.commands` and `oratorio_dev.commands`.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import importlib.util
import math
import os
import signal
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from oratorio import __version__
from oratorio.errors import CLOSED_PIPE, INTERRUPTED, REFUSED, OratorioError, leave, tell
from oratorio.paths import IS_INSTALLED

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)  # write errors of standard output that main() reports
GROUPS = ("use", "inspect", "measure", "develop")  # the headings of `oratorio --help`


class Command(NamedTuple):
    """A row of a table of commands."""

    group: str  # one of GROUPS
    help: str
    options: str  # module:function; the function adds the command's options to a Parser and sets `does`


COMMANDS = {
    "run": Command(
        "use",
        "Run an unchanged MPI program with its file access done by Oratorio.",
        "oratorio.launch.command:add_run",
    ),
    "explain": Command(
        "use",
        "Like run, but also print on stderr how each access was done, why and how fast, "
        "and a summary at each close.",
        "oratorio.launch.command:add_explain",
    ),
    "env": Command(
        "use",
        'Print export lines for a batch script: eval "$(oratorio env)".',
        "oratorio.launch.command:add_env",
    ),
    "demo": Command(
        "use",
        "Write checkpoints with mpi4py, without and with Oratorio, and compare times and files.",
        "oratorio.demo.command:add_options",
    ),
    "completion": Command(
        "use",
        "Print a script that completes commands and options in a shell: completion bash.",
        "oratorio.completion:add_options",
    ),
    "info": Command(
        "inspect",
        "Print the version, the libraries and the MPIs found on this machine.",
        "oratorio.launch.command:add_info",
    ),
    "report": Command(
        "inspect",
        "Write an HTML page about a trace: where the time of a run went, and what would make it faster.",
        "oratorio.report.command:add_options",
    ),
    "trace": Command(
        "inspect",
        "Print a trace: a table for each file, a row for each access, a column for each phase.",
        "oratorio.trace.command:add_options",
    ),
    "advise": Command(
        "inspect",
        "Read a job's Darshan log; print what would make the job faster, and what Oratorio would have done.",
        "oratorio.advise.command:add_options",
    ),
    "methods": Command(
        "inspect",
        "List the methods by which files are accessed, and those among which `auto` chooses.",
        "oratorio.methods.command:add_options",
    ),
    "learned": Command(
        "inspect",
        "Show the times of earlier jobs, from which `auto` chooses methods, or remove them.",
        "oratorio.learned.command:add_options",
    ),
    "compare": Command(
        "measure",
        "Run a program with the MPI's own MPI-IO and with each method, and compare the times.",
        "oratorio.compare.command:add_options",
    ),
    "calibrate": Command(
        "measure",
        "Measure the costs of this machine, a file system and a network that `auto` uses to choose a method.",
        "oratorio.calibrate.command:add_options",
    ),
    "doctor": Command(
        "inspect",
        "Check the environment, a folder and a program, and say how to correct what does not work.",
        "oratorio.doctor.command:add_options",
    ),
    "conformance": Command(
        "measure",
        "Test the MPI-IO of an MPI against the rules of the standard: conformance mpiexec -n 4.",
        "oratorio.conformance.command:add_options",
    ),
}
CHECKOUT = ("oratorio_lab", "oratorio_dev")  # packages that only a checkout has
OVERVIEW = """usage: oratorio COMMAND ...

Oratorio: the MPI I/O chapter as a library of its own, over any MPI.

{commands}
`oratorio COMMAND --help` shows the options of a command, `oratorio --version` the version.
"""
NEEDS_CHECKOUT = "A checkout has more commands: bench, simulate, and those that test Oratorio.\n"
# Command that pages and messages name but an installation lacks -> why the installation lacks it.
ONLY_IN_CHECKOUT = {
    "bench": "it builds a C++ program for each MPI; `oratorio compare` measures your own program",
    "simulate": "it builds a C++ program that makes the plans",
}

# Option -> its names in release 0.2, which release 0.3 still accepts. docs/user/stability.md has the
# vocabulary.
OLD_NAMES = {
    "--hint": ("--hints",),
    "--method": ("--methods", "--arms"),
    "--repeat": ("--repeats",),
    "--timeout": ("--time-limit", "--seconds"),
    "--mpi": ("--host",),
    "--output": ("--out", "--markdown"),
    "--direction": ("--only",),
}


class _Renamed(argparse.Action):
    """The action of an option's old name: prints the new name once, and then acts as the option itself."""

    def __init__(self, option_strings: Sequence[str], dest: str, renamed: argparse.Action) -> None:
        del dest
        super().__init__(
            option_strings, renamed.dest, nargs=renamed.nargs, type=renamed.type, default=renamed.default,
            choices=renamed.choices, metavar=renamed.metavar, help=argparse.SUPPRESS,
        )  # fmt: skip
        self._renamed = renamed
        self._has_warned = False

    def __call__(self, parser, namespace, values, option_string=None):
        """Calls the renamed option's action; before the first call, prints the new name."""
        if not self._has_warned:
            new = self._renamed.option_strings[-1]
            tell(f"{option_string} is now called {new}; the old name will be removed")
        self._has_warned = True
        self._renamed(parser, namespace, values, option_string)


class Parser(argparse.ArgumentParser):
    """A parser that reports a wrong command line in one line, and knows the old names of options."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, add_help=False, **settings)
        self.add_argument("-h", "--help", action="help", help="Show this help.")

    def add_argument(self, *names: str, **settings: Any) -> argparse.Action:
        """Adds an option or argument as argparse does, and the old names of an option."""
        added = super().add_argument(*names, **settings)
        for name in names:
            for old in OLD_NAMES.get(name, ()):
                super().add_argument(old, action=_Renamed, renamed=added)
        return added

    def error(self, message: str) -> None:
        """Prints the message and ends the program with exit code 2."""
        self.exit(REFUSED, f"oratorio: {message}; see {self.prog} --help\n")


class _Job(argparse.Action):
    """Stores the words of a command to start, without a leading `--`."""

    def __call__(self, parser, namespace, values, option_string=None):
        """Stores the words. Reports an error if there are none although the command is required."""
        words = values[1:] if values[:1] == ["--"] else values
        if self.required and not words:
            parser.error("a command is missing, such as mpiexec -n 16 ./app")
        setattr(namespace, self.dest, words)


def add_job(parser: Parser, text: str, dest: str = "command", is_required: bool = True) -> None:
    """Adds an argument that takes the rest of the command line, options included, as a command to start."""
    parser.add_argument(
        dest, nargs=argparse.REMAINDER, action=_Job, metavar="COMMAND...", help=text
    ).required = is_required


def add_compared(parser: Parser) -> None:
    """Adds the option `--compared`, which names a file of results of `oratorio compare`."""
    parser.add_argument(
        "--compared", type=Path, metavar="FILE.json",
        help="A file with the output of `oratorio compare --json`; the page then also shows the times that "
        "it measured, including those with the host's own MPI-IO.",
    )  # fmt: skip


def add_method_and_hints(parser: Parser) -> None:
    """Adds the options that select a method and hints for all files."""
    parser.add_argument("--method", metavar="METHOD", help="Method for every file; auto if not given.")
    parser.add_argument(
        "--hint", metavar="KEY=VALUE", action="append", default=[],
        help="A hint for every file for which the program does not set it. Repeatable; if a key is repeated, "
        "its last value counts.",
    )  # fmt: skip


def within(low: float, high: float = math.inf) -> Callable[[str], int]:
    """Returns a function for argparse that parses an integer from `low` to `high`."""

    def integer(text: str) -> int:
        value = int(text)
        if not low <= value <= high:
            limits = f"at least {low}" if high == math.inf else f"from {low} to {high}"
            raise argparse.ArgumentTypeError(f"{value} is out of range: it must be {limits}")
        return value

    return integer


def tables() -> dict[str, dict[str, Command]]:
    """Returns group -> table of its commands; a group without commands is left out."""
    commands = dict(COMMANDS)
    if not IS_INSTALLED:
        for package in CHECKOUT:
            if importlib.util.find_spec(package):
                commands |= importlib.import_module(f"{package}.commands").COMMANDS
    found = {
        group: {name: command for name, command in commands.items() if command.group == group}
        for group in GROUPS
    }
    return {group: table for group, table in found.items() if table}


def parser_of(name: str, command: Command) -> Parser:
    """Returns the parser of a command, from which the manual page is generated, too."""
    module, _, function = command.options.partition(":")
    parser = Parser(prog=f"oratorio {name}", description=command.help)
    getattr(importlib.import_module(module), function)(parser)
    return parser


def overview() -> str:
    """Returns the output of `oratorio --help`."""
    groups = tables()
    width = max(len(name) for table in groups.values() for name in table)
    text = ""
    for heading, table in groups.items():
        text += f"{heading}:\n"
        for name, command in table.items():
            indent = " " * (width + 4)
            text += textwrap.fill(
                command.help, 100, initial_indent=f"  {name:<{width}}  ", subsequent_indent=indent
            )
            text += "\n"
        text += "\n"
    return OVERVIEW.format(commands=text.rstrip("\n") + "\n") + (NEEDS_CHECKOUT if IS_INSTALLED else "")


def _find(words: Sequence[str]) -> tuple[str, Command]:
    """Returns the name (one word or two) and the row of the command that the words begin with. Raises
    OratorioError if there is no such command."""
    commands = {name: command for table in tables().values() for name, command in table.items()}
    for name in (" ".join(words[:2]), words[0]):
        if name in commands:
            return name, commands[name]
    if words[0] in ONLY_IN_CHECKOUT:
        raise OratorioError(
            f"{words[0]} needs a checkout of Oratorio and a compiler: {ONLY_IN_CHECKOUT[words[0]]}. In a "
            f"checkout (git clone), run ./oratorio {words[0]}"
        )
    raise OratorioError(f"{words[0]}: no such command here; see oratorio --help")


def call(words: Sequence[str]) -> int:
    """Runs one command line and returns its exit code. Raises SystemExit for a wrong option of a command,
    and for a command's --help."""
    if list(words) == ["--version"]:
        print(f"oratorio {__version__}")
        return 0
    if not words or words[0] in ("-h", "--help"):
        print(overview(), end="")
        return 0
    try:
        name, command = _find(words)
        options = parser_of(name, command).parse_args(words[len(name.split()) :])
        return options.does(options)
    except OratorioError as error:
        tell(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED


def discard_output() -> None:
    """Redirects standard output to /dev/null, so that a later flush of what is left can't fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _replace_closed_streams() -> None:
    """Opens /dev/null in place of standard output and standard error if they are closed. A program that is
    started still finds them closed, because it doesn't inherit these files."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115  open to the end


def _failed(error: Exception) -> int:
    """Reports an error that no command expected, and returns REFUSED. An error of the system is one line; any
    other is a mistake in Oratorio, whose traceback maintainers need."""
    if isinstance(error, OSError) and error.filename is not None:
        tell(f"{error.filename}: {error.strerror}")
    elif isinstance(error, OSError) and error.errno in FULL:
        tell(f"standard output can't be written: {error.strerror}")
        discard_output()
    elif isinstance(error, OSError) and not _has_folder():
        tell("the working directory doesn't exist any more; change to another one")
    else:
        sys.excepthook(type(error), error, error.__traceback__)
        tell("this is a mistake in Oratorio: please report it, with the lines above")
    return REFUSED


def _has_folder() -> bool:
    """Returns whether the working directory exists."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True


def main() -> None:
    """Entry point of `oratorio` and of `python -m oratorio`."""
    _replace_closed_streams()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, leave)
    try:
        try:
            code = call(sys.argv[1:])
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
        code = CLOSED_PIPE
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:
        code = _failed(error)
    sys.exit(code)
