#!/usr/bin/env python3
"""Measure filling one tree from many threads beside filling as many files, by Sapwood and by ROOT, and count where threads wait
for locks; draw docs/benchmarks/parallel-files.md.

    python -m bench.write.files [--clusters 32] [--rounds 5] [--only NAME] [--no-locks] [--no-draw]

Values are in memory, and so had the data folder (`SAPWOOD_BENCH_DATA`) better be. Contenders take turns, each
run in a process of its own. Locks are counted with `strace`, in runs of their own: each wait of a thread in
the kernel.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

from bench.read.run import machine, run
from bench.support.files import DATA, HERE
from bench.support.waits import PLACES, traced

TARGET = HERE.parent / "docs" / "benchmarks" / "parallel-files.md"
CONTEXTS = (1, 2, 8, 64)
TRACED = (2, 8, 64)
ROWS = {"flat 20": (20, 50_000), "flat 1,000": (1_000, 1_000)}
"""Branches, and entries of a cluster: 4 MB."""
WHO = {
    "tree": "Sapwood, one tree",
    "files": "Sapwood, files",
    "merger": "TBufferMerger",
    "root files": "ROOT, files",
}


def command(who: str, name: str, contexts: int, args: argparse.Namespace) -> list[str]:
    branches, rows = ROWS[name]
    job = {"who": who, "branches": branches, "rows": rows, "clusters": args.clusters, "contexts": contexts}
    given = json.dumps({**job, "out": str(args.out / who.replace(" ", "_"))})
    return [sys.executable, "-W", "ignore", "-m", "bench.write.files_worker", given]


def measured(args: argparse.Namespace) -> list[str]:
    lines = [
        "| | contexts | "
        + " | ".join(f"{what}: {title}" for what in ("CPU, s", "s") for title in WHO.values())
        + " |",
        "|---|---:" + "|---:" * (2 * len(WHO)) + "|",
    ]
    for name in ROWS:
        for contexts in CONTEXTS if args.only in name else ():
            found: dict[str, list[dict[str, Any]]] = {who: [] for who in WHO}
            for _ in range(args.rounds):
                for who, all_ in found.items():
                    answer = run(command(who, name, contexts, args))[0]
                    if "error" in answer:
                        sys.exit(f"{name}, {contexts}, {who}: {answer['error']}")
                    all_.append(answer)
            cpu = [f"{statistics.median(one['cpu'] for one in all_):.2f}" for all_ in found.values()]
            wall = [f"{min(one['seconds'] for one in all_):.2f}" for all_ in found.values()]
            lines.append(f"| {name} | {contexts} | {' | '.join([*cpu, *wall])} |")
            print(lines[-1], flush=True)
    return lines


def locks(args: argparse.Namespace) -> list[str]:
    lines = [
        "| | contexts | | " + " | ".join(PLACES.values()) + " |",
        "|---|---:|---" + "|---:" * len(PLACES) + "|",
    ]
    for name in ROWS:
        for contexts in TRACED if args.only in name else ():
            for who, title in WHO.items():
                of = traced(command(who, name, contexts, args), args.out / "trace.txt")
                cells = [f"{count} ({seconds:.3f})" if count else "0" for count, seconds in of.values()]
                lines.append(f"| {name} | {contexts} | {title} | {' | '.join(cells)} |")
                print(lines[-1], flush=True)
    return lines


def page(given: str, clusters: int, rounds: int, table: list[str], waited: list[str]) -> str:
    of = machine()
    head = [
        "# One tree, and as many files",
        "",
        f"`python -m bench.write.files{given}` on {of['cpu']}, {of['cores']} cores. {clusters} clusters of 4 MB before ZLIB 1, from as many threads as contexts: into one",
        "tree, or each thread into a file of its own. *flat N*: N branches of numbers. Sapwood is called from Python with arrays, ROOT is compiled and filled by row. Files are in",
        f"memory. CPU: median of {rounds} rounds, of all threads; seconds: the shortest of the rounds. RDataFrame's Snapshot, and the native program that",
        "uses no interpreter, are in [filling one tree](parallel.md).",
        "",
    ]
    tail = [
        "",
        "## Where threads wait",
        "",
        "Waits in the kernel, and in brackets their seconds (`strace -f -e futex`, of all threads but the first, which waits for them). Each is a thread that found something",
        "taken, and slept; who finds it free costs no call. What is waited for is told by the call, and by what all waits at its address expect: *mutexes of the engine* are those of Rust, among them the file's lock; *mutexes of",
        "C* are those of the C library, which memory, ROOT's locks and Python's have; *conditions of C* are the interpreter's lock, of ROOT its global lock. *Other*: threads without work, and of Sapwood",
        "those that wait until fewer than there are cores seal a cluster.",
        "It is an estimate: tracing makes each wait longer, and all threads take turns on two cores beside other work, so that a second of waiting for a core counts as well.",
        "",
        "How long a lock is held is another matter: a commit of Sapwood holds the file's lock for [26 to 69 µs](parallel.md), a merge of TBufferMerger its own for",
        "[milliseconds](cores.md#costs). No thread waits for that one: one that finds it taken leaves a copy in a queue. But a merge holds other locks meanwhile, which all of ROOT's threads need:",
        "compare the mutexes of TBufferMerger with those of ROOT's files where there are many branches.",
        "",
    ]
    return "\n".join([*head, *table, *([*tail, *waited] if waited else [])]) + "\n"


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--clusters", type=int, default=32)
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--only", default="", help="only rows whose name contains this")
    ap.add_argument("--out", type=Path, default=DATA / "parallel")
    ap.add_argument("--no-locks", action="store_true", help="do not trace")
    ap.add_argument("--no-draw", action="store_true", help="leave docs/benchmarks/parallel-files.md as it is")
    args = ap.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    given = "".join(
        f" --{name} {getattr(args, name)}"
        for name in ("clusters", "rounds")
        if getattr(args, name) != ap.get_default(name)
    )
    run(command("merger", "flat 20", 1, args))  # the compiler does what it has to do once
    table = measured(args)
    waited = [] if args.no_locks else locks(args)
    if not args.no_draw:
        TARGET.write_text(page(given, args.clusters, args.rounds, table, waited))
    return 0


if __name__ == "__main__":
    sys.exit(main())
