# SPDX-License-Identifier: BSD-3-Clause
"""Tests `oratorio learned` on a file as the library writes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from oratorio.command_line import call
from oratorio.learned import times

TEXT = """oratorio-learned 2
access write 4 4 1 96 10 24 0 2 3 16914836 123 12 0.5 0.01
arm shared_buffer 0 0 auto 0.008 1 0 0.015 0.0142 0.0143
arm list_io 0 0 auto 0.009 0 1 0.0111 0.011
arm mmap 0 0 auto 0.02 0 0
access read 8 8 2 100 12 24 0 0 0 61267 5 3 0.2 0
arm double_buffer 8 2 stripes 0.05 2 1 0.06
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the folder of learned times of a user who has some."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    made = tmp_path / "oratorio"
    made.mkdir()
    (made / "learned-node.txt").write_text(TEXT)
    return made


def test_it_shows_the_times_of_each_kind_of_access(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["learned"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{folder}/learned-node.txt:",
        "write of 16.0 MiB in pieces of about 1.0 KiB, 4 ranks on 1 node, tmpfs, no holes: "
        "12 accesses in 0.5 s, 2.0% of it lost by trying other methods",
        "      11 ms  list_io  <- used",
        "    14.3 ms  shared_buffer",
        "read of 32.0 MiB in pieces of about 4.0 KiB, 8 ranks on 2 nodes, ext4: 3 accesses in 0.2 s",
        "      60 ms  double_buffer with 8 aggregators with 2 slots by stripes  <- used",
    ]


def test_clear_removes_the_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["learned", "--clear"]) == 0
    assert list(folder.iterdir()) == []
    assert call(["learned"]) == 0
    assert "Nothing has been learned yet" in capsys.readouterr().out


def test_export_prints_hints_of_the_method_with_most_time(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["learned", "--export"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith("#")] == ["oratorio_method list_io"]


@pytest.mark.parametrize("text", ["", "oratorio-learned 1\n", "oratorio-learned 2\narm x\n", "\xff\n"])
def test_a_malformed_file_is_one_clear_error(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (folder / "learned-node.txt").write_text(text, encoding="latin-1")
    assert call(["learned"]) == 2
    assert "oratorio learned --clear" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--json"], ["--export"], ["--clear"]])
def test_a_folder_is_no_file_of_times(folder: Path, words: list[str]) -> None:
    (folder / "learned-folder.txt").mkdir()
    assert call(["learned", *words]) == 0
    assert (folder / "learned-folder.txt").is_dir()


def test_without_a_home_nothing_is_found() -> None:
    assert times.folder_of({}) is None
    assert times.files_in(None) == []
