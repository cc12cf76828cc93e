# SPDX-License-Identifier: BSD-3-Clause
"""Tests the recipes of packaging/: one version, options that exist, and no complaints by the linters found
here."""

import grp
import hashlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import types
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from oratorio import __version__

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
LMOD = Path("/usr/share/lmod/lmod/libexec/lmod")
NOBODY = 65534


def call(*words, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)


@pytest.fixture(scope="module")
def filled(tmp_path_factory) -> Path:
    """Returns the recipes as packaging/fill.py writes them."""
    out = tmp_path_factory.mktemp("recipes") / "filled"
    done = call(sys.executable, "-B", PACKAGING / "fill.py", out)
    assert done.returncode == 0, done.stderr
    return out


def recipes(filled: Path) -> dict[str, str]:
    """Returns path -> text of all files except the sources."""
    sources = filled / f"oratorio-{__version__}"
    texts = {}
    for file in sorted(filled.rglob("*")):
        inside = file.is_relative_to(sources) and not file.is_relative_to(sources / "debian")
        if file.is_file() and not inside and file.suffix != ".gz":
            texts[str(file.relative_to(filled))] = file.read_text()
    return texts


def test_nothing_is_left_to_be_filled_in(filled):
    texts = recipes(filled)
    assert {name.partition("/")[0] for name in texts} == {
        "conda", "container", "easybuild", "lmod", "rpm", "spack", f"oratorio-{__version__}",
    }  # fmt: skip
    assert [name for name, text in texts.items() if re.search(r"@[A-Z0-9]+@", name + text)] == []


