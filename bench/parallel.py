#!/usr/bin/env python3
"""Measure filling one tree from many threads: Sapwood's ParallelWriter beside ROOT's TBufferMerger, and draw docs/benchmarks/parallel.md.

    python bench/parallel.py [--clusters 128] [--rounds 3] [--only PART] [--no-draw]

Each cluster has 4 MB of numbers before compression, whatever the number of branches. Values are in memory before a measurement begins;
it ends when the file is closed. Contenders take turns, each run in a process of its own; a number is the median of the rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from files import DATA, HERE
from run import machine, run

BRANCHES = {20: 50_000, 1_000: 1_000, 10_000: 100}
"""Rows of a cluster by the number of branches."""
CONTEXTS = (1, 2, 4, 8, 64)
TARGET = HERE.parent / "docs" / "benchmarks" / "parallel.md"

ROOT = """
import json, sys
import ROOT
ROOT.gROOT.SetBatch(True)
ROOT.gSystem.CompileMacro(sys.argv[1], "kOs", "", sys.argv[2])
print(json.dumps({"seconds": ROOT.fill(sys.argv[3], *map(int, sys.argv[4:]))}))
"""


def build() -> Path:
    """The program that fills for us."""
    lines = subprocess.run(
        ["cargo", "build", "--release", "--example", "parallel", "-p", "sapwood", "--message-format=json"],
        check=True, capture_output=True, text=True, cwd=HERE.parent,
    ).stdout.splitlines()  # fmt: skip
    made = [json.loads(line) for line in lines if line.startswith("{")]
    return next(Path(x["executable"]) for x in made if x.get("executable") and x["target"]["name"] == "parallel")


def commands(program: Path, branches: int, contexts: int, clusters: int, out: Path) -> dict[str, list[str]]:
    rows = BRANCHES[branches]
    numbers = [str(x) for x in (contexts, branches, rows, clusters)]
    ours = [str(program), str(out / "ours.root"), *numbers, "zlib:1"]
    macro = [sys.executable, "-W", "ignore", "-c", ROOT, str(HERE / "parallel.C"), str(out)]
    return {"sapwood": ours, "numbered": [*ours, "numbered"], "root": [*macro, str(out / "root.root"), *numbers, "101"]}


def draw(results: dict[str, Any]) -> str:
    lines = [
        "# Filling one tree from many threads",
        "",
        f"`python bench/parallel.py --clusters {results['clusters']} --rounds {results['rounds']}` on {results['machine']['cpu']}, {results['machine']['cores']} cores. Each cluster holds 4 MB of",
        "numbers before ZLIB 1; values are given as arrays to Sapwood, row by row to ROOT (it has no other way), whose `TBufferMerger` merges each cluster",
        "as it comes. Seconds, median. *Numbered*: the order of clusters is that of their numbers, so that the file does not depend on the threads.",
        "",
        "| branches | contexts | Sapwood | numbered | ROOT | ROOT / Sapwood | Sapwood against its one context |",
        "|---|---|---|---|---|---|---|",
    ]
    alone: dict[int, float] = {}
    for row in results["rows"]:
        s, n, r = (row.get(who) for who in ("sapwood", "numbered", "root"))
        alone.setdefault(row["branches"], s)
        shown = f"{r:.2f} | {r / s:.1f}" if r else "failed | "
        lines.append(f"| {row['branches']} | {row['contexts']} | {s:.2f} | {n:.2f} | {shown} | {alone[row['branches']] / s:.2f} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--clusters", type=int, default=128)
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--only", default="", help="only this number of branches")
    ap.add_argument("--out", type=Path, default=DATA / "parallel")
    ap.add_argument("--no-draw", action="store_true", help="leave docs/benchmarks/parallel.md as it is")
    args = ap.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    program, rows = build(), []
    for branches in BRANCHES:
        if args.only and str(branches) != args.only:
            continue
        for contexts in CONTEXTS:
            seconds: dict[str, list[float]] = {}
            for _ in range(args.rounds):
                for who, command in commands(program, branches, contexts, args.clusters, args.out).items():
                    answer = run(command)[0]
                    if "error" in answer:
                        print(who, branches, contexts, answer["error"], file=sys.stderr)
                    else:
                        seconds.setdefault(who, []).append(answer["seconds"])
            row = {who: round(statistics.median(all_), 3) for who, all_ in seconds.items()}
            rows.append({"branches": branches, "contexts": contexts, **row})
            print(rows[-1], flush=True)
    results = {"machine": machine(), "clusters": args.clusters, "rounds": args.rounds, "rows": rows}
    for name in ("ours.root", "root.root"):
        (args.out / name).unlink(missing_ok=True)
    if not args.no_draw:
        TARGET.write_text(draw(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
