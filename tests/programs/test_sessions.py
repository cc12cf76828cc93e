# SPDX-License-Identifier: BSD-3-Clause
"""Programs without MPI_Init, and files that are closed when MPI is about to end or never."""

import pytest
from conftest import HERE, IS_BUILT, NOT_BUILT, compile_for, host_or_skip, run_checked

pytestmark = pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
RANKS = 3
NEVER_CLOSED = "numbers.dat was never closed"


def run(name, folder, how):
    """What it said on stderr."""
    host = host_or_skip(name)
    program = compile_for(
        host.mpicc, HERE / "sessions.c", f"sessions-{name}", "-rdynamic", "-ldl", "-pthread"
    )
    done = run_checked(host, RANKS, [program, folder, how], preload=True)
    assert (folder / "numbers.dat").read_bytes() == b"".join(i.to_bytes(4, "little") for i in range(RANKS))
    return done.stderr


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
    told = run(name, tmp_path, "open")
    assert told.count(NEVER_CLOSED) == 1, told
