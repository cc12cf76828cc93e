# SPDX-License-Identifier: BSD-3-Clause
"""Tests the quick applications of `oratorio neighbours`: they leave the same files with and without Oratorio,
and Oratorio sees their accesses. Only the command itself runs the other applications."""

import pytest
from conftest import IS_BUILT, NOT_BUILT

from oratorio_lab.interop.application_page import PAGE, look
from oratorio_lab.interop.application_table import APPLICATIONS
from oratorio_lab.interop.model import SKIPPED, WRONG, matching


@pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
@pytest.mark.parametrize(
    "application", [one for one in APPLICATIONS if one.is_quick], ids=lambda one: one.package
)
def test_an_application_gets_its_bytes_and_oratorio_its_accesses(application):
    outcome = look(application, repeat=0)
    if outcome.state == SKIPPED:
        pytest.skip(outcome.says)
    assert outcome.state != WRONG, outcome.says


def test_five_applications_are_quick_and_a_row_is_chosen_by_its_name():
    assert sum(one.is_quick for one in APPLICATIONS) == 5
    assert [one.name for one in matching(APPLICATIONS, "lammps")] == ["LAMMPS"]
    assert matching(APPLICATIONS, None) == list(APPLICATIONS)


def test_the_page_has_all_applications():
    text = PAGE.read_text()
    assert all(f"| {one.name} |" in text for one in APPLICATIONS)
