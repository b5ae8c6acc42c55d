#!/usr/bin/env python3
"""The tables of two old papers, with Sapwood and ROOT side by side: the Event benchmark of the 1997 page, and streaming member by
member against object by object as in the paper of 2010.

    python -m bench.read.papers [--scale 0.1] [--rounds 3]

Each contender works in a process of its own and they take turns; numbers are medians. At scale 1 the tables
go to bench/write/event.md and bench/write/streaming.md, from where `bench/write/writing.py` and
`bench/support/draw_writing.py` put them into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # NumPy's idle threads would spin, and their CPU time count

from bench.read.worker import cpu_seconds  # noqa: E402
from bench.support.draw import table  # noqa: E402
from bench.support.files import DATA, load_root  # noqa: E402

HERE = Path(__file__).resolve().parent.parent
FOLDER = DATA / "papers"
FLOATS = "fPx fPy fPz fRandom fMass2 fBx fBy fMeanCharge fXfirst fXlast fYfirst fYlast fZfirst fZlast fCharge"
BELOW = 585
"""Events with fewer tracks are the sample."""


def classes() -> tuple[Any, Any]:
    """Both events as classes of Python."""
    from dataclasses import make_dataclass

    import numpy as np

    floats = [(name, np.float32) for name in FLOATS.split()]
    track = make_dataclass("PageTrack", [*floats, ("fNpoint", np.int32), ("fValid", np.int16)])
    page = make_dataclass(
        "PageEvent",
        [("fNtrack", np.int32), ("fRun", np.int32), ("fTemperature", np.float32), ("fTracks", list[track])]  # type: ignore[valid-type]
    )  # fmt: skip
    hit = make_dataclass("Hit", [(name, np.float32) for name in "xyz"] + [("adc", np.int16)])
    of_hits = make_dataclass(
        "HitTrack",
        [*((name, np.float32) for name in ("px", "py", "pz")), ("charge", np.int32), ("hits", list[hit])]  # type: ignore[valid-type]
    )  # fmt: skip
    return page, make_dataclass("HitEvent", [("number", np.int32), ("tracks", list[of_hits])])  # type: ignore[valid-type]


def made_page(entries: int) -> Any:
    """The events of the page, by NumPy."""
    import awkward as ak
    import numpy as np

    r = np.random.default_rng(7)
    counts = np.maximum(1, r.normal(600, 100, entries)).astype("i4")
    n = int(counts.sum())
    normal = [r.standard_normal(n, "f4") for _ in range(6)]
    flat = [r.random(n, "f4") for _ in range(8)]
    values = {
        "fPx": normal[0], "fPy": normal[1], "fPz": np.hypot(normal[0], normal[1]), "fRandom": 1000 * flat[0],
        "fMass2": np.where(flat[1] < 0.5, np.float32(0.13957), np.float32(0.4936)),
        "fBx": np.float32(0.15) * normal[2],
        "fBy": np.float32(0.15) * normal[3], "fMeanCharge": np.float32(0.01) * flat[2],
        "fXfirst": 10 * flat[3],
        "fXlast": 10 * flat[3] + 10, "fYfirst": 10 * flat[4], "fYlast": 10 * flat[4] + 10,
        "fZfirst": 50 + 5 * normal[4],
        "fZlast": 200 + 10 * normal[5], "fCharge": np.floor(3 * flat[5]) - 1, "fNpoint": (60 + 10 * flat[6]).astype("i4"),
        "fValid": (flat[7] < 0.6).astype("i2"),
    }  # fmt: skip
    tracks = ak.unflatten(ak.zip(values), counts)
    temperature = r.normal(20, 1, entries).astype("f4")
    return ak.zip(
        {
            "fNtrack": counts,
            "fRun": np.full(entries, 200, "i4"),
            "fTemperature": temperature,
            "fTracks": tracks,
        },
        depth_limit=1,
    )


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Wall and CPU seconds, and the answer."""
    wall, cpu = time.perf_counter(), cpu_seconds()
    answer = work()
    return time.perf_counter() - wall, cpu_seconds() - cpu, answer


