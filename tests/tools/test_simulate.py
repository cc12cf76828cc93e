# SPDX-License-Identifier: BSD-3-Clause
"""Tests `oratorio simulate`: machine files, parsing of schedules, and the closed form against results by
hand."""

import io
import math
import subprocess
import tomllib
from dataclasses import replace

import numpy as np
import pytest
from netCDF4 import Dataset
from rich.console import Console

from oratorio import command_line
from oratorio.library import description
from oratorio_lab.bench import e3sm
from oratorio_lab.simulate import command, model, report, s4u, search
from oratorio_lab.simulate import machine as sim_machine
from oratorio_lab.simulate import schedule as sim_schedule
from oratorio_lab.simulate.machine import SimulateError
from oratorio_lab.simulate.report import Answer

THETA = (sim_machine.FOLDER / "theta.toml").read_text()


@pytest.mark.parametrize("name", ["theta", "fat-tree", "this-machine"])
def test_each_constant_of_a_machine_says_where_it_is_from(name):
    machine = sim_machine.load(name)
    given = tomllib.loads((sim_machine.FOLDER / f"{name}.toml").read_text())
    keys = {f"{table}.{key}" for table in sim_machine.TABLES for key in given[table]}
    assert set(machine.sources) == keys | {"nodes", "cores"}
    assert machine.assumed


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("cores = 64", "cores = 64.5", "cores must be an integer, not 64.5"),
        ("cores = 64", "", "cores is missing"),
        ("latency_us = 1.3", "latency_us = -1", r"links.latency_us must be at least 0, not -1"),
        ("rate_mbs = 8000 ", "rate_mbs = 0 ", r"links.rate_mbs must be above 0, not 0"),
        ("rate_mbs = 8000 ", "rate_mbs = nan ", r"links.rate_mbs must be a number, not nan"),
        ("rate_mbs = 8000 ", "rate = 8000 ", r"links.rate is not a property of a machine"),
        ("near_latency_us = 0.8", "near_latency_us = 2", "links.near_latency_us .* above links.latency_us"),
        ("rate_mbs = 8000 ", "rate_mbs = 8e6 ", "links.rate_mbs .* above cores x links.memory_rate_mbs"),
        ("disorder = 0.5", "disorder = 1.1", "endpoint.disorder must be a fraction between 0 and 1"),
        ('kind = "dragonfly"', 'kind = "string"', "topology.kind must be one of .*, not string"),
        ('kind = "dragonfly"', 'kind = "one-switch"', "topology.taper must be 1"),
        ("targets = 56", "targets = 0", "storage.targets must be above 0"),
        ("stripe_bytes = 1048576", "stripe_bytes = 1", "storage.stripe_bytes .* less than a page"),
        ('"storage.targets" = "paper, V"', "", "the origin of storage.targets is missing"),
        ('"storage.targets" =', '"storage.disks" =', "sources: storage.disks is not a property"),
        ("taper = 0.5", "taper = 0.001", "topology.taper .* less bandwidth than the link of one"),
        ("nodes = 256 ", "nodes = 99999999 ", "nodes must be at most 10000000"),
        ("targets = 56", "targets = 1000001", "storage.targets must be at most 1000000, not 1000001"),
        ("[work]", "[labour]", "labour is not a property of a machine"),
        ("[work]", "[[work]]", "work is not a table"),
        ("[work]", "[work", "not TOML"),
    ],
)
def test_a_machine_that_contradicts_itself_is_refused_by_the_key(old, new, complaint):
    assert old in THETA
    with pytest.raises(SimulateError, match=complaint):
        sim_machine.parse(THETA.replace(old, new, 1))


def test_an_unknown_machine_is_refused_with_a_list_of_the_known_ones():
    with pytest.raises(SimulateError, match="the machines are fat-tree, theta, this-machine"):
        sim_machine.load("thea")
    with pytest.raises(SimulateError, match=r"endpoint\.patience is not a property"):
        sim_machine.with_value(sim_machine.load("theta"), "endpoint.patience", 1)
    assert sim_machine.with_value(sim_machine.load("theta"), "nodes", 12).nodes == 12


