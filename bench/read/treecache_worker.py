"""One read of a cold local file, in a process of its own: python -m bench.read.treecache_worker '{"reader": .., "path": .., "trees": [..], ..}'

Measured from opening the file to the last value; libraries are loaded before. Sums are made outside of the
measured time for arrays, inside for those who go from entry to entry. Prints one line of JSON: seconds, CPU
seconds, calls, bytes and sums.
"""

from __future__ import annotations

import heapq
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # NumPy's idle threads would spin, and their CPU time count

from bench.read.worker import cpu_seconds
from bench.support.files import DATA, load_root, make_cold
from bench.support.worker import failure, leave


def root(job: dict[str, Any]) -> dict[str, float]:
    R = load_root(DATA, ["treecache"])
    texts, wholes = R.std.vector["std::string"], R.std.vector["long"]
    make_cold(job["path"])
    given = (texts(job["trees"]), texts(job["columns"]), wholes(job["entries"]))
    answer = R.cache_read(job["path"], *given, job["cache"], job["readahead"], LISTS.get(job["reader"], 0))
    names = ("sum", "first", "seconds", "cpu", "calls", "bytes", "extra", "misses", "held")
    return dict(zip(names, answer, strict=True))


def opened(job: dict[str, Any]) -> list[Any]:
    import sapwood  # noqa: F401  (importing is not reading)

    file = sapwood.open(job["path"], threads=job["threads"])
    trees = [file[name] for name in job["trees"]]
    for tree in trees:
        tree.cache_size = job["cache"]
    return trees


def counted(trees: list[Any]) -> dict[str, float]:
    """What the record of the file says of all of these trees."""
    of = [tree.perf.figures for tree in trees]
    names = {"ReadCalls": "calls", "Ranges": "ranges", "ReadTotal": "bytes", "Thrown away": "extra"}
    found = {ours: sum(figures[name].value for figures in of) for name, ours in names.items()}
    found["misses"] = sum(tree.cache_figures["misses"] for tree in trees)
    return {**found, "bytes": 1e6 * found["bytes"], "extra": 1e6 * found["extra"]}


def pieces(array: Any) -> Iterator[Any]:
    """An Arrow column without its chunks."""
    yield from array.chunks if hasattr(array, "chunks") else [array]


def totals(array: Any) -> tuple[float, float]:
    """The sum of all numbers, and that of the first one of each row."""
    import numpy as np
    import pyarrow as pa

    if pa.types.is_struct(array.type):
        of = {field.name: totals(array.field(k)) for k, field in enumerate(array.type)}
        return sum(total for total, _ in of.values()), of["values"][1]
    if not hasattr(array, "flatten") or not pa.types.is_nested(array.type):
        total = float(np.sum(array.to_numpy(zero_copy_only=False), dtype="f8"))
        return total, total
    inner = array.flatten().to_numpy(zero_copy_only=False)
    if pa.types.is_fixed_size_list(array.type):
        heads = inner[:: array.type.list_size]
    else:
        ends = array.offsets.to_numpy()
        heads = inner[(ends[:-1] - ends[0])[ends[:-1] < ends[1:]]]
    return float(np.sum(inner, dtype="f8")), float(np.sum(heads, dtype="f8"))


def arrays(job: dict[str, Any]) -> dict[str, float]:
    import numpy as np
    import pyarrow as pa
    import sapwood  # noqa: F401  (importing is not reading)

    entries = np.array(job["entries"], dtype="i8") if job["entries"] else None
    make_cold(job["path"])
    wall, cpu = time.perf_counter(), cpu_seconds()
    trees = opened(job)
    with trees[0].perf:
        tables = [tree.arrays(job["columns"] or None, entries=entries, library="arrow") for tree in trees]
    answer = {"seconds": time.perf_counter() - wall, "cpu": cpu_seconds() - cpu, **counted(trees)}
    columns = [piece for table in tables for column in pa.table(table).columns for piece in pieces(column)]
    sums = [totals(column) for column in columns]
    return {**answer, "sum": sum(one for one, _ in sums), "first": sum(one for _, one in sums)}


def stepped(job: dict[str, Any]) -> dict[str, float]:
    """`rows` without its program: the same reader, asked from Python for what the program asks for.

    Calls and bytes are the same; seconds are those of the interpreter, and are left out. Entries have to be
    in their order."""
    import numpy as np
    import pyarrow as pa
    import sapwood  # noqa: F401  (importing is not reading)

    if any(one >= other for one, other in itertools.pairwise(job["entries"])):
        raise ValueError("entries are not in their order")
    make_cold(job["path"])
    trees = opened(job)
    entries = job["entries"] or range(max(tree.num_entries for tree in trees))
    chosen = np.array(entries, dtype="i8")
    found = np.zeros(2)
    with trees[0].perf:
        readers = [tree._reader(job["entries"] or None) for tree in trees]
        branches = [[tree[name]._id for name in job["columns"] or tree.keys()] for tree in trees]
        due: list[tuple[int, int, int]] = []  # from which entry on a branch of a tree has to be read again
        for t, (reader, ids) in enumerate(zip(readers, branches, strict=True)):
            if job["cache"]:
                reader.touch(ids, entries[0])
            due += [(entries[0], t, k) for k in range(len(ids))]
        ready: list[tuple[int, ...]] = []
        for entry in entries:
            while due and due[0][0] <= entry:
                ready.append(heapq.heappop(due)[1:])
            for t, k in sorted(ready):
                start, column = readers[t].read(branches[t][k], entry)
                stop = start + len(column)
                first, last = np.searchsorted(chosen, (start, stop))
                array = pa.array(column)
                if last - first < len(column):
                    array = array.take(pa.array(chosen[first:last] - start))
                found += totals(array)
                heapq.heappush(due, (stop, t, k))
            ready.clear()
    return {**counted(trees), "sum": found[0], "first": found[1]}


def rows(job: dict[str, Any]) -> dict[str, float]:
    """A program for itself, for it is compiled as ROOT's loop is: `crates/core/examples/rows.rs`."""
    if not job["program"]:
        return stepped(job)
    command = [
        job["program"],
        job["path"],
        ",".join(job["trees"]),
        ",".join(job["columns"]) or "*",
        str(job["cache"]),
        str(job["threads"]),
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
        listed.writelines(f"{entry}\n" for entry in job["entries"])
        listed.flush()
        command += [listed.name] if job["entries"] else []
        make_cold(job["path"])
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-200:])
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


LISTS = {"root_entry_list": 1, "root_event_list": 2}
"""Readers whose tree is told of the entries."""
READERS = {"root": root, "arrays": arrays, "rows": rows, **dict.fromkeys(LISTS, root)}


def main() -> None:
    job = json.loads(sys.argv[1])
    answer: dict[str, Any]
    try:
        if job["reader"] == "write":
            load_root(DATA, ["treecache"]).cache_write(*job["given"])
            answer = {}
        else:
            answer = dict(READERS[job["reader"]](job))
    except Exception as error:
        answer = failure(error)
    leave(answer)


if __name__ == "__main__":
    main()
