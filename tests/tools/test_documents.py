# SPDX-License-Identifier: BSD-3-Clause
"""Tests the JSON documents that commands print with `--json`: each has the members that the page about stable
interfaces names."""

import json
import re
from pathlib import Path

import pytest
from made_runs import MIB, collective, file, planned, run
from test_advise import FILE, SMALL, log_of, posix
from test_advise import mpi as mpi_record
from test_command_line import call  # noqa: F401  a fixture
from test_learned import TEXT as LEARNED
from test_trace import two_ranks

from oratorio import __version__, command_line
from oratorio.advise import log as darshan_log
from oratorio.compare import command as compare_command
from oratorio.report import run_recorder

PAGE = Path(__file__).resolve().parents[2] / "docs/user/stability.md"


def members_of(command: str) -> set[str]:
    """Returns the members that the page lists for a command's document, without those in parentheses, which
    belong to other members."""
    section = PAGE.read_text().partition("\n## Results as JSON\n")[2].partition("\n## ")[0]
    row = re.search(rf"^\| `{command}` \| (.*) \|$", section, re.MULTILINE)[1]
    while (shorter := re.sub(r"\([^()]*\)", "", row)) != row:
        row = shorter
    return set(re.findall(r"`(\w+)`", row))


def document(words: list[str], capsys) -> dict:
    """Runs a command and returns its document, which is all that standard output has."""
    command_line.call(words)
    told = json.loads(capsys.readouterr().out)
    assert (told.pop("schema"), told.pop("version"), told.pop("command")) == (1, __version__, words[0])
    assert set(told) == members_of(words[0])
    return told


@pytest.fixture
def trace(tmp_path) -> Path:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(two_ranks()))
    return path


def test_info(capsys):
    told = document(["info", "--json"], capsys)
    assert told["libraries"][0]["file"].endswith("liboratorio.so")
    for mpi in told["mpis"]:
        assert set(mpi) == {"name", "version", "library", "mpiexec", "fortran"}


def test_doctor(tmp_path, capsys):
    told = document(["doctor", "--json", "--dir", str(tmp_path / "missing")], capsys)
    bad = [one for one in told["findings"] if one["state"] == "bad"]
    assert told["bad"] == len(bad) and "folder" in [one["about"] for one in bad]
    assert set(bad[0]) == {"state", "about", "says", "do"}


def test_report(trace, capsys):
    told = document(["report", "--json", str(trace)], capsys)
    assert told["page"] == str(trace.with_suffix(".html")) and Path(told["page"]).exists()
    assert (told["ranks"], told["accesses"], told["bytes"]) == (2, 5, 5 << 20)
    assert told["files"] == ["/scratch/out.h5"] and set(told["access_seconds"]) == {"0", "1"}
    assert told["rates"]["write"]["bytes"] == 5 << 20 and told["rates"]["write"]["seconds"] > 0
    for rank in told["waited_for"]:
        assert set(rank) == {"rank", "late_calls", "late_seconds", "busy_seconds"}
    for advice in told["advice"]:
        assert set(advice) == {"rule", "sees", "tries", "page", "seconds", "changes"}


def test_advise(capsys, monkeypatch):
    large = posix(0, "/s/large", WRITES=8, BYTES_WRITTEN=8 * MIB, F_WRITE_TIME=0.08)
    made = log_of(mpi=[mpi_record(INDEP_WRITES=1000, BYTES_WRITTEN=1000 * 1024, F_WRITE_TIME=2.0,
                           SIZE_WRITE_AGG_1K_10K=1000)], posix=[posix(**SMALL), large])  # fmt: skip
    monkeypatch.setattr(darshan_log, "read", lambda path: made)
    told = document(["advise", "--json", "job.darshan"], capsys)
    assert (told["log"], told["processes"], told["has_dxt"]) == ("job.darshan", 4, False)
    files = {one["path"]: one for one in told["files"]}
    assert files[FILE]["mpi_io"] and not files["/s/large"]["mpi_io"]
    assert files[FILE]["bytes"] == {"read": 0, "write": 1000 * 1024}
    for advice in told["advice"]:
        assert set(advice) == {"rule", "sees", "tries", "page", "seconds", "changes"}
    (estimate,) = told["estimates"]
    assert (estimate["calls"], estimate["calls_after"], estimate["reason"]) == (1000, 1, None)
    usual, least, most = estimate["seconds_after"]
    assert least < usual < most