# Two nodes of four ranks, with an aggregator on each node. The planner walked one round, which has half of
# all data.
LINES = """plan two_phase 2 2 1 262144 4 8000 80 32 0 0.001
aggregators 0 1
round 0
region 0 0 2000
region 1 4000 2000
sent 0 0 3 3 30 750 30 250 10
sent 0 1 4 4 40 1000 40 0 0
sent 1 0 4 8 40 1000 40 0 0
sent 1 1 3 3 30 750 30 250 10"""


def schedule(text=LINES):
    return sim_schedule.parse(text.splitlines(), "two_phase", 8, 2)


def test_a_schedule_is_read_as_it_was_written():
    one = schedule()
    assert (one.method, one.rounds, one.slots, one.in_flight, one.edges) == ("two_phase", 2, 1, 4, 32)
    assert one.scale == 2.0
    assert one.aggregator_nodes.tolist() == [0, 1]
    assert one.sampled[0].to_aggregators[:, sim_schedule.MESSAGES].tolist() == [11, 7]
    assert one.sampled[0].regions.tolist() == [[0, 0, 2000], [1, 4000, 2000]]


def test_a_schedule_of_a_read_says_so_and_which_nodes_were_walked():
    read = LINES.replace("0.001", "0.001 read 1").replace("round 0", "walked 0 2\nround 0")
    one = schedule("\n".join(line for line in read.splitlines() if not line.startswith("sent 1")))
    assert (one.reads, one.asks, one.stands_for) == (True, True, {0: 2})
    assert one.scale == 8000 / (2 * 2000)
    assert "walked 0 2\n" in one.text and " read 1\n" in one.text
    assert not schedule().reads and schedule().stands_for == {}


MACHINE = sim_machine.load("theta")


def only(**values):
    """Returns a machine on which only the costs in `values` take time."""
    links = replace(MACHINE.links, latency_us=0, near_latency_us=0, rate_mbs=1e12, memory_rate_mbs=1e12)
    endpoint = replace(MACHINE.endpoint, send_us=0, receive_us=0, queue_ns=0)
    storage = replace(MACHINE.storage, rate_mbs=1e12, client_rate_mbs=1e12, latency_us=0, lock_us=0)
    work = replace(MACHINE.work, piece_ns=0, merge_ns=0)
    machine = replace(MACHINE, links=links, endpoint=endpoint, storage=storage, work=work)
    for key, value in values.items():
        machine = sim_machine.with_value(machine, key.replace("__", "."), value)
    return machine


@pytest.mark.parametrize(
    ("values", "seconds", "bound"),
    [
        # The aggregator receives in both rounds, and in each of the four agreements of two nodes.
        ({"endpoint__receive_us": 1}, 2 * 11e-6 + 4e-6, "receivers"),
        # Eight ranks have four messages each under way to two aggregators, so all messages of a round may be
        # in the queue.
        ({"endpoint__queue_ns": 1000, "endpoint__disorder": 0.5}, 2 * 11 * 11 / 2 * 0.5e-6, "receivers"),
        ({"endpoint__send_us": 1}, 2 * 11 / 4 * 1e-6 + 4e-6, "senders"),
        # The middle of the network carries half of both nodes' rate: first the exchange, then the storage.
        # The last term is for the summaries of the other node.
        ({"links__rate_mbs": 1}, 2 * (2080e-6 + 4000e-6) + 4 * 48e-6, "the middle of the network"),
        ({"work__piece_ns": 1000}, 2 * 80e-6, "receivers"),
        ({"links__latency_us": 1}, 2 * 2e-6 + 4 * 1e-6, None),
        ({"storage__rate_mbs": 1}, 2 * 4000e-6, None),
        ({"storage__client_rate_mbs": 1}, 2 * 2000e-6, None),
        ({"storage__latency_us": 1}, 2 * 1e-6, None),
        ({"storage__lock_us": 1}, 2 * 2e-6, None),
    ],
)
def test_each_constant_takes_the_time_it_should(values, seconds, bound):
    predicted = model.predict(schedule(), only(**values))
    assert predicted.seconds == pytest.approx(seconds, rel=1e-6, abs=1e-9)
    assert bound is None or predicted.bound == bound


