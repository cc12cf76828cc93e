# SPDX-License-Identifier: BSD-3-Clause
"""Tests `oratorio calibrate`: its results are stored where the library looks, and the library uses them."""

import math
import re

import pytest
from conftest import IS_BUILT, NOT_BUILT, host_or_skip
from test_run import block_program, environment_of, launch_words, oratorio

from oratorio.launch.hosts import mpiexec_command
from oratorio.library import description
from oratorio_lab.simulate import machine as sim_machine

pytestmark = pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
NAMES = description.names("costs")

BETWEEN_NODES = ("far_message", "far_byte", "beside_message", "beside_byte", "endpoint_message")


def calibrate(costs, *words):
    return oratorio("calibrate", *words, env={"ORATORIO_COSTS": str(costs), "COLUMNS": "200"})


def values_in(file) -> dict[str, float]:
    """Returns the constants of a file of costs."""
    lines = (line.partition("#")[0].split() for line in file.read_text().splitlines())
    return {words[0]: float(words[1]) for words in lines if words}


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    """Returns (folder of the costs, folder that was measured, the finished command)."""
    host_or_skip("mpich5")
    folder = tmp_path_factory.mktemp("calibrate")
    costs, measured = folder / "not/yet/there", folder / "measured"
    measured.mkdir()
    done = calibrate(costs, "--quick", "--dir", measured, "--mpi", "mpich5")
    assert done.returncode == 0, done.stdout + done.stderr
    return costs, measured, done


def costs_file(costs):
    (file,) = costs.iterdir()
    return file


def test_every_constant_is_measured_or_accounted_for(calibrated):
    costs, _, done = calibrated
    measured = values_in(costs_file(costs))
    kept = re.findall(r"^(\w+) keeps its built-in value: .", done.stderr, re.MULTILINE)
    assert sorted([*measured, *kept]) == sorted(NAMES)
    assert all(math.isfinite(value) and value > 0 for value in measured.values())
    # These constants are always measured, because they need nothing that a machine may lack.
    needed = {"read_call", "write_byte", "copy_byte", "hash_piece", "message_byte", "message", "wake"}
    needed |= {"collective"}
    assert needed <= set(measured), done.stderr
    assert "internal error" not in done.stderr


@pytest.mark.parametrize("pretended", [{}, {"ORATORIO_RANKS_PER_NODE": "1"}], ids=["one node", "pretended"])
def test_a_launcher_on_one_node_leaves_the_constants_between_nodes_as_they_are(pretended, tmp_path):
    host = host_or_skip("mpich5")
    launcher = mpiexec_command(host, 3, preload=False, env=pretended)
    done = calibrate(tmp_path / "costs", "--quick", "--dir", tmp_path, *launcher)
    assert done.returncode == 0, done.stdout + done.stderr
    measured = values_in(costs_file(tmp_path / "costs"))
    assert {"message", "message_byte", "message_piece"} <= set(measured)
    for name in BETWEEN_NODES:
        assert name not in measured
        assert f"{name} keeps its built-in value: all ranks are on one node" in done.stderr


def test_costs_between_nodes_stay_when_one_node_is_calibrated(calibrated, tmp_path):
    costs, measured, _ = calibrated
    file = tmp_path / costs_file(costs).name
    file.write_text("far_message 1234  # once\nfar_byte 0.25\nendpoint_message many\nwrite_call 1e9\n")
    done = calibrate(tmp_path, "--quick", "--dir", measured, "--mpi", "mpich5")
    assert done.returncode == 0, done.stdout + done.stderr
    now = values_in(file)
    assert (now["far_message"], now["far_byte"]) == (1234, 0.25)
    assert "endpoint_message" not in now and now["write_call"] < 1e9
    kept = re.findall(r"^(\w+) keeps its built-in value", done.stderr, re.MULTILINE)
    assert "endpoint_message" in kept and "far_byte" not in kept


def test_the_table_has_what_the_file_has(calibrated):
    costs, _, done = calibrated
    for name, value in values_in(costs_file(costs)).items():
        (row,) = (line for line in done.stdout.splitlines() if line.startswith(f"{name} "))
        assert float(row.split()[2]) == value
    assert str(costs_file(costs)) in done.stdout


def test_nothing_is_left_in_the_measured_folder(calibrated):
    _, measured, _ = calibrated
    assert not list(measured.iterdir())


