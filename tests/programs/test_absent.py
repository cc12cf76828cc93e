# SPDX-License-Identifier: BSD-3-Clause
"""Tests jobs that are started wrongly: ranks without Oratorio, ranks that each run alone, files left open."""

import re

import pytest
from conftest import HERE, IS_BUILT, NOT_BUILT, compile_for, host_or_skip, run_checked
from test_run import environment_of, launch_words, oratorio

from oratorio.launch.hosts import Host, run_ranks
from oratorio.paths import preload_library

needs_library = pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
ALL = ["mpich5", "mpich4", "openmpi5", "openmpi4"]


def absent_program(host: Host):
    return compile_for(host.mpicc, HERE / "absent_rank.c", f"absent-rank-{host.name}")


def preloaded_on(ranks: str, *words) -> list:
    """Returns words that run a program with Oratorio on the ranks that match a pattern of the shell."""
    rank = "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"
    shell = f'case {rank} in {ranks}) export LD_PRELOAD="$0";; esac; exec "$@"'
    return ["sh", "-c", shell, preload_library(), *words]


def told_by(done) -> dict[int, str]:
    """Returns what each rank printed about the file that all ranks open, by rank."""
    return {int(rank): says for rank, says in re.findall(r"rank (\d+): all (.*)", done.stdout)}


@needs_library
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(("present", "absent"), [("[01]", "2-3"), ("[23]", "0-1")])
def test_an_open_with_ranks_without_oratorio_is_an_error(name, present, absent, tmp_path):
    host = host_or_skip(name)
    done = run_ranks(host, 4, preloaded_on(present, absent_program(host), tmp_path), timeout_seconds=60)
    assert done.stdout.count("low opened") == done.stdout.count("high opened") == 2, done.stdout + done.stderr
    told = told_by(done)
    for rank in (int(digit) for digit in present.strip("[]")):
        assert told.pop(rank).startswith("failed"), done.stdout + done.stderr
    assert done.stderr.count(f"no Oratorio on ranks {absent} of 4") == 1, done.stderr
    if host.launcher == "hydra":  # with Open MPI its own MPI_File_open waits forever
        assert [says.split(":")[0] for says in told.values()] == ["NOT_SAME"] * 2, done.stdout


@needs_library
@pytest.mark.parametrize("name", ALL)
def test_a_rank_that_comes_late_to_the_open_is_waited_for(name, tmp_path):
    host = host_or_skip(name)
    done = run_checked(host, 4, [absent_program(host), tmp_path, "late"], preload=True, timeout_seconds=60)
    assert told_by(done) == dict.fromkeys(range(4), "opened")


@pytest.mark.short
@needs_library
@pytest.mark.parametrize("name", ALL)
def test_an_open_with_oratorio_off_on_some_ranks_is_the_hosts(name, tmp_path):
    host = host_or_skip(name)
    shell = 'case ${PMI_RANK:-$OMPI_COMM_WORLD_RANK} in [12]) export ORATORIO_DISABLE=1;; esac; exec "$@"'
    words = ["sh", "-c", shell, "sh", absent_program(host), tmp_path]
    done = run_checked(host, 4, words, preload=True, timeout_seconds=60)
    assert told_by(done) == dict.fromkeys(range(4), "opened")


# Debian's MPICH 4 cannot spawn here, with or without Oratorio.
@pytest.mark.short
@needs_library
@pytest.mark.parametrize("name", ["mpich5", "openmpi5", "openmpi4"])
def test_spawned_processes_have_oratorio(name, tmp_path):
    host = host_or_skip(name)
    program = compile_for(host.mpicc, HERE / "spawned.c", f"spawned-{host.name}")
    words = [*launch_words(host, 1), program, tmp_path]
    done = oratorio("explain", *words, env=environment_of(host), timeout=60)
    assert sorted(re.findall(r"rank \d: .*", done.stdout)) == ["rank 0: right", "rank 1: right"], done.stderr
    assert "together: collective write" in done.stderr
    assert (tmp_path / "together").read_bytes() == b"a" * 100 + b"b" * 100


@needs_library
def test_an_open_with_spawned_processes_without_oratorio_is_an_error(tmp_path):
    host = host_or_skip("openmpi5")
    program = compile_for(host.mpicc, HERE / "spawned.c", f"spawned-{host.name}")
    done = run_ranks(host, 1, [program, tmp_path], preload=True, timeout_seconds=60)
    assert "rank 0: MPI_ERR_OTHER" in done.stdout, done.stdout + done.stderr
    assert "no Oratorio on rank 1 of 2" in done.stderr, done.stderr


@needs_library
@pytest.mark.parametrize(("program_of", "started_by"), [("mpich4", "openmpi5"), ("openmpi5", "mpich5")])
def test_processes_of_another_mpis_launcher_are_reported_once(program_of, started_by, tmp_path):
    program, host = host_or_skip(program_of), host_or_skip(started_by)
    written = compile_for(program.mpicc, HERE / "written_block.c", f"written-block-{program.name}")
    for rank in range(3):
        (tmp_path / str(rank)).mkdir()
    shell = 'exec "$0" "$1/${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"'
    words = ["sh", "-c", shell, written, tmp_path]
    done = run_ranks(host, 3, words, preload=True, env=program.env, timeout_seconds=60)
    assert done.stderr.count("each process runs alone: the launcher has started 3") == 1, done.stderr


@needs_library
def test_accesses_to_a_file_that_is_never_closed_are_counted(tmp_path):
    host = host_or_skip("mpich5")
    program = compile_for(host.mpicc, HERE / "never_closed.c", f"never-closed-{host.name}")
    env = {"ORATORIO_EXPLAIN": "1"}
    read = run_checked(host, 2, [program, tmp_path, "read"], preload=True, env=env, timeout_seconds=60)
    assert " saw 3 accesses to 2 files on rank 0" in read.stderr
    assert "was never closed" not in read.stderr
    written = run_checked(host, 2, [program, tmp_path, "write"], preload=True, env=env, timeout_seconds=60)
    assert " saw 3 accesses to 2 files on rank 0" in written.stderr
    assert written.stderr.count("last was never closed: its last data may be missing") == 1