@pytest.mark.parametrize(
    ("values", "seconds"),
    [
        # Each aggregator receives as many requests as it would otherwise receive messages, and sends as many
        # answers.
        ({"endpoint__receive_us": 1}, 2 * 11e-6 + 4e-6),
        ({"endpoint__send_us": 1}, 2 * 11e-6 + 4e-6),
        ({"links__latency_us": 1}, 2 * 4e-6 + 4 * 1e-6),
        # The description of 40 bytes goes one way. The 1000 bytes of data, and a header of 32 bytes for each
        # message, go the other way.
        ({"links__rate_mbs": 1}, 2 * (2080e-6 + 12 * 32e-6 + 4000e-6) + 4 * 48e-6),
        ({"storage__lock_us": 1}, 0),
    ],
)
def test_a_read_is_a_request_and_its_answer(values, seconds):
    read = replace(schedule(), reads=True)
    assert model.predict(read, only(**values)).seconds == pytest.approx(seconds, rel=1e-6, abs=1e-9)
    assert model.predict(read, MACHINE).messages == 2 * model.predict(schedule(), MACHINE).messages


def test_nodes_that_were_not_walked_are_represented():
    """Walks two nodes that send the same. The second of them represents three nodes."""
    alike = LINES.replace("sent 1 0 4 8 40 1000 40 0 0", "sent 1 0 4 4 40 1000 40 0 0")
    walked = replace(schedule(alike), stands_for={0: 1, 1: 3}, nodes=4, ranks=16, bytes=16000)
    predicted = model.predict(walked, only(endpoint__receive_us=1))
    assert predicted.messages == 2 * (7 + 3 * 7)
    assert predicted.busiest == 3 + 3 * 4
    with pytest.raises(SimulateError, match="only if all its nodes are walked, not 2 of 4 nodes"):
        s4u.replay(walked, MACHINE)


def test_waiting_messages_are_limited_by_messages_in_flight():
    assert model.predict(replace(schedule(), in_flight=1), MACHINE).depth == 4
    assert model.predict(schedule(), MACHINE).depth == 11


def test_a_machine_that_the_library_can_not_read_is_reported(monkeypatch):
    monkeypatch.setattr(model, "costs", lambda _: "machine 1 1 1048576\nread_cal 1\n")
    with pytest.raises(SimulateError, match=r"the closed form of two_phase failed: .*read_cal 1"):
        model.predict(schedule(), MACHINE)


def test_storage_of_two_slots_overlaps_with_the_exchange():
    machine = only(endpoint__receive_us=100, storage__latency_us=700)
    serial = model.predict(schedule(), machine)
    assert serial.seconds == pytest.approx(2 * (1100e-6 + 700e-6) + 400e-6)
    double = model.predict(replace(schedule(), slots=2), machine)
    assert double.seconds == pytest.approx(2 * 1100e-6 + 700e-6 + 400e-6)


TWO_LAYERS = """plan two_layer 1 1 1 262144 4 8000 80 4 4 0.001
aggregators 0
round 0
region 0 0 8000
sent 0 0 1 1 10 2000 10 2000 10
sent 1 0 2 2 20 4000 20 0 0
gathered 0 0 2 2 20 2000 40 2000 20
gathered 1 1 2 2 20 2000 40 2000 20"""


