# SPDX-License-Identifier: BSD-3-Clause
"""Reads and writes texts with hints by the library's rules (src/hints)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from oratorio.library import description

BLANKS = " \t\r\n"  # what trimmed() removes (src/base/string_util.hpp)
SEPARATORS = ";\n"
BEFORE_KEY = re.compile(r",(?=[^,]*=)")


def parts_of(text: str) -> list[str]:
    """Returns the parts of ORATORIO_HINTS without blanks around them: key=value, or text that the library
    ignores. Splits as oratorio_pairs() does (src/hints/pairs.hpp): at commas only if there is no other
    separator, and only where a key follows."""
    if set(SEPARATORS) & set(text):
        parts = [part.strip(BLANKS) for part in re.split(f"[{SEPARATORS}]", text)]
    else:
        parts = [part.strip(BLANKS + ",") for part in BEFORE_KEY.split(text)]
    return [part for part in parts if part]


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


def pair_of(part: str) -> tuple[str, str]:
    """Returns the key and the value of a part of ORATORIO_HINTS."""
    key, _, value = part.partition("=")
    return key.strip(BLANKS), value.strip(BLANKS)


def _targets_of(key: str) -> set[str]:
    """Returns the keys that `key` sets: those that it stands for, or `key` itself if it stands for none."""
    rows = [row for row in description.rows("hints") if row["key"] == key and "target" in row]
    return {row["target"] for row in rows} or {key}


def _kept(weaker: Sequence[str], stronger: Sequence[str]) -> list[str]:
    """Returns the weaker parts of ORATORIO_HINTS that the stronger ones don't replace, by the library's rule
    for two sources of hints (overlay() in src/hints/hint_sources.cpp)."""
    replaced = [_targets_of(pair_of(part)[0]) for part in stronger]
    return [part for part in weaker if not any(_targets_of(pair_of(part)[0]) <= one for one in replaced)]


def overlaid(weaker: Sequence[str], stronger: Sequence[str]) -> list[str]:
    """Returns the stronger parts of ORATORIO_HINTS and those weaker ones that they don't replace. If a key is
    given twice in one text, the library uses its first value."""
    return [*stronger, *_kept(weaker, stronger)]


def last_given(hints: Sequence[str]) -> list[str]:
    """Returns the hints of a command line that no later one replaces, so that the last value of a
    key counts."""
    parts: list[str] = []
    for hint in hints:
        parts = [*_kept(parts, [hint]), hint]
    return parts


def hints_of_file(text: str) -> tuple[dict[str, str], list[str]]:
    """Returns the hints in the text of a file for ROMIO_HINTS, and the lines that the library ignores, as
    romio_file() reads them (src/hints/hint_sources.cpp): lines of a key and a value; '#' begins a comment."""
    hints: dict[str, str] = {}
    ignored = []
    for line in text.split("\n"):
        entry = line.partition("#")[0].strip(BLANKS)
        key, blank, value = entry.replace("\t", " ").partition(" ")
        if "\0" in line or (entry and not blank):
            ignored.append(line.strip(BLANKS))
        elif entry:
            hints.setdefault(key, value.strip(BLANKS))
    return hints, ignored
