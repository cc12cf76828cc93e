#!/usr/bin/python3 -S
# SPDX-License-Identifier: BSD-3-Clause
"""remote_shell.py [-OPTION]... HOST WORD...: runs the words on HOST through agent.py, in place of ssh."""

import os
import socket
import sys

PORT = 7777
CONNECT_SECONDS = 20
NO_CONNECTION = 255  # ssh's exit code for a connection that fails
KEEP_ALIVE = {
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE): 1,
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE): 5,
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL): 3,
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT): 5,
}


def main() -> int:
    """Runs the command and returns its exit code, or NO_CONNECTION if the connection fails."""
    words = sys.argv[1:]
    while words and words[0].startswith("-"):
        del words[0]
    host, command = words[0], " ".join(words[1:]).encode()
    try:
        connection = socket.create_connection((host, PORT), CONNECT_SECONDS)
    except OSError as error:
        print(f"{host}: {error}", file=sys.stderr)
        return NO_CONNECTION
    connection.settimeout(None)
    # Detects a dead node as ssh does with ServerAliveInterval.
    for option, value in KEEP_ALIVE.items():
        connection.setsockopt(*option, value)
    connection.sendall(b"%d\n%s" % (len(command), command))
    kept = b""  # received bytes from the last zero byte on: that byte may be the one before the exit code
    try:
        while received := connection.recv(65536):
            kept += received
            end = kept.rfind(b"\0")
            output, kept = (kept, b"") if end < 0 else (kept[:end], kept[end:])
            os.write(1, output)
    except OSError as error:
        print(f"{host}: {error}", file=sys.stderr)
        return NO_CONNECTION
    return int(kept[1:] or NO_CONNECTION)


if __name__ == "__main__":
    sys.exit(main())
