#!/usr/bin/env python3
"""Measure the tree cache on cold local files, Sapwood beside ROOT's TTreeCache, as the tables of the talk of 2010 did; and draw
docs/benchmarks/treecache.md.

    python -m bench.read.treecache [--scale 0.25] [--only PART_OF_A_TABLE] [--program rows] [--no-draw]

ROOT writes the files (`bench/read/treecache.C`); at scale 1 they have the sizes of the talk. Each read has a
process of its own, of which the system's cache holds nothing of the file when it begins, and is done once.
Sums of all values must agree.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.read.run import busy_seconds, machine, without_paths
from bench.read.treecache_page import page
from bench.support.files import DATA, HERE

FOLDER = DATA / "treecache"
TARGET = HERE.parent / "docs" / "benchmarks" / "treecache.md"
MB = 1_000_000
READAHEAD = 256_000
READERS = ("root", "arrays", "rows")
BRANCHES = 9_705
LIMIT_S = 120
"""A run that takes longer is given up."""


@dataclass(frozen=True)
class Input:
    """A file that ROOT writes: `entries` at scale 1. `flush` as in `cache_write`."""

    name: str
    kind: str
    trees: int
    branches: int
    entries: int
    flush: int

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.root"

    def trees_of(self) -> list[str]:
        return [f"t{number}" for number in range(self.trees)]


INPUTS = [
    Input("old", "arrays", 1, BRANCHES, 3_500, 0),
    Input("objects", "objects", 1, BRANCHES, 3_500, 1),
    Input("minbias", "arrays", 1, 1_128, 13_000, 0),
    Input("minbias flushed", "arrays", 1, 1_128, 13_000, 1),
    Input("cms", "lists", 1, 1_270, 4_000, 0),
    Input("cms flushed", "lists", 1, 1_270, 4_000, 1),
    Input("four", "arrays", 4, 280, 8_000, -3 * MB),
]
RECLUSTERED = Input("reclustered", "arrays", 1, BRANCHES, 3_500, 1)
"""By `sapwood.rewrite`, from the old one."""


@dataclass(frozen=True)
class Cell:
    """One read."""

    table: str
    row: str
    cache: int
    file: Input
    columns: list[str] = field(default_factory=list)
    entries: list[int] = field(default_factory=list)
    trees: list[str] = field(default_factory=list)
    readahead: int = READAHEAD


def scaled(file: Input, scale: float) -> int:
    return max(int(file.entries * scale), 20)


def some_events(count: int) -> list[int]:
    """A fifth of the events, here and there, in their order."""
    return sorted(random.Random(1).sample(range(count), count // 5))


def orders(count: int, sections: int = 40) -> dict[str, list[int]]:
    """Events in the order of the tree, and in that of luminosity sections, the events of which ended up in the tree here and there: in the order of the tree
    within a section, and in that of the detector."""
    chance = random.Random(2)
    long = count / sections
    section = [int((entry + chance.uniform(-2 * long, 2 * long)) // long) for entry in range(count)]
    number = [chance.random() for _ in range(count)]
    entries = range(count)
    return {
        "entries of the tree": [],
        "sections, entries in each": sorted(entries, key=lambda entry: (section[entry], entry)),
        "sections, events in each": sorted(entries, key=lambda entry: (section[entry], number[entry])),
    }


def cells(scale: float) -> Iterator[Cell]:
    files = {file.name: file for file in (*INPUTS, RECLUSTERED)}
    layouts = {"old": "32 KB baskets", "reclustered": "reclustered", "objects": "unsplit"}
    few = [f"b{k:05d}" for k in range(0, BRANCHES, 33)]
    events = some_events(scaled(files["old"], scale))
    for name, row in layouts.items():
        for cache in (0, 10, 30, 200):
            yield Cell("all", row, cache, files[name])
    for name, row in layouts.items():
        if name != "objects":
            for cache in (0, 10, 30, 200):
                yield Cell("few", row, cache, files[name], columns=few)
    for name, row in layouts.items():
        for cache in (0, 30):
            yield Cell("events", row, cache, files[name], entries=events)
    for name in ("minbias", "minbias flushed", "cms", "cms flushed"):
        for cache in (0, 20, 30, 60):
            yield Cell("kinds", name, cache, files[name])
    for size in (0, 256_000, 2 * MB):
        yield Cell(
            "readahead", f"few of old, {size // 1000} KB", 30, files["old"], columns=few, readahead=size
        )
    for size in (0, 256_000, 2 * MB):
        yield Cell("readahead", f"minbias, {size // 1000} KB", 30, files["minbias"], readahead=size)
    trees = files["four"].trees_of()
    for tree in trees:
        yield Cell("step", f"{tree} alone", 1, files["four"], trees=[tree])
    yield Cell("step", "four in step", 1, files["four"], trees=trees)
    for row, entries in orders(scaled(files["four"], scale)).items():
        yield Cell("order", row, 1, files["four"], trees=["t0"], entries=entries)


def build() -> Path:
    """The program that goes from entry to entry for us."""
    lines = subprocess.run(
        ["cargo", "build", "--release", "--example", "rows", "-p", "sapwood", "--message-format=json"],
        check=True, capture_output=True, text=True, cwd=HERE.parent,
    ).stdout.splitlines()  # fmt: skip
    made = [json.loads(line) for line in lines if line.startswith("{")]
    return next(Path(x["executable"]) for x in made if x.get("executable") and x["target"]["name"] == "rows")


def ask(job: dict[str, Any]) -> dict[str, Any]:
    """A process of its own, and how busy the machine was with other things."""
    began, (machine_, own) = time.perf_counter(), busy_seconds()
    command = [sys.executable, "-W", "ignore", "-m", "bench.read.treecache_worker", json.dumps(job)]
    if len(command[-1]) > 100_000:
        sys.exit("a job is too long for a command line")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"more than {LIMIT_S} s"}
    lines = [x for x in done.stdout.splitlines() if x.startswith("{")]
    if not lines:
        return {"error": f"exit code {done.returncode}: {without_paths(done.stderr.strip()[-200:])}"}
    answer: dict[str, Any] = json.loads(lines[-1])
    if "error" in answer:
        return {"error": without_paths(answer["error"])}
    machine2, own2 = busy_seconds()
    spent = (time.perf_counter() - began) * (os.cpu_count() or 1)
    return answer | {"others": max(machine2 - machine_ - (own2 - own), 0.0) / max(spent, 1e-3)}


def write(scale: float) -> None:
    """The inputs that are missing, or were written at another scale."""
    import sapwood

    FOLDER.mkdir(parents=True, exist_ok=True)
    known = FOLDER / "scale"
    if not known.exists() or known.read_text() != str(scale):
        for path in FOLDER.glob("*.root"):
            path.unlink()
        known.write_text(str(scale))
    for file in INPUTS:
        if not file.path.exists():
            part = file.path.with_suffix(".part")
            given = [str(part), file.kind, file.trees, file.branches, scaled(file, scale), file.flush, 101]
            if "error" in (answer := ask({"reader": "write", "given": given})):
                sys.exit(f"{file.name}: {answer['error']}")
            part.rename(file.path)  # a file that is there is whole
    if not RECLUSTERED.path.exists():
        sapwood.rewrite(INPUTS[0].path, RECLUSTERED.path, order="entry")


def differing(rows: list[dict[str, Any]]) -> list[str]:
    """Cells whose readers do not agree."""
    wrong = []
    for row in rows:
        of = row["of"]
        for name in ("sum", "first"):
            sums = [answer[name] for answer in of.values() if name in answer]
            if sums and max(sums) - min(sums) > 1e-9 * abs(max(sums)):
                wrong.append(f"{row['table']}, {row['row']}, {row['cache']} MB: {sums}")
    return wrong


def draw(rows: list[dict[str, Any]], scale: float, is_whole: bool) -> None:
    sizes = {file.name: round(file.path.stat().st_size / MB) for file in (*INPUTS, RECLUSTERED)}
    TARGET.write_text(
        page({"machine": machine(), "scale": scale, "sizes": sizes, "rows": rows, "is_whole": is_whole})
    )


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--scale", type=float, default=0.25, help="1: files of the sizes of the talk")
    ap.add_argument("--only", default="", help="only tables whose name contains this; nothing is drawn")
    ap.add_argument("--program", type=Path, help="the example `rows`, if it is built already")
    ap.add_argument("--no-draw", action="store_true", help="leave docs/benchmarks/treecache.md as it is")
    args = ap.parse_args()
    program = args.program or build()
    write(args.scale)
    rows: list[dict[str, Any]] = []
    for cell in cells(args.scale):
        if args.only not in cell.table:
            continue
        job = {
            "path": str(cell.file.path), "trees": cell.trees or cell.file.trees_of(), "columns": cell.columns,
            "entries": cell.entries,
            "cache": cell.cache * MB, "readahead": cell.readahead, "threads": os.cpu_count() or 1,
            "program": str(program),
        }  # fmt: skip
        found = {}
        for reader in READERS:
            if cell.table == "readahead" and reader != "root" and cell.readahead != READAHEAD:
                continue  # only ROOT has that setting
            found[reader] = ask({**job, "reader": reader})
            shown = {
                name: round(number, 2) for name, number in found[reader].items() if isinstance(number, float)
            }
            print(cell.table, cell.row, cell.cache, reader, found[reader].get("error", shown), flush=True)
        rows.append({"table": cell.table, "row": cell.row, "cache": cell.cache, "of": found})
        if not args.no_draw and not args.only:
            draw(rows, args.scale, is_whole=False)  # a run that is stopped keeps what was measured
    if not args.no_draw and not args.only:
        draw(rows, args.scale, is_whole=True)
    wrong = differing(rows)
    print("\n".join(["sums differ:", *wrong]) if wrong else "sums agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
