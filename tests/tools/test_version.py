# SPDX-License-Identifier: BSD-3-Clause
"""Tests that all copies of the version agree with the one in cli/oratorio/__init__.py; also tests the
changelog, and the licenses of libraries that are linked in."""

import re
import subprocess
from pathlib import Path

from oratorio import __version__

ROOT = Path(__file__).resolve().parents[2]


def test_the_citation_and_the_changelog_name_this_version_and_its_day():
    citation = (ROOT / "CITATION.cff").read_text()
    day = re.search(r"^date-released: (\S+)$", citation, re.MULTILINE)[1]
    assert re.search(r"^version: (\S+)$", citation, re.MULTILINE)[1] == __version__
    releases = re.findall(r"^## (\d\S+) \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert releases[0] == (__version__, day)


def test_the_changelog_begins_with_incompatible_changes():
    first = (ROOT / "CHANGELOG.md").read_text().partition("\n## Unreleased\n")[2]
    assert not first or first.startswith("**Incompatible changes**"), "docs/user/stability.md promises it"


def test_cmake_reads_it(tmp_path):
    text = (ROOT / "CMakeLists.txt").read_text()
    head = text[: text.index("LANGUAGES")] + "LANGUAGES NONE)\nmessage(STATUS found=${PROJECT_VERSION})\n"
    (tmp_path / "CMakeLists.txt").write_text(head)
    (tmp_path / "cli/oratorio").mkdir(parents=True)
    init = (ROOT / "cli/oratorio/__init__.py").read_text()
    (tmp_path / "cli/oratorio/__init__.py").write_text(init.replace(__version__, "7.65.4"))
    done = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "b"], capture_output=True, text=True)
    assert "found=7.65.4" in done.stdout, done.stderr


def test_the_command_prints_it_without_being_set_up():
    done = subprocess.run([ROOT / "oratorio", "--version"], capture_output=True, text=True)
    assert done.stdout == f"oratorio {__version__}\n", done.stderr
    assert done.stderr == ""


def test_the_licenses_of_what_is_linked_in_exist():
    linked = (ROOT / "CMakeLists.txt").read_text() + (ROOT / "src/bind/CMakeLists.txt").read_text()
    statics = set(re.findall(r"NAMES lib(\w+)\.a", linked)) | set(re.findall(r"-static-lib([\w+]+)", linked))
    told = (ROOT / "licenses/README.md").read_text()
    assert statics == {"uring", "stdc++"}
    assert all(f"lib{name}" in told for name in statics)
    assert "Jens Axboe" in (ROOT / "licenses/liburing.txt").read_text()
