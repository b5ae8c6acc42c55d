"""Proton collisions at 14 TeV, made by Pythia 8 in many workers, in one ROOT file.

    python examples/pythia.py events.root --events 2000 --workers 4 --how processes --numbered

Events are made in units of work (``--unit``), each with a seed of its own, so that a unit is the same
whatever process makes it. Three ways lead into the file:

- ``serial``: one generator, one after another.
- ``threads``: each thread has its generator, and a context of one parallel tree, which compresses and writes
  its own clusters.
- ``processes``: each process makes a small ROOT file of a unit in its memory; the one writer adopts its
  clusters as they are, without inflating them.

``--numbered`` puts units into the order of their numbers: the bytes of the file are the same for any number
of workers.

Pythia's Python module keeps the interpreter's lock while it makes events, so threads gain what is compressed
and written meanwhile at most. One run of 400 events in units of 50, two workers, the start of generators and
processes included, on two cores that other programs kept busy: 68 events a second (serial), 53 (threads), 47
(processes). On idle cores, and for long runs, measure again.

Needs the generator: ``pip install pythia8mc awkward``.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import contextlib
import io
import itertools
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
import time
from typing import Any

import sapwood

try:
    import awkward as ak
    import numpy as np
    import pythia8mc
except ImportError as error:
    raise SystemExit(f"this example needs {error.name}: pip install pythia8mc awkward") from None

ENERGY = 14_000  # GeV
SETTINGS = [
    "Print:quiet = on",
    f"Beams:eCM = {ENERGY}",
    "HardQCD:all = on",
    "PhaseSpace:pTHatMin = 20",
    "Random:setSeed = on",
]
TREE = "events"
WHOLE, REAL = "id status mother1 mother2 daughter1 daughter2".split(), "px py pz e m".split()
PARTICLE = ", ".join([f"{name}: int32" for name in WHOLE] + [f"{name}: float64" for name in REAL])
# The list of particles is Pythia's: mothers and daughters are places in it, those that are left in the end
# have a positive status.
BRANCHES = {"number": "i8", "seed": "i4", "weight": "f8", "Particle": f"var * {{{PARTICLE}}}"}
LAST_SEED = 900_000_000


class Generator:
    """Pythia, with the same state before each unit of work."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self._pythia = pythia8mc.Pythia("", False)
        # What is integrated before the first event depends on the seed as well: it is the same for all.
        for setting in [*SETTINGS, f"Random:seed = {given.seed}"]:
            self._pythia.readString(setting)
        if not self._pythia.init():
            raise RuntimeError("Pythia does not begin")

    def unit(self, number: int, events: int | None = None) -> dict[str, Any]:
        """The columns of a unit of work, or of its first events."""
        start, stop = entries_of(number, self.given)
        stop = stop if events is None else start + events
        seed = (self.given.seed + number) % LAST_SEED + 1
        self._pythia.rndm.init(seed)
        parts, missing = [], stop - start
        while missing > 0:  # an event that Pythia gives up is left out
            parts.append(self._pythia.nextBatch(missing))
            missing -= len(parts[-1])
        made = ak.concatenate(parts)
        particles = made.prt
        members = {name: particles[name] for name in [*WHOLE, "m"]} | {
            name: particles.p[name] for name in REAL[:4]
        }
        return {
            "number": np.arange(start, stop),
            "seed": np.full(stop - start, seed, "i4"),
            "weight": made.info.weights[:, 0],
            "Particle": ak.zip(members),
        }


def entries_of(number: int, given: argparse.Namespace) -> tuple[int, int]:
    """The events of a unit."""
    return number * given.unit, min((number + 1) * given.unit, given.events)


class Progress:
    """Counts events, and says so every other second."""

    def __init__(self, given: argparse.Namespace) -> None:
        self._given = given
        self._began = self._said = time.perf_counter()
        self._lock = threading.Lock()
        self.events = 0

    def unit(self, number: int) -> None:
        start, stop = entries_of(number, self._given)
        with self._lock:
            self.events += stop - start
            if time.perf_counter() - self._said > 2:
                self._said = time.perf_counter()
                print(
                    f"  {self.events} of {self._given.events} events, {self.rate():.1f} a second",
                    file=sys.stderr,
                    flush=True,
                )

    def rate(self) -> float:
        return self.events / (time.perf_counter() - self._began)


def fill(context: Any, number: int, generator: Generator, given: argparse.Namespace) -> None:
    """Brings a unit, by its number where units have their places."""
    columns = generator.unit(number)
    with context.unit(number) if given.numbered else contextlib.nullcontext(context) as unit:
        unit.extend(columns)


def serial(tree: sapwood.ParallelTree, units: range, given: argparse.Namespace, progress: Progress) -> None:
    """One generator makes all."""
    generator = Generator(given)
    with tree.numbered() if given.numbered else tree.context() as context:
        for number in units:
            fill(context, number, generator, given)
            progress.unit(number)


