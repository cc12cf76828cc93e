# SPDX-License-Identifier: BSD-3-Clause
"""Tests `oratorio simulate --switches`: the exchange on a fat tree and a dragonfly of SimGrid."""

import pytest

from oratorio_lab.simulate import machine as sim_machine
from oratorio_lab.simulate import switched
from oratorio_lab.simulate.machine import SimulateError

RANKS = 1024  # on 16 nodes, with four aggregators
BLOCKS = ("the machine's", "blocks")
MIB = 1 << 20
MACHINES = {kind: sim_machine.load(name) for kind, name in (("tree", "fat-tree"), ("groups", "theta"))}


@pytest.fixture(scope="module")
def program():
    try:
        return switched.build()
    except SimulateError as error:  # SimGrid is not installed; a program that can't be built is a failure
        pytest.skip(str(error))


@pytest.mark.parametrize(
    ("kind", "known", "crossing_mib"),
    # Each node has 64 MiB. The known numbers are those of `oratorio count switches --ranks 1024`.
    [("tree", False, 960), ("tree", True, 704), ("groups", False, 832), ("groups", True, 512)],
)
def test_what_crosses_is_what_count_switches_counts(program, kind, known, crossing_mib):
    found = switched.exchange(program, MACHINES[kind], RANKS, BLOCKS, known)
    heads = found.between_switches - crossing_mib * MIB
    assert 0 < heads < MIB


@pytest.mark.parametrize("kind", MACHINES)
@pytest.mark.parametrize("data", switched.JOBS)
def test_no_exchange_is_faster_than_the_links_of_the_aggregators(program, kind, data):
    machine = MACHINES[kind]
    found = switched.exchange(program, machine, RANKS, (BLOCKS[0], data), known=True)
    aggregators = RANKS / switched.RANKS_OF_NODE / 4
    assert found.seconds >= found.bytes / aggregators / (machine.links.rate_mbs * 1e6)


@pytest.mark.parametrize("kind", MACHINES)
def test_the_taper_slows_only_what_crosses(program, kind):
    """With 16 384 ranks and nodes in the machine's order, placed aggregators receive blocks of their own
    switch, and others don't."""
    narrow = sim_machine.with_value(MACHINES[kind], "topology.taper", 0.125)

    def seconds(machine, known):
        return switched.exchange(program, machine, 16384, BLOCKS, known).seconds

    assert seconds(narrow, known=False) > 1.5 * seconds(MACHINES[kind], known=False)
    assert seconds(narrow, known=True) == pytest.approx(seconds(MACHINES[kind], known=True), rel=1e-3)


def test_only_networks_of_switches_with_enough_nodes_are_simulated():
    with pytest.raises(SimulateError, match="needs a machine with a fat-tree or a dragonfly"):
        switched.table(sim_machine.load("this-machine"), RANKS)
    for ranks in (1000, 50000):
        with pytest.raises(SimulateError, match="a multiple of 64 up to 49152"):
            switched.table(MACHINES["groups"], ranks)
