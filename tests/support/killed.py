"""Children that are killed while they write."""

from __future__ import annotations

import os
import signal
import struct
import time
from collections.abc import Callable


class Teller:
    """What a child tells the process that will kill it: how many entries are saved, and how many are committed."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe

    def say(self, saved: int, committed: int) -> None:
        os.write(self._pipe, struct.pack("qq", saved, committed))


def killed_after(write: Callable[[Teller], None], words: int, linger: float = 0.0) -> tuple[int, int]:
    """Forks a child that runs ``write``, kills it ``linger`` seconds after it has spoken ``words`` times, and gives what it said last:
    entries saved, and entries committed.
    """
    hear, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            write(Teller(tell))
        finally:
            os._exit(3)
    os.close(tell)
    received = b""
    while len(received) < 16 * words and (more := os.read(hear, 16)):
        received += more
    time.sleep(linger)
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL, "the writer ended before it was killed"
    while more := os.read(hear, 4096):
        received += more
    os.close(hear)
    whole = len(received) // 16 * 16
    saved, committed = struct.unpack("qq", received[whole - 16 : whole]) if whole else (0, 0)
    return saved, committed
