# SPDX-License-Identifier: BSD-3-Clause
"""Tests that a file has the name that the host's own MPI-IO gives it, with any prefix that the program puts
before the name."""

import pytest
from conftest import HERE, compile_for, host_or_skip, run_both_ways


# Open MPI 4 is left out, because it fails to open some of the names itself.
@pytest.mark.short
@pytest.mark.parametrize("name", ["mpich5", "abi", "mpich4", "openmpi5"])
def test_prefixes_are_dropped_or_kept_as_the_host_does(name, tmp_path):
    host = host_or_skip(name)
    program = compile_for(host.mpicc, HERE / "odd_names.c", f"odd-names-{name}")
    run_both_ways(host, 2, [program], tmp_path)
