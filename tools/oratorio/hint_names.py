# SPDX-License-Identifier: BSD-3-Clause
"""The names of hints and environment variables, and suggestions for misspelt ones."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from functools import cache

from oratorio.paths import INSTALLED, IS_INSTALLED, ROOT

HINTS_FILE = INSTALLED / "hints.def" if IS_INSTALLED else ROOT / "src/file/hints.def"
# The same list as in src/file/misspelt.cpp.
VARIABLES = (
    "ORATORIO_COSTS", "ORATORIO_DISABLE", "ORATORIO_EXPLAIN", "ORATORIO_HINTS", "ORATORIO_METHOD",
    "ORATORIO_PRELOAD", "ORATORIO_QUIET", "ORATORIO_RANKS_PER_NODE", "ORATORIO_TRACE", "ORATORIO_WAIT_NOTICE",
)  # fmt: skip


@cache
def hints() -> tuple[str, ...]:
    """Returns all known keys."""
    text = HINTS_FILE.read_text()
    found = re.findall(r"^(?:HINT|SYNONYM|MEANS|REPORTED|ACCEPTED)\((\w+),", text, re.MULTILINE)
    return tuple(dict.fromkeys(found))


def meant(word: str, known: tuple[str, ...]) -> str:
    """Returns the known name nearest to an unknown one; empty if the word is known or no name is near."""
    if word in known:
        return ""
    by_small = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), by_small, 1, cutoff=0.8)
    return by_small[close[0]] if close else ""


def misspelt_hint(key: str) -> str:
    """Returns a sentence that suggests the right key; empty if no key is near."""
    instead = meant(key, hints())
    return f"hint {key} isn't known; did you mean {instead}?" if instead else ""


def misspelt_variables(environ: Mapping[str, str]) -> list[str]:
    """Returns a sentence for each misspelt variable."""
    found = []
    for name in sorted(environ):
        instead = meant(name, VARIABLES) if name.upper().startswith("ORATORIO_") else ""
        if instead:
            found.append(f"{name} isn't known; did you mean {instead}?")
    return found
