# SPDX-License-Identifier: BSD-3-Clause
"""Shows a trace as a table for each file. A collective access of all ranks is one row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from oratorio.markdown import table as table_of
from oratorio.quantity import counted
from oratorio.text_table import aligned
from oratorio.trace.trace import Access, File, call_seconds

MIB = 1 << 20
PHASES = (
    "planning", "awaiting_turn", "extending", "working", "passing_turn", "agreeing", "reporting",
)  # fmt: skip
DETAILS = ("storage", "copying", "waiting")
ALWAYS = ("planning", "working", "agreeing", *DETAILS)


@dataclass
class Row:
    """The accesses of one row: one collective access of all ranks, or all independent accesses with the same
    direction and method."""

    name: str
    accesses: list[Access]

    @property
    def calls(self) -> int:
        """The largest number of accesses of any rank."""
        made: dict[int, int] = defaultdict(int)
        for access in self.accesses:
            made[access.rank] += 1
        return max(made.values())

    @property
    def seconds(self) -> float:
        """The time from the first start to the last end."""
        return max(a.end for a in self.accesses) - min(a.begin for a in self.accesses)

    @property
    def moved(self) -> int:
        return sum(access.args["moved"] for access in self.accesses)

    def most(self, name: str) -> float:
        """Returns the longest time, in seconds, that any rank spent in spans of that name."""
        spent: dict[int, float] = defaultdict(float)
        for access in self.accesses:
            spent[access.rank] += access.spent(name)
        return max(spent.values())

    def sum(self, counter: str) -> int:
        return sum(access.count(counter) for access in self.accesses)


def method_of(access: Access) -> str:
    """Returns the method that did the access; "at once" if the access needed no method."""
    return access.args.get("method", "at once")


def rows_of(file: File) -> list[Row]:
    """Returns the rows of a file's table, in the order in which their first accesses began."""
    groups: dict[tuple, list[Access]] = defaultdict(list)
    for access in file.accesses:
        direction = access.args["direction"]
        if access.collective is None:
            key = ("independent " + direction, method_of(access))
        else:
            key = (f"collective {direction} {access.collective}",)
        groups[key].append(access)
    rows = [Row(key[0], accesses) for key, accesses in groups.items()]
    return sorted(rows, key=lambda row: min(access.begin for access in row.accesses))


def title_of(file: File) -> str:
    """Returns the line above a file's table."""
    begin = min((access.begin for access in file.accesses), default=None)
    first = "no access in the trace" if begin is None else f"first access at {begin:.3f} s"
    where = f"{counted(file.ranks, 'rank')} on {counted(file.nodes, 'node')}"
    text = f"{file.path}: {where}, {first}"
    for name, spent in call_seconds([file]).items():
        text += f", {name} {1e3 * max(spent.values()):.3f} ms"
    if file.dropped_accesses or file.dropped_spans:
        dropped = f"{counted(file.dropped_accesses, 'access')} and {counted(file.dropped_spans, 'span')}"
        text += f"; {dropped} did not fit into the trace"
    if file.dropped_calls:
        text += f"; {counted(file.dropped_calls, 'call')} such as set_view did not fit into the trace"
    if file.dropped_layouts:
        text += (
            f"; {counted(file.dropped_layouts, 'access')} can't be replayed, because the layouts did not fit "
            "into the trace"
        )
    return text


def columns_of(rows: Sequence[Row]) -> list[str]:
    """Returns the phases and details that are columns: those in ALWAYS, and those with a time in some row."""
    return [name for name in (*PHASES, *DETAILS) if name in ALWAYS or any(row.most(name) > 0 for row in rows)]


def heads_of(rows: Sequence[Row]) -> list[str]:
    """Returns the names of all columns; the columns of phases and details are in milliseconds."""
    counts = ["calls", "MiB", "ms", "MiB/s", "rounds", "messages", "storage calls"]
    return ["access", "method", *counts, *(name.replace("_", " ") for name in columns_of(rows))]


def cells_of(row: Row, columns: Sequence[str]) -> list[str]:
    """Returns the text of one row's cells."""
    rate = f"{row.moved / MIB / row.seconds:.0f}" if row.seconds > 0 else ""
    methods = dict.fromkeys(method_of(access) for access in row.accesses)
    cells = [row.name, ", ".join(methods), str(row.calls), f"{row.moved / MIB:.3f}"]
    cells += [f"{1e3 * row.seconds:.3f}", rate, str(max(a.args.get("rounds", 0) for a in row.accesses))]
    cells += [str(row.sum("messages_sent")), str(row.sum("storage_calls"))]
    return cells + [f"{1e3 * row.most(name):.3f}" for name in columns]


def _row_document(row: Row) -> dict[str, Any]:
    return {
        "access": row.name, "methods": list(dict.fromkeys(method_of(access) for access in row.accesses)),
        "calls": row.calls, "bytes": row.moved, "seconds": row.seconds,
        "rounds": max(access.args.get("rounds", 0) for access in row.accesses),
        "messages": row.sum("messages_sent"), "storage_calls": row.sum("storage_calls"),
        "phase_seconds": {name: row.most(name) for name in (*PHASES, *DETAILS)},
    }  # fmt: skip


def document_of(file: File) -> dict[str, Any]:
    """Returns the table of a file for a JSON document."""
    return {
        "path": file.path, "ranks": file.ranks, "nodes": file.nodes,
        "dropped_accesses": file.dropped_accesses, "dropped_spans": file.dropped_spans,
        "dropped_layouts": file.dropped_layouts, "dropped_calls": file.dropped_calls,
        "call_seconds": {name: max(spent.values()) for name, spent in call_seconds([file]).items()},
        "rows": [_row_document(row) for row in rows_of(file)],
    }  # fmt: skip


def text(files: Sequence[File]) -> str:
    """Returns the tables as text for a terminal."""
    lines = []
    for file in files:
        rows = rows_of(file)
        cells = [heads_of(rows), *(cells_of(row, columns_of(rows)) for row in rows)]
        lines.append("\n".join([title_of(file), *aligned(cells, left=(0, 1))]))
    return "\n\n".join(lines)


def markdown(files: Sequence[File]) -> str:
    """Returns the tables as Markdown."""
    lines = []
    for file in files:
        rows = rows_of(file)
        heads = heads_of(rows)
        cells = (cells_of(row, columns_of(rows)) for row in rows)
        lines += [f"**{title_of(file)}**", "", table_of(heads, cells, left=2)]
    return "\n".join(lines)