def test_local_aggregators_get_and_merge_before_they_send():
    one = schedule(TWO_LAYERS)
    assert one.senders == 4
    receiving = model.predict(one, only(endpoint__receive_us=1))
    assert receiving.gather == pytest.approx(2 / 2 * 1e-6)
    assert receiving.exchange == pytest.approx(3e-6)
    merging = model.predict(one, only(work__merge_ns=1000))
    assert merging.gather == pytest.approx(40 / 2 * math.log2(3) * 1e-6)
    assert merging.messages == 3 + 4 and merging.far_messages == 2


def test_an_answer_names_the_constants_it_depends_on():
    schedules = [replace(schedule(), arm="one"), replace(schedule(TWO_LAYERS), arm="two")]
    predictions = [model.predict(each, MACHINE) for each in schedules]
    answer = Answer(MACHINE, "btio", schedules, predictions, model.sensitivities(schedules, MACHINE))
    console = Console(width=200, record=True, file=io.StringIO())
    report.show(console, answer)
    text = console.export_text()
    for key in ("endpoint.receive_us", "endpoint.queue_ns", "endpoint.disorder", "storage.rate_mbs"):
        assert text.count(key) >= 2 and key in report.page(answer)
    assert "constants of the machine are assumed" in text


def test_the_fastest_depends_on_the_endpoints(tmp_path):
    schedules = [replace(schedule(), arm="one"), replace(schedule(TWO_LAYERS), arm="two")]
    cheap, dear = only(storage__latency_us=1), only(storage__latency_us=1, endpoint__receive_us=9)
    assert model.winner([model.predict(each, dear) for each in schedules]).arm == "two"
    assert model.winner([model.predict(each, cheap) for each in schedules]).arm == "two"
    gains = {one.change: one.gain for one in model.sensitivities(schedules, dear)}
    assert gains["endpoint.receive_us = 18"] > gains["endpoint.receive_us = 4.5"] > 1
    picture = tmp_path / "all.png"
    predictions = [model.predict(each, dear) for each in schedules]
    report.draw(picture, [Answer(dear, "btio", schedules, predictions, [])])
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_methods_become_hints():
    assert command.default_methods(16384, 256) == [
        "two_phase", "two_layer:256", "two_layer:512", "two_layer:1024", "two_layer:4096"
    ]  # fmt: skip
    assert command.default_methods(8, 4) == ["two_phase", "two_layer:4", "two_layer:8"]
    assert command.arm_hints("two_layer:256", MACHINE, ["cb_nodes=8"]) == {
        "cb_nodes": "8", "striping_unit": "1048576", "oratorio_method": "two_layer",
        "oratorio_local_aggregators": "256",
    }  # fmt: skip
    arms = ["two_phase", "two_layer:4", "two_layer:256", "two_layer:257", "two_layer:3"]
    assert command.fitting(arms, 256, 4) == arms[:3]
    for arm, complaint in (("to_phase", "Did you mean two_phase"), ("two_layer:x", "must follow the colon")):
        with pytest.raises(SimulateError, match=complaint):
            command.arm_hints(arm, MACHINE, [])
    with pytest.raises(SimulateError, match="a hint must be key=value"):
        command.own_hints(MACHINE, ["cb_nodes=8\nstriping_unit=1"])


def test_hints_replace_the_defaults_and_the_last_of_a_key_counts():
    told = command.own_hints(MACHINE, ["cb_nodes=8", "stripe_size=4096", "cb_nodes = 4"])
    assert told == {"stripe_size": "4096", "cb_nodes": "4"}, "stripe_size is another name of striping_unit"


