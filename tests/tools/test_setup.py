# SPDX-License-Identifier: BSD-3-Clause
"""Tests ./oratorio and dev/setup.sh: which commands wait for another process, checkouts that were moved, the
stages that a command needs, and installations that fail."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from oratorio_lab.suites import python

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534


@pytest.fixture
def checkout(tmp_path) -> Path:
    """Returns a checkout that is set up and built, with a Python that prints its arguments."""
    root = tmp_path / "checkout"
    (root / "dev").mkdir(parents=True)
    shutil.copy(ROOT / "oratorio", root)
    shutil.copy(ROOT / "dev/setup.sh", root / "dev")
    for folder in (
        "src",
        "cmake",
        "build/lib",
        "lab/calibrate",
        "cli/oratorio",
        "dev/requirements",
        ".oratorio/venv/bin",
    ):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for file in (
        "CMakeLists.txt",
        "src/a.cpp",
        "dev/generate/bindings.py",
        "dev/packages-debian.txt",
        "cli/oratorio/__init__.py",
    ):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()
    for name in ("tools", "mpich", "openmpi"):
        (root / f"dev/requirements/{name}.txt").touch()
    for name in ("", "-mpich"):
        (root / f"build/lib/liboratorio{name}.so").touch()
    python = root / ".oratorio/venv/bin/python"
    python.write_text('#!/bin/sh\necho "$@"\n')
    python.chmod(0o755)
    for stamp in ("stamp-base", "stamp-built"):
        (root / ".oratorio" / stamp).touch()
    return root


@pytest.fixture
def locked(checkout):
    """Yields a checkout in which another process is building."""
    with (checkout / ".oratorio/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield checkout


def call(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([root / "oratorio", *words], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    "words", [["run", "x"], ["explain", "x"], ["env"], ["--help"], ["-h"], [], ["bench", "--help"]]
)
def test_starting_a_job_or_help_waits_for_no_lock(locked, words):
    done = call(locked, *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["-m", "oratorio", *words]
    assert done.stderr == ""


def test_an_outdated_library_is_used_with_a_warning_during_another_build(locked):
    later = time.time() + 10
    os.utime(locked / "src/a.cpp", (later, later))
    done = call(locked, "run", "x")
    assert done.stdout.split() == ["-m", "oratorio", "run", "x"]
    assert "using it as it is" in done.stderr


def test_a_checkout_of_another_user_takes_no_lock_and_builds_nothing(checkout):
    (checkout / ".oratorio/stamp-built").unlink()
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to other users
        theirs = Path(folder) / "checkout"
        shutil.copytree(checkout, theirs)
        Path(folder).chmod(0o755)
        (theirs / ".oratorio").chmod(0o555)
        words = [theirs / "oratorio", "run", "x"]
        me = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, **me)
        (theirs / ".oratorio").chmod(0o755)
        assert done.stdout.split() == ["-m", "oratorio", "run", "x"], done.stderr
        assert done.stderr == ""
        assert not (theirs / ".oratorio/lock").exists()


@pytest.mark.parametrize("missing", ["build/lib/liboratorio.so", "build/lib/liboratorio-mpich.so"])
def test_a_command_that_must_wait_says_so_at_once(locked, missing):
    (locked / missing).unlink()
    command = [locked / "oratorio", "run", "x"]
    waiting = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert "waiting for another ./oratorio" in waiting.stderr.readline()
        assert waiting.poll() is None
    finally:
        os.killpg(waiting.pid, signal.SIGKILL)
        waiting.wait()


def start_building(checkout: Path) -> subprocess.Popen:
    """Starts a process that takes the lock of builds, as a command that needs a program does."""
    words = f"""import pathlib
from oratorio_lab import building
building.PRIVATE = pathlib.Path({str(checkout / ".oratorio")!r})
with building.alone():
    print("alone")
