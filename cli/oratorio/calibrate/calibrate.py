# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio calibrate`: measures the constants of the cost model (src/plan/costs.def) for this machine and
the file system of a folder, and writes them where the library looks for them (src/bind/process.cpp).

The code that measures (lab/calibrate) is part of Oratorio's libraries. A separate process (child.py) loads a
library and calls it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from oratorio import small_file, whole_file
from oratorio.calibrate.messages import CHILD, Sender
from oratorio.errors import OratorioError
from oratorio.launch.hosts import TIMED_OUT, run_limited
from oratorio.launch.programs import FLAVOUR_NAMES
from oratorio.machine.costs import names_of, values_of
from oratorio.paths import LIBRARIES
from oratorio.progress import Tell

LONGEST_SECONDS = 600  # enough for a slow file system on a busy machine
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
        """The names of the files of costs that the library reads, the more specific one first."""
        return names_of(self.machine, self.file_system)


@dataclass(frozen=True)
class Constant:
    """A constant of the cost model: the value in use, in nanoseconds, and what costs.def says about it."""

    value: float
    meaning: str


@dataclass
class Found:
    """The measured constants, and the reasons why other constants were not measured."""

    values: dict[str, float] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)

    def take(self, words: list[str]) -> None:
        """Adds the result in a line of a measurement's output, split into words. Ignores other lines."""
        if len(words) == 3 and words[0] == "measured":
            self.values[words[1]] = float(words[2])
        elif len(words) == 3 and words[0] == "kept":
            self.kept[words[1]] = words[2]


def _command(*words: str | Path) -> list[str]:
    """Returns the command line that runs a command of lab/calibrate without MPI. Raises CalibrateError if no
    library is built."""
    for flavour in FLAVOUR_NAMES:
        library = LIBRARIES / f"liboratorio-{flavour}.so"
        if library.exists():  # the library of each flavour has these commands
            return [sys.executable, *map(str, (CHILD, library, *words))]
    raise CalibrateError(
        f"{LIBRARIES} contains no Oratorio library; build or install one (docs/user/install.md)"
    )


def _ask(*words: str | Path, text: str = "") -> subprocess.CompletedProcess[str]:
    done = subprocess.run(_command(*words), input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CalibrateError(f"{words[0]} failed: {done.stderr.strip() or done.returncode}")
    return done


def place_of(folder: Path) -> Place:
    return Place(*_ask("place", folder).stdout.rstrip("\n").split("\t"))


def read_costs(folder: Path, text: str) -> tuple[dict[str, Constant], list[str]]:
    """Returns the constants that the library would use in the folder with `text` as the file of costs, and
    the library's warnings about that text."""
    done = _ask("costs", folder, text=text)
    lines = filter(None, map(LINE.fullmatch, done.stdout.splitlines()))
    constants = {line["name"]: Constant(float(line["value"]), line["meaning"]) for line in lines}
    return constants, done.stderr.splitlines()


def measure(folder: Path, quick: bool, told: Tell) -> Found:
    """Measures all constants except those of messages, and reports the progress to `told`. Raises
    CalibrateError."""
    found = Found()
    words = ("measure", folder, *(["--quick"] if quick else []))
    command = ["timeout", "--foreground", str(LONGEST_SECONDS), *_command(*words)]
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


def run_in_ranks(sender: Sender, *words: str) -> tuple[subprocess.CompletedProcess[str], str]:
    """Runs a command of lab/calibrate in the sender's ranks, and returns the finished job and, for a message,
    what went wrong if it failed."""
    command = sender.command(*words)
    try:
        done = run_limited(command, LONGEST_SECONDS)
        problem = done.stderr.strip()[-300:] or f"exit code {done.returncode}"
    except subprocess.TimeoutExpired as late:
        done = subprocess.CompletedProcess(command, TIMED_OUT, late.stdout, late.stderr)
        problem = f"still running after {LONGEST_SECONDS} s"
    return done, f"{sender.name}: {problem}"


def measure_messages(sender: Sender, quick: bool) -> Found:
    """Measures messages between ranks of the sender's MPI. A constant that could not be measured has the
    reason in `kept` and no value."""
    found = Found()
    size = ("1048576", "1") if quick else ("67108864", "5")
    done, problem = run_in_ranks(sender, "messages", *size)
    for line in done.stdout.splitlines():
        found.take(line.split("\t"))
    for name in MESSAGE_NAMES:
        if name not in found.values:
            found.kept.setdefault(name, problem)
    return found


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


def make_folder(folder: Path) -> None:
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
    try:
        whole_file.write(path, head + "".join(lines))
    except OSError as error:
        raise CalibrateError(f"{path} can't be written: {error.strerror}") from None


def keep_those_between_nodes(found: Found, file: Path) -> None:
    """Adds to `found` each constant between nodes that it lacks and that an earlier calibration wrote to
    `file`, because a calibration on a single node can't measure these constants."""
    try:
        known = values_of(small_file.read(file))
    except OSError:
        return
    for name in BETWEEN_NODES:
        if name in known and name not in found.values:
            found.values[name] = known[name]


def measure_all(folder: Path, sender: Sender | None, quick: bool, told: Tell) -> Found:
    """Measures all constants; without a sender, all except those of messages. Reports the progress to `told`.
    Raises CalibrateError."""
    own = 1 - SHARE_OF_MESSAGES
    found = measure(folder, quick, lambda share, what: told(share * own, what))
    if sender is None:
        found.kept |= dict.fromkeys(MESSAGE_NAMES, "this machine has no MPI")
        return found
    told(own, f"messages of {sender.name}")
    messages = measure_messages(sender, quick)
    return Found({**found.values, **messages.values}, {**found.kept, **messages.kept})
