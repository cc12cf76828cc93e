# SPDX-License-Identifier: BSD-3-Clause
"""Runs the small program of `oratorio demo` under every MPI that has a parallel HDF5."""

import subprocess

import pytest
from conftest import host_or_skip, run_both_ways

from oratorio_lab.demo import demo


@pytest.fixture(scope="module", params=["mpich5", "mpich4", "openmpi5", "openmpi4"])
def host_and_program(request):
    host = host_or_skip(request.param)
    return host, demo.compile_program(host)


def _wrapper(program, folder):
    """Returns a shell command without its last word, which must be the folder. It runs the program and
    discards its output, which contains times."""
    script = folder / "run.sh"
    script.write_text(f'exec {program} "$1" 12 2 >/dev/null\n')
    return ["/bin/sh", script]


@pytest.mark.short
def test_hdf5_checkpoint_leaves_the_same_files(host_and_program, tmp_path):
    host, program = host_and_program
    run_both_ways(host, demo.RANKS, _wrapper(program, tmp_path), tmp_path, timeout_seconds=300)


def test_the_demo_notices_a_file_that_differs(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same.h5").write_bytes(b"same")
    (tmp_path / "one/a.h5").write_bytes(b"12")
    (tmp_path / "other/a.h5").write_bytes(b"13")
    (tmp_path / "other/b.h5").write_bytes(b"1")
    assert demo.compare_files(tmp_path / "one", tmp_path / "other") == ["a.h5", "b.h5"]


def test_the_demo_program_tells_when_ranks_are_missing(host_and_program, tmp_path):
    _, program = host_and_program
    done = subprocess.run([program, tmp_path, "8", "1"], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "the check that there are 8 ranks failed" in done.stderr
