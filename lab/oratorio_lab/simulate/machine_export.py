# SPDX-License-Identifier: BSD-3-Clause
"""Makes a machine file for `oratorio simulate` from the constants in force for a folder of this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from oratorio.calibrate import calibrate
from oratorio.machine.costs import in_force, values_of
from oratorio_lab.simulate import machine as sim_machine

TEMPLATE = "this-machine"  # supplies what is not measured, such as nodes, topology and targets
OF_NODES = ("far_message", "far_byte")
BESIDE = ("beside_message", "beside_byte")


def _between(measured: Mapping[str, float]) -> tuple[str, str]:
    """Returns the names of the constants between nodes: those of a network if they were measured, and
    otherwise those of nodes that share a machine, as containers do."""
    return OF_NODES if OF_NODES[0] in measured else BESIDE


def values_from(
    all_costs: Mapping[str, float], measured: Mapping[str, float]
) -> dict[str, tuple[float, str]]:
    """Maps each key of a machine to its value and to the constant (src/plan/costs.def, ns) that it comes
    from.

    This is the inverse of `sim_machine.costs`, except for the storage, which gets the costs of writing to
    this machine's file system. A byte of a message is copied at both of its ends.
    """
    message, byte = _between(measured)
    ends = all_costs["send_message"] + all_costs["endpoint_message"]
    latency = max(0.0, all_costs[message] - ends) / 1e3
    return {
        "links.latency_us": (latency, message),
        "links.rate_mbs": (1e3 / all_costs[byte], byte),
        "links.near_latency_us": (min(latency, all_costs["collective"] / 1e3), "collective"),
        "links.memory_rate_mbs": (2e3 / all_costs["message_byte"], "message_byte"),
        "endpoint.send_us": (all_costs["send_message"] / 1e3, "send_message"),
        "endpoint.receive_us": (all_costs["endpoint_message"] / 1e3, "endpoint_message"),
        "work.piece_ns": (all_costs["message_piece"], "message_piece"),
        "work.merge_ns": (all_costs["merge_piece"], "merge_piece"),
        "storage.rate_mbs": (1e3 / all_costs["write_byte"], "write_byte"),
        "storage.client_rate_mbs": (1e3 / all_costs["write_byte"], "write_byte"),
        "storage.latency_us": (all_costs["write_call"] / 1e3, "write_call"),
    }


def machine_of(
    name: str, all_costs: Mapping[str, float], measured: Mapping[str, float]
) -> sim_machine.Machine:
    """Returns the template with the number of cores of this machine and the values of these constants.
    `all_costs` has built-in values for the constants that are not in `measured`."""
    template = sim_machine.load(TEMPLATE)
    sources = dict(template.sources)
    tables = {table: getattr(template, table) for table in sim_machine.TABLES}
    for key, (value, constant) in values_from(all_costs, measured).items():
        table, _, own = key.partition(".")
        tables[table] = replace(tables[table], **{own: value})
        how = "measured" if constant in measured else "assumed, as built in"
        sources[key] = f"{how}: {constant}"
    cores = len(os.sched_getaffinity(0))
    # The rates of a link and of copying are measured one after the other, so on a busy machine the link may
    # seem faster than all cores can copy.
    most = cores * tables["links"].memory_rate_mbs
    if tables["links"].rate_mbs > most:
        tables["links"] = replace(tables["links"], rate_mbs=most)
        sources["links.rate_mbs"] += ", at most what all cores copy"
    return replace(template, name=name, cores=cores, sources=sources, **tables)


def text_of(machine: sim_machine.Machine) -> str:
    """Returns the text of a machine file, as `sim_machine.parse` reads it."""
    told = asdict(machine)
    lines = [f"{key} = {json.dumps(value)}" for key, value in told.items() if not isinstance(value, dict)]
    for table in (*sim_machine.TABLES, "sources"):
        lines += ["", f"[{table}]"]
        lines += [
            f"{json.dumps(key) if '.' in key else key} = {json.dumps(value)}"
            for key, value in told[table].items()
        ]
    return "\n".join(lines) + "\n"


def write(file: Path, folder: Path) -> str:
    """Writes a machine with the constants in force for `folder`; returns a sentence about their source.

    Raises CalibrateError.
    """
    place = calibrate.place_of(folder)
    text, source = in_force(os.environ, place.names)
    constants, _ = calibrate.read_costs(folder, text)
    all_costs = {name: one.value for name, one in constants.items()}
    name = f"{place.machine}, {place.file_system}"
    source = source or "the built-in constants"
    try:
        file.write_text(
            f"# Made by `oratorio calibrate --machine` from {source}\n"
            + text_of(machine_of(name, all_costs, values_of(text)))
        )
    except OSError as error:
        raise calibrate.CalibrateError(f"{file} can't be written: {error.strerror}") from None
    return f"{name}: wrote {file}, a machine file for `oratorio simulate --machine`, from {source}"
