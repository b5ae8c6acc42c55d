#!/usr/bin/env python3
"""Measure writing: the limit, ROOT, uproot and Sapwood side by side, and draw the section of docs/benchmarks.md.

    python -m bench.write.writing [--scale 0.01] [--only PART_OF_A_NAME] [--writers limit,sapwood,uproot,root]
    [--rounds 3]

Values are in memory before a measurement begins; it ends when the file is closed. Contenders take turns, each
in a process of its own, `--rounds` times; a number is the median of all runs. The limit
(`bench/limit/src/write.rs`) packs the baskets of Sapwood's own file. `--scale` is the share of the entries of
a full run; results of another scale than 1 stay in the data folder.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from bench.read.run import HERE, build_limit, machine, run
from bench.support import draw_writing
from bench.support.files import DATA
from bench.write.written import LIBRARY, ROWS, Row, entries, source


def contenders(row: Row, wanted: list[str]) -> list[tuple[str, int]]:
    """Who writes a row, with how many threads."""
    out = [
        (writer, threads) for threads in (1, 2) for writer in ("limit", "sapwood", "root") if writer in wanted
    ]
    return out + ([("uproot", 1)] if "uproot" in wanted and row.values != "event" else [])


def measure(row: Row, writer: str, threads: int, args: argparse.Namespace, limit: Path) -> dict[str, Any]:
    target, ours = args.out / f"{row.name}.{writer}.root", args.out / f"{row.name}.ours.root"
    if writer == "limit":
        command = [str(limit), "--write", str(ours), str(target), "--codec", LIBRARY[row.codec]]
        return run([*command, "--threads", str(threads), "--repeat", str(args.repeat)])[0]
    job = {
        "writer": writer, "family": row.family, "values": row.values, "codec": row.codec, "split": row.split,
        "entries": entries(row.values, args.scale), "source": str(source(row.values, args.scale)),
        "threads": threads,
        "target": str(target), "repeat": args.repeat,
    }  # fmt: skip
    return run([sys.executable, "-W", "ignore", "-m", "bench.write.write_worker", json.dumps(job)])[0]


def baskets_of_ours(row: Row, args: argparse.Namespace) -> None:
    """Writes the file whose baskets the limit packs."""
    job = {
        "writer": "sapwood", "family": row.family, "values": row.values, "codec": row.codec,
        "split": row.split,
        "entries": entries(row.values, args.scale), "source": str(source(row.values, args.scale)),
        "threads": 1,
        "target": str(args.out / f"{row.name}.ours.root"), "repeat": 1, "keep": True,
    }  # fmt: skip
    answer = run([sys.executable, "-W", "ignore", "-m", "bench.write.write_worker", json.dumps(job)])[0]
    if "error" in answer:
        sys.exit(f"{row.name}: {answer['error']}")


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--scale", type=float, default=1.0, help="share of the entries of a full run")
    ap.add_argument("--only", default="", help="only rows whose name contains this")
    ap.add_argument("--writers", default="limit,sapwood,root,uproot")
    ap.add_argument("--rounds", type=int, default=3, help="how often each contender takes its turn")
    ap.add_argument("--repeat", type=int, default=2, help="measured runs in a turn")
    ap.add_argument("--out", type=Path, default=DATA / "writing", help="the folder that is written to")
    ap.add_argument(
        "--results", type=Path, help="default: bench/write/writing.json, at another scale in the data folder"
    )
    ap.add_argument("--no-draw", action="store_true", help="leave docs/benchmarks.md as it is")
    args = ap.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    limit = build_limit()
    rows: list[dict[str, Any]] = []
    for row in ROWS:
        if args.only not in row.name:
            continue
        baskets_of_ours(row, args)
        who = contenders(row, args.writers.split(","))
        found: dict[tuple[str, int], dict[str, Any]] = {}
        for _ in range(args.rounds):
            for writer, threads in who:
                answer = measure(row, writer, threads, args, limit)
                known = found.setdefault((writer, threads), {"cpu": [], "wall": [], "peak": 0, "others": 0})
                known["cpu"] += answer.get("cpu", [])
                known["wall"] += answer.get("wall", [])
                known["peak"] = max(known["peak"], answer.get("peak", 0))
                known["others"] = max(known["others"], answer.get("others", 0))
                known.update({k: answer[k] for k in ("size", "error") if k in answer})
        (args.out / f"{row.name}.ours.root").unlink(missing_ok=True)
        for (writer, threads), answer in found.items():
            rows.append({"row": row.name, "writer": writer, "threads": threads, **answer})
            print(draw_writing.line(rows[-1]), flush=True)
    results = {
        "scale": args.scale,
        "machine": machine(),
        "command": "python -m bench.write.writing",
        "rows": rows,
    }
    target = args.results or (HERE / "write" / "writing.json" if args.scale == 1 else DATA / "writing.json")
    if target.exists():
        results["rows"] = merged(json.loads(target.read_text()), results)
    target.write_text(json.dumps(results, indent=1) + "\n")
    if not args.no_draw:
        docs = HERE.parent / "docs" if args.scale == 1 else DATA / "docs"
        print(f"drawn: {draw_writing.draw(results, docs)}")
    return 0


def merged(old: dict[str, Any], new: dict[str, Any]) -> list[dict[str, Any]]:
    """A run of some rows replaces these and leaves the others, as long as they are of the same scale."""

    def key(r: dict[str, Any]) -> tuple[Any, ...]:
        return r["row"], r["writer"], r["threads"]

    if old["scale"] != new["scale"]:
        return list(new["rows"])
    fresh = {key(r): r for r in new["rows"]}
    return [fresh.pop(key(r), r) for r in old["rows"]] + list(fresh.values())


if __name__ == "__main__":
    sys.exit(main())
