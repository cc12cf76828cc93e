# SPDX-License-Identifier: BSD-3-Clause
"""Tests how `oratorio calibrate` finds the MPI whose messages it measures."""

import subprocess
import sys
from pathlib import Path

import pytest

from oratorio.calibrate import messages
from oratorio.launch.programs import flavour_of_name


@pytest.fixture
def ours(tmp_path, monkeypatch) -> Path:
    """Returns a folder with Oratorio's libraries for the MPICH ABI and for Open MPI."""
    folder = tmp_path / "ours"
    folder.mkdir()
    for flavour in ("mpich", "ompi"):
        (folder / f"liboratorio-{flavour}.so").touch()
    monkeypatch.setattr(messages, "LIBRARIES", folder)
    return folder


def test_names_of_mpi_libraries_are_of_their_flavour():
    for flavour, names in messages.MPI_LIBRARIES.items():
        assert {flavour_of_name(name) for name in names} == {flavour}


def test_the_library_of_the_installation_comes_before_those_of_the_dynamic_linker(ours, tmp_path):
    for folder in ("lib", "lib64"):
        (tmp_path / folder).mkdir()
    (tmp_path / "lib/libmpi_abi.so.0").touch()  # Oratorio's library for this one was not built
    (tmp_path / "lib64/libmpi.so.40").touch()
    mpich, ompi = ours / "liboratorio-mpich.so", ours / "liboratorio-ompi.so"
    by_name = [("libmpi.so.12", mpich), ("libmpich.so.12", mpich), ("libmpi.so.40", ompi)]
    beside = (str(tmp_path / "lib64/libmpi.so.40"), ompi)
    assert messages.libraries(tmp_path, ()) == [beside, *by_name]
    assert messages.libraries(tmp_path, ("mpich", "abi")) == by_name[:2]


def test_a_rank_without_an_mpi_names_what_it_tried():
    pair = ["/nowhere/libmpi.so.12", "/nowhere/liboratorio-mpich.so"]
    command = [sys.executable, messages.CHILD, "--ranks", *pair, "--", "messages", "1", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "no MPI library can be loaded (/nowhere/libmpi.so.12: cannot open shared object" in done.stderr
