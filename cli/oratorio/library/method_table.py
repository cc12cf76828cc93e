# SPDX-License-Identifier: BSD-3-Clause
"""Reads the methods' names from the library's description."""

from __future__ import annotations

from oratorio.library import description


def methods() -> list[str]:
    """Returns `auto` and the names in the table of methods."""
    return ["auto", *description.names("methods")]


def complaint(method: str) -> str:
    """Returns an error message for a method that does not exist; empty for one that does."""
    known = methods()
    if method in known:
        return ""
    import difflib  # noqa: PLC0415  only a mistake needs it

    close = difflib.get_close_matches(method, known, 1)
    meant = f" Did you mean {close[0]}?" if close else ""
    return f"there is no method {method}.{meant} The methods are: {', '.join(known)}"