def test_the_version_is_nowhere_written_by_hand():
    files = [file for file in PACKAGING.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    assert [str(file) for file in files if __version__ in file.name + file.read_text()] == []


def test_recipes_name_the_archive_next_to_them(filled):
    archive = filled / f"oratorio-{__version__}.tar.gz"
    checksum = hashlib.sha256(archive.read_bytes()).hexdigest()
    texts = recipes(filled)
    with_sources = [name for name in texts if name.endswith((".eb", "package.py", "recipe.yaml"))]
    assert len(with_sources) == 3
    for name in with_sources:
        assert checksum in texts[name], name
        assert f"{__version__}" in texts[name], name


def test_options_of_the_build_exist(filled):
    build = "".join(
        file.read_text() for file in [ROOT / "CMakeLists.txt", *(ROOT / "src/bind").glob("CMakeLists.txt")]
    )
    known = set(re.findall(r"(?:set|option|find_library|find_path)\((ORATORIO_\w+|LIBURING_\w+)", build))
    for name, text in recipes(filled).items():
        named = set(re.findall(r"-D(ORATORIO_\w+|LIBURING_\w+)", text))
        named |= set(re.findall(r"define\(\"(ORATORIO_\w+)\"", text))
        assert named <= known, name
        assert named or not name.endswith(
            (".eb", "package.py", "recipe.yaml", "rules", "Dockerfile", ".def", ".spec")
        )


def test_debian_takes_the_changelog_and_names_files_that_exist(filled):
    if not shutil.which("dpkg-parsechangelog"):
        pytest.skip("no dpkg-parsechangelog here (Debian: dpkg-dev)")
    folder = filled / f"oratorio-{__version__}"
    assert call("dpkg-parsechangelog", "-S", "Version", cwd=folder).stdout == f"{__version__}-1\n"
    assert (filled / f"oratorio_{__version__}.orig.tar.gz").exists()
    for command in re.findall(r"^Test-Command: (\S+)", (folder / "debian/tests/control").read_text(), re.M):
        assert (folder / command).stat().st_mode & 0o111, command


def test_debian_packs_the_sources_and_lintian_has_no_warning(filled, tmp_path):
    if not (shutil.which("dpkg-source") and shutil.which("lintian")):
        pytest.skip("no dpkg-source or no lintian here (Debian: dpkg-dev, lintian)")
    copy = shutil.copytree(filled, tmp_path / "copy")
    done = call("dpkg-source", "-b", ".", cwd=copy / f"oratorio-{__version__}")
    assert done.returncode == 0, done.stderr
    source = copy / f"oratorio_{__version__}-1.dsc"
    done = call("lintian", "--allow-root", "--fail-on", "error,warning", source)
    assert done.returncode == 0, done.stdout + done.stderr


def test_rpmspec_reads_the_spec_and_rpmlint_has_no_error(filled):
    if not (shutil.which("rpmspec") and shutil.which("rpmlint")):
        pytest.skip("no rpmspec or no rpmlint here (Debian: rpm, rpmlint)")
    spec = filled / "rpm/oratorio.spec"
    # RHEL has its libraries in lib64.
    done = call("rpmspec", "--define", "_libdir /usr/lib64", "--define", "_lib lib64", "-P", spec)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert "-DCMAKE_INSTALL_LIBDIR=lib64 " in done.stdout
    assert "\n/usr/lib64/liboratorio*.so\n" in done.stdout
    version = call("rpmspec", "-q", "--srpm", "--qf", "%{name} %{version}", spec)
    assert version.stdout == f"oratorio {__version__}", version.stderr
    done = call("rpmlint", spec)
    assert done.returncode == 0 and " 0 errors," in done.stdout, done.stdout + done.stderr


def spack_recipe(filled: Path, monkeypatch) -> tuple[type, list]:
    """Returns (the class, the directives) of package.py, read with a stand-in for Spack."""
    told = []
    stand_in = types.ModuleType("spack.package")
    for name in ("license", "version", "variant", "depends_on", "requires", "maintainers"):
        setattr(stand_in, name, lambda *words, _name=name, **more: told.append((_name, words, more)))
    stand_in.run_after = lambda phase: lambda function: function
    base = types.ModuleType("spack_repo.builtin.build_systems.cmake")
    base.CMakePackage = type("CMakePackage", (), {"define": staticmethod(lambda name, value: (name, value))})
    for module in ("spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
        monkeypatch.setitem(sys.modules, module, types.ModuleType(module))
    monkeypatch.setitem(sys.modules, "spack.package", stand_in)
    monkeypatch.setitem(sys.modules, base.__name__, base)
    file = filled / "spack/packages/oratorio/package.py"
    scope = {}
    exec(compile(file.read_text(), file, "exec"), scope)
    return scope["Oratorio"], told


@pytest.mark.parametrize(
    ("mpi", "flavours"), [("mpich", "mpich"), ("mpich+abi", "mpich;abi"), ("openmpi", "ompi")]
)
def test_spack_builds_the_flavour_of_the_selected_mpi(mpi, flavours, filled, monkeypatch):
    recipe, told = spack_recipe(filled, monkeypatch)
    assert [words for name, words, _ in told if name == "version"] == [(__version__,)]
    name, _, abi = mpi.partition("+")

    class Spec(dict):
        def satisfies(self, text):
            assert text == "+abi"
            return bool(abi)

    package = recipe()
    package.spec = Spec(mpi=types.SimpleNamespace(name=name, prefix=f"/opt/{name}"))
    given = dict(package.cmake_args())
    root = {"mpich": "ORATORIO_MPICH_ROOT", "openmpi": "ORATORIO_OPENMPI_ROOT"}[name]
    assert given == {"ORATORIO_TESTS": False, root: f"/opt/{name}", "ORATORIO_FLAVOURS": flavours}


def test_the_module_leads_to_the_command_and_preloads_nothing(filled, tmp_path):
    if not LMOD.exists():
        pytest.skip("no Lmod here (Debian: lmod)")
    prefix = tmp_path / "prefix"
    (prefix / "lib").mkdir(parents=True)
    (prefix / "lib/liboratorio.so").touch()
    env = {"PATH": "/usr/bin:/bin", "MODULEPATH": str(filled / "lmod"), "ORATORIO_ROOT": str(prefix)}
    done = call(LMOD, "bash", "load", "oratorio", env=env)
    told = call("bash", "-c", f"{done.stdout}\nenv", env=env).stdout
    assert f"LOADEDMODULES=oratorio/{__version__}\n" in told, done.stderr
    assert f"PATH={prefix}/bin:" in told
    assert f"PKG_CONFIG_PATH={prefix}/lib/pkgconfig" in told
    assert "LD_PRELOAD" not in told
    assert "LD_LIBRARY_PATH" not in told


def module_tree(filled: Path, folder: Path) -> tuple[Path, Path]:
    """Returns (MODULEPATH, ORATORIO_ROOT) with this version and version 9.9 side by side."""
    modules, root = shutil.copytree(filled / "lmod", folder / "modules"), folder / "root"
    for file in list(modules.rglob("*.lua")):
        file.with_name("9.9.lua").write_text(file.read_text().replace(__version__, "9.9"))
    for version, lib in ((__version__, "lib64"), ("9.9", "lib")):
        (root / version / lib).mkdir(parents=True)
        (root / version / lib / "liboratorio.so").touch()
    return modules, root


def after_modules(modules: Path, root: Path, *commands: str, **options) -> dict[str, str]:
    """Returns the environment of a shell after some commands of Lmod. `options` are those of
    subprocess.run."""
    env = {"PATH": "/usr/bin:/bin", "MODULEPATH": str(modules), "ORATORIO_ROOT": str(root)}
    # `export -p` starts no program, which would load the empty library.
    script = "".join(f'eval "$({LMOD} bash {command})"; ' for command in commands)
    done = call("bash", "-c", f"{script} export -p", env=env, **options)
    return dict(re.findall(r'^declare -x (\w+)="(.*)"$', done.stdout, re.M))


def test_versions_are_side_by_side(filled, tmp_path):
    if not LMOD.exists():
        pytest.skip("no Lmod here (Debian: lmod)")
    modules, root = module_tree(filled, tmp_path)
    found = after_modules(modules, root, "load oratorio")
    assert found["PATH"].startswith(f"{root}/9.9/bin:"), "the highest version, without a default"
    assert found["PKG_CONFIG_PATH"] == f"{root}/9.9/lib/pkgconfig"
    default = f'module_version("oratorio/{__version__}", "default")\n'
    (modules / "oratorio/.modulerc.lua").write_text(default)
    found = after_modules(modules, root, "load oratorio")
    assert found["PATH"].startswith(f"{root}/{__version__}/bin:")
    assert found["PKG_CONFIG_PATH"] == f"{root}/{__version__}/lib64/pkgconfig"
    found = after_modules(modules, root, "load oratorio", "load oratorio/9.9")
    assert f"{root}/{__version__}/" not in found["PATH"] and f"{root}/9.9/bin" in found["PATH"]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Yields a folder that other users may read."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_a_group_has_the_library_by_default(filled, open_folder):
    if not LMOD.exists():
        pytest.skip("no Lmod here (Debian: lmod)")
    # Lmod counts root as a member of every group. So the user `nobody` loads the modules.
    is_root = os.geteuid() == 0
    me = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if is_root else {}
    group = grp.getgrgid(NOBODY if is_root else os.getgid()).gr_name
    modules, root = module_tree(filled, open_folder)
    page = (ROOT / "docs/user/guides/sites.md").read_text()
    condition = re.search(r'^if userInGroups\("io-pilot"\) then\n.*\nend$', page, re.M)[0]
    for name, members in (("site", group), ("others", "io-pilot")):
        (modules / f"{name}.lua").write_text(condition.replace("io-pilot", members))
    library = f"{root}/9.9/lib/liboratorio.so"
    assert after_modules(modules, root, "load site", **me)["LD_PRELOAD"] == library
    assert "LD_PRELOAD" not in after_modules(modules, root, "load others", **me)
    kept = after_modules(modules, root, "load site", "purge", **me)
    assert kept["LD_PRELOAD"] == library and f"{root}/9.9/bin" in kept["PATH"]
    away = after_modules(modules, root, "load oratorio-on", "--force unload oratorio-on", **me)
    assert "LD_PRELOAD" not in away


def test_the_library_comes_after_a_profiler(filled, tmp_path):
    if not LMOD.exists():
        pytest.skip("no Lmod here (Debian: lmod)")
    modules, root = module_tree(filled, tmp_path)
    (modules / "darshan.lua").write_text('prepend_path("LD_PRELOAD", "/opt/libdarshan.so")\n')
    for order in ("darshan oratorio-on", "oratorio-on darshan"):
        preload = after_modules(modules, root, f"load {order}")["LD_PRELOAD"]
        assert preload == f"/opt/libdarshan.so:{root}/9.9/lib/liboratorio.so", order


def test_the_query_for_xalt_counts_jobs_with_the_library():
    page = (ROOT / "docs/user/guides/sites.md").read_text()
    query = re.search(r"```sql\n(.*?)```", page, re.DOTALL)[1]
    with closing(sqlite3.connect(":memory:")) as tables:
        tables.executescript("""
            CREATE TABLE xalt_run (run_id, job_id, date, user);
            CREATE TABLE xalt_object (obj_id, object_path);
            CREATE TABLE join_run_object (obj_id, run_id, date);
            INSERT INTO xalt_run VALUES (1, 'a', '2026-11-01 10:00', 'u'), (2, 'a', '2026-11-01 11:00', 'u'),
                (3, 'b', '2026-11-01 12:00', 'v'), (4, 'c', '2026-11-02 09:00', 'u'),
                (5, 'd', '2026-11-02 09:00', 'w');
            INSERT INTO xalt_object VALUES (1, '/opt/oratorio/1/lib64/liboratorio.so'),
                (2, '/opt/oratorio/1/lib64/liboratorio-mpich.so'), (3, '/usr/lib64/libmpi.so.12');
            INSERT INTO join_run_object VALUES (1, 1, ''), (2, 1, ''), (2, 2, ''), (2, 3, ''), (2, 4, ''),
                (1, 5, ''), (3, 5, '');
        """)
        assert tables.execute(query).fetchall() == [("2026-11-01", 2, 2), ("2026-11-02", 1, 1)]


def test_reframe_lists_the_test_of_an_installation(tmp_path):
    file = PACKAGING / "reframe/oratorio.py"
    compile(file.read_text(), file, "exec")
    reframe = shutil.which("reframe", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if not reframe:
        pytest.skip("no ReFrame here (PyPI: reframe-hpc)")
    done = call(reframe, "-c", file, "-l", cwd=tmp_path, env={**os.environ, "HOME": str(tmp_path)})
    assert done.returncode == 0 and "Found 2 check(s)" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("tool", "words", "file"),
    [
        ("luac", ["-p"], f"lmod/oratorio-on/{__version__}.lua"),
        ("luac", ["-p"], f"lmod/oratorio/{__version__}.lua"),
        ("hadolint", [], "container/Dockerfile"),
        ("sh", ["-n"], "../smoke.sh"),
    ],
)
def test_a_linter_has_nothing_to_say(tool, words, file, filled):
    # Linters from PyPI are installed in the folder of this Python.
    program = shutil.which(tool, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if not program:
        pytest.skip(f"no {tool} here")
    path = PACKAGING / "smoke.sh" if file.endswith("smoke.sh") else filled / file
    done = call(program, *words, path)
    assert done.returncode == 0 and not done.stdout, done.stdout + done.stderr


def test_conda_renders_the_recipe_for_both_mpis(filled):
    rattler = pytest.importorskip("rattler_build", reason="no rattler_build here (PyPI: py-rattler-build)")
    recipe = rattler.Stage0Recipe.from_file(filled / "conda/recipe.yaml")
    variants = rattler.VariantConfig.from_file(filled / "conda/variants.yaml")
    rendered = [variant.recipe.to_dict() for variant in recipe.render(variants)]
    given = {made["requirements"]["host"][0]: made["build"]["script"]["env"] for made in rendered}
    assert given == {"mpich": {"FLAVOURS": "mpich;abi"}, "openmpi": {"FLAVOURS": "ompi"}}


def test_the_shell_parts_of_the_apptainer_definition_are_valid(filled):
    text = (filled / "container/oratorio.def").read_text()
    parts = dict(re.findall(r"^%(\w+)\n((?:(?!%).*\n)+)", text, re.MULTILINE))
    assert {"post", "test", "environment", "runscript"} <= set(parts)
    for name in ("post", "test", "environment", "runscript"):
        done = call("sh", "-n", input=parts[name])
        assert done.returncode == 0, f"{name}: {done.stderr}"
