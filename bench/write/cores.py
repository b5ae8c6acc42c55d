#!/usr/bin/env python3
"""A model of filling one tree with up to 72 threads, each with a core of its own: fed with what the parts of a cluster cost one thread
on this machine; draws docs/benchmarks/cores.md.

    python -m bench.write.cores [--rounds 5] [--no-measure] [--no-draw]

Costs are CPU seconds, which other work disturbs least; they are kept in `bench/write/cores.json`. The model
itself has no chance in it and no clock. It is held against what `bench.write.files` measured with one and
with two threads, whose page has to be there.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.papers.tables import Cell
from bench.read.run import machine
from bench.support.files import DATA, HERE

TARGET = HERE.parent / "docs" / "benchmarks" / "cores.md"
RECORD = HERE / "write" / "cores.json"
THREADS = (1, 2, 4, 8, 16, 24, 36, 48, 72)
CLUSTERS = 1_440
"""Of the model: 20 for each of 72 threads."""
MEASURED = 32
"""Clusters of `bench.write.files`."""
MAKING = 0.1
"""Seconds in which a thread makes the events of a cluster, where they are made: 40 events of 100 kB in 2.5 ms each. Assumed."""
ROWS = {"flat 20": (20, 50_000), "flat 1,000": (1_000, 1_000)}
ROOT = f"""
import json, sys
sys.path.insert(0, {str(HERE.parent)!r})
from bench.support.files import DATA, load_root
root = load_root(DATA, ["parallel"])
print(json.dumps(list(root.fill_costs("flat", sys.argv[1], *map(int, sys.argv[2:]), 101))))
"""


@dataclass(frozen=True)
class Costs:
    """Seconds of a cluster of Sapwood: filled and compressed by its thread, under the file's lock, written to the file. `end`: closing."""

    fill: float
    lock: float
    write: float
    end: float
    bytes: float


@dataclass(frozen=True)
class RootCosts:
    """Seconds of a cluster of ROOT: filled and compressed; merged under the merger's lock, directly or from a queue; copied into that."""

    fill: float
    merge: float
    copy: float
    queued: float
    end: float


@dataclass(frozen=True)
class Run:
    """What the model says: seconds, the share in which what all share is taken, and the longest queue."""

    seconds: float
    taken: float
    queue: int = 0


def uneven(cluster: int) -> float:
    """Clusters differ by up to a tenth, always the same ones."""
    return 0.9 + 0.2 * (cluster * 2_654_435_761 % 2**32) / 2**32


def one_tree(costs: Costs, threads: int, clusters: int, making: float) -> Run:
    """Sapwood: the lock twice for each cluster, for its place and to become part of the tree; between them the write, one after
    another, for the kernel lets no two threads write to a file at once."""
    parts = ((0.0, -1), (costs.lock / 2, 0), (costs.write, 1), (costs.lock / 2, 0))
    free, taken = [0.0, 0.0], [0.0, 0.0]
    due = [(0.0, thread, thread, 0) for thread in range(min(threads, clusters))]
    last = 0.0
    while due:
        now, thread, cluster, part = heapq.heappop(due)
        seconds, shared = parts[part]
        if shared < 0:
            now += (making + costs.fill) * uneven(cluster)
        else:
            now = max(now, free[shared]) + seconds
            free[shared] = now
            taken[shared] += seconds
        last = max(last, now)
        if part + 1 < len(parts):
            heapq.heappush(due, (now, thread, cluster, part + 1))
        elif cluster + threads < clusters:
            heapq.heappush(due, (now, thread, cluster + threads, 0))
    return Run(last + costs.end, max(taken) / last)


