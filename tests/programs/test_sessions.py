# SPDX-License-Identifier: BSD-3-Clause
"""Programs without MPI_Init, and files that are closed when MPI is about to end or never."""

import subprocess
from collections import Counter

import pytest
from conftest import HERE, IS_BUILT, NOT_BUILT, compile_for, host_or_skip, run_checked

pytestmark = pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
RANKS = 3
TRIES, SECONDS = 3, 90
NEVER_CLOSED = "numbers.dat was never closed"


def told(rank, what):
    return f"rank {rank} {what} MPI_Comm_create_from_group\n"


def host_stays(said):
    """MPICH 5.0.2 now and then stays in MPI_Comm_create_from_group, with no file, too (docs/neighbours.md).

    Then all ranks have entered it equally often, so none waits for one that is still elsewhere."""
    lines = Counter(said.splitlines(keepends=True))
    entered = {lines[told(rank, "enters")] for rank in range(RANKS)}
    return len(entered) == 1 and any(
        lines[told(rank, "leaves")] < lines[told(rank, "enters")] for rank in range(RANKS)
    )


def run_patiently(host, words):
    """Tries again where the host's own call has no end."""
    for _ in range(TRIES - 1):
        try:
            return run_checked(host, RANKS, words, preload=True, timeout_seconds=SECONDS)
        except subprocess.TimeoutExpired as endless:
            if not host_stays(endless.output):
                raise
    return run_checked(host, RANKS, words, preload=True, timeout_seconds=SECONDS)


def run(name, folder, how):
    """What it said on stderr."""
    host = host_or_skip(name)
    program = compile_for(
        host.mpicc, HERE / "sessions.c", f"sessions-{name}", "-rdynamic", "-ldl", "-pthread"
    )
    done = run_patiently(host, [program, folder, how])
    assert (folder / "numbers.dat").read_bytes() == b"".join(i.to_bytes(4, "little") for i in range(RANKS))
    return done.stderr


def test_only_a_call_of_the_host_that_all_ranks_have_entered_is_tried_again():
    all_in = "".join(told(rank, "enters") for rank in range(RANKS))
    one_out = all_in + told(1, "leaves")
    all_out = all_in + "".join(told(rank, "leaves") for rank in range(RANKS))
    assert host_stays(all_in)
    assert host_stays(one_out)
    assert not host_stays(all_out)
    assert not host_stays(all_out + told(0, "enters")), "the others are in a call of ours"
    assert not host_stays("")


@pytest.mark.parametrize("name", ["mpich5", "abi", "openmpi5"])
@pytest.mark.parametrize("how", ["session", "beside", "finalize"])
def test_files_of_sessions_and_files_closed_in_finalize_give_no_alarm(name, how, tmp_path):
    if name == "openmpi5" and how != "finalize":
        pytest.skip("Open MPI 5 itself ends programs with sessions by a signal, with and without us")
    assert "oratorio:" not in run(name, tmp_path, how)


@pytest.mark.parametrize("name", ["mpich5", "abi"])
def test_a_thread_that_begins_when_the_last_session_is_over_asks_mpi_nothing(name, tmp_path):
    assert "oratorio:" not in run(name, tmp_path, "late")


@pytest.mark.parametrize("name", ["mpich5", "openmpi5"])
def test_a_file_that_is_never_closed_is_told_once(name, tmp_path):
    complained = run(name, tmp_path, "open")
    assert complained.count(NEVER_CLOSED) == 1, complained
