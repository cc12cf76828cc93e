# SPDX-License-Identifier: BSD-3-Clause
"""Tests that the fuzzers' corpus stays small and complete, and that `oratorio fuzz` reads libFuzzer's
output."""

import shutil
from pathlib import Path

import pytest

from oratorio_dev import fuzz

LOG = """INFO: Running with entropic power schedule (0xFF, 100).
#2	INITED cov: 30 ft: 31 corp: 1/3b exec/s: 0 rss: 70Mb
fuzz: assertion failed: no byte is marked that wasn't given
==7== ERROR: libFuzzer: deadly signal
SUMMARY: libFuzzer: deadly signal
stat::number_of_executed_units: 12345
stat::peak_rss_mb:              132
"""


def test_every_target_has_a_corpus_and_is_built():
    listed = (fuzz.SOURCES / "CMakeLists.txt").read_text()
    assert {folder.name for folder in fuzz.CORPUS.iterdir()} == set(fuzz.targets())
    for target in fuzz.targets():
        assert f"oratorio_fuzzer({target} " in listed
        assert any((fuzz.CORPUS / target).iterdir())


def test_the_corpus_is_small():
    files = [file for file in fuzz.CORPUS.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) < 200_000
    assert max(file.stat().st_size for file in files) <= fuzz.LONGEST
    for target in fuzz.targets():
        assert len(list((fuzz.CORPUS / target).iterdir())) <= 2 * fuzz.FILES_MOST


def test_without_a_clang_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(fuzz.FuzzError, match="clang-14 libclang-rt-14-dev"):
        fuzz.find_compiler()


def test_the_first_failure_is_reported():
    found = fuzz.read_log("message", LOG, 3, (Path("crash-1"),))
    assert found.executions == 12345
    assert found.failure == "fuzz: assertion failed: no byte is marked that wasn't given"


def test_a_log_of_nothing_but_numbers_is_no_failure():
    assert not fuzz.read_log("message", "stat::number_of_executed_units: 5\n", 3).failure
