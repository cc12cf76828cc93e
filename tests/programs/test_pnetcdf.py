# SPDX-License-Identifier: BSD-3-Clause
"""Tests Debian's PnetCDF. It is built for Open MPI 4 and needs its library of C++ bindings, libmpi_cxx, which
can't be loaded together with Open MPI 5."""

import pytest
from conftest import HERE, compile_for, host_or_skip, run_both_ways


@pytest.mark.short
@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_pnetcdf_leaves_the_same_file(ranks, tmp_path):
    host = host_or_skip("openmpi4")
    program = compile_for(host.mpicc, HERE / "pnetcdf_program.c", "pnetcdf", "-lpnetcdf")
    run_both_ways(host, ranks, [program], tmp_path)
