# SPDX-License-Identifier: BSD-3-Clause
"""Texts with hints, by the rules by which the library reads them (src/hints)."""

from __future__ import annotations

from collections.abc import Sequence

BLANKS = " \t\r\n"  # what trimmed() removes (src/base/string_util.hpp)
SEPARATORS = ";\n"


def complaint(hint: str) -> str:
    """Returns why a hint of the command line can't be passed in ORATORIO_HINTS; empty if it can."""
    key, equals, _ = hint.partition("=")
    if key.strip(BLANKS) and equals and not set(SEPARATORS) & set(hint):
        return ""
    return f"a hint must be key=value, without ';' or a line end, not {hint}"


def joined(parts: Sequence[str]) -> str:
    """Returns the text of ORATORIO_HINTS with these parts. A ';' in it keeps the library from splitting it at
    commas."""
    text = ";".join(parts)
    return f"{text};" if "," in text and len(parts) == 1 else text
