# SPDX-License-Identifier: BSD-3-Clause
"""Tests that `oratorio run` passes its variables as each launcher requires, and changes no word of the
command."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from oratorio.launch import launch, programs

VERSIONS = {"hydra": "HYDRA build details:\n    Version: 4.0.2", "openmpi": "mpirun (Open MPI) 4.1.4"}
ODD = ["--title", "two words", "a;b", "$HOME", "it's", '"q"', "*", "", "--method", "x", "-genv"]


def executable(file: Path, text: str) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return str(file)


@pytest.fixture
def library(tmp_path, monkeypatch) -> str:
    """Makes a build of Oratorio with empty libraries; returns the path of the one that is preloaded."""
    folder = tmp_path / "lib"
    folder.mkdir()
    for name in ("", "-mpich", "-ompi"):
        (folder / f"liboratorio{name}.so").touch()
    monkeypatch.setattr(launch, "preload_library", lambda: folder / "liboratorio.so")
    return str(folder / "liboratorio.so")


@pytest.fixture
def launcher(tmp_path):
    """Returns launcher(kind), which returns the path of a launcher of that kind."""

    def make(kind: str) -> str:
        if kind == "srun":
            return executable(tmp_path / "srun", "#!/bin/sh\n")
        return executable(tmp_path / kind / "mpiexec", f"#!/bin/sh\necho '{VERSIONS[kind]}'\n")

    return make


@pytest.fixture
def program(tmp_path) -> str:
    return executable(tmp_path / "app", "#!/bin/sh\n")


def prepared(words, variables=None, environ=None) -> launch.Launch:
    return launch.prepare(words, variables or {}, environ if environ is not None else {})


def test_hydra_takes_genv_before_everything_else(library, launcher, program):
    mpiexec = launcher("hydra")
    done = prepared([mpiexec, "-n", "4", program, *ODD], {"ORATORIO_HINTS": "cb_nodes=2;a=b c"})
    own = ["-genv", "LD_PRELOAD", library, "-genv", "ORATORIO_HINTS", "cb_nodes=2;a=b c"]
    assert done.argv == [mpiexec, *own, "-n", "4", program, *ODD]
    assert done.env == {}
    assert done.program == program


def test_open_mpi_takes_x_for_every_program_of_a_colon_list(library, launcher, program):
    mpiexec = launcher("openmpi")
    done = prepared([mpiexec, "-np", "1", program, ":", "-np", "2", program, "b"])
    own = ["-x", f"LD_PRELOAD={library}"]
    assert done.argv == [mpiexec, *own, "-np", "1", program, ":", *own, "-np", "2", program, "b"]
    assert done.env == {launch.SPAWN_INHERITS: "1"}  # lets spawned processes inherit the variables of -x


def test_the_users_settings_apply_to_spawned_processes(library, launcher, program):
    done = prepared([launcher("openmpi"), program], environ={launch.SPAWN_INHERITS: "0"})
    assert done.env == {launch.SPAWN_INHERITS: "0"}


def test_srun_exports_values_by_name_and_keeps_the_users_export(library, launcher, program):
    srun = launcher("srun")
    variables = {"ORATORIO_HINTS": "cb_config_list=a:1,b:2"}
    done = prepared([srun, "-n", "4", program], variables)
    assert done.argv == [srun, f"--export=ALL,LD_PRELOAD={library},ORATORIO_HINTS", "-n", "4", program]
    assert done.env == variables
    done = prepared([srun, "--export=NONE", program], variables)
    assert done.argv == [srun, f"--export=LD_PRELOAD={library},ORATORIO_HINTS", program]
    done = prepared([srun, "--export"])
    assert done.argv == [srun, f"--export=ALL,LD_PRELOAD={library}", "--export"]
    done = prepared([srun, "--export=ALL,A=1", program])
    assert done.argv == [srun, f"--export=ALL,A=1,LD_PRELOAD={library}", program]


def test_without_a_launcher_the_environment_is_set(library, program):
    done = prepared([program, *ODD], {"ORATORIO_EXPLAIN": "1"})
    assert done.argv == [program, *ODD]
    assert done.env == {"LD_PRELOAD": library, "ORATORIO_EXPLAIN": "1"}


def test_a_preloaded_profiler_stays_before_oratorio(library, launcher, program):
    done = prepared([launcher("hydra"), program], environ={"LD_PRELOAD": "/tool.so"})
    assert done.argv[1:4] == ["-genv", "LD_PRELOAD", f"/tool.so:{library}"]
    done = prepared([program], environ={"LD_PRELOAD": f"{library}:/tool.so"})
    assert done.env["LD_PRELOAD"] == f"/tool.so:{library}"


def compiled(folder: Path, text: str, *flags: str) -> str:
    source = folder / "program.c"
    source.write_text(text)
    subprocess.run(["cc", *flags, "-o", folder / "program", source], check=True)
    return str(folder / "program")


def linked_to(
    folder: Path, libraries: dict[str, str | None], mpi: str | None = "int PMPI_File_open(void) { return 0; }"
) -> str:
    """Compiles a program that is linked to these shared libraries and to a stand-in for an MPI, with the
    name of Open MPI's library. A text of None means a library that exists. Returns the program's path."""
    texts = {**({"libmpi.so.40": mpi} if mpi else {}), **libraries}
    for name, text in texts.items():
        if text is None:
            continue
        (folder / "part.c").write_text(text)
        made = ["cc", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", folder / name, folder / "part.c"]
        subprocess.run(made, check=True)
    paths = [str(folder / name) for name in texts]
    flags = ["-Wl,--no-as-needed", f"-Wl,-rpath,{folder}"]
    return compiled(folder, "int main(void) { return 0; }", *flags, *paths)


def test_a_profiler_that_the_program_is_linked_to_is_put_before_oratorio(library, tmp_path, monkeypatch):
    tool = "extern int PMPI_File_open(void); int MPI_File_open(void) { return PMPI_File_open(); }"
    mpi = "int PMPI_File_open(void) { return 0; } int MPI_File_open(void) { return 0; }"
    plain = "int helps(void) { return 0; }"
    has = linked_to(tmp_path, {"libtool.so": tool, "libother.so": mpi, "libplain.so": plain})
    assert prepared([has]).env["LD_PRELOAD"] == f"{tmp_path}/libtool.so:{library}"
    monkeypatch.chdir(tmp_path)
    assert prepared(["./program"]).env["LD_PRELOAD"] == f"{tmp_path}/libtool.so:{library}"
    named = {"LD_PRELOAD": f"{tmp_path}/libtool.so"}
    assert prepared([has], environ=named).env["LD_PRELOAD"] == f"{tmp_path}/libtool.so:{library}"


def test_a_pnetcdf_with_its_own_driver_is_reported_with_the_hint_for_mpi_io(library, tmp_path):
    has = linked_to(tmp_path, {"libpnetcdf.so.8": 'const char* ncmpi_says = "GIO_open";'})
    (warning,) = prepared([has]).warnings
    assert "not MPI-IO" in warning and "nc_driver=mpiio" in warning
    assert prepared([has], environ={"PNETCDF_HINTS": "nc_driver=mpiio"}).warnings == []
    older = linked_to(tmp_path, {"libpnetcdf.so.8": 'const char* ncmpi_says = "none";'})
    assert prepared([older]).warnings == []


@pytest.mark.parametrize(
    ("hints", "bypasses"),
    [
        ("", True),
        ("nc_driver=mpiio", False),
        (" cb_nodes=2 ; nc_driver=MPIIO ;", False),
        ("nc_driver=gio;nc_driver=mpiio", False),
        ("nc_driver=mpiio;nc_driver=gio", True),
        ("nc_driver=mpiio2", True),
        ("my_nc_driver=mpiio", True),
        ("nc_driver = mpiio", True),
        ("NC_DRIVER=mpiio", True),
    ],
)
def test_the_driver_is_the_one_that_pnetcdf_reads(hints, bypasses):
    needs = programs.Needs("mpich", "", has_gio=True)
    assert launch.bypasses_by_gio(needs, {"PNETCDF_HINTS": hints}) == bypasses


@pytest.mark.parametrize(
    ("name", "flavour"),
    [
        ("libmpi.so.12", "mpich"), ("libmpich.so.12", "mpich"), ("libmpi_gnu_123.so.12", "mpich"),
        ("libmpi_intel.so.12", "mpich"), ("libmpi_cray.so.12", "mpich"), ("libmpi.so.40", "ompi"),
        ("libmpi_abi.so.1", "abi"), ("/opt/cray/lib/libmpi_cray.so.12", "mpich"),
        ("libmpi_mpifh.so.40", None), ("libmpifort_gnu_123.so.12", None), ("libmpicxx.so.12", None),
    ],
)  # fmt: skip
def test_an_mpi_is_known_by_the_name_of_its_library(name, flavour):
    assert programs.flavour_of_name(name) == flavour


def test_a_program_of_crays_mpi_is_one_of_the_mpich_abi(library, tmp_path):
    for name in ("libmpi_gnu_123.so.12", "libmpi_cray.so.12"):
        (tmp_path / "libmpi.so.40").unlink(missing_ok=True)
        has = linked_to(tmp_path, {name: "int PMPI_File_open(void) { return 0; }"}, mpi=None)
        needs = programs.needs_of(Path(has).rename(tmp_path / name.replace(".", "_")))
        assert (needs.flavour, needs.reason) == ("mpich", f"it uses the MPICH ABI ({name})")
        assert needs.mpis == ()


def test_a_program_that_is_linked_to_two_mpis_causes_a_warning(library, launcher, tmp_path):
    second = {
        "libmpi.so.12": "int MPI_Send(void) { return 0; }",
        "libplain.so": "int plain(void) { return 0; }",
    }
    (warning,) = prepared([launcher("openmpi"), linked_to(tmp_path, second)]).warnings
    assert "2 MPIs, Open MPI (libmpi.so.40) and the MPICH ABI (libmpi.so.12)" in warning
    # Two names of one file are one MPI.
    (tmp_path / "libmpi.so.12").unlink()
    (tmp_path / "libmpi.so.12").symlink_to("libmpi.so.40")
    assert prepared([launcher("openmpi"), str(tmp_path / "program")]).warnings == []


def test_a_second_mpi_that_a_library_brings_is_found(library, launcher, tmp_path):
    has = linked_to(tmp_path, {"libmpi.so.12": "int MPI_Send(void) { return 0; }"}, mpi=None)
    made = [
        "cc",
        "-shared",
        "-fPIC",
        "-Wl,-soname,libhdf5.so",
        "-Wl,--no-as-needed",
        f"-Wl,-rpath,{tmp_path}",
    ]
    subprocess.run([*made, "-o", tmp_path / "libhdf5.so", tmp_path / "libmpi.so.12"], check=True)
    has = linked_to(tmp_path, {"libhdf5.so": None})
    (warning,) = prepared([launcher("openmpi"), has]).warnings
    assert "is linked to 2 MPIs" in warning


@pytest.mark.parametrize("flags", [[], ["-rdynamic"]])
def test_a_warning_says_that_a_program_with_an_mpi_inside_keeps_its_own_mpi_io(library, tmp_path, flags):
    main = "int main(void) { return PMPI_File_open(); }"
    has = compiled(tmp_path, f"int PMPI_File_open(void) {{ return 0; }} {main}", *flags)
    (warning,) = prepared([has]).warnings
    assert "its files will be accessed by that MPI's own MPI-IO" in warning


def test_a_program_with_another_mpi_gets_no_message(library, tmp_path):
    calls = (
        "extern int PMPI_File_open(void) __attribute__((weak)); int main(void) { return !PMPI_File_open; }"
    )
    assert prepared([compiled(tmp_path, calls)]).warnings == []
    # The tool is like a statically linked profiler: it defines MPI_File_open and calls PMPI_File_open.
    tool = f"{calls} int MPI_File_open(void) {{ return PMPI_File_open(); }}"
    assert prepared([compiled(tmp_path, tool)]).warnings == []


@pytest.fixture
def broken_library(tmp_path, monkeypatch) -> Path:
    """Returns the path of a library. LD_PRELOAD can't hold this path, because it has blanks and commas."""
    folder = tmp_path / "two words: a,b"
    folder.mkdir()
    (folder / "liboratorio.so").write_text("x")
    monkeypatch.setattr(launch, "preload_library", lambda: folder / "liboratorio.so")
    return folder / "liboratorio.so"


