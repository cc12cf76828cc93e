# SPDX-License-Identifier: BSD-3-Clause
"""Tests `oratorio bench regret` with a runner that makes up times: its arms, its order, its figures, its page
and its exit code."""

import itertools
import json
import re
from pathlib import Path

import pytest

from oratorio import command_line
from oratorio.launch.hosts import Host
from oratorio.library import description
from oratorio.machine.costs import values_of
from oratorio_lab.bench import command, regret, regret_page
from oratorio_lab.bench.regret import (
    ACCESSES_BEFORE,
    COLD,
    HOSTS,
    LEARNED,
    TABLE_PASSES,
    Layout,
    Outcome,
    Speed,
)
from oratorio_lab.bench.run import Settings
from oratorio_lab.bench.workloads import BenchError

NOWHERE = Path("/nowhere")
HOST = Host("mpich5", "mpich", NOWHERE, NOWHERE, NOWHERE, "5.0.2", "hydra")
NODE, NODES = Layout(1, 8), Layout(2, 4)


def test_layouts_are_ranks_or_emulated_nodes():
    assert regret.parse_layouts("2,2x4,4x4,1x2") == [Layout(1, 2), Layout(2, 4), Layout(4, 4)]
    assert [(one.name, one.ranks) for one in (NODE, NODES)] == [("8", 8), ("2x4", 8)]
    for wrong in ("", "0", "2x", "x4", "2x0", "2x4x2"):
        with pytest.raises(BenchError, match="--layout"):
            regret.parse_layouts(wrong)


def test_a_case_is_named_by_its_workload_or_also_by_its_parameters(tmp_path):
    def labels(*names):
        return [case.run.label for case in regret.cases_of([NODE], {tmp_path: "tmpfs"}, names, True)[0]]

    assert labels("tile", "array 4 KiB") == ["tile", "array 4 KiB"]
    assert {"contiguous", "array 128 B", "array 1 MiB"} < set(labels("array"))
    with pytest.raises(BenchError, match="no workload no_such"):
        labels("no_such")


def test_without_parameters_each_method_is_an_arm():
    assert [arm.name for arm in regret.arms_of(NODE, False)] == description.names("methods")
    assert all(not arm.hints for arm in regret.arms_of(NODE, False))


@pytest.mark.parametrize("layout", [NODE, NODES, Layout(1, 2)])
def test_the_table_is_exhaustive(layout):
    arms = regret.arms_of(layout, True)
    assert len({arm.name for arm in arms}) == len(arms)
    numbers = {2: {"1", "2"}, 8: {"1", "2", "4", "8"}}[layout.ranks]
    of_two_phase = [arm.hints for arm in arms if arm.name.partition("@")[0] == "two_phase"]
    every = [
        {"cb_nodes": number, "oratorio_slots": slots, "oratorio_domains": domains}
        for number, slots, domains in itertools.product(sorted(numbers), "124", ("even", "cyclic"))
    ]
    assert of_two_phase == [{}, *every]


def test_the_table_has_only_hints_that_have_an_effect():
    hints = {}
    for arm in regret.arms_of(NODE, True):
        hints.setdefault(arm.name.partition("@")[0], set()).update(arm.hints)
    assert set(hints) == set(description.names("methods"))
    assert hints["list_io"] == hints["mmap"] == hints["naive"] == set()
    assert hints["data_shipping"] == {"cb_nodes"}
    assert hints["shared_buffer"] == {"cb_nodes", "oratorio_slots"}
    assert hints["one_writer"] == {"oratorio_slots", "oratorio_domains"}
    known = {row["key"] for row in description.rows("hints")}
    assert set().union(*hints.values()) <= known


def test_methods_that_need_one_node_are_not_tried_on_several():
    missing = set(description.names("methods")) - {arm.name for arm in regret.arms_of(NODES, False)}
    assert missing == {"shared_buffer", "shared_buffer_list", "shared_data"}


