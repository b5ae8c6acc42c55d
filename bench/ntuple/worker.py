"""Measure one reader or writer in a process of its own: python -m bench.ntuple.worker '{"reader": .., "ways": [..], "path": .., ..}'

Prints one JSON line for each way. A reader is measured from opening the file to the last value in memory;
sums are made outside of the measured time for readers that give arrays, inside for ROOT, whose loops would be
empty without them. A writer has its values in memory before; measured is from opening the file to its being
closed. With a scale and names, it writes the inputs instead.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # NumPy's idle threads would spin, and their CPU time count

from bench.ntuple import files  # noqa: E402
from bench.read.worker import arrow_total, awkward_total, cpu_seconds  # noqa: E402
from bench.support.files import CODECS, DATA, TREE, load_root  # noqa: E402
from bench.support.worker import failure, leave, say  # noqa: E402

STEPS = {"flat": 250_000, "lists": 125_000, "nested": 50_000, "wide": 1_000}
"""Entries that an array writer is given at a time."""
ENOUGH_S = 6.0
"""What is slow is not measured more often than three times."""

Measured = tuple[Callable[[], Any], Callable[[Any], float]]


def read_sapwood(job: dict[str, Any], way: str) -> Measured:
    import sapwood

    columns = job["columns"] or None

    def ntuple() -> Any:
        return sapwood.open(job["path"], threads=job["threads"])[TREE]

    def iterate() -> float:
        entries = 0
        for batch in ntuple().iterate(columns, library="arrow", step_size="100 MB"):
            entries += len(batch)  # looked at and handed back
        return float(entries)

    ways: dict[str, Measured] = {
        "open": (lambda: ntuple().num_entries, float),
        "names": (lambda: sum(map(len, ntuple().keys(recursive=False))), float),
        "one": (lambda: ntuple()["b00007"].array(library="np"), awkward_total),
        "iterate": (iterate, lambda _: 0.0),
        "arrays": (lambda: ntuple().arrays(columns, library="arrow"), arrow_total),
    }
    return ways[way]


def read_uproot(job: dict[str, Any], way: str) -> Measured:
    import awkward  # noqa: F401  (importing is not reading)
    import uproot

    pool = ThreadPoolExecutor(job["threads"]) if job["threads"] > 1 else None
    more: dict[str, Any] = {"decompression_executor": pool, "interpretation_executor": pool} if pool else {}
    if job["columns"]:
        more["filter_name"] = job["columns"]
    if job["path"].startswith("http"):
        import fsspec.implementations.http  # noqa: F401

    def ntuple() -> Any:
        return uproot.open(job["path"])[TREE]

    ways: dict[str, Measured] = {
        "open": (lambda: ntuple().num_entries, float),
        "names": (lambda: sum(map(len, ntuple().keys(recursive=False))), float),
        "one": (lambda: ntuple()["b00007"].array(library="np"), awkward_total),
        "arrays": (lambda: ntuple().arrays(**more), awkward_total),
    }
    return ways[way]


def read_root(job: dict[str, Any], way: str) -> Measured:
    root = load_root(DATA, ["ntuple"])
    columns = root.std.vector["std::string"](job["columns"])
    root.ntuple_fill("wide", 0, files.FIELDS)
    return lambda: root.ntuple_read(job["family"], way, job["path"], columns, job["threads"]), float


READERS = {"sapwood": read_sapwood, "uproot": read_uproot, "root": read_root}


def values(job: dict[str, Any]) -> dict[str, Any]:
    """The columns as an array writer is given them."""
    import awkward as ak
    import sapwood

    array = sapwood.open(job["source"], threads=1)[TREE].arrays(library="ak")
    columns = {name: array[name] for name in array.fields}
    return {
        name: ak.to_numpy(c) if job["family"] in ("flat", "wide") or c.ndim == 1 and not c.fields else c
        for name, c in columns.items()
    }


def slices(columns: dict[str, Any], entries: int, step: int) -> list[dict[str, Any]]:
    """Cut beforehand: what a caller has is a chunk of entries."""
    import awkward as ak

    cuts = [(at, min(at + step, entries)) for at in range(0, entries, step)]
    return [
        {
            name: c[a:b] if hasattr(c, "dtype") else ak.to_packed(c[a:b])
            for name, c in columns.items()
        }
        for a, b in cuts
    ]  # fmt: skip


def write_sapwood(job: dict[str, Any]) -> Callable[[str, int], None]:
    import sapwood

    columns = values(job)
    types = {name: c.dtype if hasattr(c, "dtype") else str(c.type.content) for name, c in columns.items()}
    chunks = slices(columns, job["entries"], STEPS[job["family"]])
    few = slices(columns, 20, 20)

    def write(path: str, entries: int) -> None:
        with sapwood.recreate(path, compression=CODECS[job["codec"]] or None, threads=job["threads"]) as file:
            ntuple = file.mkrntuple(TREE, types, compression=CODECS[job["codec"]] or None)
            for chunk in few if entries == 20 else chunks:
                ntuple.extend(chunk)

    return write


def write_uproot(job: dict[str, Any]) -> Callable[[str, int], None]:
    import uproot

    columns = values(job)
    # the same level of the library as ROOT has; uproot has no slow search (HC) of LZ4
    setting = {"none": None, "lz4": uproot.LZ4(4), "zstd5": uproot.ZSTD(10)}[job["codec"]]
    chunks = slices(columns, job["entries"], STEPS[job["family"]])
    few = slices(columns, 20, 20)

    def write(path: str, entries: int) -> None:
        with uproot.recreate(path, compression=setting) as file:
            first, *more = few if entries == 20 else chunks
            ntuple = file.mkrntuple(TREE, first)
            for chunk in more:
                ntuple.extend(chunk)

    return write


def write_root(job: dict[str, Any]) -> Callable[[str, int], None]:
    root = load_root(DATA, ["ntuple"])
    family = job["family"]
    root.ntuple_fill(family, job["entries"], files.FIELDS)
    codec, threads = CODECS[job["codec"]], job["threads"]
    return lambda path, entries: root.ntuple_write(family, path, codec, entries, 0, threads)


WRITERS = {"sapwood": write_sapwood, "uproot": write_uproot, "root": write_root}


def timed(out: dict[str, Any], run: Callable[[], Any]) -> Any:
    wall, cpu = time.perf_counter(), cpu_seconds()
    result = run()
    out["cpu"].append(cpu_seconds() - cpu)
    out["wall"].append(time.perf_counter() - wall)
    return result


def enough(out: dict[str, Any]) -> bool:
    return len(out["wall"]) >= 3 and sum(out["wall"]) > ENOUGH_S


def measure_reader(job: dict[str, Any], way: str) -> dict[str, Any]:
    out: dict[str, Any] = {"way": way, "cpu": [], "wall": []}
    kept = []
    try:
        read, sum_of = READERS[job["reader"]](job, way)
        if job.get("warm", True):
            kept.append(read())  # libraries load, the file gets warm
        for _ in range(job["repeat"]):
            if enough(out):
                break
            result = timed(out, read)
            out["sum"] = sum_of(result)
            kept.append(result)  # each answer in fresh memory, not in that of the one before
    except Exception as error:
        return {"way": way, **failure(error)}
    return out


def measure_writer(job: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {"way": "write", "cpu": [], "wall": []}
    target = Path(job["target"])
    try:
        write = WRITERS[job["writer"]](job)
        write(str(target), 20)  # libraries load
        for _ in range(job["repeat"]):
            if enough(out):
                break
            target.unlink(missing_ok=True)  # taking pages away from a file that is there is not writing
            timed(out, lambda: write(str(target), job["entries"]))
            out["size"] = target.stat().st_size
        import sapwood
        import uproot

        ours = job["writer"] == "sapwood"  # another reader than the writer
        out["sum"] = (
            awkward_total(uproot.open(target)[TREE].arrays())
            if ours
            else arrow_total(sapwood.open(target)[TREE].arrays(library="arrow"))
        )
    except Exception as error:
        out = {"way": "write", **failure(error)}
    finally:
        if not job.get("keep"):
            target.unlink(missing_ok=True)
    return out


def main() -> None:
    if not sys.argv[1].startswith("{"):
        files.write(float(sys.argv[1]), sys.argv[2:])
        leave()
    job = json.loads(sys.argv[1])
    if "writer" in job:
        leave(measure_writer(job))
    for way in job["ways"]:
        say(measure_reader(job, way))
    leave()


if __name__ == "__main__":
    main()
