#!/usr/bin/env python3
"""Measure merging: `cat`, ROOT's TFileMerger and `hadd`, and Sapwood side by side; draw docs/benchmarks/merging.md.

    python -m bench.write.merging [--files 8] [--megabytes 250] [--small 2000] [--rounds 5] [--command
    PATH_OF_SAPWOOD]

Two sets of inputs: few large files of flat columns (ZSTD), and many small ones. Contenders take turns, each
in a process of its own; inputs are in the page cache, outputs are removed before the next turn. A number is
the median over the rounds of the seconds on the clock; `merger` is the time inside of a process that has
loaded ROOT already, all others count the whole process. Compression is kept by all but `hadd` itself, whose
default compresses again. What is written to storage is the system's business: with a slow disk put the data
folder (`SAPWOOD_BENCH_DATA`) into memory.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from bench.read.run import HERE, machine
from bench.support.files import DATA

BRANCHES = 10
TARGET = HERE.parent / "docs" / "benchmarks" / "merging.md"
MERGER = """
import json, sys, time
import ROOT
ROOT.gSystem.Load("libTreePlayer")
merger = ROOT.TFileMerger(False, False)
began = time.perf_counter()
merger.SetPrintLevel(0)
kept = ROOT.TFile(sys.argv[2]).GetCompressionSettings()
merger.OutputFile(sys.argv[1], "RECREATE", kept)
for path in sys.argv[2:]:
    merger.AddFile(path, False)