def merger(costs: RootCosts, threads: int, clusters: int, making: float) -> Run:
    """TBufferMerger: who finds the lock free merges its cluster and what is in the queue; others leave a copy there, and look once
    more. What is left is merged in the end."""
    free = taken = last = 0.0
    queue = longest = 0
    due = [(0.0, thread, thread, 0) for thread in range(min(threads, clusters))]
    while due:
        now, thread, cluster, part = heapq.heappop(due)
        if part == 0:
            heapq.heappush(due, (now + (making + costs.fill) * uneven(cluster), thread, cluster, 1))
            continue
        if part == 1 and free > now:
            heapq.heappush(due, (now + costs.copy, thread, cluster, 2))
            continue
        own = costs.merge if part == 1 else 0.0
        if part == 2:
            queue += 1
            longest = max(longest, queue)
        if free <= now:
            seconds = own + queue * costs.queued
            queue, free = 0, now + seconds
            taken += seconds
            now = free
        last = max(last, now)
        if cluster + threads < clusters:
            heapq.heappush(due, (now, thread, cluster + threads, 0))
    return Run(last + queue * costs.queued + costs.end, taken / last, longest)


def files(cluster: float, threads: int, clusters: int) -> float:
    """A file for each thread: nothing is shared."""
    shares = (
        sum(uneven(k) for k in range(thread, clusters, threads)) for thread in range(min(threads, clusters))
    )
    return max(shares) * cluster


def ours(branches: int, rows: int, out: Path, lock: float) -> Costs:
    import numpy as np
    import sapwood

    random = np.random.default_rng(1)
    values = {f"b{k}": (1 + random.integers(0, 4096, rows) / 4096).astype("f4") for k in range(branches)}
    path = out / "ours.root"
    with sapwood.recreate(path, compression="zlib:1", threads=1) as file:
        tree = file.parallel_tree("tree", dict.fromkeys(values, "f4"), auto_flush=rows)
        with tree.context() as context:
            context.extend(values)  # buffers are there from now on
            began = time.process_time()
            for _ in range(MEASURED):
                context.extend(values)
            filled = (time.process_time() - began) / MEASURED
        began = time.process_time()  # the tree and the file are closed
    end = time.process_time() - began
    size = path.stat().st_size / (MEASURED + 1)
    path.unlink()
    write = min(written(out / "bytes", int(size)) for _ in range(3))
    return Costs(filled - lock - write, lock, write, end, size)


def written(path: Path, size: int) -> float:
    """CPU seconds of a write of so many bytes to the end of a file."""
    block = memoryview(os.urandom(size))
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    began = time.process_time()
    for k in range(MEASURED):
        os.pwrite(file, block, k * size)
    seconds = (time.process_time() - began) / MEASURED
    os.close(file)
    path.unlink()
    return seconds


def measure(rounds: int, out: Path) -> dict[str, Any]:
    out.mkdir(parents=True, exist_ok=True)
    costs: dict[str, Any] = {}
    for name, (branches, rows) in ROWS.items():
        heading = "Filling one tree from many threads"
        lock = Cell("benchmarks/parallel.md", heading, (name, "1"), "lock, µs").value() or 0.0
        found: dict[str, list[list[float]]] = {"ours": [], "root": []}
        for _ in range(rounds):
            one = ours(branches, rows, out, lock * 1e-6)
            found["ours"].append([one.fill, one.lock, one.write, one.end, one.bytes])
            path = str(out / "root.root")
            command = [
                sys.executable,
                "-W",
                "ignore",
                "-c",
                ROOT,
                path,
                str(branches),
                str(rows),
                str(MEASURED),
            ]
            done = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found["root"].append(json.loads(done.splitlines()[-1]))
            Path(path).unlink()
        costs[name] = {
            who: [float(f"{statistics.median(column):.4g}") for column in zip(*all_, strict=True)]
            for who, all_ in found.items()
        }
        print(name, costs[name], flush=True)
    return {"machine": machine(), "rounds": rounds, "costs": costs}


def known(name: str, contexts: str, column: str) -> float:
    value = Cell(
        "benchmarks/parallel-files.md", "One tree, and as many files", (name, contexts), column
    ).value()
    return value or 0.0


