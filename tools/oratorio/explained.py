# SPDX-License-Identifier: BSD-3-Clause
"""Reads the output of ORATORIO_EXPLAIN: how accesses were done and why, remarks, the last line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

DONE = re.compile(r"(?P<path>.*): (?P<kind>collective|independent) (?P<direction>read|write): (?P<how>.*)")
METHOD = re.compile(r"method (?P<name>\w+) \((?P<why>.*)\)")
CANDIDATE = re.compile(r"    (?P<name>\w+) +(?:(?P<ms>[\d.]+) ms(?:, )?)?(?P<reason>.*)")
AGAIN = re.compile(r"(?P<path>.*): number (?P<number>\d+) was done (?P<times>\d+) times? more")
SAW = re.compile(r"Oratorio (?P<version>\S+) saw (?P<accesses>\d+) access(?:es)? to (?P<files>\d+) files?")
LOCKS = re.compile(r".*?: (?P<sentence>[^:]+: [^:]+; using the (?:job|file system)'s locks.*)")
OFF = "Oratorio is off"
LEFT_OUT = ("hints given", "closed; what it took")  # blocks that the trace reports in more detail


@dataclass
class Candidate:
    """A method that was considered; it has no milliseconds if it does not apply."""

    name: str
    milliseconds: float | None
    reason: str


@dataclass
class Decision:
    """How accesses of the same kind were done."""

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


@dataclass
class Explained:
    """The explanations of one run."""

    decisions: list[Decision] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)  # each once, in the order of their appearance
    locks: list[str] = field(default_factory=list)  # which locks are used and why, each sentence once
    version: str = ""
    saw: tuple[int, int] | None = None  # accesses and files of rank 0
    off: bool = False


def _blocks(text: str) -> list[tuple[str, list[str]]]:
    """Returns (first line, lines indented below it) of each block."""
    blocks: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("  ") and blocks:
            blocks[-1][1].append(line)
        elif line.strip():
            blocks.append((line.removeprefix("oratorio: "), []))
    return blocks


def _decision(found: re.Match[str], below: list[str]) -> Decision:
    named = METHOD.fullmatch(found["how"])
    method, why = (named["name"], named["why"]) if named else ("at once", found["how"])
    decision = Decision(found["path"], found["kind"] == "collective", found["direction"], method, why)
    for line in below:
        candidate = CANDIDATE.fullmatch(line)
        if candidate:
            cost = float(candidate["ms"]) if candidate["ms"] else None
            decision.candidates.append(Candidate(candidate["name"], cost, candidate["reason"]))
            continue
        key, value = line[2:14].strip(), line[15:].strip()
        if key == "number":
            decision.number = int(value.split()[0])
        elif key != "candidates":
            decision.facts[key] = value
    return decision


def _count_again(found: re.Match[str], decisions: list[Decision]) -> None:
    for decision in reversed(decisions):  # numbers start again at each open, so the latest decision counts
        if decision.path == found["path"] and decision.number == int(found["number"]):
            decision.times += int(found["times"])
            return


def read(text: str) -> Explained:
    """Reads the text of a file or of standard error; lines of other programs become remarks at worst."""
    told = Explained()
    for head, below in _blocks(text):
        if found := DONE.fullmatch(head):
            told.decisions.append(_decision(found, below))
        elif found := AGAIN.fullmatch(head):
            _count_again(found, told.decisions)
        elif found := SAW.match(head):
            told.version, told.saw = found["version"], (int(found["accesses"]), int(found["files"]))
        elif found := LOCKS.fullmatch(head):
            if found["sentence"] not in told.locks:
                told.locks.append(found["sentence"])
        elif head.startswith(OFF):
            told.off = True
        elif not any(known in head for known in LEFT_OUT) and head not in told.remarks:
            told.remarks.append(head)
    return told
