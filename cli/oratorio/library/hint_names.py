# SPDX-License-Identifier: BSD-3-Clause
"""The names of hints and environment variables, and suggestions for misspelt ones."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import cache

from oratorio.library import description


@cache
def variables() -> tuple[str, ...]:
    """Returns the names of Oratorio's own environment variables."""
    return tuple(sorted(description.names("variables")))


@cache
def hints() -> tuple[str, ...]:
    """Returns the keys of all hints that the library knows."""
    return tuple(dict.fromkeys(row["key"] for row in description.rows("hints")))


def meant(word: str, known: tuple[str, ...]) -> str:
    """Returns the known name nearest to an unknown one; empty if the word is known or no name is near."""
    if word in known:
        return ""
    by_small = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), by_small, 1, cutoff=0.8)
    return by_small[close[0]] if close else ""


def misspelt_hint(key: str) -> str:
    """Returns a sentence that suggests the right key; empty if the key is known, or no known key is near."""
    instead = meant(key, hints())
    return f"hint {key} isn't known; did you mean {instead}?" if instead else ""


def misspelt_variables(environ: Mapping[str, str]) -> list[str]:
    """Returns a sentence for each variable that seems to be a misspelt one of Oratorio."""
    found = []
    for name in sorted(environ):
        instead = meant(name, variables()) if name.upper().startswith("ORATORIO_") else ""
        if instead:
            found.append(f"{name} isn't known; did you mean {instead}?")
    return found
