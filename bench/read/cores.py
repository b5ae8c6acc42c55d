#!/usr/bin/env python3
"""What reading with several threads has in common, counted; and a model of up to 64 cores that is fed with it;
draws docs/benchmarks/reading-cores.md.

    python -m bench.read.cores [--rounds 5] [--only PART_OF_A_NAME] [--no-locks] [--no-draw]

The caller of a read takes records up, gives values their positions and joins them; the threads of the session
inflate and decode. Their CPU seconds are measured apart, with as many threads as a column says, each round in
a process of its own. Waits are counted with `strace`, in runs of their own. The model has no chance in it and
no clock.
"""

from __future__ import annotations

import argparse
import heapq
import json
import statistics
import sys
from collections import deque
from dataclasses import dataclass

from bench.read.run import machine, run
from bench.support.draw import label, table
from bench.support.files import DATA, HERE, INPUTS, TREE, Input
from bench.support.gen import generate
from bench.support.waits import PLACES, traced

TARGET = HERE.parent / "docs" / "benchmarks" / "reading-cores.md"
NAMES = ("flat_zstd5", "flat_lz4", "flat_none", "jagged_zlib1", "vectors_zstd5", "event_whole_zlib1")
MEASURED = (2, 8, 64)
TRACED = (2, 8, 64)
MODEL = (1, 2, 4, 8, 16, 32, 64)
GROUP_BYTES, GROUP_UNPACKED_BYTES = 128 << 10, 1 << 20
"""What one thread is given at once (`crates/core/src/read/pipeline.rs`): the first that is reached."""
AHEAD = 4
"""Groups for each thread that are begun and not taken."""
WORK = f"""
import json, os, sys, time
import sapwood
path, tiny, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
sapwood.open(tiny, threads=threads)[{TREE!r}].arrays(library="arrow")
sapwood.open(path, threads=threads)[{TREE!r}].arrays(library="arrow")
tree = sapwood.open(path, threads=threads)[{TREE!r}]
os.getsid(0)
own, all_, wall = time.thread_time(), time.process_time(), time.perf_counter()
arrays = tree.arrays(library="arrow")
own, all_, wall = time.thread_time() - own, time.process_time() - all_, time.perf_counter() - wall
os.getsid(0)
print(json.dumps({{"caller": own, "all": all_, "wall": wall, "unpacked": sum(b.uncompressed_bytes for b in tree.branches),
                  "stored": sum(b.compressed_bytes for b in tree.branches)}}), flush=True)
"""
Rows = list[list[str]]


@dataclass(frozen=True)
class Costs:
    """CPU seconds of one read: of the caller, and of the threads; and into how many groups it is cut."""

    caller: float
    threads: float
    groups: int


def modelled(costs: Costs, cores: int) -> float:
    """Seconds with so many cores: the caller hands groups over, no more than `AHEAD` for each thread before the
    first that is not decoded; threads take them as they become free; the caller takes their values in order.
    Half of its time is spent before a group, half after it."""
    threads = max(cores, 1)
    step, work = costs.caller / costs.groups / 2, costs.threads / costs.groups
    free = [0.0] * threads
    done: deque[float] = deque()
    now = 0.0
    for _ in range(costs.groups):
        if len(done) >= AHEAD * threads:
            now = max(now, done.popleft()) + step
        now += step
        start = max(heapq.heappop(free), now)
        heapq.heappush(free, start + work)
        done.append(start + work)
    while done:
        now = max(now, done.popleft()) + step
    return now


def command(i: Input, threads: int) -> list[str]:
    return [sys.executable, "-c", WORK, str(i.path("full")), str(i.path("tiny")), str(threads)]


def measured(i: Input, threads: int, rounds: int) -> dict[str, float]:
    """Medians, and the share of the machine that other processes used."""
    answers = [run(command(i, threads))[0] for _ in range(rounds)]
    for answer in answers:
        if "error" in answer:
            sys.exit(f"{i.name}: {answer['error']}")
    found = {name: statistics.median(float(one[name]) for one in answers) for name in answers[0]}
    return found | {"others": max(float(one["others"]) for one in answers)}


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--only", default="", help="only inputs whose name contains this")
    ap.add_argument("--no-locks", action="store_true", help="do not trace")
    ap.add_argument("--no-draw", action="store_true", help=f"leave docs/benchmarks/{TARGET.name} as it is")
    args = ap.parse_args()
    costs, models, locks, others = [], [], [], 0.0
    for i in (one for one in INPUTS if one.name in NAMES and args.only in one.name):
        generate("full", i.name)
        generate("tiny", i.name)
        found = {threads: measured(i, threads, args.rounds) for threads in MEASURED}
        others = max(others, *(one["others"] for one in found.values()))
        two = found[2]
        groups = max(two["stored"] // GROUP_BYTES, two["unpacked"] // GROUP_UNPACKED_BYTES, 1)
        cost = Costs(two["caller"], two["all"] - two["caller"], int(groups))
        cells = [f"{found[n][name]:.3f}" for n in MEASURED for name in ("caller", "all")]
        cells += [f"{seconds:.3f}" for seconds in (two["wall"], modelled(cost, 2))]
        costs.append([label(i.name), str(cost.groups), *cells])
        one = cost.caller + cost.threads
        models.append([label(i.name), *(f"{one / modelled(cost, cores):.1f}" for cores in MODEL)])
        print(json.dumps({"costs": costs[-1], "model": models[-1]}), flush=True)
        for threads in () if args.no_locks else TRACED:
            of = traced(command(i, threads), DATA / "trace.txt")
            cells = [f"{count} ({seconds:.3f})" if count else "0" for count, seconds in of.values()]
            locks.append([label(i.name), str(threads), *cells])
            print(locks[-1], flush=True)
    if not args.no_draw:
        TARGET.write_text(page(args, others, costs, models, locks))
    return 0


def page(args: argparse.Namespace, others: float, costs: Rows, models: Rows, locks: Rows) -> str:
    host = machine()
    head = ["CPU seconds", "groups"]
    head += [f"{threads} threads: {who}" for threads in MEASURED for who in ("caller", "all")]
    parts = [
        f"""# Reading with many cores

`python -m bench.read.cores` on {host["cpu"]}, {host["cores"]} cores; other processes took up to {100 * others:.0f} % of it. All columns
of the files of [the tables of reading](../benchmarks.md) as arrays, in fresh memory; medians of {args.rounds} rounds.

## What a read costs

The *caller* takes records up, gives values their positions and joins them; the session's threads inflate and decode.
*All* is the CPU of both. What grows with the threads would be work that is done twice, or memory that is moved between
caches. A session starts no more threads than there are cores, {host["cores"]} here, however many are asked for.
""",
        table([*head, "2 threads: wall", "model"], costs),
        f"""## A model of {MODEL[-1]} cores

**A model, not a measurement**: how many times faster than one core that does all of it. The caller hands groups of
baskets over, no more than {AHEAD} for each thread before the first that is not decoded, and takes their values in order.
Each thread has a core that is as fast as one alone: memory, caches and storage cost nothing more. What bounds it is
the caller's own time, and in small files the number of groups.
""",
        table(["times faster", *(str(cores) for cores in MODEL)], models),
    ]
    if locks:
        parts += [
            """## Where threads wait

Waits in the kernel, and in brackets their seconds (`strace -f -e futex`, of all threads but the caller; tracing makes
each longer). *Other*: threads without work.
""",
            table(["", "threads", *PLACES.values()], locks),
        ]
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
