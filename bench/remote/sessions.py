#!/usr/bin/env python3
"""The four sessions of the talk of 2010 on a file of 1 GB: local, remote, and with a cache that stays, for the
first and for the second time; a section of docs/benchmarks/remote.md.

    python -m bench.remote.sessions [--entries 3300] [--delay 0.001] [--rounds 3] [--busy] [--no-draw]

ROOT writes the file, of 9,705 branches as that of the talk; all of it is read, a part at a time, in processes
of their own, of which the system holds nothing of the file or of the kept blocks when they begin. A server of
ours counts what it is asked for; it waits so many seconds before each answer. On a machine that is `--busy`
CPU times are kept, and no others. Times are medians over the rounds; counts have to be the same in all.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.read.run import machine
from bench.read.treecache import ask
from bench.read.treecache_worker import make_cold
from bench.remote.remote_page import page
from bench.support.files import DATA, HERE
from tests.support import ranged

FOLDER = DATA / "sessions"
RECORD = HERE / "remote" / "remote.json"
TARGET = HERE.parent / "docs" / "benchmarks" / "remote.md"
READ = """
import json, sys, time, sapwood
from bench.read.worker import cpu_seconds
path, options = json.loads(sys.argv[1])
wall, cpu = time.perf_counter(), cpu_seconds()
tree = sapwood.open(path, **options)["t0"]
rows = total = 0
with tree.perf as perf:
    for arrays in tree.iterate(step_size="100 MB", library="np"):
        rows += len(arrays["b00001"])
        total += sum(float(arrays[f"b{k:05d}"].sum(dtype="f8")) for k in range(1, 9_705, 97))
answer = {"seconds": time.perf_counter() - wall, "cpu": cpu_seconds() - cpu, "sum": [rows, total]}
print(json.dumps(answer | {"calls": tree.perf.figures["ReadCalls"].value}))
"""


def write(path: Path, entries: int) -> None:
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    given = [str(part), "arrays", 1, 9_705, entries, -30_000_000, 101, 0]
    if "error" in (answer := ask({"reader": "write", "given": given})):
        sys.exit(answer["error"])
    part.rename(path)


def stored(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def measure(path: Path, delay: float) -> list[dict[str, Any]]:
    kept = path.parent / "kept"
    shutil.rmtree(kept, ignore_errors=True)
    cache = {"cache": "blocks", "cache_dir": str(kept)}
    rows = []
    with ranged.serving(path.parent, delay) as server:
        url = f"{server.url}/{path.name}"
        for name, place, options in (
            ("local", str(path), {}),
            ("remote", url, {}),
            ("with cache, first time", url, cache),
            ("with cache, second time", url, cache),
        ):
            for file in (path, *stored(kept)):
                make_cold(str(file))
            server.forget()
            line = [sys.executable, "-W", "ignore", "-c", READ, json.dumps([place, options])]
            answer = json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
            answer |= {"session": name, "requests": len(server.asked), "sent": server.sent}
            answer["ranges"] = sum(text.count(",") + 1 for text in server.asked)
            answer["kept"] = sum(file.stat().st_blocks * 512 for file in stored(kept))
            print(answer, flush=True)
            rows.append(answer)
    shutil.rmtree(kept, ignore_errors=True)
    return rows


def middle(rounds: list[list[dict[str, Any]]], is_busy: bool) -> list[dict[str, Any]]:
    """Each session with the medians of its times."""
    found = []
    for of in zip(*rounds, strict=True):
        varying = ("seconds", "cpu", "kept")
        counts = [{name: x for name, x in row.items() if name not in varying} for row in of]
        if any(one != counts[0] for one in counts):
            sys.exit(f"rounds differ: {counts}")
        names = ("cpu",) if is_busy else ("cpu", "seconds")
        times = {name: round(statistics.median(row[name] for row in of), 2) for name in names}
        found.append({**counts[0], "kept": of[0]["kept"], **times})
    return found


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--entries", type=int, default=3_300)
    ap.add_argument("--delay", type=float, default=0.001, help="seconds before each answer")
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--busy", action="store_true", help="the machine does other things: no real times")
    ap.add_argument("--no-draw", action="store_true", help="leave the page and the record as they are")
    args = ap.parse_args()
    path = FOLDER / f"sessions{args.entries}.root"
    write(path, args.entries)
    rows = middle([measure(path, args.delay) for _ in range(args.rounds)], args.busy)
    if not args.no_draw:
        document = json.loads(RECORD.read_text())
        document["sessions"] = {
            "size": path.stat().st_size, "delay": args.delay, "rounds": args.rounds, "busy": args.busy,
            "machine": machine(), "rows": rows,
        }  # fmt: skip
        RECORD.write_text(json.dumps(document, indent=1) + "\n")
        TARGET.write_text(page(document))
    wrong = len({tuple(row["sum"]) for row in rows}) > 1
    print("sums differ" if wrong else "sums agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
