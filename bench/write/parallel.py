#!/usr/bin/env python3
"""Measure filling one tree from many threads: Sapwood's ParallelWriter beside ROOT's TBufferMerger, its RDataFrame, uproot, and the limit;
and draw docs/benchmarks/parallel.md.

    python -m bench.write.parallel [--clusters 64] [--rounds 3] [--only NAME] [--no-draw]

Each cluster has about 4 MB before ZLIB 1, whatever the number of branches. Values are in memory before a
measurement begins; it ends when the file is closed. Contenders take turns, each run in a process of its own;
a number is the median of the rounds.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.read.run import build_example, build_limit, machine, run
from bench.support.files import DATA, HERE

CONTEXTS = (1, 2, 4, 8, 64)
TARGET = HERE.parent / "docs" / "benchmarks" / "parallel.md"
WHO = ("sapwood", "numbered", "merger", "snapshot", "uproot", "limit")


@dataclass(frozen=True)
class Row:
    """What is filled; `rows` are those of a cluster."""

    kind: str
    branches: int
    rows: int

    @property
    def name(self) -> str:
        return "event" if self.kind == "event" else f"{self.kind} {self.branches:,}"


ROWS = [
    *(Row("flat", branches, 1_000_000 // branches) for branches in (20, 1_000, 10_000)),
    *(Row("jagged", branches, 500_000 // branches) for branches in (20, 1_000)),
    Row("event", 1, 100),
]

ROOT = f"""
import json, sys
sys.path.insert(0, {str(HERE.parent)!r})
from bench.support.files import DATA, load_root
root = load_root(DATA, ["parallel"])
print(json.dumps({{"seconds": getattr(root, sys.argv[1])(*[int(x) if x.isdigit() else x for x in sys.argv[2:]])}}))
"""
UPROOT = """
import json, sys, time
import awkward as ak, numpy as np, uproot
kind, path, branches, rows, clusters = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
counts = 7 * np.arange(rows) % 5
random = np.random.default_rng(1)
def column():
    numbers = (1 + random.integers(0, 4096, counts.sum() if kind == "jagged" else rows) / 4096).astype("f4")
    return ak.unflatten(numbers, counts) if kind == "jagged" else numbers
columns = {f"b{b}": column() for b in range(branches)}
kinds = {name: "var * float32" if kind == "jagged" else "f4" for name in columns}
began = time.perf_counter()
with uproot.recreate(path, compression=uproot.ZLIB(1)) as file:
    tree = file.mktree("tree", kinds)
    for _ in range(clusters):
        tree.extend(columns)
