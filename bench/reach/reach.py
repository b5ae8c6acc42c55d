"""What other tools cost beside what they could: ratios of wall times, the best of several runs.

Usage: python bench/reach/reach.py [--runs N] [--entries N]

- `polars`: three of 2,000 columns with a predicate that 1 % of the rows pass, through `tree.lazy()`, beside
  the same through `tree.arrays(..., cut)`. Both have opened the tree before.
- `parquet`: `sapwood.convert` of a file of ROOT to Parquet beside `pyarrow.parquet.write_table` of the same
  table in memory, with the same codec and rows of a row group.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import polars as pl
import pyarrow.parquet as pq
import sapwood

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "data"
COLUMNS = 2000
STEP = "64 MB"


def write_wide(path: Path, entries: int) -> None:
    """2,000 columns, of which four hold random numbers; the rest compresses to nothing."""
    rng = np.random.default_rng(1)
    names = [f"c{number:04}" for number in range(COLUMNS)]
    rows = 50_000
    with sapwood.recreate(path, compression="zstd:1") as file:
        with file.mktree("t", dict.fromkeys(names, "f4"), auto_flush=rows) as tree:
            zeros = np.zeros(rows, "f4")
            for _ in range(0, entries, rows):
                drawn = {
                    name: rng.normal(size=rows).astype("f4") for name in ("c0001", "c0100", "c1000", "c1999")
                }
                tree.extend({name: drawn.get(name, zeros) for name in names})


def write_events(path: Path, entries: int) -> None:
    """Numbers and lists, as in a small ntuple."""
    rng = np.random.default_rng(2)
    counts = rng.poisson(3, entries)
    data: dict[str, Any] = {"run": np.ones(entries, "i4"), "event": np.arange(entries)}
    data |= {f"x{number}": rng.normal(size=entries).astype("f4") for number in range(10)}
    data |= {
        f"v{number}": ak.unflatten(rng.exponential(20, counts.sum()).astype("f4"), counts)
        for number in range(4)
    }
    with sapwood.recreate(path, compression="zstd:5") as file:
        with file.mktree("t", data):
            pass


def best(work: Callable[[], Any], runs: int) -> float:
    """The least seconds of some runs."""
    found = []
    for _ in range(runs):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return min(found)


def polars(runs: int, entries: int) -> dict[str, float]:
    path = DATA / f"wide-{entries}.root"
    if not path.exists():
        write_wide(path, entries)
    tree = sapwood.open(path)["t"]
    lazy = tree.lazy()
    wanted = ["c0001", "c1000", "c1999"]
    query = lazy.filter(pl.col("c0100") > 2.3263).select(wanted)
    assert query.collect().equals(tree.arrays(wanted, "c0100 > 2.3263", library="pl"))
    ours = best(lambda: tree.arrays(wanted, "c0100 > 2.3263", library="pl"), runs)
    found = best(query.collect, runs)
    return {"arrays": ours, "lazy": found, "ratio": found / ours}


def parquet(runs: int, entries: int, codec: str) -> dict[str, float]:
    path = DATA / f"events-{entries}.root"
    if not path.exists():
        write_events(path, entries)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "out.parquet"
        sapwood.convert(path, target, compression=codec, step_size=STEP)
        rows = pq.ParquetFile(target).metadata.row_group(0).num_rows
        table = sapwood.open(path)["t"].arrays(library="arrow")
        assert pq.read_table(target).equals(table.cast(pq.read_schema(target)))
        memory = best(lambda: pq.write_table(table, target, compression=codec, row_group_size=rows), runs)
        ours = best(
            lambda: sapwood.convert(path, target, compression=codec, step_size=STEP, overwrite=True), runs
        )
    return {"from memory": memory, "convert": ours, "ratio": memory / ours}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--entries", type=int, default=1_000_000)
    arguments = parser.parse_args()
    DATA.mkdir(exist_ok=True)
    results = {}
    for entries in (arguments.entries // 4, arguments.entries):
        results[f"polars {entries}"] = row = polars(arguments.runs, entries)
        print(
            f"Polars, 3 of {COLUMNS} columns, {entries} rows: arrays {row['arrays']:.4f} s, "
            f"lazy {row['lazy']:.4f} s, "
            f"{row['ratio']:.2f} (aim 1.3)",
            flush=True,
        )
    for codec in ("zstd", "snappy"):
        results[f"parquet {codec}"] = row = parquet(arguments.runs, 2 * arguments.entries, codec)
        print(
            f"Parquet, {codec}: from memory {row['from memory']:.3f} s, convert {row['convert']:.3f} s, "
            f"{row['ratio']:.2f} (aim 0.9)",
            flush=True,
        )
    (HERE / "reach.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
