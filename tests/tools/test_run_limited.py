# SPDX-License-Identifier: BSD-3-Clause
"""Tests the function that runs all jobs of commands such as `bench` and `calibrate`."""

import os
import subprocess

import pytest

from oratorio.launch.hosts import run_limited


def test_the_output_and_the_exit_code_are_returned():
    done = run_limited(["sh", "-c", "echo out; echo err >&2; exit 3"], 60)
    assert (done.stdout, done.stderr, done.returncode) == ("out\n", "err\n", 3)


def test_a_command_is_ended_at_its_limit():
    with pytest.raises(subprocess.TimeoutExpired) as late:
        run_limited(["sh", "-c", "echo begun; exec sleep 60"], 1)
    assert late.value.stdout == "begun\n"


def test_an_exception_while_it_waits_ends_the_command(tmp_path):
    file = tmp_path / "process"

    def leave():
        if file.exists() and file.read_text().endswith("\n"):
            raise SystemExit(143)

    with pytest.raises(SystemExit):
        run_limited(["sh", "-c", f"echo $$ > {file}; exec sleep 60"], 60, poll=leave)
    with pytest.raises(ProcessLookupError):
        os.kill(int(file.read_text()), 0)
