# SPDX-License-Identifier: BSD-3-Clause
"""Tests the list of mutations: each applies to the sources."""

import re

from oratorio.paths import ROOT
from oratorio_dev import mutations


def test_every_mutation_has_its_place():
    """A change of the sources must also change the mutations of that code."""
    lost = [
        one.name for one in mutations.read_list() if one.apply((ROOT / "src" / one.file).read_text()) is None
    ]
    assert not lost


def test_the_copy_has_all_folders_of_the_build():
    folders = re.findall(r"add_subdirectory\((\S+)\)", (ROOT / "CMakeLists.txt").read_text())
    assert len(folders) > 4
    assert not [name for name in folders if not name.startswith(mutations.COPIED)]