def test_every_constant_is_wrong_by_a_factor_of_ten(tmp_path, monkeypatch):
    monkeypatch.setenv("ORATORIO_COSTS", str(tmp_path))
    (tmp_path / "UFS.costs").write_text("write_call 700\nno_such_constant 5\n")
    folders = regret.write_wrong_costs(tmp_path)
    rows = description.rows("costs")
    factors = {}
    for name, folder in folders.items():
        for one in description.rows("file_systems"):
            file_system, column = one["name"], one["storage"]
            wrong = values_of((folder / f"{file_system}.costs").read_text())
            right = {row["name"]: row[column] for row in rows if row[column]}
            if file_system == "UFS":
                right["write_call"] = 700
            assert set(wrong) == set(right)
            factors.setdefault(name, set()).update(round(wrong[one] / right[one], 6) for one in right)
    assert {one["name"]: one["storage"] for one in description.rows("file_systems")}.items() >= {
        "TMPFS": "memory", "UFS": "disk", "LUSTRE": "disk", "NFS": "server", "FUSE": "server",
    }.items()  # fmt: skip
    assert factors == {"all x 10": {10}, "all / 10": {0.1}, "mixed": {10, 0.1}}


def milliseconds(arm, direction, repeat, has_wrong_costs):
    """Returns a made-up time of a pass: list_io is the fastest method of writes, mmap that of reads. auto is
    as fast in the passes that count; without learning, it reaches 80 % of that speed."""
    fastest = {"write": "list_io", "read": "mmap"}[direction]
    if arm == COLD.name:
        return 50 if has_wrong_costs else 12.5
    if arm == LEARNED.name:
        return 10 if repeat >= 0 else 100
    if arm.startswith("host"):
        return 30 if arm == "host_pieces" else 40
    return 10 if arm == fastest else 20 + len(arm)


class Runner:
    """Replaces `measure_all`: records the jobs, and makes up what they measure."""

    def __init__(self, time_of=milliseconds, problem="", failure=""):
        self.jobs = []
        self.calls = []
        self._time_of, self._problem, self._failure = time_of, problem, failure

    def __call__(self, jobs):
        self.calls.append(len(jobs))
        self.jobs += jobs
        for run, settings in jobs:
            run.setup = {"mpi_version": "5.0.2", "bytes": 1 << 20, "pieces": 1}
            run.failure = self._failure
            for repeat, arm, direction in itertools.product(
                range(-1 - ACCESSES_BEFORE, settings.repeats), settings.arms, settings.directions
            ):
                if repeat >= -1 - settings.ahead.get(arm, 0):
                    run.samples.append(self._sample(settings, arm, direction, repeat))

    def _sample(self, settings, arm, direction, repeat):
        seconds = 1e-3 * self._time_of(arm, direction, repeat, "ORATORIO_COSTS" in settings.env)
        return {
            "arm": arm, "direction": direction, "repeat": repeat, "seconds": seconds, "bytes": 1 << 20,
            "verified": not self._problem, "error": self._problem, "mib_per_s": 1 / seconds,
            "holes_kept": True, "open_seconds": 0.0, "call_peak_bytes": 0, "total_peak_bytes": 0,
        }  # fmt: skip


def measured(tmp_path, runner, layout=NODE, exhaustive=False, repeats=3):
    settings = Settings(HOST, (), (), repeats, NOWHERE, 0)
    costs = {name: tmp_path / name for name in ("large", "small")}
    cases, _ = regret.cases_of([layout], {tmp_path: "tmpfs"}, ["tile"], True)
    plan = regret.Plan(settings, exhaustive, costs, tmp_path, None, runner)
    return regret.measure_case(cases[0], plan)