def test_jobs_that_do_not_fit_the_machine_are_refused():
    assert command.nodes_of(MACHINE, 16384, None) == 256
    with pytest.raises(SimulateError, match=r"32768 ranks need 512 nodes; .* has 256"):
        command.nodes_of(MACHINE, 32768, None)
    with pytest.raises(SimulateError, match="evenly over 3 nodes"):
        command.nodes_of(MACHINE, 8, 3)
    with pytest.raises(SimulateError, match="there is no workload tape"):
        sim_schedule.workload_of("tape", None)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--machine", "thea"], "the machines are fat-tree, theta, this-machine"),
        (["--workload", "tape"], "there is no workload tape"),
        (["--workload", "btio", "--map", "map.nc"], "--map requires the workload e3sm_f or e3sm_g"),
        (["--engine", "steam"], "there is no engine steam"),
        (["--direction", "up"], "--direction must be one of write, read"),
        (["--plot", "out.txt"], "the name of a picture must end in .png"),
        (["--output", "/nowhere/page.md"], "the folder /nowhere does not exist"),
        (["--set", "endpoint.queue_ns"], "--set must be KEY=VALUE"),
        (["--set", "endpoint.queue_ns=much"], "endpoint.queue_ns must be a number"),
        (["--set", "links.rate_mbs=1e9"], "links.rate_mbs"),
        (["--ranks", "32768"], "32768 ranks need 512 nodes"),
        (["--ranks", "64", "--nodes", "100"], "64 ranks can't be spread evenly over 100 nodes"),
        (["--set", "topology.taper=0.003"], "topology.taper"),
        (["--ranks", "64", "--method", "two_layer:256"], "two_layer:256 doesn't fit 64 ranks on 1 node"),
    ],
)
def test_impossible_requests_are_reported_before_building(words, complaint, monkeypatch, capfd):
    monkeypatch.setattr(command, "Planner", None)
    assert command_line.call(["simulate", *words]) == 2
    assert complaint in capfd.readouterr().err


def script(tmp_path, text):
    """Returns a program that replaces oratorio_schedules."""
    program = tmp_path / "schedules"
    program.write_text(f"#!/bin/sh\n{text}")
    program.chmod(0o755)
    return str(program)


def test_each_plan_is_a_step_with_its_share(tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(
        sim_schedule, "program", lambda: script(tmp_path, f"cat <<'END'\n{LINES}\n{LINES}\nEND\n")
    )
    step = command.steps_of(lambda share, what: told.append((share, what)), 4)
    with sim_schedule.Planner() as planner:
        workload = sim_schedule.workload_of("btio", None)
        plans = planner.schedules(workload, (8, 2), [("one", {}), ("two", {})], 1, step=step)
    assert [plan.arm for plan in plans] == ["one", "two"] and plans[0].text == plans[1].text
    assert told == [(0.0, "the data of btio"), (0.25, "the plan of one"), (0.5, "the plan of two")]
    for _ in range(3):
        step("more")
    assert told[-1] == (1.0, "more"), "never more than everything"


def test_a_plan_that_fails_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(sim_schedule, "program", lambda: script(tmp_path, "echo no room >&2; exit 1"))
    with (
        sim_schedule.Planner() as planner,
        pytest.raises(SimulateError, match="btio can't be planned: no room"),
    ):
        planner.schedules(sim_schedule.workload_of("btio", None), (8, 2), [("one", {})], 1)


def plan_of(workload, ranks, nodes, arm=(("oratorio_method", "two_phase"), ("cb_nodes", "4"))):
    with sim_schedule.Planner() as planner:
        return planner.schedules(workload, (ranks, nodes), [("arm", dict(arm))], 1)[0]


def made_map(tmp_path, case="F"):
    """Writes a map for four processes."""
    file = tmp_path / f"{case}.nc"
    values = {"columns": 4, "levels": 3, "variables": 2, "seed": 1}
    e3sm.write_map(e3sm.CASES[case], values, 4, file)
    return file


def test_ranks_that_do_not_fit_a_map_or_a_mesh_are_reported(tmp_path):
    workload = sim_schedule.workload_of("e3sm_f", made_map(tmp_path))
    assert plan_of(workload, 8, 2).pieces > 0, "two ranks share a process"
    with pytest.raises(SimulateError, match="the map has 4 processes: the number of ranks, 6, must"):
        plan_of(workload, 6, 2)
    with pytest.raises(SimulateError, match="btio needs a square number of ranks"):
        plan_of(sim_schedule.workload_of("btio", None), 8, 2)


def test_a_map_of_another_case_or_of_none_is_reported(tmp_path):
    file = made_map(tmp_path, "G")
    with pytest.raises(SimulateError, match=r"G\.nc is a map of case G, not of e3sm_f"):
        plan_of(sim_schedule.workload_of("e3sm_f", file), 4, 2)
    with pytest.raises(SimulateError, match="does not exist"):
        plan_of(sim_schedule.workload_of("e3sm_f", tmp_path / "none.nc"), 4, 2)
    (tmp_path / "text.nc").write_text("a map")
    with pytest.raises(SimulateError, match="is not a netCDF file"):
        plan_of(sim_schedule.workload_of("e3sm_f", tmp_path / "text.nc"), 4, 2)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda data: data.renameVariable("D2.nreqs", "D2.requests"), "map 2 of .* lacks D2.nreqs"),
        (lambda data: data.delncattr("D3.dims"), "map 3 of .* lacks D3.dims"),
        (lambda data: data["D1.nreqs"].__setitem__(0, 99), "map 1 of .* numbers of runs that don't match"),
        (lambda data: data["D1.offsets"].__setitem__(0, 99), "map 1 of .* outside of its 16 elements"),
        (lambda data: data["D1.lengths"].__setitem__(0, -1), "map 1 of .* outside of its 16 elements"),
    ],
)
def test_a_map_that_contradicts_itself_is_reported(tmp_path, change, complaint):
    file = made_map(tmp_path)
    with Dataset(file, "a") as data:
        change(data)
    with pytest.raises(SimulateError, match=complaint):
        plan_of(sim_schedule.workload_of("e3sm_f", file), 4, 2)


