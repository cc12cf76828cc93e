# SPDX-License-Identifier: BSD-3-Clause
"""Runs the commands of the guides, and checks that they print what the guides say.

In docs/user/guides a block of code below a line with nothing but a file's name is that file. A block `sh` is
run. A block `text` below it is its output, where "..." stands for anything. A block `console` is only shown.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import IS_BUILT, NOT_BUILT, host_or_skip

from oratorio.paths import ROOT

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


def test_each_guide_is_run():
    assert {file.stem for file in GUIDES.glob("*.md")} == set(HOSTS)


@pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
@pytest.mark.parametrize("guide", HOSTS)
def test_the_commands_of_a_guide_do_what_it_says(guide, tmp_path):
    host = host_or_skip(HOSTS[guide])
    folder = tmp_path / "work"
    folder.mkdir()
    write_files("start", folder)
    write_files(guide, folder)
    env = environment(host, tmp_path / "bin")
    printed, runs = "", 0
    for name, kind, text in BLOCK.findall((GUIDES / f"{guide}.md").read_text()):
        if kind == "sh":
            done = subprocess.run(
                ["timeout", "60", "bash", "-euo", "pipefail", "-c", text], cwd=folder, env=env, text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            assert done.returncode == 0, f"{text}\n{done.stdout[-4000:]}"
            printed, runs = done.stdout, runs + 1
        elif kind == "text" and not name:
            assert missing(text, printed) == [], printed[-4000:]
    assert runs > 0
