# SPDX-License-Identifier: BSD-3-Clause
"""Tests `oratorio advise`: what it reads from Darshan's records, its estimate, and what it prints about the
logs that PyDarshan ships."""

import importlib.util
import types
from contextlib import contextmanager
from pathlib import Path

import pytest
from made_runs import MIB

from oratorio.advise import command, estimate, log
from oratorio.advise.log import ALL_RANKS, Log, Record, Segment
from oratorio.command_line import call
from oratorio.errors import OratorioError
from oratorio.report.access_facts import Dataset, Stream

FILE = "/s/field.h5"
HAS_DARSHAN = importlib.util.find_spec("darshan") is not None
needs_darshan = pytest.mark.skipif(
    not HAS_DARSHAN, reason="PyDarshan is missing: dev/requirements/extras.txt"
)


def posix(rank=ALL_RANKS, name=FILE, **counters):
    return Record(name, rank, {f"POSIX_{key}": value for key, value in counters.items()})


def mpi(rank=ALL_RANKS, name=FILE, **counters):
    return Record(name, rank, {f"MPIIO_{key}": value for key, value in counters.items()})


def dataset(**counters):
    return Record(f"{FILE}:/group/field", ALL_RANKS, {f"H5D_{key}": value for key, value in counters.items()})


def log_of(processes=4, seconds=10.0, segments=(), **modules):
    names = {"posix": "POSIX", "mpi": "MPI-IO", "h5d": "H5D"}
    records = {names[key]: list(value) for key, value in modules.items()}
    return Log(processes, seconds, records, {"DXT_POSIX": list(segments), "DXT_MPIIO": list(segments)})


def segments_of(*lengths, seconds=0.01, direction="write", rank=0):
    offsets = [sum(lengths[:n]) for n in range(len(lengths))]
    return [
        Segment(FILE, rank, direction, offset, length, seconds)
        for offset, length in zip(offsets, lengths, strict=True)
    ]


def only_file(made):
    facts = log.facts_of(made)
    assert len(facts.files) == 1
    return facts.files[0]


def test_accesses_are_those_of_mpi_io_where_there_are_any():
    made = log_of(
        mpi=[mpi(COLL_WRITES=40, BYTES_WRITTEN=40 * MIB, F_WRITE_TIME=2.0)],
        posix=[posix(WRITES=7, BYTES_WRITTEN=40 * MIB, F_WRITE_TIME=1.0)],
    )
    assert only_file(made).streams == (Stream("write", True, 10, 40, 40 * MIB, 2.0, 4),)
    alone = log_of(posix=[posix(READS=8, BYTES_READ=MIB, F_READ_TIME=1.0)])
    assert only_file(alone).streams == (Stream("read", False, 2, 8, MIB, 1.0, 4),)


def test_bytes_are_divided_by_the_most_frequent_sizes():
    made = log_of(
        mpi=[mpi(COLL_WRITES=8, INDEP_WRITES=800, BYTES_WRITTEN=8 * MIB + 80_000, F_WRITE_TIME=1.0,
                 ACCESS1_ACCESS=100, ACCESS1_COUNT=800, ACCESS2_ACCESS=MIB, ACCESS2_COUNT=8)],
    )  # fmt: skip
    moved = {stream.is_collective: stream.moved for stream in only_file(made).streams}
    assert moved == {True: 8 * MIB, False: 80_000}


def test_ranks_are_counted_where_records_are_of_single_ranks():
    facts = log.facts_of(log_of(posix=[posix(rank, WRITES=5, BYTES_WRITTEN=50) for rank in range(3)]))
    assert (facts.files[0].ranks, facts.files[0].streams[0].calls) == (3, 5)


def test_negative_times_of_darshan_count_as_unknown():
    assert only_file(log_of(posix=[posix(WRITES=1, F_META_TIME=-2662.7)])).metadata_seconds == 0


def test_dimensions_of_chunks_and_of_accesses_are_in_the_same_order():
    made = log_of(
        mpi=[mpi(COLL_WRITES=1, BYTES_WRITTEN=1)],
        h5d=[dataset(DATASPACE_NDIMS=2, CHUNK_SIZE_D1=64, CHUNK_SIZE_D2=10, ACCESS1_LENGTH_D5=10,
                     ACCESS1_LENGTH_D4=100, F_WRITE_TIME=1.0, USE_MPIIO_COLLECTIVE=1)],
    )  # fmt: skip
    file = only_file(made)
    assert file.datasets == (Dataset("/group/field", (10, 64), (10, 100), 1.0),)
    assert (file.library, file.collective_selected) == ("HDF5", True)


def test_only_large_accesses_count_as_unaligned():
    some = posix(WRITES=50, SIZE_WRITE_0_100=10, FILE_NOT_ALIGNED=45, FILE_ALIGNMENT=MIB, F_WRITE_TIME=1.0)
    file = only_file(log_of(posix=[some]))
    assert (file.large, file.unaligned, file.stripe) == (40, 35, MIB)
    blocks = posix(WRITES=50, FILE_NOT_ALIGNED=45, FILE_ALIGNMENT=4096)
    assert only_file(log_of(posix=[blocks])).stripe == 0


