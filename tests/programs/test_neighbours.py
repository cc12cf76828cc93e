# SPDX-License-Identifier: BSD-3-Clause
"""Tests the quick rows of `oratorio neighbours`. Only the command itself runs the other rows."""

import pytest
from conftest import IS_BUILT, NOT_BUILT

from oratorio_lab.interop.command import PAGE, look
from oratorio_lab.interop.model import SKIPPED, WRONG, matching
from oratorio_lab.interop.table import ABSENT, NEIGHBOURS


@pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
@pytest.mark.parametrize(
    "neighbour", [one for one in NEIGHBOURS if one.is_quick], ids=lambda one: f"{one.name}-{one.mpi}"
)
def test_a_neighbour_gets_its_bytes_and_oratorio_its_accesses(neighbour):
    outcome = look(neighbour)
    if outcome.state == SKIPPED:
        pytest.skip(outcome.says)
    assert outcome.state != WRONG, outcome.says


def test_a_row_is_chosen_by_its_name_or_its_mpi():
    assert {one.mpi for one in matching(NEIGHBOURS, "SID")} == {"sid"}
    assert matching(NEIGHBOURS, None) == list(NEIGHBOURS)


def test_the_page_has_all_rows():
    text = PAGE.read_text()
    rows = [line.split(" | ")[:4] for line in text.splitlines()]
    told = {(row[0], *row[2:]) for row in rows if len(row) == 4}
    assert {(f"| {one.name}", one.had, f"`{one.mpi}`") for one in NEIGHBOURS} <= told
    assert {one.had for one in NEIGHBOURS if "Rust" in one.name} == {"crates.io"}
    assert all(f"| {one.name} |" in text for one in ABSENT)
