# SPDX-License-Identifier: BSD-3-Clause
"""Reads which parts each method is made of, from the library's description."""

from __future__ import annotations

from dataclasses import dataclass

from oratorio.library import description


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


def rows() -> list[Parts]:
    """Returns the table of methods."""
    return [
        Parts(row["name"], row["description"], **row["parts"], **row["schedule"])
        for row in description.rows("methods")
    ]
