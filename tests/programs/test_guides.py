# SPDX-License-Identifier: BSD-3-Clause
"""Runs the commands of the guides, and checks that they print what the guides say, and that their programs
write with as few accesses as they should.

In docs/user/guides a block of code below a line with nothing but a file's name is that file. A block `sh` is
run. A block `text` below it is its output, where "..." matches anything. A block `console` is only shown.
"""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from conftest import IS_BUILT, NOT_BUILT, host_or_skip

from oratorio.paths import ROOT
from oratorio.trace import trace

GUIDES = ROOT / "docs/user/guides"
# The MPI that each guide is tested with. HDF5, netCDF and Fortran come from Debian.
HOSTS = {
    "start": "mpich5",
    "verify": "mpich5",
    "python": "mpich5",
    "sites": "mpich5",
    "hdf5": "openmpi4",
    "netcdf": "openmpi4",
    "fortran": "openmpi4",
}
# Python modules that a guide's programs import.
MODULES = {"start": "mpi4py", "verify": "mpi4py", "sites": "mpi4py", "python": "mpi4py, numpy, h5py"}
# The files that the programs of each guide write with Oratorio. Each is written by one collective call.
WRITTEN = {
    "start": {"ours.dat"},
    "verify": {"ours.dat"},
    "python": {"ours.dat", "field.h5"},
    "sites": {"ours.dat"},
    "hdf5": {"field.h5"},
    "netcdf": {"field.nc"},
    "fortran": {"field.dat"},
}
# Limits for the accesses that HDF5 adds: their number for each rank, and their bytes.
METADATA_CALLS, METADATA_BYTES = 16, 8192
BLOCK = re.compile(r"(?:^`([\w.]+)`:\n\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Open MPI refuses root and more ranks than cores without these variables.
OPENMPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}


def write_files(guide: str, folder: Path) -> None:
    """Writes the files that a guide shows."""
    for name, _, text in BLOCK.findall((GUIDES / f"{guide}.md").read_text()):
        if name:
            (folder / name).write_text(text)


def environment(host, bin_folder: Path) -> dict[str, str]:
    """Returns the environment of a user who has installed Oratorio and this MPI."""
    bin_folder.mkdir()
    commands = {
        "oratorio": f"env PYTHONPATH={ROOT}/cli:{ROOT}/lab:{ROOT}/dev {sys.executable} -m oratorio",
        "python": host.python,
        "mpiexec": host.mpiexec,
        "mpicc": host.mpicc,
        "mpifort": host.mpifort,
    }
    for name, command in commands.items():
        # These are scripts and not links, because virtual environments and MPICH look for their other files
        # next to the name by which they are called.
        if command:
            script = bin_folder / name
            script.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
            script.chmod(0o755)
    return {**os.environ, **OPENMPI, **host.env, "PATH": f"{bin_folder}:{os.environ['PATH']}"}


def missing(expected: str, printed: str) -> list[str]:
    """Returns the lines of `expected` that were not printed. The order does not matter, because the output of
    ranks and streams mixes."""
    lines = printed.splitlines()
    patterns = {line: re.escape(line.strip()).replace(r"\.\.\.", ".*") for line in expected.splitlines()}
    return [
        text for text, one in patterns.items() if not any(re.fullmatch(one, line.strip()) for line in lines)
    ]


def host_of(guide: str):
    """Returns the MPI of a guide; skips the test if it, or a module that the programs import, is missing."""
    host = host_or_skip(HOSTS[guide])
    if guide in MODULES:
        words = [host.python, "-c", f"import {MODULES[guide]}"]
        if subprocess.run(words, env={**os.environ, **host.env}, capture_output=True).returncode:
            pytest.skip(f"{host.python} has not all of {MODULES[guide]}; ./oratorio test --all installs them")
    return host


def count_accesses(traced: Path) -> set[str]:
    """Returns the names of the files of a trace. Requires that each rank wrote its data of each file with one
    collective call, and that the other accesses are metadata: few and small."""
    names = set()
    for file in trace.read(traced):
        names.add(Path(file.path).name)
        data = [one for one in file.accesses if one.args["moved"] > METADATA_BYTES]
        assert sorted(one.process for one in data) == list(range(file.ranks)), file.path
        assert all(one.collective is not None for one in data), file.path
        calls = Counter(one.process for one in file.accesses)
        assert max(calls.values()) <= 1 + METADATA_CALLS, file.path
    return names


def test_each_guide_is_run():
    assert {file.stem for file in GUIDES.glob("*.md")} == set(HOSTS) == set(WRITTEN)


@pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
@pytest.mark.parametrize("guide", HOSTS)
def test_the_commands_of_a_guide_do_what_it_says(guide, tmp_path):
    host = host_of(guide)
    folder = tmp_path / "work"
    folder.mkdir()
    write_files("start", folder)
    write_files(guide, folder)
    env = environment(host, tmp_path / "bin")
    printed, runs, written = "", 0, set()
    for name, kind, text in BLOCK.findall((GUIDES / f"{guide}.md").read_text()):
        if kind == "sh":
            traced = tmp_path / f"trace{runs}.json"
            # The rules of conformance make accesses of all kinds, so those are not counted.
            env["ORATORIO_TRACE"] = "0" if "conformance" in text else str(traced)
            done = subprocess.run(
                ["timeout", "60", "bash", "-euo", "pipefail", "-c", text], cwd=folder, env=env, text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            assert done.returncode == 0, f"{text}\n{done.stdout[-4000:]}"
            printed, runs = done.stdout, runs + 1
            written |= count_accesses(traced) if traced.exists() else set()
        elif kind == "text" and not name:
            assert missing(text, printed) == [], printed[-4000:]
    assert runs > 0
    assert written == WRITTEN[guide]
