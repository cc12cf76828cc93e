# SPDX-License-Identifier: BSD-3-Clause
"""Makes nodes on one machine from Linux namespaces; needs no ssh and leaves no trace.

A node has a network, a host name, processes and shared memory of its own, and reaches other nodes by TCP
alone. All nodes share the file system, and optionally one folder of /dev/shm. A launcher starts ranks on the
nodes with a stand-in for ssh. All processes of a node end with its first process, which ends when its pipe
from this process is closed, so nothing is left even if this process is killed.
"""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from oratorio.errors import OratorioError
from oratorio.launch.hosts import Host

DELAYED_LINK = Path(__file__).with_name("delayed_link.py")
LINK_ENDS = ("link0", "link1")  # the devices of the link between two switches
LARGE_FRAMES = "mtu 9000"  # fewer frames to pass on
HEAD_ADDRESS = "10.77.0.254"
HEAD = f"""
mount --bind "$1" /etc/hosts
ip link set lo up
ip link add bridge0 type bridge
ip address add {HEAD_ADDRESS}/24 dev bridge0
ip link set bridge0 up
echo $$
exec cat
"""
# The script of a node's first process. Its first line runs while /proc is still the machine's, so that it
# reads the PID that the process has outside of its namespace.
NODE = """
read -r number rest < /proc/self/stat
hostname "$1"
mount -t proc proc /proc
if [ -n "$2" ]; then mount --bind "$2" "$3"; fi
mount -t tmpfs tmpfs /dev/shm
mkdir /dev/shm/tmp
if [ -n "$2" ]; then
    mkdir -p "$2"
    mount --bind "$3" "$2"
fi
echo "$number"
exec cat
"""
NODE_NAMESPACES = ("--net", "--mount", "--uts", "--ipc", "--pid")
HEAD_NAMESPACES = ("--net", "--mount", "--uts")

# Options of launchers: the command that starts ranks on other nodes, and the network over which ranks
# talk. The launcher itself runs in `head`.
OPENMPI_NETWORK = (
    "--mca mpi_yield_when_idle 1 --mca pml ob1 --mca btl self,{shared},tcp --mca btl_tcp_if_include {network}"
)
HYDRA = "-launcher ssh -launcher-exec {remote} -iface {head} -hosts {names} -ppn {ranks}"
OPENMPI = {
    "openmpi4": "--mca plm_rsh_agent {remote} --host {slots} " + OPENMPI_NETWORK.replace("{shared}", "vader"),
    "openmpi5": "--prtemca plm_ssh_agent {remote} --host {slots} "
    + OPENMPI_NETWORK.replace("{shared}", "sm"),
}


class NoNodesError(OratorioError):
    """Raised if this machine or the MPI does not allow emulated nodes; the message says why."""


def dialect(host: Host) -> str:
    """Returns the options that make a host's launcher start ranks on other nodes, with fields to fill in.
    Raises NoNodesError if they are unknown."""
    if host.launcher == "hydra":
        return HYDRA
    if host.name not in OPENMPI:
        raise NoNodesError(
            f"{host.name}: the only Open MPIs that can use several nodes are {' and '.join(OPENMPI)}"
        )
    return OPENMPI[host.name]