def threads(tree: sapwood.ParallelTree, units: range, given: argparse.Namespace, progress: Progress) -> None:
    """Each thread takes the next unit; where one fails, or is interrupted, all end after theirs."""
    rest, stop = iter(units), threading.Event()
    generators = [Generator(given) for _ in range(given.workers)]
    # The first batch of all imports modules behind a lock of C++: two threads that come to it at once wait
    # for each other for ever.
    generators[0].unit(0, events=1)
    # All contexts are there before the first unit begins, so that no context waits for a number that seems to
    # come from nowhere.
    contexts = [tree.numbered() if given.numbered else tree.context() for _ in range(given.workers)]

    def work(context: Any, generator: Generator) -> None:
        try:
            with context:
                while not stop.is_set() and (number := next(rest, None)) is not None:
                    fill(context, number, generator, given)
                    progress.unit(number)
        except BaseException:
            stop.set()
            raise

    with concurrent.futures.ThreadPoolExecutor(given.workers) as pool:
        try:
            for done in concurrent.futures.as_completed(
                list(map(pool.submit, itertools.repeat(work), contexts, generators))
            ):
                done.result()
        finally:
            stop.set()


def processes(
    tree: sapwood.ParallelTree, units: range, given: argparse.Namespace, progress: Progress
) -> None:
    """Processes make finished clusters; this one writes them."""
    spawn = multiprocessing.get_context("spawn")
    rest, pending = collections.deque(units), dict[concurrent.futures.Future[bytes], int]()
    pool = concurrent.futures.ProcessPoolExecutor(given.workers, spawn, begin_worker, (given,))
    with pool, tree.numbered() if given.numbered else contextlib.nullcontext() as numbered:
        try:
            while rest or pending:
                # A few units are on their way, and none is far ahead of the one that all others wait for.
                oldest = min(pending.values(), default=units.stop)
                while rest and len(pending) < 2 * given.workers and rest[0] < oldest + 8 * given.workers:
                    number = rest.popleft()
                    pending[pool.submit(finished, number)] = number
                for done in concurrent.futures.wait(
                    pending, return_when=concurrent.futures.FIRST_COMPLETED
                ).done:
                    number = pending.pop(done)
                    if numbered is None:
                        tree.adopt(done.result())
                    else:
                        numbered.adopt(number, done.result())
                    progress.unit(number)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


_generator: Generator


def begin_worker(given: argparse.Namespace) -> None:
    """Makes the generator of a process, which leaves interrupts to the one that writes and ends with it."""
    global _generator
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    _generator = Generator(given)


def end_with_parent() -> None:
    """Waits for the end of the process that writes, however it came."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
    os._exit(1)


def finished(number: int) -> bytes:
    """A small file with one unit."""
    part = io.BytesIO()
    given = _generator.given
    # The records of baskets have dates, unless they are to be the same each time.
    with sapwood.recreate(
        part, compression=given.compression, threads=1, reproducible=given.numbered
    ) as file:
        file.mktree(TREE, BRANCHES).extend(_generator.unit(number))
    return part.getvalue()


WAYS = {way.__name__: way for way in (serial, threads, processes)}


def positive(text: str) -> int:
    """A number of the command line that counts something."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(
        description="Proton collisions of Pythia 8, made by many workers, in one ROOT file."
    )
    parser.add_argument("out", help="the file; it is replaced")
    parser.add_argument("--events", type=positive, default=2000)
    parser.add_argument("--workers", type=positive, default=os.cpu_count(), help="threads or processes")
    parser.add_argument("--how", choices=WAYS, default="processes")
    parser.add_argument("--numbered", action="store_true", help="the same bytes for any number of workers")
    parser.add_argument("--unit", type=positive, default=100, help="events of a unit of work")
    parser.add_argument("--seed", type=positive, default=1)
    parser.add_argument("--compression", default="zstd:5")
    return parser.parse_args()


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Makes the file, and says how fast that was. Interrupted, it keeps the units that were done."""
    given = arguments()
    signal.signal(signal.SIGTERM, interrupt)
    units = range(-(-given.events // given.unit))
    workers = 1 if given.how == "serial" else given.workers
    print(f"{given.events} events in {len(units)} units, {given.how}, {workers} workers", file=sys.stderr)
    progress = Progress(given)
    try:
        # Only one thread of each worker compresses: there is one for each core already.
        with sapwood.recreate(
            given.out, compression=given.compression, threads=1, reproducible=given.numbered
        ) as file:
            with file.parallel_tree(TREE, BRANCHES, "pp at 14 TeV, hard QCD, pT > 20 GeV") as tree:
                WAYS[given.how](tree, units, given, progress)
    except KeyboardInterrupt:
        raise SystemExit(f"interrupted: {given.out} has {progress.events} events") from None
    size = os.path.getsize(given.out)
    print(f"{given.out}: {progress.events} events, {progress.rate():.1f} a second, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
