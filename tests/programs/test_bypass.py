# SPDX-License-Identifier: BSD-3-Clause
"""Tests that a program with an MPI that a preloaded library cannot reach gets a warning: Oratorio does not
serve its files."""

import pytest
from conftest import HERE, IS_BUILT, NOT_BUILT, compile_for, host_or_skip, run_checked

pytestmark = pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
LIBRARY = {"mpich5": "libmpi.so.12", "mpich4": "libmpich.so.12", "openmpi5": "libmpi.so.40"}
TOLD = "Oratorio was bypassed"


@pytest.mark.parametrize("name", LIBRARY)
@pytest.mark.parametrize(("words", "times"), [(["lazy", "write"], 1), (["lazy"], 0), (["now"], 0)])
def test_names_looked_up_in_the_mpi_library_are_noticed_when_data_was_moved(name, words, times, tmp_path):
    host = host_or_skip(name)
    program = compile_for(host.mpicc, HERE / "own_choice.c", f"own-choice-{name}", "-Wl,--as-needed", "-ldl")
    done = run_checked(host, 2, [program, LIBRARY[name], tmp_path, *words], preload=True)
    assert done.stderr.count(TOLD) == times, done.stderr


@pytest.mark.short
@pytest.mark.parametrize("name", LIBRARY)
def test_an_ordinary_program_gets_no_message(name, tmp_path):
    host = host_or_skip(name)
    program = compile_for(host.mpicc, HERE / "written_block.c", f"written-block-{name}")
    done = run_checked(host, 2, [program, tmp_path], preload=True)
    assert TOLD not in done.stderr