def _run(inside: tuple[str, ...], command: str) -> None:
    done = subprocess.run([*inside, *command.split()], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NoNodesError(f"{command}: {done.stderr.strip()}")


def _script(file: Path, *lines: str) -> Path:
    file.write_text("\n".join(("#!/bin/sh", *lines)) + "\n")
    file.chmod(0o755)
    return file


class Nodes:
    """A context manager that makes `count` nodes and a head, where launchers run; `folder`
    holds the generated scripts.

    `common` is a folder in /dev/shm that all nodes see. `link` holds netem's arguments for the traffic that a
    node sends, as in "delay 50us rate 10gbit". With a `delay` in seconds, the second half of the nodes is on
    another switch, and traffic between the switches takes that much longer.
    """

    def __init__(
        self,
        folder: Path,
        count: int = 2,
        *,
        common: Path | None = None,
        link: str = "",
        delay: float = 0.0,
    ) -> None:
        self._folder, self._count, self._common, self._link = folder, count, common, link
        self._delay = delay
        self._processes: list[subprocess.Popen] = []
        self._numbers: dict[str, str] = {}  # node's name -> PID of the node's first process

    @property
    def names(self) -> list[str]:
        return [f"node{index}" for index in range(self._count)]

    @property
    def topology(self) -> str:
        """The table of switches, for ORATORIO_TOPOLOGY."""
        nodes_of: dict[str, list[str]] = {}
        for name in self.names:
            nodes_of.setdefault(self._bridge(name), []).append(name)
        return "".join(f"SwitchName={one} Nodes={','.join(names)}\n" for one, names in nodes_of.items())

    def bytes_between_switches(self) -> int:
        """Returns the bytes that have crossed the link between the switches, in both directions and with the
        headers of all protocols."""
        sent = 0
        for end in LINK_ENDS:
            show = [*self._inside_head(), "ip", "-json", "-statistics", "link", "show", end]
            told = subprocess.run(show, capture_output=True, text=True, check=True)
            sent += json.loads(told.stdout)[0]["stats64"]["tx"]["bytes"]
        return sent

    def __enter__(self) -> "Nodes":
        """Makes the nodes. Raises NoNodesError."""
        if os.geteuid() != 0:
            raise NoNodesError("creating network namespaces needs root")
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        for process in reversed(self._processes):
            process.communicate()  # closes the pipe, which ends the process

    def host(self, host: Host, ranks_per_node: int, more: str = "") -> Host:
        """Returns `host` with an mpiexec that starts `ranks_per_node` ranks on each node, the lowest ranks on
        the first node. Raises NoNodesError if ranks can't be started there with this MPI.

        `more` holds additional options of mpiexec.
        """
        words = dialect(host).format(
            remote=self._folder / "remote-shell", ranks=ranks_per_node, names=",".join(self.names),
            head="bridge0", network="eth0",
            slots=",".join(f"{name}:{ranks_per_node}" for name in self.names),
        )  # fmt: skip
        place = Path(tempfile.mkdtemp(dir=self._folder))
        enter = f"nsenter --target {self._numbers['head']} {' '.join(HEAD_NAMESPACES)}"
        return_there = """sh -c 'cd "$0" && exec "$@"' "$PWD" """
        line = f'exec {enter} {return_there} {host.mpiexec} {words} {more} "$@"'
        return replace(host, mpiexec=_script(place / host.mpiexec.name, line))

    def cut(self, name: str) -> None:
        """Disconnects a node from the network until join() reconnects it."""
        self._of_port(name, "nomaster")

    def join(self, name: str) -> None:
        self._of_port(name, f"master {self._bridge(name)}")

    def give_up_early(self) -> None:
        """Makes connections fail after some seconds without an answer, not after a quarter of an hour."""
        for number in self._numbers.values():
            _run(("nsenter", "--target", number, "--net"), "sysctl -w net.ipv4.tcp_retries2=4")

    def _of_port(self, name: str, words: str) -> None:
        _run(self._inside_head(), f"ip link set to-{name} {words}")

    def _inside_head(self) -> tuple[str, ...]:
        return ("nsenter", "--target", self._numbers["head"], *HEAD_NAMESPACES)

    def _bridge(self, name: str) -> str:
        """Returns the bridge of a node, which is its switch."""
        is_far = self._delay > 0 and self.names.index(name) >= self._count // 2
        return "bridge1" if is_far else "bridge0"

    def _make_second_switch(self) -> None:
        inside = self._inside_head()
        words = (sys.executable, str(DELAYED_LINK), str(self._delay), *LINK_ENDS)
        self._begin("link", inside, (), 'exec "$@"', *words)
        _run(inside, "ip link add bridge1 type bridge")
        _run(inside, "ip link set bridge1 up")
        for bridge, end in enumerate(LINK_ENDS):
            _run(inside, f"ip link set {end} master bridge{bridge} {LARGE_FRAMES} txqueuelen 10000 up")

    def _make(self) -> None:
        addresses = {name: f"10.77.0.{index + 1}" for index, name in enumerate(self.names)}
        table = self._folder / "hosts"
        told = {"localhost": "127.0.0.1", os.uname().nodename: HEAD_ADDRESS} | addresses
        table.write_text("".join(f"{address}\t{name}\n" for name, address in told.items()))
        self._begin("head", (), HEAD_NAMESPACES, HEAD, str(table))
        beside = self._folder / "common"
        beside.mkdir()
        shared = (str(self._common), str(beside)) if self._common else ("", "")
        inside = self._inside_head()
        if self._delay:
            self._make_second_switch()
        frames = LARGE_FRAMES if self._delay else ""
        for name, address in addresses.items():
            node = self._begin(name, inside, ("--fork", *NODE_NAMESPACES), NODE, name, *shared)
            port = f"to-{name}"
            _run(inside, f"ip link add {port} type veth peer name eth0 netns {node}")
            _run(inside, f"ip link set {port} master {self._bridge(name)} {frames} up")
            at_node = ("nsenter", "--target", node, "--net")
            _run(at_node, f"ip address add {address}/24 dev eth0")
            _run(at_node, f"ip link set eth0 {frames} up")
            _run(at_node, "ip link set lo up")
            if self._link:
                _run(at_node, f"tc qdisc add dev eth0 root netem {self._link}")
        self._write_remote_shell()

    def _begin(self, name: str, inside: tuple, namespaces: tuple, script: str, *arguments: str) -> str:
        """Starts the first process of a node, of the head or of the link between switches. Returns the PID
        that this process sees. Raises NoNodesError."""
        words = [*inside, "unshare", *namespaces, "sh", "-e", "-c", script, "sh", *arguments]
        process = subprocess.Popen(
            ["timeout", "3600", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._processes.append(process)
        self._numbers[name] = process.stdout.readline().strip()
        if not self._numbers[name]:
            raise NoNodesError(f"can't start the emulated node {name}: {process.communicate()[1].strip()}")
        return self._numbers[name]

    def _write_remote_shell(self) -> None:
        """Writes `remote-shell [-OPTION]... NODE WORD...`, which runs the words on NODE in the
        environment of a fresh login."""
        enter = " ".join(("nsenter", "--target", "$number", *NODE_NAMESPACES))
        cases = [f"{name}) number={self._numbers[name]};;" for name in self.names]
        _script(
            self._folder / "remote-shell",
            'while [ "${1#-}" != "$1" ]; do shift; done',
            'case "$1" in',
            *cases,
            '*) echo "no node named $1" >&2; exit 255;;',
            "esac",
            "shift",
            f'exec {enter} env -i HOME="$HOME" PATH="$PATH" TMPDIR=/dev/shm/tmp sh -c "$*"',
        )
