"""`oratorio bench`: every workload runs, smoke-sized, with host and Oratorio, every byte verified."""

import json

import pytest
from conftest import IS_BUILT, NOT_BUILT, host_or_skip
from oratorio.paths import ROOT
from test_run import oratorio

pytestmark = pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
MAP = ROOT.parent / "shared" / "data" / "e3sm" / "map_f_case_16p.nc"


def bench(tmp_path, workload, *options) -> list[dict]:
    """The measured passes; the command ends with an error if a byte was wrong."""
    result = tmp_path / "result.json"
    words = ["bench", workload, "--smoke", "--arms", "host,auto,raw", "--dir", tmp_path, "--json", result]
    done = oratorio(*words, *options)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return [sample for run in json.loads(result.read_text())["runs"] for sample in run["samples"]]


@pytest.mark.parametrize("workload", ["block3d", "cyclic", "flash", "vec8", "hpio", "random1k"])
@pytest.mark.parametrize("name", ["mpich5", "openmpi5"])
def test_a_workload_moves_every_byte(workload, name, tmp_path):
    host_or_skip(name)
    samples = bench(tmp_path, workload, "--ranks", 4, "--mpi", name)
    assert {sample["arm"] for sample in samples} == {"host", "auto", "raw"}


def test_the_decomposition_of_a_climate_model_moves_every_byte(tmp_path):
    host_or_skip("mpich5")
    if not MAP.exists():
        pytest.skip("the decomposition maps (../shared/data/e3sm) are not here")
    bench(tmp_path, "e3sm", "--map", MAP)