"""
    env = {**os.environ, "PYTHONPATH": ":".join(str(ROOT / name) for name in ("cli", "lab", "dev"))}
    told = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", words], text=True, env=env, **told)


def test_a_command_that_builds_for_itself_says_that_it_waits(locked):
    waiting = start_building(locked)
    try:
        assert "waiting for another ./oratorio" in waiting.stderr.readline()
        assert waiting.poll() is None
    finally:
        waiting.kill()
        waiting.wait()


def test_a_command_that_builds_is_silent_if_no_other_build_runs(checkout):
    assert start_building(checkout).communicate() == ("alone\n", "")


FAKE_TOOL = """#!/bin/sh
echo "$(basename "$0") $*" >>"$CALLS"
[ "$(basename "$0")" = ninja ] || { mkdir -p "$4" && touch "$4/build.ninja"; }
"""


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.fixture
def tools(tmp_path, monkeypatch) -> Path:
    """Replaces cmake and ninja by scripts that only record their arguments; returns the file with the
    records."""
    for name in ("cmake", "ninja"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).write_text(FAKE_TOOL)
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    return tmp_path / "calls"


@pytest.mark.parametrize("with_place", [True, False])
@pytest.mark.parametrize("is_moved", [True, False])
def test_a_moved_or_copied_checkout_leaves_the_one_it_came_from_alone(
    checkout, tools, tmp_path, with_place, is_moved
):
    (checkout / "build/CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={checkout}\n")
    (checkout / "build/build.ninja").touch()
    (checkout / ".oratorio/wheels").mkdir()
    if with_place:
        (checkout / ".oratorio/place").write_text(f"{checkout}\n")
    other = tmp_path / "other place"
    if is_moved:
        checkout.rename(other)
    else:
        # The copy consists of hard links, so that a write to one of its files would show in the original.
        shutil.copytree(checkout, other, symlinks=True, copy_function=os.link)
    before = contents(checkout)
    done = subprocess.run([other / "dev/setup.sh", "build"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"this checkout was in {checkout}" in done.stderr
    calls = tools.read_text()
    assert f"cmake -S {other} -B {other}/build" in calls
    assert f"ninja -C {other}/build" in calls
    assert str(checkout) not in calls
    assert contents(checkout) == before
    assert not (other / ".oratorio/venv").exists() and (other / ".oratorio/wheels").exists()
    # The second call has nothing to repair.
    again = subprocess.run([other / "dev/setup.sh", "build"], capture_output=True, text=True)
    assert "this checkout was in" not in again.stderr
    assert tools.read_text().count("cmake ") == 1


def test_a_checkout_that_stayed_keeps_everything(checkout, tools):
    (checkout / "build/CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={checkout}\n")
    (checkout / "build/build.ninja").touch()
    done = subprocess.run([checkout / "dev/setup.sh", "build"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert tools.read_text().startswith(f"ninja -C {checkout}/build")
    assert (checkout / ".oratorio/venv").exists()


NAMES = """import sys
assert sys.argv[1:] == ["--only", "unit", "-k", "a|b"], sys.argv
print("{needs}")
sys.exit({code})
"""


def stages_of_names(checkout: Path, needs: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs `test -k` with a stand-in for the module that knows the names of tests."""
    package = checkout / "dev/oratorio_dev"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "testing_names.py").write_text(NAMES.format(needs=needs, code=code))
    (checkout / "dev/setup.sh").write_text('#!/bin/sh\necho "$@" >&2\n')
    words = [checkout / "oratorio", "test", "--only", "unit", "-k", "a|b"]
    return subprocess.run(words, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("needs", "stages"),
    [
        ("", "base"),
        ("build:sim_a_test,sim_b_test docs", "base build:sim_a_test,sim_b_test docs"),
        ("short build:sim_a_test", "base build-short build:sim_a_test"),
        ("programs", "base tests docs build-jobs"),
    ],
)
def test_tests_of_some_names_build_what_these_need(checkout, needs, stages):
    assert stages_of_names(checkout, needs).stderr.strip() == stages


def test_where_no_name_matches_nothing_is_set_up(checkout):
    done = stages_of_names(checkout, "", code=2)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


