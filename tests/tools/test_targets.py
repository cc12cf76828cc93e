# SPDX-License-Identifier: BSD-3-Clause
"""Tests when a program of lab is compiled again."""

import os

import pytest

from oratorio_lab import targets

OLD = 1_000_000_000  # a time stamp before that of any program


@pytest.fixture
def compiled(tmp_path):
    """Returns compiled(flag...), which says whether the program had to be compiled."""
    (tmp_path / "a.c").write_text('#include "a.h"\nint main(void) { return CODE; }\n')
    (tmp_path / "a.h").write_text("#define CODE 0\n")
    for file in tmp_path.iterdir():
        os.utime(file, (OLD, OLD))

    def build(*flags) -> bool:
        announced = []
        program = targets.compile_program(
            "cc", tmp_path / "a.c", tmp_path / "made/a", *flags, announce=lambda: announced.append(True)
        )
        assert program.exists()
        return bool(announced)

    return build


def test_a_program_is_compiled_again_after_a_change_only(compiled, tmp_path):
    assert compiled()
    assert not compiled()
    assert compiled("-DOTHER")
    assert not compiled("-DOTHER")
    for name in ("a.c", "a.h"):
        later = (tmp_path / "made/a").stat().st_mtime + 1
        os.utime(tmp_path / name, (later, later))
        assert compiled("-DOTHER")
        os.utime(tmp_path / name, (OLD, OLD))


def test_a_program_that_does_not_compile_is_an_error_and_leaves_nothing(compiled, tmp_path):
    (tmp_path / "a.h").write_text("")
    with pytest.raises(targets.TargetError, match=r"a\.c can't be compiled:"):
        compiled()
    assert list((tmp_path / "made").iterdir()) == []
