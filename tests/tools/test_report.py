# SPDX-License-Identifier: BSD-3-Clause
"""Tests `oratorio report`: sums, limits and the page."""

import json
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import package
import pytest
from made_runs import MIB, access, collective, file, planned, run, span
from test_trace import access as recorded
from test_trace import two_ranks, whole

from oratorio.calibrate import calibrate
from oratorio.calibrate import command as calibrate_command
from oratorio.errors import OratorioError
from oratorio.library import description
from oratorio.machine import costs, mounts
from oratorio.report import compared, explained, html_page
from oratorio.report import facts as run_facts
from oratorio.report import page as run_report

ROOT = Path(__file__).resolve().parents[2]
PYTHONPATH = ":".join(str(ROOT / name) for name in ("cli", "lab", "dev"))
# Elements of the page that have no end tag.
VOID = {"meta", "br", "wbr", "p", "li", "td", "th", "tr", "dt", "dd", "i"}


class Reader(HTMLParser):
    """Checks that start and end tags match, and collects text and attributes."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.attributes = [], [], []

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read_page(text):
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def test_the_parts_of_an_access_add_up_to_its_time():
    one = access(
        0, 1.0, 1.0, span("planning", 1.0, 0.3), span("waiting", 1.1, 0.1, "detail"),
        span("working", 1.3, 0.6),
        counts={"storage_time": 0.25, "copy_time": 0.125, "wait_time": 0.1},
    )  # fmt: skip
    spent = run_facts.spent_by(one)
    assert (spent.storage, spent.copying, spent.waiting) == (0.25, 0.125, 0.1)
    assert spent.planning == pytest.approx(0.2)
    assert spent.total == pytest.approx(1.0)


def test_background_accesses_count_the_time_worked_on_them():
    spent = run_facts.spent_by(access(0, 1.0, 9.0, counts={"storage_time": 0.25}, started=True))
    assert (spent.rest, spent.total) == (0.0, 0.25)


def test_ranks_are_those_of_the_world():
    own = [file(access(0, 1.0, 0.5, process=p), path=f"/s/own-{p}.dat", ranks=1, number=p) for p in range(3)]
    found = run(*own)
    assert list(found.processes) == [0, 1, 2]
    assert (found.ranks, found.nodes, found.ranks_per_node) == (3, 1, 3)
    assert found.io_seconds == pytest.approx(0.5)
    (some,) = run_facts.alike(found.files)
    (group,) = run_facts.groups_of(*some)
    assert (group.calls, group.moved, group.seconds) == (1, 3 * MIB, pytest.approx(0.5))


def test_nodes_are_those_of_all_files():
    own = [file(access(0, 1.0, 0.5, process=p), path=f"/s/own-{p}.dat", ranks=1, number=p) for p in range(4)]
    for one in own[:3]:
        one.args["nodes"][0]["name"] = "there"
    found = run(*own)
    assert (found.ranks, found.nodes, found.ranks_per_node) == (4, 2, 3)


def test_accesses_that_are_alike_are_one_row():
    steps = collective(3)
    more = [access(0, 9.0, 0.1), access(0, 9.5, 0.1, direction="read", started=True)]
    found = run_facts.groups_of(file(*steps, *more))
    assert [(group.name, group.calls) for group in found] == [
        ("collective write", 3), ("independent write", 1), ("started independent read", 1),
    ]  # fmt: skip
    assert [len(call) for call in run_facts.calls_of(found[0])] == [2, 2, 2]


def test_calls_of_two_opens_are_not_taken_for_one():
    first, second = file(*collective(1)), file(*collective(1), number=1)
    (group,) = run_facts.groups_of(first, second)
    assert len(run_facts.calls_of(group)) == 2
    assert group.calls == 2


def limits_with(tmp_path, found, text):
    (tmp_path / "here-UFS.costs").write_text(text)
    (limits,) = run_facts.limits_of(found, {"ORATORIO_COSTS": str(tmp_path)})
    return limits


def test_bytes_are_compared_with_what_calibrate_measured(tmp_path):
    counts = {
        "bytes_stored": 100 * MIB,
        "storage_time": 0.1,
        "bytes_packed": MIB,
        "bytes_placed": MIB,
        "copy_time": 0.002,
    }
    found = run(file(access(0, 1.0, 1.0, counts=counts)))
    text = "write_byte 0.5 # a byte\ncontended_byte 2\ncopy_byte 0.25\nread_byte nonsense\n"
    limits = limits_with(tmp_path, found, text)
    written, copied = limits.limits
    assert limits.source == str(tmp_path / "here-UFS.costs")
    assert (written.measured, written.calibrated) == (pytest.approx(1000 * MIB), pytest.approx(2e9))
    assert written.share == pytest.approx(1000 * MIB / 2e9)
    assert copied.share == pytest.approx(1000 * MIB / 4e9)
    both = run(file(*[access(rank, 1.0, 1.0, counts=counts) for rank in (0, 1)]))
    assert limits_with(tmp_path, both, text).limits[0].calibrated == pytest.approx(0.5e9), (
        "the constant for several ranks that write at once"
    )


def test_without_a_file_of_costs_there_is_nothing_to_compare_with(tmp_path):
    (limits,) = run_facts.limits_of(run(file(access(0, 1.0, 1.0))), {"ORATORIO_COSTS": str(tmp_path)})
    assert (limits.source, limits.limits) == ("", ())


def test_costs_are_looked_for_where_the_library_looks(tmp_path):
    assert costs.costs_folder({"ORATORIO_COSTS": "/a", "XDG_CACHE_HOME": "/b"}) == Path("/a")
    assert costs.costs_folder({"XDG_CACHE_HOME": "/b", "HOME": "/c"}) == Path("/b/oratorio")
    assert costs.costs_folder({"HOME": "/c"}) == Path("/c/.cache/oratorio")
    assert costs.costs_folder({"ORATORIO_COSTS": "a"}) == Path.cwd() / "a"
    env = {"ORATORIO_COSTS": str(tmp_path)}
    (tmp_path / "UFS.costs").write_text("write_byte 3\n")
    assert costs.in_force(env, costs.names_of("here", "UFS"))[0] == "write_byte 3\n"
    (tmp_path / "here-UFS.costs").write_text("write_byte 4\n")
    assert costs.in_force(env, costs.names_of("here", "UFS"))[0] == "write_byte 4\n"


def test_costs_that_the_library_ignores_are_not_in_force(tmp_path):
    env, names = {"ORATORIO_COSTS": str(tmp_path)}, costs.names_of("here", "UFS")
    (tmp_path / "UFS.costs").write_bytes(b"write_byte 3 # \xff\n")
    for make in (Path.mkdir, os.mkfifo, lambda path: path.write_text("#" * (1 << 20) + "\n")):
        make(tmp_path / names[0])
        text, source = costs.in_force(env, names)
        assert (costs.values_of(text), source) == ({"write_byte": 3}, str(tmp_path / "UFS.costs"))
        calibrate.keep_those_between_nodes(calibrate.Found(), tmp_path / names[0])
        (tmp_path / names[0]).rename(tmp_path / f"ignored {make.__name__}")


def test_without_a_home_there_is_no_folder_of_costs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".cache/oratorio").mkdir(parents=True)
    (tmp_path / ".cache/oratorio/UFS.costs").write_text("write_byte 3\n")
    for env in ({}, {"HOME": "", "XDG_CACHE_HOME": "", "ORATORIO_COSTS": ""}):
        assert costs.costs_folder(env) is None
        assert costs.in_force(env, ["UFS.costs"]) == ("", "")


def test_calibrate_without_a_folder_for_its_costs_measures_nothing(tmp_path, monkeypatch):
    for name in ("HOME", "XDG_CACHE_HOME", "ORATORIO_COSTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(calibrate.CalibrateError, match="set ORATORIO_COSTS, XDG_CACHE_HOME or HOME"):
        calibrate_command.measure(tmp_path, None, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["file/here", "none/here", "n" * 255, "folder"])
def test_a_file_that_cannot_be_written_is_one_sentence_and_leaves_nothing(tmp_path, name):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(calibrate.CalibrateError, match="can't be written: "):
        calibrate.write_costs(tmp_path / name, calibrate.Found(), {})
    with pytest.raises(OratorioError, match=r"can't be written: .*; choose another path"):
        html_page.write("page", tmp_path / name)
    assert {file.name for file in tmp_path.iterdir()} == {"file", "folder"}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("wake 3", {"wake": 3}),
        ("wake=3", {"wake": 3}),
        ("wake= 3\nlock\t =4\n", {"wake": 3}),
        ("# wake 4\n\n  \t\n\twake \t 3 # not 5\r\nread_call 2e3\r\n#", {"wake": 3, "read_call": 2000}),
        ("wake 1\nwake 2\nwake 0\nwake -1\nwake 1.1e12\nwake nan\n", {"wake": 2}),
        ("target_byte 0\nwrite_byte 0\nqueue_entry=0.0\n", {"target_byte": 0, "queue_entry": 0}),
        ("read_call 1_000\nread_call +5\nread_call 0x5\nread_call 5 6\nread_call\nread_call inf\n", {}),
        ("wake 3\x0bread_call 4\nlock .5\nmessage 5.\n", {"lock": 0.5, "message": 5}),
        ("no_such_constant 5\n", {}),
    ],
)
def test_costs_are_read_as_the_library_reads_them(text, values):
    assert costs.values_of(text) == values


def test_costs_between_nodes_are_kept_however_they_are_written(tmp_path):
    file = tmp_path / "here-UFS.costs"
    found = calibrate.Found({"far_byte": 1.0})
    calibrate.keep_those_between_nodes(found, file)
    assert found.values == {"far_byte": 1.0}
    file.write_text("far_message=7000\nfar_byte 2\nbeside_byte nan\nbeside_message 5 # a message\nwake 3\n")
    calibrate.keep_those_between_nodes(found, file)
    assert found.values == {"far_byte": 1.0, "far_message": 7000, "beside_message": 5}


MOUNTS = """\
22 1 8:1 / / rw - ext4 /dev/sda1 rw
30 22 0:30 / /scratch\\040fast rw shared:5 - lustre mds:/x rw
31 22 0:31 / /scratch rw - nfs4 server:/x rw
40 31 0:40 / /scratch/mine rw - fuse.glusterfs x rw
"""


def test_the_file_system_of_a_path_is_the_innermost_mount():
    kinds = {
        path: mounts.mount_of(path, MOUNTS).kind
        for path in ("/home/x", "/scratch/a/b", "/scratch fast/c", "/scratcher")
    }
    assert kinds == {
        "/home/x": "ext4",
        "/scratch/a/b": "nfs4",
        "/scratch fast/c": "lustre",
        "/scratcher": "ext4",
    }
    mine = mounts.mount_of("/scratch/mine/file", MOUNTS)
    assert (mine.name, mine.is_coherent, mine.is_local) == ("FUSE", False, False)
    assert mounts.mount_of("/x", "") is None


def test_names_of_file_systems_are_the_library_s():
    assert set(description.names("file_systems")) == {*mounts.NAMES.values(), "FUSE", "UFS"}


def whole_run(**more):
    candidates = [("two_phase", 0.25, ""), ("list_io", None, "does not apply: <why>")]
    facts = {"what": "words & words"}
    told = planned("two_phase", "a <reason>", *candidates, path="/s/<b>.dat", facts=facts)
    files = [
        file(*collective(2), path="/s/<b>.dat"),
        file(access(0, 5.0, 0.1), path="/s/own-0.dat", ranks=1, number=1),
    ]
    return run(
        *files, explained=told, command="mpiexec ./<app>", wall_seconds=2.0, exit_code=0, began=0.0, **more
    )


def test_the_page_is_complete_and_needs_no_other_file():
    page = run_report.html_of(whole_run(), {})
    reader = read_page(page)
    text = "".join(reader.text)
    for said in (
        "mpiexec ./<app>",
        "/s/<b>.dat",
        "a <reason>",
        "words & words",
        "does not apply: <why>",
        "two_phase",
    ):
        assert said in text
    assert "<b>.dat" not in page and "<app>" not in page
    assert "<script" not in page and "//" not in page.replace("</", "")
    assert not [one for one in reader.attributes if one[1] in ("src", "href")]
    assert "prefers-color-scheme: dark" in page and "width=device-width" in page


def test_calls_that_move_no_data_are_shown_apart_from_accesses():
    calls = [("open", 0, 0.0, 0.5), ("open", 1, 0.1, 0.4), ("close", 0, 2.0, 0.25), ("close", 1, 2.0, 0.25)]
    seen = run(file(access(0, 1.0, 0.5), access(1, 1.0, 0.5), calls=calls), wall_seconds=10.0)
    text = " ".join("".join(read_page(run_report.html_of(seen, {})).text).split())
    for said in ("in open, slowest rank", "in close, slowest rank", "outside of MPI-IO", "8.75 s",
                 "time in other calls", "open 500.0 ms, close 250.0 ms"):  # fmt: skip
        assert said in text
    assert seen.io_seconds == 0.5, "times of calls are not times of accesses"
    older = run_report.html_of(run(file(access(0, 1.0, 0.5)), wall_seconds=10.0), {})
    assert "outside of accesses" in older and "has no times of opening and closing" in older


HOST_AND_AUTO = {
    "schema": 1, "version": "0", "command": "compare", "job": ["mpiexec", "./<app>"],
    "methods": [
        {"name": "host", "wall_seconds": [2.0, 4.0, 3.0], "interval": [1.0, 5.0], "bytes": 30 << 20,
         "difference": None, "problem": None},
        {"name": "auto", "wall_seconds": [1.5, 1.5, 1.5], "interval": [1.25, 1.75], "bytes": 30 << 20,
         "difference": "faster", "problem": None},
        {"name": "sieve", "wall_seconds": [], "interval": None, "bytes": None, "difference": None,
         "problem": "ended with 3: <no>"},
    ],
}  # fmt: skip


def test_the_host_is_shown_if_it_was_measured(tmp_path):
    (tmp_path / "compared.json").write_text(json.dumps(HOST_AND_AUTO))
    seen = whole_run()
    assert "oratorio compare --method auto --json mpiexec ./&lt;app&gt; &gt;" in run_report.html_of(seen, {})
    seen.compared = compared.read(tmp_path / "compared.json")
    text = "".join(read_page(run_report.html_of(seen, {})).text)
    for said in ("3.00 s", "1.00 s to 5.00 s", "10", "2.00 x", "ended with 3: <no>"):
        assert said in text
    assert "--compared" not in text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("thesis", "is not what"),
        ('{"command": "trace"}', "is not what"),
        ("[" * 100_000, "is not what"),
        (json.dumps({**HOST_AND_AUTO, "schema": 2}), "schema 2"),
        (json.dumps({**HOST_AND_AUTO, "methods": [{}]}), "differs from the format in docs/user/stability.md"),
    ],
)
def test_files_that_are_no_comparisons_are_refused(content, said, tmp_path):
    (tmp_path / "compared.json").write_text(content)
    with pytest.raises(compared.ComparedError, match=said):
        compared.read(tmp_path / "compared.json")


def test_incomplete_recordings_are_reported():
    assert "ended with 3" in run_report.html_of(whole_run() and run(file(*collective(1)), exit_code=3), {})
    assert "7 more accesses did not fit" in run_report.html_of(run(file(*collective(1), dropped=7)), {})
    nothing = run_report.html_of(run(), {})
    read_page(nothing)
    assert "oratorio doctor" in nothing
    assert "ORATORIO_DISABLE" in run_report.html_of(run(explained=explained.Explained(off=True)), {})


def test_a_page_of_many_ranks_and_files_stays_small():
    files = [
        file(
            *[access(r, 1.0 * n, 0.1, process=r) for r in range(300)],
            path=f"/s/{chr(97 + n)}.dat",
            ranks=300,
            number=n,
        )
        for n in range(25)
    ]
    page = run_report.html_of(run(*files), {})
    read_page(page)
    assert "Not shown: 236 ranks with less time." in page
    assert "Not shown: 5 opens of other files, which took less" in page
    assert len(page) < 1 << 20


@pytest.mark.parametrize(
    ("seconds", "said"), [(2.5, "2.50 s"), (0.0125, "12.5 ms"), (0.00002, "20 µs"), (0.0, "0 µs")]
)
def test_times_are_printed_in_readable_units(seconds, said):
    assert run_report.seconds_text(seconds) == said


def command(*words, cwd, **environ):
    return subprocess.run(
        [sys.executable, "-m", "oratorio", *map(str, words)], capture_output=True, text=True, cwd=cwd,
        env={"PYTHONPATH": PYTHONPATH, "PATH": "/usr/bin:/bin", **environ},
    )  # fmt: skip


def test_explanations_are_utf_8_in_any_locale(tmp_path):
    (tmp_path / "trace.json").write_text(json.dumps(two_ranks()))
    (tmp_path / "told").write_text('{"kind": "remark", "text": "für µs"}\n', encoding="utf-8")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = command("report", "trace.json", "--explain", "told", cwd=tmp_path, **plain)
    assert done.returncode == 0, done.stderr
    assert "für µs" in (tmp_path / "trace.html").read_text(encoding="utf-8")


def test_a_rank_may_have_no_data_in_a_collective_access(tmp_path):
    """Reads a trace in which the access of such a rank has the members that the library writes for it."""
    planned = {"collective": 0, "method": "two_phase"}
    some, none = (recorded(rank, 0, 1.0, 0.5, **planned, asked=64 * (1 - rank), moved=0) for rank in (0, 1))
    for name in ("hull", "pieces", "memory_pieces", "from", "view", "memory"):
        del none["args"][name]
    (tmp_path / "trace.json").write_text(json.dumps(whole([some, none])))
    done = command("report", "trace.json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "trace.html\n"), done.stderr


def test_the_command_makes_a_page_of_a_trace(tmp_path):
    trace = two_ranks()
    (tmp_path / "trace.json").write_text(json.dumps(trace))
    done = command("report", "trace.json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "trace.html\n"), done.stderr
    assert "/scratch/out.h5" in (tmp_path / "trace.html").read_text()
    (tmp_path / "told").write_text('{"kind": "remark", "text": "for a reason"}\n')
    assert (
        command("report", "trace.json", "--explain", "told", "-o", "page.html", cwd=tmp_path).returncode == 0
    )
    assert "for a reason" in (tmp_path / "page.html").read_text()
    (tmp_path / "compared.json").write_text(json.dumps(HOST_AND_AUTO))
    done = command("report", "trace.json", "--compared", "compared.json", "--json", cwd=tmp_path)
    assert [method["name"] for method in json.loads(done.stdout)["compared"]] == ["host", "auto", "sieve"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.json"], "ORATORIO_TRACE=FILE makes a trace"),
        (["."], "Is a directory"),
        (["n" * 300], "File name too long"),
        (["loop"], "Too many levels of symbolic links"),
        (["good.json", "--explain", "."], "Is a directory"),
        (["good.json", "--explain", "lacks.json"], "the explanations differ from the format"),
        (["cut.json"], "is not a trace of Oratorio"),
        (["good.json", "--explain", "none"], "ORATORIO_EXPLAIN=FILE.json makes one"),
        (["good.json", "--explain", "."], ". can't be read: Is a directory"),
        (["good.json", "--compared", "none"], "`oratorio compare --json` prints it"),
        (["good.json", "-o", "no/such/page.html"], "choose another path"),
        (["good.json", "-o", "good.json"], "is the trace itself"),
    ],
)
def test_impossible_requests_print_one_sentence_and_exit_with_2(words, said, tmp_path):
    (tmp_path / "good.json").write_text(json.dumps(two_ranks()))
    (tmp_path / "cut.json").write_text("cut")
    (tmp_path / "lacks.json").write_text('{"kind": "access"}\n')
    (tmp_path / "loop").symlink_to("loop")
    before = sorted(tmp_path.iterdir())
    done = command("report", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr and done.stderr.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_an_installation_makes_pages_too(tmp_path):
    package.lay_out(tmp_path / "python", "lib")
    (tmp_path / "trace.json").write_text(json.dumps(two_ranks()))
    done = subprocess.run(
        ["/usr/bin/python3", "-m", "oratorio", "report", "trace.json"],
        capture_output=True, text=True, cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "python"), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "trace.html\n"), done.stderr


def test_a_page_needs_python_alone():
    modules = (
        "oratorio.report.command",
        "oratorio.report.page",
        "oratorio.report.run_recorder",
        "oratorio.report.advice",
    )
    told = subprocess.run(
        [sys.executable, "-c", f"import sys; import {', '.join(modules)}; print(*sys.modules)"],
        capture_output=True, text=True, env={"PYTHONPATH": PYTHONPATH, "PATH": "/usr/bin:/bin"},
    ).stdout.split()  # fmt: skip
    assert "oratorio.report.page" in told
    assert not {name.partition(".")[0] for name in told} & {"typer", "click", "rich", "numpy", "matplotlib"}
