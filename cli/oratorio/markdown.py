# SPDX-License-Identifier: BSD-3-Clause
"""Writes tables in Markdown, and replaces the generated part of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def row(cells: Iterable[str]) -> str:
    """Returns a row of a table."""
    return "| " + " | ".join(cells) + " |"


def table(heads: Sequence[str], rows: Iterable[Iterable[str]], left: int | None = None) -> str:
    """Returns a table, one line per row. If `left` is given, all but the first `left` columns are
    right-aligned."""
    rules = ["---" if left is None or column < left else "---:" for column in range(len(heads))]
    return "".join(f"{row(cells)}\n" for cells in (heads, rules, *rows))


def generated_part(page: str, begin: str, end: str) -> str:
    """Returns the text of a page between two marks."""
    return page.partition(begin)[2].partition(end)[0]


def with_generated_part(page: str, begin: str, end: str, text: str) -> str:
    """Returns the page with `text` between two marks; adds the marks at the end if they are missing."""
    before, _, rest = page.partition(begin)
    return f"{before}{begin}{text}{end}{rest.partition(end)[2]}"
