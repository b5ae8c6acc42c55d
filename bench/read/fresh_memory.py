"""Fresh memory with and without the advice for huge pages, while free memory is whole and while it is in pieces.

    python -m bench.read.fresh_memory [--pieces GB]

The C library gives the advice for what it maps where GLIBC_TUNABLES says so (glibc 2.35 and later).
`--pieces` fills so much memory with small pages and gives every other one back, so that no two free pages are
side by side.
"""

from __future__ import annotations

import argparse
import mmap
import os
import statistics
import subprocess
import sys
from pathlib import Path

from bench.support.draw import table
from bench.support.files import INPUTS
from bench.support.gen import generate

ADVICE = {"as the system gives it": "", "with the advice": "glibc.malloc.hugetlb=1"}
PAGE = 4096


def in_pieces(gigabytes: float) -> mmap.mmap:
    """Memory of which every other page was given back."""
    bytes_ = int(gigabytes * (1 << 30)) // (1 << 20) * (1 << 20)
    memory = mmap.mmap(-1, bytes_, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    some = b"x" * (1 << 20)
    for at in range(0, bytes_, len(some)):
        memory[at : at + len(some)] = some
    for at in range(0, bytes_, 2 * PAGE):
        memory.madvise(mmap.MADV_DONTNEED, at, PAGE)
    return memory


def free_huge_pages() -> int:
    """Free blocks of 2 MiB and more."""
    lines = Path("/proc/buddyinfo").read_text().splitlines()
    return sum(int(count) << order for line in lines for order, count in enumerate(line.split()[4:][9:]))


def read(path: str) -> None:
    """CPU seconds of seven reads whose answers are kept."""
    import sapwood
    from bench.read.worker import cpu_seconds

    file, kept = sapwood.open(path, threads=1), []
    tree = file[file.keys()[0]]
    for _ in range(7):
        before = cpu_seconds()
        kept.append(tree.arrays(library="arrow"))
        print(cpu_seconds() - before)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--pieces", type=float, default=0.0, help="GB of memory to break up")
    parser.add_argument("--read", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.read:
        read(args.read)
        return
    generate("full", "flat_none")
    path = next(x for x in INPUTS if x.name == "flat_none").path("full")
    kept, rows = in_pieces(args.pieces) if args.pieces else None, []
    for _ in range(3):
        for name, tunables in ADVICE.items():
            found = free_huge_pages()
            line = [sys.executable, "-m", "bench.read.fresh_memory", "--read", str(path)]
            env = {**os.environ, "GLIBC_TUNABLES": tunables}
            done = subprocess.run(line, env=env, check=True, capture_output=True, text=True)
            times = [float(x) for x in done.stdout.split()]
            rows.append([name, f"{found:,}", *(f"{x:.3f}" for x in (min(times), statistics.median(times)))])
    if kept is not None:
        kept.close()
    print(table(["fresh memory, 400 MB", "free huge pages before", "CPU s, best", "CPU s, median"], rows))


if __name__ == "__main__":
    main()
