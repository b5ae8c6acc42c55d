#!/usr/bin/env python3
"""Measure the tree cache on cold local files, Sapwood beside ROOT's TTreeCache, as the tables of the talk of 2010 did; and draw
docs/benchmarks/treecache.md.

    python -m bench.read.treecache [--scale 0.25] [--only TABLE ...] [--rows PART]
            [--readers arrays] [--program rows | --count] [--no-draw]

ROOT writes the files (`bench/read/treecache.C`); at scale 1 they have the sizes of the talk. Each read has a
process of its own, of which the system's cache holds nothing of the file when it begins, and is done once.
Sums of all values must agree. What was measured is kept in `bench/read/treecache.json`, so that a table
may be measured alone. At scale 1 `all`, `few`, `runs`, `events`, `layouts` and `lists` are kept and drawn
apart, as treecache-full; all of them take more than an hour.
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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.read.run import busy_seconds, machine, without_paths
from bench.read.treecache_page import full_page, page
from bench.support.files import DATA, HERE

FOLDER = DATA / "treecache"
PAGES = HERE.parent / "docs" / "benchmarks"
MB = 1_000_000
READAHEAD = 256_000
READERS = ("root", "arrays", "rows")
TOLD = ("root_entry_list", "root_event_list")
"""ROOT whose tree is told of the entries."""
BRANCHES = 9_705
LIMIT_S = 120
"""A run that takes longer is given up, at scale 0.25 and below; at larger ones as much longer."""
TIMES = ("seconds", "cpu", "others")


@dataclass(frozen=True)
class Input:
    """A file that ROOT writes: `entries` at scale 1. `flush` and `basket` as in `cache_write`."""

    name: str
    kind: str
    trees: int
    branches: int
    entries: int
    flush: int
    basket: int = 0

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.root"

    def trees_of(self) -> list[str]:
        return [f"t{number}" for number in range(self.trees)]


INPUTS = [
    Input("interleaved", "arrays", 1, BRANCHES, 3_500, 0, basket=1_465),
    Input("objects", "objects", 1, BRANCHES, 3_500, 1),
    Input("minbias", "arrays", 1, 1_128, 13_000, 0),
    Input("minbias flushed", "arrays", 1, 1_128, 13_000, 1),
    Input("cms", "lists", 1, 1_270, 4_000, 0),
    Input("cms flushed", "lists", 1, 1_270, 4_000, 1),
    Input("four", "arrays", 4, 280, 8_000, -3 * MB),
]
RECLUSTERED = Input("reclustered", "arrays", 1, BRANCHES, 3_500, 1)
"""By `sapwood.rewrite`, from the interleaved one."""
LAYOUTS = {
    'order="entry"': {"order": "entry"},
    'order="entry", auto_flush="100 MB"': {"order": "entry", "auto_flush": "100 MB"},
    'order="branch"': {"order": "branch"},
    'order="branch", auto_flush="100 MB"': {"order": "branch", "auto_flush": "100 MB"},
}
"""What it was told; the first of these are those of the reclustered file."""


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


def laid_out(options: dict[str, str]) -> Input:
    """The file of a layout."""
    name = " ".join(["layout", *options.values()])
    return RECLUSTERED if options == {"order": "entry"} else replace(RECLUSTERED, name=name)


def scaled(file: Input, scale: float) -> int:
    return max(int(file.entries * scale), 20)


def some_events(count: int) -> list[int]:
    """A fifth of the events, here and there, in their order."""
    return sorted(random.Random(1).sample(range(count), count // 5))


def some_runs(count: int, length: int = 60) -> list[int]:
    """A fifth of the events, in runs of about so many: one at some place of each equal part."""
    chance, parts = random.Random(3), max(round(count / 5 / length), 1)
    run, part = count // 5 // parts, count // parts
    begins = [k * part + chance.randrange(part - run + 1) for k in range(parts)]
    return [entry for begin in begins for entry in range(begin, begin + run)]


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
    layouts = {"interleaved": "interleaved", "reclustered": "reclustered", "objects": "unsplit"}
    few = [f"b{k:05d}" for k in range(0, BRANCHES, 33)]
    count = scaled(files["interleaved"], scale)
    for name, row in layouts.items():
        for cache in (0, 10, 30, 200):
            yield Cell("all", row, cache, files[name])
    for name, row in layouts.items():
        if name != "objects":
            for cache in (0, 10, 30, 200):
                yield Cell("few", row, cache, files[name], columns=few)
    for table, events in (("runs", some_runs(count)), ("events", some_events(count))):
        for name, row in layouts.items():
            for cache in (0, 10, 30, 200) if scale == 1 and table == "runs" else (0, 30):
                yield Cell(table, row, cache, files[name], entries=events)
    near = [f"b{k:05d}" for k in range(4_000, 4_000 + len(few))]
    layouts_of = {"as it was": files["interleaved"]} | {
        layout: laid_out(options) for layout, options in LAYOUTS.items()
    }
    uses: dict[str, tuple[list[str], list[int]]] = {
        "every 33rd branch": (few, []),
        "as many side by side": (near, []),
        "everything": ([], []),
        "a fifth of the events in runs": ([], some_runs(count)),
    }
    for what, (columns, events) in uses.items():
        for layout, file in layouts_of.items():
            yield Cell("layouts", f"{what}; {layout}", 30, file, columns=columns, entries=events)
    for what, events in (("in runs", some_runs(count)), ("at random", some_events(count))):
        for name, row in layouts.items():
            yield Cell("lists", f"{row}, {what}", 30, files[name], entries=events)
    for name in ("minbias", "minbias flushed", "cms", "cms flushed"):
        for cache in (0, 20, 30, *([40] if "minbias" in name else []), 60):
            yield Cell("kinds", name, cache, files[name])
    for size in (0, 256_000, 2 * MB):
        yield Cell(
            "readahead", f"few of interleaved, {size // 1000} KB", 30, files["interleaved"], columns=few,
            readahead=size,
        )  # fmt: skip
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


def ask(job: dict[str, Any], scale: float) -> dict[str, Any]:
    """A process of its own, and how busy the machine was with other things."""
    limit = LIMIT_S * max(scale / 0.25, 1.0)
    began, (machine_, own) = time.perf_counter(), busy_seconds()
    command = [sys.executable, "-W", "ignore", "-m", "bench.read.treecache_worker", json.dumps(job)]
    if len(command[-1]) > 100_000:
        sys.exit("a job is too long for a command line")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"more than {limit:.0f} s"}
    lines = [x for x in done.stdout.splitlines() if x.startswith("{")]
    if not lines:
        return {"error": f"exit code {done.returncode}: {without_paths(done.stderr.strip()[-200:])}"}
    answer: dict[str, Any] = json.loads(lines[-1])
    if "error" in answer:
        return {"error": without_paths(answer["error"])}
    machine2, own2 = busy_seconds()
    spent = (time.perf_counter() - began) * (os.cpu_count() or 1)
    return answer | {"others": max(machine2 - machine_ - (own2 - own), 0.0) / max(spent, 1e-3)}


def write(scale: float, wanted: set[str]) -> None:
    """The inputs that are wanted and missing, or were written at another scale."""
    import sapwood

    FOLDER.mkdir(parents=True, exist_ok=True)
    known = FOLDER / "scale"
    if not known.exists() or known.read_text() != str(scale):
        for path in FOLDER.glob("*.root"):
            path.unlink()
        known.write_text(str(scale))
    layouts = [options for options in LAYOUTS.values() if laid_out(options).name in wanted]
    for file in INPUTS:
        if (file.name in wanted or layouts and file is INPUTS[0]) and not file.path.exists():
            part = file.path.with_suffix(".part")
            entries = scaled(file, scale)
            given = [str(part), file.kind, file.trees, file.branches, entries, file.flush, 101, file.basket]
            if "error" in (answer := ask({"reader": "write", "given": given}, scale)):
                sys.exit(f"{file.name}: {answer['error']}")
            part.rename(file.path)  # a file that is there is whole
    for options in layouts:
        if not (path := laid_out(options).path).exists():
            sapwood.rewrite(INPUTS[0].path, path, **options)


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


def kept(scale: float) -> str:
    """The name of the page and of the record at a scale."""
    return "treecache-full" if scale == 1 else "treecache"


def record(scale: float) -> dict[str, Any]:
    """What was measured at this scale so far."""
    path = HERE / "read" / f"{kept(scale)}.json"
    known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    new = {"scale": scale, "machine": machine(), "sizes": {}, "rows": []}
    return known if known.get("scale") == scale else new


def keep(row: dict[str, Any], scale: float) -> None:
    """Puts a row into the record, in the place of one that was measured before, and draws the page."""
    document = record(scale)
    rows = {(old["table"], old["row"], old["cache"]): old for old in document["rows"]}
    key = (row["table"], row["row"], row["cache"])
    known = rows[key]["of"] if key in rows else {}
    of = dict(known)
    for reader, answer in row["of"].items():
        times = {name: x for name, x in known.get(reader, {}).items() if name in TIMES}
        numbers = {name: x for name, x in answer.items() if name not in ("sum", "first")}
        is_counted = "calls" in answer and "seconds" not in answer
        of[reader] = {**numbers, **times} if is_counted else numbers
        if not is_counted:
            document["machine"] = machine()
    rows[key] = {**row, "of": of}
    keys = [(cell.table, cell.row, cell.cache) for cell in cells(scale)]
    document["rows"] = [rows[key] for key in keys if key in rows]
    document["is_whole"] = len(document["rows"]) == len(keys)
    for file in (*INPUTS, RECLUSTERED):
        if file.path.exists():
            document["sizes"][file.name] = round(file.path.stat().st_size / MB)
    lines = ",\n".join(json.dumps(one) for one in document.pop("rows"))
    path = HERE / "read" / f"{kept(scale)}.json"
    path.write_text(f'{json.dumps(document)[:-1]}, "rows": [\n{lines}\n]}}\n')
    document = record(scale)
    drawn = full_page(document) if scale == 1 else page(document)
    (PAGES / f"{kept(scale)}.md").write_text(drawn)


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--scale", type=float, default=0.25, help="1: files of the sizes of the talk")
    ap.add_argument("--only", nargs="+", help="only these tables (`all`, `few`, `runs` and so on)")
    ap.add_argument("--rows", default="", help="only rows whose name contains this")
    ap.add_argument("--readers", nargs="+", help="only these of `root`, `arrays` and `rows`; the others stay")
    ap.add_argument("--program", type=Path, help="the example `rows`, if it is built already")
    ap.add_argument(
        "--count", action="store_true",
        help="calls and bytes only, on any machine: `rows` through Python, and times stay as they were",
    )  # fmt: skip
    ap.add_argument("--no-draw", action="store_true", help="leave the page and the record as they are")
    args = ap.parse_args()
    program = "" if args.count else args.program or build()
    wanted = [
        cell
        for cell in cells(args.scale)
        if (not args.only or cell.table in args.only) and args.rows in cell.row
    ]
    write(args.scale, {cell.file.name for cell in wanted})
    rows: list[dict[str, Any]] = []
    for cell in wanted:
        job = {
            "path": str(cell.file.path), "trees": cell.trees or cell.file.trees_of(), "columns": cell.columns,
            "entries": cell.entries,
            "cache": cell.cache * MB, "readahead": cell.readahead, "threads": os.cpu_count() or 1,
            "program": str(program),
        }  # fmt: skip
        found = {}
        for reader in (*READERS, *(TOLD if cell.table == "lists" else ())):
            if cell.table == "readahead" and reader != "root" and cell.readahead != READAHEAD:
                continue  # only ROOT has that setting
            if args.readers and reader not in args.readers:
                continue
            found[reader] = ask({**job, "reader": reader}, args.scale)
            if args.count:
                found[reader] = {name: x for name, x in found[reader].items() if name not in TIMES}
            shown = {
                name: round(number, 2) for name, number in found[reader].items() if isinstance(number, float)
            }
            print(cell.table, cell.row, cell.cache, reader, found[reader].get("error", shown), flush=True)
        rows.append({"table": cell.table, "row": cell.row, "cache": cell.cache, "of": found})
        if not args.no_draw:
            keep(rows[-1], args.scale)  # a run that is stopped keeps what was measured
    wrong = differing(rows)
    print("\n".join(["sums differ:", *wrong]) if wrong else "sums agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
