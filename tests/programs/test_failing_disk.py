# SPDX-License-Identifier: BSD-3-Clause
"""Tests disks that fail under the ranks: every rank gets the error, and data is on the disk if its sync
succeeded."""

import shlex

import pytest
from conftest import HERE, IS_BUILT, NOT_BUILT, compile_for, host_or_skip

from oratorio.launch.hosts import mpiexec_command
from oratorio_lab.clients.kinds import DISK
from oratorio_lab.clients.rig import FOLDER, RANKS, Clients, NoClientsError

pytestmark = pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)


def test_every_rank_learns_of_a_failing_disk_and_no_sync_hides_it(tmp_path):
    host = host_or_skip("mpich5")
    program = compile_for(host.mpicc, HERE / "failing_disk.c", "failing-disk")
    words = [*mpiexec_command(host, RANKS, True), program]
    # On `journal` the file system turns read-only and gives all cases the same error, so a few cases suffice.
    chosen = {"plain": [], "journal": ["auto", "direct", "sieve"]}
    command = " && ".join(
        shlex.join(map(str, [*words, f"{FOLDER}/{name}", HERE / "failing_disk.sh", *cases]))
        for name, cases in chosen.items()
    )
    try:
        disks = Clients(DISK, tmp_path)
    except NoClientsError as error:
        pytest.skip(f"no disks that fail here: {error}")
    ended = disks.run(command, 600)
    told = [line for line in ended.output.splitlines() if not line.startswith("oratorio: ")]
    assert (ended.code, told) == (0, ["21 cases", "3 cases"]), ended.output[-6000:]
