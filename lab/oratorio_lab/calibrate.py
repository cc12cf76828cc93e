# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio calibrate`: measures the constants of the cost model (src/plan/costs.def) for this machine and
the file system of a folder, and writes them where the library looks for them (src/bind/process.cpp)."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from oratorio.command_line import Parser, add_job
from oratorio.conformance.conformance import ConformanceError, find_mpicc
from oratorio.errors import OratorioError
from oratorio.launch.hosts import KILLED, TIMED_OUT, Host, find_hosts, find_mpi, mpiexec_command
from oratorio.machine.costs import costs_folder, in_force, names_of
from oratorio.paths import BUILD, ROOT
from oratorio_lab import progress, targets

SOURCES = ROOT / "lab/calibrate"
TARGET = "oratorio_calibrate"
# Libraries that messages.cpp links, in link order.
LIBRARIES = ("exchange", "plan", "stats", "type", "comm", "memory", "base")
LONGEST_SECONDS = 600  # enough for a slow file system on a busy machine
MESSAGE_SOURCES = ("messages.cpp", "network.cpp")
MESSAGE_NAMES = (
    "message_byte", "message_piece", "message", "far_message", "far_byte", "beside_message", "beside_byte",
    "endpoint_message",
)  # fmt: skip
BETWEEN_NODES = ("far_message", "far_byte", "beside_message", "beside_byte", "endpoint_message")
SHARE_OF_MESSAGES = 0.1  # share of the whole time that measuring messages takes
LINE = re.compile(r"(?P<name>\w+)\s+(?P<value>\S+)\s+# (?P<meaning>.*)")


class CalibrateError(OratorioError):
    """Raised if calibrating failed; the message is a sentence for the user."""


@dataclass(frozen=True)
class Place:
    """A machine and a file system, by the names that the library uses for the files of costs."""

    machine: str
    file_system: str

    @property
    def names(self) -> tuple[str, str]:
        """The files that the library reads, the more specific one first."""
        return names_of(self.machine, self.file_system)


@dataclass(frozen=True)
class Constant:
    """One row of costs.def, in nanoseconds."""

    value: float
    meaning: str


@dataclass
class Found:
    """The measured constants, and the reasons for which others were not measured."""

    values: dict[str, float] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)

    def take(self, words: list[str]) -> None:
        """Adds the result in a line that one of the measuring programs printed."""
        match words:
            case ["measured", name, value]:
                self.values[name] = float(value)
            case ["kept", name, reason]:
                self.kept[name] = reason


def build_program() -> Path:
    """Returns the program of lab/calibrate; rebuilds it if a source has changed. Raises TargetError."""
    return targets.build(TARGET, "lab/calibrate")


@dataclass(frozen=True)
class Sender:
    """An MPI whose messages are measured, and the command that starts its ranks."""

    name: str
    mpicxx: Path
    launcher: tuple[str, ...]


def sender_of(host: Host) -> Sender:
    """Returns a sender that starts two ranks of an MPI of this machine."""
    return Sender(host.name, host.mpicxx, tuple(mpiexec_command(host, 2, preload=False)))


def sender_by(launcher: Sequence[str], mpicxx: Path | None) -> Sender:
    """Returns a sender for a user's launcher, such as mpiexec -n 2 --hosts a,b."""
    try:
        mpicc = None if mpicxx else find_mpicc(launcher[0])
    except ConformanceError as error:
        raise CalibrateError(str(error).replace("mpicc", "mpicxx")) from None
    compiler = mpicxx or mpicc.with_name(mpicc.name.replace("mpicc", "mpicxx"))
    if not shutil.which(compiler):
        raise CalibrateError(f"{compiler} can't be started; name another with --mpicxx")
    return Sender(Path(launcher[0]).name, compiler, tuple(launcher))


def build_messages(sender: Sender) -> Path:
    """Returns the program that measures messages, built for this MPI. Raises TargetError."""
    sources = [SOURCES / name for name in MESSAGE_SOURCES]
    libraries = [BUILD / f"liboratorio_{name}.a" for name in LIBRARIES]
    options = ("-O2", "-std=c++20", f"-I{ROOT / 'src'}", f"-I{SOURCES}")
    return targets.compile_program(sender.mpicxx, [*sources, *libraries], f"messages-{sender.name}", *options)


