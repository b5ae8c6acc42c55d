#!/usr/bin/env python3
"""Compares Debian's XCache and `sapwood proxy`: what serving root:// from a cache costs.

    python -m bench.remote.xcache [--mb 1000] [--rounds 3] [--streams 1]

Both are in front of the same XRootD, and start with an empty cache. A client of XRootD then copies a file, or
reads vectors of ranges that are scattered over it, twice: cold and warm. The table has the seconds that the
client waited, the processor seconds of the cache for each GB that it served, and the MB that came from the
origin, which a relay counts. Numbers are medians over the rounds, and ratios are those to XCache. All of it
runs on one machine and shares its processors: compare the processor seconds, and take the others as a check.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support import proxies, servers

#: Ranges of a vector, their length, and the number of vectors.
RANGES, RANGE_BYTES, VECTORS = 100, 20_000, 100
READ = f"""
import random, sys
from XRootD import client
url, length, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
draw = random.Random(seed)
with client.File() as file:
    status, _ = file.open(url)
    assert status.ok, status.message
    for _ in range({VECTORS}):
        ranges = [(draw.randrange(length - {RANGE_BYTES}), {RANGE_BYTES}) for _ in range({RANGES})]
        status, found = file.vector_read(ranges)
        assert status.ok, status.message
        assert sum(len(chunk.buffer) for chunk in found.chunks) == {RANGES} * {RANGE_BYTES}
"""


class Relay:
    """Passes connections on to a server, and counts the bytes that come from it."""

    def __init__(self, port: int) -> None:
        self.bytes = 0
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._port))
            for link in (near, far):
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for one, other, counts in ((near, far, False), (far, near, True)):
                threading.Thread(target=self._pass, args=(one, other, counts), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket, counts: bool) -> None:
        room = memoryview(bytearray(1 << 20))
        try:
            while got := one.recv_into(room):
                self.bytes += got if counts else 0
                other.sendall(room[:got])
            other.shutdown(socket.SHUT_WR)
        except OSError:
            one.close()
            other.close()

    def close(self) -> None:
        self._listener.close()


@dataclass
class Cache:
    """A cache that runs: its address, and the number of its process."""

    root: str
    process: int

    def cpu(self) -> float:
        """Processor seconds so far."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass
class Run:
    """A client's work: how long it took, what it cost the cache, and what came from the origin."""

    seconds: float
    cpu: float
    upstream: int


def child_of(parent: int, word: str) -> int:
    """The process with this word in its command line that a process started last."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], check=True, capture_output=True, text=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()[1:]]
    return max(int(pid) for pid, above, args in rows if int(above) == parent and word in args)


@contextmanager
def xcache(relay: Relay) -> Iterator[Cache]:
    with servers.serving("xrootd", recipe="xcache.cfg", target=f"127.0.0.1:{relay.port}") as server:
        yield Cache(server.root_url, child_of(os.getpid(), "xcache.cfg"))


@contextmanager
def proxy(relay: Relay) -> Iterator[Cache]:
    folder = Path(tempfile.mkdtemp(prefix="sapwood-bench-"))
    try:
        upstream = f"root://127.0.0.1:{relay.port}//"
        with proxies.running(upstream, folder, "--xrootd", "0", "--cache-size", "100000000000") as found:
            yield Cache(found.root.rstrip("/"), child_of(os.getpid(), "sapwood proxy"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


CONTENDERS = {"XCache": xcache, "sapwood proxy": proxy}


def measured(cache: Cache, relay: Relay, line: list[str]) -> Run:
    cpu, upstream, start = cache.cpu(), relay.bytes, time.perf_counter()
    subprocess.run(line, check=True, timeout=600, stdout=subprocess.DEVNULL)
    took = time.perf_counter() - start
    # Blocks are written after they are served.
    time.sleep(1)
    return Run(took, cache.cpu() - cpu, relay.bytes - upstream)


def work(kind: str, url: str, length: int, seed: int, streams: int) -> list[str]:
    if kind == "copy":
        further = ["-S", str(streams)] if streams > 1 else []
        return [servers.program("xrdcp"), "-f", "-N", *further, url, "/dev/null"]
    return [sys.executable, "-c", READ, url, str(length), str(seed)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mb", type=int, default=1000, help="length of the file")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--streams", type=int, default=1, help="connections of the copy")
    arguments = parser.parse_args()
    length = arguments.mb * 1_000_000
    served = {"copy": length, "vectors": VECTORS * RANGES * RANGE_BYTES}
    runs: dict[tuple[str, str, str], list[Run]] = {}
    with ExitStack() as stack:
        origin = stack.enter_context(servers.serving("xrootd"))
        with open(origin.data / "f.bin", "wb") as file:
            draw = random.Random(1)
            for _ in range(arguments.mb):
                file.write(draw.randbytes(1_000_000))
        os.chmod(origin.data / "f.bin", 0o644)
        for round_ in range(arguments.rounds):
            for kind in served:
                for name, contender in CONTENDERS.items():
                    relay = Relay(int(origin.root_url.rsplit(":", 1)[1]))
                    with contender(relay) as cache:
                        line = work(kind, f"{cache.root}//f.bin", length, round_, arguments.streams)
                        for state in ("cold", "warm"):
                            runs.setdefault((kind, state, name), []).append(measured(cache, relay, line))
                    relay.close()
    print(f"{arguments.mb} MB, {served['vectors'] // 1_000_000} MB in vectors, {arguments.rounds} rounds")
    print(f"{'work':18} {'cache':14} {'seconds':>8} {'CPU s/GB':>9} {'ratio':>6} {'from origin':>12}")
    for kind, bytes_ in served.items():
        for state in ("cold", "warm"):
            costs: list[float] = []
            for name in CONTENDERS:
                of = runs[kind, state, name]
                cost = statistics.median(run.cpu for run in of) / bytes_ * 1e9
                costs.append(cost)
                seconds = statistics.median(run.seconds for run in of)
                upstream = statistics.median(run.upstream for run in of) / 1e6
                ratio = cost / costs[0] if costs[0] else float("nan")
                print(
                    f"{kind + ', ' + state:18} {name:14} {seconds:8.2f} {cost:9.3f} {ratio:6.2f} {upstream:9.1f} MB"
                )


if __name__ == "__main__":
    main()
