# SPDX-License-Identifier: BSD-3-Clause
"""Runs `oratorio advise`: reads a Darshan log and prints advice and an estimate. Nothing is run."""

from __future__ import annotations

import argparse
import textwrap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from oratorio.advise import log as darshan_log
from oratorio.advise.estimate import GAIN_LEAST, Estimate, Rate, estimates_of, rates_of
from oratorio.advise.log import Log, Record, by_name, total
from oratorio.command_line import Parser
from oratorio.document import add_json, print_document
from oratorio.quantity import amount, counted
from oratorio.report.access_facts import FileFacts, JobFacts
from oratorio.report.access_rules import RULES
from oratorio.report.finding import Advice

WIDTH = 100
FILES_MOST = 5  # at most this many files are shown with estimates
SIEVED = 1.5  # storage calls that move at least this many times the program's bytes count as sieving
LEAST = 0.02  # advice about a smaller share of the time is left out


def add_options(parser: Parser) -> None:
    """Adds the options of `advise`."""
    parser.add_argument("log", type=Path, metavar="JOB.darshan", help="The log that Darshan wrote for a job.")
    add_json(parser)
    parser.set_defaults(does=print_advice)


def advise(job: JobFacts) -> list[Advice]:
    """Returns the advice about a job, largest time first. Advice about less than the share LEAST of the time
    in files is left out."""
    least = LEAST * sum(file.seconds + file.metadata_seconds for file in job.files)
    found = [said for rule in RULES if (said := rule(job)) and said.seconds >= least]
    return sorted(found, key=lambda said: -said.seconds)