class Sapwood:
    """Writes and reads with Sapwood, in one thread."""

    def __init__(self, entries: int) -> None:
        self.entries = entries
        self.page, self.hits = classes()
        self.values: Any = None

    def make_page(self) -> None:
        self.values = made_page(self.entries)

    def make_hits(self) -> None:
        import sapwood

        self.values = sapwood.open(FOLDER / "hits.root", threads=1)["tree"].arrays(library="ak")["event"]

    def write(self, kind: str, path: str, setting: int, split: int, member_wise: bool = True) -> None:
        import sapwood

        with sapwood.recreate(path, compression=setting or None, threads=1) as file:
            event = self.page if kind == "page" else self.hits
            tree = file.mktree("tree", {"event": event}, split_level=split, member_wise=member_wise)
            for start in range(0, self.entries, 100):
                tree.extend({"event": self.values[start : start + 100]})

    def read(self, kind: str, path: str) -> None:
        import sapwood

        sapwood.open(path, threads=1)["tree"].arrays(library="arrow")

    def sample(self, path: str) -> None:
        import sapwood

        tree = sapwood.open(path, threads=1)["tree"]
        tree.arrays(library="arrow", entries=tree["fNtrack"].array(library="np") < BELOW)


class Root:
    """Writes and reads with ROOT, compiled."""

    def __init__(self, entries: int) -> None:
        self.entries = entries
        self.root = load_root(DATA, ["papers"])

    def make_page(self) -> None:
        self.root.page_make(self.entries)

    def make_hits(self) -> None:
        self.root.hits_make(self.entries)

    def write(self, kind: str, path: str, setting: int, split: int, member_wise: bool = True) -> None:
        self.root.TVirtualStreamerInfo.SetStreamMemberWise(member_wise)
        getattr(self.root, f"{kind}_write")(path, setting, split)

    def read(self, kind: str, path: str) -> None:
        getattr(self.root, f"{kind}_read")(path)

    def sample(self, path: str) -> None:
        self.root.page_sample(path)


ROWS = "Sapwood, row by row"
WHO: dict[str, Any] = {"Sapwood": Sapwood, ROWS: None, "ROOT": Root}