def validation(costs: dict[str, tuple[Costs, RootCosts]]) -> Iterator[list[str]]:
    for name, (mine, root) in costs.items():
        models = {
            "Sapwood, one tree": [one_tree(mine, n, MEASURED, 0).seconds for n in (1, 2)],
            "TBufferMerger": [merger(root, n, MEASURED, 0).seconds for n in (1, 2)],
        }
        for who, (one, two) in models.items():
            cpu, first, second = (
                known(name, n, f"{what}: {who}") for n, what in (("1", "CPU, s"), ("1", "s"), ("2", "s"))
            )
            native = [
                Cell(
                    "benchmarks/parallel.md", "Filling one tree from many threads", (name, n), column
                ).value()
                or 0
                for column in ("Sapwood" if who.startswith("S") else who,)
                for n in ("1", "2")
            ]
            yield [
                name, who, f"{one:.2f}", f"{cpu:.2f}", f"{first:.2f}", f"{two:.2f}", f"{second:.2f}",
                f"{one / two:.2f}", f"{first / second:.2f}", f"{native[0] / native[1]:.2f}",
            ]  # fmt: skip


def predictions(name: str, mine: Costs, root: RootCosts, making: float) -> Iterator[list[str]]:
    first = one_tree(mine, 1, CLUSTERS, making), merger(root, 1, CLUSTERS, making)
    alone = [files(making + cost, 1, CLUSTERS) for cost in (mine.fill + mine.write, root.fill + root.merge)]
    for threads in THREADS:
        tree, merged = one_tree(mine, threads, CLUSTERS, making), merger(root, threads, CLUSTERS, making)
        apart = [
            before / files(making + cost, threads, CLUSTERS)
            for before, cost in zip(alone, (mine.fill + mine.write, root.fill + root.merge), strict=True)
        ]
        rate = CLUSTERS * mine.bytes / tree.seconds / 1e6
        yield [
            name, str(threads), f"{first[0].seconds / tree.seconds:.1f}", f"{apart[0]:.1f}",
            f"{100 * tree.taken:.0f}", f"{rate:,.0f}",
            f"{first[1].seconds / merged.seconds:.1f}", f"{apart[1]:.1f}", f"{100 * merged.taken:.0f}", f"{merged.queue:,}",
            f"{merged.seconds / tree.seconds:.1f}",
        ]  # fmt: skip


def rows_of(body: list[list[str]], words: int = 1) -> list[str]:
    widths = "|---" * words + "|---:" * (len(body[0]) - words) + "|"
    lines = [f"| {' | '.join(cells)} |" for cells in body]
    return [lines[0], widths, *lines[1:]]