def _ask(program: Path, *words: str | Path, text: str = "") -> subprocess.CompletedProcess[str]:
    done = subprocess.run([program, *words], input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CalibrateError(f"{program.name} failed: {done.stderr.strip() or done.returncode}")
    return done


def place_of(program: Path, folder: Path) -> Place:
    return Place(*_ask(program, "place", folder).stdout.rstrip("\n").split("\t"))


def read_costs(program: Path, file_system: str, text: str) -> tuple[dict[str, Constant], list[str]]:
    """Returns the constants that the library would use on the file system with `text` as its file of costs,
    and the library's warnings about that text."""
    done = _ask(program, "costs", file_system, text=text)
    lines = filter(None, map(LINE.fullmatch, done.stdout.splitlines()))
    constants = {line["name"]: Constant(float(line["value"]), line["meaning"]) for line in lines}
    return constants, done.stderr.splitlines()


def measure(program: Path, folder: Path, quick: bool, told: progress.Tell) -> Found:
    """Measures all constants but those of messages."""
    found = Found()
    command = [
        "timeout",
        "--foreground",
        str(LONGEST_SECONDS),
        program,
        "measure",
        folder,
        *(["--quick"] if quick else []),
    ]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
        for line in job.stdout:
            words = line.rstrip("\n").split("\t")
            if words[0] == "step":
                told(float(words[1]), words[2])
            found.take(words)
        complaint = job.stderr.read().strip()
    if job.returncode != 0:
        raise CalibrateError(f"measuring failed: {complaint or f'exit code {job.returncode}'}")
    return found


def measure_messages(sender: Sender, quick: bool) -> Found:
    """Measures messages between ranks of this MPI. If that fails, `kept` has the reason, and the constants
    stay as they are."""
    found = Found()
    size = ("1048576", "1") if quick else ("67108864", "5")
    problem = ""
    try:
        command = ["timeout", "--kill-after=10", str(LONGEST_SECONDS), *sender.launcher]
        done = subprocess.run(
            [*command, build_messages(sender), *size], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
        for line in done.stdout.splitlines():
            found.take(line.split("\t"))
        problem = done.stderr.strip()[-300:] or f"exit code {done.returncode}"
        if done.returncode in (TIMED_OUT, KILLED):
            problem = f"still running after {LONGEST_SECONDS} s"
    except OratorioError as error:
        problem = str(error)
    for name in MESSAGE_NAMES:
        if name not in found.values:
            found.kept.setdefault(name, f"{sender.name}: {problem}")
    return found


def find_sender(mpi: str | None, launcher: Sequence[str], mpicxx: Path | None) -> Sender | None:
    """Returns a sender for `launcher`, if it is not empty; else for the MPI named `mpi`, else for the first
    MPI found. Returns None if there is no MPI. Raises OratorioError."""
    if launcher:
        return sender_by(launcher, mpicxx)
    host = find_mpi(mpi) if mpi else next(iter(find_hosts()), None)
    return sender_of(host) if host else None


def check_writable(folder: Path) -> None:
    """Writes a temporary file to find missing permissions, a read-only file system or a full disk. Raises
    CalibrateError."""
    if not folder.is_dir():
        raise CalibrateError(f"{folder} is not a folder")
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"1")
    except OSError as error:
        raise CalibrateError(f"{folder} can't be written to: {error.strerror}") from None


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CalibrateError(
            f"the folder for the costs, {folder}, can't be created: {error.strerror}"
        ) from None
    check_writable(folder)


def write_costs(path: Path, found: Found, meanings: Mapping[str, Constant]) -> None:
    """Writes the measured constants to a file of costs. Replaces the file atomically, because programs may be
    reading it."""
    lines = [
        f"{name:<16} {found.values[name]:>12.4g}  # {constant.meaning}\n"
        for name, constant in meanings.items()
        if name in found.values
    ]
    head = (
        "# Measured by `oratorio calibrate`; nanoseconds. Remove this file to get the built-in values back.\n"
    )
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_text(head + "".join(lines))
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise CalibrateError(f"{path} can't be written: {error.strerror}") from None


def keep_those_between_nodes(found: Found, file: Path) -> None:
    """Keeps what an earlier calibration measured between nodes, if this one ran on a single node."""
    try:
        lines = [line.partition("#")[0].split() for line in file.read_text().splitlines()]
    except OSError:
        return
    for name, value in (words for words in lines if len(words) == 2):
        if name in BETWEEN_NODES and name not in found.values:
            with suppress(ValueError):  # a line without a number is skipped, as in the library
                found.values[name] = float(value)


def _out() -> Console:
    return Console(highlight=False, width=None if sys.stdout.isatty() else 140)


def _value(constant: float | None) -> str:
    return "-" if constant is None else f"{constant:.4g}"


def table(built_in: Mapping[str, Constant], values: Mapping[str, float], column: str) -> Table:
    shown = Table("constant", title_justify="left")
    shown.add_column("built-in", justify="right")
    shown.add_column(column, justify="right")
    shown.add_column("ns for ...", overflow="fold")
    for name, constant in built_in.items():
        shown.add_row(name, _value(constant.value), _value(values.get(name)), constant.meaning)
    return shown


def show(folder: Path) -> None:
    """Prints the costs in force for files in `folder`."""
    if not folder.is_dir():
        raise CalibrateError(f"{folder} is not a folder")
    program = build_program()
    place = place_of(program, folder)
    built_in, _ = read_costs(program, place.file_system, "")
    text, source = in_force(os.environ, place.names)
    constants, warnings = read_costs(program, place.file_system, text)
    out = _out()
    out.print(table(built_in, {name: c.value for name, c in constants.items()}, "in force"))
    origin = source or "built in: `oratorio calibrate` has not been run for this file system"
    out.print(f"{place.machine}, {place.file_system}: {origin}", markup=False, soft_wrap=True)
    for warning in warnings:
        Console(stderr=True).print(f"oratorio: {warning}", markup=False, soft_wrap=True)


def _measure_all(
    program: Path, folder: Path, sender: Sender | None, quick: bool, told: progress.Tell
) -> Found:
    own = 1 - SHARE_OF_MESSAGES
    found = measure(program, folder, quick, lambda share, what: told(share * own, what))
    if sender is None:
        found.kept |= dict.fromkeys(MESSAGE_NAMES, "this machine has no MPI")
        return found
    told(own, f"messages of {sender.name}")
    messages = measure_messages(sender, quick)
    return Found(found.values | messages.values, found.kept | messages.kept)


def run(folder: Path, sender: Sender | None, quick: bool) -> None:
    """Measures, writes the file of costs, and prints what has changed."""
    folder = folder.resolve()
    check_writable(folder)
    costs = costs_folder(os.environ)
    _make_folder(costs)
    stderr = Console(stderr=True, highlight=False)
    program = build_program()
    place = place_of(program, folder)
    built_in, _ = read_costs(program, place.file_system, "")
    if not stderr.is_terminal:
        stderr.print("measuring, about 10 s, minutes where storage is slow ...")
    with progress.shown(stderr) as told:
        found = _measure_all(program, folder, sender, quick, told)
    file = costs / place.names[0]
    keep_those_between_nodes(found, file)
    write_costs(file, found, built_in)
    out = _out()
    out.print(table(built_in, found.values, "measured"))
    for name in built_in:
        if name not in found.values:
            reason = found.kept.get(name, "not measured")
            stderr.print(f"{name} keeps its built-in value: {reason}", markup=False, soft_wrap=True)
    out.print(f"{place.machine}, {place.file_system}: written to {file}", markup=False, soft_wrap=True)


def add_options(parser: Parser) -> None:
    """Adds the options of `calibrate`."""
    parser.add_argument(
        "--dir", type=Path, default=Path(), metavar="FOLDER", help="A folder on the file system to measure."
    )
    parser.add_argument(
        "--mpi",
        metavar="NAME",
        help="The MPI that sends messages: mpich, openmpi, a name that `oratorio info` prints, or a folder.",
    )
    parser.add_argument(
        "--show", action="store_true", help="Only print the costs in force and the file that they come from."
    )
    parser.add_argument(
        "--mpicxx", type=Path, help="The launcher's compiler, if it is not next to the launcher."
    )
    parser.add_argument(
        "--machine", type=Path, metavar="FILE.toml",
        help="Also write the costs in force as a machine file for `simulate`.",
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help=argparse.SUPPRESS)
    add_job(
        parser,
        "A launcher that starts ranks to send messages, also between nodes: mpiexec -n 4",
        "launcher",
        False,
    )
    parser.set_defaults(does=_calibrate)


def _calibrate(options: argparse.Namespace) -> int:
    if options.show:
        show(options.dir)
    else:
        run(options.dir, find_sender(options.mpi, options.launcher, options.mpicxx), options.quick)
    if options.machine:
        from oratorio_lab.simulate import machine_export  # noqa: PLC0415  it imports this module

        print(machine_export.write(options.machine, options.dir))
    return 0
