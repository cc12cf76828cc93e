# SPDX-License-Identifier: BSD-3-Clause
"""Fetches packages of other releases of Debian, which have newer libraries than this machine.

The packages are unpacked into a folder and nothing is installed. Programs are compiled here against the
release's headers, and run with that folder as their root. The checkout has the same path in that root.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from oratorio.launch.hosts import Host
from oratorio.paths import PRIVATE, ROOT
from oratorio_lab.interop.model import MissingError
from oratorio_lab.suites.sources import apt_line, call, debian_targets, private_apt

HOME = PRIVATE / "neighbours"
LIBRARIES = f"usr/lib/{os.uname().machine}-linux-gnu"
# Folders with the libraries BLAS and LAPACK. Installing their packages would link them into the library
# folder, but unpacking does not.
SEARCHED = ":".join(f"/{LIBRARIES}/{name}" for name in ("blas", "lapack"))
# Only the files of these packages are needed, not the compilers and libraries that they depend on.
LOOSE = ("libopenmpi-dev", "libhdf5-openmpi-dev", "libpnetcdf-dev", "libnetcdf-mpi-dev")
LOOSE += ("python3-h5py", "python3-adios2", "libgfortran5")
WANTED = ("openmpi-bin", "python3-h5py-mpi", "python3-adios2-mpi")
# Beginnings of package names. Each name ends in the number of an ABI, which differs between releases.
NUMBERED = ("libhdf5-openmpi-", "libpnetcdf", "libnetcdf-mpi-")
LEFT_OUT = re.compile(r"(.*-doc|tzdata|locales.*)_")

ENTER = """\
#!/bin/sh
# {command} of {title}, with the folder of its packages as root.
exec unshare --mount {user}sh -c '
    root=$1; shift
    for folder in /proc /dev /sys /tmp {checkout}; do
        mkdir -p "$root$folder" && mount --rbind "$folder" "$root$folder" || exit 1
    done
    exec chroot "$root" "$@"' sh '{root}' {command} "$@"
"""


@contextmanager
def scratch(name: str) -> Iterator[Path]:
    """Yields an empty folder of that name, and removes it afterwards."""
    folder = HOME / "scratch" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Release:
    """A release of Debian."""

    name: str
    title: str
    suite: str  # name of the release in the archive

    @property
    def root(self) -> Path:
        return HOME / self.name

    @property
    def mpiexec(self) -> Path:
        return HOME / f"{self.name}.mpiexec"

    def version(self, package: str) -> str:
        """Returns the version of the package named `package`, or `package` with a number at the end. Raises
        MissingError."""
        self._require()
        for line in (self.root / "packages").read_text().splitlines():
            name, _, version = line.partition(" ")
            if re.fullmatch(re.escape(package) + r"[0-9.]*", name):
                return version
        raise MissingError(f"{self.title} lacks {package}")

    def host(self) -> Host:
        """Returns the release's Open MPI. Raises MissingError."""
        self._require()
        version = upstream(self.version("openmpi-bin"))
        cc = Path(shutil.which("cc") or "cc")
        return Host(
            self.name, "ompi", cc, cc, self.mpiexec, version, "openmpi",
            python=Path("/usr/bin/python3"), env={"LD_LIBRARY_PATH": SEARCHED},
        )  # fmt: skip

    def _require(self) -> None:
        if not (self.root / "packages").exists():
            raise MissingError(f"`oratorio neighbours --fetch` downloads the packages of {self.title}")


RELEASES = (Release("debian13", "Debian 13", "trixie"), Release("sid", "Debian sid", "sid"))


def upstream(version: str) -> str:
    """Returns the upstream version: a Debian version without epoch and revision."""
    return re.sub(r"[+-].*$", "", version.rpartition(":")[2]).replace("~", "")


def root_of(host: Host) -> Path:
    """Returns the root of the host's headers and libraries."""
    return next((release.root for release in RELEASES if release.name == host.name), Path("/"))


def _numbered(options: list[str]) -> list[str]:
    """Returns the newest package for each name in NUMBERED."""
    found = []
    for name in NUMBERED:
        told = call("apt-cache", *options, "search", "--names-only", f"^{name}[0-9]+$")
        numbers = sorted(int(line.split()[0].removeprefix(name)) for line in told.splitlines())
        found += [f"{name}{number}" for number in numbers[-1:]]
    return found


def _download(release: Release) -> Path:
    """Downloads the release's packages and returns their folder. Raises SourceError."""
    folder = HOME / "apt" / release.suite
    mirror = next(uri for uri, suite, _ in debian_targets() if "-" not in suite)
    options = private_apt(folder, {apt_line("deb", mirror, release.suite, "main")})
    (folder / "status").touch()
    options += ["-o", f"Dir::State::status={folder / 'status'}"]
    call("apt-get", *options, "update")
    wanted = [*WANTED, *_numbered(options)]
    call("apt-get", *options, "-y", "--no-install-recommends", "--download-only", "install", *wanted)
    call("apt-get", *options, "download", *LOOSE, cwd=folder / "archives")
    return folder / "archives"


def _packages(archives: Path) -> list[Path]:
    return [file for file in sorted(archives.glob("*.deb")) if not LEFT_OUT.match(file.name)]


def fetch(release: Release) -> None:
    """Downloads the packages of a release (100 MiB or more) and unpacks them, unless that is already done.
    Raises SourceError."""
    if (release.root / "packages").exists():
        return
    packages = _packages(_download(release))
    fresh = release.root.with_name(f"{release.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    for folder in ("bin", "sbin", "lib", "lib64"):
        (fresh / folder).symlink_to(f"usr/{folder}")
    lines = []
    for file in packages:
        call("dpkg-deb", "-x", str(file), str(fresh))
        name, version, _ = file.name.split("_")
        lines.append(f"{name} {version.replace('%3a', ':')}\n")
    for name in ("passwd", "group", "hosts"):
        shutil.copy(Path("/etc") / name, fresh / "etc" / name)
    (fresh / "packages").write_text("".join(lines))
    shutil.rmtree(release.root, ignore_errors=True)
    fresh.rename(release.root)
    user = "" if os.geteuid() == 0 else "--map-root-user "
    release.mpiexec.write_text(
        ENTER.format(
            command="mpiexec.openmpi", title=release.title, root=release.root, checkout=ROOT, user=user
        )
    )
    release.mpiexec.chmod(0o755)
    shutil.rmtree(HOME / "apt" / release.suite)
