# SPDX-License-Identifier: BSD-3-Clause
"""Tests `oratorio run --report` with real ranks: the page describes the run, and the run itself does not
change."""

import re

import pytest
from conftest import HERE, IS_BUILT, NOT_BUILT, compile_for, host_or_skip
from test_run import environment_of, launch_words, oratorio

from oratorio import __version__

pytestmark = pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
RANKS = 4


@pytest.mark.short
@pytest.mark.parametrize("name", ["mpich5", "openmpi5"])
def test_the_page_of_a_run_describes_it(name, tmp_path):
    host = host_or_skip(name)
    program = compile_for(host.mpicc, HERE / "traced.c", f"traced-{name}")
    data = tmp_path / "data"
    data.mkdir()
    page = tmp_path / "page.html"
    words = [*launch_words(host, RANKS), program, data]
    options = ["--method", "two_phase", "--hint", "cb_nodez=2", "--report", page]
    done = oratorio("run", *options, *words, env=environment_of(host), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "did you mean cb_nodes?" in done.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == ["data", "page.html"]
    text = re.sub(r"<[^>]*>", " ", page.read_text())
    for said in (
        "all.dat", "own-", "and 3 whose paths differ only in numbers",
        "started collective write", "two_phase", "rank 3",
        "did you mean cb_nodes?", __version__, str(program), "What would make it faster",
    ):  # fmt: skip
        assert said in text, said
    assert "4 on 1 node" in text
    assert "516 KiB" in text, (
        "4 collective writes of 128 KiB, and of each rank a read and a write of 512 bytes"
    )


def test_the_host_is_on_the_page_if_compare_measured_it(tmp_path):
    host = host_or_skip("mpich5")
    program = compile_for(host.mpicc, HERE / "traced.c", "traced-mpich5")
    words, env = [*launch_words(host, 2), program, tmp_path], environment_of(host)
    options = ["--method", "auto", "--repeat", 1, "--quiet", "--json"]
    done = oratorio("compare", *options, *words, env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "compared.json").write_text(done.stdout)
    page = tmp_path / "page.html"
    shown = ["--compared", "compared.json", "--report", page]
    done = oratorio("run", *shown, *words, env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    section = page.read_text().partition("Compared with the MPI's own MPI-IO")[2].partition("<h2>")[0]
    text = re.sub(r"<[^>]*>", " ", section)
    assert str(program) in text
    assert "host" in text and "auto" in text and " x" in text
    for said in ("in open, slowest rank", "in close, slowest rank", "outside of MPI-IO"):
        assert said in page.read_text()
    done = oratorio("run", "--compared", "compared.json", *words, env=env, cwd=tmp_path)
    assert done.returncode == 2 and "--report" in done.stderr
    done = oratorio("run", "--report", page, "--compared", "none.json", *words, env=env, cwd=tmp_path)
    assert done.returncode == 2 and "oratorio compare --json" in done.stderr