def test_trace(trace, capsys):
    told = document(["trace", "--json", str(trace)], capsys)
    [found] = told["files"]
    assert (found["path"], found["ranks"], found["nodes"]) == ("/scratch/out.h5", 2, 1)
    first, second = found["rows"]
    assert (first["access"], first["methods"], first["bytes"]) == (
        "collective write 0",
        ["two_phase"],
        2 << 20,
    )
    assert first["phase_seconds"]["working"] == pytest.approx(0.35)
    assert (second["calls"], second["storage_calls"]) == (3, 6)


def test_compare(tmp_path, monkeypatch, capsys):
    class Pretended:
        def __init__(self, *settings):
            pass

        def apart(self, words, variables, seconds_max):
            steps = collective(2, seconds=0.5)
            made = run(file(*steps), explained=planned("two_phase", "for a reason"))
            made.wall_seconds, made.exit_code = 2.0, 0
            return made, ""

    monkeypatch.setattr(compare_command, "Recorder", Pretended)
    words = ["compare", "-q", "--json", "--repeat", "3", "--method", "two_phase,sieve", "./app", "1"]
    told = document(words, capsys)
    assert (told["job"], told["repeat"], told["files"]) == (["./app", "1"], 3, [])
    rows = {row.pop("name"): row for row in told["methods"]}
    assert list(rows) == ["host", "auto", "two_phase", "sieve"] and told["best"] in rows
    assert rows["two_phase"]["wall_seconds"] == [2.0] * 3
    assert rows["two_phase"]["interval"] == pytest.approx([2.0, 2.0])
    assert rows["two_phase"]["difference"] == "none" and rows["host"]["difference"] is None
    assert rows["two_phase"]["access_seconds"] == pytest.approx([1.0] * 3)
    assert rows["host"]["bytes"] == rows["two_phase"]["bytes"] == 4 << 20
    assert rows["two_phase"]["used"] == {"two_phase": 12}
    assert rows["sieve"]["wall_seconds"] == [] and rows["sieve"]["problem"]


def test_explain(call, tmp_path):  # noqa: F811
    program = tmp_path / "program"
    lines = '{"kind": "remark", "text": "one"}\\n{"kind": "end", "text": "two", "version": "1"}\\n'
    program.write_text(f"#!/bin/sh\necho said\nprintf '{lines}' >\"$ORATORIO_EXPLAIN\"\nexit 7\n")
    program.chmod(0o755)
    done = call("explain", "-q", "--json", str(program))
    assert done.returncode == 7 and "said\n" in done.stderr
    told = json.loads(done.stdout)
    assert set(told) == {"schema", "version", "command"} | members_of("explain")
    assert told["exit_code"] == 7 and [one["kind"] for one in told["explanations"]] == ["remark", "end"]


def test_a_dry_run_prints_the_command(monkeypatch, capsys):
    monkeypatch.setattr(run_recorder.Recorder, "explained", None)
    assert command_line.call(["explain", "-q", "--json", "--dry-run", "true"]) == 0
    assert capsys.readouterr().out.endswith("true\n")


def test_learned(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = tmp_path / "oratorio" / "learned-node.txt"
    path.parent.mkdir()
    path.write_text(LEARNED)
    (told,) = document(["learned", "--json"], capsys)["files"]
    assert told["path"] == str(path)
    assert [kind["direction"] for kind in told["kinds"]] == ["write", "read"]
    assert told["kinds"][0]["arms"][1]["seconds"] == [0.0111, 0.011]
