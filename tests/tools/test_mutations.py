# SPDX-License-Identifier: BSD-3-Clause
"""Tests `oratorio mutations`: the text that each mutation changes is in the sources, the copy has what a
build needs, and a failed test is found in ctest's output."""

import re
import subprocess

from oratorio.paths import ROOT
from oratorio_dev import mutations


def test_every_mutation_has_its_place():
    """Finds the text of each mutation in the sources. Whoever changes this text in the sources must change
    it in the list of mutations."""
    lost = [
        one.name for one in mutations.read_list() if one.apply((ROOT / "src" / one.file).read_text()) is None
    ]
    assert not lost


def test_the_first_test_that_failed_is_read_from_the_end_of_ctests_output(monkeypatch):
    end = (
        "The following tests did not run:\n\t 3 - unit.Off (Disabled)\n\n"
        "The following tests FAILED:\n\t 12 - sim.Counts.One (Failed)\nErrors while running\n"
    )
    for printed, code, found in (
        (end, 8, "sim.Counts.One"),
        ("100% passed", 0, ""),
        ("", 8, "ctest ended with 8"),
    ):
        done = subprocess.CompletedProcess([], code, printed)
        monkeypatch.setattr(mutations.subprocess, "run", lambda *given, done=done, **more: done)
        assert mutations.Bench(1, short=True).failed_test() == found


def test_the_copy_has_all_folders_of_the_build():
    folders = re.findall(r"add_subdirectory\((\S+)\)", (ROOT / "CMakeLists.txt").read_text())
    assert len(folders) > 4
    assert not [name for name in folders if not name.startswith(mutations.COPIED)]
