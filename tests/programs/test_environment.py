# SPDX-License-Identifier: BSD-3-Clause
"""Tests that environment variables may name anything: no value makes a program crash or hang."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from conftest import HERE, IS_BUILT, NOT_BUILT, compile_for, host_or_skip, run_checked

from oratorio.paths import preload_library

pytestmark = pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
ALL = ["mpich5", "openmpi5"]


def run_block(name, folder, env, ranks=2):
    """Runs the smallest program with these variables and returns its standard error."""
    host = host_or_skip(name)
    program = compile_for(host.mpicc, HERE / "written_block.c", f"written-block-{name}")
    done = run_checked(host, ranks, [program, folder], preload=True, env=env)
    assert (folder / "blocks.dat").stat().st_size == ranks * 4000
    return done.stderr


def odd_things(folder):
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    directory = folder / "directory"
    directory.mkdir()
    return fifo, directory


@pytest.mark.short
@pytest.mark.parametrize("name", ALL)
def test_a_hint_file_that_is_no_regular_file_is_ignored_with_one_warning(name, tmp_path):
    for odd in odd_things(tmp_path):
        told = run_block(name, tmp_path, {"ROMIO_HINTS": str(odd)})
        assert told.count("ROMIO_HINTS is ignored") == 1, told
        assert str(odd) in told


def test_a_number_that_is_none_is_ignored_with_one_warning(tmp_path):
    for variable in ("ORATORIO_WAIT_NOTICE", "ORATORIO_RANKS_PER_NODE"):
        for odd in ("ten", "-1", "0.5"):
            told = run_block("mpich5", tmp_path, {variable: odd})
            assert told.count(f"{variable}={odd} is ignored") == 1, told


@pytest.mark.parametrize("name", ALL)
def test_a_cost_file_that_is_no_regular_file_is_ignored_with_one_warning(name, tmp_path):
    fifo, directory = odd_things(tmp_path)
    for kind in ("TMPFS", "UFS", "XFS", "FUSE"):
        os.link(fifo, tmp_path / f"{kind}.costs")
        (directory / f"{kind}.costs").mkdir()
    for folder in (tmp_path, directory):
        told = run_block(name, tmp_path, {"ORATORIO_COSTS": str(folder)})
        assert told.count("the file of costs is ignored") == 1, told


@pytest.mark.parametrize("name", ALL)
def test_explanations_that_cannot_be_written_to_their_file_go_to_stderr_after_one_warning(name, tmp_path):
    for odd in odd_things(tmp_path):
        told = run_block(name, tmp_path, {"ORATORIO_EXPLAIN": str(odd)})
        assert told.count("ORATORIO_EXPLAIN: can't append to the file") == 1, told
        assert "blocks.dat: collective write: method" in told


@pytest.mark.parametrize("name", ALL)
def test_a_hint_file_with_a_nul_byte_keeps_no_rank_waiting(name, tmp_path):
    (tmp_path / "hints").write_bytes(b"cb_nodes 1\0\noratorio_method two_phase\n\0")
    told = run_block(name, tmp_path, {"ROMIO_HINTS": str(tmp_path / "hints"), "ORATORIO_EXPLAIN": "1"})
    assert "  method       two_phase: " in told


@pytest.mark.parametrize("name", ALL)
def test_a_misspelt_variable_gets_a_suggestion(name, tmp_path):
    told = run_block(name, tmp_path, {"ORATORIO_METHODD": "two_phase"})
    assert told.count("ORATORIO_METHODD: unknown variable; did you mean ORATORIO_METHOD?") == 1, told


@pytest.mark.short
@pytest.mark.parametrize("name", ALL)
def test_a_method_of_the_environment_leaves_hints_with_commas_as_they_are(name, tmp_path):
    env = {"ORATORIO_HINTS": "cb_nodes=1,cb_buffer_size=65536", "ORATORIO_METHOD": "two_phase"}
    told = run_block(name, tmp_path, {**env, "ORATORIO_EXPLAIN": "1"})
    assert "is not understood" not in told, told
    for line in ("cb_nodes = 1, from ORATORIO_HINTS", "oratorio_method = two_phase, from ORATORIO_METHOD"):
        assert line in told, told


@pytest.mark.short
@pytest.mark.parametrize("name", ALL)
def test_a_pattern_of_cray_mpich_sets_the_aggregators_of_matching_files(name, tmp_path):
    env = {"MPICH_MPIIO_HINTS": "*.h5:cb_nodes=2,*.dat:cb_nodes=1", "MPICH_MPIIO_HINTS_DISPLAY": "1"}
    told = run_block(name, tmp_path, env)
    assert told.count("\n  cb_nodes = 1 (from MPICH_MPIIO_HINTS)\n") == 1, told
    told = run_block(name, tmp_path, {**env, "MPICH_MPIIO_HINTS": "*.h5:cb_nodes=1"})
    assert "from MPICH_MPIIO_HINTS" not in told, told


@pytest.mark.parametrize("name", ALL)
def test_variables_of_another_mpi_become_hints_or_are_remarked_on_once(name, tmp_path):
    env = {"OMPI_MCA_io_ompio_num_aggregators": "1", "OMPI_MCA_io_ompio_bytes_per_agg": "32M"}
    told = run_block(name, tmp_path, {**env, "MPICH_MPIIO_CB_ALIGN": "2", "ROMIO_PRINT_HINTS": "1"})
    assert "\n  cb_nodes = 1 (from OMPI_MCA_io_ompio_num_aggregators)\n" in told, told
    assert "\n  cb_buffer_size = 33554432 (from OMPI_MCA_io_ompio_bytes_per_agg)\n" in told, told
    assert told.count("MPICH_MPIIO_CB_ALIGN has no effect: ") == 1, told


@pytest.mark.parametrize("name", ALL)
def test_bad_values_of_another_mpi_cause_one_warning_each(name, tmp_path):
    env = {"MPICH_MPIIO_HINTS": "*:cb_nodes", "MPICH_MPIIO_STATS": "?"}
    told = run_block(name, tmp_path, {**env, "OMPI_MCA_io_ompio_bytes_per_agg": "much"})
    assert told.count("MPICH_MPIIO_HINTS: 'cb_nodes' isn't key=value and is ignored") == 1, told
    assert told.count("MPICH_MPIIO_STATS is ignored: '?' is not understood") == 1, told
    assert told.count("hint cb_buffer_size: 'much' is not understood") == 1, told
    assert "(from OMPI_MCA_io_ompio_bytes_per_agg)" in told, told


@pytest.mark.short
@pytest.mark.parametrize("name", ALL)
def test_statistics_of_cray_mpich_print_a_summary_at_close(name, tmp_path):
    told = run_block(name, tmp_path, {"MPICH_MPIIO_STATS": "1"})
    assert told.count("blocks.dat: closed; totals of all ranks") == 1, told
    assert "blocks.dat: collective write" not in told, told


@pytest.mark.parametrize("name", ALL)
def test_silence_leaves_requested_statistics_and_hints(name, tmp_path):
    env = {"ORATORIO_QUIET": "1", "ORATORIO_HINTS": "cb_nodes=many"}
    assert "oratorio" not in run_block(name, tmp_path, env)
    told = run_block(name, tmp_path, {**env, "MPICH_MPIIO_STATS": "1"})
    assert told.count("blocks.dat: closed; totals of all ranks") == 1, told
    assert "hint cb_nodes" not in told, told
    told = run_block(name, tmp_path, {**env, "MPICH_MPIIO_HINTS_DISPLAY": "1"})
    assert told.count("blocks.dat: hints\n") == 1, told


BUFFERS = ("cb_buffer_size", "ind_rd_buffer_size", "ind_wr_buffer_size", "oratorio_sub_buffer")


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("method", ["auto", "two_phase", "sieve"])
def test_buffers_of_an_exabyte_are_made_smaller_with_a_warning(name, method, tmp_path):
    hints = [f"{key}={10**18}" for key in BUFFERS] + ["oratorio_messages_in_flight=65536"]
    told = run_block(name, tmp_path, {"ORATORIO_HINTS": ";".join([f"oratorio_method={method}", *hints])})
    for key in BUFFERS:
        assert told.count(f"hint {key}: '{10**18}' exceeds the machine's limit") == 1, told


NOBODY = 65534


@pytest.fixture
def open_folder():
    """Yields a folder that anybody can read and write, and that may hold set-uid programs."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        if os.geteuid() != 0 or os.statvfs(name).f_flag & os.ST_NOSUID:
            pytest.skip("set-uid programs can't be made here")
        yield Path(name)


def test_a_set_uid_program_heeds_no_variable(open_folder):
    host = host_or_skip(
        "mpich4"
    )  # its library is found without LD_LIBRARY_PATH, which set-uid programs ignore
    for name in ("liboratorio.so", "liboratorio-mpich.so"):
        shutil.copy(preload_library().parent / name, open_folder)
    program, told, traced = (open_folder / name for name in ("program", "told", "traced"))
    linked = [f"-L{open_folder}", f"-Wl,-rpath,{open_folder}", "-Wl,--no-as-needed", "-loratorio"]
    subprocess.run([host.mpicc, "-o", program, HERE / "written_block.c", *linked], check=True)
    for mode, tells in ((0o755, True), (0o4755, False)):
        os.chown(program, NOBODY, NOBODY)
        program.chmod(mode)
        environ = {**os.environ, "ORATORIO_EXPLAIN": str(told), "ORATORIO_TRACE": str(traced)}
        subprocess.run([program, open_folder], env=environ, check=True, timeout=60)
        (open_folder / "blocks.dat").unlink()
        for named in (told, traced):
            assert named.exists() == tells
            named.unlink(missing_ok=True)
