# SPDX-License-Identifier: BSD-3-Clause
"""Tests that messages reach the standard error that a program was started with, whatever its descriptor 2 is
now."""

import pytest
from conftest import HERE, IS_BUILT, NOT_BUILT, compile_for, host_or_skip, run_checked

pytestmark = pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)


def ran(name, folder, way, when, *before):
    host = host_or_skip(name)
    program = compile_for(host.mpicc, HERE / "without_stderr.c", f"without-stderr-{name}")
    return run_checked(host, 1, [*before, program, folder, way, when], preload=True, timeout_seconds=60)


@pytest.mark.short
@pytest.mark.parametrize("way", ["closed", "pipe"])
@pytest.mark.parametrize("name", ["mpich5", "openmpi5"])
def test_a_program_that_replaces_standard_error_gets_messages_at_the_original(name, way, tmp_path):
    assert "banana" in ran(name, tmp_path, way, "late").stderr
    if way == "closed":
        assert "oratorio" not in (tmp_path / "data").read_text()


@pytest.mark.parametrize("before", [[], ["sh", "-c", 'exec "$0" "$@" 2>&-']])
def test_a_program_without_standard_error_gets_no_message(before, tmp_path):
    assert "banana" not in ran("mpich5", tmp_path, "closed", "early", *before).stderr
    assert "oratorio" not in (tmp_path / "data").read_text()
