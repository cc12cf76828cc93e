# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio count`: runs lab/count, which checks numbers from the papers (messages, pieces, storage calls)
by counting them in plans and cursors, without data or MPI."""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from oratorio.command_line import Parser, within
from oratorio.errors import OratorioError
from oratorio_lab import targets

TARGET = "oratorio_counts"
KIB_A_MIB = 1024


class CountError(OratorioError):
    """Raised if a topic is unknown or counting failed; the message is a sentence for the user."""


@dataclass(frozen=True)
class Topic:
    """A subject that can be counted."""

    name: str
    paper: str
    what: str


@dataclass(frozen=True)
class Fact:
    """A counted number, and the number that a source claims, if any."""

    what: str
    counted: int
    relation: str  # relation of `counted` to `claimed`: "=" or "<="; empty if nothing is claimed
    claimed: int
    whose: str

    @property
    def holds(self) -> bool | None:
        """True if the claim holds; None if there is no claim."""
        if not self.relation:
            return None
        return self.counted == self.claimed if self.relation == "=" else self.counted <= self.claimed


@dataclass(frozen=True)
class Counted:
    """The facts of a topic, and the resources that counting them took."""

    topic: Topic
    facts: tuple[Fact, ...]
    seconds: float  # CPU time of one core
    peak_mib: float

    @property
    def all_hold(self) -> bool:
        return all(fact.holds is not False for fact in self.facts)


def build() -> Path:
    """Builds the counting program and returns its path. Raises TargetError."""
    return targets.build(TARGET, "lab/count")


def parse_fact(line: str) -> Fact:
    """Parses a line that the counting program printed."""
    what, counted, relation, claimed, whose = line.split("\t")
    return Fact(what, int(counted), relation, int(claimed), whose)


def topics(program: Path) -> list[Topic]:
    """Returns all topics of the program."""
    told = subprocess.run([program], capture_output=True, text=True, check=True)
    return [Topic(*line.split("\t")) for line in told.stdout.splitlines()]


def count(program: Path, topic: Topic, ranks: int | None) -> Counted:
    """Runs the program for one topic, and measures the CPU time and memory that it takes. `ranks` replaces
    the numbers of ranks in the paper. Raises CountError."""
    words = [str(program), topic.name, *([str(ranks)] if ranks else [])]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        job = subprocess.Popen(words, stdout=out, stderr=errors)
        _, status, used = os.wait4(job.pid, 0)
        job.returncode = os.waitstatus_to_exitcode(status)
        if job.returncode != 0:
            errors.seek(0)
            why = errors.read().strip()
            raise CountError(f"{topic.name}: {why or f'the program ended with {job.returncode}'}")
        out.seek(0)
        facts = tuple(parse_fact(line) for line in out.read().splitlines())
    return Counted(topic, facts, used.ru_utime + used.ru_stime, used.ru_maxrss / KIB_A_MIB)


def table(counted: Counted) -> Table:
    """Returns a table with a row for each fact."""
    topic = counted.topic
    title = f"{topic.paper}, {topic.name}: {topic.what}"
    shown = Table(title=title, title_justify="left", caption_justify="left")
    shown.caption = f"{counted.seconds:.1f} s of one core, {counted.peak_mib:.0f} MiB"
    shown.add_column("what")
    shown.add_column("counted", justify="right")
    shown.add_column("claimed", justify="right")
    shown.add_column("holds")
    shown.add_column("source")
    for fact in counted.facts:
        said = f"{fact.relation} {fact.claimed:,}" if fact.relation else ""
        holds = {None: "", True: "yes", False: "[red]NO[/red]"}[fact.holds]
        shown.add_row(fact.what, f"{fact.counted:,}", said, holds, fact.whose)
    return shown


def choose(known: Sequence[Topic], words: Sequence[str]) -> list[Topic]:
    """Returns the topics with names or papers in `words`, or all if there are no words. Raises CountError."""
    for word in words:
        if not any(word in (topic.name, topic.paper) for topic in known):
            there = ", ".join(dict.fromkeys(name for t in known for name in (t.paper, t.name)))
            raise CountError(f"no paper or topic {word}; the papers and topics are {there}")
    return [topic for topic in known if not words or {topic.name, topic.paper} & set(words)]


def run(words: Sequence[str], ranks: int | None) -> bool:
    """Counts and prints the topics; returns whether all claims hold."""
    console = Console(width=None if os.isatty(1) else 160, highlight=False)
    program = build()
    all_hold = True
    for topic in choose(topics(program), words):
        counted = count(program, topic, ranks)
        console.print(table(counted))
        all_hold = all_hold and counted.all_hold
    return all_hold


def add_options(parser: Parser) -> None:
    """Adds the options of `count`."""
    parser.add_argument(
        "what",
        nargs="*",
        metavar="TOPIC",
        help="Papers (1995, 2001, 2019, users) or topics; all if not given.",
    )
    parser.add_argument(
        "--ranks",
        type=within(2),
        help="Count only for this number of ranks; the papers' numbers if not given.",
    )
    parser.set_defaults(does=lambda options: 0 if run(options.what, options.ranks) else 1)
