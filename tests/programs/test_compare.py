# SPDX-License-Identifier: BSD-3-Clause
"""Tests `oratorio compare` with real ranks: the rows of methods that ran, of a method that does not apply,
and of runs that take too long."""

import pytest
from conftest import HERE, IS_BUILT, NOT_BUILT, compile_for, host_or_skip
from test_run import environment_of, launch_words, oratorio

pytestmark = pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
ALL = ["mpich5", "openmpi5"]


METHODS = ("host", "auto", "two_phase", "shared_buffer", "naive")


def rows_of(text):
    lines = (line for line in text.splitlines() if line)
    return {name: line for line in lines if (name := line.split()[0]) in METHODS}


@pytest.mark.short
@pytest.mark.parametrize("name", ALL)
def test_a_program_is_compared(name, tmp_path):
    host = host_or_skip(name)
    program = compile_for(host.mpicc, HERE / "traced.c", f"traced-{name}")
    data = tmp_path / "data"
    words = [*launch_words(host, 2), program, data]
    options = ["--repeat", "2", "--method", "two_phase,shared_buffer", "-o", tmp_path / "page.html"]
    options += ["--before", f"rm -rf {data}; mkdir {data}", "--output-files", f"{data}/*"]
    environ = {**environment_of(host), "ORATORIO_RANKS_PER_NODE": "1"}  # ranks share no memory
    done = oratorio("compare", *options, *words, env=environ, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = rows_of(done.stdout)
    assert list(rows) == ["host", "auto", "two_phase", "shared_buffer"]
    assert "not recorded" in rows["host"]
    assert "two_phase, list_io" in rows["two_phase"]
    assert "does not apply: " in rows["shared_buffer"]
    assert "Least time in accesses: " in done.stdout
    assert "Equal byte for byte after all counted runs: " in done.stdout
    assert "two_phase" in (tmp_path / "page.html").read_text()
    assert {file.name for file in tmp_path.iterdir()} == {"data", "page.html"}


@pytest.mark.parametrize("name", ALL)
def test_a_run_that_takes_too_long_is_ended(name, tmp_path):
    host = host_or_skip(name)
    script = tmp_path / "slow.sh"
    script.write_text('#!/bin/sh\n[ -z "$ORATORIO_TRACE" ] || exec sleep 100\n')
    script.chmod(0o755)
    words = [*launch_words(host, 1), script]
    done = oratorio(
        "compare",
        "-q",
        "--method",
        "naive",
        "--timeout",
        "3",
        *words,
        env=environment_of(host),
        cwd=tmp_path,
    )
    assert done.returncode == 124, done.stderr
    rows = rows_of(done.stdout)
    for method in ("auto", "naive"):
        assert rows[method].split(None, 1)[1].strip() == "still running after 3 s"
