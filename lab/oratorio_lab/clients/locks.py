# SPDX-License-Identifier: BSD-3-Clause
"""Tests which locks another client sees. Runs with Debian's Python, without our packages.

locks.py look FILE OTHER WORD...  for each way of locking, locks FILE and runs
                                  `WORD... locks.py try OTHER WAY`, on the other client, where OTHER is the
                                  path of the file; prints "WAY yes" if the other client sees the lock,
                                  "WAY no" if it does not, or why this is unknown
locks.py try FILE WAY             exits with 0 if it got the lock, 1 if another process holds it, and 2 if
                                  locking failed
locks.py hold FILE WAY            prints "held" and holds the lock until its input ends, or prints why
                                  locking failed
"""

import fcntl
import os
import struct
import subprocess
import sys

OFD_SETLK = 37  # F_OFD_SETLK of <fcntl.h>
FIRST_BYTES = struct.pack("hhlli4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 50, 0)
WAYS = {
    "posix": lambda file: fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 50, 0),
    "OFD": lambda file: fcntl.fcntl(file, OFD_SETLK, FIRST_BYTES),
    "flock": lambda file: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB),
}
FREE, LOCKED, FAILED = 0, 1, 2
HELD = "held"


def lock(path: str, way: str) -> None:
    """Locks the first 50 bytes of the file, or the whole file with flock, until the process ends. Raises
    OSError if the lock is refused."""
    WAYS[way](os.open(path, os.O_RDWR | os.O_CREAT, 0o666))


def look(path: str, other: str, words: list[str]) -> None:
    """Prints for each way whether the other client sees the lock."""
    for way in WAYS:
        # A separate process holds the lock, because on 9p a lock is released once any child of its owner
        # closes the file.
        holding = [sys.executable, __file__, "hold", path, way]
        with subprocess.Popen(holding, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
            told = holder.stdout.readline().strip()
            if told == HELD:
                done = subprocess.run([*words, sys.executable, __file__, "try", other, way], check=False)
                told = {FREE: "no", LOCKED: "yes"}.get(done.returncode, "unknown")
            print(f"{way} {told or 'unknown'}", flush=True)
            holder.stdin.close()


def main() -> int:
    """Runs the command and returns the exit code."""
    what, path, *rest = sys.argv[1:]
    if what == "look":
        look(path, rest[0], rest[1:])
        return 0
    try:
        lock(path, rest[0])
    except OSError as error:
        if what == "try" and isinstance(error, (BlockingIOError, PermissionError)):
            return LOCKED
        print(f"refused ({error.strerror})", flush=True)
        return FAILED
    if what == "hold":
        print(HELD, flush=True)
        sys.stdin.read()
    return FREE


if __name__ == "__main__":
    sys.exit(main())
