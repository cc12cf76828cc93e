# SPDX-License-Identifier: BSD-3-Clause
"""Runs tests/programs/sessions.c, in which MPICH now and then hangs (docs/user/neighbours.md)."""

import subprocess
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from oratorio_lab.interop.model import RANKS, NoEndError

TRIES, SECONDS = 5, 30  # SECONDS limits a run, which takes 0.3 s if it does not hang
Said = TypeVar("Said")


def told(rank: int, what: str) -> str:
    """Returns the line that the program prints when a rank enters or leaves MPI_Comm_create_from_group."""
    return f"rank {rank} {what} MPI_Comm_create_from_group\n"


def host_stays(said: str) -> bool:
    """Returns whether the ranks hang in the host's MPI_Comm_create_from_group, judging by its output.

    MPICH 5.0.2 now and then hangs in MPI_Comm_create_from_group, even without a file. Then all ranks have
    entered it equally often, so none waits for a rank that is still elsewhere.
    """
    lines = Counter(said.splitlines(keepends=True))
    entered = {lines[told(rank, "enters")] for rank in range(RANKS)}
    return len(entered) == 1 and any(
        lines[told(rank, "leaves")] < lines[told(rank, "enters")] for rank in range(RANKS)
    )


def patiently(attempt: Callable[[], Said]) -> Said:
    """Returns the result of `attempt`; calls it up to TRIES times if the host's MPI_Comm_create_from_group
    hangs. `attempt` must raise subprocess.TimeoutExpired, or a NoEndError caused by it, after SECONDS."""
    for _ in range(TRIES - 1):
        try:
            return attempt()
        except (subprocess.TimeoutExpired, NoEndError) as endless:
            late = endless if isinstance(endless, subprocess.TimeoutExpired) else endless.__cause__
            if not host_stays(late.output):
                raise
    return attempt()
