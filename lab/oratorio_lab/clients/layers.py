# SPDX-License-Identifier: BSD-3-Clause
"""Unpacks Debian packages into folders without installing them, and compiles the library that is preloaded
into user-mode Linux."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from oratorio.errors import OratorioError
from oratorio.paths import PRIVATE
from oratorio_lab.clients.kinds import PACKAGES
from oratorio_lab.targets import compile_program

HOME = PRIVATE / "clients"
# Unpacks into an overlay of /. The option of tar keeps the symbolic links /bin and /lib, which `dpkg-deb -x`
# would replace with folders.
UNPACK = """
packages=$1 layer=$2
mount -t tmpfs -o size=90% tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root
for package in "$packages"/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C /mnt/root
done
cp -a /mnt/upper/. "$layer/"
"""


class NoClientsError(OratorioError):
    """Raised if the clients of a network file system cannot be set up on this machine; the message says
    why."""


def checked(*words: str | Path, cwd: Path | None = None) -> str:
    """Returns the output of a command. Raises NoClientsError if it fails."""
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NoClientsError(f"{words[0]} failed: {done.stderr.strip()[-300:]}")
    return done.stdout


def _download(packages: tuple[str, ...], folder: Path) -> None:
    """Downloads the packages, and those of their dependencies that are not installed, into `folder`. Raises
    NoClientsError."""
    told = checked("apt-get", "install", "--simulate", "--no-install-recommends", *packages)
    missing = [line.split()[1] for line in told.splitlines() if line.startswith("Inst ")]
    # The packages themselves are fetched even if they are installed, because apt-get download needs at least
    # one name.
    checked("apt-get", "download", "-q", *dict.fromkeys([*missing, *packages]), cwd=folder)


def layer(name: str) -> Path:
    """Returns the folder with the unpacked packages of a layer, for an overlay of /; makes the folder if it
    does not exist. Raises NoClientsError."""
    made = HOME / name
    if made.exists():
        return made
    HOME.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as fetched, tempfile.TemporaryDirectory(dir=HOME) as unfinished:
        packages, place = Path(fetched), Path(unfinished) / name
        place.mkdir()
        try:
            _download(PACKAGES[name], packages)
        except NoClientsError:
            checked("apt-get", "-q", "update")
            _download(PACKAGES[name], packages)
        checked("unshare", "--mount", "bash", "-e", "-o", "pipefail", "-c", UNPACK, "sh", packages, place)
        try:
            place.rename(made)
        except OSError:  # another run may have just made the same layer
            if not made.exists():
                raise
    return made


def fixes_library() -> Path:
    """Returns the library to preload into user-mode Linux (see uml_fixes.c); compiles it after a change.
    Raises TargetError."""
    source = Path(__file__).with_name("uml_fixes.c")
    return compile_program("cc", source, HOME / "uml_fixes.so", "-O2", "-Wall", "-shared", "-fPIC", "-ldl")
