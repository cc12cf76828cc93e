# SPDX-License-Identifier: BSD-3-Clause
"""Tests `oratorio bench`: every workload runs in smoke size, every byte is verified, and the report states
what was measured."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from conftest import HERE, IS_BUILT, NOT_BUILT, compile_for, host_or_skip
from netCDF4 import Dataset
from test_run import environment, oratorio

from oratorio.calibrate import calibrate
from oratorio.launch.hosts import run_ranks
from oratorio.library.method_table import methods
from oratorio.paths import preload_library
from oratorio_lab.bench import e3sm, small
from oratorio_lab.bench.arms import BEST, TUNINGS
from oratorio_lab.bench.run import build
from oratorio_lab.bench.workloads import WORKLOADS
from oratorio_lab.papers.figures import PAPERS

pytestmark = pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
MESH = {"columns": 50, "levels": 72, "variables": 2, "seed": 1}
PNG = b"\x89PNG"


def bench(folder, *words, env=None) -> subprocess.CompletedProcess[str]:
    return oratorio("bench", *words, "--smoke", "--dir", folder, env=env)


def measured(folder, *words, arms="host,auto,raw") -> dict:
    """Returns the record of a run; the command fails if a byte was wrong."""
    result = folder / "result.json"
    done = bench(folder, *words, "--method", arms, "--json", result)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads(result.read_text())


def refusal(folder, *words) -> str:
    """Returns the one line that a refused command prints."""
    done = bench(folder, *words)
    assert done.returncode == 2, done.stdout + done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("oratorio: "), done.stderr
    return lines[0]


@pytest.mark.parametrize("name", ["mpich5", "openmpi5"])
def test_small_accesses_are_timed_with_each_store(name, tmp_path):
    host_or_skip(name)
    words = ["--mpi", name, "--ranks", 2, "--calls", 20, "--repeat", 1, "--store", "uncached"]
    done = oratorio("bench", "small", *words, "--dir", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [[word.strip() for word in line.split("│")[1:-1]] for line in done.stdout.splitlines()]
    times = {access: [float(time) for time in each] for access, *each in filter(None, rows)}
    assert list(times) == list(small.KINDS.values())
    assert all(len(each) == 3 and min(each) > 0 for each in times.values())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--store", "nowhere"], "no store nowhere; there are auto"),
        (["--distance", 4], "at least --bytes, 512"),
    ],
)
def test_small_accesses_with_bad_options_get_one_sentence(words, says, tmp_path):
    done = oratorio("bench", "small", *words, "--dir", tmp_path)
    assert done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("workload", sorted(WORKLOADS))
@pytest.mark.parametrize("name", [pytest.param("mpich5", marks=pytest.mark.short), "openmpi5"])
def test_a_workload_moves_every_byte(workload, name, tmp_path):
    host_or_skip(name)
    (run,) = measured(tmp_path, workload, "--ranks", 4, "--mpi", name, arms="host,auto,bare,raw")["runs"]
    seen = {(s["arm"], s["direction"], s["repeat"]) for s in run["samples"]}
    assert seen == {(a, d, r) for a in run["arms"] for d in ("write", "read") for r in (-1, 0)}
    assert all(sample["verified"] and sample["counted"] for sample in run["samples"])


def test_an_arm_makes_passes_ahead_of_all_others(tmp_path):
    host, samples = host_or_skip("mpich5"), tmp_path / "samples"
    words = ["--workload", "array", "--param", "dist=cyclic", "--param", "block=512", "--param", "bytes=4096"]
    words += ["--arm", "host", "--arm", "auto", "--ahead", "auto=2", "--only", "write", "--repeats", "1"]
    words += ["--dir", tmp_path, "--out", samples]
    env = {"LD_PRELOAD": str(preload_library())}
    done = run_ranks(host, 2, [build(host), *words], env=env, timeout_seconds=60)
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in samples.read_text().splitlines()]
    passes = [(s["arm"], s["repeat"], s["verified"]) for s in told if s["kind"] == "sample"]
    assert passes == [
        ("auto", -3, True), ("auto", -2, True),
        ("host", -1, True), ("auto", -1, True), ("auto", 0, True), ("host", 0, True),
    ]  # fmt: skip


def processes_with(word) -> list[str]:
    """Returns the command lines of the processes that have this word as a part of theirs."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            lines.append(file.read_bytes().replace(b"\0", b" ").decode())
    return [line for line in lines if str(word) in line]