assert merger.PartialMerge(merger.kAll | merger.kRegular | merger.kKeepCompression)
print("seconds", time.perf_counter() - began)
"""


WATCH = """
import json, os, subprocess, sys, time
began = time.perf_counter()
child = subprocess.Popen(sys.argv[1:])
_, status, used = os.wait4(child.pid, 0)
cpu = used.ru_utime + used.ru_stime
print(json.dumps({"wall": time.perf_counter() - began, "cpu": cpu, "peak": 1024 * used.ru_maxrss}), flush=True)
sys.exit(status != 0)
"""


def make(folder: Path, files: int, entries: int) -> list[Path]:
    """Files of so many entries each, unless they are there."""
    import sapwood

    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{number:05}.root" for number in range(files)]
    for number, path in enumerate(paths):
        if path.exists():
            continue
        rng = np.random.default_rng(number)
        with sapwood.recreate(path, compression="zstd:1") as file:
            for start in range(0, entries, 500_000):
                rows = min(500_000, entries - start)
                columns = {f"x{k}": rng.normal(size=rows) for k in range(BRANCHES)}
                columns |= {f"i{k}": rng.integers(0, 1 << 20, rows, dtype="i4") for k in range(BRANCHES)}
                if start == 0:
                    tree = file.mktree("t", {name: values.dtype for name, values in columns.items()})
                tree.extend(columns)
    return paths


def contenders(
    command: str, paths: list[Path], target: Path
) -> Iterator[tuple[str, list[str], dict[str, str]]]:
    names = [str(path) for path in paths]
    spec = importlib.util.find_spec("ROOT")
    yield "cat", ["sh", "-c", 'out=$1; shift; exec cat "$@" > "$out"', "cat", str(target), *names], {}
    yield "sapwood", [command, "merge", "-v", "0", str(target), *names], {}
    if spec is not None and spec.origin is not None:
        place = Path(spec.origin).parent
        environment = {"LD_LIBRARY_PATH": str(place / "lib"), "ROOTSYS": str(place)}
        yield "merger", [sys.executable, "-W", "ignore", "-c", MERGER, str(target), *names], {}
        yield "hadd -fk", [str(place / "bin/hadd"), "-v", "0", "-fk", str(target), *names], environment
        yield "hadd", [str(place / "bin/hadd"), "-v", "0", str(target), *names], environment


def turn(words: list[str], environment: dict[str, str], target: Path) -> dict[str, float]:
    """One run: seconds on the clock, of the processors, and the most memory."""
    target.unlink(missing_ok=True)
    os.sync()
    # A process counts the memory of the one that it was forked from: a small one.
    watched = [sys.executable, "-S", "-E", "-c", WATCH, *words]
    done = subprocess.run(watched, capture_output=True, text=True, env=os.environ | environment)
    if done.returncode != 0 or not target.exists():
        sys.exit(f"{words[0]} failed: {done.stderr[-500:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    own = [float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("seconds ")]
    return found | {"wall": own[0] if own else found["wall"], "size": target.stat().st_size}


def measure(
    name: str, command: str, paths: list[Path], target: Path, rounds: int
) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, list[float]]] = {}
    for _ in range(rounds):
        for who, words, environment in contenders(command, paths, target):
            for key, value in turn(words, environment, target).items():
                found.setdefault(who, {}).setdefault(key, []).append(value)
    target.unlink(missing_ok=True)
    medians = {
        who: {key: statistics.median(values) for key, values in each.items()} for who, each in found.items()
    }
    ours = medians["sapwood"]["wall"]
    print(f"{name}: {len(paths)} files, {sum(path.stat().st_size for path in paths) / 1e6:.0f} MB")
    print("| | seconds | CPU seconds | peak, MB | time of Sapwood |\n|---|---:|---:|---:|---:|")
    for who, each in medians.items():
        row = f"{each['wall']:.3f} | {each['cpu']:.3f} | {each['peak'] / 1e6:.0f} | {each['wall'] / ours:.2f}"
        print(f"| {who} | {row} |")
    return medians


def draw(document: dict[str, Any], command: str) -> str:
    cpu, cores = document["machine"]["cpu"], document["machine"]["cores"]
    lines = [
        "# Merging",
        "",
        f"`python -m bench.write.merging{command}` on {cpu}, {cores} cores. Inputs are in the page cache, outputs in memory, a number is the",
        f"median of {document['rounds']} rounds. All keep compression but `hadd` itself. `TFileMerger` is timed inside of a process that has loaded ROOT.",
        "",
        "| | seconds | CPU seconds | peak, MB | time of Sapwood |",
        "|---|---:|---:|---:|---:|",
    ]
    names = {"sapwood": "Sapwood", "merger": "`TFileMerger`"}
    for rows in document["rows"].values():
        lines.append(f"| **{rows['title']}** | | | | |")
        ours = rows["of"]["sapwood"]["wall"]
        for who, each in rows["of"].items():
            row = f"{each['wall']:.3f} | {each['cpu']:.3f} | {each['peak'] / 1e6:.0f} | "
            row += f"{each['wall'] / ours:.2f}"
            lines.append(f"| {names.get(who, f'`{who}`')} | {row} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--files", type=int, default=8)
    ap.add_argument("--megabytes", type=float, default=250, help="of each large file")
    ap.add_argument("--small", type=int, default=2000, help="how many small files")
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--command", default=shutil.which("sapwood"), help="the command that is measured")
    ap.add_argument("--out", type=Path, default=DATA / "merging", help="the folder of inputs and outputs")
    ap.add_argument("--no-draw", action="store_true", help="leave docs/benchmarks/merging.md as it is")
    ap.add_argument("--results", type=Path, default=HERE / "write" / "merging.json")
    args = ap.parse_args()
    if args.command is None:
        sys.exit("there is no command sapwood: --command says where it is")
    # What a row of the large files takes, after compression.
    entries = int(args.megabytes * 1e6 / 108)
    large = make(args.out / f"large-{entries}", args.files, entries)
    small = make(args.out / "small", args.small, 50)
    target = args.out / "merged.root"
    titles = {
        "large": f"{args.files} files of {args.megabytes:.0f} MB, flat columns, ZSTD",
        "small": f"{args.small:,} files of {small[0].stat().st_size / 1e3:.0f} kB",
    }
    rows = {
        name: {"title": titles[name], "of": measure(name, args.command, paths, target, args.rounds)}
        for name, paths in (("large", large), ("small", small))
    }
    document = {"machine": machine(), "rounds": args.rounds, "rows": rows}
    args.results.write_text(json.dumps(document, indent=1) + "\n")
    given = {"files": args.files, "megabytes": args.megabytes, "small": args.small, "rounds": args.rounds}
    changed = [f" --{name} {value:g}" for name, value in given.items() if value != ap.get_default(name)]
    if not args.no_draw:
        TARGET.write_text(draw(document, "".join(changed)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
