# SPDX-License-Identifier: BSD-3-Clause
"""Tests `oratorio compare`: the order of runs, the text of a row, and the treatment of runs that fail."""

import time

import pytest
from made_runs import access, collective, file, planned, run
from test_report import command, read_page

from oratorio.compare import compare
from oratorio.compare import page as compare_report
from oratorio.compare.compare import Arm, Rules
from oratorio.compare.interval import STUDENT, are_apart, interval_of
from oratorio.compare.outputs import Outputs
from oratorio.library import method_table

MIB = 1 << 20


def told(method, *candidates):
    return planned(method, "for a reason", *candidates)


def ran(wall, method="two_phase", seconds=0.1, **more):
    steps = collective(2, seconds=seconds)
    for one in steps:
        one.args["method"] = method
    return run(file(*steps), wall_seconds=wall, **{"exit_code": 0, "explained": told(method), **more})


def arm_of(name, *runs, said=""):
    arm = Arm(name)
    for one in runs:
        compare.take(arm, one, said, 60)
    return arm


class Pretended:
    """A recorder that returns runs from a table and keeps the order in which arms ran. A list in the table
    holds successive runs. Each run writes the file `out` with the text of `writes`, if given."""

    def __init__(self, out=None, writes=lambda name: "", **runs):
        self.runs, self.order, self.out, self.writes = runs, [], out, writes

    def apart(self, words, variables, seconds_max):
        self.hints = {} if variables is None else dict(
            hint.split("=") for hint in variables["ORATORIO_HINTS"].split(";")
        )  # fmt: skip
        name = self.hints.get("oratorio_method", "host")
        self.order.append(name)
        if self.out and (said := self.writes(name)) is not None:
            self.out.unlink(missing_ok=True)
            self.out.write_text(said)
        found = self.runs.get(name) or ran(1.0, name)
        return found.pop(0) if isinstance(found, list) else found, f"{name} says\n"


def test_the_host_and_auto_are_always_compared():
    assert [arm.name for arm in compare.arms_of(None, False)] == ["host", "auto", *compare.USUAL]
    assert [arm.name for arm in compare.arms_of("naive, auto,naive", False)] == ["host", "auto", "naive"]
    assert {arm.name for arm in compare.arms_of(None, True)} == {"host", *method_table.methods()}
    assert set(compare.USUAL) < set(method_table.methods())
    with pytest.raises(compare.CompareError, match="Did you mean two_phase"):
        compare.arms_of("tow_phase", False)


def test_runs_take_turns_and_rotate_the_first():
    recorder = Pretended()
    compare.compare(compare.arms_of("sieve", False), ["app"], recorder, Rules(3, 60), {})
    assert recorder.order == ["host", "auto", "sieve", "auto", "sieve", "host", "sieve", "host", "auto"]


def test_the_command_before_each_run_is_run_and_must_succeed(tmp_path):
    count = tmp_path / "count"
    rules = Rules(2, 60, f"echo x >>{count}")
    compare.compare(compare.arms_of("sieve", False), ["app"], Pretended(), rules, {})
    assert count.read_text().count("x") == 6
    with pytest.raises(compare.CompareError, match="--before ended with 3: gone"):
        compare.compare(
            compare.arms_of("sieve", False), ["app"], Pretended(), Rules(1, 60, "echo gone; exit 3"), {}
        )


def test_hints_are_for_all_runs_with_oratorio():
    recorder = Pretended()
    rules = Rules(1, 60, hints=["cb_nodes=2", "cb_buffer_size=4096"])
    compare.compare(compare.arms_of("sieve", False), ["app"], recorder, rules, {"ORATORIO_HINTS": "a=b"})
    expected = {"a": "b", "cb_nodes": "2", "cb_buffer_size": "4096", "oratorio_method": "sieve"}
    assert recorder.order == ["host", "auto", "sieve"] and recorder.hints == expected


def test_a_row_has_the_median():
    arm = arm_of("two_phase", ran(3.0, seconds=0.3), ran(1.0, seconds=0.1), ran(2.0, seconds=0.2))
    assert arm.wall == 2.0 and arm.moved == 4 * MIB
    assert arm.io_seconds == pytest.approx(0.4), "two accesses of the slowest rank"
    assert arm.typical.total == pytest.approx(0.4)


