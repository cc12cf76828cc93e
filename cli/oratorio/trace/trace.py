# SPDX-License-Identifier: BSD-3-Clause
"""Reads a trace that ORATORIO_TRACE wrote (docs/user/trace.md), and checks that it is complete."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oratorio.errors import OratorioError
from oratorio.machine.room import is_full
from oratorio.members import check
from oratorio.quantity import counted

VERSION = 1
ROUTINES = ("open", "close", "set_view", "set_size", "preallocate", "sync")  # routines that move no data
# The members that all events of files and of accesses have, with their types.
OF_A_FILE = {"path": str, "ranks": int, "placement": list, "nodes": list, "hints": dict}
OF_AN_ACCESS = {"direction": str, "moved": int, "counts": dict}
SPANS = ("phase", "round", "detail")  # categories of events that are parts of an access


class TraceError(OratorioError):
    """Raised if a trace is missing, unreadable or incomplete, or lacks what was requested; the message says
    why."""


@dataclass
class Span:
    """A part of an access; times are in seconds. The span of a message has no duration."""

    name: str
    category: str
    rank: int
    begin: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.begin


@dataclass
class Access:
    """One rank's part of an access; times are in seconds."""

    rank: int  # the rank in the file's communicator
    number: int
    begin: float
    end: float
    args: dict[str, Any]
    process: int  # the rank in MPI_COMM_WORLD
    spans: list[Span] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return self.end - self.begin

    @property
    def collective(self) -> int | None:
        return self.args.get("collective")

    def spent(self, name: str) -> float:
        """Returns the seconds in all spans of that name."""
        return sum(span.seconds for span in self.spans if span.name == name)

    def count(self, name: str) -> int:
        """Returns what the access added to a counter."""
        return int(self.args["counts"].get(name, 0))


@dataclass(frozen=True)
class Call:
    """One rank's call of a routine that moves no data, such as open or close; times are in seconds."""

    name: str
    process: int  # the rank in MPI_COMM_WORLD
    begin: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.begin


@dataclass
class File:
    """The record of a file from one open to the matching close."""

    number: int
    args: dict[str, Any]
    accesses: list[Access] = field(default_factory=list)
    dropped_accesses: int = 0
    dropped_spans: int = 0
    dropped_layouts: int = 0  # collective accesses with incomplete layouts
    shapes: dict[int, bytes] = field(default_factory=dict)  # shapes of layouts, by number
    calls: list[Call] = field(default_factory=list)  # none in a trace of Oratorio 0.2
    dropped_calls: int = 0

    @property
    def path(self) -> str:
        """The path that the program passed."""
        return self.args["path"]

    @property
    def location(self) -> str:
        """The absolute path; in a trace of an older Oratorio, the path that the program passed."""
        return self.args.get("location", self.path)

    @property
    def ranks(self) -> int:
        return self.args["ranks"]

    @property
    def nodes(self) -> int:
        return len(self.args["nodes"])


def _why_cut(path: Path, otherwise: str) -> str:
    """Returns why a trace is incomplete. If there is no room in its folder now, that is the reason. Otherwise
    the reason is `otherwise`, or that the disk was full when the trace was written."""
    try:
        is_without_room = is_full(path.absolute().parent)
    except OSError:
        is_without_room = False
    return f"{path.absolute().parent} is full" if is_without_room else f"{otherwise}, or the disk was full"


