# SPDX-License-Identifier: BSD-3-Clause
"""Tests which MPIs are found, and the options with which their launchers start ranks on other nodes; real
nodes are in tests/programs."""

from pathlib import Path

import pytest

from oratorio.launch import hosts
from oratorio.launch.hosts import Host
from oratorio_lab import nodes

NOWHERE = Path("/nowhere")


def host_of(name: str, launcher: str) -> Host:
    return Host(name, "", NOWHERE, NOWHERE, NOWHERE, "1.0", launcher)


@pytest.mark.parametrize("name", ["mpich4", "mpich5", "abi", "mpich-of-a-user"])
def test_every_mpi_with_hydra_starts_ranks_on_other_nodes_alike(name):
    assert nodes.dialect(host_of(name, "hydra")) == nodes.HYDRA


def test_an_open_mpi_whose_options_are_unknown_is_an_error():
    assert "plm_rsh_agent" in nodes.dialect(host_of("openmpi4", "openmpi"))
    with pytest.raises(
        nodes.NoNodesError,
        match="openmpi-of-a-user: the only Open MPIs that can use several nodes are openmpi4 and openmpi5",
    ):
        nodes.dialect(host_of("openmpi-of-a-user", "openmpi"))


def test_an_mpi_whose_mpiexec_hangs_is_not_found(tmp_path, monkeypatch):
    for tool in ("mpicc", "mpicxx", "mpiexec"):
        (tmp_path / f"{tool}.openmpi").write_text("#!/bin/sh\nexec sleep 60\n")
        (tmp_path / f"{tool}.openmpi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(hosts, "VERSION_SECONDS", 0.2)
    found = hosts.find_hosts.__wrapped__()
    assert "openmpi4" not in {host.name for host in found}
