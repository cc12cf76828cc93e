# SPDX-License-Identifier: BSD-3-Clause
"""Tests that the commands that start jobs load little, and read programs without the tools of a compiler."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from oratorio import start
from oratorio.launch import programs
from oratorio.launch.elf import Elf

ROOT = Path(__file__).resolve().parents[2]
PYTHONPATH = ":".join(str(ROOT / name) for name in ("cli", "lab", "dev"))


@pytest.fixture
def call(tmp_path):
    """Returns call(word...), which runs the command in a checkout with an empty library."""
    shutil.copytree(ROOT / "cli/oratorio", tmp_path / "cli/oratorio")
    (tmp_path / "build/lib").mkdir(parents=True)
    (tmp_path / "build/lib/liboratorio.so").touch()

    def run(*words, **environ) -> subprocess.CompletedProcess[str]:
        env = {
            **os.environ,
            "PYTHONPATH": ":".join(str(tmp_path / name) for name in ("cli", "lab", "dev")),
            **environ,
        }
        command = [sys.executable, "-m", "oratorio", *words]
        return subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path)

    return run


@pytest.mark.parametrize("words", [["env"], ["run", "--help"], ["--version"]])
def test_a_job_starts_with_python_alone(words):
    told = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "oratorio", *words],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": PYTHONPATH},
    )  # fmt: skip
    loaded = {line.split("|")[-1].strip().partition(".")[0] for line in told.stderr.splitlines()}
    assert "oratorio" in loaded
    assert not loaded & {"typer", "click", "rich", "numpy", "matplotlib", "pytest"}


def test_words_behind_the_command_belong_to_it(call):
    done = call("run", "--dry-run", "-q", "echo", "--dry-run", "--method", "x", "--", "-q")
    assert done.stdout.endswith("echo --dry-run --method x -- -q\n"), done.stderr
    assert call("run", "--dry-run", "-q", "--", "echo", "a").stdout.endswith("echo a\n")


@pytest.mark.parametrize("words", [["run"], ["run", "--no-such", "echo"], ["run", "no-such-command"]])
def test_what_is_refused_ends_with_2(call, words):
    done = call(*words)
    assert done.returncode == start.REFUSED
    assert "oratorio" in done.stderr


def compiled(folder: Path, text: str, *flags: str) -> Path:
    (folder / "a.c").write_text(text)
    subprocess.run(["cc", "-o", folder / "a", folder / "a.c", *flags], check=True)
    return folder / "a"


def test_what_a_program_needs_is_read_from_its_file(tmp_path):
    program = compiled(
        tmp_path, "int f(void) { return 0; } int main(void) { return f(); }", "-lm", "-Wl,--no-as-needed"
    )
    told = subprocess.run(["readelf", "-d", program], capture_output=True, text=True).stdout
    elf = Elf(program)
    assert elf.needed() == [line.split("[")[1][:-1] for line in told.splitlines() if "(NEEDED)" in line]
    assert "ld-linux" in elf.interpreter() or "/ld" in elf.interpreter()
    assert elf.defines("f") and not elf.defines("puts") and not elf.defines("g")
    assert not Elf(compiled(tmp_path, "int main(void) { return 0; }", "-static")).interpreter()


def test_a_damaged_file_is_told_and_nothing_is_raised(tmp_path):
    whole = compiled(tmp_path, "int main(void) { return 0; }").read_bytes()
    for length in (4, 5, 60, 100, 1000, len(whole) - 64):
        (tmp_path / "cut").write_bytes(whole[:length])
        assert programs.needs_of(tmp_path / "cut").flavour is None
    for place in range(16, 64):
        (tmp_path / "odd").write_bytes(whole[:place] + b"\xff" + whole[place + 1 :])
        assert programs.needs_of(tmp_path / "odd").flavour is None


def test_no_tool_of_a_compiler_is_needed(call, tmp_path):
    program = compiled(tmp_path, "int main(void) { return 0; }")
    done = call("run", "--dry-run", str(program), PATH="/nonexistent")
    assert done.returncode == 0 and "it is not linked to an MPI" in done.stderr


def test_the_manual_page_is_current():
    done = subprocess.run(
        [sys.executable, ROOT / "dev/generate/man.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
