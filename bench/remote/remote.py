#!/usr/bin/env python3
"""Measure files that are far away: Sapwood, ROOT and uproot over http and root://, and draw docs/benchmarks/remote.md.

    python -m bench.remote.remote [--rounds 3] [--only PART_OF_A_LINK] [--caches 0,64 KB,10 MB,default]
    [--no-blocks] [--no-draw]

A query reads a few branches of a tree that ROOT wrote, through one link for all
(`crates/testkit/examples/wan.rs`) to a server of Debian's: Apache for http, XRootD for root://. Each read has
a process of its own and is given `LIMIT_S` seconds. Contenders take turns; a number is the median over the
rounds, and what took long is not done again. Sums of all values must agree.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.read.run import build_example, busy_seconds, machine, without_paths
from bench.remote.remote_page import page
from bench.support.files import CODECS, DATA, HERE, TREE, load_root
from bench.support.worker import exit_with
from tests.support import servers

FOLDER = DATA / "remote"
TARGET = HERE.parent / "docs" / "benchmarks" / "remote.md"
BRANCHES, ENTRIES, CLUSTER = 300, 495_000, 12_375
COLUMNS = ["b00003", "b00061", "b00122", "b00183", "b00244", "b00289"]
LIMIT_S = 120
"""A run that takes longer is given up."""
LONG_S = 25
"""What took longer is done once."""
CACHES = {"0": 0, "64 KB": 64_000, "10 MB": 10_000_000, "default": None}


@dataclass(frozen=True)
class Link:
    """A link by its round trip and its rate either way; none of both is this machine."""

    name: str
    trip_ms: float
    megabits: float

    def floor(self, trips: int, size: int) -> float:
        """Seconds that so many round trips and bytes take at least."""
        return trips * self.trip_ms / 1e3 + size / (self.megabits * 125e3) if self.megabits else 0.0


LINKS = [
    Link("local", 0, 0),
    Link("0.3 ms, 100 Mb/s", 0.3, 100),
    Link("2 ms, 10 Mb/s", 2, 10),
    Link("11 ms, 100 Mb/s", 11, 100),
    Link("22 ms, 100 Mb/s", 22, 100),
    Link("72 ms, 8 Mb/s", 72, 8),
    Link("240 ms, 10 Gb/s", 240, 10_000),
]
TRIPS = {"local": 0, "http": 4, "root": 5}
"""Connecting, of root:// the login, two round trips to find what is to be read, one to read it."""


def make(path: Path, branches: int = BRANCHES, cluster: int = CLUSTER) -> None:
    """The input, written by ROOT in a process of its own, unless it is there."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    line = [sys.executable, "-W", "ignore", "-m", "bench.remote.remote", "--make"]
    subprocess.run([*line, str(path), str(branches), str(cluster)], check=True)


def written(path: Path, branches: int, cluster: int) -> None:
    part = path.with_suffix(".part")
    load_root(DATA, ["gen"]).gen_wide(str(part), CODECS["zstd5"], ENTRIES, branches, cluster)
    part.rename(path)


def sizes(path: Path, columns: list[str] = COLUMNS) -> dict[str, int]:
    """Bytes of the file, of the query's baskets, and of what has to be read to find them."""
    import uproot

    file = uproot.open(path)
    tree = file[TREE]
    found = {"file": path.stat().st_size, "record": file.key(TREE).fNbytes, "entries": tree.num_entries}
    for name, part in (("query", "compressed_bytes"), ("baskets", "num_baskets")):
        found[name] = sum(getattr(tree[column], part) for column in columns)
    return found


class Wan:
    """A link to a server."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.port = int(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def counts(self) -> dict[str, int]:
        """What went through so far."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return dict(
            zip(("connections", "requests", "up", "down"), map(int, self._line().split()), strict=True)
        )


