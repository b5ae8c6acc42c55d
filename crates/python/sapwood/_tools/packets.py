"""Packets: how many units of work a worker is given at a time, and what comes back.

What is merged are units, whose borders depend on nothing but the files. So results do not depend on packets,
which are sized by what workers manage: a packet takes about :data:`SECONDS`, and a worker that is slower than
the others gives back the units that it has not begun when the time is over. Large results end a packet,
too, and fewer packets go out while large results wait for an earlier one.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import pickle
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import Any, Generic, NamedTuple, TypeVar

from sapwood._tools.result_bytes import bytes_of

Unit = TypeVar("Unit")

#: What a packet takes, about: much more than handing it out, and short beside all of the work.
SECONDS = 0.5
#: Where the code of this package is.
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
#: Packets for each worker, of which all but one wait.
_AHEAD = 2
#: Units of a packet, at most: what is done again if a worker is lost, and comes back at once.
_MOST = 32
#: Results for each worker that may wait for an earlier one while more units are given out.
_WAITING = 32
#: Bytes of results after which a worker returns them and gives back the rest of its packet.
_MAX_PACKET_BYTES = 32 << 20
#: Bytes of results for each worker that may wait, or may still come from packets that are out.
_MAX_WAITING_BYTES = 128 << 20


class Outcome(NamedTuple):
    """What a worker returns for a packet: results of its first units, and what the next one raised, and
    where."""

    results: list[Any]
    seconds: float
    error: Exception | None = None
    trace: str = ""
    at: str = ""
    """File and line of the code that raised it, where it is not Sapwood's."""
    size: int = 0
    """An estimate of the bytes of all results."""


def work_on(units: list[Unit], run: Callable[[Unit], Any], seconds: float) -> Outcome:
    """Runs units of a packet, in a worker, until the time is over or the results are large; at least one."""
    began = time.monotonic()
    results: list[Any] = []
    size = 0
    for unit in units:
        try:
            results.append(run(unit))
        except Exception as error:
            trace = traceback.format_exc()
            return Outcome(results, time.monotonic() - began, _as_sent(error), trace, line_of(error), size)
        size += bytes_of(results[-1])
        if time.monotonic() - began >= seconds or size >= _MAX_PACKET_BYTES:
            break
    return Outcome(results, time.monotonic() - began, size=size)


def line_of(error: Exception) -> str:
    """File and line of what Sapwood called, and which raised; nothing where that is its own code."""
    frames = traceback.extract_tb(error.__traceback__)
    others = [frame for frame in frames if not frame.filename.startswith(_PACKAGE)]
    if not others or os.path.basename(frames[frames.index(others[0]) - 1].filename) != "processing.py":
        return ""
    last = [frame for frame in others if frame.filename == others[0].filename][-1]
    return f"{last.filename}, line {last.lineno}"


def _as_sent(error: Exception) -> Exception:
    """What a unit raised, in a form that leaves this process if it must."""
    if multiprocessing.parent_process() is None:
        return error
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


class Packets(Generic[Unit]):
    """Hands out units in packets, and gives results in the order of the units."""

    def __init__(self, work: Iterator[Unit], workers: int) -> None:
        self._work = enumerate(work)
        self._workers = max(workers, 1)
        #: Units that came back, in their order.
        self._back: deque[tuple[int, Unit]] = deque()
        self._is_more = True
        self._running: dict[Future[Outcome], list[tuple[int, Unit]]] = {}
        self._done: dict[int, Any] = {}
        self._seconds_a_unit: float | None = None
        self._bytes_a_unit = 0.0

    def results(
        self,
        submit: Callable[[list[Unit], float], Future[Outcome]],
        failed: Callable[[Exception, list[Unit], str], Exception],
    ) -> Iterator[Any]:
        """The results, each when those of all units before it are there.

        ``failed`` makes an error of what a unit has raised, and in which line, or of what became of a packet
        of which nothing came back.
        """
        given = 0
        try:
            while True:
                while self._has_room() and (packet := self._next()):
                    self._running[submit([unit for _, unit in packet], SECONDS)] = packet
                if not self._running:
                    return
                finished, _ = wait(self._running, return_when=FIRST_COMPLETED)
                while finished:
                    # A future holds its results for as long as it is known by any name.
                    future = finished.pop()
                    self._take(future, self._running.pop(future), failed)
                    del future
                while given in self._done:
                    yield self._done.pop(given)
                    given += 1
        finally:
            for future in self._running:
                future.cancel()

    def _size(self) -> int:
        """Units of a packet; one until it is known how long they take."""
        if self._seconds_a_unit is None:
            return 1
        of_bytes = int(_MAX_PACKET_BYTES / max(self._bytes_a_unit, 1.0))
        return max(1, min(int(SECONDS / max(self._seconds_a_unit, 1e-9)), of_bytes, _MOST))

    def _has_room(self) -> bool:
        if len(self._running) >= _AHEAD * self._workers:
            return False
        # What came back goes out first: all that is done may wait for it. Fewer results wait where units are
        # slow.
        most = min(_AHEAD * self._size(), _WAITING) * self._workers
        return bool(self._back) or (len(self._done) <= most and self._expected_bytes() <= self._byte_limit())

    def _expected_bytes(self) -> float:
        """Bytes of results that wait, of packets that are out, and of one more packet."""
        units = len(self._done) + self._size() + sum(map(len, self._running.values()))
        return units * self._bytes_a_unit

    def _byte_limit(self) -> float:
        # One unit for each worker is out in any case.
        is_idle = len(self._done) + len(self._running) < self._workers
        return math.inf if is_idle else _MAX_WAITING_BYTES * self._workers

    def _next(self) -> list[tuple[int, Unit]]:
        packet: list[tuple[int, Unit]] = []
        size = self._size()
        while self._back and len(packet) < size:
            packet.append(self._back.popleft())
        while not self._back and self._is_more and len(packet) < size:
            numbered = next(self._work, None)
            if numbered is None:
                self._is_more = False
            else:
                packet.append(numbered)
        return packet

    def _take(
        self,
        future: Future[Outcome],
        packet: list[tuple[int, Unit]],
        failed: Callable[[Exception, list[Unit], str], Exception],
    ) -> None:
        try:
            outcome = future.result()
        except Exception as error:
            raise failed(error, [unit for _, unit in packet], "") from error
        count = len(outcome.results)
        raised = outcome.error
        if raised is not None:
            if raised.__traceback__ is None:
                raised.add_note(f"in a worker:\n{outcome.trace}")
            raise failed(raised, [packet[count][1]], outcome.at) from raised
        self._done.update((number, one) for (number, _), one in zip(packet, outcome.results))
        self._back = deque(sorted([*self._back, *packet[count:]], key=lambda numbered: numbered[0]))
        mean = outcome.seconds / max(count, 1)
        # The last packets say most: units of the next files may be of another size.
        before = mean if self._seconds_a_unit is None else self._seconds_a_unit
        self._seconds_a_unit = 0.7 * before + 0.3 * mean
        # Results may grow suddenly, and memory cannot be taken back.
        size = outcome.size / max(count, 1)
        self._bytes_a_unit = max(size, 0.7 * self._bytes_a_unit + 0.3 * size)


def workers_of(executor: Executor | Any, otherwise: int) -> int:
    """How many units an executor runs at once, as far as it says so."""
    of_dask = getattr(executor, "nthreads", None)
    if callable(of_dask):
        return sum(of_dask().values()) or otherwise
    return int(getattr(executor, "_max_workers", otherwise) or otherwise)
