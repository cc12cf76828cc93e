# SPDX-License-Identifier: BSD-3-Clause
"""Reads which parts each method is made of, from src/plan/methods.cpp."""

from __future__ import annotations

import re
from dataclasses import dataclass

from oratorio.method_table import METHODS_FILE

ROW = re.compile(r'\bMethod\{\s*\.name = "(\w+)"(.*?)\},?\n(?=    Method|\};)', re.DOTALL)


@dataclass(frozen=True)
class Parts:
    """A row of the table of methods; fields that the row does not name have the defaults of
    plan/methods.hpp."""

    name: str
    summary: str
    request: str = "cursor"
    domains: str = "even"
    graph: str = "dense"
    exchange: str = "none"
    layers: str = "one"
    storage: str = "buffered"
    read_ahead: str = "none"
    slots: int = 1  # 0: as many as kSharedSlots allows on the node
    io_thread: bool = False
    aggregators_max: int = 0  # 0: as many as plan/aggregators returns
    all_aggregate: bool = False
    slot_is_block: bool = False
    by_place: bool = False  # rounds in the order in which the file lies on the device
    in_turns: bool = False


def _parts(name: str, row: str) -> Parts:
    summary = re.search(r'\.summary = "([^"]*)"', row)
    fields = dict(re.findall(r"\.(\w+) = \w+Kind::(\w+)", row))
    flags = {key: True for key in re.findall(r"\.(\w+) = true", row) if key in Parts.__dataclass_fields__}
    numbers = {
        key: int(value) if value.isdigit() else 0
        for key, value in re.findall(r"\.(slots|aggregators_max) = ([\w:]+)", row)
    }
    return Parts(
        name, summary[1] if summary else "", **fields, **flags, **numbers, by_place=".order = by_place" in row
    )


def rows() -> list[Parts]:
    """Returns the table of methods."""
    return [_parts(*found) for found in ROW.findall(METHODS_FILE.read_text())]