@contextmanager
def wan(program: Path, port: int, link: Link) -> Iterator[Wan]:
    command = [str(program), f"127.0.0.1:{port}", str(link.trip_ms), str(link.megabits)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield Wan(process)
    finally:
        process.kill()
        process.wait()


def trip(program: Path, link: Link, times: int = 15) -> float:
    """Milliseconds that a byte takes through the link and back: the median."""

    def echo() -> None:
        with listener.accept()[0] as far:
            while text := far.recv(100):
                far.sendall(text)

    taken = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=echo, daemon=True).start()
        with wan(program, listener.getsockname()[1], link) as way:
            with socket.create_connection(("127.0.0.1", way.port)) as near:
                for _ in range(times):
                    began = time.perf_counter()
                    near.sendall(b"?")
                    near.recv(100)
                    taken.append(1e3 * (time.perf_counter() - began))
    return statistics.median(taken[1:])  # the first waits for the connection


def read(job: dict[str, Any]) -> dict[str, Any]:
    """One read in a process of its own, and how busy the machine was with other things."""
    began, (machine_, own) = time.perf_counter(), busy_seconds()
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "bench.remote.remote_worker", json.dumps(job)],
            capture_output=True, text=True, timeout=LIMIT_S + 20, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"late": True}
    machine2, own2 = busy_seconds()
    lines = [x for x in done.stdout.splitlines() if x.startswith("{")]
    if not lines:
        return {"error": f"exit code {done.returncode}: {without_paths(done.stderr.strip()[-200:])}"}
    answer: dict[str, Any] = json.loads(lines[-1])
    if "error" in answer:
        return {"error": without_paths(answer["error"])}
    if answer["seconds"] > LIMIT_S:
        return {"late": True}
    spent = (time.perf_counter() - began) * (os.cpu_count() or 1)
    return answer | {"others": max(machine2 - machine_ - (own2 - own), 0.0) / max(spent, 1e-3)}


@dataclass(frozen=True)
class Cell:
    """One number of the tables."""

    link: str
    scheme: str
    reader: str
    cache: str


def cells(scheme: str, link: str, caches: list[str]) -> Iterator[Cell]:
    for cache in caches:
        yield Cell(link, scheme, "sapwood", cache)
        yield Cell(link, scheme, "root", cache)
    yield Cell(link, scheme, "uproot", "none")