def test_a_slow_rank_is_compared_with_the_others():
    records = [posix(rank, f"/s/{rank}", WRITES=1, BYTES_WRITTEN=MIB, F_WRITE_TIME=9.0 if rank == 2 else 1.0)
               for rank in range(4)]  # fmt: skip
    assert [one.rule for one in command.advise(log.facts_of(log_of(posix=records)))] == ["uneven_time"]
    shared = mpi(COLL_WRITES=4, BYTES_WRITTEN=4 * MIB, F_WRITE_TIME=12.0, SLOWEST_RANK=2,
                 SLOWEST_RANK_BYTES=MIB, F_SLOWEST_RANK_TIME=9.0)  # fmt: skip
    balance = log.facts_of(log_of(mpi=[shared])).balances[0]
    assert (balance.rank, balance.typical_moved, balance.typical_seconds) == (2, MIB, 1.0)


def test_small_reads_of_several_ranks_are_found_with_dxt():
    both = [*segments_of(*[512] * 20, direction="read"), *segments_of(*[512] * 20, direction="read", rank=1)]
    made = log_of(mpi=[mpi(INDEP_READS=40, BYTES_READ=40 * 512)], segments=both)
    assert only_file(made).repeated_reads == 40


@contextmanager
def report_of_open_mpi(path, read_all):
    """Yields what PyDarshan returns for two ranks that read and write 40 pieces each with Open MPI: an access
    through MPI-IO has the offset -1."""

    def traced(rank, offsets):
        accesses = [{"offset": at, "length": 512, "start_time": 0.0, "end_time": 0.1} for at in offsets]
        return {"id": 7, "rank": rank, "read_segments": accesses, "write_segments": accesses}

    def record(*counters, seconds):
        return {"id": 7, "rank": ALL_RANKS, "counters": counters, "fcounters": [seconds]}

    stored = {"counters": ["POSIX_WRITES", "POSIX_BYTES_WRITTEN"], "fcounters": ["POSIX_F_WRITE_TIME"]}
    yield types.SimpleNamespace(
        metadata={"job": {"nprocs": 2, "run_time": 1.0}},
        modules=("POSIX", "MPI-IO", *log.TRACES),
        name_records={7: FILE},
        counters={"POSIX": stored, "MPI-IO": {"counters": ["MPIIO_NB_WRITES"], "fcounters": ["MPIIO_F"]}},
        records={
            "POSIX": [record(80, 80 * 512, seconds=1.0)],
            "MPI-IO": [record(80, seconds=1.0)],
            "DXT_POSIX": [
                traced(rank, range(rank * 40 * 512, (rank + 1) * 40 * 512, 512)) for rank in (0, 1)
            ],
            "DXT_MPIIO": [traced(rank, [-1] * 40) for rank in (0, 1)],
        },
        mod_read_all_records=lambda module, dtype: None,
        mod_read_all_dxt_records=lambda module, dtype: None,
    )


def test_accesses_of_open_mpi_have_no_offsets_with_dxt(tmp_path, monkeypatch):
    (tmp_path / "job.darshan").touch()
    darshan = types.SimpleNamespace(DarshanReport=report_of_open_mpi)
    monkeypatch.setattr(log.importlib, "import_module", lambda name: darshan)
    made = log.read(tmp_path / "job.darshan")
    assert one_estimate(made).calls_after == 1
    assert only_file(made).repeated_reads == 0


@pytest.mark.parametrize(
    ("samples", "low", "usual", "high"),
    [
        ([6.0], 2.0, 6.0, 18.0),
        ([1.0, 2.0, 9.0], 1.0, 2.0, 9.0),
        ([float(n) for n in range(1, 21)], 3.0, 10.0, 18.0),
    ],
)
def test_the_range_of_a_rate_depends_on_the_number_of_samples(samples, low, usual, high):
    rate = estimate.rate_of(samples)
    assert (rate.low, rate.usual, rate.high) == (low, usual, high)
    assert estimate.rate_of([]) is None


SMALL = {"WRITES": 1000, "BYTES_WRITTEN": 1000 * 1024, "F_WRITE_TIME": 2.0}


def one_estimate(made):
    (found,) = estimate.estimates_of(made, estimate.rates_of(made))
    return found


def test_small_calls_get_the_rate_of_the_large_ones():
    large = [posix(0, f"/s/{n}", WRITES=8, BYTES_WRITTEN=8 * MIB, F_WRITE_TIME=rate) for n, rate in
             enumerate((0.04, 0.08, 0.16))]  # fmt: skip
    found = one_estimate(log_of(mpi=[mpi(INDEP_WRITES=1000)], posix=[posix(**SMALL), *large]))
    moved = 1000 * 1024
    usual, shortest, longest = found.after
    assert usual == pytest.approx(moved / (100 * MIB) + moved / estimate.EXCHANGE[1])
    assert shortest == pytest.approx(moved / (200 * MIB) + moved / estimate.EXCHANGE[2])
    assert longest == pytest.approx(moved / (50 * MIB) + moved / estimate.EXCHANGE[0])
    assert found.gains[1] < found.gains[0] < found.gains[2]
    assert found.calls_after == 1