def test_an_interval_has_the_typical_time_in_it_and_needs_three_runs():
    assert interval_of([1.0, 2.0]) is None and are_apart([1.0, 2.0], [5.0] * 9) is None
    low, high = interval_of([0.9, 1.0, 1.1])
    assert 0.7 < low < 0.9 and 1.1 < high < 1.4
    narrow = interval_of([0.9, 1.0, 1.1] * 4)
    assert low < narrow[0] < 1 < narrow[1] < high
    assert interval_of([2.0] * 40) == pytest.approx((2.0, 2.0)), "more runs than the table has rows"
    assert list(STUDENT) == sorted(STUDENT, reverse=True) and len(STUDENT) == 29


def test_times_differ_if_the_intervals_separate():
    host = Arm("host", walls=[2.0, 2.1, 2.2])
    assert compare.against(Arm("auto", walls=[1.0, 1.0, 1.0]), host) == "2.10 x"
    assert compare.difference(Arm("auto", walls=[1.0, 1.0, 1.0]), host) == "faster"
    assert compare.difference(Arm("auto", walls=[4.0, 4.0, 4.1]), host) == "slower"
    assert compare.against(Arm("auto", walls=[1.9, 2.0, 2.2]), host) == "1.05 x, no difference"
    assert compare.against(Arm("auto", walls=[1.05, 1.05]), host) == "2.00 x", "two runs give no interval"
    assert compare.against(host, host) == ""


def test_a_method_runs_until_its_interval_separates():
    host = [ran(wall) for wall in (1.0, 1.01, 1.02, 1.0, 1.01, 1.02)]
    auto = [ran(wall, "auto") for wall in (1.0, 1.02, 1.01, 1.0, 1.01, 1.02)]
    recorder = Pretended(host=host, auto=auto, sieve=ran(0.5, "sieve"))
    arms = compare.arms_of("sieve", False)
    compare.compare(arms, ["app"], recorder, Rules(6, 60), {})
    assert [len(arm.walls) for arm in arms] == [6, 6, 3]
    assert [compare.difference(arm, arms[0]) for arm in arms] == [None, "none", "faster"]
    (line,) = compare_report.differences_of(arms)
    assert line.startswith("No difference between auto (") and line.endswith("in 6 runs.")


def compared_within_a_budget(runs, monkeypatch):
    """Runs a comparison that uses up its budget of 60 s in `runs` runs. Returns its arms, their order and its
    progress."""
    recorder, said, arms = Pretended(), [], compare.arms_of("sieve", False)
    begun = time.monotonic()
    monkeypatch.setattr(compare.time, "monotonic", lambda: begun + 61 * (len(recorder.order) >= runs))
    compare.compare(arms, ["app"], recorder, Rules(9, 60, budget=60), {}, said.append)
    return arms, recorder.order, said


def test_no_run_begins_after_the_budget(monkeypatch):
    arms, order, said = compared_within_a_budget(0, monkeypatch)
    assert order == ["host"], "the first run is always made"
    assert said[1:] == ["no more runs: the 60 s of --budget have passed"]
    assert [arm.problem for arm in arms] == ["", *["not run: the 60 s of --budget have passed"] * 2]
    assert compare_report.cells_of(arms[1], arms)[-1] == arms[1].problem
    assert compare.exit_code_of(arms, Outputs(())) == 0


def test_the_budget_may_end_within_a_turn(monkeypatch):
    arms, order, said = compared_within_a_budget(8, monkeypatch)
    assert order == ["host", "auto", "sieve", "auto", "sieve", "host", "sieve", "host"]
    assert said[8:] == ["no more runs: the 60 s of --budget have passed"]
    assert [arm.problem for arm in arms] == ["", "", ""]
    no_difference, too_few = compare_report.differences_of(arms)
    assert no_difference.startswith("No difference between sieve")
    assert too_few == "Too few runs for confidence intervals of auto: at least 3 are needed."


