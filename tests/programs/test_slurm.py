# SPDX-License-Identifier: BSD-3-Clause
"""Tests jobs of Slurm on two nodes, which are two slurmd of this machine. docs/user/slurm.md describes what
is tested here."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import slurm
from conftest import IS_BUILT, NOT_BUILT, compile_for, host_or_skip

from oratorio.paths import ROOT

pytestmark = [
    pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT),
    pytest.mark.skipif(bool(slurm.why_not()), reason=slurm.why_not()),
]
HOSTS = ["mpich4"]
RANKS = 4
SMOKE = ROOT / "packaging/smoke.c"
OK = {f"smoke: rank {rank} ok" for rank in range(RANKS)}


@pytest.fixture(scope="module")
def env():
    # Paths of Slurm's sockets have at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder, slurm.cluster(Path(folder)) as made:
        yield {**made, "PYTHONPATH": ":".join(str(ROOT / name) for name in ("cli", "lab", "dev"))}


def call(env, *words, **more) -> subprocess.CompletedProcess[str]:
    command = ["timeout", "--kill-after=5", "60", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env={**env, **more})


def run(env, *words, **more) -> subprocess.CompletedProcess[str]:
    return call(env, sys.executable, "-m", "oratorio", *words, **more)


@pytest.mark.parametrize("name", HOSTS)
@pytest.mark.parametrize("export", [None, "HOME,PATH"])
def test_ranks_on_two_nodes_write_one_file(name, export, env, tmp_path):
    host = host_or_skip(name)
    program = compile_for(host.mpicc, SMOKE, f"smoke-{name}")
    exported = [f"--export={','.join([export, *host.env])}"] if export else []
    srun = ["srun", "-N2", f"-n{RANKS}", "--mpi=pmi2", *exported]
    done = run(env, "explain", "--hint", "cb_nodes=2", *srun, program, tmp_path / "a,b.dat", **host.env)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.splitlines()) == OK
    assert "a,b.dat: collective write" in done.stderr
    assert re.search(r"^  how +2 aggregators \(ranks 0 2\) ", done.stderr, re.MULTILINE), done.stderr
    assert (tmp_path / "a,b.dat").stat().st_size == RANKS * 4000


def test_open_mpi_starts_through_pmix(env, tmp_path):
    """The job runs on one node, because two slurmd of one machine use the same name in /tmp for PMIx."""
    if "pmix" not in call(env, "srun", "--mpi=list").stdout:
        pytest.skip("this Slurm has no PMIx")
    host = host_or_skip("openmpi4")
    program = compile_for(host.mpicc, SMOKE, f"smoke-{host.name}")
    done = run(env, "explain", "srun", "-N1", "-n2", "--mpi=pmix", program, tmp_path / "out.dat", **host.env)
    assert done.returncode == 0, done.stderr
    assert "out.dat: collective write" in done.stderr
    assert (tmp_path / "out.dat").stat().st_size == 8000


def test_the_exit_code_of_srun_is_kept_and_srun_itself_is_untouched(env):
    script = "test $SLURM_PROCID = 0 || exit 0; case $LD_PRELOAD in *liboratorio.so) exit 7;; esac"
    assert run(env, "run", "srun", "-N2", "-n2", "sh", "-c", script).returncode == 7
    assert call(env, "srun", "-N2", "-n2", "sh", "-c", script).returncode == 0


def batch_script(text: str, folder: Path) -> Path:
    script = folder / "job.sh"
    script.write_text(f"#!/bin/bash\n#SBATCH --nodes=2 --ntasks={RANKS} --output={folder}/job.out\n{text}\n")
    return script


@pytest.mark.parametrize(
    "text",
    [
        'eval "$(oratorio env --explain)"\nsrun --mpi=pmi2 {program} {folder}/out.dat',
        "oratorio explain srun --mpi=pmi2 {program} {folder}/out.dat",
    ],
)
def test_batch_scripts_of_the_page_go_through_oratorio(text, env, tmp_path):
    host = host_or_skip("mpich4")
    program = compile_for(host.mpicc, SMOKE, "smoke-mpich4")
    command = f'oratorio() {{ {sys.executable} -m oratorio "$@"; }}\n'
    script = batch_script(command + text.format(program=program, folder=tmp_path), tmp_path)
    done = call(env, "sbatch", "--wait", script, **host.env)
    told = (tmp_path / "job.out").read_text()
    assert done.returncode == 0, told + done.stderr
    assert set(told.splitlines()) >= OK
    assert "out.dat: collective write" in told