def _events(path: Path) -> list[dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise TraceError(
            f"{path} can't be read: {error.strerror}; ORATORIO_TRACE=FILE makes a trace, docs/user/trace.md"
        ) from error
    if not text:
        raise TraceError(f"{path} is empty: {_why_cut(path, 'no file was closed before the run ended')}")
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        if text.startswith('{"displayTimeUnit"') and not text.endswith("]}\n"):
            why = _why_cut(path, "the run was ended while it closed a file")
            raise TraceError(f"{path} ends early, after {len(text)} characters: {why}") from error
        raise TraceError(f"{path} is not a trace of Oratorio: {error}") from error
    head = whole.get("oratorio") if isinstance(whole, dict) else None
    if not isinstance(head, dict) or not isinstance(whole.get("traceEvents"), list):
        raise TraceError(f"{path} is not a trace of Oratorio")
    if head.get("version") != VERSION:
        raise TraceError(f"{path} has version {head.get('version')}; this command reads version {VERSION}")
    return whole["traceEvents"]


def _times(event: dict[str, Any]) -> tuple[float, float]:
    return event["ts"] / 1e6, (event["ts"] + event["dur"]) / 1e6


def _add_spans(spans: list[dict[str, Any]], accesses: dict[tuple[int, int, int], Access]) -> None:
    for event in spans:
        args = event["args"]
        access = accesses[args["file"], event["pid"], args["access"]]
        begin, end = _times(event)
        access.spans.append(Span(event["name"], event["cat"], access.rank, begin, end))


def _check(file: File, end: dict[str, Any] | None) -> None:
    if end is None:
        raise TraceError(f"the last event of {file.path} is missing")
    spans = sum(len(access.spans) for access in file.accesses)
    found = (
        ("accesses", "access", len(file.accesses)), ("spans", "span", spans),
        ("calls", "call", len(file.calls)),
    )  # fmt: skip
    for key, noun, count in found:
        if count != end.get(key, 0):
            raise TraceError(f"{file.path}: {counted(count, noun)} instead of {end[key]}")
    file.dropped_accesses, file.dropped_spans = end["dropped_accesses"], end["dropped_spans"]
    file.dropped_layouts = end.get("dropped_layouts", 0)
    file.dropped_calls = end.get("dropped_calls", 0)


def _files(events: list[dict[str, Any]]) -> Iterator[File]:
    named: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for event in events:
        category = event.get("cat")
        named["span" if category in SPANS else category or event["name"]].append(event)
    files = {}
    for event in named["oratorio_file"]:
        args = event["args"]
        check(args, OF_A_FILE)
        files[args["file"]] = File(args["file"], args)
    accesses = {}
    for event in named["access"]:
        args = event["args"]
        check(args, OF_AN_ACCESS)
        access = Access(args["rank"], args["access"], *_times(event), args, event["pid"])
        accesses[args["file"], event["pid"], args["access"]] = access
        files[args["file"]].accesses.append(access)
    _add_spans(named["span"], accesses)
    for event in named["call"]:
        file = files[event["args"]["file"]]
        file.calls.append(Call(event["name"], event["pid"], *_times(event)))
    for event in named["oratorio_shape"]:
        args = event["args"]
        files[args["file"]].shapes[args["shape"]] = base64.b64decode(args["bytes"], validate=True)
    ends = {event["args"]["file"]: event["args"] for event in named["oratorio_end"]}
    for file in files.values():
        _check(file, ends.get(file.number))
        yield file


def read(path: Path) -> list[File]:
    """Returns the files of a trace. Raises TraceError if the trace is unreadable or incomplete."""
    events = _events(path)
    try:
        return list(_files(events))
    except (KeyError, TypeError, AttributeError, binascii.Error) as error:
        raise TraceError(
            f"{path}: an event differs from the format in docs/user/trace.md: {error!r}"
        ) from error
    except TraceError as error:
        raise TraceError(f"{path} is incomplete: {error}") from error


def files_named(files: Sequence[File], name: str | None) -> list[File]:
    """Returns the files with `name` in their paths, or all files if `name` is None. Raises TraceError if
    there is none."""
    found = [file for file in files if name is None or name in file.path]
    if not found:
        raise TraceError("the trace has no file" + (f" whose path contains '{name}'" if name else ""))
    return found


def call_seconds(files: Sequence[File]) -> dict[str, dict[int, float]]:
    """Returns routine -> rank of MPI_COMM_WORLD -> the seconds that the rank spent in the routine. Routines
    come in the order of ROUTINES; routines that no rank called are left out."""
    found: dict[str, dict[int, float]] = {}
    for name in ROUTINES:
        spent: dict[int, float] = defaultdict(float)
        for call in (call for file in files for call in file.calls if call.name == name):
            spent[call.process] += call.seconds
        if spent:
            found[name] = dict(sorted(spent.items()))
    return found


def began(path: Path) -> float | None:
    """Returns when a trace began, in seconds since 1970; None if the trace does not state it."""
    with path.open(encoding="utf-8", errors="replace") as file:
        found = re.search(r'"began":\s*(\d+)', file.read(400))
    return int(found[1]) / 1e6 if found else None
