# SPDX-License-Identifier: BSD-3-Clause
"""Which locks another client sees. Debian's Python runs this, which has none of our packages.

locks.py look FILE OTHER WORD...  locks FILE in each way and starts `WORD... locks.py try OTHER WAY` on the
                                  other client, whose name for the file is OTHER; prints "WAY yes" if that
                                  one was refused, so that the lock is seen there
locks.py try FILE WAY             exit code 0 if it got the lock, 1 if it was refused
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
FREE, LOCKED = 0, 1


def lock(path: str, way: str) -> int:
    """A descriptor that has the lock; raises OSError if it is refused."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    WAYS[way](file)
    return file


def look(path: str, other: str, words: list[str]) -> None:
    """Prints for each way whether the other client sees the lock."""
    for way in WAYS:
        try:
            file = lock(path, way)
        except OSError as error:
            print(f"{way} refused ({error.strerror})", flush=True)
            continue
        done = subprocess.run([*words, sys.executable, __file__, "try", other, way], check=False)
        print(f"{way} {({FREE: 'no', LOCKED: 'yes'}).get(done.returncode, 'unknown')}", flush=True)
        os.close(file)


def main() -> int:
    """The exit code."""
    what, path, *rest = sys.argv[1:]
    if what == "look":
        look(path, rest[0], rest[1:])
        return 0
    try:
        lock(path, rest[0])
    except OSError:
        return LOCKED
    return FREE


if __name__ == "__main__":
    sys.exit(main())
