# SPDX-License-Identifier: BSD-3-Clause
"""survivor.py FILE: checks that a file can be used after a client that wrote it was killed
(clients_killed.c).

Synced data must be intact, and no lock may be left: each kind of lock on the whole file must be available,
and a write must succeed. Runs with Debian's Python. Waits for the locks without a time limit, so the caller
must set one.
"""

import fcntl
import os
import struct
import sys

OFD_SETLKW = 38  # F_OFD_SETLKW of <fcntl.h>
SYNCED_BYTES = 1 << 16
WHOLE_FILE = struct.pack("hhlli4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
LOCKS = {
    "posix": lambda file: fcntl.lockf(file, fcntl.LOCK_EX),
    "OFD": lambda file: fcntl.fcntl(file, OFD_SETLKW, WHOLE_FILE),
    "flock": lambda file: fcntl.flock(file, fcntl.LOCK_EX),
}


def main() -> int:
    """Checks the file and returns the exit code."""
    file = os.open(sys.argv[1], os.O_RDWR)
    expected = bytes(i % 251 for i in range(SYNCED_BYTES))
    found = os.pread(file, SYNCED_BYTES, 0)
    if found != expected:
        pairs = zip(expected, found, strict=False)
        first = next((i for i, (one, other) in enumerate(pairs) if one != other), len(found))
        print(f"synced data is lost from byte {first} on")
        return 1
    for way, lock in LOCKS.items():
        print(f"waiting for a {way} lock", flush=True)
        other = os.open(sys.argv[1], os.O_RDWR)
        lock(other)
        os.pwrite(other, b"survived", 2 * SYNCED_BYTES)
        os.close(other)
    print("synced data is intact, and no lock is left")
    return 0


if __name__ == "__main__":
    sys.exit(main())
