# SPDX-License-Identifier: BSD-3-Clause
"""Which locks another client sees. Debian's Python runs this, which has none of our packages.

locks.py look FILE OTHER WORD...  locks FILE in each way and starts `WORD... locks.py try OTHER WAY` on the
                                  other client, whose name for the file is OTHER; prints "WAY yes" if that
                                  one was refused, so that the lock is seen there
locks.py try FILE WAY             exit code 0 if it got the lock, 1 if somebody else has it
locks.py hold FILE WAY            says whether it got the lock, and has it until its input ends
"""

import fcntl
import os
import struct
import subprocess
import sys

OFD_SETLK = 37  # from <fcntl.h>; Python has no name for it before 3.13
FIRST_BYTES = struct.pack("hhlli4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 50, 0)
WAYS = {
    "posix": lambda file: fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 50, 0),
    "OFD": lambda file: fcntl.fcntl(file, OFD_SETLK, FIRST_BYTES),
    "flock": lambda file: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB),
}
FREE, LOCKED, FAILED = 0, 1, 2
HELD = "held"


def lock(path: str, way: str) -> None:
    """Locks the file until the process ends; raises OSError if that is refused."""
    WAYS[way](os.open(path, os.O_RDWR | os.O_CREAT, 0o666))


def look(path: str, other: str, words: list[str]) -> None:
    """Prints for each way whether the other client sees the lock."""
    for way in WAYS:
        # A process of its own: on 9p a lock is gone once any child of its owner closes the file.
        holding = [sys.executable, __file__, "hold", path, way]
        with subprocess.Popen(holding, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
            told = holder.stdout.readline().strip()
            if told == HELD:
                done = subprocess.run([*words, sys.executable, __file__, "try", other, way], check=False)
                told = {FREE: "no", LOCKED: "yes"}.get(done.returncode, "unknown")
            print(f"{way} {told}", flush=True)
            holder.stdin.close()


def main() -> int:
    """The exit code."""
    what, path, *rest = sys.argv[1:]
    if what == "look":
        look(path, rest[0], rest[1:])
        return 0
    try:
        lock(path, rest[0])
    except (BlockingIOError, PermissionError):
        return LOCKED
    except OSError as error:
        print(f"refused ({error.strerror})", flush=True)
        return FAILED
    if what == "hold":
        print(HELD, flush=True)
        sys.stdin.read()
    return FREE


if __name__ == "__main__":
    sys.exit(main())