def test_the_host_has_the_rate_of_the_recorded_bytes():
    arms = [arm_of("host", ran(2.0)), arm_of("auto", ran(1.0))]
    assert [compare_report.cells_of(arm, arms)[4] for arm in arms] == ["2", "4"]
    partly = ran(1.0)
    partly.files[0].dropped_accesses = 1
    arms[1] = arm_of("auto", partly)
    assert [compare_report.cells_of(arm, arms)[4] for arm in arms] == ["", ""]


def outputs_of(tmp_path, writes, repeat=2):
    out, arms = tmp_path / "out.h5", compare.arms_of("sieve", False)
    rules = Rules(repeat, 60, outputs=(str(tmp_path / "*.h5"),))
    return arms, compare.compare(arms, ["app"], Pretended(out, writes), rules, {})


def test_output_files_are_compared_with_those_of_the_host(tmp_path):
    arms, outputs = outputs_of(tmp_path, lambda name: "same")
    assert compare_report.files_of(arms, outputs) == ["Equal byte for byte after all runs: 1 output file."]
    assert compare.exit_code_of(arms, outputs) == 0
    arms[-1].problem = "ended with 1: disk full"
    (line,) = compare_report.files_of(arms, outputs)
    assert line == "Equal byte for byte after all counted runs: 1 output file."
    arms, outputs = outputs_of(tmp_path, lambda name: "lost" if name == "sieve" else "same")
    (line,) = compare_report.files_of(arms, outputs)
    assert line.startswith("Output files with sieve differ") and line.endswith("out.h5 (other bytes).")
    assert compare.exit_code_of(arms, outputs) == 1
    rows = compare.document_of(arms, outputs)["methods"]
    assert [list(row["differing_files"].values()) for row in rows] == [[], [], ["other bytes"]]


def test_a_file_that_a_run_leaves_alone_is_not_equal(tmp_path):
    arms, outputs = outputs_of(tmp_path, lambda name: None if name == "sieve" else "same")
    assert compare_report.files_of(arms, outputs)[0].endswith("out.h5 (not written).")


def test_files_in_which_the_host_itself_differs_are_not_compared(tmp_path):
    seen = []
    arms, outputs = outputs_of(tmp_path, lambda name: seen.append(name) or str(len(seen)))
    (line,) = compare_report.files_of(arms, outputs)
    assert line.startswith("Not compared, because the host's own runs differ:")
    assert compare.exit_code_of(arms, outputs) == 0


def test_a_pattern_without_files_is_an_error(tmp_path):
    with pytest.raises(
        compare.CompareError, match=r"wrote no file that matches --output-files .*\*.h5 in the run without"
    ):
        outputs_of(tmp_path, lambda name: None)


@pytest.mark.parametrize(
    ("made", "problem", "failed"),
    [
        (ran(1.0, exit_code=None), "still running after 60 s", True),
        (ran(1.0, exit_code=9), "ended with 9: the last word", True),
        (run(wall_seconds=1.0, exit_code=0), "Oratorio was not loaded", False),
        (
            ran(
                1.0,
                "list_io",
                explained=told("list_io", ("sieve", None, "does not apply: the views interleave")),
            ),
            "does not apply: the views interleave; list_io was used",
            False,
        ),
        (ran(1.0, "list_io"), "list_io was used: for a reason", False),
        (
            run(file(access(0, 1.0, 0.1)), wall_seconds=1.0, exit_code=0),
            "no method to choose: every access was one piece",
            False,
        ),
    ],
)
def test_a_method_that_did_not_run_is_a_row_with_the_reason(made, problem, failed):
    arm = arm_of("sieve", made, said="first\nthe last word\n\n")
    assert problem in arm.problem
    assert (arm.failed, arm.walls) == (failed, [])
    cells = compare_report.cells_of(arm, [Arm("host", walls=[1.0]), arm])
    assert cells == ["sieve", "", "", "", "", "", "", arm.problem]


