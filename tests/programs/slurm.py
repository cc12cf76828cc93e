# SPDX-License-Identifier: BSD-3-Clause
"""Runs a Slurm of two nodes on this machine: slurmctld and two slurmd, as root, for the length of a
`with`."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

TOOLS = ("slurmctld", "slurmd", "srun", "sbatch", "sinfo")
START_SECONDS = 30
CONFIGURATION = """\
ClusterName=oratorio
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
MpiDefault=none
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
ReturnToService=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={first} CPUs=2 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={second} CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=10 State=UP
"""


def why_not() -> str:
    """Returns why Slurm cannot run here; empty if it can."""
    missing = [tool for tool in TOOLS if not (shutil.which(tool) or Path("/usr/sbin", tool).exists())]
    if missing:
        return f"no {', '.join(missing)} here (Debian: slurmctld slurmd slurm-client)"
    return "" if os.geteuid() == 0 else "only root can start slurmd"


def _free_ports(many: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(many)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _wait_for_nodes(env: dict[str, str], folder: Path) -> None:
    """Waits until both nodes are idle; else raises RuntimeError with the daemons' logs."""
    end = time.monotonic() + START_SECONDS
    told = ""
    while time.monotonic() < end:
        words = ["timeout", "10", "sinfo", "-h", "-N", "-o", "%N %T"]
        told = subprocess.run(words, capture_output=True, text=True, env=env).stdout
        if sorted(told.split("\n")) == ["", "n1 idle", "n2 idle"]:
            return
        time.sleep(0.2)
    logs = "".join(file.read_text()[-1000:] for file in sorted(folder.glob("*.log")))
    raise RuntimeError(f"the nodes did not come up: {told}\n{logs}")


@contextmanager
def cluster(folder: Path) -> Iterator[dict[str, str]]:
    """Yields the environment for Slurm's commands; the daemons end with the block."""
    (folder / "state").mkdir()
    controller, first, second = _free_ports(3)
    names = {"host": socket.gethostname().partition(".")[0], "folder": folder, "controller": controller}
    (folder / "slurm.conf").write_text(CONFIGURATION.format(**names, first=first, second=second))
    path = f"{os.environ['PATH']}:/usr/sbin"
    env = {**os.environ, "PATH": path, "SLURM_CONF": str(folder / "slurm.conf")}
    daemons = []
    try:
        for words in (["slurmctld", "-D"], ["slurmd", "-D", "-N", "n1"], ["slurmd", "-D", "-N", "n2"]):
            log = (folder / f"{words[-1]}.out").open("w")
            daemons.append(subprocess.Popen(words, env=env, stdout=log, stderr=log))
            log.close()
        _wait_for_nodes(env, folder)
        yield env
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
