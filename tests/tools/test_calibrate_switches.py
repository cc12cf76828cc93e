# SPDX-License-Identifier: BSD-3-Clause
"""Tests how `oratorio calibrate --topology` recognizes nodes of one switch by their latencies."""

import itertools
import random

import pytest

from oratorio.calibrate import switches
from oratorio.calibrate.calibrate import CalibrateError


def latencies(groups, inside, between, noise=0.05, seed=1):
    """Returns made-up latencies; `inside` and `between` are the lowest ones."""
    draw = random.Random(seed)
    group_of = {node: number for number, group in enumerate(groups) for node in group}
    return {
        (low, high): (inside if group_of[low] == group_of[high] else between) * (1 + noise * draw.random())
        for low, high in itertools.combinations(sorted(group_of), 2)
    }


@pytest.mark.parametrize(
    "groups",
    [
        [[0, 1], [2, 3]],
        [[0, 3, 5], [1, 2, 4]],
        [[0, 1, 2, 3], [4]],
        [[0, 1], [2], [3]],
        [list(range(first, 40, 5)) for first in range(5)],
    ],
)
@pytest.mark.parametrize("between", [1300, 1600, 50_000])
def test_the_groups_are_those_of_the_switches(groups, between):
    made = latencies(groups, 1000, between)
    assert switches.group_nodes(sum(map(len, groups)), made) == groups


def test_all_nodes_of_a_cluster_can_be_grouped():
    groups = [list(range(first, 1000, 25)) for first in range(25)]
    assert switches.group_nodes(1000, latencies(groups, 1000, 1500)) == groups


def test_alike_latencies_are_one_switch():
    groups = [list(range(12))]
    assert switches.group_nodes(12, latencies(groups, 1000, 0, noise=0.1)) == groups


def test_a_disturbed_pair_changes_no_groups():
    groups = [[0, 1, 2, 3, 4, 5, 6], [7, 8, 9, 10]]
    made = latencies(groups, 1000, 1500) | {(2, 5): 40_000.0, (3, 9): 90_000.0}
    assert switches.group_nodes(11, made) == groups


def test_nodes_in_a_chain_are_one_switch():
    """A node is near only its neighbours, so no group has nodes that are all near each other."""
    chain = {(low, high): 1000.0 * (high - low) for low, high in itertools.combinations(range(8), 2)}
    assert switches.group_nodes(8, chain) == [list(range(8))]


def test_the_table_is_as_in_slurm():
    text = "node\ta\nnode\tb\nnode\tc\nlatency\t0\t1\t1000\nlatency\t0\t2\t2000\nlatency\t1\t2\t2100\n"
    measured = switches.parse("a library's line\n" + text)
    groups = switches.group_nodes(3, measured.latencies)
    found = switches.summary(measured, groups)
    comment, *lines = switches.table(measured, groups, found).splitlines()
    assert comment == "# Measured by `oratorio calibrate --topology`: " + found
    assert lines == ["SwitchName=switch0 Nodes=a,b", "SwitchName=switch1 Nodes=c"]
    assert "1 to 1 us within a switch, 2 to 2.1 us between switches" in comment


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("node\ta\nnode\tb\nlatency\t0\t1\t9\n", "the ranks are on 2 of the at least 3 nodes"),
        ("node\ta\nnode\tb\nnode\ta\n", "2 nodes have the name a"),
    ],
)
def test_nodes_that_can_t_be_compared_are_refused(text, problem):
    with pytest.raises(CalibrateError, match=problem):
        switches.parse(text)