def _wrapped(text: str, indent: int = 0, more: int = 0) -> str:
    first, rest = " " * indent, " " * (indent + more)
    return textwrap.fill(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def _head(log: Log, job: JobFacts, path: Path) -> list[str]:
    mpi = {record.name for record in log.of("MPI-IO")}
    other = sum(1 for file in job.files if file.path not in mpi and file.streams)
    trace = "with" if log.has_trace() else "without"
    lines = [
        f"{path.name}: {counted(log.processes, 'process')}, {log.seconds:.0f} s; "
        f"{counted(len(mpi), 'file')} through MPI-IO, {other} by POSIX calls alone; {trace} DXT."
    ]
    if not job.files:
        lines.append("The log has no records of MPI-IO or POSIX calls, so there is nothing to advise.")
    elif not mpi:
        lines.append(
            "Oratorio serves only MPI-IO, which the job did not use, so it would have made no difference."
        )
    return lines


def _advice(found: Sequence[Advice]) -> list[str]:
    if not found:
        return ["", "What would make it faster: nothing stands out."]
    lines = ["", "What would make it faster"]
    for number, one in enumerate(found, 1):
        lines += [_wrapped(f"{number}. {one.sees}", 0, 3), _wrapped(one.tries, 3)]
        lines += [_wrapped(f"{name + ':':<8}{line}", 3, 8) for name, line in one.changes.items()]
    return lines


def seconds_text(seconds: float) -> str:
    """Formats seconds for people."""
    return f"{seconds:.0f} s" if seconds >= 100 else f"{seconds:.2g} s"


def _method(file: FileFacts) -> str:
    """Returns sentences that say how Oratorio accesses a file by default, if the program stays as it is."""
    kinds = {stream.is_collective for stream in file.streams}
    if kinds == {False}:
        return (
            "all accesses are independent: Oratorio would have made the same storage calls. "
            "It joins only collective accesses."
        )
    aggregated = (
        "Oratorio would have aggregated its collective accesses where that is faster, by default on two to "
        "eight ranks per node"
    )
    if kinds == {True}:
        return aggregated + "."
    return aggregated + ", and made the same storage calls for its independent ones."


def _most(log: Log, file: FileFacts, posix: Sequence[Record]) -> str:
    """Returns sentences that say what share of the job a file takes, which bounds the possible gain."""
    seconds = file.seconds + file.metadata_seconds
    share = min(1.0, seconds / (log.seconds * log.processes)) if log.seconds else 0.0
    stored = total(posix, "POSIX_F_READ_TIME", "POSIX_F_WRITE_TIME")
    text = f"The processes spent {seconds_text(seconds)} in MPI-IO"
    if stored:
        text += f", {seconds_text(stored)} of it in storage calls"
    if 0 < share < 1:
        text += (
            f". That is about {100 * share:.0f} % of the job, which would be at most "
            f"{1 / (1 - share):.2g} times as fast without any of it"
        )
    return text + "."


def _sieved(file: FileFacts, posix: Sequence[Record]) -> str:
    """Returns sentences that compare the bytes of the program with those of the storage calls; empty without
    sieving."""
    loaded, stored = (total(posix, f"POSIX_BYTES_{name}") for name in ("READ", "WRITTEN"))
    moved = {d: sum(s.moved for s in file.streams if s.direction == d) for d in ("read", "write")}
    if loaded + stored < SIEVED * sum(moved.values()):
        return ""
    return (
        f" The program read {amount(moved['read'])} and wrote {amount(moved['write'])}, but the MPI library "
        f"read {amount(loaded)} and wrote {amount(stored)}, as data sieving does to fill holes. In "
        "collective accesses Oratorio does that only where all ranks together leave holes."
    )


def _gain(one: Estimate) -> str:
    if one.after is None:
        return f"No estimate: {one.reason}."
    usual, least, most = one.gains
    if most < GAIN_LEAST:
        return f"Joined into {one.calls_after}, they would not have been faster."
    after, shortest, longest = map(seconds_text, one.after)
    low = "perhaps no faster" if least < 1 else f"at least {least:.2g} times"
    return (
        f"Estimate for about {counted(one.calls_after, 'joined call')} and for moving the data to their "
        f"ranks: {after} ({shortest} to {longest}), {usual:.2g} times as fast ({low}, at most {most:.2g} "
        "times)."
    )


BASIS = (
    "An estimate uses this rate for the joined calls, and 0.25 to 4 GiB/s for moving the data to the ranks "
    "that make them. Its range comes from the middle 80 % of the samples. With fewer than five samples it "
    "comes from all of them, and with a single one it is a factor of 3 both ways. The estimate leaves out "
    "waiting for other ranks, contention and the file system's cache. See docs/user/advise.md."
)


def _basis(rates: Mapping[str, Rate]) -> list[str]:
    lines = [
        _wrapped(
            f"Rate of {direction}s of at least 1 MiB in this log: {amount(rate.usual)}/s of one process "
            f"({amount(rate.low)}/s to {amount(rate.high)}/s, {counted(rate.samples, 'sample')}).", 0, 2,
        )
        for direction, rate in rates.items()
    ]  # fmt: skip
    return ["", *lines, _wrapped(BASIS)] if lines else []


def _calls(one: Estimate) -> str:
    return (
        f"{one.direction}s: {counted(one.calls, 'storage call')} of {amount(one.mean)} on average took "
        f"{seconds_text(one.seconds)}, summed over all processes. {_gain(one)}"
    )


def _estimates(log: Log, job: JobFacts) -> list[str]:
    found: dict[str, list[Estimate]] = defaultdict(list)
    rates, posix = rates_of(log), by_name(log.of("POSIX"))
    for one in estimates_of(log, rates):
        found[one.name].append(one)
    if not found:
        return []
    lines = ["", "What Oratorio would have done"]
    shown = sorted((f for f in job.files if f.path in found), key=lambda f: -f.seconds)[:FILES_MOST]
    for file in shown:
        stored = posix.get(file.path, [])
        text = f"{file.name}: {_method(file)} {_most(log, file, stored)}{_sieved(file, stored)}"
        lines.append(_wrapped(text, 0, 2))
        lines += [_wrapped(_calls(one), 2, 2) for one in found[file.path]]
    if len(found) > FILES_MOST:
        lines.append(f"Not shown: {counted(len(found) - FILES_MOST, 'file')} with less time.")
    used = {one.direction for file in shown for one in found[file.path] if one.after}
    return lines + _basis({d: rate for d, rate in rates.items() if rate and d in used})


def text_of(log: Log, path: Path) -> str:
    """Returns what the command prints about a log."""
    job = darshan_log.facts_of(log)
    lines = [*_head(log, job, path)]
    if job.files:
        lines += [*_advice(advise(job)), *_estimates(log, job)]
    if log.processes == 1:
        lines += ["", "The job had one process: collective calls have nothing to join."]
    return "\n".join(lines) + "\n"


def document_of(log: Log) -> dict[str, Any]:
    """Returns the members of the JSON document that are about a log."""
    job, mpi = darshan_log.facts_of(log), {record.name for record in log.of("MPI-IO")}
    files = [
        {
            "path": file.path, "mpi_io": file.path in mpi, "seconds": file.seconds,
            "metadata_seconds": file.metadata_seconds,
            "bytes": {d: sum(s.moved for s in file.streams if s.direction == d) for d in ("read", "write")},
        }
        for file in job.files
    ]  # fmt: skip
    estimates = [
        {
            "path": one.name, "direction": one.direction, "calls": one.calls, "bytes": one.moved,
            "seconds": one.seconds, "calls_after": one.calls_after, "seconds_after": one.after,
            "reason": one.reason or None,
        }
        for one in estimates_of(log, rates_of(log))
    ]  # fmt: skip
    return {
        "processes": log.processes, "seconds": log.seconds, "has_dxt": log.has_trace(), "files": files,
        "advice": [asdict(advice) for advice in advise(job)], "estimates": estimates,
    }  # fmt: skip


def print_advice(options: argparse.Namespace) -> int:
    """Prints the advice about a log. Raises OratorioError."""
    log = darshan_log.read(options.log)
    if options.json:
        print_document("advise", log=str(options.log), **document_of(log))
    else:
        print(text_of(log, options.log), end="")
    return 0
