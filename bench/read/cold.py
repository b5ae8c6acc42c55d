"""Whole files that are in no cache: from the disk, and from a store behind a link with a bounded rate.

    python -m bench.read.cold [--rounds 3] [--only PART_OF_A_NAME] [--links 0.3,1000] [--no-draw]

The inputs are those of bench.read.run. Before each read the system is told that it need not keep the file
(`posix_fadvise`); a read has a process of its own that has loaded its libraries with a tiny file. A link
(crates/testkit/examples/wan.rs) stands before Debian's Apache, whose file is in memory. Sums of all values
must agree.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bench.read.run import build_example, machine, run
from bench.remote.remote import Link, wan
from bench.support.draw import label, table
from bench.support.files import HERE, INPUTS, Input, make_cold
from bench.support.gen import generate
from bench.support.worker import exit_with
from tests.support import servers

TARGET = HERE.parent / "docs" / "benchmarks" / "cold.md"
NAMES = ("flat_zstd5", "flat_zlib1", "flat_none", "jagged_zlib1", "vectors_zstd5", "event_whole_zlib1")
BLOCK = 1 << 20


@dataclass(frozen=True)
class Contender:
    """Who reads, with how many threads."""

    title: str
    reader: str
    way: str
    threads: int = 1


CONTENDERS = (
    Contender("Sapwood", "sapwood", "arrays"),
    Contender("Sapwood, 2 threads", "sapwood", "arrays", 2),
    Contender("uproot", "uproot", "arrays"),
    Contender("ROOT", "root", "getentry"),
)


@dataclass
class Row:
    """One input from one place: seconds by contender, and of reading every byte in order."""

    name: str
    floor: list[float] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: dict[str, str] = field(default_factory=dict)
    sums: list[float] = field(default_factory=list)
    others: float = 0.0

    def of(self, who: str) -> float | None:
        return statistics.median(self.seconds[who]) if self.seconds[who] else None

    def cells(self) -> list[str]:
        floor, two = statistics.median(self.floor), self.of("Sapwood, 2 threads")
        seconds = [f"{x:.2f}" if (x := self.of(one.title)) else "cannot" for one in CONTENDERS]
        return [label(self.name), f"{floor:.2f}", *seconds, f"{two / floor:.2f}" if two else ""]


def all_bytes(path: Path) -> float:
    """Seconds in which a disk gives every byte of a file, in order."""
    make_cold(path)
    began = time.perf_counter()
    with path.open("rb", buffering=0) as file:
        while file.read(BLOCK):
            pass
    return time.perf_counter() - began


def measure(row: Row, one: Contender, i: Input, path: str) -> None:
    if one.title in row.errors:
        return
    job = {
        "reader": one.reader, "ways": [one.way], "path": path, "family": i.family, "columns": [],
        "threads": one.threads, "tiny": str(i.path("tiny")), "memory": True, "repeat": 1,
    }  # fmt: skip
    answer = run([sys.executable, "-W", "ignore", "-m", "bench.read.worker", json.dumps(job)])[0]
    if "error" in answer:
        row.errors[one.title] = answer["error"]
        print(f"{row.name:20} {one.title:20} {answer['error']}", flush=True)
        return
    row.seconds[one.title].append(answer["wall"][0])
    row.sums.append(answer["sum"])
    row.others = max(row.others, answer["others"])
    print(f"{row.name:20} {one.title:20} {answer['wall'][0]:8.3f} s", flush=True)


def inputs(only: str) -> Iterator[Input]:
    yield from (i for i in INPUTS if i.name in NAMES and only in i.name)


def from_disk(args: argparse.Namespace) -> list[Row]:
    rows = {i.name: Row(i.name) for i in inputs(args.only)}
    for _ in range(args.rounds):
        for i in inputs(args.only):
            path, row = i.path("full"), rows[i.name]
            row.floor.append(all_bytes(path))
            for one in CONTENDERS:
                make_cold(path)
                measure(row, one, i, str(path))
    return list(rows.values())


def through(link: Link, program: Path, args: argparse.Namespace) -> list[Row]:
    rows = []
    with ExitStack() as stack:
        server = stack.enter_context(servers.serving("apache2"))
        for i in inputs(args.only):
            local = server.data / "file.root"
            shutil.copyfile(i.path("full"), local)
            os.chmod(local, 0o644)
            row = Row(i.name, floor=[link.floor(4, local.stat().st_size)])
            with wan(program, int(server.url.rsplit(":", 1)[1]), link) as way:
                for one in CONTENDERS:
                    measure(row, one, i, f"http://127.0.0.1:{way.port}/file.root")
            rows.append(row)
    return rows


def page(tables: dict[str, list[Row]], args: argparse.Namespace) -> str:
    host, every = machine(), [row for rows in tables.values() for row in rows]
    busy = max((row.others for row in every), default=0.0)
    head = ["wall seconds", "every byte", *(one.title for one in CONTENDERS), "2 threads / every byte"]
    lines = [
        "# Cold files and slow links",
        "",
        f"`python -m bench.read.cold` on {host['cpu']}, {host['cores']} cores. All columns of the files of [the tables of",
        "reading](../benchmarks.md), from opening the file to the last value, when no cache has a byte of them. *Every byte* is",
        "how long all bytes of the file take to come, in order: nothing that reads all of them is faster. From a disk Python",
        "reads them in blocks of 1 MiB, over a link they are computed from its rate. Medians of "
        f"{args.rounds} rounds from the disk; over a link",
        f"each was read once. Other processes took up to {100 * busy:.0f} % of the machine.",
        "",
    ]
    for title, rows in tables.items():
        lines += [f"## {title}", "", table(head, [row.cells() for row in rows])]
        lines += [f"{label(row.name)}, {who}: {why}.\n" for row in rows for who, why in row.errors.items()]
    return "\n".join(lines)


def wrong_sums(tables: dict[str, list[Row]]) -> list[str]:
    """Files whose readers do not agree."""
    found = []
    for rows in tables.values():
        for row in rows:
            middle = statistics.median(row.sums)
            if any(abs(one - middle) > 1e-6 * abs(middle) for one in row.sums):
                found.append(row.name)
    return found


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--only", default="", help="only inputs whose name contains this")
    ap.add_argument(
        "--links", nargs="*", default=["1,1000", "11,100"], help="round trips in ms, and rates in Mb/s"
    )
    ap.add_argument("--no-draw", action="store_true", help="leave docs/benchmarks/cold.md as it is")
    args = ap.parse_args()
    for i in inputs(args.only):
        generate("full", i.name)
        generate("tiny", i.name)
    tables = {"From the disk": from_disk(args)}
    program = build_example("wan", "sapwood-testkit") if args.links else Path()
    for text in args.links:
        trip_ms, megabits = map(float, text.split(","))
        link = Link(text, trip_ms, megabits)
        tables[f"A round trip of {trip_ms:g} ms, {megabits:g} Mb/s"] = through(link, program, args)
    if not args.no_draw:
        TARGET.write_text(page(tables, args))
    wrong = wrong_sums(tables)
    print(f"sums differ: {', '.join(wrong)}" if wrong else "sums agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    exit_with(main)
