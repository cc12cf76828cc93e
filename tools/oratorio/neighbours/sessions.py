# SPDX-License-Identifier: BSD-3-Clause
"""Runs of tests/programs/sessions.c, which MPICH now and then doesn't let end (docs/neighbours.md)."""

import subprocess
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from oratorio.neighbours.model import RANKS, NoEndError

TRIES, SECONDS = 5, 30  # one takes 0.3 s
Said = TypeVar("Said")


def told(rank: int, what: str) -> str:
    """A line of the program's."""
    return f"rank {rank} {what} MPI_Comm_create_from_group\n"


def host_stays(said: str) -> bool:
    """Whether the ranks wait in a call of the host alone.

    MPICH 5.0.2 now and then stays in MPI_Comm_create_from_group, with no file, too. Then all ranks have
    entered it equally often, so none waits for one that is still elsewhere."""
    lines = Counter(said.splitlines(keepends=True))
    entered = {lines[told(rank, "enters")] for rank in range(RANKS)}
    return len(entered) == 1 and any(
        lines[told(rank, "leaves")] < lines[told(rank, "enters")] for rank in range(RANKS)
    )


def patiently(attempt: Callable[[], Said]) -> Said:
    """Tries again where the host's own call has no end. `attempt` gives a run SECONDS, and raises
    subprocess.TimeoutExpired then, or NoEndError from it."""
    for _ in range(TRIES - 1):
        try:
            return attempt()
        except (subprocess.TimeoutExpired, NoEndError) as endless:
            late = endless if isinstance(endless, subprocess.TimeoutExpired) else endless.__cause__
            if not host_stays(late.output):
                raise
    return attempt()
