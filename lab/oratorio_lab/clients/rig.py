# SPDX-License-Identifier: BSD-3-Clause
"""Boots the machines of a kind (`kinds`), runs a command on the first of them, and ends them all.

Nothing is installed, and everything ends with the first process (setup/frame.sh). The rig raises
NoClientsError before it starts anything if the clients cannot be set up on this machine. It raises GuestError
with the console output if a machine needs more than a minute to come up, or if setting up its file system
fails. The command finds the folder that the clients share as $CLIENT. The words that Clients.launcher()
returns start ranks: the lower half on the first client and the upper half on the second.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from oratorio.errors import OratorioError
from oratorio.launch.hosts import Host, mpiexec_command
from oratorio.paths import ROOT
from oratorio_lab.clients import layers
from oratorio_lab.clients.kinds import Kind
from oratorio_lab.clients.layers import NoClientsError
from oratorio_lab.nodes import dialect

__all__ = ["FOLDER", "RANKS", "Clients", "Ended", "GuestError", "NoClientsError", "shell"]

HERE = Path(__file__).resolve().parent
SETUP = HERE / "setup"
FOLDER = "/client"
RANKS = 4
UP_SECONDS = 60  # time limit until the first process of every guest runs
POLL_SECONDS = 0.2
# Namespaces of each frame. With a process namespace nothing outlives the command, and with a mount namespace
# only the command sees the mounts.
NAMESPACES = {
    "kernel": ("--mount", "--pid"),
    "namespaces": ("--mount", "--pid", "--net", "--uts", "--ipc"),
    "two": ("--mount", "--pid", "--net", "--uts", "--ipc"),
}
# Frame -> the script in setup/ that the first process runs; in the frame `kernel`, the kind's own script.
FIRST = {"namespaces": "namespaces.sh", "two": "node.sh"}
MARKS = {"kernel": ("up1",), "namespaces": ("up1",), "two": ("up1", "up2")}


class GuestError(OratorioError):
    """Raised if machines were started but did not come up, or their file system could not be set up; the
    message has the console output."""

    exit_code = 1


@dataclass(frozen=True)
class Ended:
    """The exit code and output of a command, and the folder $RIG of its run."""

    code: int
    output: str
    folder: Path


def _require(kind: Kind) -> None:
    """Raises NoClientsError if clients of this kind cannot be set up on this machine."""
    if os.geteuid() != 0:
        raise NoClientsError("mounting file systems needs root")
    if not shutil.which("apt-get"):
        raise NoClientsError("the rig needs Debian's packages, and this is not Debian")
    if kind.has_kernel and platform.machine() != "x86_64":
        raise NoClientsError("user-mode Linux needs x86_64")
    if not kind.has_kernel and not Path("/dev/fuse").exists():
        raise NoClientsError("this kernel has no FUSE")
    if kind.frame == "two" and not Path("/dev/net/tun").exists():
        raise NoClientsError("this kernel has no /dev/net/tun")
    layers.checked("unshare", *NAMESPACES[kind.frame], "--fork", "mount", "-t", "tmpfs", "tmpfs", "/mnt")


class Clients:
    """The machines that mount the file system of one kind. `first` replaces the script in setup/ that their
    first process runs. Raises NoClientsError if the machines can't be set up here."""

    def __init__(self, kind: Kind, folder: Path, first: Path | None = None) -> None:
        self.kind = kind
        _require(kind)
        self.folder_ = folder
        self.layer_ = layers.layer(kind.layer)
        self.fixes_ = layers.fixes_library() if kind.has_kernel else ""
        self.first_ = first or SETUP / FIRST.get(kind.frame, f"{kind.script}.sh")

    def launcher(
        self, host: Host, env: Mapping[str, str] | None = None, *, preload: bool = True
    ) -> list[str]:
        """Returns the words of a launcher's command that precede the program. The command starts RANKS ranks
        of the program, half of them on each client. Raises NoNodesError if the MPI can't do that."""
        env = dict(env or {})
        if self.kind.frame != "two":
            nodes = {"ORATORIO_RANKS_PER_NODE": str(RANKS // 2)}
            return [*mpiexec_command(host, RANKS, preload, nodes | env), str(SETUP / "rank.sh")]
        words = dialect(host).format(
            remote=HERE / "remote_shell.py", ranks=RANKS // 2, head="vec0", network="vec0",
            names="first,second", slots=f"first:{RANKS // 2},second:{RANKS // 2}",
        )  # fmt: skip
        if host.launcher == "hydra":
            env = {"FI_PROVIDER": "tcp"} | env
        mpiexec, *rest = mpiexec_command(host, RANKS, preload, env)
        return [mpiexec, *words.split(), *rest]

    def run(
        self, command: str, seconds: int, network: str = "", watch: Callable[[Path], None] = lambda rig: None
    ) -> Ended:
        """Boots the machines, runs a shell command for at most `seconds`, boot included, and ends all
        processes. Raises GuestError if the machines don't come up.

        `network` holds arguments of tc netem. `watch` is called several times a second with the folder $RIG.
        """
        rig = Path(tempfile.mkdtemp(dir=self.folder_))
        script = rig / "command"
        script.write_text(f"#!/bin/sh\nexec >{rig}/output 2>&1\nexport RANKS={RANKS}\n{command}\n")
        script.chmod(0o755)
        (rig / "network").write_text(network)
        namespaces = NAMESPACES[self.kind.frame]
        words = ["setpriv", "--pdeathsig", "TERM", "timeout", "--kill-after=5", str(seconds)]
        words += ["unshare", *namespaces, "--fork", "--kill-child"]
        with (rig / "console").open("wb") as kept:
            job = subprocess.Popen(
                [*words, SETUP / "frame.sh"], env=self._environment(rig), stdin=subprocess.DEVNULL,
                stdout=kept, stderr=kept,
            )  # fmt: skip
            try:
                trouble = _wait(job, [rig / mark for mark in MARKS[self.kind.frame]], lambda: watch(rig))
            finally:
                job.terminate()
        return _ended(rig, trouble, seconds)

    def _environment(self, rig: Path) -> dict[str, str]:
        """Returns the environment in which setup/frame.sh runs."""
        return {
            "PATH": os.environ["PATH"], "HOME": "/root", "CLIENT": FOLDER, "RIG": str(rig),
            "CHECKOUT": str(ROOT), "FRAME": self.kind.frame, "LAYER": str(self.layer_),
            "FIXES": str(self.fixes_), "FIRST": str(self.first_), "OPTIONS": self.kind.options,
            "SETUP": str(SETUP / f"{self.kind.script}.sh"),
        }  # fmt: skip


def _wait(job: subprocess.Popen, marks: list[Path], watch: Callable[[], None]) -> str:
    """Waits until the job ends, and calls `watch` every POLL_SECONDS. Returns why the guests did not come up,
    empty if they did. Ends the job if not all marks exist after UP_SECONDS."""
    deadline = time.monotonic() + UP_SECONDS
    is_up = False
    while True:
        try:
            job.wait(POLL_SECONDS)
            break
        except subprocess.TimeoutExpired:
            watch()
            is_up = is_up or all(mark.exists() for mark in marks)
            if not is_up and time.monotonic() > deadline:
                job.terminate()
                job.wait()
                return f"the first process of the machines did not run within {UP_SECONDS} s"
    watch()
    if all(mark.exists() for mark in marks):
        return ""
    return f"the guest ended with {job.returncode} before its first process ran"


def consoles(rig: Path) -> str:
    """Returns the end of each machine's console output."""
    files = sorted(rig.glob("console*"))
    return "\n".join(f"{file.name}:\n{file.read_text(errors='replace')[-4000:]}" for file in files)


def _ended(rig: Path, trouble: str, seconds: int) -> Ended:
    """Returns the result of a run, from the files in its folder. Raises GuestError if the machines did not
    come up, or their file system could not be set up."""
    output, why, code = (rig / name for name in ("output", "why", "code"))
    if why.exists() and why.read_text().strip() != "ended":
        trouble = why.read_text().strip()
    if trouble:
        raise GuestError(f"{trouble}; {consoles(rig)}")
    text = output.read_text(errors="replace") if output.exists() else ""
    if not code.exists():
        return Ended(124, f"{text}\nstill running after {seconds} s\n{consoles(rig)[-1000:]}", rig)
    return Ended(int(code.read_text()), text, rig)


def shell(words: list[str | Path]) -> str:
    """Quotes words as a shell command."""
    return shlex.join(map(str, words))
