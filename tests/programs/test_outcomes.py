# SPDX-License-Identifier: BSD-3-Clause
"""Tests that a run without a recording is reported with the reason, and ends with the program's exit code."""

import pytest
from conftest import HERE, compile_for, host_or_skip
from test_run import environment_of, launch_words, needs_library, oratorio


@needs_library
@pytest.mark.parametrize("name", ["mpich5", "openmpi5"])
@pytest.mark.parametrize(
    ("how", "code", "says"),
    [
        ("none", 0, "the program ran without any MPI-IO"),
        ("killed", 137, "the run ended before it closed a file"),
        ("aborts", 7, "the run ended before it closed a file, with exit code 7"),
    ],
)
def test_a_run_without_a_recording_says_why(name, how, code, says, tmp_path):
    host = host_or_skip(name)
    program = compile_for(host.mpicc, HERE / "ended_early.c", f"ended-early-{host.name}")
    words = [*launch_words(host, 2), program, how, tmp_path / "a.dat"]
    done = oratorio("run", "--report", tmp_path / "page.html", *words, env=environment_of(host))
    # MPICH's launcher reports a signal as its number.
    assert done.returncode in (code, code - 128), done.stderr
    assert f"nothing was recorded: {says}" in done.stderr
    assert says in (tmp_path / "page.html").read_text()
    assert "Traceback" not in done.stderr