def row_by_row(entries: int) -> list[dict[str, Any]]:
    """The page's events as values of a Rust type, filled one by one: `crates/core/examples/event.rs`."""
    target = DATA / "build" / "example"
    build = [
        "cargo",
        "build",
        "--release",
        "--quiet",
        "--package",
        "sapwood",
        "--example",
        "event",
        "--target-dir",
        str(target),
    ]
    subprocess.run(build, cwd=HERE.parent, check=True)
    out = []
    for split in (0, 99):
        for level in (0, 1, 2):
            path = FOLDER / f"page_{split}_{level}_rows.root"
            setting = f"zlib:{level}" if level else "none"
            command = [
                str(target / "release" / "examples" / "event"),
                str(path),
                str(entries),
                setting,
                str(split),
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            out.append({"who": ROWS, "split": split, "variant": level, **json.loads(done.stdout)})
            path.unlink()
    return out


def work(job: dict[str, Any]) -> list[dict[str, Any]]:
    """All rows of one contender."""
    if job["who"] == ROWS:
        return row_by_row(job["entries"])
    one, name, out = WHO[job["who"]](job["entries"]), job["who"], []
    make = one.make_page if job["kind"] == "page" else one.make_hits
    make()  # libraries load
    made_wall, _, _ = timed(make)
    warm = str(FOLDER / f"{job['kind']}_{name}.root")  # as above
    one.write(job["kind"], warm, 101, 99)
    one.read(job["kind"], warm)
    if job["kind"] == "page":
        one.sample(warm)
    Path(warm).unlink()
    for split in (0, 99):
        for variant in (0, 1, 2) if job["kind"] == "page" else (True, False):
            path = str(FOLDER / f"{job['kind']}_{split}_{int(variant)}_{name}.root")
            if job["kind"] == "page":
                call = lambda: one.write("page", path, 100 + variant if variant else 0, split)  # noqa: B023, E731
            else:
                call = lambda: one.write("hits", path, 101, split, variant)  # noqa: B023, E731
            Path(path).unlink(missing_ok=True)
            row: dict[str, Any] = {"who": name, "split": split, "variant": int(variant)}
            row["write"], row["write_cpu"], _ = timed(call)
            row["made"], row["size"] = made_wall, os.path.getsize(path)
            row["read"], row["read_cpu"], _ = timed(lambda: one.read(job["kind"], path))  # noqa: B023
            if job["kind"] == "page" and split:
                row["sample"], row["sample_cpu"], _ = timed(lambda: one.sample(path))  # noqa: B023
            out.append(row)
            Path(path).unlink()
    return out


def contenders(kind: str) -> list[str]:
    return [who for who in WHO if kind == "page" or who != ROWS]


def run(kind: str, entries: int, rounds: int) -> dict[tuple[int, int, str], dict[str, float]]:
    """Medians of each row, by split level, variant and contender."""
    found: dict[tuple[int, int, str], list[dict[str, Any]]] = {}
    for _ in range(rounds):
        for who in contenders(kind):
            job = json.dumps({"who": who, "kind": kind, "entries": entries})
            done = subprocess.run(
                [sys.executable, "-W", "ignore", "-m", "bench.read.papers", "--job", job],
                capture_output=True,
                text=True,
                check=False,
            )
            lines = [x for x in done.stdout.splitlines() if x.startswith("[")]
            if not lines:
                sys.exit(f"{who}, {kind}: {done.stderr[-2000:]}")
            for row in json.loads(lines[-1]):
                found.setdefault((row["split"], row["variant"], row["who"]), []).append(row)
    numbers = ("write", "write_cpu", "made", "size", "read", "read_cpu", "sample", "sample_cpu")
    return {
        key: {n: statistics.median(r[n] for r in rows) for n in numbers if n in rows[0]}
        for key, rows in found.items()
    }


def event_section(rows: dict[tuple[int, int, str], dict[str, float]], entries: int) -> str:
    body = []
    for split in (0, 99):
        for level in (0, 1, 2):
            for who in WHO:
                r = rows[split, level, who]
                r["total"] = r["write"] + r["made"]
                seconds = ("total", "write", "write_cpu", "read", "read_cpu", "sample", "sample_cpu")
                cells = [f"{r[name]:.3f}" if name in r else "" for name in seconds]
                body.append(
                    [
                        f"{who}, comp {level}, {'split' if split else 'unsplit'}",
                        f"{r['size'] / 1e6:.2f}",
                        *cells,
                    ]
                )
    head = [
        "1997",
        "MB",
        "total write, s",
        "effective write, s",
        "CPU",
        "read all, s",
        "CPU",
        "read sample, s",
        "CPU",
    ]
    return (
        "## The Event benchmark of 1997\n\n"
        f"{entries:,} events of about 600 tracks of 17 members, in one thread (`bench/read/papers.py`). *Total* has the making of the "
        "random numbers in it, by NumPy for Sapwood and by `TRandom3` for ROOT; *effective* has not. Sapwood is given arrays of 100 "
        "events in Python, or, row by row, values of a Rust type (`crates/core/examples/event.rs`), as ROOT is given objects. Comp 1 and 2 are levels of "
        "ZLIB. Each reads its own file: all events, or for *sample* the branch of track counts, and the whole event where it is "
        f"below {BELOW}. Split is level 99: what the page calls split 1 split the tracks, too.\n\n"
        + table(head, body)
    )


def streaming_section(rows: dict[tuple[int, int, str], dict[str, float]], entries: int) -> str:
    body = []
    for split in (99, 0):
        for who in contenders("hits"):
            one, other = rows[split, 0, who], rows[split, 1, who]
            for word, r in (("object by object", one), ("member by member", other)):
                smaller = f"{100 * (1 - r['size'] / one['size']):.1f} %" if r is other else ""
                faster = f"{100 * (1 - r['read_cpu'] / one['read_cpu']):.0f} %" if r is other else ""
                name = f"{who}, {'split' if split else 'unsplit'}, {word}"
                body.append(
                    [
                        name,
                        f"{r['size'] / 1e6:.2f}",
                        f"{r['write_cpu']:.3f}",
                        f"{r['read_cpu']:.3f}",
                        smaller,
                        faster,
                    ]
                )
    head = ["2010", "MB", "CPU to write, s", "CPU to read, s", "smaller by", "read faster by"]
    return (
        "## Member by member and object by object\n\n"
        f"{entries:,} events of about 20 tracks, each with about 12 hits in a vector of its own, ZLIB-1, in one thread "
        "(`bench/read/papers.py`). Split, the tracks are branches and their hits are collections in one of these.\n\n"
        + table(head, body)
    )


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--scale", type=float, default=1.0, help="share of the events of a full run")
    ap.add_argument("--rounds", type=int, default=3, help="how often each contender takes its turn")
    ap.add_argument("--job", help=argparse.SUPPRESS)
    args = ap.parse_args()
    if args.job:
        print("\n" + json.dumps(work(json.loads(args.job))), flush=True)
        os._exit(0)  # ROOT's end may crash after all is done, and nothing is left to do
    FOLDER.mkdir(parents=True, exist_ok=True)
    pages, hits = max(int(1000 * args.scale), 20), max(int(10_000 * args.scale), 20)
    root = Root(hits)
    root.make_hits()
    root.write("hits", str(FOLDER / "hits.root"), 0, 0)
    folder = HERE / "write" if args.scale == 1 else DATA / "docs"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("event", event_section(run("page", pages, args.rounds), pages)),
        ("streaming", streaming_section(run("hits", hits, args.rounds), hits)),
    ):
        (folder / f"{name}.md").write_text(text)
        print(text)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