def test_show_tells_the_costs_in_force_and_their_source(calibrated, tmp_path):
    costs, measured, _ = calibrated
    file = costs_file(costs)
    shown = calibrate(costs, "--show", "--dir", measured)
    assert shown.returncode == 0 and str(file) in shown.stdout
    (row,) = (line for line in shown.stdout.splitlines() if line.startswith("hash_piece "))
    assert float(row.split()[2]) == values_in(file)["hash_piece"]
    assert "built in" in calibrate(tmp_path / "nothing", "--show", "--dir", measured).stdout
    file_system = file.name.rpartition("-")[2]
    (tmp_path / file_system).write_text("wake 1234\nnonsense 5\n")  # applies to any machine
    of_all = calibrate(tmp_path, "--show", "--dir", measured)
    assert re.search(r"^wake +\d+ +1234 ", of_all.stdout, re.MULTILINE) and file_system in of_all.stdout
    assert "a valid number: nonsense 5" in of_all.stderr


def milliseconds(host, folder, costs) -> dict[str, float]:
    """Returns candidate -> estimated cost of a small collective write, as explain --all prints it."""
    env = {**environment_of(host), "ORATORIO_COSTS": str(costs)}
    words = [*launch_words(host, 2), block_program(host), folder]
    done = oratorio("explain", "--all", *words, env=env)
    assert done.returncode == 0, done.stderr
    return {
        name: float(cost) for name, cost in re.findall(r"^ +(\w+) +([\d.]+) ms\b", done.stderr, re.MULTILINE)
    }


def test_the_library_uses_what_was_measured(calibrated, tmp_path):
    host = host_or_skip("mpich5")
    costs, measured, _ = calibrated
    file = costs_file(costs)
    before = milliseconds(host, measured, costs)
    dear = tmp_path / "dear"
    dear.mkdir()
    changed = re.sub(r"^write_call .*", "write_call 5e8", file.read_text(), flags=re.MULTILINE)
    (dear / file.name).write_text(changed)
    after = milliseconds(host, measured, dear)
    # Two ranks write a block each: two calls of half a second, one after the other.
    assert after["list_io"] - before["list_io"] == pytest.approx(1000, rel=0.01)
    assert after["mmap"] == before["mmap"]


def test_a_launcher_of_one_rank_measures_no_messages_and_says_why(tmp_path):
    launcher = mpiexec_command(host_or_skip("openmpi5"), 1, preload=False)
    done = calibrate(tmp_path / "costs", "--quick", "--dir", tmp_path, *launcher)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(
        "^message keeps its built-in value: mpiexec: at least two ranks", done.stderr, re.MULTILINE
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--dir", "/proc"), "/proc can't be written to: "),
        (("--dir", "/nowhere"), "/nowhere is not a folder"),
        (("--dir", "/nowhere", "--show"), "/nowhere is not a folder"),
        (("--mpi", "nompi"), "there is no MPI named nompi on this machine"),
        (("nompiexec", "-n", "2"), "nompiexec: command not found"),
        (("--mpi", "/nowhere", "true"), "no bin/mpicxx and bin/mpiexec in /nowhere"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_impossible_requests_get_one_sentence(words, says, tmp_path):
    done = calibrate(tmp_path, "--quick", *words)
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("oratorio: " + says)
    assert not list(tmp_path.iterdir())


def test_a_folder_for_the_costs_that_can_t_be_made_is_refused(tmp_path):
    (tmp_path / "file").touch()
    done = calibrate(tmp_path / "file/costs", "--quick", "--dir", tmp_path)
    assert done.returncode == 2
    assert (
        f"the folder for the costs, {tmp_path}/file/costs, can't be created: Not a directory" in done.stderr
    )


def test_the_costs_in_force_become_a_machine_for_simulate(calibrated, tmp_path):
    costs, measured, _ = calibrated
    file = tmp_path / "here.toml"
    done = calibrate(costs, "--show", "--dir", measured, "--machine", file)
    assert done.returncode == 0 and str(file) in done.stdout, done.stdout + done.stderr
    machine = sim_machine.load(str(file))
    byte = values_in(costs_file(costs))["message_byte"]
    assert machine.links.memory_rate_mbs == pytest.approx(2e3 / byte, rel=1e-3)
    assert machine.sources["links.memory_rate_mbs"] == "measured: message_byte"
    assert machine.sources["endpoint.send_us"] == "assumed, as built in: send_message"


def test_a_machine_that_can_t_be_written_is_one_error(calibrated, tmp_path):
    costs, measured, _ = calibrated
    done = calibrate(costs, "--show", "--dir", measured, "--machine", tmp_path / "none" / "here.toml")
    assert done.returncode == 2
    assert "here.toml can't be written: No such file or directory" in done.stderr