def test_auto_is_compared_with_the_fastest_after_ten_passes(tmp_path):
    cells, _ = measured(tmp_path, Runner())
    assert [(cell.direction, cell.best, cell.best_host) for cell in cells] == [
        ("write", "list_io", "host_pieces"), ("read", "mmap", "host_pieces"),
    ]  # fmt: skip
    for cell in cells:
        assert cell.title == f"tile, 8, tmpfs, {cell.direction}"
        assert cell.right == Outcome(Speed(pytest.approx(0.8), pytest.approx(2.4)),
                                     Speed(pytest.approx(1), pytest.approx(3)))  # fmt: skip
        assert cell.milliseconds == pytest.approx({"best": 10, "best_host": 30, "cold": 12.5, "learned": 10})
        assert set(cell.outcomes) == {"right", "large", "small"}
        assert cell.outcomes["large"].cold.of_best == pytest.approx(0.2)
        assert cell.outcomes["small"].learned.of_best == pytest.approx(1)
        assert len(cell.table) == len(regret.arms_of(NODE, False)) + len(HOSTS)


def test_writes_with_weaker_guarantees_are_in_the_table_only(tmp_path):
    def weak(arm, direction, repeat, has_wrong_costs):
        fast = direction == "write" and arm in ("mmap", "sieve")
        return 5 if fast else milliseconds(arm, direction, repeat, has_wrong_costs)

    (write, read), _ = measured(tmp_path, Runner(weak))
    assert (write.best, read.best) == ("list_io", "mmap")
    assert write.table["mmap"] == write.table["sieve"] == pytest.approx(5)


def test_the_noise_is_that_of_the_noisiest_time(tmp_path):
    def noisy(arm, direction, repeat, has_wrong_costs):
        one = milliseconds(arm, direction, repeat, has_wrong_costs)
        return one * {0: 1, 1: 1.3, 2: 0.9}.get(repeat, 1) if arm == LEARNED.name else one

    cells, _ = measured(tmp_path, Runner(noisy))
    assert [one.noise for one in cells] == [pytest.approx(0.1)] * 2
    cells, _ = measured(tmp_path, Runner())
    assert [one.noise for one in cells] == [0, 0]
    cells, _ = measured(tmp_path, Runner(noisy), repeats=1)
    assert [one.noise for one in cells] == [None, None]


def test_one_job_chooses_and_others_measure_the_best_in_turns_with_auto(tmp_path):
    runner = Runner()
    _, jobs = measured(tmp_path, runner)
    assert jobs == runner.jobs and runner.calls == [1, 1, 3]
    table, chosen, right, *wrong = (settings for _, settings in jobs)
    assert table.repeats == TABLE_PASSES
    for one in (table, chosen):
        assert not one.ahead and not {COLD.name, LEARNED.name} & set(one.arms)
    assert {"list_io", "mmap", "host_pieces"} < set(chosen.arms) and chosen.repeats == 3
    hosts = {arm for arm in chosen.arms if arm.startswith("host")}
    assert len(hosts) == 3 and 3 <= len(set(chosen.arms) - hosts) <= 6, "three in each direction"
    best = {"list_io", "mmap", "host_pieces", COLD.name, LEARNED.name}
    assert set(right.arms) == best | {"list_io@again", "mmap@again"}
    assert len(wrong) == 2 and all(set(one.arms) == best for one in wrong)
    for one in (right, *wrong):
        assert one.repeats == 3 and one.ahead == {LEARNED.name: 9}, (
            "with the one that all arms make, ten to learn"
        )
        assert one.passes == 2 * (4 * len(one.arms) + 9)
        learns = {arm: value for arm, key, value in one.hints if key == "oratorio_learn"}
        assert learns == {COLD.name: "off", LEARNED.name: "job"}


def test_times_that_choose_an_arm_do_not_judge(tmp_path):
    """list_io is the fastest only while arms are chosen; its later time counts."""
    runner = Runner()

    def lucky(arm, direction, repeat, has_wrong_costs):
        is_judged = len(runner.calls) > 2
        lucky_now = arm == "list_io" and direction == "write" and not is_judged
        return 5 if lucky_now else milliseconds(arm, direction, repeat, has_wrong_costs)

    runner = Runner(lucky)
    (write, _), _ = measured(tmp_path, runner)
    assert write.best == "list_io" and write.milliseconds["best"] == pytest.approx(10)
    assert write.right.learned.of_best == pytest.approx(1)


