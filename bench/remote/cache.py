#!/usr/bin/env python3
"""What the cache of blocks costs when it is empty, and what it is worth when it is full.

    python -m bench.remote.cache [--delay 0.02] [--repeat 5] [--entries 2000000]

A file is read over http through a server that waits before each answer, in processes of their own: without a
cache, into an empty one, and from a full one; and from the local disk. The time is that of opening and
reading in an interpreter that has read over http before. Aims: the first run within 1.1 times that without a
cache, the second within 1.05 times the local file and the one round trip that it takes to ask whether the
file is still the same.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import sapwood

SERVER = Path(__file__).resolve().parents[2] / "tests" / "support" / "ranged.py"
READ = """
import json, sys, time, sapwood
path, options, columns = json.loads(sys.argv[1])
for place in sys.argv[2:]:  # what is imported is imported, and the network, certificates and all, has started
    sapwood.open(place)["t"].arrays(columns, entry_stop=10, library="np")
start = time.perf_counter()
arrays = sapwood.open(path + ":t", **options).arrays(columns, library="np")
took = time.perf_counter() - start
print(json.dumps([took, float(sum(values.sum(dtype="f8") for values in arrays.values()))]))
"""


def write(path: Path, entries: int, compression: str) -> None:
    random = np.random.default_rng(1)
    columns = {f"x{i:02d}": np.round(random.normal(size=entries), 3).astype("f4") for i in range(16)}
    with sapwood.recreate(path, compression=compression) as file:
        file.mktree("t", dict.fromkeys(columns, "float32")).extend(columns)


def read(
    path: str, options: dict[str, str], columns: list[str] | None, warm: list[str]
) -> tuple[float, float]:
    job = json.dumps([path, options, columns])
    line = [sys.executable, "-c", READ, job, *warm]
    took, total = json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
    return took, total


def measure(place: Path, arguments: argparse.Namespace, compression: str) -> None:
    local = place / f"data-{compression.replace(':', '-')}.root"
    write(local, arguments.entries, compression)
    kept = place / "kept"
    server = subprocess.Popen(
        [sys.executable, str(SERVER), str(place), str(arguments.delay)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdout is not None
    url = f"http://127.0.0.1:{int(server.stdout.readline())}/{local.name}"
    cache = {"cache": "blocks", "cache_dir": str(kept)}
    try:
        for columns in (None, ["x03", "x07"]):
            times: dict[str, list[float]] = {"none": [], "first": [], "second": [], "local": []}
            totals = set()
            for _ in range(arguments.repeat):
                shutil.rmtree(kept, ignore_errors=True)
                for name, where, options in (
                    ("none", url, {}),
                    ("first", url, cache),
                    ("second", url, cache),
                    ("local", str(local), {}),
                ):
                    took, total = read(where, options, columns, [str(local), url])
                    times[name].append(took)
                    totals.add(total)
            assert len(totals) == 1, totals
            middle = {name: statistics.median(all_of) for name, all_of in times.items()}
            kept_bytes = sum(file.stat().st_blocks * 512 for file in kept.glob("*/*/*"))
            trip = arguments.delay
            print(
                f"{compression:7} {'all' if columns is None else len(columns)!s:>4} columns of {local.stat().st_size / 1e6:.0f} MB"
                f" | none {middle['none']:.3f} s, first {middle['first']:.3f} s, second {middle['second']:.3f} s,"
                f" local {middle['local']:.3f} s | first/none {middle['first'] / middle['none']:.2f},"
                f" (second - {trip} s)/local {(middle['second'] - trip) / middle['local']:.2f}"
                f" | kept {kept_bytes / 1e6:.0f} MB",
                flush=True,
            )
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--delay", type=float, default=0.02, help="seconds before each answer")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--entries", type=int, default=2_000_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        for compression in ("zlib:1", "zstd:5", "lz4:4", "none"):
            measure(Path(place), arguments, compression)


if __name__ == "__main__":
    main()
