# SPDX-License-Identifier: BSD-3-Clause
"""Counts the instructions of small independent accesses, from the program's call to its return, with the
host's MPI-IO and with Oratorio (callgrind; the kernel's instructions don't count)."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import HERE, IS_BUILT, NOT_BUILT, host_or_skip

from oratorio.launch.hosts import Host
from oratorio.paths import preload_library
from oratorio_lab import targets

pytestmark = [
    pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT),
    pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed"),
]

CALLS = 200  # of each kind, as in the program

# Call -> the most instructions that Oratorio may take. Compilers and C libraries differ by a few percent.
# docs/internals/testing.md has the counts themselves, next to the host's.
BOUNDS = {
    "write_at": 1150,
    "read_at": 1120,
    "write": 1140,
    "read": 1130,
    "read_at_rows": 3390,
    "write_at_types": 1160,
    "iread_at": 6770,
    "write_at_gaps": 1130,
    "read_at_gaps": 1120,
}


def count(host: Host, folder: Path, preload: Path | None) -> dict[str, int]:
    """Returns the instructions of each call."""
    program = targets.compile_program(host.mpicc, HERE / "call_instructions.c", "call_instructions")
    out = folder / "counts"
    environment = {**os.environ, **host.env, "XDG_STATE_HOME": str(folder)}
    if preload is not None:
        environment["LD_PRELOAD"] = str(preload)
    marks = [f"--toggle-collect=measured_{name}_once" for name in BOUNDS]
    # Without fair scheduling, the host's thread that reads starves while MPI_Wait polls.
    callgrind = ["valgrind", "--fair-sched=try", "--tool=callgrind", "--collect-atstart=no"]
    callgrind.append(f"--callgrind-out-file={out}")
    done = subprocess.run(
        [*callgrind, *marks, program, folder / "data"],
        env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    table = subprocess.run(
        ["callgrind_annotate", "--inclusive=yes", "--threshold=100", out],
        capture_output=True, text=True, timeout=60, check=True,
    ).stdout  # fmt: skip
    lines = re.findall(r"^\s*([\d,]+) .*:measured_(\w+)_once", table, re.MULTILINE)
    return {name: int(number.replace(",", "")) // CALLS for number, name in lines}


def test_small_calls_take_no_more_instructions_than_their_bounds(tmp_path):
    host = host_or_skip("mpich5")
    ours = count(host, tmp_path, preload_library())
    theirs = count(host, tmp_path, None)
    print({name: (ours[name], theirs[name]) for name in BOUNDS})
    assert ours.keys() == BOUNDS.keys() == theirs.keys()
    assert {name: number for name, number in ours.items() if number > BOUNDS[name]} == {}
