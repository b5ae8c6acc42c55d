"""Where threads wait in the kernel, as `strace` sees it."""

from __future__ import annotations

import re
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

PLACES = {
    "engine": "mutexes of the engine",
    "mutex": "mutexes of C",
    "condition": "conditions of C",
    "other": "other",
}

BEGUN = re.compile(r"(\d+) +futex\((\w+), (FUTEX_WAIT[\w|]*), (\d+)")
ENDED = re.compile(r"(\d+) +(?:futex\(.*\)|<\.\.\. futex resumed>.*\)) += 0 <([\d.]+)>")


def place(operation: str, values: set[int]) -> str:
    """What a thread waited for, by the call and by all values that threads have expected at its address. Mutexes
    that others wait for are 2, in Rust and in C; conditions of C have the clock. A condition of Rust counts
    how often it was told, so that one of its waits may have 2, too: others at its address have not."""
    if "CLOCK_REALTIME" in operation:
        return "condition"
    if values != {2}:
        return "other"
    return "engine" if "BITSET" in operation else "mutex"


def waits(lines: list[str]) -> dict[str, tuple[int, float]]:
    """Number and seconds of waits, between the marks, of all threads but the first."""
    values: dict[str, set[int]] = defaultdict(set)
    for found in filter(None, map(BEGUN.match, lines)):
        values[found[2]].add(int(found[4]))
    counts: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    pending: dict[str, str] = {}
    marks, first = 0, lines[0].split()[0]
    for line in lines:
        marks += "getsid(" in line
        if begun := BEGUN.match(line):
            pending[begun[1]] = place(begun[3], values[begun[2]])
        elif " futex(" in line:
            pending.pop(line.split()[0], None)
        done = ENDED.match(line)
        where = pending.pop(done[1], None) if done else None
        if done and where and marks == 1 and done[1] != first:
            counts[where] += 1
            seconds[where] += float(done[2])
    return {where: (counts[where], seconds[where]) for where in PLACES}


def traced(command: list[str], trace: Path) -> dict[str, tuple[int, float]]:
    """The waits of a program that calls `getsid` before and after what is measured."""
    strace = ["strace", "-f", "-T", "-e", "trace=futex,getsid", "-e", "signal=none", "-o", str(trace)]
    subprocess.run([*strace, *command], check=True, stdout=subprocess.DEVNULL)
    found = waits(trace.read_text(errors="replace").splitlines())
    trace.unlink()
    return found
