# SPDX-License-Identifier: BSD-3-Clause
"""Tests `oratorio doctor` with real ranks: it recognises a program that works, and says why another does
not."""

import pytest
from conftest import HERE, IS_BUILT, NOT_BUILT, compile_for, host_or_skip
from test_run import block_program, environment_of, launch_words, oratorio

pytestmark = pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
ALL = ["mpich5", "openmpi5"]


def lines_of(done, state):
    return [line for line in done.stdout.splitlines() if line.startswith(state)]


@pytest.mark.short
@pytest.mark.parametrize("name", ALL)
def test_a_program_that_works_is_found_to_work(name, tmp_path):
    host = host_or_skip(name)
    program = compile_for(host.mpicc, HERE / "traced.c", f"traced-{name}")
    data = tmp_path / "data"
    data.mkdir()
    words = [*launch_words(host, 2), program, data]
    done = oratorio("doctor", "--dir", data, *words, env=environment_of(host), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert lines_of(done, "bad") == []
    assert any("Oratorio saw 12 accesses to 3 files" in line for line in lines_of(done, "ok"))
    assert {file.name for file in tmp_path.iterdir()} == {"data"}


@pytest.mark.parametrize("name", ALL)
def test_a_program_that_opens_no_file_is_reported(name, tmp_path):
    host = host_or_skip(name)
    words = [*launch_words(host, 1), "/bin/true"]
    done = oratorio("doctor", *words, env=environment_of(host), cwd=tmp_path)
    assert done.returncode == 1
    assert ["was not loaded" in line for line in lines_of(done, "bad")] == [True]


def test_the_wrong_launcher_is_reported_and_nothing_runs(tmp_path):
    words = [*launch_words(host_or_skip("openmpi5"), 2), block_program(host_or_skip("mpich5")), tmp_path]
    done = oratorio("doctor", *words, env=environment_of(host_or_skip("openmpi5")), cwd=tmp_path)
    assert done.returncode == 1
    assert ["ranks will run alone" in line for line in lines_of(done, "bad")] == [True]
    assert list(tmp_path.iterdir()) == []
