#!/usr/bin/env python3
"""Measure producers whose files are merged while they produce: the parallel merging of buffers that ROOT's team estimated in 2010.
Draws docs/benchmarks/incremental.md.

    python -m bench.write.incremental [--producers 8] [--megabytes 1000] [--pieces 20] [--rounds 3]

Each producer is a process that makes events and writes them in pieces of a file. *Alone*: no process merges.
*Merged while they produce*: one more process takes each piece as soon as it is finished into one file, and
removes it. *Merged afterwards*: all pieces are there first. With a slow disk put the data folder
(`SAPWOOD_BENCH_DATA`) into memory.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from bench.read.run import HERE, machine
from bench.support.files import DATA

TARGET = HERE.parent / "docs" / "benchmarks" / "incremental.md"
COLUMNS = 20
BYTES_OF_A_ROW = 3.7 * COLUMNS
"""After compression."""


def piece(path: Path, seed: int, rows: int) -> None:
    """Makes events, and writes them."""
    import sapwood

    rng = np.random.default_rng(seed)
    with sapwood.recreate(path, compression="zstd:1", threads=1) as file:
        tree = file.mktree("tree", {f"x{k}": "f4" for k in range(COLUMNS)})
        for start in range(0, rows, 100_000):
            count = min(100_000, rows - start)
            tree.extend({f"x{k}": rng.normal(size=count).astype("f4") for k in range(COLUMNS)})


def produce(folder: Path, producer: int, pieces: int, rows: int, finished: Any) -> None:
    for number in range(pieces):
        path = folder / f"{producer}_{number}.root"
        piece(path, 1000 * producer + number, rows)
        finished.put(path)
    finished.put(None)


def run(args: argparse.Namespace, rows: int, way: str) -> dict[str, float]:
    """Seconds until all is done, and the bytes that are there then."""
    import sapwood

    folder: Path = args.out
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.root"):
        path.unlink()
    target, began = folder / "merged.root", time.perf_counter()
    finished = multiprocessing.get_context("spawn").Queue()
    spawn = multiprocessing.get_context("spawn").Process
    producers = [
        spawn(target=produce, args=(folder, k, args.pieces, rows, finished)) for k in range(args.producers)
    ]
    for process in producers:
        process.start()

    def pieces() -> Any:
        left = args.producers
        while left:
            path = finished.get()
            left -= path is None
            if path is not None:
                yield path

    entries = args.producers * args.pieces * rows
    if way == "while":
        with sapwood.recreate(target) as file:
            tree = file.parallel_tree("tree", {f"x{k}": "f4" for k in range(COLUMNS)})
            for path in pieces():
                tree.adopt(path)
                path.unlink()
    else:
        paths = list(pieces())
        if way == "afterwards":
            sapwood.merge(target, paths)
    seconds = time.perf_counter() - began
    for process in producers:
        process.join()
    if target.exists():
        assert sapwood.open(target)["tree"].num_entries == entries
    size = sum(path.stat().st_size for path in ([target] if target.exists() else folder.glob("*.root")))
    for path in folder.glob("*.root"):
        path.unlink()
    return {"seconds": seconds, "size": size}


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--producers", type=int, default=8)
    ap.add_argument("--megabytes", type=float, default=1000, help="of each producer")
    ap.add_argument("--pieces", type=int, default=20, help="of each producer")
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--out", type=Path, default=DATA / "incremental")
    ap.add_argument("--no-draw", action="store_true", help="leave docs/benchmarks/incremental.md as it is")
    args = ap.parse_args()
    rows = int(args.megabytes * 1e6 / args.pieces / BYTES_OF_A_ROW)
    titles = {
        "alone": "producing alone",
        "while": "merged while they produce",
        "afterwards": "merged afterwards",
    }
    found: dict[str, list[dict[str, float]]] = {way: [] for way in titles}
    for _ in range(args.rounds):
        for way in titles:
            found[way].append(run(args, rows, way))
            print(way, found[way][-1], flush=True)
    seconds = {way: statistics.median(one["seconds"] for one in all_) for way, all_ in found.items()}
    each = found["alone"][0]["size"] / args.producers / 1e6
    cpu, cores = machine()["cpu"], machine()["cores"]
    given = {
        "producers": args.producers,
        "megabytes": args.megabytes,
        "pieces": args.pieces,
        "rounds": args.rounds,
    }
    changed = "".join(
        f" --{name} {value:g}" for name, value in given.items() if value != ap.get_default(name)
    )
    lines = [
        "# Merging while others produce",
        "",
        f"`python -m bench.write.incremental{changed}` on {cpu}, {cores} cores: {args.producers} processes make {each:.0f} MB each, in {args.pieces} pieces. Seconds until",
        f"all is on storage, median of {args.rounds} rounds.",
        "",
        "| | seconds | against producing alone |",
        "|---|---:|---:|",
        *(
            f"| {title} | {seconds[way]:.1f} | {seconds[way] / seconds['alone']:.3f} |"
            for way, title in titles.items()
        ),
    ]
    print("\n".join(lines))
    if not args.no_draw:
        TARGET.write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