@pytest.mark.parametrize(
    ("counters", "reason"),
    [
        (SMALL, "no writes of at least 1 MiB"),
        ({"WRITES": 1000, "BYTES_WRITTEN": 4000 * MIB, "F_WRITE_TIME": 2.0}, "large already"),
        ({"WRITES": 1, "BYTES_WRITTEN": 100, "F_WRITE_TIME": 2.0}, "can't be joined"),
        ({"WRITES": 1000, "BYTES_WRITTEN": 1000}, "no time"),
    ],
)
def test_the_reason_is_named_where_there_is_no_estimate(counters, reason):
    found = one_estimate(log_of(mpi=[mpi(INDEP_WRITES=1)], posix=[posix(**counters)]))
    assert found.after is None and reason in found.reason


def test_calls_that_leave_holes_are_not_joined():
    apart = [Segment(FILE, 0, "write", 2 * MIB * n, 1024, 0.001) for n in range(1000)]
    found = one_estimate(log_of(mpi=[mpi(INDEP_WRITES=1)], posix=[posix(**SMALL)], segments=apart))
    assert found.calls_after == 1000 and "can't be joined" in found.reason


def test_files_without_mpi_io_get_no_estimate():
    made = log_of(posix=[posix(**SMALL)])
    assert estimate.estimates_of(made, estimate.rates_of(made)) == []


def test_the_text_has_advice_and_estimate_with_its_range():
    large = segments_of(*[2 * MIB] * 8)
    small = [Segment(FILE, r, "write", 16 * MIB + 1024 * (4 * n + r), 1024, 0.002) for n in range(250)
             for r in range(4)]  # fmt: skip
    made = log_of(mpi=[mpi(INDEP_WRITES=1008, BYTES_WRITTEN=17 * MIB, F_WRITE_TIME=2.5)],
                  posix=[posix(**{**SMALL, "BYTES_WRITTEN": 17 * MIB})],
                  segments=[*large, *small])  # fmt: skip
    text = " ".join(command.text_of(made, Path("job.darshan")).split())
    assert "with DXT" in text and "times as fast (at least" in text and "Rate of writes" in text
    assert "6 % of the job" in text


def test_a_log_without_a_problem_says_so():
    made = log_of(mpi=[mpi(COLL_WRITES=4, BYTES_WRITTEN=400 * MIB, F_WRITE_TIME=1.0)])
    assert "nothing stands out" in command.text_of(made, Path("job.darshan"))
    assert "nothing to advise" in command.text_of(log_of(), Path("job.darshan"))
    assert "Oratorio serves only MPI-IO" in command.text_of(log_of(posix=[posix(**SMALL)]), Path("j.darshan"))


def test_without_pydarshan_the_command_says_how_to_install_it(monkeypatch, capsys):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(log.importlib, "import_module", missing)
    with pytest.raises(OratorioError, match="pip install darshan"):
        log.read(Path("job.darshan"))


@needs_darshan
@pytest.mark.parametrize("name", ["absent.darshan", "text.darshan"])
def test_a_file_that_is_no_log_is_refused_in_one_line(name, tmp_path, capfd):
    (tmp_path / "text.darshan").write_text("no log")
    assert call(["advise", str(tmp_path / name)]) == 2
    said = capfd.readouterr().err.splitlines()
    assert [line for line in said if line.startswith("oratorio: ") and name in line]


SHIPPED = {
    "ior_hdf5_example": ("did not select collective access", "with DXT", "the log has no writes"),
    "shane_macsio_id29959_5-22-32552-7035573431850780836_1590156158": (
        "wrote 1.4 MiB independently, with 7695 calls, although it selected", "about 33 % of the job",
        "7699 storage calls", "wrote 12.7 MiB, but the MPI library read 38.0 MiB and wrote 52.1 MiB",
    ),
    "sample-badost": ("rank 1507 took 778 s", "Oratorio serves only MPI-IO"),
    "example": ("nothing stands out", "16402 storage calls of 128 MiB", "large already"),
    "dxt": ("one process",),
    "noposix": ("nothing to advise",),
}  # fmt: skip


@needs_darshan
@pytest.mark.parametrize("name", SHIPPED)
def test_the_logs_that_pydarshan_ships_get_their_advice(name, capsys):
    folder = Path(importlib.util.find_spec("darshan").origin).parent / "examples/example_logs"
    assert call(["advise", str(folder / f"{name}.darshan")]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert [said for said in SHIPPED[name] if said not in text] == []