def comes_true(condition, seconds=60) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
    return condition()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_benchmark_that_is_ended_leaves_no_ranks_and_no_files(number, tmp_path):
    host_or_skip("mpich5")
    words = ["bench", "array", "--ranks", "2", "--repeat", "1000000", "--bytes", "64KiB", "--dir", tmp_path]
    with subprocess.Popen(
        [sys.executable, "-m", "oratorio", *words], env=environment(), stderr=subprocess.DEVNULL
    ) as job:
        assert comes_true(lambda: any("--workload" in line for line in processes_with(tmp_path)))
        job.send_signal(number)
        assert job.wait(60) == 128 + number
    assert comes_true(lambda: not processes_with(tmp_path)), processes_with(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ("array", "--dist", "block"),
        ("array", "--dist", "block3d"),
        ("array", "--dist", "random"),
        ("hpio", "--memory", "contiguous"),
        ("hpio", "--file", "contiguous"),
        ("tile", "--overlap-x", "0", "--overlap-y", "0"),
        ("sparse", "--sparsity", "100"),
        ("btio", "--ghost", "0"),
    ],
    ids=" ".join,
)
def test_a_workload_s_variants_move_every_byte(words, tmp_path):
    host_or_skip("mpich5")
    measured(tmp_path, *words, "--ranks", "3" if words[0] != "btio" else "4", arms="host,auto")


@pytest.mark.parametrize(
    "words", [("--overwrite",), ("--direct",), ("--sync", "--direction", "write"), ("--direction", "read")]
)
def test_ways_to_measure_move_every_byte(words, tmp_path):
    """Uses two workloads: tile has raw files of different sizes for reads and writes, and mar has holes."""
    host_or_skip("mpich5")
    record = measured(tmp_path, "suite", "--workloads", "tile,mar", *words, "--ranks", 2)
    for run in record["runs"]:
        assert run["reference"] == ("raw_direct" if "--direct" in words else "raw")
        assert {s["direction"] for s in run["samples"]} == {s["direction"] for s in run["summary"]}
        if "--direct" in words:
            assert run["hints"]["auto"] == {"direct_read": "true", "direct_write": "true"}


@pytest.fixture
def map_of(tmp_path):
    """Returns map_of(case), which returns a decomposition map for 16 processes.

    The map comes from the folder that ORATORIO_E3SM_MAPS names, or is made up with the same structure.
    """

    def find(case: str) -> Path:
        folder = os.environ.get("ORATORIO_E3SM_MAPS")
        if folder:
            return Path(folder) / f"map_{case}_case_16p.nc"
        made = tmp_path / f"map_{case}.nc"
        e3sm.write_map(e3sm.CASES[case.upper()], MESH, 16, made)
        return made

    return find


def bytes_of_two_variables(map_file: Path) -> int:
    """Returns the bytes of two variables of each map, or of one where there is no second."""
    with Dataset(map_file) as data:
        return sum(
            min(sizes.variables, 2) * sizes.element_bytes * int(np.prod(data.getncattr(f"D{number}.dims")))
            for number, sizes in enumerate(e3sm.case_of(map_file).maps, start=1)
        )


@pytest.mark.parametrize("case", ["f", "g"])
def test_the_decomposition_of_a_climate_model_moves_every_byte(case, map_of, tmp_path):
    host_or_skip("mpich5")
    map_file = map_of(case)
    (run,) = measured(tmp_path, f"e3sm_{case}", "--map", map_file, "--ranks", 4)["runs"]
    assert run["map_file"] == map_file.name
    assert run["setup"]["bytes"] == bytes_of_two_variables(map_file)