class Results:
    """What was measured, by cell."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        names = ("link", "scheme", "reader", "cache")
        self.rows = {Cell(*(row[name] for name in names)): row for row in rows}
        self.fresh: set[Cell] = set()

    def add(self, cell: Cell, answer: dict[str, Any], counted: dict[str, int]) -> None:
        if cell not in self.fresh:
            self.fresh.add(cell)
            self.rows[cell] = {**cell.__dict__, "seconds": [], "cpu": []}
        row = self.rows[cell]
        for name in ("error", "late", "sum", "others"):
            if name in answer:
                row[name] = answer[name]
        for name in ("seconds", "cpu"):
            row[name] += [round(answer[name], 4)] if name in answer else []
        row |= counted
        shown = answer.get("error") or ("late" if answer.get("late") else f"{answer['seconds']:8.3f} s")
        numbers = " ".join(f"{name} {number}" for name, number in counted.items())
        print(f"{cell.link:18} {cell.scheme:6} {cell.reader:8} {cell.cache:8} {shown}  {numbers}", flush=True)

    def is_done(self, cell: Cell) -> bool:
        """Whether it failed or took long in this run."""
        if cell not in self.fresh:
            return False
        row = self.rows[cell]
        return "error" in row or "late" in row or max(row["seconds"]) > LONG_S

    def sums_differ(self) -> bool:
        sums = [row["sum"] for row in self.rows.values() if "sum" in row]
        middle = statistics.median(sums)
        return any(abs(one - middle) > 1e-6 * abs(middle) for one in sums)


def measure(
    results: Results, cell: Cell, url: str, way: Wan | None, options: dict[str, Any] | None = None
) -> None:
    if results.is_done(cell):
        return
    before = way.counts() if way else {}
    cache = CACHES.get(cell.cache)
    job = {"reader": cell.reader, "url": url, "columns": COLUMNS, "cache": cache, "options": options or {}}
    answer = read(job)
    after = way.counts() if way else {}
    results.add(cell, answer, {name: after[name] - before[name] for name in after})


def blocks(results: Results, link: str, scheme: str, url: str, way: Wan) -> None:
    """The cache of blocks: none, an empty one, a full one."""
    kept = FOLDER / "kept"
    shutil.rmtree(kept, ignore_errors=True)
    cache = {"cache": "blocks", "cache_dir": str(kept)}
    for name, options in (("no blocks", None), ("first run", cache), ("second run", cache)):
        measure(results, Cell(link, scheme, "sapwood", name), url, way, options)


def keep(results: Results, trips: dict[str, float], found: dict[str, int], args: Any) -> None:
    """Writes what there is, and the page: a run that is stopped keeps what was measured."""
    size = found["query"] + found["record"]
    floors = {
        link.name: {scheme: round(link.floor(TRIPS[scheme], size), 4) for scheme in TRIPS} for link in LINKS
    }
    rows = list(results.rows.values())
    document = {
        "machine": machine(),
        "rounds": args.rounds,
        "sizes": found,
        "trips": trips,
        "floors": floors,
        "rows": rows,
    }
    if args.results.exists() and (others := json.loads(args.results.read_text()).get("sessions")):
        document["sessions"] = others  # of a script of their own
    args.results.write_text(json.dumps(document, indent=1) + "\n")
    if not args.no_draw:
        TARGET.write_text(page(document))


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--only", default="", help="only links whose name contains this; the others stay")
    ap.add_argument("--caches", default=",".join(CACHES))
    ap.add_argument("--schemes", default="http,root")
    ap.add_argument("--readers", default="sapwood,root,uproot")
    ap.add_argument("--no-blocks", action="store_true", help="without the cache of blocks")
    ap.add_argument("--results", type=Path, default=HERE / "remote" / "remote.json")
    ap.add_argument("--wan", type=Path, help="the program that is the link, if it is built already")
    ap.add_argument("--no-draw", action="store_true", help="leave docs/benchmarks/remote.md as it is")
    ap.add_argument("--make", nargs=3, help=argparse.SUPPRESS)
    args = ap.parse_args()
    if args.make:
        path, branches, cluster = args.make
        written(Path(path), int(branches), int(cluster))
        sys.stdout.flush()
        os._exit(0)  # as above
    local = FOLDER / "far.root"
    make(local)
    program = args.wan or build_example("wan", "sapwood-testkit")
    old = json.loads(args.results.read_text()) if args.results.exists() else {"rows": [], "trips": {}}
    results, trips = Results(old["rows"]), old["trips"]
    caches, readers = args.caches.split(","), args.readers.split(",")
    links, found = [link for link in LINKS if args.only in link.name], sizes(local)
    with ExitStack() as stack:
        ports = {}
        for scheme, name in (("http", "apache2"), ("root", "xrootd")):
            server = stack.enter_context(servers.serving(name))
            shutil.copyfile(local, server.data / "far.root")
            os.chmod(server.data / "far.root", 0o644)
            ports[scheme] = int((server.url if scheme == "http" else server.root_url).rsplit(":", 1)[1])
        for _ in range(args.rounds):
            for link in links:
                if not link.megabits:
                    for cell in cells("local", link.name, caches):
                        if cell.reader in readers:
                            measure(results, cell, str(local), None)
                    keep(results, trips, found, args)
                    continue
                trips[link.name] = round(trip(program, link), 3)
                for scheme in args.schemes.split(","):
                    with wan(program, ports[scheme], link) as way:
                        url = f"{scheme}://127.0.0.1:{way.port}{'/' if scheme == 'http' else '//'}far.root"
                        for cell in cells(scheme, link.name, caches):
                            if cell.reader in readers:
                                measure(results, cell, url, way)
                        if link.trip_ms == 22 and not args.no_blocks:
                            blocks(results, link.name, scheme, url, way)
                    keep(results, trips, found, args)
    keep(results, trips, found, args)
    wrong = results.sums_differ()
    print("sums differ" if wrong else "sums agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    exit_with(main)
