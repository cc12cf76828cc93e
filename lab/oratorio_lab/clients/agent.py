# SPDX-License-Identifier: BSD-3-Clause
"""Runs commands that remote_shell.py sends from another node, in place of sshd.

The first line of a connection is the length of a shell command, and the command follows. The agent sends
back the command's output, then a zero byte and the exit code.
"""

import os
import socket
import subprocess
import threading

PORT = 7777


def serve(connection: socket.socket) -> None:
    """Runs one command; kills its shell if the output can no longer be sent to the peer."""
    with connection, connection.makefile("rb") as stream:
        command = stream.read(int(stream.readline()))
        job = subprocess.Popen(
            ["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        try:
            while output := os.read(job.stdout.fileno(), 65536):
                connection.sendall(output)
            connection.sendall(b"\0%d" % job.wait())
        except OSError:
            job.kill()
            job.wait()


def main() -> None:
    """Serves until the node ends."""
    listener = socket.create_server(("", PORT), backlog=50)
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()


if __name__ == "__main__":
    main()
