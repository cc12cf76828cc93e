# SPDX-License-Identifier: BSD-3-Clause
"""Writes tables as text for a terminal."""

from __future__ import annotations

from collections.abc import Container, Sequence


def aligned(rows: Sequence[Sequence[str]], left: Container[int] = (0,)) -> list[str]:
    """Returns a line for each row, padded so that columns line up. Columns in `left` are left-aligned, all
    others right-aligned."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths))  # noqa: B905  Python 3.9
        ]
        lines.append("  ".join(cells).rstrip())
    return lines
