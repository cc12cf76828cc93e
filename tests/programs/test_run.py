# SPDX-License-Identifier: BSD-3-Clause
"""Tests `oratorio run` and similar commands with real launchers and C, Fortran and Python programs."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import HERE, IS_BUILT, NOT_BUILT, compile_for, host_or_skip

from oratorio import __version__
from oratorio.launch.hosts import Host
from oratorio.library.method_table import methods
from oratorio.paths import ROOT, preload_library
from oratorio.report import advice, explained

needs_library = pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
ALL = ["mpich5", "abi", "mpich4", "openmpi5", "openmpi4"]
ODD_WORDS = ["two words", "a;b", "$HOME", "it's", '"q"', "*", "", "--method", "-x"]


def environment(root=ROOT) -> dict[str, str]:
    """Returns the environment in which ./oratorio calls the command line after the setup."""
    return {**os.environ, "PYTHONPATH": ":".join(str(root / name) for name in ("cli", "lab", "dev"))}


def oratorio(*words, env=None, timeout=180, root=ROOT, cwd=None) -> subprocess.CompletedProcess[str]:
    """Runs the command line as ./oratorio calls it after the setup."""
    environ = {**environment(root), **(env or {})}
    command = ["timeout", "--kill-after=10", str(timeout), sys.executable, "-m", "oratorio", *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, env=environ, cwd=cwd, stdin=subprocess.DEVNULL
    )


def environment_of(host: Host) -> dict[str, str]:
    """Returns what a user of this MPI has in the environment."""
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return {**root, **host.env} if host.launcher == "openmpi" else dict(host.env)


def launch_words(host: Host, ranks: int) -> list:
    many = ["--oversubscribe", "--bind-to", "none"] if host.launcher == "openmpi" else []
    return [host.mpiexec, *many, "-n", ranks]


def block_program(host: Host) -> Path:
    return compile_for(host.mpicc, HERE / "written_block.c", f"written-block-{host.name}")


@pytest.mark.short
@needs_library
@pytest.mark.parametrize("name", ALL)
def test_run_preloads_the_ranks_and_keeps_every_word(name, tmp_path):
    host = host_or_skip(name)
    words = [*launch_words(host, 2), block_program(host), tmp_path, *ODD_WORDS]
    done = oratorio("run", *words, env=environment_of(host))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"<{word}>" for word in ODD_WORDS] + ["preload liboratorio.so"]
    assert (tmp_path / "blocks.dat").stat().st_size == 2 * 4000


@pytest.mark.short
@needs_library
@pytest.mark.parametrize("name", ALL)
def test_explain_describes_the_access(name, tmp_path):
    host = host_or_skip(name)
    words = [*launch_words(host, 2), block_program(host), tmp_path]
    done = oratorio("explain", "--method", "two_phase", *words, env=environment_of(host))
    assert done.returncode == 0, done.stderr
    block = done.stderr.partition("blocks.dat: collective write 1: ")[2].partition("oratorio: ")[0]
    assert re.match(r"7.81 KiB of 2 ranks in [0-9.]+ [mu]?s \([0-9.e-]+ MiB/s\)\n", block), done.stderr
    assert block.count("\n") <= 15 and "\n  method       two_phase: " in block
    assert "\n  faster       " in block
    told = [line for line in done.stderr.splitlines() if " saw " in line]
    assert told == [f"oratorio: Oratorio {__version__} saw 2 accesses to 1 file on rank 0"]


@needs_library
def test_explain_all_has_every_method_and_all_counters(tmp_path):
    host = host_or_skip("mpich5")
    words = [*launch_words(host, 2), block_program(host), tmp_path]
    done = oratorio("explain", "--all", *words, env=environment_of(host))
    assert done.returncode == 0, done.stderr
    assert "blocks.dat: collective write: method " in done.stderr
    found = set(re.findall(r"^    (\w+) ", done.stderr, re.MULTILINE))
    assert found >= set(methods()) - {"auto"}
    assert " MiB/s)" in done.stderr
    assert re.search(r"^  bytes_moved \d+ bytes$", done.stderr, re.MULTILINE)


@needs_library
def test_explain_says_what_moves_nonblocking_accesses_on(tmp_path):
    host = host_or_skip("mpich5")
    script = f"""from mpi4py import MPI
