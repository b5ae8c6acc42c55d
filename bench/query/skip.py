"""Cuts with and without statistics, beside real ROOT and Parquet. Prints a table in Markdown.

Usage: python -m bench.query.skip [--entries N] [--runs N]

CPU milliseconds on one thread, the least of several runs. Each tool reads two columns of the entries that
pass; ROOT draws one of them. Parquet has a row group for each cluster, and statistics of its pages.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import sapwood
from bench.query.data import DATA

PATH, PARQUET = DATA / "skip.root", DATA / "skip.parquet"
PART, CLUSTER, LISTED = 480_000, 8_000, 4_000

CUTS = {
    "rising, 1 %": ("run < {percent}", lambda n: [("run", "<", n // LISTED // 100)]),
    "one run": ("run == {middle}", lambda n: [("run", "==", n // LISTED // 2)]),
    "one event": (
        "run == {middle} && event == {event}",
        lambda n: [("run", "==", n // LISTED // 2), ("event", "==", n // 2 + 7)],
    ),
    "blocks, 5 %": ("block", lambda _: [("block", "==", True)]),
    "tail, 0.01 %": ("met > 368.4", lambda _: [("met", ">", 368.4)]),
    "random, 1 %": ("random < 0.01", lambda _: [("random", "<", 0.01)]),
    "random, half": ("random < 0.5", lambda _: [("random", "<", 0.5)]),
}


def part(rng: np.random.Generator, start: int, rows: int) -> dict[str, Any]:
    """Entries from one on: values that rise, come in blocks, have a tail, and are random."""
    event = np.arange(start, start + rows)
    return {
        "run": (event // LISTED).astype("i4"),
        "event": event,
        "block": event // 40_000 % 20 == 3,
        "met": rng.exponential(40, rows).astype("f4"),
        "random": rng.random(rows),
        "x": np.round(rng.normal(0, 1, rows), 3).astype("f4"),
        "y": np.round(rng.normal(0, 1, rows), 3).astype("f4"),
    }


def write(entries: int) -> None:
    """Writes what is not there yet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    DATA.mkdir(exist_ok=True)
    if PATH.exists() and PARQUET.exists() and sapwood.open(PATH)["t"].num_entries == entries:
        return
    rng = np.random.default_rng(1)
    writer: Any = None
    with sapwood.recreate(PATH, compression="zstd:5") as file:
        types = {name: column.dtype for name, column in part(rng, 0, 1).items()}
        tree = file.mktree("t", types, auto_flush=CLUSTER)
        for start in range(0, entries, PART):
            columns = part(rng, start, min(PART, entries - start))
            tree.extend(columns)
            table = pa.table(columns)
            writer = writer or pq.ParquetWriter(
                PARQUET, table.schema, compression="zstd", compression_level=5
            )
            writer.write_table(table, row_group_size=CLUSTER)
    writer.close()


def least(runs: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """The least CPU seconds of several runs, and the answer."""
    times = []
    for _ in range(runs):
        start = time.process_time()
        answer = work()
        times.append(time.process_time() - start)
    return min(times), answer


def opened(statistics: bool) -> Any:
    """The tree, opened with or without statistics."""
    os.environ["SAPWOOD_STATISTICS"] = "on" if statistics else "off"
    return sapwood.open(PATH, threads=1)["t"]


def main() -> None:
    """Measures, and prints a row for each cut."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--entries", type=int, default=4_000_000)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    write(options.entries)

    import pyarrow as pa
    import pyarrow.parquet as pq
    import ROOT

    pa.set_cpu_count(1)
    ROOT.gROOT.SetBatch(True)
    start = time.process_time()
    [made] = sapwood.index(PATH, threads=1)
    print(
        f"statistics: {time.process_time() - start:.2f} s, {100 * made.bytes / made.file_bytes:.3f} % of the file\n"
    )
    file = ROOT.TFile(str(PATH))
    root = file.Get("t")
    values = {
        "percent": options.entries // LISTED // 100,
        "middle": options.entries // LISTED // 2,
        "event": options.entries // 2 + 7,
    }
    print(
        "| cut | passing | runs read | with | without | gain | draw | draw without | TTree::Draw | Parquet |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name, (words, filters) in CUTS.items():
        cut = words.format(**values)
        trees = {on: opened(on) for on in (True, False)}
        arrays: dict[bool, float] = {True: np.inf, False: np.inf}
        drawn: dict[bool, float] = {True: np.inf, False: np.inf}
        passing: dict[bool, int] = {}
        for _ in range(options.runs):
            # In turns: a machine that others use is not the same all the time.
            for on, tree in trees.items():
                seconds, found = least(1, lambda: tree.arrays(["x", "y"], cut=cut, library="np"))
                arrays[on], passing[on] = min(arrays[on], seconds), len(found["x"])
                drawn[on] = min(drawn[on], least(1, lambda: tree.draw("x>>h(100,-5,5)", cut))[0])
        assert passing[True] == passing[False], name
        by_root, count = least(options.runs, lambda: root.Draw("x>>h(100,-5,5)", cut, "goff"))
        parquet, table = least(
            options.runs,
            lambda: pq.read_table(
                PARQUET, columns=["x", "y"], filters=filters(options.entries), use_threads=False
            ),
        )
        assert count == len(table) == passing[True], name
        decided = trees[True].decided(cut)
        read = decided.runs_look / (decided.runs_none + decided.runs_all + decided.runs_look)
        times = [arrays[True], arrays[False], drawn[True], drawn[False], by_root, parquet]
        [with_, without, draw, draw_without, by_root, parquet] = [
            f"{1000 * seconds:.1f}" for seconds in times
        ]
        print(
            f"| {name} | {passing[True]:,} | {100 * read:.1f} % | {with_} | {without} | "
            f"{arrays[False] / arrays[True]:.2f} | {draw} | {draw_without} | {by_root} | {parquet} |"
        )


if __name__ == "__main__":
    main()