@pytest.mark.parametrize("byte", [0, 488])
def test_a_wrong_byte_is_found(byte, tmp_path):
    """Byte 0 of a rank's buffer is data. Byte 488 lies in the gap between two regions of hpio."""
    host = host_or_skip("mpich5")
    library = compile_for(host.mpicc, HERE / "wrong_byte.c", "liboratorio-wrong-byte.so", "-shared", "-fPIC")
    result = tmp_path / "result.json"
    env = {"ORATORIO_PRELOAD": str(library), "WRONG_BYTE": str(byte)}
    done = bench(tmp_path, "hpio", "--ranks", 2, "--method", "auto,raw", "--json", result, env=env)
    (run,) = json.loads(result.read_text())["runs"]
    said = {(s["arm"], s["direction"]): s["problem"] for s in run["summary"]}
    assert said["raw", "write"] == said["raw", "read"] == ""
    if byte == 0:
        assert done.returncode == 1
        assert said["auto", "write"] == "the file is wrong at file offset 0"
        assert said["auto", "read"] == "the data read is wrong at file offset 0"
    else:
        assert said["auto", "write"] == ""
        assert said["auto", "read"] == "bytes between the pieces in memory were changed"
    assert "problem" not in done.stdout and "auto" in done.stderr


def test_the_table_says_what_the_record_has(tmp_path):
    host_or_skip("mpich5")
    result, picture = tmp_path / "result.json", tmp_path / "sub/picture.png"
    words = ("coll_perf", "--ranks", "2", "--method", "host,host_tuned,auto,raw", "--repeat", "2")
    done = bench(tmp_path, *words, "--json", result, "--plot", picture)
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(result.read_text())["runs"]
    for arm in run["arms"]:
        write, read = (s for s in run["summary"] if s["arm"] == arm)
        cells = [
            text
            for s in (write, read)
            for text in (f"{s['mib_per_s']:.0f}", f"{s['times_best_host']:.2f}", f"{s['percent_of_raw']:.0f}")
        ]
        (row,) = (line for line in done.stdout.splitlines() if re.match(rf"\W+{arm}\s", line))
        assert re.findall(r"[\d.]+", row)[:6] == cells
    by_arm = {s["arm"]: s for s in run["summary"] if s["direction"] == "read"}
    best_host = max(by_arm["host"]["mib_per_s"], by_arm["host_tuned"]["mib_per_s"])
    assert by_arm["auto"]["times_best_host"] == pytest.approx(by_arm["auto"]["mib_per_s"] / best_host)
    assert by_arm["raw"]["percent_of_raw"] == pytest.approx(100)
    sample = next(s for s in run["samples"] if (s["arm"], s["direction"], s["repeat"]) == ("auto", "read", 0))
    assert by_arm["auto"]["mib_per_s"] == pytest.approx(sample["bytes"] / (1 << 20) / sample["seconds"])
    assert picture.read_bytes().startswith(PNG)


def test_the_suite_runs_every_workload_and_skips_what_can_t_run(tmp_path):
    host_or_skip("mpich5")
    picture = tmp_path / "suite.png"
    done = bench(tmp_path, "suite", "--ranks", "2", "--method", "auto,raw", "--plot", picture)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped: btio needs a square number of ranks (1, 4, 9, 16 ...), not 2" in done.stderr
    for name in set(WORKLOADS) - {"btio"}:
        assert re.search(rf"{name}\b", done.stdout), name
    assert picture.read_bytes().startswith(PNG)


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_bare_program_keeps_the_bytes_between_its_pieces(ranks, tmp_path):
    host_or_skip("mpich5")
    words = ("hpio", "--overwrite", "--ranks", ranks)
    (run,) = measured(tmp_path, *words, arms="auto,bare")["runs"]
    assert all(sample["verified"] and sample["holes_kept"] for sample in run["samples"])


