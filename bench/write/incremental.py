#!/usr/bin/env python3
"""Measure producers whose files are merged while they produce: the parallel merging of buffers that ROOT's team estimated in 2010.
Draws docs/benchmarks/incremental.md.

    python -m bench.write.incremental [--scale 0.25] [--producers 8] [--pieces 20] [--rounds 3]

At scale 1 each producer writes the 1 GB of the talk. It is a process that makes events and writes them in
pieces of a file. *Alone*: no process merges. *Merged while they produce*: one more process takes each piece
as soon as it is finished into one file, and removes it. *Merged afterwards*: all pieces are there first.
Those of ROOT are threads that write a file each; `hadd` merges these afterwards, and `TBufferMerger` piece by
piece while they produce. With a slow disk put the data folder (`SAPWOOD_BENCH_DATA`) into memory.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import os
import statistics
import subprocess
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
MEGABYTES = 1_000
"""Of each producer at scale 1."""
WAYS = {
    "alone": "producing alone",
    "while": "merged while they produce",
    "afterwards": "merged afterwards",
}
ROOT = f"""
import json, sys, time
sys.path.insert(0, {str(HERE.parent)!r})
from bench.support.files import DATA, load_root
root = load_root(DATA, ["incremental"])
how, path, *numbers = sys.argv[1:]
began = time.process_time()
seconds = getattr(root, how)(path, *map(int, numbers))
print(json.dumps({{"seconds": seconds, "cpu": time.process_time() - began}}))
"""


def piece(path: Path, seed: int, rows: int) -> None:
    """Makes events, and writes them."""
    import sapwood

    rng = np.random.default_rng(seed)
    with sapwood.recreate(path, compression="zstd:1", threads=1) as file:
        tree = file.mktree("tree", {f"x{k}": "f4" for k in range(COLUMNS)})
        for start in range(0, rows, 100_000):
            count = min(100_000, rows - start)
            tree.extend({f"x{k}": rng.normal(size=count).astype("f4") for k in range(COLUMNS)})


def produce(folder: Path, producer: int, pieces: int, rows: int, ready: Any, finished: Any) -> None:
    import sapwood  # noqa: F401  (starting is not measured)

    ready.wait()
    began = time.process_time()
    for number in range(pieces):
        path = folder / f"{producer}_{number}.root"
        piece(path, 1000 * producer + number, rows)
        finished.put(path)
    finished.put(time.process_time() - began)


def emptied(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.root"):
        path.unlink()
    return folder


def checked(folder: Path, target: Path, entries: int, seconds: float, cpu: float) -> dict[str, float]:
    """What a run took and wrote; its files are removed."""
    import sapwood

    if target.exists():
        assert sapwood.open(target)["tree"].num_entries == entries
    size = sum(path.stat().st_size for path in ([target] if target.exists() else folder.glob("*.root")))
    emptied(folder)
    return {"seconds": seconds, "cpu": cpu, "size": size}


def hadd() -> str:
    """That of the package that Python imports."""
    found = importlib.util.find_spec("ROOT")
    return str(Path(found.origin).parent / "bin" / "hadd") if found and found.origin else "hadd"


def run_root(args: argparse.Namespace, rows: int, way: str) -> dict[str, float]:
    """The same by ROOT."""
    folder = emptied(args.out)
    target = folder / "merged.root"
    how, path = ("produce_merged", target) if way == "while" else ("produce_files", folder)
    numbers = [args.producers, args.pieces, rows, COLUMNS, 501]
    command = [sys.executable, "-W", "ignore", "-c", ROOT, how, str(path), *map(str, numbers)]
    done = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    answer = json.loads(done.splitlines()[-1])
    seconds, cpu = answer["seconds"], answer["cpu"]
    if way == "afterwards":
        began, before = time.perf_counter(), os.times()
        parts = map(str, sorted(folder.glob("*.root")))
        subprocess.run([hadd(), "-v", "0", "-fk", str(target), *parts], check=True)
        seconds, after = seconds + time.perf_counter() - began, os.times()
        cpu += after.children_user - before.children_user + after.children_system - before.children_system
    return checked(folder, target, args.producers * args.pieces * rows, seconds, cpu)


def run(args: argparse.Namespace, rows: int, way: str) -> dict[str, float]:
    """Seconds until all is done, and the bytes that are there then."""
    import sapwood

    folder = emptied(args.out)
    target, spawn = folder / "merged.root", multiprocessing.get_context("spawn")
    finished, ready = spawn.Queue(), spawn.Barrier(args.producers + 1)
    producers = [
        spawn.Process(target=produce, args=(folder, k, args.pieces, rows, ready, finished))
        for k in range(args.producers)
    ]
    for process in producers:
        process.start()
    ready.wait()
    began, cpu = time.perf_counter(), [-time.process_time()]

    def pieces() -> Any:
        left = args.producers
        while left:
            if isinstance(done := finished.get(), Path):
                yield done
            else:
                left -= 1
                cpu.append(done)

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
    cpu.append(time.process_time())
    for process in producers:
        process.join()
    return checked(folder, target, entries, seconds, sum(cpu))


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--scale", type=float, default=0.25, help="1: each producer writes the 1 GB of the talk")
    ap.add_argument("--producers", type=int, default=8)
    ap.add_argument("--pieces", type=int, default=20, help="of each producer")
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--out", type=Path, default=DATA / "incremental")
    ap.add_argument("--no-draw", action="store_true", help="leave docs/benchmarks/incremental.md as it is")
    args = ap.parse_args()
    rows = int(args.scale * MEGABYTES * 1e6 / args.pieces / BYTES_OF_A_ROW)
    runs = {"Sapwood": run, "ROOT": run_root}
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    for _ in range(args.rounds):
        for way in WAYS:
            for who, work in runs.items():
                found.setdefault((who, way), []).append(work(args, rows, way))
                print(who, way, found[who, way][-1], flush=True)
    seconds, cpu_seconds = (
        {key: statistics.median(one[what] for one in all_) for key, all_ in found.items()}
        for what in ("seconds", "cpu")
    )
    each, theirs = (found[who, "alone"][0]["size"] / args.producers / 1e6 for who in runs)
    rounds = "once" if args.rounds == 1 else f"median of {args.rounds} rounds"
    place = "in files in memory" if args.out.is_relative_to("/dev/shm") else "on storage"
    cpu, cores = machine()["cpu"], machine()["cores"]
    given = {"producers": args.producers, "pieces": args.pieces, "rounds": args.rounds}
    changed = "".join(
        f" --{name} {value:g}" for name, value in given.items() if value != ap.get_default(name)
    )
    lines = [
        "# Merging while others produce",
        "",
        f"`python -m bench.write.incremental --scale {args.scale:g}{changed}` on {cpu}, {cores} cores: {args.producers} producers make {each:.0f} MB each ({theirs:.0f} with ROOT), in {args.pieces} pieces.",
        f"Seconds until all is {place}, {rounds}. Producers of Sapwood are processes, those of ROOT threads that fill row by row; what",
        "can be compared is what merging adds to producing. Starting is not measured. *Merged while they produce*: `adopt` of each piece, and `TBufferMerger`; *afterwards*: `sapwood.merge` of the pieces, and",
        "`hadd -fk` of a file for each producer. Neither inflates anything.",
        "",
        "| | Sapwood, CPU s | CPU against producing alone | seconds | against producing alone | ROOT, CPU s | ROOT, CPU against producing alone | ROOT, seconds | ROOT against producing alone |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for way, title in WAYS.items():
        cells = [
            cell
            for who in runs
            for of in (cpu_seconds, seconds)
            for cell in (f"{of[who, way]:.1f}", f"{of[who, way] / of[who, 'alone']:.3f}")
        ]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    print("\n".join(lines))
    if not args.no_draw:
        TARGET.write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