def page(record: dict[str, Any]) -> str:
    of = record["machine"]
    costs = {name: (Costs(*both["ours"]), RootCosts(*both["root"])) for name, both in record["costs"].items()}
    table = [
        [
            "",
            "Sapwood: fill",
            "lock",
            "write",
            "close",
            "MB",
            "ROOT: fill",
            "merge",
            "copy",
            "from the queue",
            "close",
        ]
    ]
    for name, (mine, root) in costs.items():
        numbers = [mine.fill, mine.lock, mine.write, mine.end]
        theirs = [root.fill, root.merge, root.copy, root.queued, root.end]
        table.append(
            [
                name,
                *(f"{1e3 * x:.3g}" for x in numbers),
                f"{mine.bytes / 1e6:.2f}",
                *(f"{1e3 * x:.3g}" for x in theirs),
            ]
        )
    held = [
        [
            "",
            "",
            "1: model",
            "CPU",
            "clock",
            "2: model",
            "clock",
            "gain: model",
            "measured",
            "native, on another day",
        ],
        *validation(costs),
    ]
    head = [
        "",
        "threads",
        "Sapwood",
        "in files",
        "taken, %",
        "MB/s",
        "TBufferMerger",
        "in files",
        "taken, %",
        "queue",
        "ROOT's time to ours",
    ]
    memory, made = [head], [head]
    for name, (mine, root) in costs.items():
        memory += predictions(name, mine, root, 0.0)
        made += predictions(name, mine, root, MAKING)
    return "\n".join([
        "# A model of 72 cores",
        "",
        f"`python -m bench.write.cores --rounds {record['rounds']}` on {of['cpu']}, {of['cores']} cores, with other work. **This is a model, not a measurement**: the talk of 2017 filled one file on 2 × 18 cores",
        "with two threads each, and here are two. What the parts of a cluster cost one thread is measured; how up to 72 threads share what they have in common is computed",
        "(`bench/write/cores.py`, without any chance). Each thread has a core of its own that is as fast as one alone: memory, caches, turbo and hyperthreads cost nothing, and neither",
        "does the storage. ROOT's global lock, which the talk found to be the bottleneck, is not in it either: ROOT's numbers are upper bounds for that reason, and ours for the others.",
        "",
        "## Costs",
        "",
        f"Milliseconds of CPU for a cluster of 4 MB before ZLIB 1, medians of {record['rounds']} rounds. *Fill*: with compressing, in the thread's own time. *Lock*: for which a commit holds the file's lock,",
        "from [filling one tree](parallel.md). *Write*: the bytes into the file; the kernel lets one thread at a time write to a file. *Merge*: TBufferMerger takes the tree of the",
        "thread, under its lock and with the write. Who finds that taken makes a *copy* instead, and the next one that has the lock takes it *from the queue*. *Close*: once.",
        "",
        *rows_of(table),
        "",
        "## Against what was measured",
        "",
        f"Seconds of {MEASURED} clusters, those that are measured from [one tree, and as many files](parallel-files.md); there the clock had other work beside it, and for one thread CPU seconds",
        "say more. *Native*: the gain of two threads of the programs without an interpreter, [measured](parallel.md) on an idle machine of another make.",
        "",
        *rows_of(held, 2),
        "",
        "Where the clock of one thread is that of its CPU, the model's seconds of one thread are within a tenth of what was measured, and its gain of two threads is up to a tenth above it:",
        "two cores share memory and caches, which the model leaves out. So what follows is too good, and more so with more threads.",
        "",
        "## Values in memory",
        "",
        f"How many times faster than with one thread, {CLUSTERS:,} clusters. *In files*: each thread has a file of its own, nothing is shared. *Taken*: the share of the time in which the",
        "narrowest thing in common is in use: of Sapwood the writes to the file, of ROOT the merger's lock. *MB/s*: what ours would write. *Queue*: clusters that wait for a merge, in",
        "memory.",
        "",
        *rows_of(memory),
        "",
        "## Events that are made",
        "",
        f"The same where each thread makes the events of a cluster first, for {1e3 * MAKING:.0f} ms: 40 events of 100 kB in 2.5 ms each. That is assumed: the talk fills with Pythia, and does not say",
        "how long that takes. It is the same for both.",
        "",
        *rows_of(made),
        "",
        "## What the talk says",
        "",
        "Its text has no numbers of its curves. In words: filling through TBufferMerger did well beside writing as many files, a lock of class information was the bottleneck until it was mended,",
        "and with many threads scaling was not good, for reasons that were open then. The model has one such reason left: every cluster is merged under one lock. Once it is always taken,",
        "more threads only make the queue longer, and a cluster from the queue costs more than one that is merged directly. Ours gives a cluster its place under the lock, in",
        "microseconds; what is left in common is the write itself, which storage will bound before: see the column of MB/s.",
    ]) + "\n"  # fmt: skip


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--out", type=Path, default=DATA / "parallel")
    ap.add_argument("--no-measure", action="store_true", help="take the costs from bench/write/cores.json")
    ap.add_argument("--no-draw", action="store_true", help="leave the page and the record as they are")
    args = ap.parse_args()
    record = json.loads(RECORD.read_text()) if args.no_measure else measure(args.rounds, args.out)
    text = page(record)
    print(text)
    if not args.no_draw:
        RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
