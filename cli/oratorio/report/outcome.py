# SPDX-License-Identifier: BSD-3-Clause
"""Says why a run has no recorded accesses, and which line of its output says most about a failure."""

from __future__ import annotations

import re

from oratorio.quantity import counted
from oratorio.report.facts import Run

LINE_MOST = 200  # at most this many characters of a line are shown
# Beginnings of lines that launchers print about any failed program.
OF_LAUNCHERS = re.compile(
    r"[=\-*+ ]*$"
    r"|= +[A-Z]"
    r"|YOUR APPLICATION TERMINATED WITH THE EXIT"
    r"|This typically refers to a problem with|Please see the FAQ page"
    r"|Primary job +terminated|a non-zero exit code|Per user-direction|\w+ detected that one or more proc"
    r"|thus causing|causing the job|the job to be terminated|Process name:|Exit code:|Local abort before"
    r"|MPI_ABORT was invoked|with errorcode|NOTE: invoking MPI_ABORT|You may or may not see|exactly when Open"
    r"|srun: (error: .*: task|launch/slurm|Terminating|Job step aborted)|slurmstepd:"
)
OF_EXITS = ("EXIT STRING", "Exit code:", "exited on signal")


def last_words(said: str) -> str:
    """Returns the last line of a program's output that isn't from its launcher; a line from the launcher if
    there is no other."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    own = [line for line in lines if not OF_LAUNCHERS.match(line)]
    exits = [line for line in lines if any(sign in line for sign in OF_EXITS)]
    return (own or exits or lines or ["no output"])[-1][:LINE_MOST]


def why_nothing(run: Run) -> tuple[str, str]:
    """Returns why a run has no recorded accesses, and what to do."""
    told, code = run.explained, f", with exit code {run.exit_code}" if run.exit_code else ""
    accesses, files = told.saw or (0, 0)
    reasons = (
        (
            run.full_folder,
            f"the recording is missing or incomplete, because {run.full_folder} is full",
            "free space, or name a page in a folder with room",
        ),
        (told.off, "Oratorio was loaded, but is off", "unset ORATORIO_DISABLE"),
        (run.unread, f"the trace can't be read: {run.unread}{code}", "repeat the run"),
        (
            told.opened and (told.saw is None or run.exit_code),
            f"the run ended before it closed a file{code}",
            "look for the program's own messages; a file is recorded when it is closed",
        ),
        (
            accesses,
            f"Oratorio saw {counted(accesses, 'access')} to {counted(files, 'file')} on rank 0, "
            "but no file was closed",
            "call MPI_File_close; a file is recorded when it is closed",
        ),
        (
            files,
            f"Oratorio saw {counted(files, 'opened file')}, but no access on rank 0",
            "in HDF5 and netCDF, select the MPI-IO driver",
        ),
        (
            told.saw is not None,
            f"the program ran without any MPI-IO: Oratorio was loaded and saw no file on rank 0{code}",
            "in HDF5 and netCDF, select the MPI-IO driver",
        ),
        (
            run.exit_code,
            f"the run ended before its first access through MPI-IO{code}, or Oratorio was not loaded",
            "check whether it succeeds without Oratorio",
        ),
        (
            True,
            "Oratorio was not loaded, or no file was opened through MPI-IO",
            "check whether the program is static or the launcher drops LD_PRELOAD: docs/user/symptoms.md",
        ),
    )
    return next((says, do) for applies, says, do in reasons if applies)
