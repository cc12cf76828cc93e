# SPDX-License-Identifier: BSD-3-Clause
"""Tests that the method of docs/internals/adding-a-method.md passes the lint as printed. The build compiles
and runs the method (tests/example)."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tidy

from oratorio.paths import ROOT

PAGE = ROOT / "docs/internals/adding-a-method.md"


@pytest.fixture
def applied(tmp_path) -> Path:
    """Returns a copy of the sources that the page adds or changes, with the page's blocks applied."""
    words = [sys.executable, ROOT / "tests/example/apply.py", PAGE, ROOT / "src", tmp_path / "src"]
    subprocess.run(words, check=True)
    shutil.copy(ROOT / ".clang-format", tmp_path)
    return tmp_path


def sources(root: Path) -> list[Path]:
    """Returns the sources below `root`, relative to it."""
    return sorted(file.relative_to(root) for file in (root / "src").rglob("*.?pp"))


def test_the_page_adds_a_header_and_changes_the_table_of_methods(applied):
    assert sources(applied) == [Path("src/plan/descending.hpp"), Path("src/plan/methods.cpp")]
    text = (applied / "src/plan/methods.cpp").read_text()
    kept = (ROOT / "src/plan/methods.cpp").read_text().splitlines()
    added = [line for line in text.splitlines() if line not in kept]
    assert added[0] == '#include "plan/descending.hpp"'
    assert added[1].endswith('Method{.name = "descending",')


def test_the_code_of_the_page_is_formatted_as_printed(applied):
    words = ["clang-format", "--dry-run", "-Werror", *sources(applied)]
    done = subprocess.run(words, cwd=applied, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_code_of_the_page_obeys_the_rules_of_tidy_as_printed(applied):
    found = [one for file in sources(applied) for one in tidy.check_whole(file, (applied / file).read_text())]
    assert [str(one) for one in found] == []
