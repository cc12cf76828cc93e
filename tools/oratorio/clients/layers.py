# SPDX-License-Identifier: BSD-3-Clause
"""Debian's packages, unpacked where they are used and not installed, and the library for user-mode Linux."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from oratorio.clients.kinds import PACKAGES
from oratorio.paths import PRIVATE

HOME = PRIVATE / "clients"
# dpkg's own unpacking replaces the links /bin and /lib; an overlay of / keeps them.
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


class NoClientsError(Exception):
    """This machine has no such clients; the text says why."""


def checked(*words: str | Path, cwd: Path | None = None) -> str:
    """What the command prints. Raises NoClientsError if it fails."""
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NoClientsError(f"{words[0]} fails: {done.stderr.strip()[-300:]}")
    return done.stdout


def _download(packages: tuple[str, ...], folder: Path) -> None:
    """Fetches the packages and those they need that are not installed here."""
    told = checked("apt-get", "install", "--simulate", "--no-install-recommends", *packages)
    missing = [line.split()[1] for line in told.splitlines() if line.startswith("Inst ")]
    # Installed ones are fetched too: apt-get download wants at least one.
    checked("apt-get", "download", "-q", *dict.fromkeys([*missing, *packages]), cwd=folder)


def layer(name: str) -> Path:
    """The unpacked packages as they lie over the root, made once. Raises NoClientsError."""
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
        except OSError:  # another run has made the same layer meanwhile
            if not made.exists():
                raise
    return made


def xstate_library() -> Path:
    """The library to preload into user-mode Linux (see uml_xstate.c), compiled once per change."""
    source, target = Path(__file__).with_name("uml_xstate.c"), HOME / "uml_xstate.so"
    if target.exists() and target.stat().st_mtime > source.stat().st_mtime:
        return target
    HOME.mkdir(parents=True, exist_ok=True)
    # Another run may load or compile it at the same time, so it is put in place as a whole.
    with tempfile.TemporaryDirectory(dir=HOME) as folder:
        fresh = Path(folder) / target.name
        checked("cc", "-O2", "-Wall", "-shared", "-fPIC", "-o", fresh, source)
        fresh.rename(target)
    return target
