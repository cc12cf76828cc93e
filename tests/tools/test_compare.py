# SPDX-License-Identifier: BSD-3-Clause
"""Tests `oratorio compare`: the order of runs, the text of a row, and the treatment of runs that fail."""

import pytest
from made_runs import access, collective, file, planned, run
from test_report import command, read_page

from oratorio.compare import compare
from oratorio.compare import page as compare_report
from oratorio.compare.compare import Arm, Rules
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
    """A recorder that returns runs from a table and keeps the order in which arms ran."""

    def __init__(self, **runs):
        self.runs, self.order = runs, []

    def apart(self, words, variables, seconds_max):
        self.hints = {} if variables is None else dict(
            hint.split("=") for hint in variables["ORATORIO_HINTS"].split(";")
        )  # fmt: skip
        name = self.hints.get("oratorio_method", "host")
        self.order.append(name)
        return self.runs.get(name) or ran(1.0, name), f"{name} says\n"


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


def test_each_run_sees_the_same_start_if_one_says_how(tmp_path):
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


def test_a_row_has_the_median_and_the_spread():
    arm = arm_of("two_phase", ran(3.0, seconds=0.3), ran(1.0, seconds=0.1), ran(2.0, seconds=0.2))
    assert (arm.wall, arm.spread) == (2.0, (1.0, 3.0))
    assert arm.io_seconds == pytest.approx(0.4), "two accesses of the slowest rank"
    assert arm.typical.total == pytest.approx(0.4)


def test_overlapping_times_are_not_ranked():
    host = Arm("host", walls=[2.0, 2.2])
    assert compare.against(Arm("auto", walls=[1.0, 1.0]), host) == "2.10 x"
    assert compare.against(Arm("auto", walls=[1.9, 2.1]), host) == "1.05 x, within the spread"
    assert compare.against(Arm("auto", walls=[1.05]), host) == "2.00 x", "of one run no spread is known"
    assert compare.against(host, host) == ""


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
    cells = compare_report.cells_of(arm, Arm("host", walls=[1.0]))
    assert cells == ["sieve", "", "", "", "", arm.problem]


def test_failed_runs_are_not_repeated():
    recorder = Pretended(sieve=ran(1.0, exit_code=1))
    arms = compare.arms_of("sieve,naive", False)
    compare.compare(arms, ["app"], recorder, Rules(3, 60), {})
    assert recorder.order.count("sieve") == 1 and recorder.order.count("naive") == 3
    assert compare.best_of(arms).name != "sieve"


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


def test_the_table_says_all_of_it():
    lines = compare_report.table_of(made_arms()).splitlines()
    assert lines[0].split() == " ".join(compare_report.HEADS).split()
    assert [line.split()[0] for line in lines[1:5]] == ["host", "auto", "two_phase", "naive"]
    assert "not recorded" in lines[1] and "2.00 x" in lines[2] and "4.00 x" in lines[3]
    assert lines[4].split() == ["naive", "ended", "with", "5:", "<no>", "room"]
    assert lines[5] == "Least time in accesses: two_phase, 200.0 ms."


def test_the_page_is_whole():
    page = compare_report.html_of(
        made_arms(), "mpiexec ./<app>", Rules(2, 60, "rm <x>", ["cb_nodes=<2>"]), "here"
    )
    text = "".join(read_page(page).text)
    for said in (
        "mpiexec ./<app>",
        "rm <x>",
        "cb_nodes=<2>",
        "2 times, in turns",
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
        (["--repeat", "0", "true"], 2, "--repeat and --timeout are more than 0"),
        (["--hint", "cb_nodes", "true"], 2, "a hint is key=value, without ';': cb_nodes"),
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