def test_failed_runs_are_not_repeated():
    recorder = Pretended(sieve=ran(1.0, exit_code=1))
    arms = compare.arms_of("sieve,naive", False)
    compare.compare(arms, ["app"], recorder, Rules(3, 60), {})
    assert recorder.order.count("sieve") == 1 and recorder.order.count("naive") == 3
    assert compare.best_of(arms).name != "sieve"


def test_the_exit_code_is_that_of_the_first_run_in_time_that_failed():
    recorder = Pretended(sieve=ran(1.0, exit_code=7), auto=[ran(1.0, "auto"), ran(1.0, exit_code=5)])
    arms = compare.arms_of("sieve", False)
    outputs = compare.compare(arms, ["app"], recorder, Rules(3, 60), {})
    assert recorder.order[:4] == ["host", "auto", "sieve", "auto"], "auto fails after sieve"
    assert [arm.exit_code for arm in arms] == [0, 5, 7]
    assert compare.exit_code_of(arms, outputs) == 7


def test_a_later_failure_without_oratorio_leaves_the_exit_code():
    recorder = Pretended(sieve=ran(1.0, exit_code=7), host=[ran(1.0), ran(1.0, exit_code=5)])
    with pytest.raises(compare.CompareError, match="fails without Oratorio: ended with 5") as raised:
        compare.compare(compare.arms_of("sieve", False), ["app"], recorder, Rules(3, 60), {})
    assert raised.value.exit_code == 7


def test_a_program_that_fails_without_oratorio_is_reported_at_once(capsys):
    recorder = Pretended(host=ran(1.0, exit_code=1))
    with pytest.raises(compare.CompareError, match="fails without Oratorio: ended with 1: host says"):
        compare.compare(compare.arms_of(None, False), ["app"], recorder, Rules(1, 60), {})
    assert recorder.order == ["host"]
    assert capsys.readouterr().err == "host says\n"


def made_arms():
    return [
        arm_of("host", ran(2.0)),
        arm_of("auto", ran(1.0, "sieve", seconds=0.2)),
        arm_of("two_phase", ran(0.5)),
        arm_of("naive", ran(1.0, exit_code=5), said="<no> room"),
    ]


def test_the_table_has_a_row_for_each_arm_and_a_summary():
    lines = compare_report.table_of(made_arms(), Outputs()).splitlines()
    assert lines[0].split() == " ".join(compare_report.HEADS).split()
    assert [line.split()[0] for line in lines[1:5]] == ["host", "auto", "two_phase", "naive"]
    assert "not recorded" in lines[1] and "2.00 x" in lines[2] and "4.00 x" in lines[3]
    assert lines[4].split() == ["naive", "ended", "with", "5:", "<no>", "room"]
    assert lines[5].startswith("Too few runs")
    assert lines[6] == "Least time in accesses: two_phase, 200.0 ms."


def test_the_page_shows_the_comparison_and_has_no_script():
    page = compare_report.html_of(
        made_arms(), Outputs(), "mpiexec ./<app>", Rules(2, 60, "rm <x>", ["cb_nodes=<2>"]), "here"
    )
    text = "".join(read_page(page).text)
    for said in (
        "mpiexec ./<app>",
        "rm <x>",
        "cb_nodes=<2>",
        "at most 2 times, in turns",
        "<no> room",
        "two_phase",
        "4.00 x",
    ):
        assert said in text
    assert "<script" not in page and "<app>" not in page


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--method", "sive", "true"], 2, "Did you mean sieve?"),
        (["--repeat", "0", "true"], 2, "--repeat, --timeout and --budget must be more than 0"),
        (["--hint", "cb_nodes", "true"], 2, "a hint must be key=value, without ';'"),
        (["no-such-program"], 127, "no-such-program can't be started: No such file"),
        (["false"], 1, "the program fails without Oratorio: ended with 1: no output"),
        (["sh", "-c", "exit 7"], 7, "the program fails without Oratorio: ended with 7: no output"),
        (["--timeout", "0.1", "sleep", "60"], 124, "still running after 0.1 s"),
        ([], 2, "a command is missing"),
    ],
)
def test_incomparable_runs_are_rejected(words, code, said, tmp_path):
    done = command("compare", "-q", *words, cwd=tmp_path)
    assert done.returncode == code
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []
