# SPDX-License-Identifier: BSD-3-Clause
"""Checks the members of JSON objects that come from files, so that a wrong file is an error where it is
read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def check(members: Mapping[str, Any], kinds: Mapping[str, type | tuple[type, ...]]) -> None:
    """Raises TypeError if an object lacks one of these members, or has it as another kind of value."""
    for name, kind in kinds.items():
        if not isinstance(members.get(name), kind):
            raise TypeError(f"{name} is {members[name]!r}" if name in members else f"{name} is missing")