file = MPI.File.Open(MPI.COMM_WORLD, "{tmp_path}/a.dat", MPI.MODE_CREATE | MPI.MODE_WRONLY)
file.Iwrite_at(0, b"x").Wait()
file.Close()"""
    done = oratorio("explain", *launch_words(host, 1), host.python, "-c", script, env=environment_of(host))
    assert f"{tmp_path}/a.dat: nonblocking and split accesses: {advice.BESIDE}" in done.stderr


@needs_library
def test_explanations_in_a_json_file_are_what_people_read(tmp_path):
    host = host_or_skip("mpich5")
    file = tmp_path / "explain.json"
    words = [*launch_words(host, 2), block_program(host), tmp_path]
    done = oratorio("run", *words, env={**environment_of(host), "ORATORIO_EXPLAIN": str(file)})
    assert done.returncode == 0, done.stderr
    told = explained.read(file.read_text())
    write, *_ = told.decisions
    assert (write.path, write.access) == (f"{tmp_path}/blocks.dat", "collective write")
    assert {one.name for one in write.candidates} == set(methods()) - {"auto"}
    assert write.candidate(write.method).milliseconds > 0
    assert (told.version, told.saw[1], told.off, told.remarks) == (__version__, 1, False, [])
    people = oratorio("explain", *words, env=environment_of(host)).stderr.splitlines()
    for line in (f"{tmp_path}/blocks.dat: collective write 1: 7.81 KiB", f"  why          {write.why}"):
        assert line in explained.text_of(file.read_text())
        assert any(line in said for said in people)


@needs_library
def test_explain_set_to_0_prints_nothing_and_makes_no_file(tmp_path):
    host = host_or_skip("mpich5")
    words = [*launch_words(host, 2), block_program(host), tmp_path]
    done = oratorio("run", *words, env={**environment_of(host), "ORATORIO_EXPLAIN": "0"}, cwd=tmp_path)
    assert "collective write" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["blocks.dat"]


@needs_library
def test_explain_tells_where_oratorio_is_off(tmp_path):
    host = host_or_skip("mpich5")
    words = [*launch_words(host, 2), block_program(host), tmp_path]
    done = oratorio("explain", *words, env={**environment_of(host), "ORATORIO_DISABLE": "1"})
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Oratorio is off (ORATORIO_DISABLE)") == 1


@needs_library
@pytest.mark.parametrize("name", ["mpich5", "openmpi5"])
def test_run_works_where_its_own_path_would_break_ld_preload(name, tmp_path):
    host = host_or_skip(name)
    elsewhere = tmp_path / "two words, and more"
    shutil.copytree(ROOT / "cli/oratorio", elsewhere / "cli/oratorio")
    (elsewhere / "build").mkdir()
    (elsewhere / "build/lib").symlink_to(preload_library().parent)
    words = [*launch_words(host, 2), block_program(host), tmp_path, "word"]
    environ = {**environment_of(host), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = oratorio("explain", *words, env=environ, root=elsewhere)
    assert done.returncode == 0, done.stderr
    assert "blocks.dat: collective write 1: " in done.stderr
    assert "cannot be preloaded" not in done.stderr


@pytest.mark.short
@needs_library
def test_run_passes_the_exit_code_on(tmp_path):
    host = host_or_skip("mpich4")
    words = [*launch_words(host, 1), block_program(host), tmp_path, "fail"]
    assert oratorio("run", *words, env=environment_of(host)).returncode == 3


@pytest.mark.short
@needs_library
def test_run_works_without_a_launcher(tmp_path):
    host = host_or_skip("mpich4")
    done = oratorio("run", block_program(host), tmp_path, "word", env=environment_of(host))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "<word>\npreload liboratorio.so\n"
    assert "the MPICH ABI (libmpich.so.12)" in done.stderr


@needs_library
@pytest.mark.parametrize("name", ["mpich4", "openmpi4"])
def test_run_takes_a_fortran_program(name, tmp_path):
    host = host_or_skip(name)
    program = compile_for(host.mpifort, HERE / "fortran_f08.f90", f"fortran-f08-{name}")
    done = oratorio("run", *launch_words(host, 2), program, tmp_path, env=environment_of(host))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "f08.dat").stat().st_size == 2 * 24 * 10 * 8


@needs_library
@pytest.mark.parametrize("name", ["mpich5", "openmpi4"])
def test_run_takes_a_python_program(name, tmp_path):
    host = host_or_skip(name)
    words = [*launch_words(host, 2), host.python, HERE / "h5py_program.py", tmp_path]
    done = oratorio("run", *words, env=environment_of(host))
    assert done.returncode == 0, done.stderr
    told = "Open MPI (libmpi.so.40)" if name == "openmpi4" else "chooses the MPI at run time"
    assert told in done.stderr
    assert (tmp_path / "h5py.h5").exists()


@pytest.mark.short
@needs_library
def test_dry_run_prints_a_command_that_a_shell_understands(tmp_path):
    host = host_or_skip("mpich4")
    words = [*launch_words(host, 2), block_program(host), tmp_path, *ODD_WORDS]
    done = oratorio("run", "--dry-run", "--hint", "cb_nodes=1", *words)
    printed = shlex.split(done.stdout)
    assert printed[1:4] == ["-genv", "LD_PRELOAD", str(preload_library())]
    assert printed[-len(ODD_WORDS) :] == ODD_WORDS
    assert not list(tmp_path.iterdir())


@needs_library
def test_run_warns_of_the_wrong_launcher(tmp_path):
    program = block_program(host_or_skip("openmpi4"))
    done = oratorio("run", "--dry-run", *launch_words(host_or_skip("mpich4"), 2), program, tmp_path)
    assert "each rank will probably run alone" in done.stderr


@pytest.mark.short
def test_env_prints_lines_for_a_batch_script():
    done = oratorio("env", "--method", "naive", "--hint", "cb_nodes=2", env={"LD_PRELOAD": ""})
    script = done.stdout + 'printf "%s|%s" "$LD_PRELOAD" "$ORATORIO_HINTS"'
    # The shell that sets the variables also prints them. It already runs, so the preload does not affect it.
    shell = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert shell.stdout == f"{preload_library()}|oratorio_method=naive;cb_nodes=2"


@pytest.mark.short
def test_info_names_every_mpi_here():
    done = oratorio("info", env={"COLUMNS": "200"})
    assert done.returncode == 0, done.stderr
    for name in ALL:
        host_or_skip(name)
        assert name in done.stdout