def test_only_the_programs_that_a_folder_has_are_built(checkout, tools):
    ninja = Path(shutil.which("ninja"))
    known = '[ "$3" != -t ] || printf "%s: phony\\n" all sim_a_test sim_a_test_2 sim_c_test\n'
    ninja.write_text(FAKE_TOOL + known)
    (checkout / "build/build.ninja").touch()
    before = (checkout / ".oratorio/stamp-built").stat().st_mtime_ns
    words = [checkout / "dev/setup.sh", "build:sim_c_test,sim_a_test,sim_b_test"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    folder = f"ninja -C {checkout}/build"
    expected = [f"{folder} build.ninja", f"{folder} -t targets all", f"{folder} sim_a_test sim_c_test"]
    assert tools.read_text().splitlines() == expected
    # The library may be older than its sources now.
    assert (checkout / ".oratorio/stamp-built").stat().st_mtime_ns == before
    assert not (checkout / ".oratorio/stamp-building").exists()


def stages_of(checkout: Path, *words: str) -> str:
    """Returns the stages that a command passes to setup.sh."""
    (checkout / "dev/setup.sh").write_text('#!/bin/sh\necho "$@" >&2\n')
    done = subprocess.run([checkout / "oratorio", *words], capture_output=True, text=True)
    return done.stderr.strip()


@pytest.mark.parametrize(
    ("words", "stages"),
    [
        ("", "base build-short"),
        ("--all", "base extras applications tests docs build-jobs build-sanitize build-thread"),
        ("--only lint", "base"),
        ("--help", "base"),
        ("--only unit", "base build-all"),
        ("--only plain", "base build-jobs"),
        ("--only=sanitize", "base build-sanitize"),
        ("--only mpi --only thread", "base build-jobs build-thread"),
        ("--only thread-all", "base build-thread-all"),
        ("--only programs", "base tests docs build-jobs"),
        ("--only machines", "base tests docs build-jobs"),
    ],
)
def test_tests_of_some_parts_build_what_these_need(checkout, words, stages):
    assert stages_of(checkout, "test", *words.split()) == stages


def test_completion_waits_for_no_stage(checkout):
    assert "base" not in stages_of(checkout, "completion", "bash", "run")


@pytest.mark.parametrize(
    ("words", "stages"),
    [
        ("mpiexec -n 4", "base build"),
        ("--with-oratorio mpiexec -n 4", "base build"),
        ("--help", "--if-stale base build"),
        ("suites --suite romio", "base build"),
        ("suites --suite=hdf5 --suite netcdf --quick", "base build"),
        ("suites --suite hdf5 --suite h5py", "base tests build"),
        ("suites --suite=mpi4py --mpi mpich5", "base tests build"),
        ("suites --write", "base tests build"),
        ("suites", "base tests build"),
    ],
)
def test_conformance_installs_python_programs_only_for_their_suites(checkout, words, stages):
    assert stages_of(checkout, "conformance", *words.split()) == stages


def test_the_suites_of_python_are_those_that_the_command_knows():
    names = "|".join(suite.name for suite in python.SUITES)
    assert f"@({names})" in (ROOT / "oratorio").read_text()


def install_extras(checkout, tmp_path, apt_get, pip):
    """Runs the stage `extras` with stand-ins for the programs that it calls."""
    (checkout / "dev/packages-debian-extras.txt").write_text("# Slurm\nslurmd\nlmod\n")
    (checkout / "dev/requirements/extras.txt").touch()
    programs = {tmp_path / "bin/dpkg-query": "exit 1", tmp_path / "bin/apt-get": apt_get}
    programs[checkout / ".oratorio/venv/bin/pip"] = pip
    for program, text in programs.items():
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    done = subprocess.run([checkout / "dev/setup.sh", "extras"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize(("apt_get", "pip"), [("exit 100", "exit 0"), ("exit 0", "exit 1")])
def test_packages_for_few_tests_that_cannot_be_installed_are_tried_again(
    checkout, tools, tmp_path, apt_get, pip
):
    done = install_extras(checkout, tmp_path, apt_get, pip)
    assert "failed: " in done.stderr or os.geteuid() != 0
    assert not (checkout / ".oratorio/stamp-extras").exists()


def test_rarely_needed_packages_are_installed_by_root_and_named_to_others(checkout, tools, tmp_path):
    done = install_extras(checkout, tmp_path, 'echo "apt-get $*" >>"$CALLS"', "exit 0")
    if os.geteuid() == 0:
        assert tools.read_text().endswith("apt-get -q -y install --no-install-recommends slurmd lmod\n")
    else:
        assert "only root can install: slurmd lmod" in done.stderr


def test_the_other_applications_are_installed_if_one_is_unavailable(checkout, tools, tmp_path):
    (checkout / "dev/packages-debian-applications.txt").write_text("# small\nabsent\nlammps\n")
    query, apt_get = tmp_path / "bin/dpkg-query", tmp_path / "bin/apt-get"
    query.write_text("#!/bin/sh\nexit 1\n")
    apt_get.write_text('#!/bin/sh\necho "apt-get $*" >>"$CALLS"\ncase "$*" in *absent) exit 100 ;; esac\n')
    for program in (query, apt_get):
        program.chmod(0o755)
    done = subprocess.run([checkout / "dev/setup.sh", "applications"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not (checkout / ".oratorio/stamp-applications").exists()
    if os.geteuid() == 0:
        assert tools.read_text().endswith("apt-get -q -y install --no-install-recommends lammps\n")
    else:
        assert "only root can install: absent lammps" in done.stderr


# A stand-in for pip. It makes the wheel once ninja has been called, and fails if that takes more turns than a
# parallel build ever needs.
FAKE_PIP = """#!/bin/sh
[ "$1" = wheel ] || exit 0
for turn in $(seq 100); do grep -q '^ninja' "$CALLS" && break; sleep 0.1; done
grep -q '^ninja' "$CALLS" || exit 4
for word; do folder=$before; before=$word; done
[ -z "$NO_COMPILER" ] || { echo "no compiler here"; exit 3; }
mkdir -p "$folder" && touch "$folder/h5py-3.12.1-any.whl"
"""


@pytest.fixture
def environments(checkout, tools) -> Path:
    """Returns a checkout whose environments have a pip that installs nothing."""
    for name in ("mpich", "openmpi"):
        (checkout / f"dev/requirements/tests-{name}.txt").write_text("mpi4py==0\n")
        pip = checkout / f".oratorio/{name}/bin/pip"
        pip.parent.mkdir(parents=True)
        pip.write_text(FAKE_PIP)
        pip.chmod(0o755)
    tools.touch()
    return checkout


def set_up_tests(checkout: Path, **more: str) -> subprocess.CompletedProcess[str]:
    words = [checkout / "dev/setup.sh", "tests", "build"]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, env={**os.environ, **more})


def test_slow_steps_run_during_the_build(environments):
    done = set_up_tests(environments)
    assert done.returncode == 0, done.stderr
    assert (environments / ".oratorio/stamp-tests").exists()
    again = set_up_tests(environments)
    assert "h5py" not in again.stderr


def test_failures_during_the_build_are_reported_at_the_end_and_retried(environments):
    done = set_up_tests(environments, NO_COMPILER="1")
    assert done.returncode == 3
    assert "no compiler here" in done.stderr and "failed: parallel h5py" in done.stderr
    assert set_up_tests(environments).returncode == 0
