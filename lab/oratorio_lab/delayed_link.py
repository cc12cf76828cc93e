# SPDX-License-Identifier: BSD-3-Clause
"""A link with a delay, for kernels without netem.

`delayed_link.py SECONDS DEVICE DEVICE` makes two tap devices and prints its process number. Until its
standard input ends, it passes each frame that arrives at one device to the other device, after SECONDS.
"""

import contextlib
import fcntl
import os
import select
import struct
import sys
import time
from collections import deque

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000
FRAME_MOST = 1 << 16
READ_AT_ONCE = 64  # frames read from one device before the turn of the other device


def open_tap(name: str) -> int:
    """Makes a tap device and returns its descriptor."""
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return tap


def read_frames(tap: int) -> list[bytes]:
    """Reads the frames that are queued on a tap device, at most READ_AT_ONCE of them, without blocking."""
    frames: list[bytes] = []
    try:
        while len(frames) < READ_AT_ONCE:
            frames.append(os.read(tap, FRAME_MOST))
    except BlockingIOError:
        pass
    return frames


def pass_on(seconds: float, taps: list[int]) -> None:
    """Passes frames between two devices until the standard input ends."""
    waiting: dict[int, deque[tuple[float, bytes]]] = {tap: deque() for tap in taps}
    while True:
        due = [frames[0][0] for frames in waiting.values() if frames]
        pause = max(0.0, min(due) - time.monotonic()) if due else None
        ready, _, _ = select.select([sys.stdin, *taps], [], [], pause)
        if sys.stdin in ready:
            return
        now = time.monotonic()
        for tap, other in (taps, reversed(taps)):
            if tap in ready:
                waiting[other].extend((now + seconds, frame) for frame in read_frames(tap))
            while waiting[tap] and waiting[tap][0][0] <= now:
                _, frame = waiting[tap].popleft()
                with contextlib.suppress(OSError):  # a device that is not up yet loses frames
                    os.write(tap, frame)


if __name__ == "__main__":
    made = [open_tap(name) for name in sys.argv[2:]]
    print(os.getpid(), flush=True)
    pass_on(float(sys.argv[1]), made)
