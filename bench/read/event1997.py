"""The Event benchmark of 1997 with the classes that ROOT's own test program had: `bench/read/event1997.C`.

ROOT writes the events. Sapwood writes them as a new tree like ROOT's, from values (`mktree(like=...)`),
compresses ROOT's plain file anew (`sapwood.rewrite`), and adds as many entries to a file: those of the file
(`sapwood.merge(append=True)`), and from values (`extend`).
"""

from __future__ import annotations

import random
import resource
import shutil
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
#: How many first events are tried.
FIRSTS = 7
CALLS = {
    "all": "`arrays()`",
    "cut": f'`arrays(cut="{SAMPLE}")`',
    "mask": "`fNtrack` first, then `arrays(entries=mask)`",
    "iterate": "`iterate()`",
    "iterate cut": f'`iterate(cut="{SAMPLE}")`',
}


def timed(work: Callable[[], Any]) -> tuple[float, int]:
    """CPU seconds, and how many new pages the kernel gave."""
    pages, cpu = resource.getrusage(resource.RUSAGE_SELF).ru_minflt, cpu_seconds()
    work()
    return cpu_seconds() - cpu, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - pages


def shuffled(entries: int) -> list[int]:
    """All entries, in another order."""
    order = list(range(entries))
    random.Random(1).shuffle(order)
    return order


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
            write, _ = timed(lambda: root.old_write(place, 100 + level if level else 0, split))  # noqa: B023
            row: dict[str, Any] = {"split": split, "level": level, "size": path.stat().st_size}
            row |= {"made": made, "write": write}
            row["all"], row["pages"] = timed(lambda: root.old_read(place))  # noqa: B023
            order = root.std.vector["long"](shuffled(entries))
            row["rows"], _ = timed(lambda: root.old_rows(place, order))  # noqa: B023
            if split:
                row["cut"], _ = timed(lambda: root.old_sample(place))  # noqa: B023
            rows.append(row)
    return rows


def sapwood_reads(path: Path, split: int) -> dict[str, float]:
    """CPU seconds of each call, and the pages of the first."""
    import sapwood

    def tree() -> Any:
        return sapwood.open(path, threads=1)["T"]

    def masked() -> Any:
        opened = tree()
        return opened.arrays(library="arrow", entries=opened["fNtrack"].array(library="np") < 585)

    def iterated(cut: str | None) -> None:
        for batch in tree().iterate(None, cut, library="arrow"):
            len(batch)

    def rows() -> None:
        opened = tree()
        for row in opened.rows(shuffled(opened.num_entries)):
            for name in row:
                row[name]

    calls: dict[str, Callable[[], Any]] = {
        "all": lambda: tree().arrays(library="arrow"),
        "iterate": lambda: iterated(None),
        "rows": rows,
    }
    if split:
        calls["cut"] = lambda: tree().arrays(None, SAMPLE, library="arrow")
        calls["mask"] = masked
        calls["iterate cut"] = lambda: iterated(SAMPLE)
    found: dict[str, float] = {}
    for name, call in calls.items():
        call()
        found[name], pages = timed(call)
        found.setdefault("pages", pages)
    return found


def by_first(path: Path) -> list[dict[str, Any]]:
    """CPU seconds and new pages of reading four fifths of the events, by the tracks of the first of them."""
    import sapwood

    counts = sapwood.open(path, threads=1)["T"]["fNtrack"].array(library="np")
    part = len(counts) * 4 // 5
    starts = sorted(range(len(counts) - part), key=lambda start: int(counts[start]))
    rows = []
    for start in (starts[round(i * (len(starts) - 1) / (FIRSTS - 1))] for i in range(FIRSTS)):

        def read(start: int = start) -> None:
            tree = sapwood.open(path, threads=1)["T"]
            tree.arrays("fTracks", library="arrow", entry_start=start, entry_stop=start + part)

        read()
        cpu, pages = zip(*(timed(read) for _ in range(3)), strict=True)
        tracks = int(counts[start : start + part].sum())
        rows.append(
            {"first": int(counts[start]), "tracks": tracks, "cpu": sorted(cpu)[1], "pages": sorted(pages)[1]}
        )
    return rows


