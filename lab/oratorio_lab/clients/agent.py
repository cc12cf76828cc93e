# SPDX-License-Identifier: BSD-3-Clause
"""Runs commands that remote_shell.py sends from another node, in place of sshd.

The first line of a connection is the length of a shell command, and the command follows. The agent sends
back the command's output, then a zero byte and the exit code. If the peer closes the connection earlier,
the agent kills all processes that the command has started.
"""

import contextlib
import os
import select
import signal
import socket
import subprocess
import threading
from pathlib import Path

PORT = 7777


def _await(file: int, connection: socket.socket) -> None:
    """Waits until `file` can be read. Raises OSError if the peer closes the connection first."""
    while True:
        ready = select.select([file, connection], [], [])[0]
        if file in ready:
            return
        if not connection.recv(4096):
            raise ConnectionError("the peer has closed the connection")


def _output(file: int, connection: socket.socket) -> bytes:
    """Returns the next output, empty at its end. Raises OSError if the peer closes the connection first."""
    _await(file, connection)
    return os.read(file, 65536)


def _tree(root: int) -> set[int]:
    """Returns a process and its descendants."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found = {root}
    while more := {number for number, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def _signal(processes: set[int], number: signal.Signals) -> None:
    """Sends a signal to those of the processes that still exist."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


def _kill(job: subprocess.Popen) -> None:
    """Kills the process group of a job, orphans included, and all descendants of the job, because MPICH's
    proxies start each rank in a session of its own. Stops all of these processes first, because a running
    process could start another one after the tree was read."""
    os.killpg(job.pid, signal.SIGSTOP)
    stopped = {job.pid}
    while running := _tree(job.pid) - stopped:
        _signal(running, signal.SIGSTOP)
        stopped |= running
    os.killpg(job.pid, signal.SIGKILL)
    _signal(stopped, signal.SIGKILL)
    job.wait()


def serve(connection: socket.socket) -> None:
    """Runs one command; kills it and what it has started if the peer closes the connection."""
    with connection, connection.makefile("rb") as stream:
        command = stream.read(int(stream.readline()))
        job = subprocess.Popen(
            ["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        end = os.pidfd_open(job.pid)
        try:
            while output := _output(job.stdout.fileno(), connection):
                connection.sendall(output)
            _await(end, connection)
            connection.sendall(b"\0%d" % job.wait())
        except OSError:
            if job.returncode is None:
                _kill(job)
        finally:
            os.close(end)
            job.stdout.close()


def main() -> None:
    """Serves until the node ends."""
    listener = socket.create_server(("", PORT), backlog=50)
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()


if __name__ == "__main__":
    main()
