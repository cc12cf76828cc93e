# SPDX-License-Identifier: BSD-3-Clause
"""Two real clients of a network file system, or disks that fail, on one machine, from Debian's packages.

NFS: a Linux kernel in user mode, whose root is an overlay of this machine's, has an NFSv4.2 server and two
clients that the server takes for two machines. GlusterFS: two mounts in namespaces of their own. A disk:
such a kernel with local file systems on disks that fail when told to. Nothing is installed, and all ends
with the first process. A machine that can't have them raises NoClientsError before anything is started;
what was started and doesn't come up raises GuestError, with its console, after a minute at the most.
`Clients.run` runs a shell command there. It finds the common folder as $CLIENT,
which is the other client's for the upper half of the ranks that rank_command() starts, and what the server
has as /export; the failing disks' folders are in $CLIENT.
"""

import os
import platform
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from oratorio.paths import PRIVATE, ROOT

HERE = Path(__file__).resolve().parent
PACKAGES = {
    "nfs": ["user-mode-linux", "nfs-kernel-server", "nfs-common", "rpcbind", "kmod", "keyutils"],
    "disk": ["user-mode-linux", "kmod", "dmsetup", "e2fsprogs"],
    "gluster": ["glusterfs-server", "glusterfs-client"],
}
# A process namespace, so that nothing outlives the command; the overlay is seen by it alone. Folders that the
# root's file system doesn't hold itself come along.
NAMESPACES = {
    "nfs": ("--mount", "--pid"),
    "disk": ("--mount", "--pid"),
    "gluster": ("--mount", "--pid", "--net", "--uts", "--ipc"),
}
OVERLAY = """
layer=$1 rig=$2 checkout=$3 script=$4 xstate=$5
mount -t proc proc /proc
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
cp -a "$layer/." /mnt/upper/
mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root
for folder in "$rig" "$checkout"; do
    mkdir -p "/mnt/root$folder"
    mount --rbind "$folder" "/mnt/root$folder"
done
"""
BOOT = """
LD_PRELOAD=$xstate exec /mnt/root/usr/bin/linux.uml root=/dev/root rootfstype=hostfs rootflags=/mnt/root rw \
    mem=1500M quiet uml_dir="$rig/uml/" con=null con0=fd:0,fd:1 init="$script" RIG="$rig" CLIENT="$CLIENT"
"""
BEGIN = {
    "nfs": BOOT,
    "disk": BOOT,
    "gluster": """
mount --rbind /dev /mnt/root/dev
RIG=$rig exec chroot /mnt/root "$script"
""",
}
UNPACK = """
packages=$1 layer=$2
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root
for package in "$packages"/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C /mnt/root
done
cp -a /mnt/upper/. "$layer/"
"""
FOLDER = "/client"
RANKS = 4
UP_SECONDS = 60  # until the first process of a guest runs


class NoClientsError(Exception):
    """This machine has no such clients; the text says why."""


class GuestError(Exception):
    """A kernel or a set of namespaces was started and did not come up; the text has its console."""


@dataclass(frozen=True)
class Ended:
    """What a command came to, and the folder that it had as $RIG."""

    code: int
    output: str
    folder: Path


