"""Measure one reader in a process of its own: python -m bench.read.worker '{"reader": .., "ways": [..], "path": .., ..}'

Prints one JSON line for each way of reading. A reader is measured from opening the file to the last value in
memory; sums are made outside of the measured time for readers that give arrays, inside for ROOT, whose loops
would be empty without them.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from bench.support.files import DATA, TREE, load_root
from bench.support.worker import failure, leave, say


def cpu_seconds() -> float:
    r = resource.getrusage(resource.RUSAGE_SELF)
    return r.ru_utime + r.ru_stime


def memory(field: str) -> int:
    """A field of /proc/self/status in bytes; 0 where there is none."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def reset_peak() -> None:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def total(a: Any) -> float:
    """The sum of all numbers of an Arrow array; characters of a string count one each."""
    import pyarrow as pa

    if isinstance(a, pa.ChunkedArray):
        return sum(total(c) for c in a.chunks)
    t = a.type
    if pa.types.is_dictionary(t):
        return total(a.dictionary_decode())
    if (
        pa.types.is_string(t)
        or pa.types.is_large_string(t)
        or pa.types.is_binary(t)
        or pa.types.is_large_binary(t)
    ):
        import pyarrow.compute as pc

        return float(pc.sum(pc.binary_length(a)).as_py() or 0)
    if pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_fixed_size_list(t):
        return total(a.flatten())
    if pa.types.is_struct(t):
        return sum(total(a.field(i)) for i in range(t.num_fields))
    return float(np.sum(a.to_numpy(zero_copy_only=False), dtype=np.float64))


def arrow_total(table: Any) -> float:
    import pyarrow as pa

    table = table if isinstance(table, (pa.Table, pa.RecordBatch)) else pa.table(table)
    return sum(total(table.column(i)) for i in range(table.num_columns))


def awkward_total(a: Any) -> float:
    import awkward as ak

    if isinstance(a, dict):
        return sum(awkward_total(v) for v in a.values())
    if isinstance(a, np.ndarray):
        return float(np.sum(a, dtype=np.float64))
    if a.fields:
        return sum(awkward_total(a[f]) for f in a.fields)
    if str(ak.type(a)).endswith("string"):
        return float(ak.to_layout(a).to_ListOffsetArray64(True).offsets.data[-1])
    return float(np.sum(ak.to_numpy(ak.flatten(a, axis=None)), dtype=np.float64))


def reader_sapwood(job: dict[str, Any]) -> tuple[Callable[[], Any], Callable[[Any], float]]:
    import sapwood

    path, columns, threads = job["path"], job["columns"] or None, job["threads"]

    def tree() -> Any:
        return sapwood.open(path, threads=threads)[TREE]

    def iterate() -> float:
        entries = 0
        for batch in tree().iterate(columns, library="arrow", step_size="100 MB"):
            entries += len(batch)  # looked at and handed back
        return float(entries)

    if job["way"] == "open":
        return lambda: tree().num_entries, lambda _: 0.0
    if job["way"] == "iterate":
        return iterate, lambda _: 0.0
    return lambda: tree().arrays(columns, library="arrow"), arrow_total


def reader_uproot(job: dict[str, Any]) -> tuple[Callable[[], Any], Callable[[Any], float]]:
    import awkward  # noqa: F401  (importing is not reading)
    import uproot

    path, threads = job["path"], job["threads"]
    pool = ThreadPoolExecutor(threads) if threads > 1 else None
    more = {"decompression_executor": pool, "interpretation_executor": pool} if pool else {}
    columns = job["columns"] or None
    flat = job["family"] in ("flat", "wide")

    def tree() -> Any:
        return uproot.open(path)[TREE]

    if job["way"] == "open":
        return lambda: tree().num_entries, lambda _: 0.0
    return lambda: tree().arrays(columns, library="np" if flat else "ak", **more), awkward_total


def reader_root(job: dict[str, Any]) -> tuple[Callable[[], Any], Callable[[Any], float]]:
    R = load_root(DATA, ["gen", "peers"])
    columns = R.std.vector["std::string"](job["columns"])
    path, way = job["path"], job["way"]
    if way == "open":
        return lambda: R.root_open(path), lambda _: 0.0
    if way == "rdataframe":
        return lambda: R.root_rdataframe(path, columns, job["threads"]), float
    read = getattr(R, f"root_{way}")
    return lambda: read(path, columns), float


ENOUGH_S = 8.0
"""Slow readers are not measured more often than three times."""

READERS = {"sapwood": reader_sapwood, "uproot": reader_uproot, "root": reader_root}


def measure(job: dict[str, Any], way: str) -> dict[str, Any]:
    out: dict[str, Any] = {"way": way, "cpu": [], "wall": []}
    kept = []
    try:
        read, sum_of = READERS[job["reader"]]({**job, "way": way})
        # libraries load, the file gets warm; a peak of memory is measured in a process that has read a tiny
        # file only
        first = (
            READERS[job["reader"]]({**job, "way": way, "path": job["tiny"]})[0]() if job["memory"] else read()
        )
        kept.append(first if not job["memory"] else None)
        before = memory("VmRSS")
        for _ in range(job["repeat"]):
            if len(out["wall"]) >= 3 and sum(out["wall"]) > ENOUGH_S:
                break
            reset_peak()
            wall, cpu = time.perf_counter(), cpu_seconds()
            result = read()
            out["cpu"].append(cpu_seconds() - cpu)
            out["wall"].append(time.perf_counter() - wall)
            out["peak"] = max(memory("VmHWM") - before, out.get("peak", 0))
            out["sum"] = sum_of(result)
            kept.append(result)  # each answer in fresh memory, not in that of the one before
    except Exception as e:
        return {"way": way, **failure(e)}
    return out


def main() -> None:
    job = json.loads(sys.argv[1])
    for way in job["ways"]:
        say(measure(job, way))
    leave()


if __name__ == "__main__":
    main()
