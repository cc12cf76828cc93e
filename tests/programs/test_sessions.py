# SPDX-License-Identifier: BSD-3-Clause
"""Tests programs without MPI_Init, and files that are closed just before MPI ends, or never."""

import subprocess

import pytest
from conftest import HERE, IS_BUILT, NOT_BUILT, compile_for, host_or_skip, run_checked

from oratorio_lab.interop.model import RANKS, NoEndError
from oratorio_lab.interop.sessions import SECONDS, TRIES, host_stays, patiently, told

pytestmark = pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
LONG = 4 << 20  # the same value as in sessions.c
NEVER_CLOSED = "numbers.dat was never closed"


def run(name, folder, how):
    """Runs the program and returns its standard error."""
    host = host_or_skip(name)
    program = compile_for(
        host.mpicc, HERE / "sessions.c", f"sessions-{name}", "-rdynamic", "-ldl", "-pthread"
    )
    done = patiently(
        lambda: run_checked(host, RANKS, [program, folder, how], preload=True, timeout_seconds=SECONDS)
    )
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


def endless(said, wrapped):
    late = subprocess.TimeoutExpired(["program"], SECONDS, said)
    if not wrapped:
        raise late
    raise NoEndError("no end") from late


@pytest.mark.parametrize("wrapped", [True, False])
def test_tests_that_hang_elsewhere_run_once(wrapped):
    tries = []
    all_in = "".join(told(rank, "enters") for rank in range(RANKS))
    for said in (all_in, ""):
        with pytest.raises((subprocess.TimeoutExpired, NoEndError)):
            patiently(lambda said=said: tries.append(said) or endless(said, wrapped))
    assert tries == [all_in] * TRIES + [""]


@pytest.mark.short
@pytest.mark.parametrize("name", ["mpich5", "abi", "openmpi5"])
@pytest.mark.parametrize("how", ["session", "beside", "finalize"])
def test_files_of_sessions_and_files_closed_in_finalize_give_no_alarm(name, how, tmp_path):
    if name == "openmpi5" and how != "finalize":
        pytest.skip("Open MPI 5 itself ends programs with sessions by a signal, with and without us")
    assert "oratorio:" not in run(name, tmp_path, how)


@pytest.mark.parametrize("name", ["mpich5", "abi"])
def test_a_write_goes_on_where_another_session_ends(name, tmp_path):
    assert "oratorio:" not in run(name, tmp_path, "overlap")
    letters = b"".join(bytes([ord("a") + rank]) * LONG for rank in range(RANKS))
    assert (tmp_path / "letters.dat").read_bytes() == letters


@pytest.mark.parametrize("name", ["mpich5", "abi"])
def test_ranks_may_end_one_of_two_sessions_at_different_times(name, tmp_path):
    assert "oratorio:" not in run(name, tmp_path, "one")


@pytest.mark.parametrize("name", ["mpich5", "abi"])
def test_a_thread_that_begins_when_the_last_session_is_over_makes_no_mpi_call(name, tmp_path):
    assert "oratorio:" not in run(name, tmp_path, "late")


@pytest.mark.parametrize("name", ["mpich5", "openmpi5"])
def test_a_file_that_is_never_closed_is_reported_once(name, tmp_path):
    complained = run(name, tmp_path, "open")
    assert complained.count(NEVER_CLOSED) == 1, complained