def _checked(*words: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NoClientsError(f"{words[0]} fails: {done.stderr.strip()[-300:]}")
    return done.stdout


def _download(packages: list[str], folder: Path) -> None:
    """The packages and what of theirs isn't installed here."""
    told = _checked("apt-get", "install", "--simulate", "--no-install-recommends", *packages)
    missing = [line.split()[1] for line in told.splitlines() if line.startswith("Inst ")]
    # Those that happen to be installed are wanted too, at least one must be.
    _checked("apt-get", "download", "-q", *dict.fromkeys(missing + packages), cwd=folder)


def _layer(kind: str) -> Path:
    """The unpacked packages as they lie over the root, made once."""
    layer = PRIVATE / "clients" / kind
    if layer.exists():
        return layer
    layer.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory(dir=layer.parent) as unfinished:
        packages, place = Path(name), Path(unfinished) / kind
        place.mkdir()
        try:
            _download(PACKAGES[kind], packages)
        except NoClientsError:
            _checked("apt-get", "-q", "update")
            _download(PACKAGES[kind], packages)
        _checked("unshare", "--mount", "bash", "-e", "-o", "pipefail", "-c", UNPACK, "sh", packages, place)
        place.rename(layer)
    return layer


def xstate_library() -> Path:
    """The library to preload into user-mode Linux (see uml_xstate.c), compiled once per change."""
    source, target = HERE / "uml_xstate.c", PRIVATE / "clients" / "uml_xstate.so"
    if target.exists() and target.stat().st_mtime > source.stat().st_mtime:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # Another run may load or compile it at the same time, so it is put in place as a whole.
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        fresh = Path(folder) / target.name
        _checked("cc", "-O2", "-Wall", "-shared", "-fPIC", "-o", fresh, source)
        fresh.rename(target)
    return target


def _wait(process: subprocess.Popen, up: Path) -> str:
    """Waits for the process to end, and ends it if `up` isn't there in time; says why it never was, if so."""
    deadline = time.monotonic() + UP_SECONDS
    while not up.exists():
        try:
            process.wait(0.1)
            break
        except subprocess.TimeoutExpired:
            if time.monotonic() > deadline:
                process.terminate()
                process.wait()
                return f"the first process did not run within {UP_SECONDS} s"
    process.wait()
    return "" if up.exists() else f"the guest ended with {process.returncode} before its first process ran"


class Clients:
    """`kind` is nfs, gluster or disk; `script` is another first process. Raises NoClientsError."""

    def __init__(self, kind: str, folder: Path, script: Path | None = None) -> None:
        if os.geteuid() != 0:
            raise NoClientsError("mounting file systems needs root")
        _checked("unshare", *NAMESPACES[kind], "--fork", "mount", "-t", "tmpfs", "tmpfs", "/mnt")
        if not shutil.which("apt-get"):
            raise NoClientsError("the packages are Debian's, and this isn't Debian")
        if kind != "gluster" and platform.machine() != "x86_64":
            raise NoClientsError("Linux in user mode is for x86_64")
        if kind == "gluster" and not Path("/dev/fuse").exists():
            raise NoClientsError("this kernel has no FUSE")
        self.kind_, self.folder_, self.layer_ = kind, folder, _layer(kind)
        self.script_ = script or HERE / f"clients_{kind}.sh"
        self.xstate_ = "" if kind == "gluster" else xstate_library()

    def run(self, command: str, seconds: int, network: str = "") -> Ended:
        """Sets all up, runs a shell command of it, and ends all. `network`: words for tc netem of NFS.

        Raises GuestError.
        """
        rig = Path(tempfile.mkdtemp(dir=self.folder_))
        script = rig / "command"
        script.write_text(f"#!/bin/sh\nexec >{rig}/output 2>&1\nexport RANKS={RANKS}\n{command}\n")
        script.chmod(0o755)
        (rig / "network").write_text(network)
        words = ["timeout", "--kill-after=5", str(seconds), "unshare", *NAMESPACES[self.kind_], "--fork"]
        words += ["--kill-child", "sh", "-e", "-c", OVERLAY + BEGIN[self.kind_], "sh"]
        words += [self.layer_, rig, ROOT, self.script_, self.xstate_]
        env = {"PATH": os.environ["PATH"], "CLIENT": FOLDER, "HOME": "/root"}
        console = rig / "console"
        with console.open("wb") as kept:
            job = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=kept, stderr=kept, env=env)
            trouble = _wait(job, rig / "up")
        output, why, code = (rig / name for name in ("output", "why", "code"))
        if why.exists() and why.read_text().strip() != "ended":
            trouble = why.read_text().strip()
        if trouble:
            raise GuestError(f"{trouble}; the console:\n{console.read_text(errors='replace')[-4000:]}")
        text = output.read_text(errors="replace") if output.exists() else ""
        if not code.exists():
            last = console.read_text(errors="replace")[-300:]
            return Ended(124, f"{text}\nno end within {seconds} s\n{last}", rig)
        return Ended(int(code.read_text()), text, rig)


def rank_command(launcher: list[str]) -> list[str]:
    """The words before a program whose ranks are to be on two clients."""
    return [*launcher, str(HERE / "clients_rank.sh")]