def sapwood_rows() -> list[dict[str, Any]]:
    import sapwood

    rows = []
    with sapwood.open(path_of("ROOT", 0, 0)) as file:
        events = file["T"]["event"].array()

    def new(path: Path, source: Path, setting: str | None) -> None:
        like = sapwood.open(source)["T"]
        with sapwood.recreate(path, threads=1) as file:
            tree = file.mktree("T", like=like, compression=setting, basket_bytes=32_000)
            tree.extend({"event": events})

    def extend(path: Path) -> None:
        with sapwood.update(path, threads=1) as file:
            file["T"].extend({"event": events})

    for split in SPLITS:
        source = path_of("ROOT", split, 0)
        for level in LEVELS:
            path, more = path_of("Sapwood", split, level), path_of("more", split, level)
            setting = f"zlib:{level}" if level else None
            rewrite = lambda: sapwood.rewrite(source, path, compression=setting, threads=1)  # noqa: B023, E731
            rewrite(), new(path, source, setting)  # libraries load
            again, _ = timed(rewrite)
            write, _ = timed(lambda: new(path, source, setting))  # noqa: B023
            shutil.copy(path, more)
            append, _ = timed(lambda: sapwood.merge(more, [path], append=True, threads=1))  # noqa: B023
            grown = more.stat().st_size
            shutil.copy(path, more)
            values, _ = timed(lambda: extend(more))  # noqa: B023
            rows.append(
                {
                    "split": split,
                    "level": level,
                    "size": path.stat().st_size,
                    "write": write,
                    "again": again,
                    "append": append,
                    "values": values,
                    "grown": grown,
                    **sapwood_reads(path, split),
                }
            )
            more.unlink()
    return rows


def work(job: dict[str, Any]) -> list[dict[str, Any]]:
    if job["who"] == "first":
        return by_first(path_of("ROOT", 1, 0))
    return root_rows(job["entries"]) if job["who"] == "ROOT" else sapwood_rows()


def section(found: dict[str, list[dict[str, Any]]], entries: int) -> str:
    """Both tables, from medians of each contender's rows."""
    body = []
    by = {who: {(row["split"], row["level"]): row for row in found[who]} for who in ("Sapwood", "ROOT")}
    for split, word in SPLITS.items():
        for level in LEVELS:
            for who in ("Sapwood", "ROOT"):
                row = by[who][split, level]
                total = row["made"] + row["write"] if "made" in row else None
                names = ("write", "again", "append", "values", "all", "cut", "rows")
                seconds = (total, *(row.get(name) for name in names))
                cells = ["" if x is None else f"{x:.3f}" for x in seconds]
                cells.append(f"{row['pages']:,.0f}")
                body.append([f"{who}, comp {level}, {word}", f"{row['size'] / 1e6:.2f}", *cells])
    head = ["CPU seconds", "MB", "total write", "effective write", "compress anew", "append as many"]
    head += ["append from values", "read all", "read sample", "rows at random", "new pages, all"]
    firsts = [
        [str(row["first"]), f"{row['tracks']:,.0f}", f"{row['pages']:,.0f}", f"{row['cpu']:.3f}"]
        for row in found["first"]
    ]
    calls = []
    for split, word in SPLITS.items():
        for level in LEVELS if split else ():
            row = by["Sapwood"][split, level]
            cells = [f"{row[name]:.3f}" for name in CALLS]
            calls.append([f"comp {level}, {word}", *cells, f"{row['cut'] / row['all']:.2f}"])
    return (
        f"{entries:,} events of about 600 tracks of 17 members (`bench/read/event1997.C`): `TObject` below events and tracks, a "
        "`TClonesArray`, a header, two `TRefArray`s, a `TRef` and a histogram of 100 bins. ROOT fills and writes them; *total* "
        "has the making of the random numbers in it. Sapwood's *effective write* is a new tree like ROOT's "
        "(`mktree(like=...)`, with baskets of 32,000 bytes, as ROOT has them) of the same events, which are an Awkward Array; *compress anew* writes ROOT's uncompressed "
        "file again in the row's compression (`sapwood.rewrite`), "
        "*append* adds all of the row's file to a copy of it (`sapwood.merge(append=True)`), and *append from values* adds "
        "all events of the Awkward Array (`extend`). Each reads its own file. *Sample* "
        f"reads the track counts, and the whole event where `{SAMPLE}`; Sapwood's is `arrays(cut=...)`. In one branch, the "
        "whole event has to be read for its count. *Rows at random* are all events in another order: ROOT's `GetEntry` of its "
        "compiled classes, and Sapwood's `rows(entries=...)` in Python, with all members as Awkward records.\n\n"
        + table(head, body)
        + "\n### The sample, call by call\n\n"
        + "CPU seconds of Sapwood, as Arrow tables.\n\n"
        + table(["", *CALLS.values(), "cut / all"], calls)
        + "\n### What the first basket holds\n\n"
        "Four fifths of the events, from different ones on, in the file that is split once and not compressed: each basket holds "
        "the tracks of one event. Sapwood reserves the memory of an answer by "
        "the bytes of its baskets before compression; what it needs beyond what the last answer gave back comes from the kernel in new pages "
        "(4 KiB each, medians of reads after a first one).\n\n"
        + table(["tracks of the first event", "tracks", "new pages", "CPU seconds"], firsts)
    )