def test_131072_ranks_are_planned_within_256_mib_and_counted_exactly():
    """Plans accesses in which the hull of a rank extends from its block of the first component to its block
    of the last one."""
    ranks, nodes, arm = 131072, 2048, "oratorio_method=two_phase;cb_nodes=56;cb_buffer_size=2147483648"
    words = [sim_schedule.program(), "s3d", "write", str(ranks), str(nodes), "9", arm]
    limited = ["bash", "-c", 'ulimit -v 262144; exec "$@"', "_", *words]
    told = subprocess.run(limited, capture_output=True, text=True, check=True).stdout.splitlines()
    one = sim_schedule.parse(told, "two_phase", ranks, nodes)
    assert one.rounds == len(one.sampled) == 1
    lows, highs = [], []
    for parts in (64, 64, 32):
        counts = 800 // parts + (np.arange(parts) < 800 % parts)
        borders = np.concatenate([[0], np.cumsum(counts)])
        lows.append(borders[:-1])
        highs.append(borders[1:] - 1)
    first = 8 * (lows[2][:, None, None] * 800**2 + lows[1][None, :, None] * 800 + lows[0])
    last = 8 * (highs[2][:, None, None] * 800**2 + highs[1][None, :, None] * 800 + highs[0] + 1)
    last = last + 15 * 800**3 * 8
    regions = np.concatenate([each.regions for each in one.sampled])
    pairs = sum(int(((first < at + size) & (last > at)).sum()) for _, at, size in regions)
    assert one.edges == pairs == 7_020_544
    assert sum(one.stands_for.values()) == nodes and 0 < len(one.stands_for) <= 512
    assert one.scale == pytest.approx(1, rel=0.02)


def test_the_hints_that_a_search_varies_are_the_library_s():
    known = {hint["key"] for hint in description.rows("hints") if hint["role"] == "acts"}
    for values in search.choices(MACHINE, 16384, 256):
        for hint in values:
            assert set(hint) <= known