@pytest.mark.parametrize("workload", ["lattice", "transposed"])
@pytest.mark.parametrize("ranks", [1, 4, 6])
def test_two_phases_by_hand_move_the_right_bytes(workload, ranks, tmp_path):
    host_or_skip("mpich5")
    (run,) = measured(tmp_path, workload, "--ranks", ranks, arms="host,by_hand")["runs"]
    assert {(s["arm"], s["verified"]) for s in run["samples"]} == {("host", True), ("by_hand", True)}


def test_a_workload_without_rows_has_no_arm_by_hand(tmp_path):
    host_or_skip("mpich5")
    done = bench(tmp_path, "vec8", "--ranks", 2, "--method", "by_hand")
    assert done.returncode == 1 and "this workload has no arm by_hand" in done.stderr


@pytest.mark.parametrize("name", ["mpich5", "openmpi5"])
def test_the_ranks_are_spread_over_nodes(name, tmp_path):
    host_or_skip(name)
    result = tmp_path / "result.json"
    words = ("flash", "--ranks", "4", "--nodes", "2", "--mpi", name, "--method", "host,auto,two_layer_shared")
    done = bench("/dev/shm", *words, "--json", result)
    if "--nodes: " in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert json.loads(result.read_text())["runs"][0]["setup"]["nodes"] == 2


def test_every_method_is_an_arm(tmp_path):
    host_or_skip("mpich5")
    (run,) = measured(tmp_path, "vec8", "--ranks", 2, arms="methods")["runs"]
    assert run["arms"] == methods() and len(run["arms"]) > 5
    assert {s["arm"] for s in run["samples"] if s["verified"]} == set(methods())


@pytest.mark.parametrize("name", ["mpich5", "openmpi5"])
def test_a_profile_accounts_for_what_was_moved(name, tmp_path):
    host_or_skip(name)
    words = ("hpio", "--ranks", 2, "--profile", "--mpi", name)
    (run,) = measured(tmp_path, *words, arms="shared_buffer,two_phase,raw")["runs"]
    for sample in run["samples"]:
        account = sample["account"]
        if sample["arm"] == "raw":
            assert account == {}
            continue
        assert account["bytes_moved"] == sample["bytes"]
        # An aggregator copies its own data once, without a message.
        in_messages = sample["bytes"] - account["bytes_shared"]
        assert account.get("bytes_packed", 0) == account.get("bytes_placed", 0) == in_messages
        assert (in_messages == 0) == (sample["arm"] == "shared_buffer")
        assert account["storage_time"] + account["copy_time"] < account["access_time"]
        direction = "bytes_loaded" if sample["direction"] == "read" else "bytes_stored"
        assert account[direction] >= sample["bytes"] and account["storage_calls"] > 0


def test_a_profile_is_shown_as_a_table(tmp_path):
    done = bench(tmp_path, "tile", "--ranks", 2, "--profile", "--method", "two_phase,raw")
    assert done.returncode == 0 and "copying, ns a piece" in done.stdout, done.stdout


def test_a_pass_is_predicted_by_the_constants_in_force(tmp_path):
    host_or_skip("mpich5")
    costs, result = tmp_path / "costs", tmp_path / "result.json"
    costs.mkdir()
    file = costs / calibrate.place_of(tmp_path).names[0]
    for nanoseconds in (1e-3, 1e3):
        names = ("write_byte", "contended_byte", "copy_byte", "message_byte", "write_call", "message")
        file.write_text("".join(f"{name} {nanoseconds}\n" for name in names))
        words = ("tile", "--ranks", 2, "--predict", "--direction", "write", "--method", "two_phase,auto,raw")
        done = bench(tmp_path, *words, "--json", result, env={"ORATORIO_COSTS": str(costs)})
        assert done.returncode == 0 and f"Constants: {file}" in done.stdout, done.stdout + done.stderr
        record = json.loads(result.read_text())
        size = record["runs"][0]["setup"]["bytes"]
        told = record["predictions"]["each"]
        assert [one["arm"] for one in told] == ["two_phase", "auto"]
        for one in told:
            assert (one["seconds"] > size * 1e-6) == (nanoseconds > 1), one


