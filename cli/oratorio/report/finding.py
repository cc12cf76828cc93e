# SPDX-License-Identifier: BSD-3-Clause
"""A piece of advice, and the thresholds of the rules that give advice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

KIB = 1 << 10
SMALL_PIECE = 4 * KIB
MANY_CALLS = 32
# A finding below this share, of the access time or of the bytes moved, is not reported. Advice that concerns
# an unknown time counts as this share of the time.
NOTED = 0.1
LARGE = 0.3


@dataclass(frozen=True)
class Advice:
    """The observation of a rule, the change to try, and the page that explains both."""

    rule: str
    sees: str
    tries: str
    page: str = "user/symptoms.md"
    seconds: float = 0.0  # the time that the advice concerns, summed over all ranks
    changes: Mapping[str, str] = field(default_factory=dict)  # interface, such as h5py -> the line to change
