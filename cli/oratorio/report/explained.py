# SPDX-License-Identifier: BSD-3-Clause
"""Reads what ORATORIO_EXPLAIN=FILE.json has written: how accesses were done and why, remarks, and a last line
of totals.

Each line is a JSON object; docs/user/stability.md documents the keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from oratorio.errors import OratorioError
from oratorio.members import check
from oratorio.quantity import counted

# The members of a line about an access, with their types.
OF_AN_ACCESS = {"path": str, "direction": str, "why": str, "facts": dict, "candidates": list}
TOLD_BY_TRACE = ("hints", "account")  # kinds of lines that are skipped, because the trace has the same facts

OF_A_FILE = ("access", "repeated", "locks", "striping", "hints", "account")


@dataclass
class Candidate:
    """A method that was considered. `milliseconds` is None if the method does not apply."""

    name: str
    milliseconds: float | None
    reason: str


@dataclass
class Decision:
    """How accesses of the same kind were done, and why."""

    path: str
    collective: bool
    direction: str
    method: str  # "at once" if there was nothing to plan
    why: str
    number: int = 0
    times: int = 1
    facts: dict[str, str] = field(default_factory=dict)
    candidates: list[Candidate] = field(default_factory=list)

    @property
    def access(self) -> str:
        return f"{'collective' if self.collective else 'independent'} {self.direction}"

    def candidate(self, name: str) -> Candidate | None:
        return next((one for one in self.candidates if one.name == name), None)


@dataclass(frozen=True)
class Striping:
    """A new file that has too few storage targets."""

    path: str
    bytes: int
    targets: int
    proposed: int
    command: str  # followed by a folder, gives new files there the proposed number


@dataclass
class Explained:
    """The explanations of one run."""

    decisions: list[Decision] = field(default_factory=list)
    # each remark once, in the order in which they first appear
    remarks: list[str] = field(default_factory=list)
    locks: list[str] = field(default_factory=list)  # which locks are used and why, each sentence once
    striping: list[Striping] = field(default_factory=list)
    version: str = ""
    saw: tuple[int, int] | None = None  # numbers of accesses and of files that Oratorio saw on rank 0
    off: bool = False
    opened: bool = False  # a file was opened: its hints, locks or accesses were reported


class ExplainedError(OratorioError):
    """Raised if explanations differ from their format; `told` is what can be read of them."""

    def __init__(self, text: str, told: Explained) -> None:
        super().__init__(text)
        self.told = told


def objects_of(lines: str) -> Iterator[dict[str, Any]]:
    """Yields the object of each line that is a JSON object with a kind. Any other line becomes a remark,
    except an empty line and the beginning of an object that a full disk cut off."""
    for line in lines.split("\n"):  # splitlines() also splits at U+2028 and others, which texts may have
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            said = None
        if isinstance(said, dict) and "kind" in said:
            yield said
        elif line.strip() and not line.startswith('{"'):
            yield {"kind": "remark", "text": line}


def _candidate(said: dict[str, Any]) -> Candidate:
    if said["seconds"] is None:
        return Candidate(said["method"], None, f"does not apply: {said['reason']}")
    return Candidate(said["method"], 1e3 * said["seconds"], said["reason"])


def _decision(said: dict[str, Any]) -> Decision:
    check(said, OF_AN_ACCESS)
    return Decision(
        said["path"],
        said["collective"],
        said["direction"],
        said["method"] or "at once",
        said["why"],
        said["number"],
        facts=said["facts"],
        candidates=[_candidate(one) for one in said["candidates"]],
    )


def _count_again(said: dict[str, Any], decisions: list[Decision]) -> None:
    # Each open of a file numbers its decisions from the start, so the latest decision with this number is
    # meant.
    for decision in reversed(decisions):
        if decision.path == said["path"] and decision.number == said["number"]:
            decision.times += said["times"]
            return


def _add_once(texts: list[str], text: str) -> None:
    if text not in texts:
        texts.append(text)


def _add(said: dict[str, Any], told: Explained) -> None:
    """Adds what one line says. Raises KeyError, TypeError or AttributeError if the line lacks a member."""
    kind = said["kind"]
    told.opened = told.opened or kind in OF_A_FILE
    if kind == "access":
        told.decisions.append(_decision(said))
    elif kind == "repeated":
        _count_again(said, told.decisions)
    elif kind == "end":
        told.version, told.saw = said["version"], (said["accesses"], said["files"])
    elif kind == "locks":
        _add_once(told.locks, said["sentence"])
    elif kind == "striping":
        told.striping.append(
            Striping(said["path"], said["bytes"], said["targets"], said["proposed"], said["command"])
        )
    elif kind == "off":
        told.off = True
    elif kind not in TOLD_BY_TRACE:
        _add_once(told.remarks, said["text"].strip())


def read(lines: str) -> Explained:
    """Parses the text of a file that ORATORIO_EXPLAIN wrote. Raises ExplainedError, which has what was read
    of the other lines, if a line differs from the format."""
    told, faults = Explained(), []
    for said in objects_of(lines):
        try:
            _add(said, told)
        except (KeyError, TypeError, AttributeError) as error:
            faults.append(error)
    if faults:
        raise ExplainedError(
            f"the explanations differ from the format in docs/user/stability.md in "
            f"{counted(len(faults), 'line')}: {faults[0]!r}", told,
        )  # fmt: skip
    return told


def text_of(lines: str) -> str:
    """Returns the text for people that is in these lines, one line after the other."""
    return "".join(f"{said.get('text', '')}".rstrip("\n") + "\n" for said in objects_of(lines))
