# SPDX-License-Identifier: BSD-3-Clause
"""Provides what the tests of real programs share: the MPIs, and functions that run a program.

Most programs here know nothing of Oratorio. run_both_ways() runs such a program with the MPI's own MPI-IO
and with Oratorio preloaded; it must leave the same bytes behind.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / name) for name in ("cli", "lab", "dev")]

from oratorio.launch.hosts import Host, find_hosts, run_ranks
from oratorio.paths import OUT, preload_library
from oratorio_lab import targets

# These variables exclude libfabric. With it each rank of Open MPI sleeps for more than a second while it
# looks for networks, and then uses the node's shared memory after all.
os.environ.update(OMPI_MCA_mtl="^ofi", OMPI_MCA_btl="^ofi")
# Learned times of tests stay out of the user's folder.
os.environ.setdefault("XDG_STATE_HOME", str(OUT / "test" / "state"))

HOSTS = {host.name: host for host in find_hosts()}
HERE = Path(__file__).resolve().parent
IS_BUILT = preload_library().exists()
NOT_BUILT = "build/lib/liboratorio.so has not been built; only the host's own MPI-IO was run"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "short: the short command runs it (docs/internals/testing.md)")


def saying_into(folder: Path, *words: str | Path) -> list[str | Path]:
    """Returns words that start a program with its standard error in FOLDER/said.R, where R is its rank. A
    host may carry standard error over a network that a test cuts, and drop it when the job ends."""
    shell = 'exec 2>"$0/said.${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" && exec "$@"'
    return ["sh", "-c", shell, folder, *words]


def host_or_skip(name: str) -> Host:
    """Returns the host of that name; skips the test if that MPI is not installed."""
    if name not in HOSTS:
        pytest.skip(f"there is no MPI named {name} on this machine")
    return HOSTS[name]


def run_checked(host: Host, ranks: int, program: list, **options) -> subprocess.CompletedProcess[str]:
    """Runs a program that must succeed."""
    done = run_ranks(host, ranks, program, **options)
    assert done.returncode == 0, (
        f"{' '.join(done.args)}\nended with {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
    )
    return done


def assert_oratorio_was_used(done: subprocess.CompletedProcess[str]) -> None:
    """Requires the messages that Oratorio writes to stderr with ORATORIO_EXPLAIN=1."""
    assert "oratorio" in done.stderr.lower(), (
        "Oratorio was preloaded, but said nothing:\n" + done.stderr[-4000:]
    )


ORACLE_TRIES = 3


def run_oracle(host: Host, ranks: int, program: list, folder: Path, tries: int = ORACLE_TRIES, **options):
    """Runs `program FOLDER` with the host's own MPI-IO; returns (folder of the files, the completed run).

    The host's MPI-IO is the reference, not the subject of the test, and has races of its own under load
    (Open MPI 4: 5 of 60 runs of fortran_routines, in which Oratorio has none), so a failed run is
    repeated, up to `tries` runs in all.
    """
    theirs = Path(tempfile.mkdtemp(prefix="host", dir=folder))
    try:
        return theirs, run_checked(host, ranks, [*program, theirs], **options)
    except AssertionError:
        if tries == 1:
            raise
        return run_oracle(host, ranks, program, folder, tries - 1, **options)


def run_both_ways(host: Host, ranks: int, program: list, folder: Path, **options) -> None:
    """Runs `program FOLDER` with the host and with Oratorio; the files that they leave must be equal."""
    ours = folder / "oratorio"
    theirs, expected = run_oracle(host, ranks, program, folder, **options)
    names = sorted(file.name for file in theirs.iterdir())
    assert names, "the program left no files"
    if not IS_BUILT:
        pytest.skip(NOT_BUILT)
    ours.mkdir()
    env = {**options.pop("env", {}), "ORATORIO_EXPLAIN": "1"}
    found = run_checked(host, ranks, [*program, ours], preload=True, env=env, **options)
    assert_oratorio_was_used(found)
    assert sorted(file.name for file in ours.iterdir()) == names
    for name in names:
        assert_same_bytes(theirs / name, ours / name)
    assert found.stdout == expected.stdout


def assert_same_bytes(expected: Path, found: Path) -> None:
    """Requires equal files; reports the first difference instead of both contents."""
    one, other = expected.read_bytes(), found.read_bytes()
    if one == other:
        return
    first = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    pytest.fail(f"{found.name}: {len(other)} bytes instead of {len(one)}, first difference at byte {first}")


def compile_for(compiler: Path, source: Path, name: str, *flags: str) -> Path:
    """Compiles a test program unless it is up to date; returns its path."""
    return targets.compile_program(compiler, source, name, *flags)
