# SPDX-License-Identifier: BSD-3-Clause
"""The list of mutations: each has a place in the sources."""

import re

from oratorio import mutations
from oratorio.paths import ROOT


def test_every_mutation_has_its_place():
    """What was rewritten takes its mutations along."""
    lost = [
        one.name for one in mutations.read_list() if one.apply((ROOT / "src" / one.file).read_text()) is None
    ]
    assert not lost


def test_the_copy_has_all_folders_of_the_build():
    folders = re.findall(r"add_subdirectory\((\S+)\)", (ROOT / "CMakeLists.txt").read_text())
    assert len(folders) > 4
    assert not [name for name in folders if not name.startswith(mutations.COPIED)]