print(json.dumps({"seconds": time.perf_counter() - began}))
"""


def commands(
    program: Path, limit: Path, row: Row, contexts: int, args: argparse.Namespace
) -> dict[str, list[str]]:
    """How each contender fills: those that can."""
    numbers = [str(x) for x in (contexts, row.branches, row.rows, args.clusters)]
    python = [sys.executable, "-W", "ignore", "-c"]
    ours = args.out / "ours.root"
    found = {"sapwood": [str(program), str(ours), row.kind, *numbers, "zlib:1"]}
    found["numbered"] = [*found["sapwood"], "numbered"]
    found["merger"] = [*python, ROOT, "fill", row.kind, str(args.out / "root.root"), *numbers, "101"]
    if row.branches < 10_000:  # it makes code for each column
        found["snapshot"] = [
            *python,
            ROOT,
            "snapshot",
            str(args.out / "source.root"),
            str(args.out / "root.root"),
            str(contexts),
            "101",
        ]
    if row.kind != "event" and row.branches < 10_000 and contexts == 1:  # minutes, else
        found["uproot"] = [*python, UPROOT, row.kind, str(args.out / "uproot.root"), *numbers[1:]]
    if contexts <= 2:
        found["limit"] = [
            str(limit),
            "--write",
            str(ours),
            str(args.out / "limit.root"),
            "--codec",
            "zlib:2",
            "--threads",
            str(contexts),
        ]
    return found


def measure(program: Path, limit: Path, row: Row, contexts: int, args: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, list[float]] = {}
    for _ in range(args.rounds):
        for who, command in commands(program, limit, row, contexts, args).items():
            answer = run(command)[0]
            if "error" in answer:
                print(row.name, contexts, who, answer["error"], file=sys.stderr)
                continue
            found.setdefault(who, []).append(answer["wall"][0] if who == "limit" else answer["seconds"])
            if who == "sapwood":
                found.setdefault("held", []).append(answer["held"])
            found.setdefault("others", []).append(answer["others"])
    return {
        "name": row.name,
        "contexts": contexts,
        **{who: round(statistics.median(all_), 3) for who, all_ in found.items()},
    }


def draw(results: dict[str, Any]) -> str:
    machine = results["machine"]
    lines = [
        "# Filling one tree from many threads",
        "",
        f"`python -m bench.write.parallel --clusters {results['clusters']} --rounds {results['rounds']}` on {machine['cpu']}, {machine['cores']} cores. Each cluster holds about 4 MB",
        "before ZLIB 1. *flat N*: N branches of numbers; *jagged N*: N of lists that share a counter; *event*: objects of 600 tracks, split. Arrays are",
        "given to Sapwood and uproot, rows to ROOT, which has no other way; events are given by row to both. *numbered*: the order of clusters is that of",
        "their numbers, so that the file does not depend on the threads. *TBufferMerger* merges each cluster as it comes; *Snapshot* is RDataFrame's,",
        "which reads the values from an uncompressed file. *limit*: the same baskets, swapped, compressed and written without an engine. Seconds, median.",
        "*gain*: against one context of its own; *lock*: microseconds in which a commit holds the file's lock, where no thread loses its core meanwhile.",
        "",
        "| | contexts | Sapwood | numbered | TBufferMerger | Snapshot | uproot | limit | gain | limit's gain | lock, µs |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    alone: dict[str, dict[str, float]] = {}
    for row in results["rows"]:
        first = alone.setdefault(row["name"], row)
        seconds = [f"{row[who]:.2f}" if who in row else "" for who in WHO]
        gains = [
            f"{first[who] / row[who]:.2f}" if who in row and who in first else ""
            for who in ("sapwood", "limit")
        ]
        held = f"{row['held']:.0f}" if row["contexts"] <= machine["cores"] else ""
        lines.append(f"| {row['name']} | {row['contexts']} | {' | '.join([*seconds, *gains, held])} |")
    others = max(row["others"] for row in results["rows"])
    lines += [
        "",
        f"Other processes took at most {100 * others:.0f} % of the machine in the median run of a row.",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--clusters", type=int, default=64)
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--only", default="", help="only rows whose name contains this")
    ap.add_argument("--out", type=Path, default=DATA / "parallel")
    ap.add_argument("--no-draw", action="store_true", help="leave docs/benchmarks/parallel.md as it is")
    args = ap.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    program, limit, rows = build_example("parallel", "sapwood"), build_limit(), []
    for row in ROWS:
        if args.only not in row.name:
            continue
        # What Snapshot reads; with it the compiler does what it has to do once.
        numbers = [str(x) for x in (1, row.branches, row.rows, args.clusters)]
        run(
            [
                sys.executable,
                "-W",
                "ignore",
                "-c",
                ROOT,
                "fill",
                row.kind,
                str(args.out / "source.root"),
                *numbers,
                "0",
            ]
        )
        for contexts in CONTEXTS:
            rows.append(measure(program, limit, row, contexts, args))
            print(rows[-1], flush=True)
    results = {"machine": machine(), "clusters": args.clusters, "rounds": args.rounds, "rows": rows}
    for path in args.out.glob("*.root"):
        path.unlink()
    if not args.no_draw:
        TARGET.write_text(draw(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
