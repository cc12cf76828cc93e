# SPDX-License-Identifier: BSD-3-Clause
"""Tests parallel h5py, from Debian for Open MPI and from PyPI for MPICH."""

import pytest
from conftest import HERE, host_or_skip, run_both_ways


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("name", ["mpich5", "mpich4", "openmpi4"])
def test_h5py_leaves_the_same_file(name, ranks, tmp_path):
    host = host_or_skip(name)
    run_both_ways(host, ranks, [host.python, HERE / "h5py_program.py"], tmp_path)