def test_a_library_in_a_path_that_breaks_is_loaded_through_a_link(
    broken_library, program, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for _ in range(2):
        found = prepared([program]).env["LD_PRELOAD"]
        assert not set(" :,") & set(found)
        assert found.startswith(str(tmp_path / "cache/oratorio/"))
        assert Path(found).read_text() == "x"
    # A link that an older build at another place left behind is replaced.
    Path(found).parent.unlink()
    Path(found).parent.symlink_to(tmp_path)
    assert Path(prepared([program]).env["LD_PRELOAD"]).read_text() == "x"


def test_a_folder_that_others_may_write_to_is_no_place_for_the_link(
    broken_library, program, tmp_path, monkeypatch
):
    cache = tmp_path / "cache"
    (cache / "oratorio").mkdir(parents=True)
    (cache / "oratorio").chmod(0o777)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    assert prepared([program]).env["LD_PRELOAD"].startswith(str(tmp_path / "run/oratorio/"))


@pytest.fixture
def places(broken_library, tmp_path, monkeypatch) -> Path:
    """Returns a folder that stands in for /tmp. The only place for links is oratorio-UID/oratorio inside
    it."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "odd place"))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(shared))
    return shared


def test_a_link_in_a_folder_for_all_is_in_a_folder_of_the_users_own(places, program):
    found = Path(prepared([program]).env["LD_PRELOAD"])
    own = places / f"oratorio-{os.getuid()}"
    assert found.is_relative_to(own / "oratorio")
    assert [folder.stat().st_mode & 0o777 for folder in (own, own / "oratorio")] == [0o700, 0o700]


def test_a_folder_that_another_user_has_made_is_refused(places, program):
    """Gives the folder to another user, who could rename what is in it and put another library there."""
    if os.getuid() != 0:
        pytest.skip("only root can act for another user")
    own = places / f"oratorio-{os.getuid()}"
    own.mkdir(mode=0o777)
    os.chown(own, 12345, 12345)
    with pytest.raises(launch.LaunchError, match=rf"{own} belongs to user 12345"):
        prepared([program])


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_below_one_that_others_may_write_to_is_refused(places, program, mode):
    own = places / f"oratorio-{os.getuid()}"
    own.mkdir()
    own.chmod(mode)
    with pytest.raises(launch.LaunchError, match=rf"others may write to {own}"):
        prepared([program])
    own.chmod(0o700)
    places.chmod(0o777)  # without the sticky bit others may rename `own`
    with pytest.raises(launch.LaunchError, match=rf"others may write to {places}"):
        prepared([program])


def test_a_link_to_a_folder_of_another_user_is_refused(places, program, tmp_path):
    if os.getuid() != 0:
        pytest.skip("only root can act for another user")
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, 12345, 12345)
    (places / f"oratorio-{os.getuid()}").symlink_to(theirs)
    with pytest.raises(launch.LaunchError, match=rf"{theirs} belongs to user 12345"):
        prepared([program])


def test_where_no_link_can_be_made_the_command_is_refused(broken_library, program, tmp_path, monkeypatch):
    odd = tmp_path / "odd place"
    monkeypatch.setenv("XDG_CACHE_HOME", str(odd))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(odd))
    with pytest.raises(launch.LaunchError, match="splits paths at spaces"):
        prepared([program])


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("hydra", ["-genv", "LD_PRELOAD", "/x.so"]),
        ("hydra", ["-env", "LD_PRELOAD", "/x.so"]),
        ("hydra", ["-n", "2", "env", "A=1", "LD_PRELOAD=/x.so"]),
        ("openmpi", ["-x", "LD_PRELOAD=/x.so"]),
        ("openmpi", ["/usr/bin/env", "-u", "A", "LD_PRELOAD=/x.so"]),
        ("srun", ["--export=ALL,LD_PRELOAD=/x.so"]),
    ],
)
def test_a_command_with_its_own_preload_is_refused(library, launcher, program, kind, words):
    with pytest.raises(launch.LaunchError, match="LD_PRELOAD itself"):
        prepared([launcher(kind), *words, program])
    with pytest.raises(launch.LaunchError, match="LD_PRELOAD itself"):
        prepared(["env", "LD_PRELOAD=/x.so", program])


@pytest.mark.parametrize("own", [["-x", "LD_PRELOAD=/x.so"], ["-n", "1", "env", "LD_PRELOAD=/x.so"]])
def test_a_later_program_of_a_colon_list_is_looked_at_too(library, launcher, program, own):
    with pytest.raises(launch.LaunchError, match="LD_PRELOAD itself"):
        prepared([launcher("openmpi"), "-n", "1", program, ":", *own, program])


def test_arguments_of_the_program_are_not_interpreted(library, launcher, program):
    words = [program, "env", "LD_PRELOAD=/x.so", "-genv", "LD_PRELOAD", "/y.so"]
    assert prepared([launcher("hydra"), *words]).argv[-len(words) :] == words


def test_the_program_is_found_behind_env(library, launcher, program):
    other = executable(Path(program).with_name("other"), "#!/bin/sh\n")
    for words in (["env", "A=1", "B=" + other], ["/usr/bin/env", "-u", other, "-i"], ["env"]):
        assert prepared([launcher("hydra"), "-n", "2", *words, program, other]).program == program


def test_the_program_is_found_behind_options_with_values(library, launcher, program, tmp_path):
    other = executable(tmp_path / "hosts", "#!/bin/sh\n")
    words = [launcher("hydra"), "-f", other, "-genv", "A", other, "-n", "2", program, other]
    assert prepared(words).program == program


def test_a_program_of_the_other_mpi_causes_a_warning(library, launcher, monkeypatch, program):
    monkeypatch.setattr(launch, "needs_of", lambda _: launch.Needs("ompi", "told"))
    assert "each rank will probably run alone" in prepared([launcher("hydra"), program]).warnings[0]
    assert prepared([launcher("openmpi"), program]).warnings == []


def test_a_static_program_is_refused(library, monkeypatch, program):
    monkeypatch.setattr(launch, "needs_of", lambda _: launch.Needs(None, "told", is_static=True))
    with pytest.raises(launch.LaunchError, match="statically"):
        prepared([program])


@pytest.mark.parametrize("name", ["run_python", "ipython3", "python3-config", "python3.sh"])
def test_a_program_is_not_started_because_its_name_is_like_python(library, tmp_path, name):
    program = executable(tmp_path / "bin" / name, f"#!/bin/sh\necho >{tmp_path}/started\n")
    script = executable(tmp_path / "script", f"#!{program} -u\n")
    unknown = executable(tmp_path / "launch-all", "#!/bin/sh\n")
    for words in ([program, "-c", "pass"], [script], [unknown, program]):
        assert prepared(words).needs in (None, programs.Needs(None, "a script; the MPI is found at run time"))
    assert not (tmp_path / "started").exists()


def test_the_python_in_the_working_directory_is_asked_without_input(library, tmp_path, monkeypatch):
    executable(tmp_path / "python3", f"#!/bin/sh\nreadlink /proc/self/fd/0 >{tmp_path}/input; exit 1\n")
    monkeypatch.chdir(tmp_path)
    assert "python3 has no mpi4py" in prepared(["./python3", "x.py"]).needs.reason
    assert (tmp_path / "input").read_text() == "/dev/null\n"


@pytest.mark.parametrize(
    "head", ["#!{}/python3 -u", "#!/usr/bin/env python3", "#!/usr/bin/env -S python3 -u"]
)
def test_the_python_of_a_script_is_asked(library, tmp_path, monkeypatch, head):
    executable(tmp_path / "python3", f"#!/bin/sh\necho >{tmp_path}/asked; exit 1\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    script = executable(tmp_path / "script", head.format(tmp_path) + "\n")
    assert "python3 has no mpi4py" in prepared([script]).needs.reason
    assert (tmp_path / "asked").exists()
    executable(tmp_path / "script", "#!/usr/bin/env python3.99\n")
    assert prepared([script]).needs.reason == "a script; the MPI is found at run time"


def test_a_python_that_does_not_answer_is_not_waited_for(library, tmp_path, monkeypatch):
    monkeypatch.setattr(programs, "PYTHON_SECONDS", 0.2)
    python = executable(tmp_path / "python3", "#!/bin/sh\nexec sleep 1000\n")
    assert "python3 doesn't start in time" in prepared([python, "x.py"]).needs.reason


def test_an_unknown_command_is_refused(library):
    with pytest.raises(launch.LaunchError, match="command not found"):
        prepared(["no-such-command"])


def test_hints_and_method_become_one_variable_and_win_over_the_environment():
    told = launch.oratorio_variables("two_phase", ["cb_nodes=2"], True, {"ORATORIO_HINTS": "cb_nodes=1"})
    assert told == {
        "ORATORIO_HINTS": "oratorio_method=two_phase;cb_nodes=2",
        "ORATORIO_EXPLAIN": "1",
    }
    assert launch.oratorio_variables(None, [], False, os.environ) == {}


def test_the_last_of_two_hints_for_a_key_counts_and_the_method_over_both():
    hints = ["cb_nodes=1", "oratorio_method=sieve", "cb_nodes=2"]
    told = launch.oratorio_variables(None, hints, False, {"ORATORIO_HINTS": "cb_nodes=3"})
    assert told == {"ORATORIO_HINTS": "oratorio_method=sieve;cb_nodes=2"}
    told = launch.oratorio_variables("mmap", hints, False, {})
    assert told == {"ORATORIO_HINTS": "oratorio_method=mmap;cb_nodes=2"}


def test_a_method_that_does_not_exist_is_refused_with_the_one_that_may_be_meant():
    with pytest.raises(launch.LaunchError, match=r"Did you mean two_phase\?"):
        launch.oratorio_variables("tow_phase", [], False, {})


def test_commas_in_the_only_hint_do_not_separate_hints():
    told = launch.oratorio_variables(None, ["my_list=0,a=4"], False, {})
    assert told == {"ORATORIO_HINTS": "my_list=0,a=4;"}
    told = launch.oratorio_variables("sieve", ["my_list=0,a=4"], False, {})
    assert told == {"ORATORIO_HINTS": "oratorio_method=sieve;my_list=0,a=4"}


@pytest.mark.parametrize(
    ("before", "hint", "expected"),
    [
        ("cb_nodes = 1;a=2", "cb_nodes=3", "cb_nodes=3;a=2"),
        ("romio_cb_write=enable;a=2", "cb_write=disable", "cb_write=disable;a=2"),
        ("cb_write=enable;romio_cb_read=enable", "collective_buffering=false", "collective_buffering=false"),
        (
            "collective_buffering=false",
            "romio_cb_read=enable",
            "romio_cb_read=enable;collective_buffering=false",
        ),
        ("no pair;a=2", "a=3", "a=3;no pair"),
    ],
)
def test_a_hint_replaces_those_of_the_environment_that_it_sets(before, hint, expected):
    told = launch.oratorio_variables(None, [hint], False, {"ORATORIO_HINTS": before})
    assert told == {"ORATORIO_HINTS": expected}


def test_hints_of_the_environment_are_kept_whatever_separates_them():
    for before in ("a=1,b=2,3", "a=1;b=2,3;", "a=1\nb=2,3\n", " a=1 , b=2,3,"):
        told = launch.oratorio_variables(None, ["c=4"], False, {"ORATORIO_HINTS": before})
        assert told == {"ORATORIO_HINTS": "c=4;a=1;b=2,3"}


@pytest.mark.parametrize("hint", ["cb_nodes", "=2", " =2", "a=b;c=d", "a;b=c", "a=b\nc=d"])
def test_a_malformed_hint_is_refused(hint):
    with pytest.raises(launch.LaunchError, match="key=value"):
        launch.oratorio_variables(None, [hint], False, {})
