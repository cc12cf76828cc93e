# SPDX-License-Identifier: BSD-3-Clause
"""Tests the page of the papers' mechanisms: each mechanism that the library has is tested, by a test that
exists."""

import re
from functools import cache

import pytest

from oratorio.paths import ROOT

PAGE = ROOT / "docs/research/mechanisms.md"
ROW = re.compile(r"\| (?P<mechanism>[^|]+) \| (?P<here>[^|]+) \| (?P<tests>[^|]*)\|")
ROWS = [
    row
    for line in PAGE.read_text().splitlines()
    if (row := ROW.fullmatch(line)) and row["mechanism"] != "mechanism"
]


@cache
def known_tests() -> set[str]:
    """Returns Suite.Name of each GoogleTest in the tests."""
    macro = re.compile(r"\bTEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\s*\)")
    return {
        f"{suite}.{name}"
        for file in (ROOT / "tests").rglob("*_test.cpp")
        for suite, name in macro.findall(file.read_text())
    }


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["mechanism"])
def test_a_mechanism_is_tested_or_declared(row):
    named = re.findall(r"`([\w.]+)`", row["tests"])
    assert set(named) <= known_tests()
    if row["here"].startswith("yes"):
        assert named
    assert row["here"].split()[0].rstrip(",;:") in {"yes", "no", "differs"}


def test_all_papers_are_there():
    assert len(ROWS) >= 40
