# SPDX-License-Identifier: BSD-3-Clause
"""Tests machines that are made from calibrated constants."""

import pytest

from oratorio.library import description
from oratorio_lab.simulate import machine as sim_machine
from oratorio_lab.simulate import machine_export

BUILT_IN = {row["name"]: float(row["memory"]) for row in description.rows("costs")}
# The constants of a machine that the closed form uses, with the calibrated constants from which they are
# made. All other constants follow from these.
GIVEN_BACK = {
    "far_byte": "beside_byte", "far_message": "beside_message", "send_message": "send_message",
    "endpoint_message": "endpoint_message", "message_byte": "message_byte", "message_piece": "message_piece",
    "merge_piece": "merge_piece", "collective": "collective", "target_byte": "write_byte",
    "target_call": "write_call",
}  # fmt: skip


def test_the_closed_form_gets_the_constants_back():
    values = {**BUILT_IN, "beside_message": 12345.0, "message_byte": 0.5, "write_byte": 0.4}
    machine = machine_export.machine_of("here", values, {})
    told = dict(line.split(maxsplit=1) for line in sim_machine.costs(machine).splitlines())
    for name, constant in GIVEN_BACK.items():
        assert float(told[name]) == pytest.approx(values[constant]), name


def test_a_network_counts_where_one_was_measured():
    values = {**BUILT_IN, "far_message": 7000.0, "beside_message": 90000.0}
    ends = values["send_message"] + values["endpoint_message"]
    for measured, message in (
        ({}, 90000.0),
        ({"beside_message": 1.0}, 90000.0),
        ({"far_message": 1.0}, 7000.0),
    ):
        machine = machine_export.machine_of("here", values, measured)
        assert machine.links.latency_us == pytest.approx((message - ends) / 1e3)


def test_unmeasured_constants_are_marked_as_assumed():
    machine = machine_export.machine_of("here", BUILT_IN, {"message_byte": 0.6})
    assert machine.sources["links.memory_rate_mbs"] == "measured: message_byte"
    assert machine.sources["work.merge_ns"] == "assumed, as built in: merge_piece"
    assert {"work.merge_ns", "topology.taper"} <= set(machine.assumed)
    assert "links.memory_rate_mbs" not in machine.assumed


def test_the_file_is_read_back_as_the_same_machine():
    machine = machine_export.machine_of('a "name"', BUILT_IN, {})
    assert sim_machine.parse(machine_export.text_of(machine)) == machine


def test_a_latency_below_the_costs_of_the_endpoints_becomes_zero():
    machine = machine_export.machine_of("here", {**BUILT_IN, "beside_message": 1.0}, {})
    assert (machine.links.latency_us, machine.links.near_latency_us) == (0, 0)
    assert sim_machine.parse(machine_export.text_of(machine)) == machine


def test_a_network_that_a_busy_machine_made_look_faster_than_its_cores_is_limited_by_them():
    slow_copies = {**BUILT_IN, "message_byte": 1000.0}  # ns a byte
    machine = machine_export.machine_of("here", slow_copies, {"message_byte": 1000.0})
    assert machine.links.rate_mbs == machine.cores * machine.links.memory_rate_mbs
    assert machine.sources["links.rate_mbs"].endswith("at most what all cores copy")
    assert sim_machine.parse(machine_export.text_of(machine)) == machine