def test_the_best_arm_is_measured_twice_in_one_job(tmp_path):
    def slower(arm, direction, repeat, has_wrong_costs):
        one = milliseconds(arm, direction, repeat, has_wrong_costs)
        return 16 if arm.endswith("again") and direction == "read" else 12 if arm.endswith("again") else one

    (write, read), _ = measured(tmp_path, Runner(slower))
    assert (write.again, read.again) == (pytest.approx(10 / 12), pytest.approx(10 / 16))
    hints = {"cb_nodes": "1"}
    assert regret._again(regret.Arm("two_phase@1", hints)) == regret.Arm("two_phase@1-again", hints)


def test_each_run_starts_with_nothing_learned(tmp_path):
    runner = Runner()
    measured(tmp_path, runner, NODES)
    states = [settings.env["XDG_STATE_HOME"] for _, settings in runner.jobs]
    assert len(set(states)) == len(states) and all(list(Path(one).iterdir()) == [] for one in states)
    assert [settings.env.get("ORATORIO_COSTS") for _, settings in runner.jobs] == [
        None, None, None, str(tmp_path / "large"), str(tmp_path / "small"),
    ]  # fmt: skip
    assert {settings.ranks_of_node for _, settings in runner.jobs} == {4}
    assert {run.ranks for run, _ in runner.jobs} == {8}


def test_a_large_table_is_dealt_to_runs_of_few_arms(tmp_path):
    runner = Runner()
    cells, _ = measured(tmp_path, runner, exhaustive=True)
    table = runner.jobs[: runner.calls[0]]
    names = [arm for _, settings in table for arm in settings.arms]
    assert sorted(names) == sorted(arm.name for arm in (*regret.arms_of(NODE, True), *HOSTS))
    assert len(table) > 5 and max(len(settings.arms) for _, settings in table) <= regret.ARMS_OF_RUN
    hints = {(arm, key) for _, settings in table for arm, key, _ in settings.hints}
    assert ("two_phase@4-2-cyclic", "oratorio_domains") in hints
    assert cells[0].table["two_phase cb_nodes=4 oratorio_slots=2 oratorio_domains=cyclic"] == pytest.approx(
        40
    )


def cell(workload, learned, host=2.0, cold=0.5, wrong=0.96):
    outcomes = {
        "right": Outcome(Speed(cold, host), Speed(learned, host)),
        "mixed": Outcome(Speed(cold, host), Speed(wrong, host)),
    }
    times = {"best": 10.0, "best_host": 30.0, "cold": 20.0, "learned": 11.0}
    return regret.Cell(workload, "2x4", "nfs", "write", "mmap", "host_cb", times, 0.04, 0.97, outcomes, {})


CELLS = [
    cell("fine", 0.99),
    cell("slow", 0.7, wrong=0.6),
    cell("behind the host", 1.0, host=0.9),
    cell("fast at once", 1.0, cold=0.98),
]
ABOUT = regret_page.About("./oratorio bench regret", "mpich5 5.0.2", [
    {"processor": "a processor", "cores": 2, "file_system": "nfs"}
], True, 3)  # fmt: skip


def test_losses_come_first():
    names = [one.workload for one in regret_page.in_order([*CELLS, cell("not measured", None)])]
    assert names == ["slow", "behind the host", "not measured", "fine", "fast at once"]


def test_the_sentence_has_the_counts():
    assert regret_page.sentence(CELLS) == (
        "auto reached at least 95 % of the speed of the best method in 1 of 4 cells by the cost model alone, "
        "and in 3 after 10 accesses."
    )
    told = regret_page.details(CELLS)
    assert "reached 95 % of the speed of the host's best hints in 3 cells." in told
    assert "The lowest share is 70 %: slow, 2x4, nfs, write." in told
    assert "measured a second time in the same job, reached 95 % in 4 cells, and at least 97 %." in told
    assert "(mixed), it reached 95 % of the speed of the best method each time in 3 cells." in told
    assert regret_page.sentence([]) == "Nothing was measured."


