"""The Event benchmark of 1997 with the classes that ROOT's own test program had: `bench/read/event1997.C`.

ROOT writes the events. Sapwood cannot write objects with `TObject` below them from values; it compresses
ROOT's plain file anew (`sapwood.rewrite`), and adds as many entries to a file (`sapwood.merge(append=True)`).
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.read.worker import cpu_seconds
from bench.support.draw import table
from bench.support.files import DATA, load_root

FOLDER = DATA / "streaming"
SPLITS = {0: "unsplit", 1: "split once", 99: "split"}
LEVELS = (0, 1, 2)
#: Events with fewer tracks are the sample.
SAMPLE = "fNtrack < 585"
CALLS = {
    "all": "`arrays()`",
    "cut": f'`arrays(cut="{SAMPLE}")`',
    "mask": "`fNtrack` first, then `arrays(entries=mask)`",
    "iterate": "`iterate()`",
    "iterate cut": f'`iterate(cut="{SAMPLE}")`',
}


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    wall, cpu = time.perf_counter(), cpu_seconds()
    work()
    return time.perf_counter() - wall, cpu_seconds() - cpu


def path_of(who: str, split: int, level: int) -> Path:
    return FOLDER / f"old_{split}_{level}_{who}.root"


def root_rows(entries: int) -> list[dict[str, Any]]:
    root = load_root(DATA, ["event1997"])
    root.old_make(20)
    made, _ = timed(lambda: root.old_make(entries))
    warm = str(path_of("warm", 99, 1))
    root.old_write(warm, 101, 99)
    root.old_read(warm), root.old_sample(warm)
    Path(warm).unlink()
    rows = []
    for split in SPLITS:
        for level in LEVELS:
            path = path_of("ROOT", split, level)
            path.unlink(missing_ok=True)
            place = str(path)
            write = timed(lambda: root.old_write(place, 100 + level if level else 0, split))  # noqa: B023
            read = timed(lambda: root.old_read(place))  # noqa: B023
            row: dict[str, Any] = {"split": split, "level": level, "size": path.stat().st_size}
            row |= {"made": made, "write": write[0], "write_cpu": write[1], "read": read[0], "all": read[1]}
            if split:
                row["sample"], row["cut"] = timed(lambda: root.old_sample(place))  # noqa: B023
            rows.append(row)
    return rows


def sapwood_reads(path: Path, split: int) -> dict[str, float]:
    """CPU seconds of each call, and wall seconds of two of them."""
    import sapwood

    def tree() -> Any:
        return sapwood.open(path, threads=1)["T"]

    def masked() -> Any:
        opened = tree()
        return opened.arrays(library="arrow", entries=opened["fNtrack"].array(library="np") < 585)

    def iterated(cut: str | None) -> None:
        for batch in tree().iterate(None, cut, library="arrow"):
            len(batch)

    calls: dict[str, Callable[[], Any]] = {
        "all": lambda: tree().arrays(library="arrow"),
        "iterate": lambda: iterated(None),
    }
    if split:
        calls["cut"] = lambda: tree().arrays(None, SAMPLE, library="arrow")
        calls["mask"] = masked
        calls["iterate cut"] = lambda: iterated(SAMPLE)
    found = {}
    for name, call in calls.items():
        call()
        wall, found[name] = timed(call)
        if name in ("all", "cut"):
            found["read" if name == "all" else "sample"] = wall
    return found


def sapwood_rows() -> list[dict[str, Any]]:
    import sapwood

    rows = []
    for split in SPLITS:
        source = path_of("ROOT", split, 0)
        for level in LEVELS:
            path, more = path_of("Sapwood", split, level), path_of("more", split, level)
            setting = f"zlib:{level}" if level else None
            rewrite = lambda: sapwood.rewrite(source, path, compression=setting, threads=1)  # noqa: B023, E731
            rewrite()  # libraries load
            write = timed(rewrite)
            shutil.copy(path, more)
            append = timed(lambda: sapwood.merge(more, [path], append=True, threads=1))  # noqa: B023
            rows.append(
                {
                    "split": split,
                    "level": level,
                    "size": path.stat().st_size,
                    "write": write[0],
                    "write_cpu": write[1],
                    "append": append[1],
                    "grown": more.stat().st_size,
                    **sapwood_reads(path, split),
                }
            )
            more.unlink()
    return rows


def work(job: dict[str, Any]) -> list[dict[str, Any]]:
    return root_rows(job["entries"]) if job["who"] == "ROOT" else sapwood_rows()


def section(found: dict[str, list[dict[str, Any]]], entries: int) -> str:
    """Both tables, from medians of each contender's rows."""
    body = []
    by = {who: {(row["split"], row["level"]): row for row in rows} for who, rows in found.items()}
    for split, word in SPLITS.items():
        for level in LEVELS:
            for who in ("Sapwood", "ROOT"):
                row = by[who][split, level]
                total = row["made"] + row["write"] if "made" in row else None
                seconds = (
                    total,
                    *(row.get(k) for k in ("write", "write_cpu", "append", "read", "all", "sample", "cut")),
                )
                cells = ["" if x is None else f"{x:.3f}" for x in seconds]
                body.append([f"{who}, comp {level}, {word}", f"{row['size'] / 1e6:.2f}", *cells])
    head = ["1997", "MB", "total write, s", "effective write, s", "CPU to write", "CPU to append as many"]
    head += ["read all, s", "CPU for all", "read sample, s", "CPU for sample"]
    calls = []
    for split, word in SPLITS.items():
        for level in LEVELS if split else ():
            row = by["Sapwood"][split, level]
            cells = [f"{row[name]:.3f}" for name in CALLS]
            calls.append([f"comp {level}, {word}", *cells, f"{row['cut'] / row['all']:.2f}"])
    return (
        f"{entries:,} events of about 600 tracks of 17 members (`bench/read/event1997.C`): `TObject` below events and tracks, a "
        "`TClonesArray`, a header, two `TRefArray`s, a `TRef` and a histogram of 100 bins. ROOT fills and writes them; *total* "
        "has the making of the random numbers in it. Sapwood does not write objects with `TObject` below them from values: its "
        "*effective write* is that of ROOT's uncompressed file written again in the row's compression (`sapwood.rewrite`), and "
        "*append* adds all of the row's file to itself (`sapwood.merge(append=True)`). Each reads its own file. *Sample* "
        f"reads the track counts, and the whole event where `{SAMPLE}`; Sapwood's is `arrays(cut=...)`. In one branch, the "
        "whole event has to be read for its count.\n\n"
        + table(head, body)
        + "\n### The sample, call by call\n\n"
        + "CPU seconds of Sapwood, as Arrow tables.\n\n"
        + table(["", *CALLS.values(), "cut / all"], calls)
    )