@pytest.mark.parametrize("year", ["2014", "2019"])
def test_the_figures_of_a_paper_are_drawn(year, tmp_path):
    host_or_skip("mpich5")
    page = tmp_path / "page.md"
    words = ("paper", year, "--ranks", "2,4", "--plot", tmp_path / "paper.png", "--output", page)
    done = bench(tmp_path, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    skipped = {line.split()[1].rstrip(":") for line in done.stderr.splitlines() if "skipped: " in line}
    there = [figure for figure in PAPERS[year].figures if figure not in skipped]
    assert there and {file.name for file in tmp_path.glob("*.png")} == {f"paper-{name}.png" for name in there}
    said = page.read_text()
    assert f"./oratorio bench paper {year} --ranks 2,4" in said
    assert all(f"- {line}" in said and line in done.stdout for line in PAPERS[year].absent)
    assert all(fact.counted in said for fact in PAPERS[year].counted)
    assert all(f"](paper-{name}.png)" in said for name in there)
    for claim in PAPERS[year].claims:
        assert (claim.said in said) == (claim.figure in there)
    rates = [line for line in said.splitlines() if re.match(r"\| [^|]+ \| (buffered|direct) \|", line)]
    assert len(rates) >= 2 * len(there)
    assert all(re.search(r"\| \d+ ", row) for row in rates), rates


def test_a_figure_of_a_paper_has_a_row_for_each_point(tmp_path):
    host_or_skip("mpich5")
    figures = ("--figures", "1-coll_perf,2-tile,3-flash")
    words = ("paper", "2006", *figures, "--ranks", "2,4", "--method", "host,two_phase,auto,raw")
    words = (*words, "--modes", "buffered,direct")
    done = bench(tmp_path, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line for line in done.stdout.splitlines() if re.search(r"│ (buffered|direct) +│", line)]
    # Five rows for each of two values and two modes: coll_perf written, coll_perf read, tile read, flash over
    # block sizes, and flash over ranks.
    assert len(rows) == 5 * 2 * 2
    assert all(len(re.findall(r"│\s+\d+ ", row)) >= 4 for row in rows)


def test_a_figure_is_not_drawn_past_the_page_cache_of_a_folder_in_memory():
    host_or_skip("mpich5")
    done = bench("/dev/shm", "paper", "2006", "--figures", "2-tile", "--ranks", "2", "--method", "auto,raw")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "│ buffered" in done.stdout and "│ direct " not in done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("btio", "--ranks", "8"), "btio needs a square number of ranks (1, 4, 9, 16 ...), not 8"),
        (("coll_perf", "--n", "0"), "--n must be a whole number of at least 1, not 0"),
        (("coll_perf", "--n", "many"), "--n must be a whole number of at least 1, not many"),
        (("array", "--dist", "spiral"), "--dist must be one of block, cyclic, block3d, random, not spiral"),
        (("tile", "--ranks", "4,x"), "--ranks must be numbers above zero, such as 2,4,8, not 4,x"),
        (("tile", "--direction", "both"), "--direction must be write or read, not both"),
        (("tile", "--method", "raw,fastest"), "no method fastest; the methods are auto, "),
        (("tile", "--method", "host_mine"), "arm host_mine has no hints"),
        (("tile", "--hint", "cb_nodes"), "a hint must be [METHOD:]key=value, not cb_nodes"),
        (("tile", "--hint", "sieve:a=b"), "--hint names an arm that --method does not select: sieve"),
        (("tile", "--mpi", "nompi"), "there is no MPI named nompi on this machine"),
        (("suite", "--workloads", "tiles"), "no workload tiles; the workloads are coll_perf, "),
        (("paper", "1999"), "no paper 1999; the papers are 1995, 2001, 2006, 2014, 2019"),
        (
            ("paper", "2006", "--figures", "tiles"),
            "--figures takes 1-coll_perf, 2-tile, 3-flash, sub-buffers, aggregators, not tiles",
        ),
        (("paper", "2006", "--modes", "fast"), "--modes takes buffered, direct, not fast"),
        (("paper", "2006", "--param", "n"), "a parameter must be NAME=VALUE[,VALUE], not n"),
        (("paper", "2006", "--param", "edge=3"), "no workload of the 2006 paper has a parameter edge"),
        (("e3sm_f", "--map", "nowhere.nc"), "nowhere.nc does not exist"),
        (("tile", "--ranks", "3", "--nodes", "2"), "3 ranks can't be spread evenly over 2 nodes"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_bad_parameter_gets_one_sentence(words, says, tmp_path):
    assert says in refusal(tmp_path, *words)


def test_cold_reads_need_a_disk():
    assert "--cold needs a disk: /dev/shm is in memory" in refusal("/dev/shm", "tile", "--cold")


def test_memory_is_where_malloc_puts_it_and_never_with_direct_io(tmp_path):
    told = measured(tmp_path, "array", "--ranks", 2, "--malloc", arms="auto,raw")
    assert told["malloc"]
    assert all(sample["verified"] for sample in told["runs"][0]["samples"])
    assert "--malloc and --direct exclude each other" in refusal(tmp_path, "tile", "--malloc", "--direct")


def test_a_map_of_another_case_is_refused(map_of, tmp_path):
    map_file = map_of("g")
    assert "is for case G, but this workload is case F" in refusal(tmp_path, "e3sm_f", "--map", map_file)
    assert "which 3 ranks can't share evenly" in refusal(
        tmp_path, "e3sm_g", "--map", map_file, "--ranks", "3"
    )


def test_errors_of_the_program_are_reported(tmp_path):
    """Uses a parameter that only the compiled program can reject."""
    host_or_skip("mpich5")
    done = bench(tmp_path, "tile", "--overlap-x", "64", "--ranks", "2")
    assert done.returncode == 1
    assert "tile, 2 ranks: exit code 2 during warm-up: a tile must exceed its overlap" in done.stderr


def test_every_workload_has_tuned_hints():
    assert set(BEST) >= set(WORKLOADS)
    for names in BEST.values():
        assert set(names) <= set(TUNINGS)


def is_mounted() -> bool:
    return "oratorio-paced" in Path("/proc/mounts").read_text()


@pytest.mark.skipif(
    os.geteuid() != 0 or not os.access("/dev/fuse", os.W_OK), reason="needs root and /dev/fuse"
)
@pytest.mark.parametrize("rate", ["20", "exchange"])
def test_storage_with_a_rate_moves_every_byte_and_keeps_the_rate(rate, tmp_path):
    host_or_skip("mpich5")
    arms = "two_phase,two_phase@uring,multithreaded,host,raw"
    words = ("--ranks", 2, "--rate", rate, "--hint", "two_phase@uring:oratorio_store=uring")
    (run,) = measured(tmp_path, "array", *words, arms=arms)["runs"]
    assert all(sample["verified"] for sample in run["samples"])
    limits = run["store_mib_per_s"]
    assert set(limits) == {"write", "read"} and min(limits.values()) > 0
    if rate != "exchange":
        # The storage answers a request only after the time that its bytes take.
        assert all(s["mib_per_s"] <= limits[s["direction"]] for s in run["samples"])
    assert not is_mounted()


def test_an_impossible_rate_is_refused(tmp_path):
    assert "--rate must be a number of MiB/s" in refusal(tmp_path, "array", "--rate", "fast")
    assert "one node" in refusal(tmp_path, "array", "--rate", "5", "--nodes", "2", "--ranks", "2")