def test_the_page_has_the_picture_and_the_figures():
    page = regret_page.html_of(CELLS, ABOUT)
    assert regret_page.sentence(CELLS) in page
    bold = re.findall(r"<tr class=best><td[^>]*>([^<]*)", page)
    assert bold == ["slow", "behind the host"]
    assert page.count("<circle") == 2 * len(CELLS)
    assert "<title>slow, 2x4, nfs, write: 0.70, learned</title>" in page
    assert "<td>0.50<td>0.70<td>2.00<td>2.00" in page and page.count("<td>4 %") == len(CELLS)
    assert "0.50, 0.60" in page, "with mixed constants, cold and learned"
    places = {float(x) for x in re.findall(r'<circle cx="([\d.]+)"', page)}
    left, wide = regret_page.NAMES_WIDE, regret_page.PLOT_WIDE
    assert all(left <= x <= left + wide for x in places)
    assert left + wide * 0.7 / regret_page.MOST == pytest.approx(min(places - {min(places)}), abs=0.1)


def test_a_cell_that_was_not_measured_is_shown_without_figures():
    gone = regret.Cell("tile", "2", "nfs", "read", "-", "-", {}, None, None,
                       {"right": Outcome(Speed(None, None), Speed(None, None))}, {})  # fmt: skip
    page = regret_page.html_of([gone], ABOUT)
    assert "<tr class=best>" in page and "<circle" not in page and "None" not in page


@pytest.fixture
def call(monkeypatch, tmp_path):
    """Returns a function that calls the command with a runner and further words."""

    def called(runner, *words):
        monkeypatch.setattr(command, "find_mpi", lambda name: HOST)
        monkeypatch.setattr(command, "oratorio_library", lambda: NOWHERE)
        monkeypatch.setattr(command, "measure_all", runner)
        given = ["bench", "regret", "--smoke", "--workloads", "tile", "--layout", "2", "--dir", str(tmp_path)]
        return command_line.call([*given, *words])

    return called


def test_the_command_writes_page_and_json(call, tmp_path, capsys):
    page, record = tmp_path / "out/regret.html", tmp_path / "out/regret.json"
    runner = Runner()
    assert call(runner, "-o", str(page), "--json", str(record), "--direction", "write") == 0
    told = json.loads(record.read_text())
    assert told["summary"] in capsys.readouterr().out.replace("\n", " ")
    (only,) = told["cells"]
    assert (only["workload"], only["layout"], only["best"]) == ("tile", "2", "list_io")
    assert only["outcomes"]["right"]["learned"]["of_best"] == pytest.approx(1)
    assert set(only["outcomes"]) == {"right", "all x 10", "all / 10", "mixed"}
    assert "<td>0.80<td>1.00<td>2.40<td>3.00" in page.read_text()
    assert {settings.directions for _, settings in runner.jobs} == {("write",)}


def test_a_loss_is_a_finding_and_a_failure_is_an_error(call):
    slow = Runner(lambda arm, *rest: 1000 if arm == LEARNED.name else milliseconds(arm, *rest))
    assert call(slow) == 0
    assert call(Runner(problem="the file is wrong at file offset 7")) == 1
    assert call(Runner(failure="exit code 9")) == 1


def test_nothing_to_judge_is_refused(call, monkeypatch, tmp_path, capsys):
    assert call(Runner(), "--layout", "3x") != 0
    assert call(Runner(), "--workloads", "no_such") != 0
    assert call(Runner(), "--workloads", "btio") == 1, "btio needs a square number of ranks"
    assert "btio needs a square number" in capsys.readouterr().err
